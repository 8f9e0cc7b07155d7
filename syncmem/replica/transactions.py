"""Transactions: when each was, and which slots it touched.

Rule: what no event tells again, its number and its wall clock, carries a checksum (see :mod:`syncmem.replica.runs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

from syncmem.codec import pack_flat, unpack_own
from syncmem.model.sweep import FOLD_VERSION
from syncmem.replica.connection import Database


def note(database: Database, n: int, wall: int, touched: Iterable[int]) -> None:
    """Write down that transaction ``n`` was at a time, and the numbers of the slots that it touched."""
    database.execute("INSERT INTO transactions VALUES (?, ?, ?, ?, ?, ?)", row_of(n, wall, touched))


def row_of(n: int, wall: int, touched: Iterable[int] = ()) -> tuple[int, int, int, int, bytes, int]:
    """A transaction as a row."""
    return n, wall, wall, FOLD_VERSION, pack_flat(sorted(touched)), checksum(n, wall)


def checksum(n: int, wall: int) -> int:
    return crc32(b"%d %d" % (n, wall))


def touched_since(database: Database, n: int) -> list[tuple[int, list[int]]]:
    """The transactions after number ``n``, in order, each with the numbers of the slots that it touched."""
    rows = database.execute("SELECT n, touched FROM transactions WHERE n > ? ORDER BY n", (n,)).fetchall()
    return [(number, unpack_own(touched)) for number, touched in rows]
