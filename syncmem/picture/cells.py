"""The map of what is too much to be drawn: how much begins in each stretch of valid time, at which known times.

A cell is the darker the more begins in it; what it counts stands in it, and in its title.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from math import log1p
from typing import Final

from syncmem.model.instant import local_text
from syncmem.picture.legible import fitted, period_text
from syncmem.picture.rectangles import TOP, Lines, margin_of
from syncmem.picture.scale import Scale, Span
from syncmem.picture.shapes import Box, Drawing, Part, Shape, Words
from syncmem.picture.timeline import WIDTH, axis, mark

_SIDE, _TEXT, _FOOT = 4.0, 11.0, 22.0
_PALEST, _DARKEST = 0.07, 0.5  # what is written on it must be legible
EXPLAINED: Final = "the darker, the more begins there"


@dataclass(frozen=True, slots=True)
class Begun:
    """So many beliefs that begin in ``[start, end)`` were first held at transactions ``[known_from, known_to)``."""

    start: datetime | None
    end: datetime | None
    known_from: int
    known_to: int | None
    count: int

    def title(self, zone: tzinfo, times: Mapping[int, datetime]) -> str:
        first = local_text(times.get(self.known_from), zone)
        until = "" if self.known_to is None else f" and before {local_text(times.get(self.known_to), zone)}"
        said = "1 belief" if self.count == 1 else f"{self.count:,} beliefs"
        return f"{said} beginning {period_text(self.start, self.end, zone)}; held since {first} or later{until}"


def draw(
    cells: Sequence[Begun], times: Mapping[int, datetime], *, now: datetime | None, zone: tzinfo, name: str, title: str,
    width: float = WIDTH, lead: Callable[[Begun], str | None] | None = None,
) -> Drawing:  # fmt: skip
    """The drawing; ``times``: when the transactions were that any cell names; ``lead``: where a click leads."""
    spans = [Span(cell.start, cell.end) for cell in cells]
    first = margin_of(width)
    scale = Scale.of(spans, now, zone, first=first, last=width - _SIDE, edge=26.0, date_room=6.4)
    steps = sorted({cell.known_from for cell in cells})
    lines = Lines.of(steps, times)
    most = max((cell.count for cell in cells), default=1)
    parts = [_part(cell, most, scale, lines, zone, times, lead) for cell in cells]
    shapes: list[Shape] = [
        *axis(scale, 14, now),
        *lines.drawn(scale, times, zone),
        *mark(scale, TOP - 6, lines.bottom, now),
    ]
    shapes += [part for part in parts if part is not None]
    shapes.append(Words(_SIDE, lines.bottom + 18, EXPLAINED, "small"))
    return Drawing(name, title, width, lines.bottom + 10 + _FOOT, tuple(shapes))


def _part(
    cell: Begun, most: int, scale: Scale, lines: Lines, zone: tzinfo, times: Mapping[int, datetime],
    lead: Callable[[Begun], str | None] | None,
) -> Part | None:  # fmt: skip
    x, end = scale.place(cell.start, end=False), scale.place(cell.end, end=True)
    bottom, top = lines.place(cell.known_from), lines.place(cell.known_to)
    width, height = end - x, bottom - top
    if width < 1 or height < 1:
        return None
    strength = _PALEST + (_DARKEST - _PALEST) * log1p(cell.count) / log1p(most)
    text = fitted(f"{cell.count:,}", width - 2, _TEXT)
    shapes = (
        Box(x, top, width, height, "cell", strength),
        Words(x + width / 2, top + height / 2 + 4, text if text[-1:] != "…" else "", "on", "middle"),
    )
    return Part(cell.title(zone, times), x, top, width, height, shapes, None if lead is None else lead(cell))
