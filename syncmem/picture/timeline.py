"""Timelines as drawings: rows of bars over one axis of valid time.

A bar's colour tells its source, its strength how much trust it has; it is outlined in dashes where it is contested,
and hatched from when on it is only presumed to hold still. A gap is a time of which nothing is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from typing import Final

from syncmem.picture.bars import Bar, Hues, Row, gathered
from syncmem.picture.legible import fitted, width_of
from syncmem.picture.scale import NOW, Scale, Span
from syncmem.picture.shapes import Box, Drawing, Part, Shape, Stroke, Words

WIDTH: Final = 920.0
NARROW: Final = 350.0
BARS_MAX: Final = 48  # in a row; more are gathered
ROWS_MAX: Final = 40
_SIDE, _TOP, _AXIS, _BAR, _GAP, _LABEL, _LEGEND = 4.0, 4.0, 24.0, 42.0, 8.0, 18.0, 22.0
_TEXT, _SMALL, _PAD = 14.2, 11.0, 9.0  # what is written bold is wider than its size says
_WANTED_MAX: Final = 150.0  # a longer value is shown whole only where there is room anyway
_EDGE: Final = 26.0


def draw(
    rows: Sequence[Row], *, now: datetime | None, zone: tzinfo, name: str, title: str,
    width: float = WIDTH, hues: Hues | None = None, beside: Sequence[Row] = (),
    lead: Callable[[Bar], str | None] | None = None,
) -> Drawing:  # fmt: skip
    """The drawing, with a line at ``now``.

    Args:
        beside: rows of another drawing that is to have the same axis.
        lead: where a click on a bar leads; it may stand for many.
    """
    hues = hues or Hues()
    bars_max = max(4, int(BARS_MAX * width / WIDTH))
    shown = [Row(row.label, gathered(row.bars, bars_max)) for row in rows[:ROWS_MAX]]
    scale = _scale([*shown, *(Row("", gathered(row.bars, bars_max)) for row in beside)], now, zone, width)
    shapes: list[Shape] = []
    y = _TOP + _AXIS
    for row in shown:
        if row.label:
            shapes.append(Words(_SIDE, y + 12, fitted(row.label, width - 2 * _SIDE, 12.0), "label"))
            y += _LABEL
        shapes.append(Box(scale.first, y, scale.last - scale.first, _BAR, "back"))
        shapes += [part for bar in row.bars if (part := _part(bar, scale, y, zone, hues, lead)) is not None]
        y += _BAR + _GAP
    bottom = y - _GAP
    shapes = [*axis(scale, _TOP + 14, now), *mark(scale, _TOP + _AXIS - 5, bottom, now), *shapes]
    if len(rows) > ROWS_MAX:
        y += _LABEL
        shapes.append(Words(_SIDE, y - 6, f"and {len(rows) - ROWS_MAX} more rows: see the table", "small"))
    legend, y = legend_of([bar for row in shown for bar in row.bars], hues, y + 4, width)
    return Drawing(name, title, width, y, (*shapes, *legend))


def _scale(rows: Sequence[Row], now: datetime | None, zone: tzinfo, width: float) -> Scale:
    spans = [
        Span(bar.start, bar.end, min(width_of(bar.text[:40], _TEXT), _WANTED_MAX) + 2 * _PAD)
        for row in rows
        for bar in row.bars
    ]
    return Scale.of(spans, now, zone, first=_SIDE, last=width - _SIDE, edge=_EDGE, date_room=6.6)


def axis(scale: Scale, y: float, now: datetime | None) -> list[Shape]:
    """The dates; one that would run into the next is left out, now never is."""
    taken, reserved = scale.first, scale.last
    if now is not None:
        reserved = min(scale.places[now], scale.last - width_of(NOW, _SMALL))
    shapes: list[Shape] = []
    for point, text in zip(scale.points, scale.dates, strict=True):
        x, size = scale.places[point], width_of(text, _SMALL)
        if point == now:
            shapes.append(Words(reserved, y, text, "date marked"))
            taken = reserved + size + 6
        elif taken <= x and x + size <= (reserved - 6 if now is not None and point < now else scale.last):
            shapes.append(Words(x, y, text, "date"))
            taken = x + size + 6
    return shapes


def mark(scale: Scale, top: float, bottom: float, now: datetime | None) -> list[Shape]:
    """A line across the picture at the present."""
    return [] if now is None else [Stroke(scale.places[now], top, scale.places[now], bottom, "now")]


def opacity_of(trust: int) -> float:
    """How strong the colour of so much trust is: a guess is pale, the user's word is not."""
    return 0.08 + 0.42 * trust / 100


def _part(
    bar: Bar, scale: Scale, y: float, zone: tzinfo, hues: Hues, lead: Callable[[Bar], str | None] | None
) -> Part | None:
    """A bar with what is written on it; None where the drawing is too narrow for it."""
    x, end = scale.place(bar.start, end=False), scale.place(bar.end, end=True)
    width = end - x
    if width < 1:
        return None
    inner = max(0.5, width - 2)
    kinds = f"h{hues.of(bar.source)}" if not bar.gathered else "many"
    shapes: list[Box | Words | Stroke] = []
    if not bar.gathered:
        shapes.append(Box(x + 1, y + 1, inner, _BAR - 2, f"{kinds} bar", opacity_of(bar.trust)))
        if bar.presumed is not None:
            since = max(x, scale.near(bar.presumed)) + 1
            shapes.append(Box(since, y + 2, max(0.0, end - since - 2), _BAR - 4, "hatched"))
        shapes.append(Box(x + 1, y + 1, min(4.0, max(0.0, width - 2)), _BAR - 2, f"{kinds} edge"))
    else:
        shapes.append(Box(x + 1, y + 1, inner, _BAR - 2, "many"))
    if bar.contested:
        shapes.append(Box(x + 2, y + 2, max(0.5, width - 4), _BAR - 4, "contested outline"))
    shapes += _written(bar, x, y, width)
    return Part(bar.title(zone), x, y, width, _BAR, tuple(shapes), None if lead is None else lead(bar))


def _written(bar: Bar, x: float, y: float, width: float) -> list[Words]:
    """What is written on a bar, as far as it fits; of a group at least how many it stands for."""
    room = width - _PAD - 5
    if bar.gathered:
        if width_of(bar.text, _TEXT) <= room:
            return [Words(x + _PAD, y + 26, bar.text, "value")]
        return [Words(x + width / 2, y + 25, fitted(f"{bar.count:,}", width - 2, _SMALL), "on", "middle")]
    below = f"{bar.source or 'no source'} {bar.trust}"
    value, source = fitted(bar.text, room, _TEXT), fitted(below, room, _SMALL)
    return [Words(x + _PAD, y + 18, value, "value"), Words(x + _PAD, y + 33, source, "on")]


# -- the legend --------------------------------------------------------------------------------------


def legend_of(bars: Sequence[Bar], hues: Hues, y: float, width: float) -> tuple[list[Shape], float]:
    """What the colours and lines mean, as far as they are seen; and where it ends."""
    single = [bar for bar in bars if not bar.gathered]
    entries: list[tuple[str, float | None, str]] = [
        (f"h{hues.of(source)} swatch bar", 0.5, source or "no source") for source in _sources(single)
    ]
    entries += [("contested outline", None, "contested")] * any(bar.contested for bar in bars)
    entries += [("hatched", None, "only presumed")] * any(bar.presumed for bar in single)
    entries += [("many", None, "many beliefs")] * any(bar.gathered for bar in bars)
    shapes: list[Shape] = []
    x = _SIDE
    for kind, opacity, text in entries:
        text = fitted(text, width / 2, _SMALL)
        size = 30 + width_of(text, _SMALL) + 14
        if x + size > width and x > _SIDE:
            x, y = _SIDE, y + _LEGEND
        if kind == "hatched":
            shapes.append(Box(x, y + 5, 22, 12, "h5 swatch bar", 0.5))
        shapes.append(Box(x + 1, y + 6, 20, 10, kind, opacity))
        shapes.append(Words(x + 28, y + 15, text, "small"))
        x += size
    return shapes, y + (_LEGEND if entries else 0)


def _sources(bars: Sequence[Bar]) -> list[str]:
    return list(dict.fromkeys(bar.source for bar in bars))
