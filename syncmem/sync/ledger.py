"""The ledger: every blob that this device wrote to a mailbox or read there, and how it stands.

Rules: nothing here is about beliefs; a blob is written down before it is sent, and sent with the same bytes
until it is acknowledged; a blob that holds the payload of an event that was erased is due to be written
anew, and is dropped once all that it held stands in blobs that were acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import islice
from typing import Final, NamedTuple

from syncmem.codec import pack_flat, unpack_own
from syncmem.replica.connection import Database
from syncmem.sync.contents import LOOKED_AT_ONCE, NOTHING, BlobState, Contents, Stretch, joined, standing, without
from syncmem.sync.mailboxes import Known, Mailboxes
from syncmem.wire.blob import Offer, Places
from syncmem.wire.mailbox import BlobName

OFFERS_MAX: Final = 64  # of one mailbox that are looked at, and kept: each is of some hundred blobs
_OUT: Final = (BlobState.REPLACED, BlobState.DROPPED)  # what they held stands in others
_READABLE: Final = (BlobState.TAKEN, *_OUT)  # what they hold is known; it may be what was erased since
_REPLACED: Final = (  # what becomes of a blob that was replaced
    (BlobState.TAKEN, BlobState.REPLACED),
    (BlobState.HELD, BlobState.REPLACED),
    (BlobState.DUE, BlobState.DROPPING),
)


class Waiting(NamedTuple):
    """An own blob that was not acknowledged; ``anew``: others are to be dropped for it."""

    name: BlobName
    blob: bytes
    contents: Contents
    anew: bool


class Ledger(Mailboxes):
    """Reads and writes ``blobs`` and ``offers`` beside the tables of mailboxes."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._apart: dict[tuple[int, bytes], list[Stretch]] = {}  # mailbox, log -> what was read before what it follows

    def state(self, no: int, name: BlobName) -> BlobState | None:
        """How a blob stands, or None where it was never seen (or was another under the same counter)."""
        sql = "SELECT state, digest FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        row = self._db.execute(sql, (no, name.stream, name.counter)).fetchone()
        return BlobState(row[0]) if row and row[1] == name.digest else None

    def take(self, no: int, name: BlobName, contents: Contents, *, reason: str | None = None) -> None:
        """A blob is there, and this is what it holds; of an own one, its bytes are not needed any more.

        ``reason``: why some of it does not fit what is held; see :meth:`doubt`.
        """
        standing = contents if reason else self._without_void(contents)
        goes = standing is not contents or self._holds_erased(contents)
        state, contents = BlobState.DUE if goes else BlobState.TAKEN, standing
        self.put(no, name, state, contents, reason=reason)
        self.hold(no, contents)
        for places in contents.replaced:
            self._skip(no, places)
        self.advance(no, name.stream)

    def hold(self, no: int, contents: Contents) -> None:
        """A mailbox holds this; a log only as far as its payloads are there, or are erased here too.

        In whatever order it is read: what was written anew is read after what follows it.
        """
        parts = [part for one in contents.logs for part in self._whole(one)]
        logs = {part.log for part in parts}
        parts += [part for log in logs for part in self._apart.pop((no, log), ())]
        super().hold(no, contents._replace(logs=sorted(parts)))
        held = self.holdings(no, [*logs])
        for part in joined(part for part in parts if part.first > held.get(part.log, 0) + 1):
            self._apart.setdefault((no, part.log), []).append(part)

    def forget(self, no: int) -> None:
        super().forget(no)
        self._part_no_more(lambda mailbox, _: mailbox == no)

    def lose(self, no: int, log: bytes, after: int) -> None:
        super().lose(no, log, after)
        self._apart.pop((no, log), None)

    def _part_no_more(self, which: Callable[[int, bytes], bool]) -> None:
        for key in [key for key in self._apart if which(*key)]:
            del self._apart[key]

    def _whole(self, stretch: Stretch) -> Iterator[Stretch]:
        """The parts of a stretch that lack no payload which is held here: anybody can leave payloads out."""
        return without(stretch, {*stretch.erased} - self._erased_in(stretch) if stretch.erased else ())

    def passed_over(self, no: int, listed: Set[BlobName]) -> set[BlobName]:
        """The blobs that a mailbox lists at places that were passed over when nothing was to be found there."""
        cursors = self.cursors(no)
        return {*self.unseen(no, (name for name in listed if name.counter <= cursors.get(name.stream, 0)))}

    def put(
        self, no: int, name: BlobName, state: BlobState, contents: Contents = NOTHING, *, reason: str | None = None,
        blob: bytes | None = None, anew: bool = False,
    ) -> None:  # fmt: skip
        """Note a blob: one of ours that waits (with its bytes; ``anew``: others are dropped for it), or one that was
        read."""
        what = contents.stored(), contents.events
        row = (no, name.stream, name.counter, name.digest, int(state), *what, reason, blob, anew)
        self._db.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def in_state(self, no: int, state: BlobState) -> Iterator[tuple[BlobName, str | None]]:
        columns = "stream, counter, digest, reason"
        sql = f"SELECT {columns} FROM blobs WHERE mailbox = ? AND state = ? ORDER BY +stream, +counter"
        for stream, counter, digest, reason in self._db.execute(sql, (no, int(state))).fetchall():
            yield BlobName(stream, counter, digest), reason

    def count(self, no: int, *states: BlobState) -> int:
        """How many blobs are in some states."""
        sql = f"SELECT count(*) FROM blobs WHERE mailbox = ? AND state IN ({', '.join('?' * len(states))})"
        return int(self._db.execute(sql, (no, *map(int, states))).fetchone()[0])

    def known(self, no: int, *states: BlobState) -> Iterator[tuple[BlobName, Contents]]:
        """The blobs in some states with what they hold, stream by stream."""
        return self._find(f"state IN ({', '.join('?' * len(states))})", no, *map(int, states))

    def small(self, no: int, streams: Iterable[bytes]) -> Iterator[tuple[BlobName, Contents]]:
        """The blobs of some streams that are there and hold few events; an index keeps them."""
        for stream in sorted(streams):
            yield from self._find("stream = ? AND state = 1 AND events < 256", no, stream)

    def _find(self, where: str, no: int, *values: object) -> Iterator[tuple[BlobName, Contents]]:
        columns = "stream, counter, digest, contents"  # with +: the few of a state are sorted, not all looked through
        sql = f"SELECT {columns} FROM blobs WHERE mailbox = ? AND {where} ORDER BY +stream, +counter"
        for stream, counter, digest, contents in self._db.execute(sql, (no, *values)).fetchall():
            yield BlobName(stream, counter, digest), Contents.read(contents)

    def _set(self, no: int, names: Iterable[BlobName], state: BlobState) -> None:
        sql = "UPDATE blobs SET state = ? WHERE mailbox = ? AND stream = ? AND counter = ?"
        self._db.executemany(sql, [(int(state), no, name.stream, name.counter) for name in names])

    # -- sending ------------------------------------------------------------------------------------

    def waiting(self, no: int, bytes_max: int, *, anew: bool = False) -> list[Waiting]:
        """Own blobs that were not acknowledged, oldest first, up to ``bytes_max`` together (one at least).

        ``anew``: only those that make room.
        """
        sql = (
            "SELECT stream, counter, digest, contents, blob, anew FROM blobs "
            "WHERE mailbox = ? AND state = ? AND anew >= ? ORDER BY counter"
        )
        result: list[Waiting] = []
        size = 0
        for *name, contents, blob, is_anew in self._db.execute(sql, (no, int(BlobState.WAITING), anew)):
            size += len(blob)
            if result and size > bytes_max:
                break
            result.append(Waiting(BlobName(*name), blob, Contents.read(contents), bool(is_anew)))
        return result

    def awaited(self, no: int) -> dict[bytes, int]:
        """What the mailbox holds, or will once the blobs that wait are there, also those that it did not take yet."""
        held = self.holdings(no)
        for _, contents in self.known(no, BlobState.WAITING, BlobState.BLOCKED):
            contents.added_to(held)
        return held

    def block(self, no: int, name: BlobName, reason: str) -> None:
        """The mailbox does not take an own blob."""
        sql = "UPDATE blobs SET state = ?, reason = ? WHERE mailbox = ? AND stream = ? AND counter = ?"
        self._db.execute(sql, (int(BlobState.BLOCKED), reason, no, name.stream, name.counter))

    def unblock(self, no: int) -> None:
        """Try again what the mailbox did not take."""
        sql = "UPDATE blobs SET state = ?, reason = NULL WHERE mailbox = ? AND state = ?"
        self._db.execute(sql, (int(BlobState.WAITING), no, int(BlobState.BLOCKED)))

    def give_way(self, no: int, name: BlobName) -> None:
        """Another blob has the place of an own one: it is still to be read."""
        sql = "DELETE FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        self._db.execute(sql, (no, name.stream, name.counter))

    def forget_waiting(self, no: int) -> None:
        """Another life of this device writes the same stream: what waits is made anew in another, which says so."""
        sql = "UPDATE blobs SET state = ?, contents = ?, blob = NULL WHERE mailbox = ? AND blob IS NOT NULL"
        self._db.execute(sql, (int(BlobState.DUE), NOTHING.stored(), no))

    # -- what is none of ours ------------------------------------------------------------------------

    def stray(self, no: int, name: BlobName, reason: str) -> None:
        """Note a blob that is not what its name says; what is known of that place stays."""
        sql = (
            "INSERT INTO blobs VALUES (?, ?, ?, ?, ?, ?, 0, ?, NULL, 0) ON CONFLICT DO UPDATE "
            "SET digest = excluded.digest, reason = excluded.reason WHERE state = excluded.state"
        )
        row = (no, name.stream, name.counter, name.digest, int(BlobState.STRAY), NOTHING.stored(), reason)
        self._db.execute(sql, row)

    def forget_strays(self, no: int, listed: Set[BlobName]) -> None:
        """Forget those that the mailbox does not list any more, once it was read to its end."""
        gone = [name for name, _ in self.in_state(no, BlobState.STRAY) if name not in listed]
        sql = "DELETE FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        self._db.executemany(sql, [(no, name.stream, name.counter) for name in gone])

    def doubt(self, log: bytes, last: int) -> None:
        """A branch of a log is void: no mailbox surely holds it beyond a place, and what did not fit is read again."""
        self._db.execute("UPDATE holdings SET seq = min(seq, ?) WHERE what = ?", (last, log))
        self._part_no_more(lambda _, of: of == log)
        self._db.execute("DELETE FROM blobs WHERE blob IS NOT NULL")  # what waits is made anew
        self._db.execute("UPDATE mailboxes SET noted = 0")
        self._write_void_anew(log, last)
        sql = (
            "SELECT mailbox, stream, min(counter) FROM blobs WHERE state IN (?, ?) AND reason IS NOT NULL GROUP BY 1, 2"
        )
        taken = (int(BlobState.TAKEN), int(BlobState.DUE))
        for no, stream, counter in self._db.execute(sql, taken).fetchall():
            sql = "UPDATE streams SET cursor = min(cursor, ?) WHERE mailbox = ? AND stream = ?"
            self._db.execute(sql, (counter - 1, no, stream))
        sql = "UPDATE blobs SET state = ? WHERE state IN (?, ?) AND reason IS NOT NULL"
        self._db.execute(sql, (int(BlobState.HELD), *taken))

    def _without_void(self, contents: Contents) -> Contents:
        """What of a blob stands: of a log with a void branch what is held; the rest stands elsewhere."""
        sql = "SELECT seq FROM logs WHERE id = ? AND EXISTS (SELECT 1 FROM moves WHERE log = logs.id AND acts)"
        for stretch in contents.logs:
            row = self._db.execute(sql, (stretch.log,)).fetchone()
            if row is not None and stretch.last > row[0]:
                contents = contents.cut_back(stretch.log, row[0])
        return contents

    def _write_void_anew(self, log: bytes, last: int) -> None:
        """Blobs that fit a branch that is void hold its payloads, whatever is erased where they stand now: they go.

        Of those that go already, for what was erased, what is void will never be held here to be written anew.
        """
        states = (BlobState.TAKEN, BlobState.REPLACED, BlobState.DUE, BlobState.DROPPING)
        for known in self.all():
            fitting = f"state IN ({', '.join('?' * len(states))}) AND reason IS NULL"
            for name, contents in self._find(fitting, known.no, *map(int, states)):
                if any(one.log == log and one.last > last for one in contents.logs):
                    self.put(known.no, name, BlobState.DUE, contents.cut_back(log, last))

    # -- what was replaced ---------------------------------------------------------------------------

    def settle_replaced(self, no: int) -> None:
        """Believe what was said of replaced places, now that all was read that is there, as far as it is so.

        A blob whose contents do not stand in others stays what it is, whoever says that it was replaced.
        """
        sql = "SELECT stream, first, last FROM gaps WHERE mailbox = ? AND NOT settled"
        said = [Places(*row) for row in self._db.execute(sql, (no,)).fetchall()]
        if not said:
            return
        blobs = {name: row for places in said for name, row in self._at(no, places)}
        stands = self._standing(no, blobs.keys(), [contents for state, contents in blobs.values()])
        for before, after in _REPLACED:
            holds = self._is_held_here if before == BlobState.HELD else stands
            gone = [name for name, (state, contents) in blobs.items() if state == before and holds(contents)]
            self._set(no, gone, after)
        self._db.execute("UPDATE gaps SET settled = 1 WHERE mailbox = ?", (no,))
        for stream in {places.stream for places in said}:
            self.advance(no, stream)

    def _at(self, no: int, places: Places) -> Iterator[tuple[BlobName, tuple[int, Contents]]]:
        """The blobs at some places that may be replaced, each with its state and what it holds."""
        sql = (
            "SELECT stream, counter, digest, state, contents FROM blobs "
            "WHERE mailbox = ? AND stream = ? AND counter BETWEEN ? AND ? AND state IN (?, ?, ?)"
        )
        states = (int(before) for before, _ in _REPLACED)
        for *name, state, contents in self._db.execute(sql, (no, *places, *states)).fetchall():
            yield BlobName(*name), (state, Contents.read(contents))

    def _is_held_here(self, contents: Contents) -> bool:
        ends = "SELECT 1 FROM logs WHERE id = ? AND seq >= ?"
        said = "SELECT 1 FROM statements WHERE id = ?"
        return all(self._db.execute(ends, (one.log, one.last)).fetchone() for one in contents.logs) and all(
            self._db.execute(said, (id,)).fetchone() for id in contents.statements
        )

    def miss(self, no: int, places: Places) -> None:
        """Somebody finds nothing at some places: what they held is to be written anew, by whoever knows it."""
        sql = "UPDATE blobs SET state = ? WHERE mailbox = ? AND stream = ? AND counter BETWEEN ? AND ? AND state = ?"
        stands = (
            "UPDATE blobs SET contents = ? WHERE mailbox = ? AND stream = ? AND counter BETWEEN ? AND ? "
            "AND state IN (?, ?)"
        )
        self._db.execute(stands, (NOTHING.stored(), no, *places, *map(int, _OUT)))
        for before in _READABLE:
            self._db.execute(sql, (int(BlobState.DUE), no, *places, int(before)))

    def rewritten(self, no: int, names: Iterable[BlobName], state: BlobState) -> None:
        """Blobs were written anew, into such as wait: they are to be dropped, or were offered to be (REPLACED)."""
        self._set(no, names, state)

    def to_drop(self, no: int, limit: int) -> list[BlobName]:
        """What is to be dropped now: all that it held stands in others that are there.

        What was thrown away before it was acknowledged (something was erased meanwhile) is to be written anew again.
        """
        found = list(islice(self.known(no, BlobState.DROPPING), limit))
        if not found:
            return []
        stands = self._standing(no, set(), [contents for _, contents in found])
        standing = {name for name, contents in found if stands(contents)}
        sql = "SELECT 1 FROM blobs WHERE mailbox = ? AND blob IS NOT NULL AND anew LIMIT 1"
        if self._db.execute(sql, (no,)).fetchone() is None:
            self._set(no, [name for name, _ in found if name not in standing], BlobState.DUE)
        return [name for name, _ in found if name in standing]

    def dropped(self, no: int, names: Iterable[BlobName]) -> None:
        """Blobs are gone from the mailbox; their places stay taken."""
        sql = "UPDATE blobs SET state = ?, contents = ? WHERE mailbox = ? AND stream = ? AND counter = ?"
        gone = (int(BlobState.DROPPED), NOTHING.stored())
        self._db.executemany(sql, [(*gone, no, name.stream, name.counter) for name in names])

    # -- what was erased -----------------------------------------------------------------------------

    def look_for_erased(self, known: Known) -> None:
        """Find the blobs that hold what was erased since this was last done."""
        sql = "SELECT coalesce(max(no), 0) FROM erased"
        newest = self._db.execute(sql).fetchone()[0]
        row = self._db.execute("SELECT cleaned FROM mailboxes WHERE no = ?", (known.no,)).fetchone()
        if row[0] == newest:
            return
        for name, contents in self.known(known.no, *_READABLE):
            if self._holds_erased(contents):
                whole = self.state(known.no, name) == BlobState.TAKEN
                self._set(known.no, [name], BlobState.DUE if whole else BlobState.DROPPING)
        self._db.execute("UPDATE mailboxes SET cleaned = ? WHERE no = ?", (newest, known.no))

    def _holds_erased(self, contents: Contents) -> bool:
        """Whether a blob has the payload of an event that was erased here."""
        return any(self._erased_in(stretch) - {*stretch.erased} for stretch in contents.logs)

    def _erased_in(self, stretch: Stretch) -> set[int]:
        sql = (
            "SELECT e.position & 0xffffffffff FROM logs l JOIN erased e "
            "ON e.position BETWEEN l.no << 40 | ? AND l.no << 40 | ? WHERE l.id = ?"
        )
        rows = self._db.execute(sql, (stretch.first, stretch.last, stretch.log)).fetchall()
        return {place for (place,) in rows}

    def empty(self, no: int) -> bool:
        """All events that are there were carried elsewhere: they are due to go; whether any are there still.

        Also those that are to go already: nobody writes them anew where nobody stays.
        """
        leaving = (BlobState.DUE, BlobState.DROPPING)
        for name, contents in self.known(no, *_READABLE, *leaving):
            if contents.logs:
                self.put(no, name, BlobState.DUE, contents._replace(logs=[]))
        self._db.execute("DELETE FROM holdings WHERE mailbox = ? AND seq > 0", (no,))
        return next(self.known(no, *leaving), None) is not None

    # -- offers --------------------------------------------------------------------------------------

    def offered(self, no: int, offer: Offer) -> None:
        """Keep an offer until the mailbox was read to its end."""
        names = [list(name) for name in offer.names]
        self._db.execute("INSERT INTO offers VALUES (?, ?, ?, ?)", (no, offer.key, offer.signature, pack_flat(names)))

    def offers(self, no: int) -> list[Offer]:
        """The offers of a mailbox; they are forgotten here, see :meth:`offered`."""
        sql = "SELECT key, signature, names FROM offers WHERE mailbox = ? ORDER BY rowid DESC LIMIT ?"
        rows = self._db.execute(sql, (no, OFFERS_MAX)).fetchall()
        self._db.execute("DELETE FROM offers WHERE mailbox = ?", (no,))
        return [
            Offer(key, signature, [BlobName(*name) for name in unpack_own(names)]) for key, signature, names in rows
        ]

    def stands_elsewhere(self, no: int, names: Sequence[BlobName]) -> bool:
        """Whether all that some blobs hold was read in others that are there, too."""
        leaving = {*names}
        where = f"stream = ? AND counter = ? AND state IN ({', '.join('?' * len(_OUT))})"
        places = ((name.stream, name.counter, *map(int, _OUT)) for name in leaving)
        found = (one for place in places for one in self._find(where, no, *place))
        wanted = [contents for name, contents in found if name in leaving]
        return len(wanted) == len(leaving) and all(map(self._standing(no, leaving, wanted), wanted))

    def unseen(self, no: int, names: Iterable[BlobName]) -> list[BlobName]:
        """Those of some blobs that were never seen here."""
        sql = "SELECT 1 FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        return [name for name in names if self._db.execute(sql, (no, name.stream, name.counter)).fetchone() is None]

    def _standing(self, no: int, leaving: Set[BlobName], wanted: Sequence[Contents]) -> Callable[[Contents], bool]:
        """What tells whether contents stand in the blobs that were taken, but for those that leave."""
        staying = (contents for name, contents in self._taken(no) if name not in leaving)
        parts = (one._replace(logs=[part for log in one.logs for part in self._whole(log)]) for one in staying)
        return standing(parts, wanted)

    def _taken(self, no: int) -> Iterator[tuple[BlobName, Contents]]:
        """The blobs that were taken, the newest first: what was written anew was written lately."""
        columns, where = "rowid, stream, counter, digest, contents", "mailbox = ? AND state = ? AND rowid < ?"
        sql = f"SELECT {columns} FROM blobs WHERE {where} ORDER BY rowid DESC LIMIT {LOOKED_AT_ONCE}"
        newest = 2**62
        while rows := self._db.execute(sql, (no, int(BlobState.TAKEN), newest)).fetchall():
            newest = rows[-1][0]
            yield from ((BlobName(*name), Contents.read(contents)) for _, *name, contents in rows)
