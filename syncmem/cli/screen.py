"""What is drawn with rich: tables and timelines, as wide as the terminal, in colour only there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from syncmem.cli.drawing import ASCII, BLOCKS, Glyphs, Line, Palette, Row, draw, lanes
from syncmem.cli.session import is_terminal
from syncmem.cli.words import duration_text, escaped, slot_text, source_text, value_text
from syncmem.model.instant import local_text

if TYPE_CHECKING:
    from syncmem.model.predicate import Predicate
    from syncmem.results import Timeline

WIDTH_MAX: Final = 120  # a drawing gains nothing from more
WIDTH_PIPED: Final = 80


def console() -> Console:
    """Standard output; NO_COLOR and what is not a terminal get plain text."""
    wide = shutil.get_terminal_size((WIDTH_PIPED, 24)).columns if is_terminal() or "COLUMNS" in os.environ else None
    return Console(width=wide or WIDTH_PIPED, highlight=False, markup=False, emoji=False, soft_wrap=False)


def glyphs_for(to: Console) -> Glyphs:
    """What the stream can show."""
    return BLOCKS if to.encoding.startswith("utf") else ASCII


def show_lines(lines: Iterable[Line], to: Console) -> None:
    for line in lines:
        text = Text.assemble(*((piece.text, piece.style) for piece in line))
        text.rstrip()
        to.print(text, no_wrap=True, crop=False, overflow="ignore")


def draw_timeline(timeline: Timeline, *, zone: tzinfo, width: int | None) -> None:
    """A picture of a timeline, and its beliefs in a table."""
    to = console()
    if not timeline.beliefs:
        to.print("nothing is believed at any time")
        return
    to.print(slot_text(timeline.entity, timeline.predicate, timeline.scope), style="bold")
    show_drawing(lanes("", timeline.beliefs), to, now=datetime.now(UTC), zone=zone, width=width)
    to.print()
    rows = [
        (
            value_text(belief.value) + (" (contested)" if belief.contested else ""),
            local_text(belief.valid_from, zone),
            local_text(belief.valid_to, zone),
            f"{belief.trust} {source_text(belief.source)}",
            belief.event,
        )
        for belief in timeline.beliefs
    ]
    show_table(("value", "from", "to", "trust", "event"), rows, to)


def show_drawing(
    rows: Sequence[Row],
    to: Console,
    *,
    now: datetime,
    zone: tzinfo,
    width: int | None = None,
    palette: Palette | None = None,
) -> None:
    """Draw rows on one axis."""
    columns = width or min(to.width, WIDTH_MAX)
    show_lines(draw(rows, now=now, zone=zone, width=columns, glyphs=glyphs_for(to), palette=palette), to)


def show_table(columns: Iterable[str], rows: Iterable[Iterable[str]], to: Console) -> None:
    """A plain table; the last column (an id, a remark) is never cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    names = list(columns)
    for name in names:
        table.add_column(name, overflow="fold", no_wrap=name == "event")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    to.print(table)


def show_predicates(found: Mapping[str, Predicate]) -> None:
    to = console()
    if not found:
        to.print("no predicates yet")
        return
    rows = [
        (
            escaped(name),
            ("many" if predicate.many else "single") + ("" if predicate.declared else " (undeclared)"),
            str(predicate.equality),
            _ageing(predicate),
            "sensitive" if predicate.sensitive else "",
            escaped(predicate.description),
        )
        for name, predicate in sorted(found.items())
    ]
    show_table(("predicate", "values", "equality", "ageing", "care", "description"), rows, to)


def _ageing(predicate: Predicate) -> str:
    lapses = f"lapses after {duration_text(predicate.ttl)}" if predicate.ttl else ""
    stale = f"stale after {duration_text(predicate.stale_after)}" if predicate.stale_after else ""
    return ", ".join(part for part in (lapses, stale) if part)
