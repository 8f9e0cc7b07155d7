"""Stretches of valid time: what of a slot meets one, and which statements are near a moment.

Rule: this only chooses what is looked at.  What holds, and why, is judged of what was chosen as of everything.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.plain import Row
from syncmem.model.record import CLAIM_ROLES, Record, Role
from syncmem.replica.rectangles import Rectangle

_POSITION, _ROLE, _START, _ANCHOR, _STOP = (
    Record._fields.index(name) for name in ("position", "role", "start", "anchor", "stop")
)  # of a record, and of its stored row
WEIGHED_MAX: Final = 500  # statements of a slot up to which all of them are looked at
NEAR: Final = 12  # of more: so many that begin before a moment, and so many after it


class Stretch(NamedTuple):
    """``[start, end)`` of valid time."""

    start: int = BEGINNING
    end: int = FOREVER

    def meets(self, rectangle: Rectangle) -> bool:
        """Whether a belief holds somewhere in it."""
        return rectangle.valid_from < self.end and rectangle.valid_to > self.start

    def is_spoken_of(self, record: Sequence[Any]) -> bool:
        """Whether a statement vouches for something in it."""
        return bool(record[_START] < self.end and vouched_until(record) >= self.start)

    def around(self, rectangles: Collection[Rectangle]) -> Stretch:
        """From the beginning of the first to the end of the last of some beliefs; itself if there are none."""
        if not rectangles:
            return self
        return Stretch(min(r.valid_from for r in rectangles), max(r.valid_to for r in rectangles))


def vouched_until(record: Sequence[Any]) -> int:
    """Up to when a claim vouches for its value: its stated end, else the moment for which it was said."""
    return int(record[_ANCHOR] if record[_ROLE] == Role.OPEN else record[_STOP])


def spoken_of(stretch: Stretch, behind: Collection[int]) -> Callable[[Row], bool]:
    """Which statements vouch for something in a stretch, or stand at some positions."""
    return lambda row: stretch.is_spoken_of(row) or row[_POSITION] in behind


def near(said: Sequence[Record], instant: int, behind: int | None) -> list[Record]:
    """Of many statements (in order of start) those that can say why something holds at a moment.

    These are the nearest by their starts, those that no later word of as much trust replaced, and the one ``behind``
    the belief.
    """
    if len(said) <= WEIGHED_MAX:
        return list(said)
    begun = bisect_right(said, instant, key=attrgetter("start"))
    nearest = range(max(begun - NEAR, 0), min(begun + NEAR, len(said)))
    standing = _standing(said[:begun], instant)
    found = {record.position: record for record in (*standing[-NEAR:], *(said[number] for number in nearest))}
    found |= {record.position: record for record in said if record.position == behind}
    return sorted(found.values(), key=lambda record: (record.start, record.position))


def _standing(begun: Sequence[Record], instant: int) -> list[Record]:
    """The claims that reach the moment, as far as later ones of as much trust let them."""
    claims = [r for r in begun if r.role in CLAIM_ROLES and r.stop > instant and r.counts]
    latest: dict[int, int] = {}
    for record in claims:
        latest[record.trust] = max(latest.get(record.trust, BEGINNING), record.anchor)
    bar = {trust: max(anchor for other, anchor in latest.items() if other >= trust) for trust in latest}
    return [record for record in claims if record.anchor >= bar[record.trust] or record.role != Role.OPEN]
