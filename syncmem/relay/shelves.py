"""A store as one who moves it sees it: whole mailboxes, in pages, read and written as they are.

Rules: nobody else uses the store meanwhile; what is written twice is there once; what was dropped where it comes from
is dropped where it goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Protocol

from syncmem.relay.postgres import PostgresStore
from syncmem.relay.rows import RowStore
from syncmem.relay.store import SqliteStore
from syncmem.wire.mailbox import BlobName

PAGE: Final = 256  # rows


@dataclass(frozen=True, slots=True)
class Head:
    """What a mailbox is, but for its blobs."""

    epoch: bytes
    size: int
    drop_keys: frozenset[bytes]
    ends: Mapping[bytes, int]
    quota: int | None
    made: int
    used: int


@dataclass(frozen=True, slots=True)
class Row:
    """A blob, or (size 0) the place of one that was dropped."""

    name: BlobName
    size: int
    blob: bytes | None = None
    object: str | None = None


class Shelf(Protocol):
    """See :func:`shelf`."""

    store: RowStore

    def mailboxes(self) -> list[bytes]:
        """Their ids, in order."""

    def head(self, mailbox: bytes) -> Head | None: ...

    def names(self, mailbox: bytes, after: BlobName) -> list[tuple[BlobName, int]]:
        """The next names and sizes, in the order of their places; at most ``PAGE``."""

    def write(self, mailbox: bytes, head: Head, rows: Sequence[Row]) -> None:
        """In one transaction."""


@contextmanager
def shelf(store: RowStore) -> Iterator[Shelf]:
    """The shelf of a store that was opened for this alone.

    Raises:
        Busy: relays are running on it.
    """
    if isinstance(store, PostgresStore):
        with store.alone():
            yield _PostgresShelf(store)
    elif isinstance(store, SqliteStore):
        yield _SqliteShelf(store)  # whoever opens the file has it alone


class _SqliteShelf:
    def __init__(self, store: SqliteStore) -> None:
        self.store: RowStore = store
        self._db = store._db
        self._file = store._file

    def mailboxes(self) -> list[bytes]:
        with self._file.held():
            return [row[0] for row in self._db.execute("SELECT id FROM mailboxes ORDER BY id").fetchall()]

    def head(self, mailbox: bytes) -> Head | None:
        with self._file.held():
            sql = "SELECT no, epoch, bytes, quota, made, used FROM mailboxes WHERE id = ?"
            row = self._db.execute(sql, (mailbox,)).fetchone()
            if row is None:
                return None
            keys = self._db.execute("SELECT key FROM drop_keys WHERE mailbox = ?", row[:1]).fetchall()
            ends = self._db.execute("SELECT stream, last FROM streams WHERE mailbox = ?", row[:1]).fetchall()
            return Head(row[1], row[2], frozenset(key for (key,) in keys), dict(ends), *row[3:])

    def names(self, mailbox: bytes, after: BlobName) -> list[tuple[BlobName, int]]:
        sql = (
            "SELECT stream, counter, digest, size FROM blobs "
            "WHERE mailbox = (SELECT no FROM mailboxes WHERE id = ?) AND (stream, counter) > (?, ?) "
            "ORDER BY stream, counter LIMIT ?"
        )
        with self._file.held():
            rows = self._db.execute(sql, (mailbox, after.stream, after.counter, PAGE)).fetchall()
        return [(BlobName(*row[:3]), row[3]) for row in rows]

    def write(self, mailbox: bytes, head: Head, rows: Sequence[Row]) -> None:
        with self._file.held(), self._file.transaction():
            sql = (
                "INSERT INTO mailboxes (id, epoch, bytes, quota, made, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                "ON CONFLICT DO UPDATE SET bytes = ?3, quota = ?4, made = ?5, used = ?6"
            )
            self._db.execute(sql, (mailbox, head.epoch, head.size, head.quota, head.made, head.used))
            (box,) = self._db.execute("SELECT no FROM mailboxes WHERE id = ?", (mailbox,)).fetchone()
            keys = [(box, key) for key in head.drop_keys]
            self._db.executemany("INSERT OR IGNORE INTO drop_keys VALUES (?, ?)", keys)
            ends = [(box, stream, last) for stream, last in head.ends.items()]
            self._db.executemany("INSERT OR REPLACE INTO streams VALUES (?, ?, ?)", ends)
            for row in rows:
                self._write(box, row)

    def _write(self, box: int, row: Row) -> None:
        sql = (
            "INSERT OR IGNORE INTO blobs (mailbox, stream, counter, digest, size, blob, object) VALUES (?,?,?,?,?,?,?)"
        )
        self._db.execute(sql, (box, *row.name, row.size, row.blob, row.object))
        if row.object is not None:  # where the row was there before, what was written now stays loose
            there = "SELECT 1 FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ? AND digest = ? AND object = ?"
            sql = f"DELETE FROM loose WHERE object = ? AND EXISTS ({there})"
            self._db.execute(sql, (row.object, box, *row.name, row.object))
        if not row.size:
            where = "mailbox = ? AND stream = ? AND counter = ? AND digest = ?"
            self._db.execute(
                "INSERT INTO loose SELECT object, 0, 1 FROM blobs WHERE object NOTNULL AND " + where, (box, *row.name)
            )
            sql = "UPDATE blobs SET blob = NULL, object = NULL, size = 0 WHERE size > 0 AND " + where
            self._db.execute(sql, (box, *row.name))


class _PostgresShelf:
    def __init__(self, store: PostgresStore) -> None:
        self.store: RowStore = store
        self._ask = store._pool.ask

    def mailboxes(self) -> list[bytes]:
        return [row[0] for row in self._ask(lambda db: db.fetch("SELECT mailbox FROM mailboxes ORDER BY mailbox"))]

    def head(self, mailbox: bytes) -> Head | None:
        async def ask(db: Any) -> Head | None:
            sql = "SELECT epoch, bytes, quota, made, used FROM mailboxes WHERE mailbox = $1"
            row = await db.fetchrow(sql, mailbox)
            if row is None:
                return None
            keys = await db.fetch("SELECT key FROM drop_keys WHERE mailbox = $1", mailbox)
            ends = await db.fetch("SELECT stream, last FROM streams WHERE mailbox = $1", mailbox)
            return Head(row[0], row[1], frozenset(key for (key,) in keys), dict(ends), *row[2:])

        return self._ask(ask)

    def names(self, mailbox: bytes, after: BlobName) -> list[tuple[BlobName, int]]:
        sql = (
            "SELECT stream, counter, digest, size FROM blobs WHERE mailbox = $1 AND (stream, counter) > ($2, $3) "
            "ORDER BY stream, counter LIMIT $4"
        )
        rows = self._ask(lambda db: db.fetch(sql, mailbox, after.stream, after.counter, PAGE))
        return [(BlobName(row[0], row[1], row[2]), row[3]) for row in rows]

    def write(self, mailbox: bytes, head: Head, rows: Sequence[Row]) -> None:
        async def ask(db: Any) -> None:
            async with db.transaction():
                sql = (
                    "INSERT INTO mailboxes (mailbox, epoch, bytes, quota, made, used) VALUES ($1, $2, $3, $4, $5, $6) "
                    "ON CONFLICT (mailbox) DO UPDATE SET bytes = $3, quota = $4, made = $5, used = $6"
                )
                await db.execute(sql, mailbox, head.epoch, head.size, head.quota, head.made, head.used)
                keys = [(mailbox, key) for key in head.drop_keys]
                await db.executemany("INSERT INTO drop_keys VALUES ($1, $2) ON CONFLICT DO NOTHING", keys)
                sql = (
                    "INSERT INTO streams VALUES ($1, $2, $3) "
                    "ON CONFLICT (mailbox, stream) DO UPDATE SET last = excluded.last"
                )
                await db.executemany(sql, [(mailbox, stream, last) for stream, last in head.ends.items()])
                await self._write(db, mailbox, rows)

        self._ask(ask)

    async def _write(self, db: Any, mailbox: bytes, rows: Sequence[Row]) -> None:
        sql = (
            "INSERT INTO blobs (mailbox, stream, counter, digest, size, blob, object) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING"
        )
        await db.executemany(sql, [(mailbox, *row.name, row.size, row.blob, row.object) for row in rows])
        where = "mailbox = $1 AND stream = $2 AND counter = $3 AND digest = $4"
        named = [(mailbox, *row.name, row.object) for row in rows if row.object is not None]
        sql = f"DELETE FROM loose WHERE object = $5 AND EXISTS (SELECT FROM blobs WHERE object = $5 AND {where})"
        await db.executemany(sql, named)  # where the row was there before, what was written now stays loose
        dropped = [(mailbox, *row.name) for row in rows if not row.size]
        sql = "INSERT INTO loose SELECT object, now(), true FROM blobs WHERE object IS NOT NULL AND " + where
        await db.executemany(sql, dropped)
        sql = "UPDATE blobs SET blob = NULL, object = NULL, size = 0 WHERE size > 0 AND " + where
        await db.executemany(sql, dropped)
