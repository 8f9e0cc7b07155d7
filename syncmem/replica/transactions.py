"""Transactions: which slots each of them touched."""

from __future__ import annotations

from syncmem.codec import unpack_own
from syncmem.replica.connection import Database


def touched_since(database: Database, n: int) -> list[tuple[int, list[int]]]:
    """The transactions after number ``n``, in order, each with the numbers of the slots that it touched."""
    rows = database.execute("SELECT n, touched FROM transactions WHERE n > ? ORDER BY n", (n,)).fetchall()
    return [(number, unpack_own(touched)) for number, touched in rows]
