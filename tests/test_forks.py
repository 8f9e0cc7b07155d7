"""A machine is put back whole, goes on writing and meets the others: both its lives keep all they wrote."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from syncmem import Forked, ManualClock, Memory
from syncmem.model.instant import from_datetime
from tests.machine import Machine


class Home:
    """A laptop that is put back, and devices that it meets."""

    def __init__(self, folder: Path) -> None:
        clock = ManualClock(from_datetime(datetime(2025, 1, 1, 12, tzinfo=UTC)))
        names = ("laptop", "phone", "desk")
        self.laptop, self.phone, self.desk = (Machine(folder / f"{name}.db", clock) for name in names)

    @property
    def memories(self) -> list[Memory]:
        return [machine.memory for machine in (self.laptop, self.phone, self.desk)]

    def all_meet(self) -> None:
        for _ in range(6):
            if not sum(
                one.merge(other).transactions for one in self.memories for other in self.memories if one is not other
            ):
                break
        else:
            raise AssertionError("they do not come to rest")
        assert len({memory.event_digest() for memory in self.memories}) == 1
        assert len({memory.belief_digest() for memory in self.memories}) == 1
        for memory in self.memories:
            before = memory.belief_digest()
            memory.rebuild()
            assert memory.belief_digest() == before
            assert not [p for p in memory.doctor(full=True).problems if p.startswith(("log ", "the file"))]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    for memory in made.memories:
        memory.close()


def write(machine: Machine, *values: str, **said: str) -> list[str]:
    return [machine.memory.remember("ana", "diary", value, **said).event for value in values]  # type: ignore[arg-type]


def two_lives(home: Home, first: tuple[str, ...] = ("a1", "a2"), second: tuple[str, ...] = ("b1", "b2", "b3")) -> None:
    """The laptop writes, the phone hears of it, the laptop is put back and writes again."""
    write(home.laptop, "before")
    disk = home.laptop.backed_up()
    write(home.laptop, *first)
    home.phone.memory.merge(home.laptop.memory)
    home.laptop.put_back(disk)
    write(home.laptop, *second)


@pytest.mark.parametrize("first", [("a1",), ("a1", "a2"), tuple(f"a{n}" for n in range(300))], ids=len)
@pytest.mark.parametrize("second", [("b1",), ("b1", "b2", "b3"), tuple(f"b{n}" for n in range(600))], ids=len)
def test_both_lives_keep_what_they_wrote(home: Home, first: tuple[str, ...], second: tuple[str, ...]) -> None:
    two_lives(home, first, second)
    report = home.laptop.memory.merge(home.phone.memory)
    assert [(told.place, told.events) for told in report.repaired] == [(2, len(second))]
    assert home.laptop.values() == sorted(["before", *first, *second])
    assert home.phone.memory.merge(home.laptop.memory).repaired == ()
    home.all_meet()
    assert home.desk.values() == sorted(["before", *first, *second])


def test_who_is_no_author_refuses_and_says_so(home: Home) -> None:
    two_lives(home)
    with pytest.raises(Forked, match="two lives"):
        home.phone.memory.merge(home.laptop.memory)
    assert home.phone.values() == ["a1", "a2", "before"]
