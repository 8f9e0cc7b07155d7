"""Rot is found before somebody reads it, a little at a time; and what is read first is looked at first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmem import Damaged, Memory, repair
from tests.test_repair import spoil

ALL = slice(None)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.define("home", cardinality="single")
        for number in range(40):
            memory.remember(f"person {number % 9}", "home", f"town {number}")
        memory.same("person 1", "person 2")
        memory.erase("person 3")
    yield path


def passes(path: Path, rows: int) -> list[tuple[str, ...]]:
    """What was known after each pass, every one in a process of its own, until all was looked at."""
    known: list[tuple[str, ...]] = []
    while True:
        with Memory(path) as memory:
            done = memory.inspect(rows=rows, anew=not known)
            assert done.found == memory.status().damage
            known.append(done.found)
            if done.whole:
                return known


def test_what_is_whole_is_looked_at_once_a_week_and_nothing_is_found(path: Path) -> None:
    assert not any(passes(path, 10))
    with Memory(path) as memory:
        before = Path(path).read_bytes(), memory.last_known()
        assert memory.inspect().rows == 0
        assert (Path(path).read_bytes(), memory.last_known()) == before
        assert memory.inspect(anew=True).rows > 50


@pytest.mark.parametrize(
    ("table", "column", "chosen"),
    [
        ("runs", "body", slice(20, 21)),
        ("runs", "tx", slice(-2, -1)),
        ("blocks", "cover", ALL),
        ("logs", "head", ALL),
        ("transactions", "wall", slice(7, 8)),
        ("beliefs", "value", slice(-3, -2)),
        ("beliefs", "valid_from", slice(-3, -2)),
        ("beliefs", "trust", slice(-3, -2)),
        ("pages", "body", slice(5, 6)),
    ],
    ids=str,
)
def test_whatever_rots_is_found_in_some_pass_and_told_until_it_was_repaired(
    path: Path, table: str, column: str, chosen: slice
) -> None:
    with Memory(path) as memory:
        spoil(memory, table, column, chosen)
    known = passes(path, 10)
    assert known[-1] and len(known) > 1
    with Memory(path) as memory:
        assert set(known[-1]) <= set(memory.doctor().problems)
    assert repair(path).finished
    with Memory(path) as memory:
        assert not memory.status().damage
    assert not any(passes(path, 10))


def test_a_slot_that_its_name_does_not_lead_to_is_found(path: Path) -> None:
    """A row of an index that is not what its table says: reading by name finds nothing, and nothing else is odd."""
    with Memory(path) as memory:
        memory.scrub()
    data = bytearray(path.read_bytes())
    places = [i for i in range(len(data)) if data.startswith(b"person 5homevault", i)]
    assert places
    for place in places:
        data[place + 7] ^= 1
    path.write_bytes(data)
    assert any("index" in sentence for sentence in passes(path, 10)[-1])
    assert repair(path).found
    with Memory(path) as memory:
        assert memory.believe("person 5", "home") is not None


def test_a_belief_that_rotted_is_not_handed_out_when_it_is_first_read(path: Path) -> None:
    with Memory(path) as memory:
        spoil(memory, "beliefs", "value", ALL)
    with Memory(path) as memory, pytest.raises(Damaged, match="syncmem repair"):
        memory.believe("person 5", "home")
    assert repair(path).found
    with Memory(path) as memory:
        assert memory.believe("person 5", "home").value == "town 32"  # type: ignore[union-attr]


@pytest.mark.parametrize("column", ["value", "valid_from", "trust", "known_from"])
def test_a_past_belief_that_rotted_is_not_handed_out_when_it_is_first_read(tmp_path: Path, column: str) -> None:
    path = tmp_path / "b.db"
    with Memory(path) as memory:
        memory.define("home", cardinality="single")
        first = memory.remember("ana", "home", "Lisbon", changed_on="2020-01-01T00:00Z")
        memory.remember("bob", "home", "Porto", changed_on="2021-01-01T00:00Z")
        memory.remember("ana", "home", "Faro", changed_on="2020-01-01T00:00Z")
        other = """'"Porto"'""" if column == "value" else f"{column} + 1"
        memory._replica.db.execute(f"UPDATE beliefs SET {column} = {other} WHERE known_to < 1000")
    with Memory(path) as memory:
        assert memory.believe("ana", "home").value == "Faro"  # type: ignore[union-attr]
        for ask in (memory.believe, memory.timeline):
            with pytest.raises(Damaged, match="syncmem repair"):
                ask("ana", "home", known_at=first.known)
    assert repair(path).found
    with Memory(path) as memory:
        assert memory.believe("ana", "home", known_at=first.known).value == "Lisbon"  # type: ignore[union-attr]
