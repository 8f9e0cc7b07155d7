"""The ledger: what this device knows of each mailbox, and what waits to be sent there.

Rules: nothing here is about beliefs, all of it can be forgotten and found out again by reading the
mailbox; a blob is written down before it is sent, and sent with the same bytes until it is acknowledged;
what a mailbox holds of a log is known from the blobs that were written or read there, never assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from syncmem.codec import pack_flat, unpack_own
from syncmem.model.frame import Frame
from syncmem.replica.connection import Database
from syncmem.seal.envelope import EpochKey
from syncmem.wire.mailbox import BlobName


class BlobState(IntEnum):
    """How a blob stands with this device."""

    WAITING = 0  # ours, not acknowledged yet
    TAKEN = 1  # there, and what it holds is known
    HELD = 2  # read, but something it builds on has not arrived
    REFUSED = 3  # cannot be used; the reason is kept
    REPLACED = 4  # dropped from the mailbox, or may be
    BLOCKED = 5  # ours, and the mailbox does not take it; the reason is kept


class Contents(NamedTuple):
    """What a blob holds: places of logs, and statements of the roster."""

    logs: list[tuple[bytes, int, int]]  # (log id, first place, last place)
    statements: list[bytes]  # ids

    def stored(self) -> bytes:
        return pack_flat([[list(part) for part in self.logs], self.statements])

    def added_to(self, held: dict[bytes, int]) -> None:
        """Add to what is held (log id -> last place, statement id -> 0); a log only as far as there is no gap."""
        held |= dict.fromkeys(self.statements, 0)
        for log, first, last in self.logs:
            if first <= held.get(log, 0) + 1:
                held[log] = max(held.get(log, 0), last)

    def without(self, logs: Set[bytes]) -> Contents:
        """The same, of other logs alone."""
        return Contents([part for part in self.logs if part[0] not in logs], self.statements)

    @classmethod
    def read(cls, data: bytes) -> Contents:
        logs, statements = unpack_own(data)
        return cls([tuple(part) for part in logs], statements)


NOTHING = Contents([], [])


def stretch(frame: Frame) -> tuple[bytes, int, int]:
    """The places of a log that a frame holds."""
    return frame.key.id, frame.first, frame.last


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


class Ledger:
    """Reads and writes ``mailboxes``, ``streams``, ``blobs`` and ``holdings``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    # -- mailboxes ----------------------------------------------------------------------------------

    def mailbox(self, address: str, key: EpochKey) -> Known:
        """The mailbox of an epoch at an address."""
        sql = (
            "INSERT INTO mailboxes (address, scope, id) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET left_behind = 0 WHERE left_behind = 1"
        )
        self._db.execute(sql, (address, key.scope, key.mailbox))
        return next(known for known in self.all() if (known.address, known.id) == (address, key.mailbox))

    def earlier(self, address: str, key: EpochKey) -> list[Known]:
        """The mailboxes of a scope's other epochs that were used at an address."""
        return [
            known
            for known in self.all()
            if (known.address, known.scope) == (address, key.scope) and known.id != key.mailbox
        ]

    def all(self) -> list[Known]:
        """The mailboxes in use."""
        sql = (
            "SELECT no, address, scope, id, epoch, reported, wanted FROM mailboxes WHERE left_behind = 0 "
            "ORDER BY address, scope"
        )
        return [Known(*row) for row in self._db.execute(sql).fetchall()]

    def forget(self, no: int) -> None:
        """Forget what was thought to be there: it was reset or rolled back. Counters go on."""
        for table in ("streams", "holdings"):
            self._db.execute(f"DELETE FROM {table} WHERE mailbox = ?", (no,))
        waiting = (int(BlobState.WAITING), int(BlobState.BLOCKED))
        self._db.execute("DELETE FROM blobs WHERE mailbox = ? AND state NOT IN (?, ?)", (no, *waiting))
        self._db.execute("UPDATE mailboxes SET epoch = NULL, reported = x'', wanted = x'' WHERE no = ?", (no,))

    def leave(self, no: int) -> None:
        """A mailbox is not used any more; should it be again, counters go on."""
        self.forget(no)
        self._db.execute("DELETE FROM blobs WHERE mailbox = ?", (no,))
        self._db.execute("UPDATE mailboxes SET left_behind = 1 WHERE no = ?", (no,))

    def reached(self, known: Known, epoch: bytes) -> None:
        """The mailbox answered."""
        known.epoch = epoch
        self._db.execute("UPDATE mailboxes SET epoch = ? WHERE no = ?", (epoch, known.no))

    def succeeded(self, no: int, at: int) -> None:
        """A sync ran to its end."""
        self._db.execute("UPDATE mailboxes SET success = ?, trouble = NULL WHERE no = ?", (at, no))

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

    def doubt(self, log: bytes, last: int) -> None:
        """A branch of a log is void: no mailbox surely holds it beyond a place, and what did not fit is read again."""
        self._db.execute("UPDATE holdings SET seq = min(seq, ?) WHERE what = ?", (last, log))
        self._db.execute("DELETE FROM blobs WHERE blob IS NOT NULL")  # what waits is made anew
        sql = "SELECT mailbox, stream, min(counter) FROM blobs WHERE state = ? AND reason IS NOT NULL GROUP BY 1, 2"
        for no, stream, counter in self._db.execute(sql, (int(BlobState.TAKEN),)).fetchall():
            sql = "UPDATE streams SET cursor = min(cursor, ?) WHERE mailbox = ? AND stream = ?"
            self._db.execute(sql, (counter - 1, no, stream))
        sql = "UPDATE blobs SET state = ? WHERE state = ? AND reason IS NOT NULL"
        self._db.execute(sql, (int(BlobState.HELD), int(BlobState.TAKEN)))

    # -- streams ------------------------------------------------------------------------------------

    def cursors(self, no: int) -> dict[bytes, int]:
        """Stream -> last place up to which everything is here."""
        return dict(self._db.execute("SELECT stream, cursor FROM streams WHERE mailbox = ?", (no,)).fetchall())

    def advance(self, no: int, stream: bytes) -> None:
        """Move a stream's cursor over all that was read without a gap."""
        row = self._db.execute("SELECT cursor FROM streams WHERE mailbox = ? AND stream = ?", (no, stream)).fetchone()
        cursor = row[0] if row else 0
        sql = (
            "SELECT counter FROM blobs WHERE mailbox = ? AND stream = ? AND counter > ? AND state IN (?, ?, ?) "
            "ORDER BY counter"
        )
        passed = (int(BlobState.TAKEN), int(BlobState.REFUSED), int(BlobState.REPLACED))
        for (counter,) in self._db.execute(sql, (no, stream, cursor, *passed)):
            if counter != cursor + 1:
                break
            cursor = counter
        self._db.execute("INSERT OR REPLACE INTO streams VALUES (?, ?, ?)", (no, stream, cursor))

    def next_counter(self, no: int, stream: bytes) -> int:
        """The counter of the next blob of the own stream. Counters are never used twice, whatever the mailbox lost."""
        self._db.execute("UPDATE mailboxes SET own = ?, sent = 0 WHERE no = ? AND own IS NOT ?", (stream, no, stream))
        self._db.execute("UPDATE mailboxes SET sent = sent + 1 WHERE no = ?", (no,))
        return int(self._db.execute("SELECT sent FROM mailboxes WHERE no = ?", (no,)).fetchone()[0])

    def lost(self, no: int, stream: bytes) -> list[int]:
        """Counters of the own stream whose blobs the mailbox has lost; what they held is sent anew."""
        row = self._db.execute("SELECT sent FROM mailboxes WHERE no = ? AND own = ?", (no, stream)).fetchone()
        cursor = self.cursors(no).get(stream, 0)
        sql = "SELECT counter FROM blobs WHERE mailbox = ? AND stream = ? AND counter > ?"
        known = {counter for (counter,) in self._db.execute(sql, (no, stream, cursor))}
        return [counter for counter in range(cursor + 1, (row[0] if row else 0) + 1) if counter not in known]

    # -- blobs --------------------------------------------------------------------------------------

    def state(self, no: int, name: BlobName) -> BlobState | None:
        """How a blob stands, or None where it was never seen (or was another under the same counter)."""
        sql = "SELECT state, digest FROM blobs WHERE mailbox = ? AND stream = ? AND counter = ?"
        row = self._db.execute(sql, (no, name.stream, name.counter)).fetchone()
        return BlobState(row[0]) if row and row[1] == name.digest else None

    def put(
        self, no: int, name: BlobName, state: BlobState, contents: Contents, *, reason: str | None = None,
        blob: bytes | None = None,
    ) -> None:  # fmt: skip
        """Note a blob: one of ours that waits (with its bytes), or one that was read."""
        row = (no, name.stream, name.counter, name.digest, int(state), contents.stored(), reason, blob)
        self._db.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        if state == BlobState.TAKEN:
            self.hold(no, contents)

    def waiting(self, no: int, bytes_max: int) -> list[tuple[BlobName, bytes, Contents]]:
        """Own blobs that were not acknowledged, oldest first, up to ``bytes_max`` together (one at least)."""
        sql = (
            "SELECT stream, counter, digest, contents, blob FROM blobs WHERE mailbox = ? AND state = ? ORDER BY counter"
        )
        result: list[tuple[BlobName, bytes, Contents]] = []
        size = 0
        for stream, counter, digest, contents, blob in self._db.execute(sql, (no, int(BlobState.WAITING))):
            size += len(blob)
            if result and size > bytes_max:
                break
            result.append((BlobName(stream, counter, digest), blob, Contents.read(contents)))
        return result

    def awaited(self, no: int) -> dict[bytes, int]:
        """What the mailbox holds, or will once the blobs that wait are there."""
        held = self.holdings(no)
        sql = "SELECT contents FROM blobs WHERE mailbox = ? AND state = ? ORDER BY counter"
        for (contents,) in self._db.execute(sql, (no, int(BlobState.WAITING))):
            Contents.read(contents).added_to(held)
        return held

    def acknowledge(self, no: int, name: BlobName, contents: Contents) -> None:
        """An own blob is there; its bytes are not needed any more."""
        self.put(no, name, BlobState.TAKEN, contents)
        self.advance(no, name.stream)

    def block(self, no: int, name: BlobName, reason: str) -> None:
        """The mailbox does not take an own blob."""
        sql = "UPDATE blobs SET state = ?, reason = ? WHERE mailbox = ? AND stream = ? AND counter = ?"
        self._db.execute(sql, (int(BlobState.BLOCKED), reason, no, name.stream, name.counter))

    def forget_waiting(self, no: int) -> None:
        """Another life of this device writes the same stream: what waits is made anew in another."""
        self._db.execute("DELETE FROM blobs WHERE mailbox = ? AND blob IS NOT NULL", (no,))

    def unblock(self, no: int) -> None:
        """Try again what the mailbox did not take."""
        sql = "UPDATE blobs SET state = ?, reason = NULL WHERE mailbox = ? AND state = ?"
        self._db.execute(sql, (int(BlobState.WAITING), no, int(BlobState.BLOCKED)))

    def in_state(self, no: int, state: BlobState) -> Iterator[tuple[BlobName, str | None]]:
        sql = (
            "SELECT stream, counter, digest, reason FROM blobs WHERE mailbox = ? AND state = ? ORDER BY stream, counter"
        )
        for stream, counter, digest, reason in self._db.execute(sql, (no, int(state))).fetchall():
            yield BlobName(stream, counter, digest), reason

    def replace(self, no: int, pairs: Iterable[tuple[bytes, int]]) -> None:
        """Blobs that were dropped: nothing is missing at their places."""
        for stream, counter in pairs:
            row = (no, stream, counter, bytes(16), int(BlobState.REPLACED), NOTHING.stored())
            self._db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)", row)
            self.advance(no, stream)

    # -- what a mailbox holds -----------------------------------------------------------------------

    def hold(self, no: int, contents: Contents) -> None:
        """A mailbox holds this."""
        holdings = self.holdings(no, [log for log, _, _ in contents.logs])
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
        """Somebody cannot find a log's events there: what follows ``after`` is sent again."""
        sql = "UPDATE holdings SET seq = min(seq, ?) WHERE mailbox = ? AND what = ?"
        self._db.execute(sql, (after, no, log))
