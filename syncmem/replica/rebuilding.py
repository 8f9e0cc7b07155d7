"""Folding everything again, and the times of transactions corrected by what is known of clocks.

Rule: the logs and the transactions in which events arrived are the truth; whatever is derived comes out the
same when it is folded from them transaction by transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter

from syncmem.codec import pack_flat
from syncmem.model.event import Event
from syncmem.replica import schema
from syncmem.replica.arriving import Arrival
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.erasures import Erasures
from syncmem.replica.fold import Fold
from syncmem.replica.index import Index
from syncmem.replica.logs import Logs


def refold_all(
    database: Database,
    logs: Logs,
    fold: Fold,
    cuts: Cuts,
    erasures: Erasures,
    index: Index,
    forget: Callable[[], None],
) -> None:
    """Drop every derived table and fold again; inside a write transaction. ``forget`` drops what is cached."""
    applied = [row[0] for row in database.execute("SELECT position FROM erasures WHERE applied = 1").fetchall()]
    for table in schema.DERIVED_TABLES:
        database.execute(f"DELETE FROM {table}")
    forget()
    try:
        for n, _, positions in _transactions(database):
            arrivals = _arrivals(positions, logs)
            for position, event, _ in arrivals:
                erasures.observe(position, event)
            logs.replayed = n
            changes = fold.arrive(n, arrivals, recheck=cuts.moved_in(n))
            touched = pack_flat(sorted({change.slot for change in changes}))  # slots may have other numbers now
            database.execute("UPDATE transactions SET touched = ? WHERE n = ?", (touched, n))
            logs.replayed = None
    finally:
        logs.replayed = None
    erasures.mark(applied, applied=True)
    index.anew()


def _transactions(database: Database) -> Iterator[tuple[int, int, list[int]]]:
    """All transactions in order: number, wall clock, and where each run of events stands that arrived in it.

    One look at all runs: there is no way from a transaction to its runs but through all of them.  What arrives in the
    one that is under way is not among them.
    """
    walls = dict(database.execute("SELECT n, wall FROM transactions ORDER BY n").fetchall())
    runs = database.execute("SELECT tx, position FROM runs ORDER BY tx, position")
    arrived = ((n, position) for n, position in runs if n in walls)
    for n, group in groupby(merge(((n, 0) for n in walls), arrived), key=itemgetter(0)):
        yield n, walls[n], [position for _, position in group if position]


def _arrivals(positions: Iterable[int], logs: Logs) -> list[Arrival]:
    """The events of some runs."""
    runs = (logs.run_of(position) for position in positions)
    return [Arrival(first + offset, event) for first, events in runs for offset, event in enumerate(events)]


def arrivals_of(n: int, logs: Logs) -> list[Arrival]:
    """What arrived in a transaction, in the order of the logs."""
    return _arrivals((position for position, _ in logs.arrived_in(n)), logs)


def retime(database: Database, logs: Logs, clocks: Clocks) -> int:
    """Correct the times of own transactions by the clock notes about own logs that stand; the latest of them."""
    previous = None
    database.execute("DELETE FROM eras")
    for n, wall, positions in _transactions(database):
        time = wall + _own_error(wall, positions, logs, clocks)
        if previous is not None and time < previous:
            database.execute("INSERT INTO eras VALUES (?)", (n,))
        previous = time
        database.execute("UPDATE transactions SET time = ? WHERE n = ?", (time, n))
    return previous or 0


def _own_error(wall: int, positions: Iterable[int], logs: Logs, clocks: Clocks) -> int:
    """The known error of this device's clock at a transaction of its own, by the runs that arrived in it."""
    own = next((position for position in positions if logs.log_of(position).own), None)
    if own is None:
        return 0
    event = logs.event(own)
    clock = event.hlc if isinstance(event, Event) else wall
    return clocks.corrected(own, clock) - clock
