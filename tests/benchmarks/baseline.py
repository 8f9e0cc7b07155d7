"""The baseline: what a careful hand would write first, an append-only SQLite log of the same claims.

One row a claim with all that the claim says, two indices (the event id; entity, predicate and start),
write-ahead logging, ``synchronous = FULL``, the library's own driver, and the library's page cache.
It merges by set union of ids, and decides nothing: what is believed would have to be found when asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from syncmem.model.event import Kind, Statement
from syncmem.replica.driver import CACHE_KIB, dbapi

Row = tuple[Any, ...]
_TABLE = (
    "CREATE TABLE claims (id BLOB, log BLOB, seq INTEGER, kind INTEGER, hlc INTEGER, entity TEXT, predicate TEXT, "
    "value TEXT, valid_from INTEGER, valid_to INTEGER, observed_at INTEGER, trust INTEGER, source TEXT, batch TEXT, "
    "form TEXT)"
)
_INSERT = f"INSERT INTO claims VALUES ({', '.join('?' * 15)})"


class BareLog:
    """The append-only log in one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = dbapi.connect(str(path), isolation_level=None)
        for pragma in (f"cache_size = -{CACHE_KIB}", "journal_mode = WAL", "synchronous = FULL"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(_TABLE)
        self._connection.execute("CREATE UNIQUE INDEX claims_id ON claims (id)")
        self._connection.execute("CREATE INDEX claims_slot ON claims (entity, predicate, valid_from)")

    def add(self, rows: Iterable[Row]) -> None:
        """One durable transaction."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(_INSERT, rows)
        self._connection.execute("COMMIT")

    def add_one(self, row: Row) -> None:
        """One durable transaction of one row."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(_INSERT, row)
        self._connection.execute("COMMIT")

    def checkpoint(self) -> None:
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._connection.close()


def row(log: bytes, seq: int, said: Statement, hlc: int) -> Row:
    """The row of a claim, its id made beforehand: the baseline pays for storing, not for hashing."""
    return (
        *(sha256(b"%b %d" % (log, seq)).digest()[:16], log, seq, int(Kind.CLAIM), hlc, said.entity, said.predicate),
        *(json.dumps(said.value), hlc if said.start is None else said.start, said.stop, said.observed_at, said.trust),
        *("user", said.batch, "change" if said.form else "state"),
    )


def parts(rows: Sequence[Row], sizes: Iterable[int]) -> list[Sequence[Row]]:
    """Rows cut into transactions."""
    result, done = [], 0
    for size in sizes:
        result.append(rows[done : done + size])
        done += size
    return [part for part in result if part]
