"""Belief rectangles: what this device believed, over valid time and over known time.

Rules: current rectangles of a lane never overlap (the primary key and an assertion hold it); what is
no longer believed is closed at the transaction that changed it and never touched again; neighbours
with equal value, trust and contest are one rectangle, which names the claim that wins at its start.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.plain import Row, Won, says_the_same
from syncmem.model.record import Record
from syncmem.model.sweep import Segment
from syncmem.model.value import to_stored
from syncmem.replica.connection import Database
from syncmem.replica.pages import Swept

_JSON_CACHED_MAX: Final = 20_000
Shown = Callable[[Record], bool]


class Rectangle(NamedTuple):
    """One belief: valid ``[valid_from, valid_to)``; ``value`` is JSON text, ``claim`` a position."""

    valid_from: int
    valid_to: int
    value: str
    trust: int
    contested: int
    source: int
    claim: int


class Change(NamedTuple):
    """What a transaction did to one lane."""

    slot: int
    lane: bytes
    removed: list[Rectangle]
    added: list[Rectangle]


_COLUMNS: Final = "valid_from, valid_to, value, trust, contested, source, claim"
_CURRENT: Final = f"WHERE slot = ?1 AND lane = ?2 AND known_to = {FOREVER}"


class Rectangles:
    """Reads and writes the table ``beliefs``."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._json: dict[bytes, str] = {}
        self._written: set[tuple[int, bytes]] = set()  # lanes changed under the current transaction number
        self._closing: list[tuple[int, bytes, int, int]] = []  # rows that wait to be written
        self._opening: list[tuple[object, ...]] = []

    # -- writing ------------------------------------------------------------------------------------

    def replace(self, n: int, slot: int, lane: bytes, swept: Swept, shown: Shown) -> Change | None:
        """Make the believed timeline of a lane follow a new fold of one stretch; what changed, if anything.

        ``shown`` says which winners are believed in this lane.
        """
        if (slot, lane) in self._written:
            self.flush()
        if swept.start == BEGINNING and swept.end == FOREVER:
            old = self._touching(slot, lane, swept.start, swept.end)
            return self._exchange(n, slot, lane, old, self.rows(swept, shown))
        old = self._touching(slot, lane, swept.start, swept.end)
        new = merged(
            [
                *[r._replace(valid_to=swept.start) for r in old if r.valid_from < swept.start < r.valid_to],
                *[r for r in old if r.valid_to == swept.start],
                *self.rows(swept, shown),
                *self._rest(old, swept, shown),
                *[r for r in old if r.valid_from == swept.end],
            ]
        )
        return self._exchange(n, slot, lane, old, new)

    def follow(self, n: int, slot: int, lane: bytes, before: list[Won[Row]], now: list[Won[Row]]) -> Change | None:
        """As :meth:`replace`, of the end of a lane of plain claims: who won there, and who wins; both begin alike."""
        alike = _alike_at_the_end(before, now)
        end = now[-alike][0] if alike else FOREVER
        old, new = _runs(before[: len(before) - alike], end), _runs(now[: len(now) - alike], end)
        removed = [self._of_run(*run) for run in old if run not in new]
        added = [self._of_run(*run) for run in new if run not in old]
        if not removed and not added:
            return None
        self._write(n, slot, lane, removed, added)
        return Change(slot, lane, removed, added)

    def _exchange(self, n: int, slot: int, lane: bytes, old: list[Rectangle], new: list[Rectangle]) -> Change | None:
        """Write the difference between what was and what is believed of a stretch."""
        if old == new:
            return None
        assert all(a.valid_to <= b.valid_from for a, b in itertools.pairwise(new)), "beliefs overlap"
        kept = set(old) & set(new)
        removed = [rectangle for rectangle in old if rectangle not in kept]
        added = [rectangle for rectangle in new if rectangle not in kept]
        self._write(n, slot, lane, removed, added)
        return Change(slot, lane, removed, added)

    def _write(self, n: int, slot: int, lane: bytes, removed: list[Rectangle], added: list[Rectangle]) -> None:
        if (slot, lane) in self._written:
            self.flush()
            keys = [(slot, lane, rectangle.valid_from, n) for rectangle in removed]
            self._db.executemany(f"DELETE FROM beliefs {_CURRENT} AND valid_from = ?3 AND known_from = ?4", keys)
        self._closing += [(slot, lane, rectangle.valid_from, n) for rectangle in removed]
        if (slot, lane) in self._written:
            self.flush()
            added = [rectangle for rectangle in added if not self._reopened(n, slot, lane, rectangle)]
        self._written.add((slot, lane))
        self._opening += [(slot, lane, FOREVER, r.valid_from, r.valid_to, n, *r[2:]) for r in added]

    def flush(self) -> None:
        """Write what waits: closed rectangles first, then new ones."""
        if self._closing:
            self._db.executemany(f"UPDATE beliefs SET known_to = ?4 {_CURRENT} AND valid_from = ?3", self._closing)
            self._closing.clear()
        if self._opening:
            self._db.executemany("INSERT INTO beliefs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._opening)
            self._opening.clear()

    def _reopened(self, n: int, slot: int, lane: bytes, rectangle: Rectangle) -> bool:
        """Whether this very rectangle was closed earlier in the same transaction; then it is open again."""
        sql = (
            f"UPDATE beliefs SET known_to = {FOREVER} WHERE slot = ? AND lane = ? AND known_to = ? AND valid_from = ? "
            "AND valid_to = ? AND value = ? AND trust = ? AND contested = ? AND source = ? AND claim = ?"
        )
        return bool(self._db.execute(sql, (slot, lane, n, *rectangle)).rowcount)

    def begin(self) -> None:
        """A new transaction number begins."""
        self._written.clear()
        self._closing.clear()
        self._opening.clear()

    def forget(self) -> None:
        """Keep no value in memory."""
        self._json.clear()
        self.begin()

    # -- folding to rows ----------------------------------------------------------------------------

    def rows(self, swept: Swept, shown: Shown) -> list[Rectangle]:
        """The segments of a fold as rectangles, equal neighbours merged."""
        result: list[Rectangle] = []
        current: Segment | None = None
        for segment in swept.segments:
            if current is not None and self._alike(current, segment):
                continue
            if current is not None:
                result.append(self._row(current, segment.start))
            current = segment if segment.winner is not None and shown(segment.winner) else None
        if current is not None:
            result.append(self._row(current, swept.end))
        return result

    @staticmethod
    def _alike(one: Segment, other: Segment) -> bool:
        """Whether two segments say the same value with equal trust and contest."""
        if one.winner is None or other.winner is None:
            return False
        return (one.winner.value, one.trust, one.contested) == (other.winner.value, other.trust, other.contested)

    def _row(self, segment: Segment, end: int) -> Rectangle:
        winner = segment.winner
        assert winner is not None
        value, contested = self._text(winner.value), int(segment.contested)
        return Rectangle(segment.start, end, value, segment.trust, contested, winner.source, winner.position)

    def _of_run(self, start: int, end: int, row: Row, contested: bool) -> Rectangle:
        return Rectangle(start, end, self._text(row[3]), row[4], int(contested), row[10], row[0])

    def _text(self, value: bytes) -> str:
        """The JSON text of a value."""
        text = self._json.get(value)
        if text is None:
            if len(self._json) >= _JSON_CACHED_MAX:
                self._json.clear()
            text = self._json[value] = to_stored(value)
        return text

    def _rest(self, old: list[Rectangle], swept: Swept, shown: Shown) -> list[Rectangle]:
        """The part behind the stretch of a rectangle that reached across its end: who wins there names it."""
        crossing = [r for r in old if r.valid_from < swept.end < r.valid_to]
        if not crossing or swept.at_end is None or swept.at_end.winner is None or not shown(swept.at_end.winner):
            return []
        return [self._row(swept.at_end, crossing[0].valid_to)]

    # -- reading ------------------------------------------------------------------------------------

    def _touching(self, slot: int, lane: bytes, start: int, end: int) -> list[Rectangle]:
        """Current rectangles that overlap or touch ``[start, end]``."""
        if start == BEGINNING:
            sql = f"SELECT {_COLUMNS} FROM beliefs {_CURRENT} AND valid_from <= ?3 ORDER BY valid_from"
            return [Rectangle(*row) for row in self._db.execute(sql, (slot, lane, end))]
        sql = (
            f"SELECT {_COLUMNS} FROM beliefs {_CURRENT} AND valid_from <= ?4 AND valid_to >= ?3 AND valid_from >= "
            f"coalesce((SELECT max(valid_from) FROM beliefs {_CURRENT} AND valid_from < ?3), {BEGINNING}) "
            "ORDER BY valid_from"
        )
        return [Rectangle(*row) for row in self._db.execute(sql, (slot, lane, start, end))]


def _alike_at_the_end(before: list[Won[Row]], now: list[Won[Row]]) -> int:
    """How many winners at the end of two lists are the same and share no rectangle with others."""
    most, alike = min(len(before), len(now)), 0
    while alike < most and before[-alike - 1] == now[-alike - 1]:
        alike += 1
    while alike and any(alike < len(won) and says_the_same(won[-alike - 1], won[-alike]) for won in (before, now)):
        alike -= 1
    return alike


def _runs(won: list[Won[Row]], end: int) -> list[tuple[int, int, Row, bool]]:
    """The beliefs up to ``end`` of claims that win one after the other: from when to when, whose, and if contested."""
    runs: list[tuple[int, int, Row, bool]] = []
    for index in range(len(won) - 1, -1, -1):
        if not index or not says_the_same(won[index - 1], won[index]):
            start, row, contested = won[index]
            runs.append((start, end, row, contested))
            end = start
    runs.reverse()
    return runs


def merged(rows: Iterable[Rectangle]) -> list[Rectangle]:
    """Neighbours with equal value, trust and contest as one."""
    result: list[Rectangle] = []
    for row in rows:
        last = result[-1] if result else None
        if last is not None and last.valid_to == row.valid_from and last[2:5] == row[2:5]:
            result[-1] = last._replace(valid_to=row.valid_to)
        else:
            result.append(row)
    return result
