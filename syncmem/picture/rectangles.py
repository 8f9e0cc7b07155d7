"""The two-dimensional map: valid time across, known time up; each rectangle is one belief held for a while.

A vertical cut tells how the belief about one moment changed; a horizontal cut is the timeline as it was believed then.
Neither axis is to scale. Where there are more bounds than can be seen, the map is coarse: rectangles keep to a grid of
some of the bounds, and those that are too thin for it are shown together.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from itertools import groupby, pairwise
from typing import Final

from syncmem.model.instant import local_text
from syncmem.picture.bars import Bar, Hues
from syncmem.picture.legible import fitted, width_of
from syncmem.picture.scale import Scale, Span, shares
from syncmem.picture.shapes import Box, Drawing, Part, Shape, Stroke, Words
from syncmem.picture.timeline import WIDTH, axis, legend_of, mark, opacity_of

COLUMNS_MAX: Final = 40  # bounds of valid time
LINES_MAX: Final = 16  # bounds of known time
TOP: Final = 28.0
_MARGIN, _SLIM_MARGIN, _SIDE, _LINE, _PAD = 122.0, 78.0, 4.0, 30.0, 7.0
_TEXT = 14.2


@dataclass(frozen=True, slots=True)
class Held:
    """A bar, and the transactions from which and before which it was believed (None: it still is)."""

    bar: Bar
    known_from: int
    known_to: int | None


@dataclass(frozen=True, slots=True)
class Map:
    """Rectangles that can be drawn: no more than can be seen, on some of the bounds where there are too many.

    ``steps`` are the transactions at which any of them begins or ends, ``times`` tells when all of them were.
    """

    held: tuple[Held, ...]
    steps: tuple[int, ...]
    times: Mapping[int, datetime]

    @staticmethod
    def of(held: Sequence[Held], times: Sequence[tuple[int, datetime]]) -> Map:
        """``times``: when the transactions were at which anything here changed, in their order."""
        steps = sampled([number for number, _ in times], LINES_MAX)
        return Map(tuple(_kept_to_grid(held, steps, COLUMNS_MAX)), tuple(steps), dict(times))


def draw(
    drawn: Map, *, now: datetime | None, zone: tzinfo, name: str, title: str, width: float = WIDTH,
    hues: Hues | None = None, known: int | None = None, lead: Callable[[Held], str | None] | None = None,
) -> Drawing:  # fmt: skip
    """The drawing; ``known``: a transaction to mark, as of which something is shown; ``lead``: where a click leads."""
    hues, coarse, steps, times = hues or Hues(), drawn.held, drawn.steps, drawn.times
    margin = margin_of(width)
    spans = [
        Span(each.bar.start, each.bar.end, min(width_of(each.bar.text[:30], _TEXT), 110) + 2 * _PAD)
        for each in coarse if not each.bar.gathered
    ] + [Span(each.bar.start, each.bar.end) for each in coarse if each.bar.gathered]  # fmt: skip
    scale = Scale.of(spans, now, zone, first=margin, last=width - _SIDE, edge=26.0, date_room=6.4)
    lines = Lines.of(steps, times)
    shapes: list[Shape] = [*axis(scale, 14, now), *lines.drawn(scale, times, zone)]
    parts = [_part(each, scale, lines, zone, hues, times, lead) for each in coarse]
    shapes += mark(scale, TOP - 6, lines.bottom, now)
    shapes += [part for part in parts if part is not None]
    if known is not None and steps:
        y = lines.middle(known)
        shapes.append(Stroke(margin - 6, y, scale.last, y, "asof"))
    legend, bottom = legend_of([each.bar for each in coarse], hues, lines.bottom + 10, width)
    return Drawing(name, title, width, bottom, (*shapes, *legend))


def margin_of(width: float) -> float:
    """The room beside a map for the dates of known time."""
    return _MARGIN if width > 500 else _SLIM_MARGIN


@dataclass(frozen=True, slots=True)
class Lines:
    """Where transactions are: the oldest lowest, the place of each is the bottom of what began at it."""

    steps: tuple[int, ...]
    places: tuple[float, ...]
    bottom: float

    @staticmethod
    def of(steps: Sequence[int], times: Mapping[int, datetime]) -> Lines:
        gaps = [max((times[b] - times[a]) / timedelta(days=1), 0.0) for a, b in pairwise(steps)]
        weights = [1.0 + min(gap, 40.0) ** 0.5 for gap in gaps] + [3.0]
        heights = shares([_LINE] * len(steps), weights, round(_LINE * len(steps) * 1.5)) if steps else []
        bottom = TOP + sum(heights)
        places = [bottom - sum(heights[:index]) for index in range(len(steps))]
        return Lines(tuple(steps), tuple(places), bottom)

    def drawn(self, scale: Scale, times: Mapping[int, datetime], zone: tzinfo) -> Iterable[Shape]:
        """A line where each transaction is, with its date."""
        margin = scale.first
        for step, y in zip(self.steps, self.places, strict=True):
            local = times[step].astimezone(zone)
            text = f"{local.day} {local:%b %Y}" if margin < _MARGIN else f"{local.day} {local:%b %Y %H:%M}"
            yield Stroke(margin - 6, y, scale.last, y, "axis")
            yield Words(margin - 10, y - 4, text, "date", "end")

    def place(self, number: int | None) -> float:
        if number is None:
            return TOP
        index = bisect_left(self.steps, number)
        return self.places[index] if index < len(self.places) else TOP

    def middle(self, known: int) -> float:
        """The height of what was believed after a transaction."""
        index = max(bisect_right(self.steps, known) - 1, 0)
        above = self.places[index + 1] if index + 1 < len(self.places) else TOP
        return (self.places[index] + above) / 2


def _part(
    held: Held, scale: Scale, lines: Lines, zone: tzinfo, hues: Hues, times: Mapping[int, datetime],
    lead: Callable[[Held], str | None] | None,
) -> Part | None:  # fmt: skip
    bar = held.bar
    x, end = scale.place(bar.start, end=False), scale.place(bar.end, end=True)
    bottom, top = lines.place(held.known_from), lines.place(held.known_to)
    width, height = end - x, bottom - top
    if width < 1 or height < 1:
        return None
    past = " past" if held.known_to is not None else ""
    box = (x + 1, top + 1, max(0.5, width - 2), max(0.5, height - 2))
    shapes: list[Box | Words | Stroke] = []
    if not bar.gathered:
        hue = f"h{hues.of(bar.source)}"
        shapes.append(Box(*box, f"{hue} bar{past}", opacity_of(bar.trust)))
        shapes.append(Box(x + 1, top + 1, min(3.0, box[2]), box[3], f"{hue} edge{past}"))
    else:
        shapes.append(Box(*box, "many"))
    if bar.contested:
        shapes.append(Box(x + 2, top + 2, max(0.5, width - 4), max(0.5, height - 4), "contested outline"))
    if height >= 16:
        text = fitted(bar.text, width - _PAD - 3, _TEXT)
        shapes.append(Words(x + _PAD, top + min(height / 2 + 4, 20), text, "value"))
    href = None if lead is None else lead(held)
    return Part(_title(held, zone, times), x, top, width, height, tuple(shapes), href)


def _title(held: Held, zone: tzinfo, times: Mapping[int, datetime]) -> str:
    begun = local_text(times.get(held.known_from), zone)
    until = "still believed" if held.known_to is None else f"until {local_text(times.get(held.known_to), zone)}"
    return f"{held.bar.title(zone)}; believed since {begun}, {until}"


# -- too many ----------------------------------------------------------------------------------------


def sampled(sequence: Sequence[int], most: int) -> list[int]:
    """At most so many of a sequence, evenly by their number, first and last among them.

    >>> sampled([1, 2, 3, 4, 5], 3), sampled([1, 2], 3)
    ([1, 3, 5], [1, 2])
    """
    if len(sequence) <= most:
        return list(sequence)
    return [sequence[round(index * (len(sequence) - 1) / (most - 1))] for index in range(most)]


def _kept_to_grid(held: Sequence[Held], steps: Sequence[int], columns_max: int) -> list[Held]:
    """The rectangles on a grid of at most so many bounds; those too thin for it as counts."""
    bounds = sorted({bound for each in held for bound in (each.bar.start, each.bar.end) if bound is not None})
    kept_bounds = [bounds[number] for number in sampled(range(len(bounds)), columns_max)]
    numbers = {number for each in held for number in (each.known_from, each.known_to) if number is not None}
    if len(kept_bounds) == len(bounds) and numbers <= set(steps):
        return list(held)
    grid = _Grid(kept_bounds, steps)
    found = [whole for each in held if (whole := grid.whole(each)) is not None]
    return found + list(grid.together())


class _Grid:
    """Cells between some bounds: columns of valid time, lines of known time.

    A rectangle is drawn where it fills cells; cells that several rectangles share are told by their number.
    """

    def __init__(self, bounds: Sequence[datetime], steps: Sequence[int]) -> None:
        self._bounds = bounds
        self._columns: list[datetime | None] = [None, *bounds, None]
        self._steps = steps
        self._shared: Counter[tuple[int, int]] = Counter()  # (line, column): how many begin there

    def whole(self, held: Held) -> Held | None:
        """The cells that a rectangle fills; those that it shares are noted."""
        bar, steps = held.bar, self._steps
        first = 0 if bar.start is None else bisect_left(self._bounds, bar.start) + 1
        left = 0 if bar.start is None else bisect_right(self._bounds, bar.start)
        right = len(self._columns) - 1 if bar.end is None else bisect_right(self._bounds, bar.end)
        end = len(self._columns) - 1 if bar.end is None else bisect_left(self._bounds, bar.end) + 1
        lowest, low = bisect_right(steps, held.known_from) - 1, bisect_left(steps, held.known_from)
        high = len(steps) if held.known_to is None else bisect_right(steps, held.known_to) - 1
        highest = len(steps) if held.known_to is None else bisect_left(steps, held.known_to)
        for line in range(max(lowest, 0), highest):
            inside = low <= line < high
            for column in {*range(left, first), *range(right, end)} if inside else range(left, end):
                self._shared[line, column] += (line, column) == (max(lowest, 0), left)
        if first >= right or low >= high:
            return None
        until = steps[high] if high < len(steps) else None
        bar = replace(bar, start=self._columns[first], end=self._columns[right], presumed=None)
        return Held(bar, steps[low], until)

    def together(self) -> Iterable[Held]:
        """The shared cells, neighbours of one line as one."""
        cells = sorted(self._shared)
        for _, run in groupby(enumerate(cells), lambda each: (each[1][0], each[1][1] - each[0])):
            group = [cell for _, cell in run]
            count = sum(self._shared[cell] for cell in group)
            (line, left), (_, right) = group[0], group[-1]
            start, end = self._columns[left], self._columns[right + 1]
            until = self._steps[line + 1] if line + 1 < len(self._steps) else None
            text = "begun before" if not count else "1 belief" if count == 1 else f"{count:,} beliefs"
            yield Held(Bar(text, start, end, "", 0, count=count, gathered=True), self._steps[line], until)
