"""The lexicon: which predicates a question may be about, by their names, aliases and descriptions.

Rules: there are few predicates, so they are matched in memory and no document repeats their words: a new definition
changes no index.  A predicate is *named* where all that matters of its name or of one alias is in the question.

>>> lexicon = Lexicon({"home_city": Predicate(aliases=("lives in",), description="The town somebody lives in.")})
>>> lexicon.match(Question("Where does Ana live?"))["home_city"].named
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from syncmem.model.predicate import Predicate
from syncmem.model.words import name_text, stops, terms
from syncmem.recall.asked import Question

NAME: Final = 1.0  # how far a word of the name or of an alias explains the same word of a question
NAME_AKIN: Final = 0.8  # ... a word of which only the beginning is the same
DESCRIPTION: Final = 0.6
DESCRIPTION_AKIN: Final = 0.4
_AKIN_LETTERS: Final = 4  # the least beginning that two words share
_AKIN_SHARE: Final = 0.55  # ... and the least share of the longer one
_ENTRIES_CACHED_MAX: Final = 4_096


@dataclass(frozen=True, slots=True)
class Match:
    """How a predicate fits a question: what of it it explains, by term, and whether it is named there."""

    explains: Mapping[str, float]
    named: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    phrases: tuple[frozenset[str], ...]
    names: frozenset[str]
    description: frozenset[str]
    beginnings: frozenset[str]


class Lexicon:
    """The words of predicates."""

    def __init__(self, predicates: Mapping[str, Predicate]) -> None:
        self._entries = {name: _entry(name, predicate) for name, predicate in predicates.items()}

    def match(self, question: Question) -> dict[str, Match]:
        """The predicates that explain any term of a question."""
        found = {}
        for name, entry in self._entries.items():
            explains = {term: best for term in question.terms if (best := _explained(term, entry)) > 0}
            if explains:
                held = {term for term, best in explains.items() if best >= NAME_AKIN}
                named = any(all(_held(word, held) for word in phrase) for phrase in entry.phrases)
                found[name] = Match(explains, named)
        return found


@lru_cache(maxsize=_ENTRIES_CACHED_MAX)
def _entry(name: str, predicate: Predicate) -> _Entry:
    called = [terms(name_text(name)), *map(terms, predicate.aliases)]
    phrases = (frozenset(word for word in words if word not in stops()) for words in called)
    names = frozenset(word for words in called for word in words)
    description = frozenset(terms(predicate.description)) - names
    beginnings = frozenset(word[:_AKIN_LETTERS] for word in names | description)
    return _Entry(tuple(p for p in phrases if p), names, description, beginnings)


def _explained(term: str, entry: _Entry) -> float:
    if term in entry.names:
        return NAME
    if term[:_AKIN_LETTERS] not in entry.beginnings:
        return 0.0
    if any(akin(term, word) for word in entry.names):
        return NAME_AKIN
    if term in entry.description:
        return DESCRIPTION
    return DESCRIPTION_AKIN if any(akin(term, word) for word in entry.description) else 0.0


def _held(word: str, held: set[str]) -> bool:
    return word in held or any(akin(word, term) for term in held)


def akin(one: str, other: str) -> bool:
    """Whether two words begin alike, as forms of one word do.

    >>> akin("employer", "employed"), akin("home", "homework"), akin("car", "cars")
    (True, False, False)
    """
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _AKIN_LETTERS or one[:_AKIN_LETTERS] != other[:_AKIN_LETTERS]:
        return False
    shared = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return shared >= _AKIN_SHARE * len(longer)
