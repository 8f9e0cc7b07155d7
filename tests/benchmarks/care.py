"""Care at 100,000 claims: doctor(), contested(), and a device of which everything is taken back.

20,000 slots of five single-valued changes by four devices, each hundredth claim doubtful.  What the doctor tells
of beliefs stands beside one bare pass over the same rectangles; contested() beside the number of what is contested.

Reach (first stage): doctor() answers within five seconds, and contested() takes at most 200 µs for each that it finds.
"""

from __future__ import annotations

import shutil
from typing import Any, NamedTuple

from syncmem import Memory
from syncmem.diagnosis import diagnose
from syncmem.model.instant import FOREVER
from tests.benchmarks import material
from tests.benchmarks.measuring import Round, Row, alternate, at_most, in_unit, latency, timed
from tests.benchmarks.workshop import Workshop

DOCTOR_REACH_MS, CONTESTED_REACH_US = 5_000.0, 200.0
_PASS = f"SELECT count(*), sum(length(value)) FROM beliefs WHERE known_to = {FOREVER}"


class Sizes(NamedTuple):
    claims: int
    slots: int
    rounds: int


SIZES = {
    "small": Sizes(claims=400, slots=80, rounds=2),
    "quick": Sizes(claims=100_000, slots=20_000, rounds=3),
    "full": Sizes(claims=100_000, slots=20_000, rounds=9),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    path = material.built(workshop, material.Shape(sizes.claims, sizes.slots, doubtful=100))
    with workshop.scratch() as folder:
        copy = folder / "care.db"
        shutil.copy(path, copy)
        with Memory(copy) as memory:
            return [*_doctor(memory, sizes), *_contested(memory), *_withdrawal(memory)]


def _doctor(memory: Memory, sizes: Sizes) -> list[Row]:
    def told() -> None:
        facts: dict[str, Any] = {}
        diagnose(memory._replica, facts, [])

    def bare(number: int) -> Round:
        return timed([lambda: memory._replica.db.execute(_PASS).fetchall()])

    of = f"{sizes.claims:,} claims"
    diagnosed = alternate(sizes.rounds, lambda number: timed([told]), bare)
    whole = alternate(sizes.rounds, lambda number: timed([memory.doctor]), bare)
    return [
        latency(f"doctor() on beliefs, {of}, by a bare pass over them", diagnosed),
        latency(f"doctor(), {of}, by the same", whole, reach=at_most(DOCTOR_REACH_MS)),
    ]


def _contested(memory: Memory) -> list[Row]:
    number = len(memory.contested())
    taken = _median_ms(timed([memory.contested] * 5))
    return [
        Row(f"contested(), all {number:,} of them", taken, "ms"),
        Row("contested(), each", taken / max(number, 1) * 1e3, "µs", reach=at_most(CONTESTED_REACH_US)),
    ]


def _withdrawal(memory: Memory) -> list[Row]:
    """One of the devices is taken back, looked for again in vain, and restored."""
    device = max(memory.devices(), key=lambda device: device.events)
    receipts = []
    taken = timed([lambda: receipts.append(memory.withdraw(device=device.id))])
    again = timed([lambda: memory.withdraw(device=device.id)])
    restored = timed([lambda: memory.undo(*receipts[0].events, trust=receipts[0].trust)])
    events = sum(receipts[0].taken.values())
    return [
        Row(f"withdraw() of a device's {events:,} events, each", _each(taken, events), "µs"),
        Row("withdraw() again, which finds nothing new, each", _each(again, events), "µs"),
        Row("undo() of the withdrawal, each", _each(restored, events), "µs"),
    ]


def _each(part: Round, events: int) -> float:
    return in_unit(part.wall / max(events, 1), "µs")


def _median_ms(part: Round) -> float:
    return in_unit(sorted(part.walls)[len(part.walls) // 2], "ms")
