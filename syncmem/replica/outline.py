"""Outlines: what of a slot is too much to be told one by one, counted by stretches of valid and of known time.

Rule: every belief and every rectangle is counted, and in one place: where it begins.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from operator import itemgetter
from typing import Any, Final

from syncmem.model.instant import FOREVER, dated, to_datetime
from syncmem.replica.connection import Database
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.stretch import Stretch
from syncmem.results import as_dict

GROUPS_MAX: Final = 40
COLUMNS_MAX: Final = 20  # of cells, in valid time
LINES_MAX: Final = 12  # ... in known time
_SPANS: Final = (
    "SELECT valid_from, valid_to, known_from, known_to FROM beliefs WHERE slot = ? AND valid_from < ? AND valid_to > ? "
    "ORDER BY valid_from"
)


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring beliefs, those that begin in ``[valid_from, valid_to)``: how many, of how many values.

    ``valid_to`` is where the last of them ends, if no other group begins before.
    """

    valid_from: datetime | None
    valid_to: datetime | None
    beliefs: int
    values: int
    contested: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Cell:
    """How many rectangles begin in ``[valid_from, valid_to)`` of valid and ``[known_from, known_to)`` of known time."""

    valid_from: datetime | None
    valid_to: datetime | None
    known_from: int
    known_to: int | None
    begun: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Outline:
    """How much there is of a slot.

    Attributes:
        beliefs: how many are believed in all; ``groups``: of neighbours, in order of valid time.
        rectangles: how many were ever believed here; ``cells``: where they begin, those without any left out.
        changes: the transactions at which any of these began or ended, in order.
        elsewhere: how many rectangles of the slot are in no part of what was asked for.
    """

    beliefs: int
    groups: tuple[Group, ...]
    rectangles: int
    cells: tuple[Cell, ...]
    changes: tuple[int, ...]
    elsewhere: int = 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


NOTHING: Final = Outline(0, (), 0, (), ())


def outlined(database: Database, slot: int, believed: Sequence[Rectangle], within: Stretch) -> Outline:
    """What is ``believed`` of a slot (in order of start), and all rectangles of it in a stretch, counted."""
    spans = database.execute(_SPANS, (slot, within.end, within.start)).fetchall()
    changes = ({span[2] for span in spans} | {span[3] for span in spans}) - {FOREVER}
    (total,) = database.execute("SELECT count(*) FROM beliefs WHERE slot = ?", (slot,)).fetchone()
    return Outline(
        beliefs=len(believed),
        groups=tuple(_groups(believed)),
        rectangles=len(spans),
        cells=tuple(_cells(spans)),
        changes=tuple(sorted(changes)),
        elsewhere=total - len(spans),
    )


def _groups(believed: Sequence[Rectangle]) -> Iterator[Group]:
    """Neighbours in groups of equal number; what begins at one moment is never parted."""
    firsts = [*_parted([rectangle.valid_from for rectangle in believed], GROUPS_MAX), len(believed)]
    for first, after in pairwise(firsts):
        group = believed[first:after]
        end = max(rectangle.valid_to for rectangle in group)
        if after < len(believed):
            end = min(end, believed[after].valid_from)
        values, contested = len({r.value for r in group}), sum(r.contested for r in group)
        yield Group(dated(group[0].valid_from), to_datetime(end), len(group), values, contested)


def _cells(spans: Sequence[tuple[int, int, int, int]]) -> Iterator[Cell]:
    """``spans`` in order of their start."""
    known = sorted({span[2] for span in spans})
    lines = [known[number] for number in _parted(known, LINES_MAX)]
    line_of = {number: bisect_right(lines, number) - 1 for number in known}
    last = max((span[1] for span in spans), default=FOREVER)
    firsts = [*_parted([span[0] for span in spans], COLUMNS_MAX), len(spans)]
    found: list[tuple[int, Cell]] = []
    for first, after in pairwise(firsts):
        end = spans[after][0] if after < len(spans) else last
        for line, count in Counter([line_of[span[2]] for span in spans[first:after]]).items():
            until = lines[line + 1] if line + 1 < len(lines) else None
            found.append((line, Cell(dated(spans[first][0]), to_datetime(end), lines[line], until, count)))
    yield from (cell for _, cell in sorted(found, key=itemgetter(0)))


def _parted(starts: Sequence[int], most: int) -> list[int]:
    """Where about equal parts of a sorted sequence begin; equal neighbours stay together.

    >>> _parted([1, 2, 3, 4, 5, 6], 3), _parted([1, 1, 1, 2, 3, 3], 3), _parted([], 3)
    ([0, 2, 4], [0, 3], [])
    """
    size = -(-len(starts) // most)
    found: list[int] = []
    for number, start in enumerate(starts):
        if not found or (number - found[-1] >= size and start != starts[number - 1]):
            found.append(number)
    return found
