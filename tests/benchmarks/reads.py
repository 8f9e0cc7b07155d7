"""Reading at 1,000,000 claims: 20,000 slots of 50 single-valued changes, and each thousandth claim doubtful.

``Memory.believe()`` of the current value stands beside a bare prepared SELECT of the current row: the same
file, the same driver, the slot looked up by its names.  The same at other times, the same with a slot of 10
and of 10,000 claims, a timeline, and all contested beliefs.

Reach (first stage): believe() takes at most three times the SELECT, and as long for a slot of 10,000 claims
as for one of 10 (at most 1.5 times, which leaves room for noise).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from syncmem import Memory
from syncmem.model.instant import FOREVER
from syncmem.replica import driver
from tests.benchmarks import material
from tests.benchmarks.measuring import Action, Row, alternate, in_unit, latency, quantile, ratio_at_most, timed
from tests.benchmarks.workshop import Workshop

REACH, FLAT_REACH = 3.0, 1.5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_FROM = "FROM slots s JOIN beliefs b ON b.slot = s.id WHERE s.entity = ?1 AND s.predicate = ?2 AND s.scope = 'vault'"
_COLUMNS = "SELECT b.value, b.valid_from, b.valid_to, b.trust, b.contested, b.claim"
_AT = f"{_COLUMNS} {_FROM} AND b.lane = x'' AND b.known_to = {FOREVER} AND b.valid_from <= ?3 ORDER BY 2 DESC LIMIT 1"
_ALL = f"{_COLUMNS} {_FROM} AND b.lane = x'' AND b.known_to = {FOREVER} ORDER BY 2"
_THEN = (
    f"{_COLUMNS} {_FROM} AND b.lane = x'' AND b.known_to > ?4 AND b.known_from <= ?4 "
    "AND b.valid_from <= ?3 AND b.valid_to > ?3 LIMIT 1"
)
_BY_NUMBER = (
    f"{_COLUMNS} FROM beliefs b WHERE b.slot = ?1 AND b.lane = x'' AND b.known_to = {FOREVER} "
    "AND b.valid_from <= ?2 ORDER BY 2 DESC LIMIT 1"
)


class Sizes(NamedTuple):
    claims: int
    slots: int
    short: int
    long: int
    rounds: int
    reads: int  # a round
    slow_reads: int  # a round, where a read folds


SIZES = {
    "small": Sizes(claims=400, slots=8, short=10, long=60, rounds=3, reads=10, slow_reads=2),
    "quick": Sizes(claims=50_000, slots=1_000, short=10, long=2_000, rounds=3, reads=200, slow_reads=20),
    "full": Sizes(claims=1_000_000, slots=20_000, short=10, long=10_000, rounds=7, reads=1_000, slow_reads=100),
}


def shape(scale: str) -> material.Shape:
    sizes = SIZES[scale]
    lengths = ((material.SHORT, sizes.short), (material.LONG, sizes.long))
    return material.Shape(sizes.claims, sizes.slots, doubtful=min(1_000, sizes.claims // 10), lengths=lengths)


class Bench:
    """The file, opened as a memory and by the bare driver."""

    def __init__(self, path: Path, sizes: Sizes, stack: ExitStack) -> None:
        self.sizes = sizes
        self.memory = stack.enter_context(Memory(path))
        self.bare = driver.connect(str(path), read_only=True)
        stack.callback(self.bare.close)
        self.transactions = int(self.bare.execute("SELECT max(n) FROM transactions").fetchone()[0])
        self.now = time.time_ns() // 1_000
        rows = self.bare.execute("SELECT entity, predicate, id FROM slots")
        self._numbers = {(entity, predicate): number for entity, predicate, number in rows}

    def names(self, chance: random.Random) -> tuple[str, str]:
        return material.slot_names(chance.randrange(self.sizes.slots))

    def select(self, sql: str, *parameters: Any) -> Action:
        return lambda: self.bare.execute(sql, parameters).fetchall()

    def number(self, names: tuple[str, str]) -> int:
        return int(self._numbers[names])


Make = Callable[[Bench, random.Random], Action]


def run(workshop: Workshop) -> list[Row]:
    path = material.built(workshop, shape(workshop.scale))
    with ExitStack() as stack:
        bench = Bench(path, SIZES[workshop.scale], stack)
        rows = _now(bench)
        rows += _flat(bench)
        rows += [row for what, ours, bare, slow in _AS_OF for row in _pair(bench, what, ours, bare, slow)]
        return rows + _long(bench) + _contested(bench)


# -- now ----------------------------------------------------------------------------------------------


def _believe(bench: Bench, chance: random.Random) -> Action:
    names = bench.names(chance)
    return lambda: bench.memory.believe(*names)


def _select(bench: Bench, chance: random.Random) -> Action:
    return bench.select(_AT, *bench.names(chance), bench.now)


def _select_by_number(bench: Bench, chance: random.Random) -> Action:
    return bench.select(_BY_NUMBER, bench.number(bench.names(chance)), bench.now)


def _now(bench: Bench) -> list[Row]:
    rows = _pair(bench, "believe() now", _believe, _select)
    rows[0].reach = ratio_at_most(REACH)
    by_number = _pair(bench, "believe() now beside SELECT by the slot's number", _believe, _select_by_number)
    return [*rows, *by_number]


def _flat(bench: Bench) -> list[Row]:
    """The same question about a long and a short history."""
    sizes = bench.sizes
    what = f"believe() now, slot of {sizes.long:,} beside slot of {sizes.short:,} claims"
    rows = _pair(bench, what, _believe_of(material.LONG), _believe_of(material.SHORT))
    rows[0].reach = ratio_at_most(FLAT_REACH)
    return rows


def _believe_of(entity: str) -> Make:
    return lambda bench, chance: lambda: bench.memory.believe(entity, material.PREDICATES[0])


# -- as of --------------------------------------------------------------------------------------------


def _day(chance: random.Random) -> datetime:
    return EPOCH + timedelta(microseconds=chance.randrange(material.FIRST_DATE, material.FIRST_CLOCK))


def _at(bench: Bench, chance: random.Random) -> Action:
    names, day = bench.names(chance), _day(chance)
    return lambda: bench.memory.believe(*names, valid_at=day)


def _select_at(bench: Bench, chance: random.Random) -> Action:
    names, day = bench.names(chance), _day(chance)
    return bench.select(_AT, *names, (day - EPOCH) // timedelta(microseconds=1))


def _known(bench: Bench, chance: random.Random) -> Action:
    names, n = bench.names(chance), chance.randint(1, bench.transactions)
    return lambda: bench.memory.believe(*names, known_at=n)


def _select_known(bench: Bench, chance: random.Random) -> Action:
    names, n = bench.names(chance), chance.randint(1, bench.transactions)
    return bench.select(_THEN, *names, bench.now, n)


def _asserted(bench: Bench, chance: random.Random) -> Action:
    names = bench.names(chance)
    written = chance.randrange(bench.sizes.claims) * material.PACE
    day = EPOCH + timedelta(microseconds=material.FIRST_CLOCK + written)
    return lambda: bench.memory.believe(*names, asserted_by=day)


def _timeline(bench: Bench, chance: random.Random) -> Action:
    names = bench.names(chance)
    return lambda: bench.memory.timeline(*names)


def _select_all(bench: Bench, chance: random.Random) -> Action:
    return bench.select(_ALL, *bench.names(chance))


_AS_OF: tuple[tuple[str, Make, Make, bool], ...] = (
    ("believe(valid_at=)", _at, _select_at, False),
    ("believe(known_at=) beside SELECT of the rectangle", _known, _select_known, False),
    ("believe(asserted_by=) beside SELECT of the timeline", _asserted, _select_all, True),
    ("timeline() beside SELECT of the timeline", _timeline, _select_all, True),
)


def _long(bench: Bench) -> list[Row]:
    """Questions whose answer is long, or folds a long history."""
    names = (material.LONG, material.PREDICATES[0])
    day = EPOCH + timedelta(microseconds=material.FIRST_CLOCK + bench.sizes.claims * material.PACE // 2)
    of = f"slot of {bench.sizes.long:,} claims"
    return [
        Row(f"timeline(), {of}", _median_ms(lambda: bench.memory.timeline(*names)), "ms"),
        Row(f"believe(asserted_by=), {of}", _median_ms(lambda: bench.memory.believe(*names, asserted_by=day)), "ms"),
    ]


def _contested(bench: Bench) -> list[Row]:
    """All contested beliefs at once: in all, and for each."""
    number = len(bench.memory.contested())
    taken = _median_ms(bench.memory.contested)
    return [
        Row(f"contested(), all {number:,} of them", taken, "ms"),
        Row("contested(), each", taken / max(number, 1) * 1e3, "µs"),
    ]


def _median_ms(action: Action) -> float:
    return in_unit(quantile(timed([action] * 3).walls, 0.5), "ms")


# -- both sides ---------------------------------------------------------------------------------------


def _pair(bench: Bench, what: str, ours: Make, bare: Make, slow: bool = False) -> list[Row]:
    """Median and p99 of both sides, over random slots (the same ones for both)."""
    reads = bench.sizes.slow_reads if slow else bench.sizes.reads

    def actions(make: Make, number: int) -> list[Action]:
        chance = random.Random(number)
        return [make(bench, chance) for _ in range(reads)]

    found = alternate(
        bench.sizes.rounds,
        lambda number: timed(actions(ours, number)),
        lambda number: timed(actions(bare, number)),
    )
    return [
        latency(f"{what}, median", found, unit="µs"),
        latency(f"{what}, p99", found, share=0.99, unit="µs"),
    ]
