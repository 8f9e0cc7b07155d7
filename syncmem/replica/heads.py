"""The heads of own logs: signed once a transaction, however often it moved them.

Rule: no transaction ends with a head that is not signed; until then an unsigned one has no bytes for a signature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from syncmem.model.event import head_words
from syncmem.replica.chain import Log
from syncmem.replica.connection import Database

UNSIGNED: Final = b""
Sign = Callable[[bytes], bytes]  # head words -> the device's signature


class Heads:
    """Writes ``logs.signature`` of own logs; reads and writes the table ``signatures``."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._moved: dict[int, Sign] = {}  # by the number of the log

    def moved(self, log: Log, sign: Sign) -> bytes:
        """An own log goes on, and ``sign`` is who signs for it; what stands for its signature meanwhile."""
        self._moved[log.no] = sign
        return UNSIGNED

    def keep(self, log: Log) -> None:
        """A frame ends at the head of a log."""
        self._db.execute("INSERT INTO signatures VALUES (?, ?, ?)", (log.no, log.seq, self._signature(log)))

    def signed(self, log: Log, first: int) -> list[tuple[int, bytes]]:
        """The places from ``first`` on at which frames end, with the signatures of their heads."""
        sql = "SELECT seq, signature FROM signatures WHERE log = ? AND seq >= ? ORDER BY seq"
        return [*self._db.execute(sql, (log.no, first)).fetchall(), (log.seq, self._signature(log))]

    def sign(self, logs: Mapping[int, Log]) -> None:
        """Sign what the transaction moved: its last act."""
        rows = [(self._signature(logs[no]), no) for no in self._moved if no in logs and logs[no].signature == UNSIGNED]
        self._db.executemany("UPDATE logs SET signature = ? WHERE no = ?", rows)
        self._moved.clear()

    def leave(self) -> None:
        """The transaction was rolled back."""
        self._moved.clear()

    def _signature(self, log: Log) -> bytes:
        if log.signature == UNSIGNED and log.no in self._moved:
            log.signature = self._moved[log.no](head_words(log.id, log.seq, log.head))
        return log.signature
