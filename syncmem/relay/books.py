"""What an operator may know of a store, whatever it is made of: counts and sums, never what is in a blob.

Rules: a relay may serve meanwhile, so each question is short and sees one state; a page of blobs is looked at and let
go; nothing here decides anything, see :mod:`syncmem.relay.care`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

from syncmem.errors import NotFound
from syncmem.relay.postgres import PostgresStore
from syncmem.relay.rows import RowStore
from syncmem.relay.store import SqliteStore
from syncmem.wire.mailbox import EPOCH_BYTES

ROWS_AT_ONCE: Final = 32  # blobs looked at before others have their turn: at most so many MiB

_COLUMNS: Final = (
    "m.bytes, (SELECT count(*) FROM blobs b WHERE b.mailbox = m.{key} AND b.size > 0), "
    "(SELECT count(*) FROM streams s WHERE s.mailbox = m.{key}), m.quota, m.made, m.used"
)
_SUMS: Final = (
    "SELECT m.{id} FROM mailboxes m WHERE m.bytes <> "
    "(SELECT coalesce(sum(b.size), 0) FROM blobs b WHERE b.mailbox = m.{key})"
)
_ENDS: Final = (
    "SELECT DISTINCT m.{id} FROM (SELECT mailbox, stream, max(counter) AS last FROM blobs GROUP BY mailbox, stream) b "
    "JOIN mailboxes m ON m.{key} = b.mailbox LEFT JOIN streams s ON s.mailbox = b.mailbox AND s.stream = b.stream "
    "WHERE s.last IS NULL OR s.last <> b.last"
)


class Box(NamedTuple):
    """A mailbox from outside; ``made`` and ``used``: the days (since 1970) of its first and its last blob."""

    id: bytes
    bytes: int
    blobs: int
    streams: int
    quota: int | None
    made: int
    used: int


class Seen(NamedTuple):
    """A mailbox as far as that costs nothing."""

    id: bytes
    bytes: int
    quota: int | None
    made: int
    used: int


class Order(Enum):
    """Which mailboxes are looked at first."""

    SIZE = "m.bytes DESC"
    AGE = "m.made"
    QUIET = "m.used"


class Kept(NamedTuple):
    """A blob as it lies there; ``place`` is where a listing goes on."""

    place: tuple[Any, ...]
    digest: bytes
    size: int
    blob: bytes | None
    object: str | None


class Books(Protocol):
    """See :func:`books`."""

    def boxes(self) -> list[Box]:
        """The mailboxes, the largest first."""

    def seen(self, order: Order, limit: int) -> list[Seen]:
        """Some of the mailboxes, those first that the order names."""

    def box(self, mailbox: bytes) -> Box | None: ...

    def ids(self) -> list[bytes]:
        """Of all mailboxes."""

    def totals(self) -> tuple[int, int]:
        """How many mailboxes there are, and the bytes of their blobs."""

    def set_quota(self, mailbox: bytes, bytes_max: int | None) -> None:
        """Raises NotFound: there is no such mailbox; nothing was changed."""

    def kept(self, after: tuple[Any, ...]) -> list[Kept]:
        """The next blobs that are there, in the order of their places, from ``()`` on; at most ``ROWS_AT_ONCE``."""

    def damage(self) -> list[str]:
        """What the database itself finds wrong with its files, where it can be asked."""

    def wrong(self) -> tuple[list[bytes], list[bytes]]:
        """The mailboxes whose bytes are counted wrong, and those that have a stream that ends elsewhere."""

    def give_back(self) -> int:
        """Space that holds nothing goes back to the disk; how many bytes."""

    def renew(self, randomness: Callable[[int], bytes]) -> int:
        """Every mailbox has another epoch from now on; how many there are."""


def books(store: RowStore) -> Books:
    """The books of a store that is open."""
    if isinstance(store, PostgresStore):
        return _PostgresBooks(store)
    assert isinstance(store, SqliteStore)
    return _SqliteBooks(store)


def _no_such(mailbox: bytes) -> NotFound:
    return NotFound(f"there is no mailbox {mailbox.hex()} here; list them with 'syncmem relay mailboxes'")


class _SqliteBooks:
    _names: Final = {"id": "id", "key": "no"}

    def __init__(self, store: SqliteStore) -> None:
        self._file = store.file
        self._db = store.file.db

    def _rows(self, sql: str, *values: object) -> list[Any]:
        with self._file.held():
            return self._db.execute(sql, values).fetchall()

    def boxes(self) -> list[Box]:
        sql = f"SELECT m.id, {_COLUMNS} FROM mailboxes m ORDER BY m.bytes DESC, m.id".format(**self._names)
        return [Box(*row) for row in self._rows(sql)]

    def seen(self, order: Order, limit: int) -> list[Seen]:
        sql = f"SELECT m.id, m.bytes, m.quota, m.made, m.used FROM mailboxes m ORDER BY {order.value}, m.id LIMIT ?"
        return [Seen(*row) for row in self._rows(sql, limit)]

    def box(self, mailbox: bytes) -> Box | None:
        sql = f"SELECT m.id, {_COLUMNS} FROM mailboxes m WHERE m.id = ?".format(**self._names)
        return next((Box(*row) for row in self._rows(sql, mailbox)), None)

    def ids(self) -> list[bytes]:
        return [row[0] for row in self._rows("SELECT id FROM mailboxes")]

    def totals(self) -> tuple[int, int]:
        ((boxes, size),) = self._rows("SELECT count(*), coalesce(sum(bytes), 0) FROM mailboxes")
        return boxes, size

    def set_quota(self, mailbox: bytes, bytes_max: int | None) -> None:
        with self._file.held(), self._file.transaction():
            sql = "UPDATE mailboxes SET quota = ? WHERE id = ?"
            if not self._db.execute(sql, (bytes_max, mailbox)).rowcount:
                raise _no_such(mailbox)

    def kept(self, after: tuple[Any, ...]) -> list[Kept]:
        sql = "SELECT id, digest, size, blob, object FROM blobs WHERE id > ? AND size > 0 ORDER BY id LIMIT ?"
        return [Kept((row[0],), *row[1:]) for row in self._rows(sql, *(after or (0,)), ROWS_AT_ONCE)]

    def damage(self) -> list[str]:
        return [row[0] for row in self._rows("PRAGMA quick_check") if row[0] != "ok"]

    def wrong(self) -> tuple[list[bytes], list[bytes]]:
        sums, ends = (self._rows(sql.format(**self._names)) for sql in (_SUMS, _ENDS))
        return [row[0] for row in sums], [row[0] for row in ends]

    def give_back(self) -> int:
        with self._file.held():
            free, page = (int(self._db.execute(f"PRAGMA {n}").fetchone()[0]) for n in ("freelist_count", "page_size"))
            if free:
                self._db.execute("VACUUM")
                self._file.empty_journal()
        return free * page

    def renew(self, randomness: Callable[[int], bytes]) -> int:
        with self._file.held(), self._file.transaction():
            rows = [(randomness(EPOCH_BYTES), no) for (no,) in self._db.execute("SELECT no FROM mailboxes").fetchall()]
            self._db.executemany("UPDATE mailboxes SET epoch = ? WHERE no = ?", rows)
        return len(rows)


class _PostgresBooks:
    _names: Final = {"id": "mailbox", "key": "mailbox"}
    _tables: Final = ("mailboxes", "drop_keys", "streams", "blobs", "loose")

    def __init__(self, store: PostgresStore) -> None:
        self._store = store
        self._ask = store._pool.ask

    def _rows(self, sql: str, *values: object) -> Sequence[Any]:
        return self._ask(lambda db: db.fetch(sql, *values, timeout=None))

    def boxes(self) -> list[Box]:
        sql = f"SELECT m.mailbox, {_COLUMNS} FROM mailboxes m ORDER BY m.bytes DESC, m.mailbox".format(**self._names)
        return [Box(*row) for row in self._rows(sql)]

    def seen(self, order: Order, limit: int) -> list[Seen]:
        columns = "m.mailbox, m.bytes, m.quota, m.made, m.used"
        sql = f"SELECT {columns} FROM mailboxes m ORDER BY {order.value}, m.mailbox LIMIT $1"
        return [Seen(*row) for row in self._rows(sql, limit)]

    def box(self, mailbox: bytes) -> Box | None:
        sql = f"SELECT m.mailbox, {_COLUMNS} FROM mailboxes m WHERE m.mailbox = $1".format(**self._names)
        return next((Box(*row) for row in self._rows(sql, mailbox)), None)

    def ids(self) -> list[bytes]:
        return [row[0] for row in self._rows("SELECT mailbox FROM mailboxes")]

    def totals(self) -> tuple[int, int]:
        ((boxes, size),) = self._rows("SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM mailboxes")
        return boxes, size

    def set_quota(self, mailbox: bytes, bytes_max: int | None) -> None:
        if not self._store.set_quota(mailbox, bytes_max):
            raise _no_such(mailbox)

    def kept(self, after: tuple[Any, ...]) -> list[Kept]:
        sql = (
            "SELECT mailbox, stream, counter, digest, size, blob, object FROM blobs "
            "WHERE (mailbox, stream, counter) > ($1, $2, $3) AND size > 0 ORDER BY mailbox, stream, counter LIMIT $4"
        )
        rows = self._rows(sql, *(after or (b"", b"", 0)), ROWS_AT_ONCE)
        return [Kept((row[0], row[1], row[2]), row[3], row[4], row[5], row[6]) for row in rows]

    def damage(self) -> list[str]:
        return []  # its own tools know (amcheck, checksums)

    def wrong(self) -> tuple[list[bytes], list[bytes]]:
        sums, ends = (self._rows(sql.format(**self._names)) for sql in (_SUMS, _ENDS))
        return [row[0] for row in sums], [row[0] for row in ends]

    def give_back(self) -> int:
        async def ask(db: Any) -> int:
            sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in self._tables)
            before = await db.fetchval(f"SELECT {sizes}")
            await db.execute(f"VACUUM {', '.join(self._tables)}", timeout=None)
            return int(max(0, before - await db.fetchval(f"SELECT {sizes}")))

        return self._ask(ask)

    def renew(self, randomness: Callable[[int], bytes]) -> int:
        sql = "UPDATE mailboxes SET epoch = uuid_send(gen_random_uuid()) RETURNING 1"
        return len(self._rows(sql))
