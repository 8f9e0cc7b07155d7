"""The relay's store: mailboxes and their blobs in one SQLite file.

Rules: what is acknowledged is on the disk; a blob is never changed, only added or dropped; a dropped
blob leaves its place taken, so that no stream gets shorter, and no byte of it in any file; where there is
no room, what was put is refused and what is there can still be read and dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from syncmem.environment import Clock
from syncmem.errors import Busy, DiskFull, FileError
from syncmem.objects import Objects
from syncmem.relay.file import StoreFile
from syncmem.relay.known import Box, Known
from syncmem.relay.limits import Limits
from syncmem.relay.puts import DROP_KEYS_MAX, Place, Room, places
from syncmem.relay.rows import COLLECTED_MAX, Content, RowStore, Taken, join
from syncmem.relay.stores import Position, Told
from syncmem.relay.together import Together
from syncmem.wire.mailbox import (
    EPOCH_BYTES,
    LISTED_MAX,
    Answer,
    BlobName,
    Drop,
    Exchange,
    Listed,
    Outcome,
    fitting,
    may_drop,
)

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS mailboxes (
    no INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, epoch BLOB NOT NULL, bytes INTEGER NOT NULL DEFAULT 0,
    lent INTEGER NOT NULL DEFAULT 0, quota INTEGER, made INTEGER NOT NULL, used INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS drop_keys (mailbox INTEGER, key BLOB, PRIMARY KEY (mailbox, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS streams (
    mailbox INTEGER, stream BLOB, last INTEGER NOT NULL, PRIMARY KEY (mailbox, stream)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (
    id INTEGER PRIMARY KEY, mailbox INTEGER NOT NULL, stream BLOB NOT NULL, counter INTEGER NOT NULL,
    digest BLOB NOT NULL, size INTEGER NOT NULL, blob BLOB, object TEXT, UNIQUE (mailbox, stream, counter));
CREATE TABLE IF NOT EXISTS loose (
    object TEXT PRIMARY KEY, since INTEGER NOT NULL, condemned INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS objects (prefix TEXT NOT NULL);
"""
_NO_ROOM: Final = "the relay has no room left; sync again later, or tell its operator"


class SqliteStore(RowStore):
    """All mailboxes of a relay. Safe from several threads.

    Raises:
        FileError: the file cannot be opened or used; see its kinds. So does every method.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        randomness: Callable[[int], bytes],
        limits: Limits | None = None,
        *,
        objects: Objects | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(limits or Limits(), randomness, clock)
        self._file = StoreFile(Path(folder), _SCHEMA, bytes_max=self._limits.store_bytes_max)
        self._db = self._file.db
        self._known = Known(lambda: self._db.total_changes)
        self._together: Together[Taken] = Together(self._file.held, self._exchanging)
        self._told: Told = lambda mailbox, position: None
        try:
            self._join(objects)
            self.together = objects is None
        except BaseException:
            self._file.close()
            raise

    @property
    def file(self) -> StoreFile:
        """The open file, for those who care for it."""
        return self._file

    def close(self) -> None:
        self._file.close()
        if self.objects is not None:
            self.objects.close()

    def check(self) -> None:
        """Whether the store is still there, without reading it."""
        self._file.check()

    def position(self, mailbox: bytes) -> Position | None:
        """Where a mailbox is, by its id; None: there is none yet."""
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

    def exchange_all(self, requests: Sequence[Exchange]) -> Sequence[Answer | Exception]:
        """In one transaction; where that fails, each by itself."""
        if self.objects is None:
            with suppress(FileError):
                check = partial(self._check_room, sum(map(_size, requests)))
                taken = self._together.do_all([partial(self._answer, each, {}) for each in requests], check)
                for request, one in zip(requests, taken, strict=True):
                    self._tell(request, one)
                if any(request.puts for request in requests):
                    self._say_room(there=True)
                return [self._answered(one) for one in taken]
        return super().exchange_all(requests)

    def _take(self, request: Exchange, objects: Mapping[BlobName, str]) -> Taken:
        taken = self._together.do(partial(self._answer_with_room, request, objects))
        self._tell(request, taken)
        return taken

    def _tell(self, request: Exchange, taken: Taken) -> None:
        answer = taken.answer
        if any(result.outcome == Outcome.STORED for result in answer.results):
            self._told(request.mailbox, (answer.epoch, sum(answer.ends.values())))

    def _answer_with_room(self, request: Exchange, objects: Mapping[BlobName, str]) -> Taken:
        self._check_room(_size(request))
        return self._answer(request, objects)

    @contextmanager
    def _exchanging(self) -> Iterator[None]:
        with self._known.holding(), self._file.transaction():
            yield

    def _answer(self, request: Exchange, objects: Mapping[BlobName, str]) -> Taken:
        """Put and look, within a transaction."""
        box = self._box(request.mailbox)
        ends = box.ends
        room = Room(self._taken(box.no, ends, request), dict(ends), box.size, box.lent)
        limits = self._limits_of(box.quota)
        results = [room.put(put, limits, request.making_room) for put in request.puts]
        blobs = room.stored
        if blobs:
            self._insert(box.no, blobs, objects)
            self._update(box, room)
        self._register(box, request.drop_key)
        self._known.keep(request.mailbox, box)
        unneeded = self._part(blobs, objects) if objects else []
        listed = self._behind(box.no, ends, request)
        contents = self._contents(box.no, listed[:LISTED_MAX], request.inline_bytes_max)
        answer = Answer(box.epoch, results, room.ends, listed[:LISTED_MAX], len(listed) > LISTED_MAX)
        return Taken(answer, contents, unneeded)

    def _check_room(self, size: int) -> None:
        if size and self._file.free_bytes < self._limits.free_bytes_min + size:
            raise DiskFull(_NO_ROOM)

    def _box(self, mailbox: bytes) -> Box:
        """What there is of a mailbox; it is made where there is none."""
        known = self._known.get(mailbox)
        if known is not None:
            return known
        sql = "SELECT no, epoch, bytes, lent, quota FROM mailboxes WHERE id = ?"
        row = self._db.execute(sql, (mailbox,)).fetchone()
        if row is None:
            made = (mailbox, self._randomness(EPOCH_BYTES), self._today(), self._today())
            self._db.execute("INSERT INTO mailboxes (id, epoch, made, used) VALUES (?, ?, ?, ?)", made)
            row = self._db.execute(sql, (mailbox,)).fetchone()
        ends = self._db.execute("SELECT stream, last FROM streams WHERE mailbox = ?", row[:1]).fetchall()
        return Box(int(row[0]), bytes(row[1]), int(row[2]), int(row[3]), row[4], dict(ends))

    def _register(self, box: Box, drop_key: bytes | None) -> None:
        if drop_key is not None and drop_key not in box.keys:
            room = "(SELECT count(*) FROM drop_keys WHERE mailbox = ?1) < ?3"
            sql = f"INSERT OR IGNORE INTO drop_keys SELECT ?1, ?2 WHERE {room}"
            self._db.execute(sql, (box.no, drop_key, DROP_KEYS_MAX))
            box.keys.add(drop_key)

    def _taken(self, box: int, ends: Mapping[bytes, int], request: Exchange) -> dict[Place, bytes]:
        """What has (or had) the places that are asked for; behind the end of a stream there is nothing."""
        sql = "SELECT digest FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        asked = [place for place in places(request.puts) if place[1] <= ends.get(place[0], 0)]
        rows = ((place, self._db.execute(sql, (box, *place)).fetchone()) for place in asked)
        return {place: bytes(row[0]) for place, row in rows if row is not None}

    def _insert(self, box: int, blobs: Mapping[BlobName, bytes], objects: Mapping[BlobName, str]) -> None:
        sql = "INSERT INTO blobs (mailbox, stream, counter, digest, size, blob, object) VALUES (?, ?, ?, ?, ?, ?, ?)"
        for name, blob in blobs.items():
            object = objects.get(name)
            self._db.execute(sql, (box, *name, len(blob), blob if object is None else None, object))

    def _update(self, box: Box, room: Room) -> None:
        sql = "UPDATE mailboxes SET bytes = ?, lent = ?, used = ? WHERE no = ?"
        self._db.execute(sql, (room.size, room.lent, self._today(), box.no))
        rows = [(box.no, stream, last) for stream, last in room.ends.items() if box.ends.get(stream) != last]
        self._db.executemany("INSERT OR REPLACE INTO streams VALUES (?, ?, ?)", rows)
        box.size, box.lent, box.ends = room.size, room.lent, room.ends

    def _part(self, blobs: Mapping[BlobName, bytes], objects: Mapping[BlobName, str]) -> list[str]:
        """Objects that rows name now are loose no more; the others are condemned, and told."""
        for name in objects.keys() & blobs.keys():
            sql = "DELETE FROM loose WHERE object = ? AND NOT condemned"
            if not self._db.execute(sql, (objects[name],)).rowcount:
                raise Busy("a blob took too long on its way; sync again in a moment")
        return self._give_up([object for name, object in objects.items() if name not in blobs])

    def _forget(self, request: Drop) -> list[bool]:
        with self._file.held():
            row = self._db.execute("SELECT no FROM mailboxes WHERE id = ?", (request.mailbox,)).fetchone()
            box = row[0] if row else 0
            keys = {r[0] for r in self._db.execute("SELECT key FROM drop_keys WHERE mailbox = ?", (box,)).fetchall()}
            if not may_drop(request, keys):
                return [False for _ in request.names]
            unneeded: list[str] = []
            with self._file.transaction():
                gone = [self._forget_one(box, name, unneeded) for name in request.names]
                self._mark(unneeded)
            self._file.empty_journal()
            return gone

    def _forget_one(self, box: int, name: BlobName, unneeded: list[str]) -> bool:
        sql = "SELECT id, size, object FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ? AND digest = ?"
        row = self._db.execute(sql, (box, *name)).fetchone()
        if row is None:
            return False
        self._db.execute("UPDATE blobs SET blob = NULL, object = NULL, size = 0 WHERE id = ?", (row[0],))
        sql = "UPDATE mailboxes SET bytes = bytes - ?1, lent = max(0, lent - ?1) WHERE no = ?2"
        self._db.execute(sql, (row[1], box))
        unneeded += [row[2]] if row[2] else []
        return True

    # -- objects ------------------------------------------------------------------------------------

    def _join(self, objects: Objects | None) -> None:
        """See :func:`syncmem.relay.rows.joined`."""
        row = self._db.execute("SELECT prefix FROM objects").fetchone()
        prefix = join(objects, row and row[0], self._randomness)
        if prefix and not row:
            with self._file.held(), self._file.transaction():
                self._db.execute("INSERT INTO objects VALUES (?)", (prefix,))
        self.objects, self.prefix = objects, prefix

    def _note(self, keys: Sequence[str]) -> None:
        now = self._clock.now()
        with self._file.held(), self._file.transaction():
            self._db.executemany("INSERT INTO loose (object, since) VALUES (?, ?)", [(key, now) for key in keys])

    def _mark(self, keys: Sequence[str]) -> None:
        sql = "INSERT INTO loose (object, since, condemned) VALUES (?, 0, 1) ON CONFLICT DO UPDATE SET condemned = 1"
        self._db.executemany(sql, [(key,) for key in keys])

    def _give_up(self, keys: Sequence[str]) -> list[str]:
        sql = "UPDATE loose SET condemned = 1 WHERE object = ?"
        return [key for key in keys if self._db.execute(sql, (key,)).rowcount]

    def _abandon(self, keys: Sequence[str]) -> list[str]:
        with self._file.held(), self._file.transaction():
            return self._give_up(keys)

    def _settle(self, keys: Sequence[str]) -> None:
        with self._file.held(), self._file.transaction():
            self._db.executemany("DELETE FROM loose WHERE object = ? AND condemned", [(key,) for key in keys])

    def _condemn(self, grace_seconds: float) -> list[str]:
        before = self._clock.now() - int(grace_seconds * 1_000_000)
        with self._file.held(), self._file.transaction():
            self._db.execute("UPDATE loose SET condemned = 1 WHERE since <= ?", (before,))
            sql = "SELECT object FROM loose WHERE condemned LIMIT ?"
            return [row[0] for row in self._db.execute(sql, (COLLECTED_MAX,)).fetchall()]

    def _loose(self) -> set[str]:
        with self._file.held():
            return {row[0] for row in self._db.execute("SELECT object FROM loose").fetchall()}

    def _named(self) -> set[str]:
        with self._file.held():
            return {row[0] for row in self._db.execute("SELECT object FROM blobs WHERE object NOTNULL").fetchall()}

    def _part_from(self, strays: Sequence[str], lost: Sequence[str]) -> None:
        with self._file.held(), self._file.transaction():
            self._mark(strays)
            for key in lost:
                sql = "UPDATE mailboxes SET bytes = bytes - b.size FROM blobs b WHERE b.mailbox = no AND b.object = ?"
                self._db.execute(sql, (key,))
                self._db.execute("UPDATE blobs SET object = NULL, size = 0 WHERE object = ?", (key,))

    # -- reading ------------------------------------------------------------------------------------

    def _find(self, mailbox: bytes, names: Sequence[BlobName]) -> Iterator[Content | None]:
        sql = (
            "SELECT b.blob, b.object FROM blobs b JOIN mailboxes m ON m.no = b.mailbox "
            "WHERE m.id = ? AND b.stream = ? AND b.counter = ? AND b.digest = ?"
        )
        for name in names:
            with self._file.held():
                row = self._db.execute(sql, (mailbox, *name)).fetchone()
            yield Content(*row) if row else None

    def _behind(self, box: int, ends: Mapping[bytes, int], request: Exchange) -> list[Listed]:
        """What lay behind the cursors before (``ends``), in order; one more than an answer lists, if there is."""
        sql = (
            "SELECT counter, digest, size FROM blobs "
            "WHERE mailbox = ? AND stream = ? AND counter > ? AND size > 0 ORDER BY counter LIMIT ?"
        )
        own = {(put.stream, put.counter) for put in request.puts}
        found: list[Listed] = []
        for stream in sorted(ends):
            cursor = request.cursors.get(stream, 0)
            if ends[stream] > cursor:
                room = LISTED_MAX + 1 - len(found) + len(own)
                for counter, mark, size in self._db.execute(sql, (box, stream, cursor, room)):
                    if (stream, counter) not in own:
                        found.append(Listed(BlobName(stream, counter, mark), size, None))
            if len(found) > LISTED_MAX:
                break
        return found

    def _contents(self, box: int, listed: Sequence[Listed], wanted: int) -> dict[BlobName, Content]:
        """The first blobs' contents while they fit the budget."""
        sql = "SELECT blob, object FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        return {
            name: Content(*self._db.execute(sql, (box, name.stream, name.counter)).fetchone())
            for name in fitting(listed, wanted)
        }


def _size(request: Exchange) -> int:
    return sum(len(put.blob) for put in request.puts)
