"""Ranking: how well a belief fits a question. One function of the two; what else is believed changes nothing of it.

Rules: a text score is the share of what the question tells that the belief explains, by its value, its entity or its
predicate; the likeness of vectors is added to it, and something where the question names the entity, or the whole slot.
The weights are named here, and ``python -m tests.recall_evaluation`` tells what they are good for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from syncmem.model.words import terms
from syncmem.recall.asked import Axes, Question
from syncmem.recall.lexicon import Match
from syncmem.replica.catalog import Slot
from syncmem.replica.index import value_terms
from syncmem.replica.rectangles import Rectangle


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much; tuned together on the evaluation."""

    text: float = 1.0
    said: float = 0.95  # a word of another value that the slot was said to have
    entity: float = 0.75  # the question names the entity
    slot: float = 0.25  # ... and the predicate
    vector: float = 2.2
    prefix: float = 0.85  # a word that only begins like one of the question
    verbose: float = 0.002  # taken off for each term of a value that the question did not ask for


WEIGHTS: Final = Weights()
_PREFIX_LETTERS: Final = 4
_VERBOSE_TERMS_MAX: Final = 30


@dataclass(frozen=True, slots=True)
class Found:
    """A belief that may be an answer; ``likeness``: 0 as any two texts, 1 as question and answer; None: no vector."""

    slot: Slot
    lane: bytes
    rectangle: Rectangle
    past: bool = False
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """A belief with its score and the reasons for it."""

    found: Found
    score: float
    why: tuple[str, ...]

    @property
    def order(self) -> tuple[object, ...]:
        """Best first; among equals what is held with more trust, then by names: never by when it came here."""
        slot, row = self.found.slot, self.found.rectangle
        names = (slot.scope, slot.entity, slot.predicate)
        return (self.found.past, -round(self.score, 6), -row.trust, *names, -row.valid_from, row.value)


def score(
    found: Found,
    question: Question,
    axes: Axes,
    match: Match | None,
    weights: Mapping[str, float],
    said: Collection[str] = (),
    *,
    by: Weights = WEIGHTS,
) -> Scored:
    """How well a belief fits; ``weights``: of terms, ``match``: of its predicate, ``said``: once said of its slot."""
    entity = terms(found.slot.entity)
    value = value_terms(found.rectangle.value)
    total = sum(weights.values())
    explained = 0.0
    for term, weight in weights.items():
        here = _in(term, entity, by.prefix), _in(term, value, by.prefix)
        explained += max(*here, term in said, match.explains.get(term, 0.0) if match is not None else 0.0) * weight
    coverage = explained / total if total else 0.0
    mentioned = axes.entity is not None or (bool(entity) and all(term in question.terms for term in entity))
    named = match is not None and match.named and mentioned
    points = by.text * coverage + by.entity * mentioned + by.slot * named
    points -= by.verbose * min(sum(term not in weights for term in value), _VERBOSE_TERMS_MAX)
    near = found.likeness or 0.0
    points += by.vector * near
    why = ("slot",) * named + ("text",) * (explained > 0) + ("vector",) * (near > 0)
    return Scored(found, points, why)


def _in(term: str, words: list[str], prefix: float) -> float:
    if term in words:
        return 1.0
    if len(term) >= _PREFIX_LETTERS and any(word.startswith(term) for word in words):
        return prefix
    return 0.0
