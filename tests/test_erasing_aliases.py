"""Erasing an entity of several names: what is meant, what goes, and what the others are left with."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncmem import Candidate, Environment, InvalidInput, ManualClock, Memory, Source
from syncmem.environment import seeded_randomness
from tests.strategies import rectangles
from tests.test_aliases import NOON, city, later, meet, memory_of

CANARY = "Canarina"


def traces(folder: Path, word: str) -> list[str]:
    """The files of a folder that hold a word, in any letters."""
    return [path.name for path in sorted(folder.iterdir()) if word.lower().encode() in path.read_bytes().lower()]


def test_all_names_go_with_the_links_that_joined_them_on_every_device_and_out_of_the_file(tmp_path: Path) -> None:
    memories = []
    for number in range(2):
        environment = Environment(ManualClock(NOON), seeded_randomness(number))
        (tmp_path / str(number)).mkdir()
        memories.append(Memory(tmp_path / str(number) / "a.db", zone="UTC", environment=environment))
    one, other = memories
    one.remember("robert", "city", "Lisbon")
    other.remember(CANARY, "city", "Berlin", batch="canary-batch")
    one.remember("ana", "city", "Rome")
    one.remember("ana", "met", "somebody", mentions=["robert"])
    one.same("robert", CANARY, reason="canary-reason", batch="canary-batch")
    one.submit(Candidate("robert", "diet", "canary-diet", source=Source("user")))
    meet(one, other)
    report = one.erase(CANARY)
    assert report.entities == (CANARY, "robert") and report.events == {"vault": 4} and report.scrubbed
    meet(one, other)
    assert one.belief_digest() == other.belief_digest()
    for memory in memories:
        assert memory.entities() == ["ana"] and memory.beliefs(CANARY) == memory.beliefs("robert") == []
        assert memory.aliases("robert").names == ("robert",) and memory.aliases("robert").links == ()
        memory.close()
    for word in (CANARY, "robert", "canary"):
        assert [traces(tmp_path / str(number), word) for number in range(2)] == [[], []]


def test_the_other_name_is_left_as_if_nobody_had_ever_linked_it(tmp_path: Path) -> None:
    environment = Environment(ManualClock(NOON), seeded_randomness(1))
    never = memory_of(2)
    with Memory(tmp_path / "a.db", zone="UTC", environment=environment) as memory, never:
        memory.define("city", cardinality="single")
        known, known_never = [], []
        for step in range(6):
            later(memory, never)
            if step == 1:
                memory.remember(CANARY, "city", "Berlin")
            elif step in (2, 4):
                memory.same("robert", CANARY) if step == 2 else memory.deny(CANARY, "city", "Faro")
            else:
                value = ["Lisbon", "", "", "Porto", "", "Faro"][step]
                known.append(memory.remember("robert", "city", value).known)
                known_never.append(never.remember("robert", "city", value).known)
        assert [city(memory, "robert", known_at=n) for n in known] == ["Lisbon", "Porto", "Faro"]
        assert memory.timeline("robert", "city")[0].entity == CANARY
        report = memory.erase(CANARY, aliases=False)
        assert report.entities == (CANARY,) and report.events == {"vault": 3}
        assert memory.belief_digest() == never.belief_digest()
        for mine, theirs in zip(known, known_never, strict=True):
            assert told_at(memory, mine) == told_at(never, theirs)
        then = rectangles(memory._replica)
        memory.rebuild()
        assert rectangles(memory._replica) == then
    assert traces(tmp_path, CANARY) == []


def told_at(memory: Memory, n: int) -> list[tuple[object, ...]]:
    timeline = memory.timeline("robert", "city", known_at=n)
    return [(belief.entity, belief.value, belief.valid_from, belief.valid_to, belief.contested) for belief in timeline]


def test_a_link_of_a_device_that_had_not_heard_of_the_erasure_is_dropped_and_one_that_had_is_kept() -> None:
    with memory_of(1) as phone, memory_of(2) as laptop:
        phone.remember("robert", "city", "Lisbon")
        phone.same("robert", "bob")
        laptop.remember("bob", "city", "Berlin")
        laptop.same("bob", "bert")
        phone.erase("bob", aliases=False)
        phone.merge(laptop)
        assert (city(phone, "bob"), city(phone, "robert")) == (None, "Lisbon")
        assert phone.aliases("bert").links == ()
        meet(phone, laptop)
        laptop.same("bob", "robert")
        meet(phone, laptop)
        assert [city(each, "bob") for each in (phone, laptop)] == ["Lisbon", "Lisbon"]
        assert phone.belief_digest() == laptop.belief_digest()


def test_receivers_erase_what_was_named_and_nothing_that_they_know_to_be_one_with_it() -> None:
    with memory_of(1) as phone, memory_of(2) as laptop:
        phone.remember("bob", "city", "Berlin")
        laptop.remember("robert", "city", "Lisbon")
        laptop.same("robert", "bob")
        assert phone.erase("bob").entities == ("bob",)
        meet(phone, laptop)
        assert [city(each, "robert") for each in (phone, laptop)] == ["Lisbon", "Lisbon"]
        assert [city(each, "bob") for each in (phone, laptop)] == [None, None]


def test_each_scope_is_erased_by_the_names_that_are_one_there() -> None:
    with memory_of() as memory:
        for scope in ("vault", "work", "device"):
            memory.remember("robert", "city", "Lisbon", scope=scope)
        memory.same("robert", "bob")
        memory.different("robert", "bob", scope="work")
        report = memory.erase("bob")
        assert report.entities == ("bob", "robert")
        assert [city(memory, "robert", scope=scope) for scope in ("vault", "work", "device")] == [None, "Lisbon", None]


def test_a_reason_names_none_of_the_names_that_go() -> None:
    with memory_of() as memory:
        memory.same("robert", "bob")
        before = memory.event_digest()
        with pytest.raises(InvalidInput, match="names the entity"):
            memory.erase("bob", reason="Robert asked for it")
        assert memory.event_digest() == before
        assert memory.erase("bob", reason="as asked").events == {"vault": 1}


def test_an_undone_link_goes_with_each_of_its_names_and_does_not_take_the_other_along() -> None:
    with memory_of() as memory:
        memory.remember("robert", "city", "Lisbon")
        memory.undo(memory.same("robert", "bob").event)
        report = memory.erase("bob")
        assert report.entities == ("bob",) and report.events == {"vault": 1}
        assert city(memory, "robert") == "Lisbon" and memory.aliases("robert").links == ()
