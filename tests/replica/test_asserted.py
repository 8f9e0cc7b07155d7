"""What was asserted by then: the quick way of slots that nothing refers to answers as the long one does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from pytest import MonkeyPatch

from syncmem import NONE, Environment, InvalidInput, ManualClock, Memory, Source
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime
from syncmem.replica.references import References

NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)
NAMES, PREDICATES, VALUES = ("ana", "bob"), ("home", "language"), ("Lisbon", "Berlin", NONE)
Verb = Callable[[Memory, Random, list[str]], object]


def slot(chance: Random) -> tuple[str, str]:
    return chance.choice(NAMES), chance.choice(PREDICATES)


def told(memory: Memory, chance: Random, events: list[str]) -> None:
    read = Source("model", episode="e1", span=(0, 4)) if chance.random() < 0.4 else None
    batch = chance.choice((None, None, "import"))
    found = memory.remember(*slot(chance), chance.choice(VALUES), source=read, batch=batch, trust=90)
    events.append(found.event)


def derived(memory: Memory, chance: Random, events: list[str]) -> None:
    memory.remember(*slot(chance), chance.choice(VALUES), derived_from=[chance.choice(events)])


VERBS: tuple[Verb, ...] = (
    *[told] * 8,
    lambda m, c, events: m.retract(c.choice(events)),
    lambda m, c, events: m.undo(c.choice(events)),
    lambda m, c, events: events.append(m.correct(c.choice(events), c.choice(VALUES)).event),
    lambda m, c, events: events.append(m.end(*slot(c), c.choice(VALUES)).event),
    lambda m, c, events: events.append(m.deny(*slot(c), c.choice(VALUES)).event),
    lambda m, c, events: events.append(m.define(c.choice(PREDICATES), cardinality="single").event),
)
RARE: tuple[Verb, ...] = (derived, lambda m, c, events: m.retract(batch="import", scope="vault"))


@given(st.randoms(use_true_random=False))
def test_what_nothing_refers_to_counts_as_it_does_by_the_long_way(chance: Random) -> None:
    clock, events = ManualClock(from_datetime(NOON)), list[str]()
    verbs = (*VERBS, *RARE[: chance.choice((0, 0, 1, 2))])
    with Memory(":memory:", environment=Environment(clock, seeded_randomness(3))) as memory:
        told(memory, chance, events)
        for _ in range(14):
            clock.time += 60_000_000
            try:
                chance.choice(verbs)(memory, chance, events)
            except InvalidInput:  # what is taken back already is no ground, and no definition is corrected
                continue
        asked = [(*slot(chance), NOON + timedelta(minutes=chance.randrange(16))) for _ in range(8)]
        quickly = [memory.timeline(entity, predicate, asserted_by=when) for entity, predicate, when in asked]
        with MonkeyPatch.context() as patch:
            patch.setattr(References, "stand_alone", lambda self, records: False)
            patch.setattr(References, "are_reached", lambda self, positions: True)
            assert quickly == [
                memory.timeline(entity, predicate, asserted_by=when) for entity, predicate, when in asked
            ]
