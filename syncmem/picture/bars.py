"""Bars: beliefs as pictures need them, in rows that do not overlap, and gathered where there are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from itertools import groupby, zip_longest
from typing import Any, Final, Protocol

from syncmem.picture.legible import Sourced, period_text, presumed_text, shortened, source_text, value_text

HUES: Final = 6  # styles h0 to h5; the first is the user's
USER: Final = "user"
SOURCE_CHARACTERS_MAX: Final = 40


class Believed(Protocol):
    """What a picture reads of a belief."""

    @property
    def value(self) -> Any: ...
    @property
    def valid_from(self) -> datetime | None: ...
    @property
    def valid_to(self) -> datetime | None: ...
    @property
    def trust(self) -> int: ...
    @property
    def source(self) -> Sourced: ...
    @property
    def contested(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Bar:
    """What is believed over ``[start, end)``.

    Attributes:
        text: the value; ``source``: who says so; ``trust``: 0..100.
        presumed: from when on it is only presumed to hold still: nobody vouched for it later.
        gathered: it stands for beliefs that are not drawn themselves; ``count``: for how many.
    """

    text: str
    start: datetime | None
    end: datetime | None
    source: str
    trust: int
    contested: bool = False
    presumed: datetime | None = None
    count: int = 1
    gathered: bool = False

    def title(self, zone: tzinfo) -> str:
        """All of it in words."""
        parts = [shortened(self.text), period_text(self.start, self.end, zone)]
        if not self.gathered:
            parts.append(f"{self.source or 'source not named'}, trust {self.trust}")
        if self.contested:
            parts.append("contested" if not self.gathered else "some contested")
        if self.presumed is not None:
            parts.append(f"only presumed {presumed_text(self.presumed, zone)}")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Row:
    """Bars that do not overlap, and what to call them."""

    label: str
    bars: tuple[Bar, ...]


@dataclass(slots=True)
class Hues:
    """A colour for each source, in order of appearance; share one to keep colours across drawings."""

    taken: dict[str, int] = field(default_factory=dict)

    def of(self, source: str) -> int:
        if source == USER:
            self.taken.setdefault(source, 0)
            return 0
        others = sum(name != USER for name in self.taken)
        return self.taken.setdefault(source, min(others + 1, HUES - 1))


def bars_of(beliefs: Iterable[Believed], presumed: Iterable[datetime | None] = ()) -> tuple[Bar, ...]:
    """Beliefs as bars; ``presumed`` goes with them."""
    return tuple(
        Bar(
            value_text(belief.value),
            belief.valid_from,
            belief.valid_to,
            shortened(source_text(belief.source), SOURCE_CHARACTERS_MAX),
            belief.trust,
            belief.contested,
            since,
        )
        for belief, since in zip_longest(beliefs, presumed)
    )


def rows_of(label: str, bars: Iterable[Bar]) -> list[Row]:
    """Rows for bars that may overlap: as few as possible, a value staying in its row where it can."""
    rows: list[list[Bar]] = []
    for bar in bars:
        free = [row for row in rows if not _overlap(row[-1], bar)]
        same = [row for row in free if row[-1].text == bar.text]
        if free:
            (same or free)[0].append(bar)
        else:
            rows.append([bar])
    return [Row("" if number else label, tuple(row)) for number, row in enumerate(rows)]


def gathered(bars: Sequence[Bar], bars_max: int) -> tuple[Bar, ...]:
    """At most so many bars: neighbours in groups of equal number, each of which stands for all that is in it."""
    if len(bars) <= bars_max:
        return tuple(bars)
    size = -(-len(bars) // bars_max)
    groups = [[bar for _, bar in group] for _, group in groupby(enumerate(bars), lambda each: each[0] // size)]
    return tuple(_one(group) for group in groups)


def _one(group: list[Bar]) -> Bar:
    """A bar for many; how many values those have is told where each bar of the group is one belief."""
    count, values = sum(bar.count for bar in group), len({bar.text for bar in group})
    text = f"{count:,} beliefs" + ("" if any(bar.gathered for bar in group) else f", {values} values")
    start = None if any(bar.start is None for bar in group) else min(bar.start for bar in group if bar.start)
    end = None if any(bar.end is None for bar in group) else max(bar.end for bar in group if bar.end)
    if len(group) == 1:
        return group[0]
    return replace(
        group[0], text=text, start=start, end=end, presumed=None, count=count, gathered=True,
        contested=any(bar.contested for bar in group),
    )  # fmt: skip


def _overlap(earlier: Bar, later: Bar) -> bool:
    return earlier.end is None or later.start is None or later.start < earlier.end
