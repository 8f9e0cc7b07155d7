"""Scales: where moments lie on a line that is not to scale, for a week must be visible beside ten years.

Rule: each stretch between two moments gets the room that it needs, and a share of the rest by the logarithm of its
length; where all that does not fit, stretches shrink alike.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from math import log1p
from typing import Final, NamedTuple

NOW: Final = "now"


class Span(NamedTuple):
    """From when to when (None: unbounded), and how much room its text needs."""

    start: datetime | None
    end: datetime | None
    wanted: float = 0.0


@dataclass(frozen=True, slots=True)
class Scale:
    """Moments, their dates, and their places; ``first`` and ``last`` are the places of the unbounded ends."""

    points: tuple[datetime, ...]
    dates: tuple[str, ...]
    places: Mapping[datetime, float]
    first: float
    last: float

    @staticmethod
    def of(
        spans: Sequence[Span], now: datetime | None, zone: tzinfo, *,
        first: float, last: float, edge: float, date_room: float,
    ) -> Scale:  # fmt: skip
        """A scale from one place to another; now is always on it, if it is told.

        ``edge``: the least room for what has no beginning; ``date_room``: how much a date needs, for each character.
        """
        bounds = {bound for span in spans for bound in (span.start, span.end) if bound is not None}
        points = tuple(sorted(bounds if now is None else {*bounds, now}))
        texts = dates(points, now, zone)
        before = edge if any(span.start is None for span in spans) else 0.0
        needed = [before, *(len(text) * date_room for text in texts)]
        _make_room(needed, spans, points)
        days = [(later - earlier) / timedelta(days=1) for earlier, later in itertools.pairwise(points)]
        widths = shares(needed, [0.0, *map(log1p, days), 0.0], round(last - first))
        reached = itertools.accumulate(widths)
        places = {point: first + place for point, place in zip(points, reached, strict=False)}
        return Scale(points, texts, places, first, last)

    def place(self, when: datetime | None, *, end: bool) -> float:
        """Where a bound is; None: the end, or the beginning."""
        if when is None:
            return self.last if end else self.first
        return self.places[when]

    def near(self, when: datetime) -> float:
        """Where any moment is: between its neighbours by its share of their distance."""
        after = bisect_right(self.points, when)
        if after in (0, len(self.points)):
            return self.first if after == 0 else self.places[self.points[-1]]
        one, other = self.points[after - 1], self.points[after]
        share = (when - one) / (other - one)
        return self.places[one] + share * (self.places[other] - self.places[one])


def _make_room(needed: list[float], spans: Iterable[Span], points: Sequence[datetime]) -> None:
    """Widen the first stretch of each span until its text fits."""
    number = {point: index for index, point in enumerate(points)}
    for span in spans:
        begin = 0 if span.start is None else number[span.start] + 1
        after = len(points) + 1 if span.end is None else number[span.end] + 1
        if begin < after:
            needed[begin] += max(0.0, span.wanted - sum(needed[begin:after]))


def shares(needed: Sequence[float], weights: Sequence[float], total: int) -> list[int]:
    """Whole numbers: what is needed plus a share of the rest by weight; all of it shrunk alike if it is too much.

    >>> shares([4, 4], [3.0, 1.0], 16), shares([4, 4], [3.0, 1.0], 4)
    ([10, 6], [2, 2])
    """
    spare = total - sum(needed)
    by = [float(need) for need in needed] if spare < 0 else list(weights)
    whole = sum(by)
    if not whole:
        return list(map(round, needed))
    shared = [round(spare * reached / whole) for reached in itertools.accumulate(by, initial=0.0)]
    given = itertools.starmap(lambda before, after: after - before, itertools.pairwise(shared))
    return [round(need) + more for need, more in zip(needed, given, strict=True)]


def dates(points: Iterable[datetime], now: datetime | None, zone: tzinfo) -> tuple[str, ...]:
    """Each moment as briefly as it can be understood after the one before it."""
    result = []
    earlier: datetime | None = None
    for point in points:
        local = point.astimezone(zone)
        if point == now:
            result.append(NOW)
        elif earlier is not None and local.date() == earlier.date():
            result.append(f"{local:%H:%M}")
        else:
            result.append(_date(local, earlier is None or local.year != earlier.year))
        earlier = local
    return tuple(result)


def _date(local: datetime, with_year: bool) -> str:
    if local.day > 1:
        return f"{local.day} {local:%b %Y}" if with_year else f"{local.day} {local:%b}"
    return f"{local:%b %Y}" if local.month > 1 else f"{local:%Y}"
