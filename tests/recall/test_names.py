"""Whoever goes by several names is found by each of them, as long as they are one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from syncmem import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", zone="UTC", embedder=None) as memory:
        memory.define("home_city", cardinality="single", aliases=["lives in"])
        memory.remember("robert", "home_city", "Lisbon", source="user")
        memory.remember("bob", "employer", "Globex", source="user")
        yield memory


def found(memory: Memory, question: str, **axes: object) -> list[object]:
    return [hit.belief.value for hit in memory.recall(question, **axes).hits]  # type: ignore[arg-type]


def test_each_name_of_one_person_finds_what_is_believed(memory: Memory) -> None:
    memory.same("robert", "bob")
    for name in ("Robert", "Bob"):
        hits = memory.recall(f"Where does {name} live?").hits
        assert (hits[0].belief.value, "slot" in hits[0].why) == ("Lisbon", True)
        assert found(memory, f"Where does {name} work, the employer?")[0] == "Globex"
    assert sorted(map(str, found(memory, "what is known of Robert?"))) == ["Globex", "Lisbon"]


def test_one_name_is_asked_for_and_all_are_meant(memory: Memory) -> None:
    memory.same("robert", "bob")
    assert found(memory, "the city", entity="robert")[0] == "Lisbon"
    assert found(memory, "the city", entity="robert", predicates=["lives in"]) == ["Lisbon"]
    assert "Lisbon" in memory.briefing("robert").to_prompt()
    assert [belief.value for belief in memory.search("robert lisbon")] == ["Lisbon"]


def test_names_that_part_again_find_their_own(memory: Memory) -> None:
    linked = memory.same("robert", "bob")
    memory.undo(linked.event)
    assert found(memory, "what is known of Robert?") == ["Lisbon"]
    assert found(memory, "what is known of Robert?", known_at=linked.known) == ["Globex", "Lisbon"]
    assert found(memory, "what is known of Robert?", known_at=linked.known - 1) == ["Lisbon"]
    assert memory.search("robert globex") == []


def test_why_said_asks_with_the_names_of_now(memory: Memory) -> None:
    recalled = memory.recall("what is known of Robert?")
    assert recalled.receipt is not None
    assert not memory.why_said(recalled.receipt).different
    memory.same("robert", "bob")
    assert memory.why_said(recalled.receipt).different
