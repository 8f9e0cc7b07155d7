"""A slot with more in it than a page can tell: its outline as pictures, and ways to look at less of it.

Rules: what stands for many says for how many, and leads to these alone; every way works without a script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from syncmem.picture import cells, timeline
from syncmem.picture.bars import Bar, Row, rows_of
from syncmem.picture.cells import Begun
from syncmem.view.pages import Figure

if TYPE_CHECKING:
    from syncmem.browsing import Group, Outline
    from syncmem.view.slot import Asked

LINKS_MAX: Final = 40  # of dates, side by side
_UNITS: Final = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class Way:
    """A link to another stretch of the same slot."""

    text: str
    href: str


def rows_of_groups(found: Outline) -> list[Row]:
    """The groups of an outline as bars."""
    return rows_of("", [_bar(group) for group in found.groups])


def _bar(group: Group) -> Bar:
    span = (group.valid_from, group.valid_to)
    return Bar(_told(group), *span, "", 0, group.contested > 0, count=group.beliefs, gathered=True)


def _told(group: Group) -> str:
    doubt = f", {group.contested:,} contested" if group.contested else ""
    if group.beliefs == 1:
        return f"1 belief{doubt}"
    return f"{group.beliefs:,} beliefs, {group.values:,} value{'' if group.values == 1 else 's'}{doubt}"


def cells_figure(
    found: Outline, times: Mapping[int, datetime], asked: Asked, *, now: datetime | None, zone: tzinfo, name: str,
    linked: bool,
) -> Figure:  # fmt: skip
    """Where the rectangles of a slot begin, counted."""
    begun = [Begun(c.valid_from, c.valid_to, c.known_from, c.known_to, c.begun) for c in found.cells]
    title = f"{asked.entity} {asked.predicate}: how many beliefs begin when, valid time across, known time up"

    @cache  # both widths lead to the same
    def lead(cell: Begun) -> str:
        known = None if cell.known_to is None else cell.known_to - 1
        return asked.link("timeline", since=cell.start, until=cell.end, known=known, skip=0)

    def drawn(suffix: str, width: float) -> Any:
        return cells.draw(
            begun, times, now=now, zone=zone, name=f"{name}map-{suffix}", title=title, width=width,
            lead=lead if linked else None,
        )  # fmt: skip

    return Figure(drawn("wide", timeline.WIDTH), drawn("narrow", timeline.NARROW))


# -- ways ----------------------------------------------------------------------------------------------------


def ways(asked: Asked) -> list[Way]:
    """From one stretch of time to those beside it, and to one that holds it."""
    if asked.since is None or asked.until is None:
        return []
    length = asked.until - asked.since
    told = [
        ("← Before it", _moved(asked.since, -length), asked.since),
        ("After it →", asked.until, _moved(asked.until, length)),
        ("Wider", _moved(asked.since, -length), _moved(asked.until, length)),
    ]
    return [Way(text, asked.link("timeline", since=since, until=until, skip=0)) for text, since, until in told]


def _moved(when: datetime, by: timedelta) -> datetime | None:
    try:
        return when + by
    except OverflowError:
        return None


def calendar(asked: Asked, begun: Sequence[datetime], zone: tzinfo) -> list[Way]:
    """The years, else the months, else the days in which beliefs begin, each a link to it alone."""
    if not begun:
        return []
    first, last = min(begun).astimezone(zone), max(begun).astimezone(zone)
    for unit in _UNITS:
        dates = _dates(first, last, unit)
        if 2 <= len(dates) - 1 <= LINKS_MAX:
            return [
                Way(_named(date, unit), asked.link("timeline", since=date, until=after, skip=0))
                for date, after in pairwise(dates)
            ]
    return []


def _dates(first: datetime, last: datetime, unit: str) -> list[datetime]:
    """The beginnings of all units from one moment to another, and the one after; at most one more than can be shown."""
    found = [_start(first, unit)]
    while found[-1] <= last and len(found) <= LINKS_MAX + 1 and found[-1].year < datetime.max.year:
        found.append(_start(found[-1] + timedelta(days={"year": 370, "month": 32, "day": 1}[unit]), unit))
    return found


def _start(when: datetime, unit: str) -> datetime:
    day = when.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "day":
        return day
    return day.replace(day=1) if unit == "month" else day.replace(day=1, month=1)


def _named(date: datetime, unit: str) -> str:
    return {"year": f"{date:%Y}", "month": f"{date:%b %Y}", "day": f"{date.day} {date:%b}"}[unit]
