"""What is believed differently than at another time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from syncmem import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", zone="UTC") as memory:
        memory.define("home_city", cardinality="single")
        yield memory


def told(memory: Memory, since: int, **axes: str) -> list[tuple[str, list[object], list[object]]]:
    changes = memory.changes(since, **axes)  # type: ignore[arg-type]
    return [(c.entity, [b.value for b in c.before], [b.value for b in c.now]) for c in changes]


def test_what_was_taken_back_meanwhile_is_no_change(memory: Memory) -> None:
    first = memory.remember("ana", "home_city", "Lisbon")
    memory.undo(memory.remember("ana", "home_city", "Porto").event)
    memory.remember("bruno", "home_city", "Braga")
    assert told(memory, first.known) == [("bruno", [], ["Braga"])]
    assert told(memory, first.known, entity="ana") == []


def test_whoever_goes_by_several_names_is_asked_for_by_each(memory: Memory) -> None:
    link = memory.same("robert", "bob")
    memory.remember("robert", "home_city", "Lisbon")
    for name in ("robert", "bob"):
        assert told(memory, link.known, entity=name) == [("bob", [], ["Lisbon"])]
