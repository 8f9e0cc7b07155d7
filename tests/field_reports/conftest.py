"""Fixtures: ``tell`` says steps in one of many ways, ``desk`` is one device with a clock."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from syncmem import Memory
from syncmem.environment import seeded_randomness
from syncmem.sync.in_memory import InMemoryServer
from tests.field_reports.orders import WAYS, Step, Way, in_memory, instant, readers
from tests.sync.group import Group

SINGLE = ("likes_coffee", "favourite", "home_city", "employer", "project", "topic")
Tell = Callable[..., Iterator[Memory]]


@pytest.fixture(params=WAYS, ids=str)
def tell(request: pytest.FixtureRequest, tmp_path: Path) -> Tell:
    """``for memory in tell(step, ...)``: every reader of what was said in this way."""
    way: Way = request.param

    def tell(*steps: Step, single: tuple[str, ...] = SINGLE, scopes: tuple[str, ...] = ()) -> Iterator[Memory]:
        return readers(way, steps, single, tmp_path, scopes)

    return tell


class Desk:
    """One device; ``on`` sets its clock and returns its memory."""

    def __init__(self, seed: int = 1) -> None:
        self.memory, self.clock = in_memory(itertools.count(seed))("desk")
        for predicate in SINGLE:
            self.memory.define(predicate, cardinality="single")

    def on(self, when: str) -> Memory:
        self.clock.time = instant(when if "T" in when else f"{when}T12:00Z")
        return self.memory


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.memory.close()


@pytest.fixture
def other() -> Iterator[Desk]:
    """A second device."""
    desk = Desk(101)
    yield desk
    desk.memory.close()


@pytest.fixture
def synced(tmp_path: Path) -> Iterator[Group]:
    """Two devices of one vault that meet at a mailbox in memory."""
    server = InMemoryServer(seeded_randomness(9))
    group = Group(tmp_path, "memory:", server.mailbox, [server])
    laptop = group.found()
    for predicate in SINGLE:
        laptop.define(predicate, cardinality="single")
    group.pair("phone")
    group.settle()
    yield group
    group.close()
