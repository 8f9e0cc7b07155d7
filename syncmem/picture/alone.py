"""Timelines as pictures that stand alone: files of SVG, and what a notebook shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from html import escape
from typing import Final, Protocol

from syncmem.errors import InvalidInput
from syncmem.model.instant import find_zone, local_text
from syncmem.picture.bars import Believed, bars_of, rows_of
from syncmem.picture.legible import escaped, source_text, value_text
from syncmem.picture.svg import svg
from syncmem.picture.timeline import WIDTH, draw

TABLE_ROWS_MAX: Final = 200
_HEADS: Final = ("value", "from", "to", "trust", "source")


class Line(Protocol):
    """What a picture reads of a timeline."""

    @property
    def entity(self) -> str: ...
    @property
    def predicate(self) -> str: ...
    @property
    def beliefs(self) -> Sequence[Believed]: ...
    @property
    def presumed(self) -> Sequence[datetime | None]: ...


def timeline_svg(timeline: Line, now: datetime | None, zone: str | tzinfo, width: float | None) -> str:
    """A timeline as a file of SVG.

    Raises:
        InvalidInput: ``now`` or ``zone`` is none.
    """
    if now is not None and now.utcoffset() is None:
        raise InvalidInput(f"{now} has no zone; pass an aware datetime (tzinfo=UTC, or an offset)")
    rows = rows_of("", bars_of(timeline.beliefs, timeline.presumed))
    title = f"{escaped(timeline.entity)} {escaped(timeline.predicate)} over time"
    drawing = draw(rows, now=now, zone=find_zone(zone), name="timeline", title=title, width=width or WIDTH)
    return svg(drawing, alone=True)


def timeline_html(timeline: Line) -> str:
    """A timeline as a picture with its table."""
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    rows = "".join(map(_row, timeline.beliefs[:TABLE_ROWS_MAX]))
    more = len(timeline.beliefs) - TABLE_ROWS_MAX
    rest = f"<p>and {more} more</p>" if more > 0 else ""
    return f"<figure>{timeline_svg(timeline, None, UTC, None)}<table><tr>{heads}</tr>{rows}</table>{rest}</figure>"


def _row(belief: Believed) -> str:
    cells = (
        value_text(belief.value) + (" (contested)" if belief.contested else ""),
        local_text(belief.valid_from, UTC),
        local_text(belief.valid_to, UTC),
        str(belief.trust),
        source_text(belief.source),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
