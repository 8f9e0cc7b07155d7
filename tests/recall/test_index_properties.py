"""Random lives of a few devices: the index is always what is believed, and nothing else is ever found.

A replica at an earlier time is not simulated: what it answered then is kept, and must be the answer of ``known_at``.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem import Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime
from syncmem.recall.results import Recalled
from tests.recall.checking import check_index
from tests.test_erasure_properties import World
from tests.test_replicas_machine import NOON

DAY = timedelta(days=1)
QUESTIONS = ("Which city is Ana's?", "language", "a", "Does Bob speak B?", "ana city A", "eva")


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans())
def test_the_index_is_what_is_believed_whatever_happens(random: Random, vault: bool) -> None:
    world = World(random, 2, vault)
    world.memories[0].index()
    for _ in range(random.randint(1, 25)):
        world.step()
        for memory in world.memories:
            if memory._replica.index.whole:
                check_index(memory)
        if random.random() < 0.1:
            world.memories[1].index()
        if random.random() < 0.05:
            world.memories[0].rebuild()
    for memory in world.memories:
        nothing_stale_is_found(memory, random)
        check_index(memory)
        memory.close()


def nothing_stale_is_found(memory: Memory, random: Random) -> None:
    """Every hit is what ``beliefs`` says at the same axes, for every axis."""
    for question in QUESTIONS:
        axes: dict[str, Any] = {
            "valid_at": random.choice((None, NOON - 10 * DAY, NOON - 2 * DAY, NOON + 30 * DAY)),
            "known_at": random.choice((None, random.randint(0, memory._replica.last_transaction))),
        }
        found = memory.recall(question, log=False, **axes)
        for hit in found.hits:
            assert hit.belief in memory.beliefs(hit.belief.entity, hit.belief.predicate, **axes)
        with_past = memory.recall(question, log=False, include_history=True, k=100, **axes)
        for hit in with_past.hits:
            timeline = memory.timeline(hit.belief.entity, hit.belief.predicate, known_at=axes["known_at"])
            assert hit.belief in timeline.beliefs
            assert hit.past == (hit.belief.valid_to is not None and hit.belief.valid_to <= found.valid_at)


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False))
def test_known_at_finds_what_was_found_then(random: Random) -> None:
    world = World(random, 2, vault=False)
    memory = world.memories[0]
    then: list[tuple[int, str, Any, list[Any]]] = []
    verbs = (world.say, world.say, world.name, world.define, world.merge)
    for _ in range(random.randint(2, 20)):
        asking = random.choice(world.memories)
        try:
            random.choice(verbs)(asking)
        except Exception as error:  # what is refused changes nothing
            assert type(error).__name__ in ("InvalidInput", "NotFound")
        memory._environment.clock.time += 3_600_000_000  # type: ignore[attr-defined]
        question, valid_at = random.choice(QUESTIONS), random.choice((NOON - 10 * DAY, NOON + 10 * DAY))
        found = memory.recall(question, valid_at=valid_at, log=False)
        then.append((memory._replica.last_transaction, question, valid_at, told(found)))
    for n, question, valid_at, answer in then:
        assert told(memory.recall(question, valid_at=valid_at, known_at=n, log=False)) == answer
    for each in world.memories:
        each.close()


def told(found: Recalled) -> list[Any]:
    """What was found, with its scores; a claim that says the same may have another name."""
    fields = [(hit.belief.entity, hit.belief.predicate, hit.belief.value, hit.belief.trust) for hit in found.hits]
    return [(*each, hit.score, hit.why) for each, hit in zip(fields, found.hits, strict=True)]


def test_what_is_rolled_back_was_never_in_the_index(tmp_path: Path) -> None:
    clock = ManualClock(from_datetime(NOON))
    with Memory(tmp_path / "a.db", environment=Environment(clock, seeded_randomness(1)), zone="UTC") as memory:
        memory.remember("ana", "city", "Lisbon")
        memory.index()
        with pytest.raises(ZeroDivisionError), memory.transaction():
            memory.remember("ana", "city", "Rome")
            memory.erase("ana")
            raise ZeroDivisionError
        check_index(memory)
        assert [hit.belief.value for hit in memory.recall("ana").hits] == ["Lisbon"]
    with Memory(tmp_path / "a.db", zone="UTC") as memory:
        check_index(memory)
        memory.remember("bob", "city", "Rome")
        check_index(memory)


def test_another_process_keeps_the_index_as_well(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", zone="UTC") as one, Memory(tmp_path / "a.db", zone="UTC") as other:
        other.remember("ana", "city", "Lisbon")
        one.index()
        other.remember("ana", "city", "Rome")
        check_index(one)
        assert {hit.belief.value for hit in one.recall("Where is Ana's city?").hits} == {"Lisbon", "Rome"}


def test_an_index_is_made_in_steps_while_others_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncmem.replica.index.SLOTS_AT_ONCE", 3)
    with Memory(tmp_path / "a.db", zone="UTC") as one, Memory(tmp_path / "a.db", zone="UTC") as other:
        for number in range(8):
            one.remember(f"person {number}", "city", "Rome")
        with one._replica.transaction():
            one._replica.index.advance()
        other.remember("person 1", "city", "Oslo")  # behind the mark
        other.remember("person 7", "city", "Oslo")  # before it
        other.remember("person 9", "city", "Oslo")
        other.erase("person 2")
        one.index()
        check_index(one)
        assert len(one.recall("Oslo").hits) == 3
