"""Which definition stands is decided by corrected clocks, whatever arrives first."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from syncmem import Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.model.event import ClockNote, Define, Form, Kind, Statement, Then
from syncmem.model.instant import from_datetime
from tests.world import ENTITY, ORIGIN, PREDICATE, Writer, believed, fresh_replica, sorted_keys


def test_the_note_about_a_definitions_clock_counts_in_any_order_of_arrival() -> None:
    early, late, corrector = map(Writer, sorted_keys(3))
    early.write(Kind.DEFINE, defined("single"), ORIGIN + 10)
    late.write(Kind.DEFINE, defined("many"), ORIGIN + 20)  # in truth written at 5, so "single" is the later word
    late.write(Kind.CLAIM, said("A"), ORIGIN + 30)
    late.write(Kind.CLAIM, said("B"), ORIGIN + 40)
    note = ClockNote(late.key.id, 1, 1, -15, 90, None, None, None)
    corrector.write(Kind.CLOCK_NOTE, note, ORIGIN + 50)
    found = []
    for order in itertools.permutations([early, late, corrector]):
        replica = fresh_replica()
        for writer in order:
            list(replica.receive(writer.frames()))
        first = believed(replica)
        replica.rebuild()
        assert believed(replica) == first
        found.append((replica.catalog.predicate("vault", PREDICATE).many, first))
        replica.close()
    assert all(outcome == found[0] for outcome in found)
    assert found[0][0] is False


def defined(cardinality: str) -> Define:
    return Define(PREDICATE, {"cardinality": cardinality}, 90, None, None, None, None)


def said(value: str) -> Statement:
    plain = (Form.STATE, None, None, None, None, Then.OPEN, 90, None, None, None, None, None)
    return Statement(ENTITY, PREDICATE, value, *plain)


def test_a_merge_that_fails_moves_the_clock_of_nobody(tmp_path: Path) -> None:
    """What was heard of a clock ahead is part of the transaction in which it was heard."""
    clock = ManualClock(1_750_000_000_000_000)
    ahead = ManualClock(clock.time + 200 * 1_000_000)  # near enough to be followed
    with (
        Memory(tmp_path / "laptop.db", environment=Environment(clock, seeded_randomness(1))) as laptop,
        Memory(tmp_path / "phone.db", environment=Environment(ahead, seeded_randomness(2))) as phone,
    ):
        phone.remember("ana", "city", "Lisbon")
        with pytest.raises(ZeroDivisionError), laptop.transaction():
            laptop.merge(phone)
            _ = 1 / 0
        assert laptop.beliefs("ana", "city") == []
        said = laptop.event(laptop.remember("ana", "language", "Portuguese").event)
        assert said.asserted_at is not None and from_datetime(said.asserted_at) < clock.time + 1_000_000
        laptop.merge(phone)
        said = laptop.event(laptop.remember("ana", "language", "English").event)
        assert said.asserted_at is not None and from_datetime(said.asserted_at) >= ahead.time
