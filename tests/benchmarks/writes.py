"""Local writes: one durable ``remember()`` a transaction, and many in one.

Reach (first stage): one durable remember takes at most 1.6 times a bare durable transaction of the log.
Grouped writes have no reach of their own; they are claims a second beside transactions of the same size.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import NamedTuple

from syncmem import Memory
from tests.benchmarks import material
from tests.benchmarks.baseline import BareLog, row
from tests.benchmarks.measuring import Action, Compared, Row, alternate, latency, ratio_at_most, throughput, timed
from tests.benchmarks.workshop import Workshop

REACH = 1.6


class Sizes(NamedTuple):
    claims: int  # in both files beforehand
    slots: int
    rounds: int
    writes: int  # a round
    groups: tuple[tuple[int, int], ...]  # (claims in a transaction, transactions a round)


SIZES = {
    "small": Sizes(claims=100, slots=20, rounds=3, writes=4, groups=((10, 2),)),
    "quick": Sizes(claims=2_000, slots=400, rounds=3, writes=30, groups=((100, 5), (1_000, 1))),
    "full": Sizes(claims=10_000, slots=2_000, rounds=7, writes=100, groups=((100, 10), (1_000, 3))),
}


class Bench:
    """A memory and a log with the same claims, and what is written into them next."""

    def __init__(self, memory: Memory, log: BareLog, slots: int) -> None:
        self.memory = memory
        self.log = log
        self.slots = slots
        self._number = count()
        self._seq = count(1)

    def new(self) -> tuple[str, str, str]:
        """Entity, predicate and value: ever new values, slot after slot."""
        number = next(self._number)
        return (*material.slot_names(number * 7 % self.slots), f"new value {number}")

    def state(self) -> Action:
        entity, predicate, value = self.new()
        return lambda: self.memory.remember(entity, predicate, value)

    def change(self) -> Action:
        entity, predicate, value = self.new()
        number = next(self._number)
        day = datetime(2012, 1, 1, tzinfo=UTC) + timedelta(hours=number * 7919 % 70_000)
        return lambda: self.memory.remember(entity, predicate, value, changed_on=day)

    def bare(self) -> Action:
        rows = self.rows(1)
        return lambda: self.log.add_one(rows[0])

    def rows(self, number: int) -> list[tuple[object, ...]]:
        said = (self.new() for _ in range(number))
        states = (material.state(*each, observed_at=material.FIRST_CLOCK) for each in said)
        return [row(b"new log", next(self._seq), each, material.FIRST_CLOCK) for each in states]

    def group(self, size: int) -> Action:
        writes = [self.state() for _ in range(size)]

        def together() -> None:
            with self.memory.transaction():
                for write in writes:
                    write()

        return together

    def at_once(self, size: int) -> Action:
        said = (self.new() for _ in range(size))
        claims = [{"entity": entity, "predicate": predicate, "value": value} for entity, predicate, value in said]
        return lambda: self.memory.remember_all(claims)

    def bare_group(self, size: int) -> Action:
        rows = self.rows(size)
        return lambda: self.log.add(rows)


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    shape = material.Shape(sizes.claims, sizes.slots)
    with workshop.scratch() as folder, ExitStack() as stack:
        replica = material.open_replica(folder / material.REPLICA)
        for _ in replica.receive(material.frames(shape)):
            pass
        replica.close()
        memory = stack.enter_context(Memory(folder / material.REPLICA))
        log = BareLog(folder / "log.db")
        stack.callback(log.close)
        log.add(material.rows(shape))
        return _measure(Bench(memory, log, sizes.slots), sizes)


def _measure(bench: Bench, sizes: Sizes) -> list[Row]:
    rows = []
    for what, ours in (("a state", bench.state), ("a change with a date", bench.change)):
        found = _alternating(sizes.rounds, ours, bench.bare, sizes.writes)
        rows.append(latency(f"one durable remember, {what}, median", found, reach=ratio_at_most(REACH)))
        rows.append(latency(f"one durable remember, {what}, p99", found, share=0.99))
    for size, transactions in sizes.groups:
        for what, ours in (("remember in transactions", bench.group), ("remember_all", bench.at_once)):
            found = _alternating(
                sizes.rounds, lambda ours=ours, n=size: ours(n), lambda n=size: bench.bare_group(n), transactions
            )
            rows.append(throughput(f"{what} of {size:,}", found, size * transactions))
    return rows


def _alternating(rounds: int, ours: Callable[[], Action], bare: Callable[[], Action], number: int) -> Compared:
    """Rounds of so many actions of each side."""
    return alternate(
        rounds,
        lambda _: timed([ours() for _ in range(number)]),
        lambda _: timed([bare() for _ in range(number)]),
    )
