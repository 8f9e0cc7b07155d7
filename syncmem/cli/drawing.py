"""Timelines as lines of text: a pure function from beliefs to styled pieces, never wider than it may be.

::

             2015            2023       Apr 2025   9 Jun    16 Jun   now
    tablet   ▌Berlin ━━━━━━━━▌Porto ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━►
    phone    ▌Berlin ━━━━━━━━▌Porto ━━━━▌Lisbon ━━━▌Paris ━━▌Lisbon ━━━━►

Rules:

* All rows share one axis.  Its points are the moments at which some belief begins or ends, and now.
* The axis is not to scale: a week must be visible beside ten years.  Each stretch between two points gets the
  room that its date and its values need, and a share of the rest by the logarithm of its length.
* Where all this does not fit, stretches shrink alike, dates are left out and values are cut.
* A gap is a time of which nothing is believed.  A dashed bar is contested.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from math import log1p
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from syncmem.picture.legible import escaped, value_text
from syncmem.picture.scale import dates, shares

if TYPE_CHECKING:
    from syncmem.results import Belief

LABEL_CELLS_MAX: Final = 24  # of a row's name
VALUE_CELLS_WANTED_MAX: Final = 18  # a longer value is shown whole only where there is room anyway
EDGE_CELLS: Final = 3  # for what lies before the first point, and after the last


class Piece(NamedTuple):
    """Some text of one style, in the words of rich ("" is plain)."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]


class Row(NamedTuple):
    """Beliefs that do not overlap, and what to call them."""

    label: str
    beliefs: Sequence[Belief]


class Glyphs(NamedTuple):
    """What bars are made of; each is one cell wide."""

    begin: str
    held: str
    contested: str
    before: str
    after: str
    cut: str


BLOCKS: Final = Glyphs("▌", "━", "╍", "◄", "►", "…")
ASCII: Final = Glyphs("|", "-", "~", "<", ">", ".")
COLOURS: Final = ("cyan", "green", "magenta", "yellow", "blue", "red")


@dataclass(slots=True)
class Palette:
    """A colour for each value, in order of appearance; share one to keep colours across drawings."""

    taken: dict[str, str] = field(default_factory=dict)

    def colour(self, value: Any) -> str:
        return self.taken.setdefault(value_text(value), COLOURS[len(self.taken) % len(COLOURS)])


def plain(line: Line) -> str:
    """A line without its styles."""
    return "".join(piece.text for piece in line).rstrip()


def lanes(label: str, beliefs: Iterable[Belief]) -> list[Row]:
    """Rows for beliefs that may overlap: as few as possible, a value staying in its row where it can."""
    rows: list[list[Belief]] = []
    for belief in beliefs:
        free = [row for row in rows if not _overlap(row[-1], belief)]
        same = [row for row in free if row[-1].value == belief.value]
        if free:
            (same or free)[0].append(belief)
        else:
            rows.append([belief])
    return [Row("" if number else label, row) for number, row in enumerate(rows)]


def _overlap(earlier: Belief, later: Belief) -> bool:
    return earlier.valid_to is None or later.valid_from is None or later.valid_from < earlier.valid_to


def draw(
    rows: Sequence[Row],
    *,
    now: datetime,
    zone: tzinfo,
    width: int,
    glyphs: Glyphs = BLOCKS,
    palette: Palette | None = None,
) -> list[Line]:
    """The axis and one line for each row, none wider than ``width`` cells."""
    palette = palette or Palette()
    margin = min(max((_cells(escaped(row.label)) for row in rows), default=0), LABEL_CELLS_MAX, width // 3)
    margin += 2 if margin else 0
    axis = Axis.of([belief for row in rows for belief in row.beliefs], now, zone, width - margin)
    lines: list[Line] = [(Piece(" " * margin), *axis.labels())]
    for row in rows:
        label = _fitted(escaped(row.label), max(margin - 2, 0), glyphs.cut)
        name = Piece(label + " " * (margin - _cells(label)), "bold")
        lines.append((name, *_bars(row, axis, glyphs, palette)))
    return lines


# -- the axis ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Axis:
    """Where moments lie: ``cells[i]`` is the column of ``points[i]``, ``total`` that of the end of time."""

    points: tuple[datetime, ...]
    dates: tuple[str, ...]
    cells: tuple[int, ...]
    total: int
    now: datetime

    @staticmethod
    def of(beliefs: Sequence[Belief], now: datetime, zone: tzinfo, width: int) -> Axis:
        bounds = [bound for belief in beliefs for bound in (belief.valid_from, belief.valid_to) if bound is not None]
        points = tuple(sorted({*bounds, now}))
        texts = dates(points, now, zone)
        before = EDGE_CELLS if any(belief.valid_from is None for belief in beliefs) else 0
        needed = [before, *(len(date) + 2 for date in texts)]
        _make_room(needed, beliefs, points)
        spans = [(later - earlier) / timedelta(days=1) for earlier, later in itertools.pairwise(points)]
        widths = shares(needed, [0.0, *map(log1p, spans), 0.0], width)
        cells = tuple(sum(widths[: index + 1]) for index in range(len(points)))
        return Axis(points, texts, cells, sum(widths), now)

    def begin(self, belief: Belief) -> int:
        return 0 if belief.valid_from is None else self.cells[self.points.index(belief.valid_from)]

    def end(self, belief: Belief) -> int:
        return self.total if belief.valid_to is None else self.cells[self.points.index(belief.valid_to)]

    def labels(self) -> Line:
        """The dates under which the bars stand; one that would run into the next is left out, now never is."""
        line = [" "] * self.total
        reserved = self.cells[self.points.index(self.now)]
        taken = 0
        pieces: list[tuple[int, str, str]] = []
        for point, date, cell in zip(self.points, self.dates, self.cells, strict=True):
            limit = self.total if point >= self.now else reserved - 1
            if taken <= cell and cell + len(date) <= limit:
                pieces.append((cell, date, "bold" if point == self.now else "dim"))
                taken = cell + len(date) + 1
        return tuple(_laid_out(pieces, len(line)))


def _laid_out(pieces: Sequence[tuple[int, str, str]], total: int) -> Iterable[Piece]:
    """Texts at their columns, with blanks between them."""
    reached = 0
    for cell, text, style in pieces:
        yield Piece(" " * (cell - reached))
        yield Piece(text, style)
        reached = cell + len(text)
    yield Piece(" " * (total - reached))


def _make_room(needed: list[int], beliefs: Iterable[Belief], points: Sequence[datetime]) -> None:
    """Widen the first stretch of each belief until its value fits."""
    for belief in beliefs:
        first = 0 if belief.valid_from is None else points.index(belief.valid_from) + 1
        after = len(points) + 1 if belief.valid_to is None else points.index(belief.valid_to) + 1
        wanted = min(_cells(value_text(belief.value)), VALUE_CELLS_WANTED_MAX) + 3
        needed[first] += max(0, wanted - sum(needed[first:after]))


# -- the bars ----------------------------------------------------------------------------------------


def _bars(row: Row, axis: Axis, glyphs: Glyphs, palette: Palette) -> Iterable[Piece]:
    reached = 0
    for belief in row.beliefs:
        begin, end = axis.begin(belief), axis.end(belief)
        if end <= begin:
            continue  # the drawing is too narrow for it
        yield Piece(" " * (begin - reached))
        yield Piece(_bar(belief, end - begin, glyphs), palette.colour(belief.value))
        reached = end
    yield Piece(" " * (axis.total - reached))


def _bar(belief: Belief, cells: int, glyphs: Glyphs) -> str:
    """A bar of exactly so many cells: its beginning, its value as far as it fits, and how it goes on."""
    begin = glyphs.before if belief.valid_from is None else glyphs.begin
    last = glyphs.after if belief.valid_to is None and cells > 1 else ""
    room = cells - len(begin) - len(last)
    value = _fitted(value_text(belief.value) + " ", room, glyphs.cut)
    fill = glyphs.contested if belief.contested else glyphs.held
    return begin + value + fill * (room - _cells(value)) + last


def _fitted(text: str, cells: int, cut: str) -> str:
    """Text of at most so many cells."""
    if _cells(text.rstrip()) <= cells:
        return text if _cells(text) <= cells else text.rstrip()
    kept = ""
    for character in text:
        if _cells(kept + character) > cells - 1:
            break
        kept += character
    return kept + cut if cells > 0 else ""


def _cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
