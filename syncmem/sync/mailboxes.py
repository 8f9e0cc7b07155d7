"""The mailboxes that a device uses: where they are, how far it has read them, what they hold of each log.

Rules: all of it can be forgotten and found out again by reading the mailbox; what a mailbox holds of a log
is known from the blobs that were written or read there, never assumed; a place of a stream is passed over
only once its blob was read or another one has said that nothing is missing there; what was read has been read,
whatever the mailbox loses: no counter is used twice; of what is gone no more is kept than which places were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from syncmem.replica.connection import Database
from syncmem.seal.envelope import EpochKey
from syncmem.sync.contents import BlobState, Contents, between, runs
from syncmem.wire.blob import Places
from syncmem.wire.mailbox import BlobName

ABSENT_AFTER: Final = 3_600_000_000  # microseconds: what a folder brings in disorder is there by then
_UNREAD: Final = "({:d}, {:d}, {:d}, {:d})".format(
    *(BlobState.WAITING, BlobState.HELD, BlobState.BLOCKED, BlobState.STRAY)
)
_UNUSED: Final = "(epoch IS NULL AND sent = 0)"  # a mailbox that never answered, and for which nothing was written
REVISITED_AFTER: Final = 86_400_000_000  # microseconds: a left mailbox may have lost what shows the way to the new one


@dataclass(slots=True)
class Known:
    """One mailbox: of one epoch of one scope, at one address."""

    no: int
    address: str
    scope: str
    id: bytes
    epoch: bytes | None  # the mailbox's own epoch id; None: never reached
    reported: bytes  # the event digest that this device last reported there
    wanted: bytes  # what it last asked for there
    knew: int  # what this device knew (see Incoming.knowledge) when it last tried the blobs that it holds back


class Mailboxes:
    """Reads and writes ``mailboxes``, ``streams``, ``gaps``, ``places_read`` and ``holdings``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    # -- mailboxes ----------------------------------------------------------------------------------

    def mailbox(self, address: str, key: EpochKey) -> Known:
        """The mailbox of an epoch at an address."""
        self._db.execute(
            "INSERT OR IGNORE INTO mailboxes (address, scope, id) VALUES (?, ?, ?)", (address, key.scope, key.mailbox)
        )
        (found,) = self._select("address = ? AND id = ?", address, key.mailbox)
        return found

    def all(self) -> list[Known]:
        """The mailboxes in use."""
        return self._select("left_behind = 0")

    def earlier(self, address: str, key: EpochKey, now: int, others: Collection[bytes]) -> list[Known]:
        """Of the mailboxes of a scope's other epochs (their ids) at an address, those that are to be visited now."""
        due = "(left_behind = 0 OR success IS NULL OR success NOT BETWEEN ? AND ?)"
        where = f"address = ? AND scope = ? AND id <> ? AND {due}"
        found = self._select(where, address, key.scope, key.mailbox, now - REVISITED_AFTER, now)
        return [known for known in found if known.id in others]

    def _select(self, where: str, *values: object) -> list[Known]:
        columns = "no, address, scope, id, epoch, reported, wanted, knew"
        sql = f"SELECT {columns} FROM mailboxes WHERE {where} ORDER BY address, scope, no"
        return [Known(*row) for row in self._db.execute(sql, values).fetchall()]

    def given_up(self, in_use: Collection[str], address: str) -> list[Known]:
        """Mailboxes that were reached elsewhere and not at an address: nobody looks there any more, or in vain."""
        here = f"SELECT id FROM mailboxes WHERE address = ? AND NOT {_UNUSED}"
        found = self._select(f"epoch NOT NULL AND address <> ? AND id NOT IN ({here})", address, address)
        return [known for known in found if known.address not in in_use or self.outcome(known.no)[1] is not None]

    def reached_first(self, addresses: Collection[str]) -> list[str]:
        """Addresses, those last at which no mailbox has answered yet."""
        reached = {known.address for known in self._select("epoch NOT NULL")}
        return sorted(addresses, key=lambda address: address not in reached)

    def move(self, no: int, address: str) -> None:
        """A mailbox goes by another address now; where one is known there that was used, both stay what they are."""
        self._remove(f"address = ? AND id = (SELECT id FROM mailboxes WHERE no = ?) AND {_UNUSED}", address, no)
        sql = "UPDATE OR IGNORE mailboxes SET address = ?, left_behind = 0, trouble = NULL WHERE no = ?"
        self._db.execute(sql, (address, no))

    def move_address(self, old: str, new: str) -> None:
        """All mailboxes at an address go by another one now; they are looked through when they are next read."""
        for known in self._select("address = ?", old):
            self.move(known.no, new)
            self.note_audited(known.no, 0)

    def forget_unreached(self, address: str) -> None:
        """Know nothing of an address at which no mailbox has ever answered."""
        if not self._select(f"address = ? AND NOT {_UNUSED}", address):
            self._remove("address = ?", address)

    def _remove(self, where: str, *values: object) -> None:
        for known in self._select(where, *values):
            self.forget(known.no)
            self._db.execute("DELETE FROM mailboxes WHERE no = ?", (known.no,))

    def leave_address(self, address: str) -> None:
        """The mailboxes at an address are not used any more."""
        for known in self._select("address = ?", address):
            self.leave(known.no)

    def leave(self, no: int, *, left: bool = True) -> None:
        """A mailbox is visited seldom from now on, or is used again."""
        self._db.execute("UPDATE mailboxes SET left_behind = ? WHERE no = ? AND left_behind <> ?", (left, no, left))

    def forget(self, no: int) -> None:
        """Forget what was thought to be there: it was reset or rolled back. Counters go on."""
        self._keep_read(no)
        for table in ("streams", "gaps", "holdings", "offers", "placed"):
            self._db.execute(f"DELETE FROM {table} WHERE mailbox = ?", (no,))
        waiting = (int(BlobState.WAITING), int(BlobState.BLOCKED))
        self._db.execute("DELETE FROM blobs WHERE mailbox = ? AND state NOT IN (?, ?)", (no, *waiting))
        self._db.execute(
            "UPDATE mailboxes SET epoch = NULL, reported = x'', wanted = x'', noted = 0 WHERE no = ?", (no,)
        )

    def _keep_read(self, no: int) -> None:
        """Keep of which places all is held here that ever stood there: of blobs that were read and fit.

        And of those that others took the place of, but only where nothing lacked of what those others held.
        """
        states = (BlobState.TAKEN, BlobState.REPLACED, BlobState.DUE, BlobState.DROPPING, BlobState.DROPPED)
        sql = (
            "SELECT stream, counter, counter FROM blobs "
            "WHERE mailbox = ? AND state IN (?, ?, ?, ?, ?) AND reason IS NULL"
        )
        found = self._db.execute(sql, (no, *map(int, states))).fetchall()
        if self._is_whole(no):
            sql = "SELECT stream, first, last FROM gaps WHERE mailbox = ? AND settled"
            found += self._db.execute(sql, (no,)).fetchall()
        self._add_read(no, found)

    def _add_read(self, no: int, places: Iterable[tuple[bytes, int, int]]) -> None:
        sql = "SELECT stream, first, last FROM places_read WHERE mailbox = ?"
        known = self._db.execute(sql, (no,)).fetchall()
        self._db.execute("DELETE FROM places_read WHERE mailbox = ?", (no,))
        rows = [(no, *run) for run in runs([*known, *places])]
        self._db.executemany("INSERT INTO places_read VALUES (?, ?, ?, ?)", rows)

    def forget_gone(self, no: int, listed: Set[BlobName]) -> None:
        """Forget the blobs that are gone and whose contents stand in others: that their places were read is kept.

        ``listed``: all that is there. If one turns up again, it is one that was passed over.
        """
        sql = (
            "SELECT b.stream, b.counter, b.digest, b.reason IS NULL FROM blobs b JOIN streams s "
            "ON s.mailbox = b.mailbox AND s.stream = b.stream AND b.counter <= s.cursor "
            "WHERE b.mailbox = ? AND b.state IN (?, ?)"
        )
        rows = self._db.execute(sql, (no, int(BlobState.REPLACED), int(BlobState.DROPPED))).fetchall()
        gone = [
            (stream, counter, fits) for stream, counter, digest, fits in rows if (stream, counter, digest) not in listed
        ]
        if gone:
            self._add_read(no, [(stream, counter, counter) for stream, counter, fits in gone if fits])
            sql = "DELETE FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
            self._db.executemany(sql, [(no, stream, counter) for stream, counter, _ in gone])

    def _is_whole(self, no: int) -> bool:
        """Whether everything was read that was told of, and nothing of it held back or refused."""
        short = "SELECT 1 FROM streams WHERE mailbox = ? AND cursor < last LIMIT 1"
        odd = "SELECT 1 FROM blobs WHERE mailbox = ? AND (state IN (?, ?) OR reason IS NOT NULL) LIMIT 1"
        lacking = self._db.execute(short, (no,)).fetchone()
        refused = self._db.execute(odd, (no, int(BlobState.HELD), int(BlobState.REFUSED))).fetchone()
        return lacking is None and refused is None

    def reached(self, known: Known, epoch: bytes) -> None:
        """The mailbox answered."""
        known.epoch = epoch
        self._db.execute("UPDATE mailboxes SET epoch = ? WHERE no = ?", (epoch, known.no))

    def succeeded(self, no: int, at: int, knew: int) -> None:
        """A sync ran to its end, with this device knowing so much (see :class:`Known`)."""
        self._db.execute("UPDATE mailboxes SET success = ?, trouble = NULL, knew = ? WHERE no = ?", (at, knew, no))

    def failed(self, no: int, why: str) -> None:
        self._db.execute("UPDATE mailboxes SET trouble = ? WHERE no = ?", (why, no))

    def outcome(self, no: int) -> tuple[int | None, str | None]:
        """When a sync last ran to its end, and what stopped the last one."""
        success, trouble = self._db.execute("SELECT success, trouble FROM mailboxes WHERE no = ?", (no,)).fetchone()
        return success, trouble

    def audited(self, no: int) -> int | None:
        """When it was last looked through."""
        at: int | None = self._db.execute("SELECT audited FROM mailboxes WHERE no = ?", (no,)).fetchone()[0]
        return at

    def note_audited(self, no: int, at: int) -> None:
        self._db.execute("UPDATE mailboxes SET audited = ? WHERE no = ?", (at, no))

    def note(self, known: Known, *, reported: bytes | None = None, wanted: bytes | None = None) -> None:
        """What was last told to the mailbox."""
        known.reported = known.reported if reported is None else reported
        known.wanted = known.wanted if wanted is None else wanted
        sql = "UPDATE mailboxes SET reported = ?, wanted = ? WHERE no = ?"
        self._db.execute(sql, (known.reported, known.wanted, known.no))

    # -- streams ------------------------------------------------------------------------------------

    def ends(self, no: int) -> dict[bytes, int]:
        """Stream -> how far it went when the mailbox last said so."""
        return dict(self._db.execute("SELECT stream, last FROM streams WHERE mailbox = ?", (no,)).fetchall())

    def cursors(self, no: int) -> dict[bytes, int]:
        """Stream -> last place up to which everything is here."""
        sql = "SELECT stream, cursor FROM streams WHERE mailbox = ? AND cursor > 0"
        return dict(self._db.execute(sql, (no,)).fetchall())

    def saw_ends(self, no: int, ends: Mapping[bytes, int]) -> None:
        """How far the streams go, as the mailbox says; of which nothing was read is forgotten once it is not told."""
        sql = "INSERT INTO streams (mailbox, stream, cursor, last) VALUES (?, ?, 0, ?) "
        sql += "ON CONFLICT DO UPDATE SET last = excluded.last"
        known = dict(self._db.execute("SELECT stream, last FROM streams WHERE mailbox = ?", (no,)).fetchall())
        rows = [(no, stream, last) for stream, last in ends.items() if known.get(stream) != last]
        self._db.executemany(sql, rows)
        gone = [(no, stream) for stream in known.keys() - ends.keys()]
        self._db.executemany("DELETE FROM streams WHERE mailbox = ? AND stream = ? AND cursor = 0", gone)

    def _skip(self, no: int, places: Places) -> None:
        """Note what is said of some places: that nothing is missing there, as far as the stream goes by now.

        It counts once it is settled: nobody speaks for what is to come, nor for what is there to be read. How far the
        own stream goes this device knows better than the mailbox.
        """
        sql = (
            "SELECT max(last) FROM (SELECT last FROM streams WHERE mailbox = ? AND stream = ? "
            "UNION ALL SELECT sent FROM mailboxes WHERE no = ? AND own = ?)"
        )
        known = self._db.execute(sql, (no, places.stream, no, places.stream)).fetchone()[0]
        last = min(places.last, known or 0)
        if last >= places.first:
            sql = "INSERT INTO gaps (mailbox, stream, first, last) VALUES (?, ?, ?, ?) "
            sql += "ON CONFLICT DO UPDATE SET last = max(last, excluded.last), settled = 0"
            self._db.execute(sql, (no, places.stream, places.first, last))

    def advance(self, no: int, stream: bytes) -> None:
        """Move a stream's cursor over all that was read, or may be passed over, without a gap."""
        row = self._db.execute("SELECT cursor FROM streams WHERE mailbox = ? AND stream = ?", (no, stream)).fetchone()
        cursor = before = row[0] if row else 0
        while (further := self._passed(no, stream, cursor)) > cursor:
            cursor = further
        if cursor > before:
            sql = "INSERT INTO streams (mailbox, stream, cursor, last) VALUES (?, ?, ?, ?) "
            sql += "ON CONFLICT DO UPDATE SET cursor = excluded.cursor"
            self._db.execute(sql, (no, stream, cursor, cursor))

    def _passed(self, no: int, stream: bytes, cursor: int) -> int:
        sql = "SELECT max(last) FROM gaps WHERE mailbox = ? AND stream = ? AND first <= ? AND settled"
        skipped = self._db.execute(sql, (no, stream, cursor + 1)).fetchone()[0] or 0
        sql = "SELECT min(counter) FROM blobs WHERE mailbox = ? AND stream = ? AND counter > ? AND state = ?"
        held = self._db.execute(sql, (no, stream, cursor, int(BlobState.HELD))).fetchone()[0]
        skipped = skipped if held is None else min(skipped, held - 1)
        if skipped > cursor:
            return int(skipped)
        sql = (
            f"SELECT counter FROM blobs WHERE mailbox = ? AND stream = ? AND counter > ? AND state NOT IN {_UNREAD} "
            "ORDER BY counter"
        )
        for (counter,) in self._db.execute(sql, (no, stream, cursor)):
            if counter != cursor + 1:
                break
            cursor = counter
        return cursor

    # -- what is absent -----------------------------------------------------------------------------

    def look_for_absent(self, no: int, own: bytes, now: int) -> None:
        """Note since when a stream lacks places, once the mailbox was read to its end; the own one is the writer's."""
        sql = (
            "SELECT stream, cursor, last, absent FROM streams WHERE mailbox = ? AND (last > cursor OR absent NOT NULL)"
        )
        for stream, cursor, last, since in self._db.execute(sql, (no,)).fetchall():
            lacks = stream != own and bool(self._absent(no, stream, cursor, last))
            new = (since or now) if lacks else None
            if new != since:
                sql = "UPDATE streams SET absent = ? WHERE mailbox = ? AND stream = ?"
                self._db.execute(sql, (new, no, stream))

    def absent(self, no: int, now: int) -> list[Places]:
        """The places that have been lacking for so long that nothing is on its way any more, and never were read."""
        return [places for gap in self._gone(no, now) for places in self._unread(no, gap)]

    def absent_read(self, no: int, now: int) -> list[Places]:
        """Those that have been lacking for so long, but were read before the mailbox lost them."""
        sql = (
            "SELECT stream, max(first, ?), min(last, ?) FROM places_read "
            "WHERE mailbox = ? AND stream = ? AND first <= ? AND last >= ?"
        )
        found: list[Places] = []
        for stream, first, last in self._gone(no, now):
            found += [Places(*row) for row in self._db.execute(sql, (first, last, no, stream, last, first)).fetchall()]
        return found

    def _gone(self, no: int, now: int) -> list[Places]:
        return self._absent_since(no, "NOT BETWEEN ? AND ?", now - ABSENT_AFTER + 1, now)

    def lacking(self, no: int, since: int) -> int:
        """How many places are lacking that never were read, but for those that have been since before some time."""
        gaps = self._absent_since(no, ">= ?", since)
        return sum(places.last - places.first + 1 for gap in gaps for places in self._unread(no, gap))

    def _absent_since(self, no: int, when: str, *values: int) -> list[Places]:
        sql = f"SELECT stream, cursor, last FROM streams WHERE mailbox = ? AND absent {when} ORDER BY stream"
        rows = self._db.execute(sql, (no, *values)).fetchall()
        return [places for stream, cursor, last in rows for places in self._absent(no, stream, cursor, last)]

    def _absent(self, no: int, stream: bytes, cursor: int, last: int) -> list[Places]:
        sql = (
            "SELECT counter, counter FROM blobs WHERE mailbox = ? AND stream = ? AND counter > ? AND state <> ? "
            "UNION ALL SELECT first, last FROM gaps WHERE mailbox = ? AND stream = ? AND last > ? ORDER BY 1"
        )
        values = (no, stream, cursor, int(BlobState.STRAY), no, stream, cursor)
        return between(Places(stream, cursor + 1, last), self._db.execute(sql, values).fetchall())

    def _unread(self, no: int, gap: Places) -> list[Places]:
        """The parts of a gap that never were read here."""
        sql = "SELECT first, last FROM places_read WHERE mailbox = ? AND stream = ? ORDER BY first"
        return between(gap, self._db.execute(sql, (no, gap.stream)).fetchall())

    # -- the own stream -----------------------------------------------------------------------------

    def next_counter(self, no: int, stream: bytes) -> int:
        """The counter of the next blob of the own stream. Counters are never used twice, whatever the mailbox lost."""
        self._db.execute(
            "UPDATE mailboxes SET own = ?, sent = 0, noted = 0 WHERE no = ? AND own IS NOT ?", (stream, no, stream)
        )
        self._db.execute("UPDATE mailboxes SET sent = sent + 1 WHERE no = ?", (no,))
        return int(self._db.execute("SELECT sent FROM mailboxes WHERE no = ?", (no,)).fetchone()[0])

    def lost(self, no: int, stream: bytes) -> list[Places]:
        """Places of the own stream whose blobs the mailbox has lost; what they held is sent anew.

        None while a blob waits: it may tell of them already.
        """
        if self.awaits(no):
            return []
        row = self._db.execute("SELECT sent FROM mailboxes WHERE no = ? AND own = ?", (no, stream)).fetchone()
        cursor = self.cursors(no).get(stream, 0)
        sql = "SELECT counter FROM blobs WHERE mailbox = ? AND stream = ? AND counter > ? ORDER BY counter"
        found, place = [], cursor + 1
        known = [counter for (counter,) in self._db.execute(sql, (no, stream, cursor)).fetchall()]
        for counter in [*known, (row[0] if row else 0) + 1]:
            if counter > place:
                found.append(Places(stream, place, counter - 1))
            place = max(place, counter + 1)
        return found

    def noted(self, no: int, stream: bytes) -> int:
        """Up to which place of the own log it was told what the notes say; 0 for another stream than was written."""
        row = self._db.execute("SELECT noted FROM mailboxes WHERE no = ? AND own = ?", (no, stream)).fetchone()
        return int(row[0]) if row else 0

    def note_noted(self, no: int, stream: bytes, place: int) -> None:
        self._db.execute("UPDATE mailboxes SET noted = ? WHERE no = ? AND own = ?", (place, no, stream))

    def awaits(self, no: int) -> bool:
        """Whether an own blob waits to be acknowledged."""
        sql = "SELECT 1 FROM blobs WHERE mailbox = ? AND blob IS NOT NULL LIMIT 1"
        return self._db.execute(sql, (no,)).fetchone() is not None

    # -- what a mailbox holds -----------------------------------------------------------------------

    def hold(self, no: int, contents: Contents) -> None:
        """A mailbox holds this."""
        holdings = self.holdings(no, [stretch.log for stretch in contents.logs])
        contents.added_to(holdings)
        rows = [(no, what, seq) for what, seq in holdings.items()]
        self._db.executemany("INSERT OR REPLACE INTO holdings VALUES (?, ?, ?)", rows)

    def holdings(self, no: int, only: Sequence[bytes] | None = None) -> dict[bytes, int]:
        """Log id -> last place, and statement id -> 0."""
        if only is None:
            sql = "SELECT what, seq FROM holdings WHERE mailbox = ?"
            return dict(self._db.execute(sql, (no,)).fetchall())
        found = {}
        for what in dict.fromkeys(only):
            row = self._db.execute("SELECT seq FROM holdings WHERE mailbox = ? AND what = ?", (no, what)).fetchone()
            if row:
                found[what] = row[0]
        return found

    def lose(self, no: int, log: bytes, after: int) -> None:
        """Somebody cannot find a log's events there, or a statement: what follows ``after`` is sent again."""
        sql = "UPDATE holdings SET seq = min(seq, ?) WHERE mailbox = ? AND what = ?"
        self._db.execute(sql, (after, no, log))
        self._db.execute("DELETE FROM holdings WHERE mailbox = ? AND what = ? AND seq = 0", (no, log))
