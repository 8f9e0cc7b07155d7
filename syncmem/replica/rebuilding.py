"""Folding everything again, and the times of transactions corrected by what is known of clocks.

Rule: the logs and the transactions in which events arrived are the truth; whatever is derived comes out the
same when it is folded from them transaction by transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from syncmem.codec import pack_flat
from syncmem.model.event import Event
from syncmem.replica import schema
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.erasures import Erasures
from syncmem.replica.fold import Arrival, Fold
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
        for (n,) in database.execute("SELECT n FROM transactions ORDER BY n").fetchall():
            arrivals = arrivals_of(n, logs)
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


def arrivals_of(n: int, logs: Logs) -> list[Arrival]:
    """What arrived in a transaction, in the order of the logs."""
    return [
        Arrival(position + offset, event)
        for position, events in logs.arrived_in(n)
        for offset, event in enumerate(events)
    ]


def retime(database: Database, logs: Logs, clocks: Clocks) -> int:
    """Correct the times of own transactions by the clock notes about own logs that stand; the latest of them."""
    previous = None
    database.execute("DELETE FROM eras")
    for n, wall in database.execute("SELECT n, wall FROM transactions ORDER BY n").fetchall():
        time = wall + _own_error(n, wall, logs, clocks)
        if previous is not None and time < previous:
            database.execute("INSERT INTO eras VALUES (?)", (n,))
        previous = time
        database.execute("UPDATE transactions SET time = ? WHERE n = ?", (time, n))
    return previous or 0


def _own_error(n: int, wall: int, logs: Logs, clocks: Clocks) -> int:
    """The known error of this device's clock at a transaction of its own."""
    for position, events in logs.arrived_in(n):
        if logs.log_of(position).own:
            clock = events[0].hlc if isinstance(events[0], Event) else wall
            return clocks.corrected(position, clock) - clock
    return 0
