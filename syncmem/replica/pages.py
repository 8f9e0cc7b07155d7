"""Timelines in pages: the statements of a lane in order of their start, a few dozen to a page.

A *lane* is one timeline: the whole slot of a single-valued predicate (lane ``b""``), or one value of a
many-valued one.  Each page keeps the fold's carry at its first instant, so a change is folded from its
own page on and stops at the first page whose carry is as it was: the cost follows what changed.
Rules: a page's statements start in ``[first, first of the next page)``; the first page begins at
``BEGINNING``; statements with the same start are never parted.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from syncmem.codec import pack_flat, unpack_own
from syncmem.model.equality import Equality, key, keyed
from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.plain import Meeting, Row, Standing, Won, last_run, winners
from syncmem.model.record import LOG_SHIFT, STORED_FIELDS, Record
from syncmem.model.sweep import EMPTY, Carry, Ray, Segment, plain_carry, sweep
from syncmem.replica.connection import Database
from syncmem.replica.logs import Logs

PAGE_VALUE_BYTES: Final = 16 * 1024  # the same for the bytes of its values
PAGE_RECORDS: Final = 16  # a page is cut into pieces of this many once it holds twice as many
_UNREAD: Final = (None, FOREVER, BEGINNING)  # in the place of a page: it holds no instant
_NO_CARRY: Final = pack_flat([[], [], []])
_NO_PAGE: Final = (None, BEGINNING, FOREVER, pack_flat([]), _NO_CARRY)
_START: Final = itemgetter(5)
_ROW_ORDER: Final = itemgetter(5, 0)  # start, position


Wanted = Callable[[list[Row]], list[Row]]  # of statements as they are stored, in order of start, those that are meant


class Update(NamedTuple):
    """New status of a stored statement: its flags within ``mask`` become ``bits``."""

    start: int
    value: bytes
    mask: int
    bits: int


class Swept(NamedTuple):
    """A stretch of a timeline that was folded anew: its segments, and who wins at ``end``."""

    start: int
    end: int
    segments: list[Segment]
    at_end: Segment | None


class Folded(NamedTuple):
    """The end of a lane of plain claims: who won and who wins, each list from the last belief on that both share."""

    is_parted: bool  # another belief comes before that, so what changed is not one with anything earlier
    before: list[Won[Row]]
    now: list[Won[Row]]


class Page(NamedTuple):
    id: int | None
    first: int
    records: list[Record]
    carry: bytes


class Pages:
    """Reads and writes the table ``pages``."""

    def __init__(self, database: Database, logs: Logs) -> None:
        self._db = database
        self._logs = logs
        self._new: list[tuple[int, bytes, int, int, bytes, bytes]] = []  # rows that wait to be written
        self._changed: list[tuple[int, bytes, bytes, int]] = []
        self._read: dict[tuple[int, bytes], Row | None] = {}  # slot, lane -> a page that is not to be read again

    def prefetch(self, slots: list[int]) -> None:
        """Read the first pages of single-valued slots at once; they are used until the next :meth:`flush`."""
        sql = (
            "SELECT p.slot, p.id, p.first, p.until, p.body, p.carry FROM json_each(?1) j "
            "CROSS JOIN pages p ON p.slot = j.value AND p.lane = x'' AND p.first = ?2"
        )
        self._read = {(slot, b""): None for slot in slots}
        for slot, *page in self._db.execute(sql, (json.dumps(slots), BEGINNING)):
            self._read[slot, b""] = page

    # -- lanes --------------------------------------------------------------------------------------

    def lanes(self, slot: int) -> list[bytes]:
        rows = self._db.execute("SELECT DISTINCT lane FROM pages WHERE slot = ? ORDER BY lane", (slot,))
        return [row[0] for row in rows]

    def has_lane(self, slot: int, lane: bytes) -> bool:
        sql = "SELECT EXISTS (SELECT 1 FROM pages WHERE slot = ? AND lane = ?)"
        return bool(self._db.execute(sql, (slot, lane)).fetchone()[0])

    def records(
        self, slot: int, equality: Equality, lane: bytes | None = None, wanted: Wanted | None = None
    ) -> list[Record]:
        """The statements of a slot (or one lane), each once, in order of start; ``wanted``: which of their rows."""
        sql = "SELECT body FROM pages WHERE slot = ? AND (? IS NULL OR lane = ?)"
        bodies = self._db.execute(sql, (slot, lane, lane)).fetchall()
        rows = sorted({row[0]: row for (body,) in bodies for row in unpack_own(body)}.values(), key=_ROW_ORDER)
        return [self.record(row, equality) for row in (rows if wanted is None else wanted(rows))]

    def drop(self, slot: int) -> None:
        self._read.clear()
        self._db.execute("DELETE FROM pages WHERE slot = ?", (slot,))

    def apply(
        self, slot: int, lane: bytes, equality: Equality, new: list[Record], changed: dict[int, Update]
    ) -> Iterator[Swept]:
        """Add statements and change the status of others; yield what was folded anew."""
        changes = _Changes(new, changed)
        done = BEGINNING - 1
        for start in changes.starts:
            if start > done:
                swept = self._apply_from(slot, lane, equality, start, changes)
                done = swept.end - 1
                yield swept

    def add_plainly(self, slot: int, lane: bytes, equality: Equality, new: list[Record]) -> Folded | None:
        """Add plain claims to the last page of a lane: who won in it before, and who wins now.

        None, and nothing is changed, where more is at stake, or where what changes may be one belief with what
        earlier pages say.
        """
        number, first, until, body, carry = self._page_row(slot, lane, FOREVER) or _NO_PAGE
        changed = min((record.start for record in new), default=FOREVER)
        held = None if first == BEGINNING else plain_carry(self.carry(carry, equality))
        if until != FOREVER or changed < first or (held is None and first != BEGINNING):
            return None
        before: list[Row] = unpack_own(body)
        now = sorted([*before, *[record[:STORED_FIELDS] for record in new]], key=_ROW_ORDER)
        folded = _folded(before, now, changed, Standing(held), Meeting(self._logs.by_no, keyed(equality)))
        if folded is None or not _fit(now) or not (first == BEGINNING or folded.is_parted):
            return None
        self._keep(number, slot, lane, first, FOREVER, now, carry)
        return folded

    def _apply_from(self, slot: int, lane: bytes, equality: Equality, start: int, changes: _Changes) -> Swept:
        """Fold from the page of ``start`` on, until the carry meets the stored one with nothing left to change."""
        page, end = self._page_at(slot, lane, equality, start)
        begin, carry, segments = page.first, page.carry, []
        while True:
            records = changes.applied(page.records, page.first, end)
            folded, carry = self._write(slot, lane, page, records, carry, end, equality)
            segments += folded
            if end == FOREVER:
                return Swept(begin, end, segments, None)
            following, following_end = self._page_at(slot, lane, equality, end)
            if carry == following.carry and not changes.any_within(end, following_end):
                return Swept(begin, end, segments, self._first_segment(following, equality))
            page, end = following, following_end

    def _page_at(self, slot: int, lane: bytes, equality: Equality, instant: int) -> tuple[Page, int]:
        """The page that holds ``instant`` and where it ends; an empty one for a lane without pages."""
        number, first, until, body, carry = self._page_row(slot, lane, instant) or _NO_PAGE
        return Page(number, first, self._rows(body, equality), carry), until

    def _page_row(self, slot: int, lane: bytes, instant: int) -> Row | None:
        """The stored page that holds ``instant``; None for a lane without pages."""
        row = self._read.get((slot, lane), _UNREAD)
        if row is not None and not (row[1] <= instant < row[2] or (row[2] == instant == FOREVER)):
            sql = (
                "SELECT id, first, until, body, carry FROM pages "
                "WHERE slot = ? AND lane = ? AND first <= ? ORDER BY first DESC LIMIT 1"
            )
            row = self._read[slot, lane] = self._db.execute(sql, (slot, lane, instant)).fetchone()
        return row

    def _write(
        self, slot: int, lane: bytes, page: Page, records: list[Record], carry: bytes, end: int, equality: Equality
    ) -> tuple[list[Segment], bytes]:
        """Store a page (cut into pieces if it grew) and fold it; its segments and the carry at its end."""
        segments: list[Segment] = []
        number = page.id
        pieces = _pieces(records)
        for index, piece in enumerate(pieces):
            first = piece[0].start if index else page.first
            until = pieces[index + 1][0].start if index + 1 < len(pieces) else end
            self._keep(number, slot, lane, first, until, [record[:STORED_FIELDS] for record in piece], carry)
            number = None
            before = self.carry(carry, equality)
            folded, after = sweep([record for record in piece if record.counts], before, first, until)
            segments += folded
            carry = _NO_CARRY if after == EMPTY or until == FOREVER else _carry_bytes(after)
        return segments, carry

    def _keep(
        self, number: int | None, slot: int, lane: bytes, first: int, until: int, rows: list[Row], carry: bytes
    ) -> None:
        if number is None:
            self._new.append((slot, lane, first, until, pack_flat(rows), carry))
        else:
            self._changed.append((until, pack_flat(rows), carry, number))

    def flush(self) -> None:
        """Write the pages that wait."""
        if self._new:
            sql = "INSERT INTO pages (slot, lane, first, until, body, carry) VALUES (?, ?, ?, ?, ?, ?)"
            self._db.executemany(sql, self._new)
        if self._changed:
            self._db.executemany("UPDATE pages SET until = ?, body = ?, carry = ? WHERE id = ?", self._changed)
        self.discard()

    def discard(self) -> None:
        """Forget the pages that wait (their transaction failed)."""
        self._new.clear()
        self._changed.clear()
        self._read.clear()

    def _first_segment(self, page: Page, equality: Equality) -> Segment:
        """Who wins at a page's first instant."""
        now = [record for record in page.records if record.start == page.first and record.counts]
        folded, _ = sweep(now, self.carry(page.carry, equality), page.first, page.first + 1)
        return folded[0] if folded else Segment(page.first, None, 0, False)

    # -- bytes --------------------------------------------------------------------------------------

    def _rows(self, body: bytes, equality: Equality) -> list[Record]:
        return [self.record(row, equality) for row in unpack_own(body)]

    def record(self, row: Row, equality: Equality) -> Record:
        """A record from its stored fields."""
        log = self._logs.by_no[row[0] >> LOG_SHIFT]
        return Record._make([*row, log.id, key(row[3], equality), log.device])

    def carry(self, data: bytes, equality: Equality) -> Carry:
        if data == _NO_CARRY:
            return EMPTY
        active, rays, guards = unpack_own(data)
        return Carry(
            tuple((self.record(row, equality), *state) for row, *state in active),
            tuple(Ray(trust, tuple(strength), *rest) for trust, strength, *rest in rays),
            tuple(self.record(row, equality) for row in guards),
        )


def _folded(
    before: list[Row], now: list[Row], changed: int, standing: Standing[Row], meeting: Meeting
) -> Folded | None:
    """Who won before and who wins now, of plain claims that differ from the instant ``changed`` on."""
    first = bisect_left(before, changed, key=_START)
    common = winners(before[:first], standing, meeting)
    if common is None:
        return None
    shared, standing = common
    old, new = winners(before[first:], standing, meeting), winners(now[first:], standing, meeting)
    if old is None or new is None:
        return None
    begin = last_run(shared)
    lead = shared[begin : begin + 1]
    return Folded(begin > 0, lead + old[0], lead + new[0])


def _carry_bytes(carry: Carry) -> bytes:
    return pack_flat(
        [
            [[state[0][:STORED_FIELDS], *state[1:]] for state in carry.active],
            list(carry.rays),
            [guard[:STORED_FIELDS] for guard in carry.guards],
        ]
    )


def updated(record: Record, update: Update | None) -> Record:
    """A record with a new status."""
    if update is None:
        return record
    return record._replace(flags=record.flags & ~update.mask | update.bits)


def _order(record: Record) -> tuple[int, int]:
    return (record.start, record.position)


class _Changes:
    """What a lane is to be changed by, found by start."""

    def __init__(self, new: list[Record], updates: dict[int, Update]) -> None:
        self._added = sorted(new, key=_order)
        self._added_starts = [record.start for record in self._added]
        self._updates = updates
        self.starts = sorted([*self._added_starts, *(update.start for update in updates.values())])

    def any_within(self, first: int, end: int) -> bool:
        """Whether anything changes between two instants."""
        index = bisect_left(self.starts, first)
        return index < len(self.starts) and self.starts[index] < end

    def applied(self, records: list[Record], first: int, end: int) -> list[Record]:
        """The statements of the page ``[first, end)`` after the changes, in order."""
        if self._updates:
            records = [updated(record, self._updates.get(record.position)) for record in records]
        low, high = bisect_left(self._added_starts, first), bisect_left(self._added_starts, end)
        return sorted([*records, *self._added[low:high]], key=_order)


def _fit(rows: Sequence[Row]) -> bool:
    """Whether so many statements may share a page."""
    return len(rows) <= 2 * PAGE_RECORDS and sum([len(row[3]) for row in rows]) <= 2 * PAGE_VALUE_BYTES


def _pieces(records: list[Record]) -> list[list[Record]]:
    """A page's statements, cut between different starts into pieces once there are too many."""
    if _fit(records):
        return [records]
    pieces: list[list[Record]] = [[]]
    held = 0
    for record in records:
        full = len(pieces[-1]) >= PAGE_RECORDS or held >= PAGE_VALUE_BYTES
        if full and record.start != pieces[-1][-1].start:
            pieces.append([])
            held = 0
        pieces[-1].append(record)
        held += len(record.value)
    return pieces
