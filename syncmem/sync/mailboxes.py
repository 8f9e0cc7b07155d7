"""The mailboxes that a device uses: where they are, how far it has read them, what they hold of each log.

Rules: all of it can be forgotten and found out again by reading the mailbox; what a mailbox holds of a log
is known from the blobs that were written or read there, never assumed; a place of a stream is passed over
only once its blob was read or another one has said that nothing is missing there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from syncmem.replica.connection import Database
from syncmem.seal.envelope import EpochKey
from syncmem.sync.contents import BlobState, Contents
from syncmem.wire.blob import Places

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
    """Reads and writes ``mailboxes``, ``streams``, ``gaps`` and ``holdings``."""

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

    def earlier(self, address: str, key: EpochKey, now: int) -> list[Known]:
        """The mailboxes of a scope's other epochs at an address that are to be visited now."""
        due = "(left_behind = 0 OR success IS NULL OR success NOT BETWEEN ? AND ?)"
        where = f"address = ? AND scope = ? AND id <> ? AND {due}"
        return self._select(where, address, key.scope, key.mailbox, now - REVISITED_AFTER, now)

    def _select(self, where: str, *values: object) -> list[Known]:
        columns = "no, address, scope, id, epoch, reported, wanted, knew"
        sql = f"SELECT {columns} FROM mailboxes WHERE {where} ORDER BY address, scope, no"
        return [Known(*row) for row in self._db.execute(sql, values).fetchall()]

    def leave(self, no: int, *, left: bool = True) -> None:
        """A mailbox is visited seldom from now on, or is used again."""
        self._db.execute("UPDATE mailboxes SET left_behind = ? WHERE no = ? AND left_behind <> ?", (left, no, left))

    def forget(self, no: int) -> None:
        """Forget what was thought to be there: it was reset or rolled back. Counters go on."""
        for table in ("streams", "gaps", "holdings", "offers"):
            self._db.execute(f"DELETE FROM {table} WHERE mailbox = ?", (no,))
        waiting = (int(BlobState.WAITING), int(BlobState.BLOCKED))
        self._db.execute("DELETE FROM blobs WHERE mailbox = ? AND state NOT IN (?, ?)", (no, *waiting))
        self._db.execute("UPDATE mailboxes SET epoch = NULL, reported = x'', wanted = x'' WHERE no = ?", (no,))

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

    def note(self, known: Known, *, reported: bytes | None = None, wanted: bytes | None = None) -> None:
        """What was last told to the mailbox."""
        known.reported = known.reported if reported is None else reported
        known.wanted = known.wanted if wanted is None else wanted
        sql = "UPDATE mailboxes SET reported = ?, wanted = ? WHERE no = ?"
        self._db.execute(sql, (known.reported, known.wanted, known.no))

    # -- streams ------------------------------------------------------------------------------------

    def cursors(self, no: int) -> dict[bytes, int]:
        """Stream -> last place up to which everything is here."""
        return dict(self._db.execute("SELECT stream, cursor FROM streams WHERE mailbox = ?", (no,)).fetchall())

    def saw_ends(self, no: int, ends: Mapping[bytes, int]) -> None:
        """How far the streams go, as the mailbox says."""
        sql = "INSERT INTO streams VALUES (?, ?, 0, ?) ON CONFLICT DO UPDATE SET last = excluded.last"
        known = dict(self._db.execute("SELECT stream, last FROM streams WHERE mailbox = ?", (no,)).fetchall())
        rows = [(no, stream, last) for stream, last in ends.items() if known.get(stream) != last]
        self._db.executemany(sql, rows)

    def _skip(self, no: int, places: Places) -> Places | None:
        """Note that nothing is missing at some places, as far as the stream goes: nobody speaks for what is to come."""
        sql = "SELECT last FROM streams WHERE mailbox = ? AND stream = ?"
        row = self._db.execute(sql, (no, places.stream)).fetchone()
        last = min(places.last, row[0] if row else 0)
        if last < places.first:
            return None
        sql = "INSERT INTO gaps VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET last = max(last, excluded.last)"
        self._db.execute(sql, (no, places.stream, places.first, last))
        return places._replace(last=last)

    def advance(self, no: int, stream: bytes) -> None:
        """Move a stream's cursor over all that was read, or may be passed over, without a gap."""
        row = self._db.execute("SELECT cursor FROM streams WHERE mailbox = ? AND stream = ?", (no, stream)).fetchone()
        cursor = before = row[0] if row else 0
        while (further := self._passed(no, stream, cursor)) > cursor:
            cursor = further
        if cursor > before:
            sql = "INSERT INTO streams VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET cursor = excluded.cursor"
            self._db.execute(sql, (no, stream, cursor, cursor))

    def _passed(self, no: int, stream: bytes, cursor: int) -> int:
        sql = "SELECT max(last) FROM gaps WHERE mailbox = ? AND stream = ? AND first <= ?"
        skipped = self._db.execute(sql, (no, stream, cursor + 1)).fetchone()[0] or 0
        if skipped > cursor:
            return int(skipped)
        unread = (int(BlobState.WAITING), int(BlobState.HELD), int(BlobState.BLOCKED))
        sql = (
            "SELECT counter FROM blobs WHERE mailbox = ? AND stream = ? AND counter > ? AND state NOT IN (?, ?, ?) "
            "ORDER BY counter"
        )
        for (counter,) in self._db.execute(sql, (no, stream, cursor, *unread)):
            if counter != cursor + 1:
                break
            cursor = counter
        return cursor

    def next_counter(self, no: int, stream: bytes) -> int:
        """The counter of the next blob of the own stream. Counters are never used twice, whatever the mailbox lost."""
        self._db.execute("UPDATE mailboxes SET own = ?, sent = 0 WHERE no = ? AND own IS NOT ?", (stream, no, stream))
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
