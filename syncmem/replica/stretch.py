"""Stretches of valid time: what of a slot meets one, and which statements are near a moment.

Rule: this only chooses what is looked at.  What holds, and why, is judged of what was chosen as of everything.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.plain import Row
from syncmem.model.record import CLAIM_ROLES, DEAD, Record, Role
from syncmem.replica.rectangles import Rectangle

Rows = list[Row]  # statements as they are stored, in order of start
WEIGHED_MAX: Final = 500  # statements of a slot up to which all of them are looked at
NEAR: Final = 12  # of more: so many that begin before a moment, and so many after it
_POSITION, _ROLE, _FLAGS, _TRUST, _START, _ANCHOR, _STOP = (
    Record._fields.index(name) for name in ("position", "role", "flags", "trust", "start", "anchor", "stop")
)  # of a record, and of its row


class Stretch(NamedTuple):
    """``[start, end)`` of valid time."""

    start: int = BEGINNING
    end: int = FOREVER

    def meets(self, rectangle: Rectangle) -> bool:
        """Whether a belief holds somewhere in it."""
        return rectangle.valid_from < self.end and rectangle.valid_to > self.start

    def around(self, rectangles: Collection[Rectangle]) -> Stretch:
        """From the beginning of the first to the end of the last of some beliefs; itself if there are none."""
        if not rectangles:
            return self
        return Stretch(min(r.valid_from for r in rectangles), max(r.valid_to for r in rectangles))


def vouched_until(record: Sequence[Any]) -> int:
    """Up to when a claim vouches for its value: its stated end, else the moment for which it was said."""
    return int(record[_ANCHOR] if record[_ROLE] == Role.OPEN else record[_STOP])


def spoken_of(within: Stretch, behind: Collection[int]) -> Callable[[Rows], Rows]:
    """Of statements those that vouch for something in a stretch, and those at some positions."""
    return lambda rows: [
        row
        for row in rows
        if (row[_START] < within.end and vouched_until(row) >= within.start) or row[_POSITION] in behind
    ]


class Near:
    """Of many statements those that can say why something holds at a moment.

    These are the nearest by their starts, those that no later word of as much trust replaced, and the one ``behind``
    the belief, of those that are ``visible``. ``passed_over``: how many others there were.
    """

    def __init__(self, instant: int, behind: int | None, visible: Callable[[Row], bool]) -> None:
        self._instant = instant
        self._behind = behind
        self._visible = visible
        self.passed_over = 0

    def __call__(self, held: Rows) -> Rows:
        rows = [row for row in held if self._visible(row)]
        if len(rows) <= WEIGHED_MAX:
            return rows
        begun = bisect_right(rows, self._instant, key=itemgetter(_START))
        standing = _standing(rows[:begun], self._instant)[-NEAR:]
        wanted = {row[_POSITION] for row in (*standing, *rows[max(begun - NEAR, 0) : begun + NEAR])} | {self._behind}
        self.passed_over += len(rows) - sum(row[_POSITION] in wanted for row in rows)
        return [row for row in rows if row[_POSITION] in wanted]


def _standing(begun: Rows, instant: int) -> Rows:
    """The claims that reach the moment, as far as later ones of as much trust let them."""
    claims = [row for row in begun if row[_ROLE] in CLAIM_ROLES and row[_STOP] > instant and not row[_FLAGS] & DEAD]
    latest: dict[int, int] = {}
    for row in claims:
        latest[row[_TRUST]] = max(latest.get(row[_TRUST], BEGINNING), row[_ANCHOR])
    bar = {trust: max(anchor for other, anchor in latest.items() if other >= trust) for trust in latest}
    return [row for row in claims if row[_ANCHOR] >= bar[row[_TRUST]] or row[_ROLE] != Role.OPEN]
