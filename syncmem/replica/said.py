"""Where each log last said something: its last event that is no frontier note.

Rule: notes at the end of a log change nothing that is believed or admitted, so devices that hold all that was said hold
the same, whatever notes of arrival they have of each other.  A log of notes alone has said nothing.  What was found is
kept by log; where a log is cut back (:mod:`syncmem.replica.pruning`) it is looked for again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from syncmem.model.event import CHAIN_START, Event, Kind
from syncmem.replica.chain import Log
from syncmem.replica.connection import Database
from syncmem.replica.logs import Logs


class End(NamedTuple):
    """A place of a log, 0 where nothing was said, and the chain value there."""

    log: Log
    place: int
    head: bytes


class Said:
    """Reads and writes the table ``said``."""

    def __init__(self, database: Database, logs: Logs) -> None:
        self._db = database
        self._logs = logs

    def all(self) -> Iterator[End]:
        """The ends of all logs; inside a write transaction."""
        return map(self.of, self._logs.held())

    def of(self, log: Log) -> End:
        """The end of one log; inside a write transaction."""
        place, head, looked = self._known(log)
        if looked == log.seq:
            return End(log, place, head)
        last = last_said(self._logs, log, looked)
        if last > looked:
            place, head = last, self._logs.head_at(log, last)
        sql = "INSERT OR REPLACE INTO said VALUES (?, ?, ?, ?)"
        self._db.execute(sql, (log.no, place, head, log.seq))
        return End(log, place, head)

    def _known(self, log: Log) -> tuple[int, bytes, int]:
        """What was found, and up to which place that was looked for."""
        row = self._db.execute("SELECT place, head, looked FROM said WHERE log = ?", (log.no,)).fetchone()
        if row is None or (
            row[0] and _is_note(self._logs, log, row[0])
        ):  # that came without its payload, which came since
            return 0, CHAIN_START, 0
        place, head, looked = row
        return place, head, looked


def last_said(logs: Logs, log: Log, after: int = 0) -> int:
    """The last place of a log that holds no frontier note; ``after``, if all behind that do."""
    place = log.seq
    while place > after and _is_note(logs, log, place):
        place -= 1
    return place


def _is_note(logs: Logs, log: Log, place: int) -> bool:
    event = logs.event(log.position(place))
    return isinstance(event, Event) and event.kind == Kind.FRONTIER
