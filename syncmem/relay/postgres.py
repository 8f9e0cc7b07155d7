"""The relay's store in PostgreSQL: any number of relay processes on one database, none of which keeps anything itself.

Rules: whoever changes a mailbox locks its row first, so that changes of one mailbox follow each other and those of
different ones do not meet; who only reads sees one state and waits for nobody; what is answered is committed to the
disk there; while a store is being moved nothing is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple

from syncmem.environment import Clock
from syncmem.errors import Busy
from syncmem.objects import Objects
from syncmem.relay.limits import Limits
from syncmem.relay.notices import Notices
from syncmem.relay.postgres_pool import Pool
from syncmem.relay.postgres_schema import REGISTER, lock_of, migrate
from syncmem.relay.puts import DROP_KEYS_MAX, Place, Room, places
from syncmem.relay.rows import COLLECTED_MAX, Content, RowStore, Taken, join
from syncmem.relay.stores import Position, Told
from syncmem.wire.mailbox import (
    EPOCH_BYTES,
    LISTED_MAX,
    Answer,
    BlobName,
    Drop,
    Exchange,
    Listed,
    Outcome,
    PutResult,
    fitting,
    may_drop,
)

_ID_BYTES: Final = 16
_REGISTERED: Final = (
    "($2::bytea IS NULL OR EXISTS (SELECT FROM drop_keys k WHERE k.mailbox = $1 AND k.key = $2))"  # a drop key, or none
)
_FETCHED: Final = 8  # blobs of one question: at most so many MiB in memory
_MOVING: Final = "the relay's store is being moved; sync again in a moment"
_LATE: Final = "a blob took too long on its way; sync again in a moment"


class _Held(NamedTuple):
    """A mailbox's row, locked; ``registered``: whether the drop key is (none is, too)."""

    epoch: bytes
    size: int
    lent: int
    quota: int | None
    registered: bool


class PostgresStore(RowStore):
    """All mailboxes of a relay. Safe from several threads, and from several processes.

    Raises:
        FileError: the database cannot be used; see its kinds. So does every method.
    """

    def __init__(
        self,
        address: str,
        randomness: Callable[[int], bytes],
        limits: Limits | None = None,
        *,
        objects: Objects | None = None,
        serving: bool = True,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(limits or Limits(), randomness, clock)
        self._pool = Pool(address, lambda connection: migrate(connection, randomness(_ID_BYTES)))
        try:
            id, prefix = self._pool.ask(lambda db: db.fetchrow("SELECT id, prefix FROM store"))
            self._lock_key = lock_of(id)
            self._notices = Notices(self._pool, f"syncmem_{id.hex()}", self._enter)
            self._join(objects, prefix)
            if serving:
                self._pool.start(self._notices.run())
        except BaseException:
            self._pool.close()
            raise

    def close(self) -> None:
        self._pool.close()
        if self.objects is not None:
            self.objects.close()

    def check(self) -> None:
        """Whether the database answers, as far as this process knows."""
        if not self._notices.answered:
            raise Busy("the relay's database does not answer; sync again in a moment")

    def position(self, mailbox: bytes) -> Position | None:
        """Where a mailbox is, by its id; None: there is none yet."""
        sql = (
            "SELECT epoch, (SELECT coalesce(sum(last), 0)::bigint FROM streams WHERE mailbox = $1) "
            "FROM mailboxes WHERE mailbox = $1"
        )
        row = self._pool.ask(lambda db: db.fetchrow(sql, mailbox))
        return None if row is None else (row[0], row[1])

    def listen(self, told: Told) -> None:
        """See :class:`syncmem.relay.stores.Store`."""
        self._notices.told = told

    # -- exchanging ---------------------------------------------------------------------------------

    def _take(self, request: Exchange, objects: Mapping[BlobName, str]) -> Taken:
        async def ask(db: Any) -> Taken:
            taken = None if request.puts else await self._glance(db, request) or await self._look(db, request)
            return taken or await self._change(db, request, objects)

        taken = self._pool.ask(ask)
        if any(result.outcome in (Outcome.STORED, Outcome.KNOWN) for result in taken.answer.results):
            position = taken.answer.epoch, sum(taken.answer.ends.values())
            self._pool.run(self._notices.send(request.mailbox, position))
        return taken

    async def _glance(self, db: Any, request: Exchange) -> Taken | None:
        """In one question, as who has read everything mostly asks; None: there is something to be read or written."""
        sql = (
            f"SELECT epoch, {_REGISTERED}, ARRAY(SELECT stream FROM streams s WHERE s.mailbox = $1 ORDER BY stream), "
            "ARRAY(SELECT last FROM streams s WHERE s.mailbox = $1 ORDER BY stream) FROM mailboxes WHERE mailbox = $1"
        )
        row = await db.fetchrow(sql, request.mailbox, request.drop_key)
        if row is None or not row[1]:
            return None
        ends = dict(zip(row[2], row[3], strict=True))
        if any(last > request.cursors.get(stream, 0) for stream, last in ends.items()):
            return None
        return Taken(Answer(row[0], [], ends, [], False), {})

    async def _look(self, db: Any, request: Exchange) -> Taken | None:
        """Only read, in one state of the database; None: there is something to be written."""
        async with db.transaction(isolation="repeatable_read", readonly=True):
            sql = f"SELECT epoch, {_REGISTERED} FROM mailboxes WHERE mailbox = $1"
            row = await db.fetchrow(sql, request.mailbox, request.drop_key)
            if row is None or not row[1]:
                return None
            ends, _ = await self._places(db, request.mailbox, [])
            return await self._answer(db, request, row[0], [], ends)

    async def _change(self, db: Any, request: Exchange, objects: Mapping[BlobName, str]) -> Taken:
        box = request.mailbox
        async with db.transaction():
            held = await self._lock(db, box, request.drop_key)
            if not held.registered:
                await db.execute(REGISTER, box, request.drop_key, DROP_KEYS_MAX)
            before, taken = await self._places(db, box, places(request.puts))
            room, limits = Room(taken, dict(before), held.size, held.lent), self._limits_of(held.quota)
            results = [room.put(put, limits, request.making_room) for put in request.puts]
            blobs = room.stored
            if blobs:
                await self._insert(db, box, blobs, objects, room, before)
            unneeded = await self._part(db, blobs, objects)
            found = await self._answer(db, request, held.epoch, results, room.ends)
        return Taken(found.answer, found.contents, unneeded)

    async def _lock(self, db: Any, box: bytes, drop_key: bytes | None = None) -> _Held:
        """The mailbox; nobody else changes it until the transaction ends. It is made where there was none."""
        sql = (
            f"SELECT epoch, bytes, lent, quota, {_REGISTERED}, pg_try_advisory_xact_lock_shared($3) FROM mailboxes "
            "WHERE mailbox = $1 FOR UPDATE"
        )
        row = await db.fetchrow(sql, box, drop_key, self._lock_key)
        if row is None:
            new = "INSERT INTO mailboxes (mailbox, epoch, made, used) VALUES ($1, $2, $3, $3) ON CONFLICT DO NOTHING"
            await db.execute(new, box, self._randomness(EPOCH_BYTES), self._today())
            row = await db.fetchrow(sql, box, drop_key, self._lock_key)
        *held, is_open = row
        if not is_open:
            raise Busy(_MOVING)
        return _Held(*held)

    async def _places(self, db: Any, box: bytes, asked: Sequence[Place]) -> tuple[dict[bytes, int], dict[Place, bytes]]:
        """How far each stream goes, and the digests of what has (or had) some places."""
        sql = (
            "SELECT stream, last, NULL::bytea FROM streams WHERE mailbox = $1 UNION ALL "
            "SELECT stream, counter, digest FROM blobs "
            "JOIN unnest($2::bytea[], $3::bigint[]) AS asked (stream, counter) USING (stream, counter) "
            "WHERE mailbox = $1"
        )
        rows = await db.fetch(sql, box, [stream for stream, _ in asked], [counter for _, counter in asked])
        ends = {row[0]: row[1] for row in rows if row[2] is None}
        return ends, {(row[0], row[1]): row[2] for row in rows if row[2] is not None}

    async def _insert(
        self, db: Any, box: bytes, blobs: Mapping[BlobName, bytes], objects: Mapping[BlobName, str], room: Room,
        before: Mapping[bytes, int],
    ) -> None:  # fmt: skip
        """Rows, and what they change in the mailbox, in one statement."""
        sql = (
            "WITH inserted AS (INSERT INTO blobs (mailbox, stream, counter, digest, size, blob, object) SELECT $1, * "
            "FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::integer[], $6::bytea[], $7::text[])), "
            "moved AS (INSERT INTO streams (mailbox, stream, last) SELECT $1, * FROM unnest($8::bytea[], $9::bigint[]) "
            "ON CONFLICT (mailbox, stream) DO UPDATE SET last = excluded.last) "
            "UPDATE mailboxes SET bytes = $10, lent = $11, used = $12 WHERE mailbox = $1"
        )
        kept = [blob if name not in objects else None for name, blob in blobs.items()]
        moved = {stream: last for stream, last in room.ends.items() if before.get(stream) != last}
        await db.execute(
            sql, box, *map(list, zip(*blobs, strict=True)), [len(blob) for blob in blobs.values()], kept,
            [objects.get(name) for name in blobs], [*moved], [*moved.values()], room.size, room.lent,
            self._today(),
        )  # fmt: skip

    async def _part(self, db: Any, blobs: Mapping[BlobName, bytes], objects: Mapping[BlobName, str]) -> list[str]:
        """Objects that rows name now are loose no more; the others are condemned, and told."""
        if not objects:
            return []
        named = [object for name, object in objects.items() if name in blobs]
        sql = "DELETE FROM loose WHERE object = ANY($1) AND NOT condemned RETURNING object"
        if len(await db.fetch(sql, named)) < len(named):
            raise Busy(_LATE)
        return await self._give_up(db, [object for name, object in objects.items() if name not in blobs])

    # -- listing ------------------------------------------------------------------------------------

    async def _answer(
        self, db: Any, request: Exchange, epoch: bytes, results: Sequence[PutResult], ends: Mapping[bytes, int]
    ) -> Taken:
        own = {(put.stream, put.counter) for put in request.puts}
        listed = await self._behind(db, request, own, ends)
        contents = await self._contents(db, request.mailbox, fitting(listed[:LISTED_MAX], request.inline_bytes_max))
        answer = Answer(epoch, results, ends, listed[:LISTED_MAX], len(listed) > LISTED_MAX)
        return Taken(answer, contents)

    async def _behind(self, db: Any, request: Exchange, own: set[Place], ends: Mapping[bytes, int]) -> list[Listed]:
        """What lies behind the cursors, in order; one more than an answer lists, if there is."""
        sql = (
            "SELECT c.stream, b.counter, b.digest, b.size FROM unnest($2::bytea[], $3::bigint[]) AS c (stream, cursor) "
            "CROSS JOIN LATERAL (SELECT counter, digest, size FROM blobs WHERE mailbox = $1 AND stream = c.stream "
            "AND counter > c.cursor AND size > 0 ORDER BY counter LIMIT $4) b ORDER BY c.stream, b.counter LIMIT $4"
        )
        cursors = {stream: request.cursors.get(stream, 0) for stream in ends}
        moved = [stream for stream, end in ends.items() if end > cursors[stream]]
        if not moved:
            return []
        cursors_moved = [cursors[stream] for stream in moved]
        rows = await db.fetch(sql, request.mailbox, moved, cursors_moved, LISTED_MAX + 1 + len(own))
        found = [Listed(BlobName(row[0], row[1], row[2]), row[3], None) for row in rows if (row[0], row[1]) not in own]
        return found[: LISTED_MAX + 1]

    async def _contents(self, db: Any, box: bytes, names: Sequence[BlobName]) -> dict[BlobName, Content]:
        if not names:
            return {}
        sql = (
            "SELECT stream, counter, digest, blob, object FROM blobs "
            "JOIN unnest($2::bytea[], $3::bigint[], $4::bytea[]) AS asked (stream, counter, digest) "
            "USING (stream, counter, digest) WHERE mailbox = $1"
        )
        rows = await db.fetch(sql, box, *map(list, zip(*names, strict=True)))
        found = {BlobName(row[0], row[1], row[2]): Content(row[3], row[4]) for row in rows}
        return {name: found[name] for name in names if name in found}

    def _find(self, mailbox: bytes, names: Sequence[BlobName]) -> Iterator[Content | None]:
        for start in range(0, len(names), _FETCHED):
            part = names[start : start + _FETCHED]
            found = self._pool.ask(partial(self._contents, box=mailbox, names=part))
            yield from map(found.get, part)

    # -- dropping -----------------------------------------------------------------------------------

    def _forget(self, request: Drop) -> list[bool]:
        async def ask(db: Any) -> list[bool]:
            async with db.transaction():
                box = request.mailbox
                keys = {row[0] for row in await db.fetch("SELECT key FROM drop_keys WHERE mailbox = $1", box)}
                if not may_drop(request, keys):
                    return [False for _ in request.names]
                await self._lock(db, box)
                _, there = await self._places(db, box, [(name.stream, name.counter) for name in request.names])
                gone = [there.get((name.stream, name.counter)) == name.digest for name in request.names]
                names = [name for name, is_gone in zip(request.names, gone, strict=True) if is_gone]
                await self._empty(db, box, names)
                return gone

        return self._pool.ask(ask)

    async def _empty(self, db: Any, box: bytes, names: Sequence[BlobName]) -> None:
        """Keep the places and the names alone; the objects are condemned."""
        sql = (
            "WITH old AS (SELECT stream, counter, size, object FROM blobs "
            "JOIN unnest($2::bytea[], $3::bigint[]) AS asked (stream, counter) USING (stream, counter) "
            "WHERE mailbox = $1 AND size > 0) "
            "UPDATE blobs b SET blob = NULL, object = NULL, size = 0 FROM old "
            "WHERE b.mailbox = $1 AND b.stream = old.stream AND b.counter = old.counter RETURNING old.size, old.object"
        )
        rows = await db.fetch(sql, box, [name.stream for name in names], [name.counter for name in names])
        freed = sum(row[0] for row in rows)
        sql = "UPDATE mailboxes SET bytes = bytes - $2, lent = greatest(0, lent - $2) WHERE mailbox = $1"
        await db.execute(sql, box, freed)
        await self._mark(db, [row[1] for row in rows if row[1] is not None])

    # -- objects ------------------------------------------------------------------------------------

    def _join(self, objects: Objects | None, prefix: str | None) -> None:
        """See :func:`syncmem.relay.rows.join`; of several processes that do so first, one draws the prefix."""
        drawn = join(objects, prefix, self._randomness)
        if drawn and prefix is None:
            sql = "UPDATE store SET prefix = coalesce(prefix, $1) RETURNING prefix"
            drawn = self._pool.ask(lambda db: db.fetchval(sql, drawn))
        self.objects, self.prefix = objects, drawn

    def _note(self, keys: Sequence[str]) -> None:
        sql = "INSERT INTO loose (object, since) SELECT key, now() FROM unnest($1::text[]) key ON CONFLICT DO NOTHING"
        self._pool.ask(lambda db: db.execute(sql, list(keys)))

    async def _mark(self, db: Any, keys: Sequence[str]) -> None:
        if keys:
            sql = (
                "INSERT INTO loose SELECT key, now(), true FROM unnest($1::text[]) key "
                "ON CONFLICT (object) DO UPDATE SET condemned = true"
            )
            await db.execute(sql, list(keys))

    async def _give_up(self, db: Any, keys: Sequence[str]) -> list[str]:
        sql = "UPDATE loose SET condemned = true WHERE object = ANY($1) RETURNING object"
        return [row[0] for row in await db.fetch(sql, list(keys))]

    def _abandon(self, keys: Sequence[str]) -> list[str]:
        return self._pool.ask(partial(self._give_up, keys=keys))

    def _settle(self, keys: Sequence[str]) -> None:
        sql = "DELETE FROM loose WHERE object = ANY($1) AND condemned"
        self._pool.ask(lambda db: db.execute(sql, list(keys)))

    def _condemn(self, grace_seconds: float) -> list[str]:
        async def ask(db: Any) -> list[str]:
            async with db.transaction():
                sql = "UPDATE loose SET condemned = true WHERE NOT condemned AND since <= now() - $1::interval"
                await db.execute(sql, timedelta(seconds=grace_seconds))
                sql = "SELECT object FROM loose WHERE condemned LIMIT $1"
                return [row[0] for row in await db.fetch(sql, COLLECTED_MAX)]

        return self._pool.ask(ask)

    async def _enter(self, db: Any) -> None:
        """A relay that runs is seen by who wants to move the store, and waits while it is being moved."""
        if not await db.fetchval("SELECT pg_try_advisory_lock_shared($1)", self._lock_key):
            raise Busy(_MOVING)

    def set_quota(self, mailbox: bytes, bytes_max: int | None) -> bool:
        """A quota of its own, or None; whether there is such a mailbox."""

        async def ask(db: Any) -> bool:
            async with db.transaction():
                if not await db.fetchval("SELECT pg_try_advisory_xact_lock_shared($1)", self._lock_key):
                    raise Busy(_MOVING)
                sql = "UPDATE mailboxes SET quota = $2 WHERE mailbox = $1 RETURNING 1"
                return await db.fetchval(sql, mailbox, bytes_max) is not None

        return self._pool.ask(ask)

    def _loose(self) -> set[str]:
        return {row[0] for row in self._pool.ask(lambda db: db.fetch("SELECT object FROM loose"))}

    def _named(self) -> set[str]:
        sql = "SELECT object FROM blobs WHERE object IS NOT NULL"
        return {row[0] for row in self._pool.ask(lambda db: db.fetch(sql))}

    def _part_from(self, strays: Sequence[str], lost: Sequence[str]) -> None:
        async def ask(db: Any) -> None:
            async with db.transaction():
                await self._mark(db, strays)
                sql = (
                    "WITH gone AS (UPDATE blobs b SET object = NULL, size = 0 FROM blobs old "
                    "WHERE old.object = ANY($1) "
                    "AND (b.mailbox, b.stream, b.counter) = (old.mailbox, old.stream, old.counter) "
                    "RETURNING b.mailbox, old.size) "
                    "UPDATE mailboxes m SET bytes = bytes - freed FROM "
                    "(SELECT mailbox, sum(size) AS freed FROM gone GROUP BY mailbox) g WHERE m.mailbox = g.mailbox"
                )
                await db.execute(sql, list(lost))

        self._pool.ask(ask)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """No relay runs on the store, and what starts meanwhile takes nothing. Raises Busy where one runs."""
        connection = self._pool.run(self._pool.connect())
        try:
            if not self._pool.run(connection.fetchval("SELECT pg_try_advisory_lock($1)", self._lock_key)):
                raise Busy("relays are running on this database; stop them, then start again")
            yield
            if connection.is_closed():
                raise Busy("the database was restarted meanwhile; start again")
        finally:
            self._pool.run(_left(connection))


async def _left(connection: Any) -> None:
    connection.terminate()
