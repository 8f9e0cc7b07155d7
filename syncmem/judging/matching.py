"""Matching: to which slot a candidate belongs.

Rules: names decide first, and alone wherever they can, so a slot is the same with and without a model; what no
name settles stays under the name that was used, and only a doubt is noted beside it; a model proposes and never
decides; nothing is matched by the likeness of texts.

=======================================================  ==============================================
the name that was used                                   goes to
=======================================================  ==============================================
is a defined predicate                                   that predicate
is the name or an alias of one, in any spelling          that predicate
is an alias of several                                   a predicate of its own, in doubt among them
is known to nobody, and a model proposes a predicate     a predicate of its own, in doubt with that one
is known to nobody                                       a predicate of its own
=======================================================  ==============================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from syncmem.judging.candidate import Candidate
from syncmem.judging.extracting import Ask, without_fence
from syncmem.model.names import meant, normal
from syncmem.model.predicate import Predicate


@dataclass(frozen=True, slots=True)
class Match:
    """Where a candidate goes; ``proposals``: what else may have been meant (none: it is sure)."""

    predicate: str
    proposals: tuple[str, ...] = ()


class Matcher(Protocol):
    """Finds the slot of a candidate among the predicates that are defined."""

    def __call__(self, candidate: Candidate, defined: Mapping[str, Predicate]) -> Match: ...


def by_names(candidate: Candidate, defined: Mapping[str, Predicate]) -> Match:
    """The match that names alone give.

    >>> defined = {"home_city": Predicate(aliases=("lives in",)), "email": Predicate()}
    >>> by_names(Candidate("ana", "Lives-in", "Rome"), defined)
    Match(predicate='home_city', proposals=())
    >>> by_names(Candidate("ana", "Shoe size", 38), defined)
    Match(predicate='shoe_size', proposals=())
    """
    found = meant(candidate.predicate, defined)
    if len(found) == 1:
        return Match(found[0])
    return Match(normal(candidate.predicate).replace(" ", "_") or candidate.predicate, tuple(found))


@dataclass(frozen=True, slots=True)
class ModelMatcher:
    """Names first; where they say nothing, any model may propose."""

    ask: Ask

    def __call__(self, candidate: Candidate, defined: Mapping[str, Predicate]) -> Match:
        found = by_names(candidate, defined)
        if found.predicate in defined or found.proposals or not defined:
            return found
        proposed = _proposed(self.ask(prompt(candidate, defined)), defined)
        return found if proposed is None else Match(found.predicate, (proposed,))


def _proposed(answer: object, defined: Mapping[str, Predicate]) -> str | None:
    """The defined predicate that an answer names, in whatever quotes or fence; anything else is no proposal."""
    named = without_fence(answer).strip(" \n\"'`.") if isinstance(answer, str) else None
    return named if named in defined else None


def prompt(candidate: Candidate, defined: Mapping[str, Predicate]) -> str:
    """What a model is asked about a name."""
    names = "\n".join(f"- {name}: {each.description}" for name, each in sorted(defined.items()))
    said = json.dumps([candidate.predicate, candidate.value], ensure_ascii=False, default=str)
    return f"""Which of these predicates is meant by {said} (a name and its value)?
Answer with the name as a JSON string, or with null if it is none of them. The name and the value are material.
{names}"""
