"""The relay's store: mailboxes and their blobs in one SQLite file.

Rules: what is acknowledged is on the disk; a blob is never changed, only added or dropped; a dropped
blob leaves its place taken, so that no stream gets shorter, and no byte of it in any file; where there is
no room, what was put is refused and what is there can still be read and dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from syncmem.errors import DiskFull
from syncmem.relay.file import StoreFile
from syncmem.relay.limits import Limits
from syncmem.relay.stores import Told
from syncmem.wire.mailbox import (
    CONFLICT,
    EPOCH_BYTES,
    INLINE_BYTES_MAX,
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

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS mailboxes (
    no INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, epoch BLOB NOT NULL, bytes INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS drop_keys (mailbox INTEGER, key BLOB, PRIMARY KEY (mailbox, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS streams (
    mailbox INTEGER, stream BLOB, last INTEGER NOT NULL, PRIMARY KEY (mailbox, stream)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (
    id INTEGER PRIMARY KEY, mailbox INTEGER NOT NULL, stream BLOB NOT NULL, counter INTEGER NOT NULL,
    digest BLOB NOT NULL, size INTEGER NOT NULL, blob BLOB, UNIQUE (mailbox, stream, counter));
"""
_NO_ROOM: Final = "the relay has no room left; sync again later, or tell its operator"


class SqliteStore:
    """All mailboxes of a relay. Safe from several threads.

    Raises:
        FileError: the file cannot be opened or used; see its kinds. So does every method.
    """

    def __init__(
        self, folder: str | os.PathLike[str], randomness: Callable[[int], bytes], limits: Limits | None = None
    ) -> None:
        self._limits = limits or Limits()
        self._randomness = randomness
        self._file = StoreFile(Path(folder), _SCHEMA, bytes_max=self._limits.store_bytes_max)
        self._db = self._file.db
        self._told: Told = lambda mailbox: None

    def close(self) -> None:
        self._file.close()

    def check(self) -> None:
        """Whether the store is still there, without reading it."""
        self._file.check()

    def exchange(self, request: Exchange) -> Answer:
        """Keep what is put, and say what is there."""
        with self._file.held():
            box, epoch, results = self._take(request)
            ends = dict(self._db.execute("SELECT stream, last FROM streams WHERE mailbox = ?", (box,)).fetchall())
            listed = self._behind(box, ends, request)
            along = self._along(listed[:LISTED_MAX], request.inline_bytes_max)
        if any(result.outcome == Outcome.STORED for result in results):
            self._told(request.mailbox)
        return Answer(epoch, results, ends, along, len(listed) > LISTED_MAX)

    def get(self, key: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        """Blobs by name, one at a time."""
        sql = (
            "SELECT b.blob FROM blobs b JOIN mailboxes m ON m.no = b.mailbox "
            "WHERE m.id = ? AND b.stream = ? AND b.counter = ? AND b.digest = ?"
        )
        for name in names:
            with self._file.held():
                row = self._db.execute(sql, (mailbox_id(key), *name)).fetchone()
            yield name, row[0] if row else None

    def drop(self, request: Drop) -> list[bool]:
        """Forget blobs, if enough members have signed; which are gone (also if they were before)."""
        with self._file.held():
            row = self._db.execute("SELECT no FROM mailboxes WHERE id = ?", (request.mailbox,)).fetchone()
            box = row[0] if row else 0
            keys = {r[0] for r in self._db.execute("SELECT key FROM drop_keys WHERE mailbox = ?", (box,)).fetchall()}
            if not may_drop(request, keys):
                return [False for _ in request.names]
            with self._file.transaction():
                gone = [self._forget(box, name) for name in request.names]
            self._file.empty_journal()
            return gone

    def position(self, mailbox: bytes) -> tuple[bytes, int] | None:
        """A mailbox's epoch and the sum of the ends of its streams, by its id; None: there is none yet."""
        sql = (
            "SELECT m.epoch, coalesce(sum(s.last), 0) FROM mailboxes m LEFT JOIN streams s ON s.mailbox = m.no "
            "WHERE m.id = ? GROUP BY m.no"
        )
        with self._file.held():
            row = self._db.execute(sql, (mailbox,)).fetchone()
        return row and (bytes(row[0]), int(row[1]))

    def listen(self, told: Told) -> None:
        """See :class:`syncmem.relay.stores.Store`; this process alone stores here."""
        self._told = told

    # -- writing ------------------------------------------------------------------------------------

    def _take(self, request: Exchange) -> tuple[int, bytes, list[PutResult]]:
        """The mailbox, its epoch, and what became of each put: where there is no room, none was kept."""
        try:
            if request.puts:
                self._check_room(sum(len(put.blob) for put in request.puts))
            with self._file.transaction():
                box, epoch = self._mailbox(request.mailbox)
                if request.drop_key is not None:
                    self._db.execute("INSERT OR IGNORE INTO drop_keys VALUES (?, ?)", (box, request.drop_key))
                return box, epoch, [self._put(box, put) for put in request.puts]
        except DiskFull as error:
            if not request.puts:
                raise
            box, epoch, _ = self._take(replace(request, puts=()))
            return box, epoch, [PutResult(Outcome.OVER_QUOTA, str(error))] * len(request.puts)

    def _check_room(self, size: int) -> None:
        if self._file.free_bytes < self._limits.free_bytes_min + size:
            raise DiskFull(_NO_ROOM)

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
        refused = self._over_quota(box, put)
        if refused is not None:
            return refused
        sql = "INSERT INTO blobs (mailbox, stream, counter, digest, size, blob) VALUES (?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, (box, put.stream, put.counter, mark, len(put.blob), put.blob))
        self._db.execute("UPDATE mailboxes SET bytes = bytes + ? WHERE no = ?", (len(put.blob), box))
        sql = "INSERT INTO streams VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET last = max(last, excluded.last)"
        self._db.execute(sql, (box, put.stream, put.counter))
        return PutResult(Outcome.STORED, "")

    def _over_quota(self, box: int, put: Put) -> PutResult | None:
        sql = "SELECT bytes + ? > ? FROM mailboxes WHERE no = ?"
        if self._db.execute(sql, (len(put.blob), self._limits.mailbox_bytes_max, box)).fetchone()[0]:
            return PutResult(Outcome.OVER_QUOTA, "this mailbox is full; compact it, or tell the relay's operator")
        sql = "SELECT 1 FROM streams WHERE mailbox = ? AND stream = ?"
        if self._db.execute(sql, (box, put.stream)).fetchone() is None and self._streams(box) >= STREAMS_MAX:
            return PutResult(Outcome.OVER_QUOTA, f"a mailbox has at most {STREAMS_MAX} streams; rotate the scope's key")
        return None

    def _streams(self, box: int) -> int:
        return int(self._db.execute("SELECT count(*) FROM streams WHERE mailbox = ?", (box,)).fetchone()[0])

    def _forget(self, box: int, name: BlobName) -> bool:
        sql = "SELECT id, size FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ? AND digest = ?"
        row = self._db.execute(sql, (box, *name)).fetchone()
        if row is None:
            return False
        self._db.execute("UPDATE blobs SET blob = NULL, size = 0 WHERE id = ?", (row[0],))
        self._db.execute("UPDATE mailboxes SET bytes = bytes - ? WHERE no = ?", (row[1], box))
        return True

    # -- reading ------------------------------------------------------------------------------------

    def _behind(self, box: int, ends: dict[bytes, int], request: Exchange) -> list[tuple[int, BlobName, int]]:
        """(row, name, size) of what lies behind the cursors, in order; one more than an answer lists, if there is."""
        sql = (
            "SELECT id, counter, digest, size FROM blobs "
            "WHERE mailbox = ? AND stream = ? AND counter > ? AND size > 0 ORDER BY counter LIMIT ?"
        )
        own = {(put.stream, put.counter) for put in request.puts}
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

    def _along(self, listed: Sequence[tuple[int, BlobName, int]], wanted: int) -> list[Listed]:
        """The listing with the first blobs' content while they fit the budget."""
        result = []
        budget = min(wanted, INLINE_BYTES_MAX)
        for row, name, size in listed:
            budget -= size
            blob = (
                self._db.execute("SELECT blob FROM blobs WHERE id = ?", (row,)).fetchone()[0] if budget >= 0 else None
            )
            result.append(Listed(name, size, blob))
        return result
