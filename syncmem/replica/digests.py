"""Digests of a scope: which events are held, and what is believed. Two devices with the same events show the same.

Rules: the event digest is the hash of all that the scope's beliefs follow from: notes of arrival at the ends of logs
are not in it, so nobody has to answer them; the belief digest is a sum over the current rectangles, kept by what
changed: only slots touched since the last question are looked at again.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Final, NamedTuple

from syncmem.codec import pack_flat
from syncmem.model.instant import FOREVER
from syncmem.model.value import NONE, from_stored
from syncmem.replica.catalog import VAULT
from syncmem.replica.connection import Database
from syncmem.replica.logs import Logs
from syncmem.replica.said import End, Said
from syncmem.replica.transactions import touched_since

DIGEST_BYTES: Final = 32
_MODULUS: Final = 2**256
_NONE: Final = bytes(DIGEST_BYTES)


class ScopeDigests(NamedTuple):
    """Digests of 32 bytes each, and how many events are or were held: that number only grows."""

    events: bytes
    beliefs: bytes
    held: int


class EventDigest(NamedTuple):
    """A hash of 32 bytes, and the number of events (all notes included) and statements that are held."""

    value: bytes
    held: int


class Digests:
    """Reads and writes the tables ``slot_digests`` and ``belief_digests``."""

    def __init__(self, database: Database, logs: Logs) -> None:
        self._db = database
        self.said = Said(database, logs)

    def of(self, scope: str) -> ScopeDigests:
        """The digests of a scope as it is now; inside a write transaction."""
        statements = [row[0] for row in self._db.execute("SELECT id FROM statements").fetchall()]
        events = event_digest(scope, self.said.all(), statements)
        void = self._db.execute("SELECT coalesce(sum(count), 0) FROM moves WHERE acts = 1").fetchone()[0]
        return ScopeDigests(events.value, self._beliefs(scope), events.held + int(void))

    def _beliefs(self, scope: str) -> bytes:
        self._catch_up()
        row = self._db.execute("SELECT digest FROM belief_digests WHERE scope = ?", (scope,)).fetchone()
        return bytes(row[0]) if row else _NONE

    def _catch_up(self) -> None:
        """Look again at the slots that transactions have touched since."""
        row = self._db.execute("SELECT max(n) FROM belief_digests").fetchone()
        since = row[0] or 0
        found = touched_since(self._db, since)
        if not found:
            return
        moved: dict[str, int] = {}
        for slot in sorted({slot for _, slots in found for slot in slots}):
            self._look_again(slot, moved)
        for scope, change in moved.items():
            self._move(scope, change)
        self._db.execute("INSERT OR IGNORE INTO belief_digests VALUES ('', ?, 0)", (_NONE,))
        self._db.execute("UPDATE belief_digests SET n = ?", (found[-1][0],))

    def _look_again(self, slot: int, moved: dict[str, int]) -> None:
        """Add the change of one slot's digest to its scope's."""
        row = self._db.execute("SELECT scope, digest FROM slot_digests WHERE slot = ?", (slot,)).fetchone()
        named = self._db.execute("SELECT scope, entity, predicate FROM slots WHERE id = ?", (slot,)).fetchone()
        scope = named[0] if named else row[0] if row else None
        if scope is None:
            return
        before = int.from_bytes(row[1], "big") if row else 0
        after = self._of_slot(slot, named[1], named[2]) if named else 0
        if after:
            values = (slot, scope, after.to_bytes(DIGEST_BYTES, "big"))
            self._db.execute("INSERT OR REPLACE INTO slot_digests VALUES (?, ?, ?)", values)
        elif row:
            self._db.execute("DELETE FROM slot_digests WHERE slot = ?", (slot,))
        moved[scope] = moved.get(scope, 0) + after - before

    def drop(self, slot: int) -> None:
        """Take an erased slot out of the sum, as if it had never been in it."""
        row = self._db.execute("SELECT scope, digest FROM slot_digests WHERE slot = ?", (slot,)).fetchone()
        if row is not None:
            self._db.execute("DELETE FROM slot_digests WHERE slot = ?", (slot,))
            self._move(row[0], -int.from_bytes(row[1], "big"))

    def _of_slot(self, slot: int, entity: str, predicate: str) -> int:
        sql = (
            "SELECT lane, valid_from, valid_to, value, trust, contested FROM beliefs "
            f"WHERE slot = ? AND known_to = {FOREVER}"
        )
        rows = self._db.execute(sql, (slot,)).fetchall()
        hashes = (sha256(_belief_bytes(entity, predicate, *row)).digest() for row in rows)
        return sum(int.from_bytes(value, "big") for value in hashes) % _MODULUS

    def _move(self, scope: str, change: int) -> None:
        row = self._db.execute("SELECT digest FROM belief_digests WHERE scope = ?", (scope,)).fetchone()
        digest = (int.from_bytes(row[0], "big") if row else 0) + change
        values = (scope, (digest % _MODULUS).to_bytes(DIGEST_BYTES, "big"))
        self._db.execute("INSERT OR REPLACE INTO belief_digests VALUES (?, ?, 0)", values)


def _belief_bytes(
    entity: str, predicate: str, lane: bytes, start: int, end: int, value: str, trust: int, contested: int
) -> bytes:
    """One rectangle as it is hashed: its value as itself, because texts of JSON differ between languages."""
    stored = from_stored(value)
    return pack_flat([entity, predicate, lane, start, end, None if stored is NONE else stored, trust, contested])


def event_digest(scope: str, ends: Iterable[End], statements: Iterable[bytes]) -> EventDigest:
    """The digest of a scope where logs have said something up to their ends, and statements (ids) are held.

    Definitions count in every scope, and so does the removal of a device.
    """
    counting = [end for end in ends if end.log.key is not None and end.log.key.scope in (scope, VAULT)]
    rows = sorted([end.log.id, end.place, end.head] for end in counting if end.place)
    ids = sorted(statements)
    return EventDigest(sha256(pack_flat([rows, ids])).digest(), sum(end.log.seq for end in counting) + len(ids))
