"""Which beliefs a question is about: of itself a device tells exactly, and nothing of what has not been yet."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from syncmem import Environment, InvalidInput, ManualClock, Memory
from syncmem.model.instant import from_datetime
from syncmem.results import Grade

NOON = from_datetime(datetime(2026, 6, 15, 12, tzinfo=UTC))
HOUR = 3_600_000_000


def test_a_device_tells_its_own_beliefs_exactly_at_any_time_and_at_any_transaction() -> None:
    clock = ManualClock(NOON)
    with Memory(":memory:", environment=Environment(clock=clock), zone="UTC") as memory:
        first = memory.remember("ana", "home", "Lisbon")
        clock.time += HOUR
        with Memory(":memory:", environment=Environment(clock=clock)) as other:
            other.remember("bob", "home", "Porto")
            memory.merge(other)
        memory.remember("ana", "home", "Faro", since="2026-06-15T12:30Z")
        for known_at in (None, "2026-06-15T12:01Z", "2020", first.known, first.known - 1):
            mine = memory.beliefs("ana", "home", known_at=known_at, device=memory.device)
            assert mine == memory.beliefs("ana", "home", known_at=known_at)
            assert all(belief.grade is Grade.EXACT for belief in mine)
        told = memory.believe("bob", "home", device=memory.device)
        assert told is not None and (told.value, told.grade) == ("Porto", Grade.EXACT)
        with pytest.raises(InvalidInput, match="belongs to this device"):
            memory.believe("bob", "home", device=other_device(memory), known_at=1)


def other_device(memory: Memory) -> str:
    return next(device.id for device in memory.devices() if not device.own)


ASKED: dict[str, Callable[[Memory, int], object]] = {
    "believe": lambda memory, n: memory.believe("ana", "home", known_at=n),
    "beliefs": lambda memory, n: memory.beliefs("ana", known_at=n),
    "timeline": lambda memory, n: memory.timeline("ana", "home", known_at=n),
    "history": lambda memory, n: memory.history("ana", "home", known_at=n),
    "why": lambda memory, n: memory.why("ana", "home", known_at=n),
    "contested": lambda memory, n: memory.contested(known_at=n),
    "own device": lambda memory, n: memory.believe("ana", "home", known_at=n, device=memory.device),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_was_known_at_a_transaction_that_has_not_been_is_refused_with_the_last_one(
    asked: Callable[[Memory, int], object],
) -> None:
    with Memory(":memory:") as memory:
        last = memory.remember("ana", "home", "Lisbon").known
        asked(memory, last)
        with pytest.raises(InvalidInput, match=f"no transaction {last + 1} yet, the last one is {last}; pass that, or"):
            asked(memory, last + 1)
