"""Pruning: the two changes of a log that are not additions, both made only where a branch of it is void."""

from __future__ import annotations

from collections.abc import Mapping

from syncmem.model.frame import payload_bytes
from syncmem.model.record import LOG_SHIFT
from syncmem.model.salt import BLOCK_EVENTS
from syncmem.replica.chain import Log
from syncmem.replica.connection import Database
from syncmem.replica.logs import SEQ_MASK, Logs
from syncmem.replica.runs import rewrite


def redate(database: Database, logs: Logs, arrived: Mapping[int, int]) -> None:
    """Note other arrivals of stored events: position -> transaction."""
    runs: dict[int, list[int]] = {}
    for position, tx in arrived.items():
        start, events = logs.run_of(position)
        if start not in runs:
            runs[start] = [logs.arrival(start)] * len(events)
        runs[start][position - start] = tx
    for start, when in runs.items():
        rewrite(database, start, logs.run_of(start)[1], when)
    logs.forget()


def cut_back(database: Database, logs: Logs, log: Log, last: int, head: bytes, signature: bytes) -> None:
    """Drop the events of a log after place ``last``, where its chain value is ``head``."""
    after = log.position(last) + 1
    if last:
        start, events = logs.run_of(after - 1)
        rewrite(database, start, events[: after - start], [logs.arrival(start)] * (after - start))
    end = (log.no << LOG_SHIFT) | SEQ_MASK
    database.execute("DELETE FROM runs WHERE position BETWEEN ? AND ?", (after, end))
    for table in ("moves", "erased"):
        database.execute(f"DELETE FROM {table} WHERE position BETWEEN ? AND ?", (after, end))
    kept = last // BLOCK_EVENTS if last else -1
    database.execute("DELETE FROM blocks WHERE log = ? AND block > ?", (log.no, kept))
    database.execute("DELETE FROM signatures WHERE log = ? AND seq >= ?", (log.no, last))
    database.execute("DELETE FROM said WHERE log = ?", (log.no,))
    sql = "UPDATE logs SET seq = ?, head = ?, signature = ?, open_bytes = ?, own = 0 WHERE no = ?"
    database.execute(sql, (last, head, signature, _open_bytes(database, logs, log, last), log.no))
    logs.forget()


def _open_bytes(database: Database, logs: Logs, log: Log, last: int) -> int:
    """The bytes of payloads since the last place before ``last`` of which a signature is kept."""
    sql = "SELECT coalesce(max(seq), 0) FROM signatures WHERE log = ? AND seq < ?"
    signed = int(database.execute(sql, (log.no, last)).fetchone()[0])
    return sum(payload_bytes(logs.event(log.position(seq))) for seq in range(signed + 1, last + 1))
