"""Merging 100,000 claims over 20,000 slots, out of order, into a fresh replica.

Single-valued predicates, changes with explicit dates, written by four devices whose logs arrive one after
the other.  Beside it the log takes in the same claims in transactions of the same size.

Reach (first stage): at least half of the log's claims a second; and at the size of a merge's transaction
the write lock is held for at most 100 ms (p99, from before BEGIN to after COMMIT).
The rows "with doubts" are the same with each twentieth claim of little trust; no reach was set for them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from syncmem.model.frame import Frame
from syncmem.replica.replica import BULK_EVENTS, MERGE_EVENTS, Replica
from tests.benchmarks import baseline, material
from tests.benchmarks.baseline import BareLog
from tests.benchmarks.measuring import (
    Compared,
    Reach,
    Round,
    Row,
    alternate,
    at_most,
    in_unit,
    quantile,
    ratio_at_least,
    throughput,
    timed,
)
from tests.benchmarks.workshop import Workshop

REACH, LOCK_REACH_MS = 0.5, 100.0


class Sizes(NamedTuple):
    claims: int
    slots: int
    rounds: int


SIZES = {
    "small": Sizes(claims=400, slots=80, rounds=1),
    "quick": Sizes(claims=20_000, slots=4_000, rounds=2),
    "full": Sizes(claims=100_000, slots=20_000, rounds=3),
}


class Held:
    """How long each write transaction of a replica lasts, from before BEGIN to after COMMIT."""

    def __init__(self, replica: Replica) -> None:
        self.seconds: list[float] = []
        self._transaction = replica.db.transaction
        replica.db.transaction = self.measured  # type: ignore[method-assign]

    @contextmanager
    def measured(self) -> Iterator[None]:
        begin = time.perf_counter()
        with self._transaction():
            yield
        self.seconds.append(time.perf_counter() - begin)


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    plain = material.Shape(sizes.claims, sizes.slots)
    doubts = material.Shape(sizes.claims, sizes.slots, doubtful=20)
    rows = _rows(workshop, "merge", plain, MERGE_EVENTS, sizes.rounds, ratio_at_least(REACH), at_most(LOCK_REACH_MS))
    rows += _rows(workshop, "bulk", plain, BULK_EVENTS, sizes.rounds, ratio_at_least(REACH), None)
    rows += _rows(workshop, "merge with doubts", doubts, MERGE_EVENTS, sizes.rounds, None, None)
    return rows


def _rows(
    workshop: Workshop,
    what: str,
    shape: material.Shape,
    events_max: int,
    rounds: int,
    reach: Reach | None,
    lock_reach: Reach | None,
) -> list[Row]:
    frames = list(material.frames(shape))
    rows = baseline.parts(list(material.rows(shape)), transaction_sizes(frames, events_max))
    held: list[list[float]] = []
    with workshop.scratch() as folder:
        names = count()
        found = alternate(
            rounds,
            lambda _: _merge(folder / f"{next(names)}.db", frames, events_max, held),
            lambda _: _insert(folder / f"{next(names)}.db", rows),
        )
    result = [throughput(f"{what}: transactions of {events_max:,} events", found, shape.total, reach=reach)]
    result += [_lock(f"{what}: write lock held, {name}", found, held, share, lock_reach) for name, share in _SHARES]
    return result


_SHARES = (("median", 0.5), ("p99", 0.99))


def _lock(what: str, found: Compared, held: list[list[float]], share: float, reach: Reach | None) -> Row:
    """How long transactions lasted; the reach is about the p99."""
    ours = quantile([quantile(part, share) for part in held], 0.5)
    bare = quantile([quantile(part.walls, share) for part in found.baseline], 0.5)
    worst = max(max(part) for part in held)
    row = Row(what, in_unit(ours, "ms"), "ms", in_unit(bare, "ms"), ours / bare, more={"worst_ms": worst * 1e3})
    row.reach = reach if share > 0.5 else None
    return row


def _merge(path: Path, frames: Sequence[Frame], events_max: int, held: list[list[float]]) -> Round:
    """Take everything in; each action is one transaction."""
    replica = material.open_replica(path)
    lock = Held(replica)
    incoming = replica.receive(frames, events_max=events_max)
    try:
        return timed(_until_exhausted(incoming))
    finally:
        held.append(lock.seconds)
        replica.close()


def _until_exhausted(incoming: Iterator[object]) -> Iterable:
    """Actions that take the next result, until there is none."""
    more = [True]

    def take() -> None:
        more[0] = next(incoming, None) is not None

    while more[0]:
        yield take


def _insert(path: Path, parts: Sequence[Sequence[baseline.Row]]) -> Round:
    log = BareLog(path)
    try:
        return timed([lambda part=part: log.add(part) for part in parts])
    finally:
        log.close()


def transaction_sizes(frames: Sequence[Frame], events_max: int) -> list[int]:
    """How many claims fall into each transaction of a merge (the definitions, which come first, apart)."""
    sizes, size = [], 0
    for frame in frames[1:]:
        size += len(frame.events)
        if size >= events_max:
            sizes.append(size)
            size = 0
    return [*sizes, size]
