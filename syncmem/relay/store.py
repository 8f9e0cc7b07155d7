"""The relay's store: mailboxes and their blobs in one SQLite file.

Rules: what is acknowledged is on the disk; a blob is never changed, only added or dropped; a dropped
blob leaves its place taken, so that no stream gets shorter.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from syncmem.private import make_folder
from syncmem.replica.driver import connect
from syncmem.wire.mailbox import (
    CONFLICT,
    EPOCH_BYTES,
    LISTED_MAX,
    STREAMS_MAX,
    Answer,
    BlobName,
    Drop,
    Exchange,
    Listed,
    Outcome,
    Put,
    PutResult,
    check_put,
    digest,
    mailbox_id,
    may_drop,
)

FILE_NAME: Final = "relay.db"
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS mailboxes (no INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, epoch BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS drop_keys (mailbox INTEGER, key BLOB, PRIMARY KEY (mailbox, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS streams (
    mailbox INTEGER, stream BLOB, last INTEGER NOT NULL, PRIMARY KEY (mailbox, stream)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (
    id INTEGER PRIMARY KEY, mailbox INTEGER NOT NULL, stream BLOB NOT NULL, counter INTEGER NOT NULL,
    digest BLOB NOT NULL, size INTEGER NOT NULL, blob BLOB, UNIQUE (mailbox, stream, counter));
"""


class SqliteStore:
    """All mailboxes of a relay. Safe from several threads: one lock around every call."""

    def __init__(self, folder: str | os.PathLike[str], randomness: Callable[[int], bytes]) -> None:
        make_folder(folder)
        self._randomness = randomness
        self._lock = threading.Lock()
        self._db = connect(str(Path(folder) / FILE_NAME))
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def exchange(self, request: Exchange) -> Answer:
        """Keep what is put, and say what is there."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                box, epoch = self._mailbox(request.mailbox)
                if request.drop_key is not None:
                    self._db.execute("INSERT OR IGNORE INTO drop_keys VALUES (?, ?)", (box, request.drop_key))
                results = [self._put(box, put) for put in request.puts]
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            ends = dict(self._db.execute("SELECT stream, last FROM streams WHERE mailbox = ?", (box,)).fetchall())
            own = {(put.stream, put.counter) for put in request.puts}
            listed = self._behind(box, ends, request, own)
            more = len(listed) > LISTED_MAX
            return Answer(epoch, results, ends, self._along(listed[:LISTED_MAX], request.inline_bytes_max), more)

    def _mailbox(self, id: bytes) -> tuple[int, bytes]:
        sql = "SELECT no, epoch FROM mailboxes WHERE id = ?"
        row = self._db.execute(sql, (id,)).fetchone()
        if row is None:
            self._db.execute("INSERT INTO mailboxes (id, epoch) VALUES (?, ?)", (id, self._randomness(EPOCH_BYTES)))
            row = self._db.execute(sql, (id,)).fetchone()
        return int(row[0]), bytes(row[1])

    def _put(self, box: int, put: Put) -> PutResult:
        refused = check_put(put)
        if refused is not None:
            return refused
        mark = digest(put.blob)
        sql = "SELECT digest FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        there = self._db.execute(sql, (box, put.stream, put.counter)).fetchone()
        if there is not None:
            return PutResult(Outcome.KNOWN, "") if there[0] == mark else PutResult(Outcome.CONFLICT, CONFLICT)
        row = self._db.execute(
            "SELECT last FROM streams WHERE mailbox = ? AND stream = ?", (box, put.stream)
        ).fetchone()
        if row is None and self._count_streams(box) >= STREAMS_MAX:
            return PutResult(Outcome.OVER_QUOTA, f"a mailbox has at most {STREAMS_MAX} streams; rotate the scope's key")
        sql = "INSERT INTO blobs (mailbox, stream, counter, digest, size, blob) VALUES (?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, (box, put.stream, put.counter, mark, len(put.blob), put.blob))
        last = max(row[0] if row else 0, put.counter)
        self._db.execute("INSERT OR REPLACE INTO streams VALUES (?, ?, ?)", (box, put.stream, last))
        return PutResult(Outcome.STORED, "")

    def _count_streams(self, box: int) -> int:
        return int(self._db.execute("SELECT count(*) FROM streams WHERE mailbox = ?", (box,)).fetchone()[0])

    def _behind(
        self, box: int, ends: dict[bytes, int], request: Exchange, own: set[tuple[bytes, int]]
    ) -> list[tuple[int, BlobName, int]]:
        """(row, name, size) of what lies behind the cursors, in order; one more than an answer lists, if there is."""
        sql = (
            "SELECT id, counter, digest, size FROM blobs "
            "WHERE mailbox = ? AND stream = ? AND counter > ? AND size > 0 ORDER BY counter LIMIT ?"
        )
        found: list[tuple[int, BlobName, int]] = []
        for stream in sorted(ends):
            cursor = request.cursors.get(stream, 0)
            if ends[stream] > cursor:
                room = LISTED_MAX + 1 - len(found) + len(own)
                for row, counter, mark, size in self._db.execute(sql, (box, stream, cursor, room)):
                    if (stream, counter) not in own:
                        found.append((row, BlobName(stream, counter, mark), size))
            if len(found) > LISTED_MAX:
                break
        return found

    def _along(self, listed: Sequence[tuple[int, BlobName, int]], budget: int) -> list[Listed]:
        """The listing with the first blobs' content while they fit the budget."""
        result = []
        for row, name, size in listed:
            budget -= size
            blob = (
                self._db.execute("SELECT blob FROM blobs WHERE id = ?", (row,)).fetchone()[0] if budget >= 0 else None
            )
            result.append(Listed(name, size, blob))
        return result

    def get(self, key: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        """Blobs by name, one at a time."""
        sql = (
            "SELECT b.blob FROM blobs b JOIN mailboxes m ON m.no = b.mailbox "
            "WHERE m.id = ? AND b.stream = ? AND b.counter = ? AND b.digest = ?"
        )
        for name in names:
            with self._lock:
                row: Any = self._db.execute(sql, (mailbox_id(key), *name)).fetchone()
            yield name, row[0] if row else None

    def drop(self, request: Drop) -> list[bool]:
        """Forget blobs, if enough members have signed."""
        with self._lock:
            row = self._db.execute("SELECT no FROM mailboxes WHERE id = ?", (request.mailbox,)).fetchone()
            box = row[0] if row else 0
            keys = {r[0] for r in self._db.execute("SELECT key FROM drop_keys WHERE mailbox = ?", (box,)).fetchall()}
            if not may_drop(request, keys):
                return [False for _ in request.names]
            sql = (
                "UPDATE blobs SET blob = NULL, size = 0 "
                "WHERE mailbox = ? AND stream = ? AND counter = ? AND digest = ? AND size > 0"
            )
            return [self._db.execute(sql, (box, *name)).rowcount > 0 for name in request.names]
