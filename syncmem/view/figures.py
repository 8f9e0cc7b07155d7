"""The pictures of one slot, in both widths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

from syncmem.picture import rectangles, timeline
from syncmem.picture.bars import Bar, Hues, Row, bars_of, rows_of
from syncmem.picture.rectangles import Held
from syncmem.view.pages import Figure

if TYPE_CHECKING:
    from syncmem.browsing import BeliefMap
    from syncmem.results import HistoryEntry, Timeline


def timeline_figure(
    rows: Sequence[Row], *, now: datetime | None, zone: tzinfo, name: str, title: str, hues: Hues,
    beside: Sequence[Row] = (), lead: Callable[[Bar], str | None] | None = None,
) -> Figure:  # fmt: skip
    def drawn(suffix: str, width: float) -> Any:
        return timeline.draw(
            rows, now=now, zone=zone, name=f"{name}-{suffix}", title=title, width=width, hues=hues,
            beside=beside, lead=lead,
        )  # fmt: skip

    return Figure(drawn("wide", timeline.WIDTH), drawn("narrow", timeline.NARROW))


def rows_of_timeline(label: str, found: Timeline) -> list[Row]:
    return rows_of(label, bars_of(found.beliefs, found.presumed))


def rows_of_unbelieved(label: str, entries: Iterable[HistoryEntry]) -> list[Row]:
    """What was said, and is not believed, as rows."""
    bars = sorted(bars_of(map(_Said, entries)), key=_begin)
    return rows_of(label, bars)


class _Said:
    """A statement as if it were believed."""

    def __init__(self, entry: HistoryEntry) -> None:
        self.value, self.trust, self.source = entry.value, entry.trust, entry.source
        self.valid_from, self.valid_to, self.contested = entry.valid_from, entry.valid_to, False


def _begin(bar: Bar) -> tuple[bool, float]:
    return (bar.start is not None, 0.0 if bar.start is None else bar.start.timestamp())


def map_figure(
    found: BeliefMap, *, now: datetime | None, zone: tzinfo, name: str, title: str, hues: Hues, known: int | None,
    lead: Callable[[Held], str | None] | None,
) -> Figure:  # fmt: skip
    bars = bars_of([each.belief for each in found.held])
    held = [Held(bar, each.known_from, each.known_to) for bar, each in zip(bars, found.held, strict=True)]
    seen = rectangles.Map.of(held, found.times)

    def drawn(suffix: str, width: float) -> Any:
        return rectangles.draw(
            seen, now=now, zone=zone, name=f"{name}-{suffix}", title=title, width=width, hues=hues,
            known=known, lead=lead,
        )  # fmt: skip

    return Figure(drawn("wide", timeline.WIDTH), drawn("narrow", timeline.NARROW))
