"""What is asked: a question as terms, and the axes and limits within which it is to be answered.

Rule: who is called by a name that stands under another one is meant by both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from syncmem.model.words import stops, terms


@dataclass(frozen=True, slots=True)
class Question:
    """A question.

    Attributes:
        also: terms that it means beside its own, see :func:`meant_by`.
        content: its terms without the words that only say how it is asked (all, if it has no other).
    """

    text: str
    also: tuple[str, ...] = ()
    terms: tuple[str, ...] = field(init=False)
    content: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        found = tuple(dict.fromkeys([*terms(self.text), *self.also]))
        object.__setattr__(self, "terms", found)
        object.__setattr__(self, "content", tuple(term for term in found if term not in stops()) or found)


def meant_by(words: Iterable[str], elsewhere: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The names in some terms that stand under others (``elsewhere``), each with the terms of where it stands."""
    said = set(words)
    called = {name: terms(name) for name in elsewhere}
    return {name: tuple(terms(elsewhere[name])) for name, held in called.items() if held and said.issuperset(held)}


@dataclass(frozen=True, slots=True)
class Axes:
    """Which beliefs may be found.

    Attributes:
        instant: the moment in the world, in microseconds; ``n``: the known time, or None for the present.
        scope, entity, predicates: only these; None: any.
        trust_min: only what is believed with as much trust.
        history: also what held before the instant and does no longer.
    """

    instant: int
    n: int | None = None
    scope: str | None = None
    entity: str | None = None
    predicates: frozenset[str] | None = None
    trust_min: int = 0
    history: bool = False

    def admits(self, scope: str, entity: str, predicate: str) -> bool:
        """Whether a slot may be looked at."""
        return (
            self.scope in (None, scope)
            and self.entity in (None, entity)
            and (self.predicates is None or predicate in self.predicates)
        )
