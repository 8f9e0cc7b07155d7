"""One slot with very many claims: what one more costs at 1,000 and at 100,000 of them.

The claims are states with ``observed_at``, an hour apart, in one single-valued slot.  The slot is filled by
bulk merges of one device's log, in order and in random order of time.  Then one more claim at a time
arrives, in the same kind of order: by ``remember()``, and by merges of one event each.
Here the "baseline" is the cost at 1,000 claims.

Reach (first stage): at most twice the cost.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from syncmem import Environment, ManualClock, Memory
from syncmem.model.event import Kind
from syncmem.replica.replica import BULK_EVENTS, Replica
from tests.benchmarks import material
from tests.benchmarks.measuring import Action, Row, alternate, latency, ratio_at_most, timed
from tests.benchmarks.workshop import Workshop
from tests.world import Writer, sorted_keys

REACH = 2.0
HOUR = 3_600 * material.SECOND
LATE_CLOCK = 4_102_444_800 * material.SECOND  # 2100-01-01, later than everything that is said
ENTITY, PREDICATE = "person:ana", material.PREDICATES[0]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Sizes(NamedTuple):
    few: int
    many: int
    rounds: int
    writes: int  # a round


SIZES = {
    "small": Sizes(few=20, many=100, rounds=3, writes=3),
    "quick": Sizes(few=200, many=10_000, rounds=3, writes=20),
    "full": Sizes(few=1_000, many=100_000, rounds=5, writes=60),
}


def run(workshop: Workshop) -> list[Row]:
    return [row for in_order in (True, False) for row in _run(workshop, SIZES[workshop.scale], in_order)]


def _run(workshop: Workshop, sizes: Sizes, in_order: bool) -> list[Row]:
    order = "in order" if in_order else "in random order"
    with workshop.scratch() as folder, ExitStack() as stack:
        few, many = (Slot(folder / f"{size}.db", size, sizes, in_order) for size in (sizes.few, sizes.many))
        stack.callback(few.close)
        stack.callback(many.close)
        rows = [Row(f"fill with {slot.size:,} claims {order}", slot.fill_speed, "claims/s") for slot in (few, many)]
        for what, actions in (("remember()", Slot.remembers), ("merge of one event", Slot.merges)):
            found = alternate(
                sizes.rounds,
                lambda _, actions=actions: timed(actions(many, sizes.writes)),
                lambda _, actions=actions: timed(actions(few, sizes.writes)),
            )
            name = f"one more {order} at {sizes.many:,} beside {sizes.few:,} claims, {what}"
            rows.append(latency(f"{name}, median", found, reach=ratio_at_most(REACH)))
            rows.append(latency(f"{name}, p99", found, share=0.99))
        return rows


class Slot:
    """A memory whose one slot was filled, and the claims that come next."""

    def __init__(self, path: Path, size: int, sizes: Sizes, in_order: bool) -> None:
        self.size = size
        self._times = _times(size, 2 * sizes.rounds * sizes.writes, in_order)
        self._writer = Writer(sorted_keys(2)[1])
        self._environment = Environment(clock=ManualClock(LATE_CLOCK))
        self.fill_speed = size / self._fill(path)
        self._memory = Memory(path, environment=self._environment)
        self._values = iter(range(size, 10**9))

    def _fill(self, path: Path) -> float:
        """Take in the definitions and all claims but the last ones; how long the claims took."""
        for number in range(self.size):
            self._write(next(self._times), number)
        replica = material.open_replica(path, self._environment)
        _receive(replica, material.definitions(Writer(sorted_keys(2)[0])))
        begin = time.perf_counter()
        _receive(replica, self._writer.frames())
        seconds = time.perf_counter() - begin
        replica.close()
        return seconds

    def _write(self, seen: int, number: int) -> None:
        said = material.state(ENTITY, PREDICATE, f"value {number}", seen)
        self._writer.write(Kind.CLAIM, said, material.FIRST_CLOCK * 2 + number)

    def remembers(self, count: int) -> list[Action]:
        return [self._remember(next(self._values), next(self._times)) for _ in range(count)]

    def _remember(self, number: int, seen: int) -> Action:
        moment = EPOCH + timedelta(microseconds=seen)
        return lambda: self._memory.remember(ENTITY, PREDICATE, f"value {number}", observed_at=moment)

    def merges(self, count: int) -> list[Action]:
        return [self._merge(next(self._values), next(self._times)) for _ in range(count)]

    def _merge(self, number: int, seen: int) -> Action:
        after = len(self._writer.events)
        self._write(seen, number)
        frames = self._writer.frames(after)
        return lambda: _receive(self._memory._replica, frames)

    def close(self) -> None:
        self._memory.close()


def _receive(replica: Replica, frames: Sequence[object]) -> None:
    for _ in replica.receive(frames, events_max=BULK_EVENTS):  # type: ignore[arg-type]
        pass


def _times(size: int, more: int, in_order: bool) -> Iterator[int]:
    """When the claims were observed: an hour apart, and those that come last in random order half an hour off."""
    chance = random.Random(1)
    hours = list(range(size + more if in_order else size))
    if not in_order:
        chance.shuffle(hours)
    later = [] if in_order else chance.sample(hours, more)
    return iter([material.FIRST_DATE + hour * HOUR for hour in hours] + [_half_past(hour) for hour in later])


def _half_past(hour: int) -> int:
    return material.FIRST_DATE + hour * HOUR + HOUR // 2
