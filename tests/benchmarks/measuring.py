"""Measuring: rounds that alternate, the figures taken from them, and the rows that come out.

Rules: what is compared is measured in one run, a round of one side after a round of the other, each
round with the other side first; a ratio is the median of the rounds' own ratios, so that a noise that
lasts longer than a round falls on both sides.  Wall time decides; the ratio of CPU time stands beside it.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

Action = Callable[[], object]


class Round(NamedTuple):
    """One round of one side: the wall seconds of each action, and the CPU seconds of all of them."""

    walls: list[float]
    cpu: float

    @property
    def wall(self) -> float:
        return sum(self.walls)


def timed(actions: Iterable[Action]) -> Round:
    """Do the actions one after another."""
    walls = []
    cpu = time.process_time()
    for action in actions:
        begin = time.perf_counter()
        action()
        walls.append(time.perf_counter() - begin)
    return Round(walls, time.process_time() - cpu)


class Compared(NamedTuple):
    """The rounds of both sides; round ``i`` of one was measured next to round ``i`` of the other."""

    ours: list[Round]
    baseline: list[Round]


def alternate(rounds: int, ours: Callable[[int], Round], baseline: Callable[[int], Round]) -> Compared:
    """Measure both sides in turn; each is called with the number of the round."""
    compared = Compared([], [])
    for number in range(rounds):
        sides = [(compared.ours, ours), (compared.baseline, baseline)]
        for rounds_so_far, measure in reversed(sides) if number % 2 else sides:
            rounds_so_far.append(measure(number))
    return compared


# -- rows ---------------------------------------------------------------------------------------------


class Reach(NamedTuple):
    """What is wanted: ``of`` ("ratio" or "ours") at most or at least ``limit``."""

    of: str
    sign: str
    limit: float

    def met(self, row: Row) -> bool | None:
        value = row.ratio if self.of == "ratio" else row.ours
        if value is None:
            return None
        return value <= self.limit if self.sign == "<=" else value >= self.limit

    def __str__(self) -> str:
        return f"{'ratio ' if self.of == 'ratio' else ''}{self.sign} {self.limit:g}"


def ratio_at_most(limit: float) -> Reach:
    return Reach("ratio", "<=", limit)


def ratio_at_least(limit: float) -> Reach:
    return Reach("ratio", ">=", limit)


def at_most(limit: float) -> Reach:
    return Reach("ours", "<=", limit)


@dataclass
class Row:
    """One line of the table, with a ``note`` beneath; ``ratio`` is ours by the baseline's, whether more is better or
    less."""

    what: str
    ours: float
    unit: str
    baseline: float | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    reach: Reach | None = None
    more: dict[str, Any] = field(default_factory=dict)
    benchmark: str = ""
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.reach is None else self.reach.met(self)

    def plain(self) -> dict[str, Any]:
        """The row for JSON."""
        return asdict(self) | {"reach": None if self.reach is None else str(self.reach), "met": self.met}


def latency(
    what: str,
    compared: Compared,
    *,
    share: float = 0.5,
    unit: str = "ms",
    reach: Reach | None = None,
    **more: Any,
) -> Row:
    """How long one action takes: the quantile ``share`` of each round, and the median of those."""
    ours = [quantile(part.walls, share) for part in compared.ours]
    baseline = [quantile(part.walls, share) for part in compared.baseline]
    by_cpu = None
    if share == 0.5:
        by_cpu = _ratio([_cpu_each(part) for part in compared.ours], [_cpu_each(part) for part in compared.baseline])
    return Row(
        what,
        in_unit(statistics.median(ours), unit),
        unit,
        in_unit(statistics.median(baseline), unit),
        _ratio(ours, baseline),
        by_cpu,
        reach,
        more,
    )


def throughput(what: str, compared: Compared, count: int, *, reach: Reach | None = None, **more: Any) -> Row:
    """Claims a second: each round takes in ``count`` of them."""
    ours, baseline = ([count / part.wall for part in side] for side in compared)
    by_cpu = _ratio(*([count / max(part.cpu, 1e-9) for part in side] for side in compared))
    more = {"cpu_claims_per_second": statistics.median(count / max(part.cpu, 1e-9) for part in compared.ours)} | more
    return Row(
        what,
        statistics.median(ours),
        "claims/s",
        statistics.median(baseline),
        _ratio(ours, baseline),
        by_cpu,
        reach,
        more,
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not below ``share`` of them."""
    ordered = sorted(values)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def in_unit(seconds: float, unit: str) -> float:
    return seconds * {"s": 1, "ms": 1e3, "µs": 1e6}[unit]


def _cpu_each(part: Round) -> float:
    return part.cpu / len(part.walls)


def _ratio(ours: Sequence[float], baseline: Sequence[float]) -> float:
    return statistics.median(a / max(b, 1e-9) for a, b in zip(ours, baseline, strict=True))
