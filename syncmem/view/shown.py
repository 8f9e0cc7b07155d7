"""What is told of one slot: its timeline, its map in both times, what each device believed, its history, and why.

Rule: what is more than a page can tell is told as its outline, each part by its own measure, and leads to less of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from syncmem.picture.bars import Bar, Hues, Row
from syncmem.picture.rectangles import Held
from syncmem.view.figures import map_figure, rows_of_timeline, rows_of_unbelieved, timeline_figure
from syncmem.view.outlined import calendar, cells_figure, rows_of_groups, ways
from syncmem.view.pages import Figure
from syncmem.view.sides import meetings_of, notes_max, sides_of, unread

if TYPE_CHECKING:
    from syncmem.browsing import BeliefMap, Outline
    from syncmem.results import Belief, HistoryEntry, Timeline
    from syncmem.view.slot import Asked
    from syncmem.view.viewer import Viewer

TABLE_ROWS: Final = 50
EVENTS: Final = 30
TOLD_MAX: Final = 500  # beliefs, or rectangles, of a stretch up to which a page tells each of them
STEPS_NAMED_MAX: Final = 400  # of the slider: the latest


def told(viewer: Viewer, asked: Asked, hues: Hues, *, linked: bool = True, name: str = "") -> dict[str, Any]:
    """All that the parts of a page about a slot show.

    ``linked``: its pictures lead somewhere; ``name``: the beginning of the ids of its pictures.
    """
    memory, about = viewer.memory, (asked.entity, asked.predicate)
    outline = memory.outline(*about, known_at=asked.known, scope=asked.scope, **asked.within)
    few = outline.beliefs <= TOLD_MAX
    history = memory.history_page(*about, limit=EVENTS, scope=asked.scope, **asked.within) if few else None
    moment = asked.at or viewer.present
    return {
        "asked": asked,
        "outline": outline,
        "holds": holding(viewer, asked, moment),
        "moment": asked.at,
        "table_rows": TABLE_ROWS,
        "times": memory.moments(_named(outline, asked)),
        "steps": outline.changes[-STEPS_NAMED_MAX:],
        "step": _step(asked, outline),
        "ways": ways(asked) if linked else [],
        "history": history,
        **(
            _each_belief(viewer, asked, hues, history.entries, linked, name)
            if history is not None
            else _outlined(viewer, asked, outline, hues, linked, name)
        ),
        **_mapped(viewer, asked, outline, hues, linked, name),
        **_met(viewer, asked, outline, hues, () if history is None else history.entries, name),
        **_reasons(viewer, asked),
    }


def holding(viewer: Viewer, asked: Asked, moment: datetime) -> list[Belief]:
    """What holds at a moment."""
    return viewer.memory.beliefs(
        asked.entity, asked.predicate, valid_at=moment, known_at=asked.known, scope=asked.scope
    )


def _named(outline: Outline, asked: Asked) -> list[int]:
    """The transactions whose times are told."""
    in_cells = {number for cell in outline.cells for number in (cell.known_from, cell.known_to) if number is not None}
    asked_for = set() if asked.known is None else {asked.known}
    return sorted({*outline.changes[-STEPS_NAMED_MAX:], *in_cells, *asked_for})


def _step(asked: Asked, outline: Outline) -> int:
    """Where the slider stands."""
    if asked.known is None:
        return max(len(outline.changes) - 1, 0)
    return max(sum(number <= asked.known for number in outline.changes) - 1, 0)


# -- the timeline --------------------------------------------------------------------------------------------


def _each_belief(
    viewer: Viewer, asked: Asked, hues: Hues, entries: Sequence[HistoryEntry], linked: bool, name: str
) -> dict[str, Any]:
    """The timeline, belief by belief."""
    seen = viewer.memory.timeline(
        asked.entity, asked.predicate, known_at=asked.known, presumed=True, scope=asked.scope, **asked.within
    )
    rows = rows_of_timeline("Believed", seen)
    rows += _unbelieved(entries, seen) if asked.known is None else []
    return {
        "seen": seen,
        "rows": list(zip_longest(seen.beliefs, seen.presumed))[asked.skip : asked.skip + TABLE_ROWS],
        "figure": _timeline_figure(viewer, asked, rows, hues, linked, name),
        "calendar": [],
    }


def _outlined(viewer: Viewer, asked: Asked, outline: Outline, hues: Hues, linked: bool, name: str) -> dict[str, Any]:
    """The timeline as groups of neighbours."""
    begun = [group.valid_from for group in outline.groups if group.valid_from is not None]
    return {
        "seen": None,
        "figure": _timeline_figure(viewer, asked, rows_of_groups(outline), hues, linked, name),
        "calendar": calendar(asked, begun, viewer.zone) if linked else [],
    }


def _timeline_figure(viewer: Viewer, asked: Asked, rows: list[Row], hues: Hues, linked: bool, name: str) -> Figure:
    return timeline_figure(
        rows, now=asked.meets(viewer.present), zone=viewer.zone, hues=hues, name=f"{name}timeline",
        title=f"{asked.entity} {asked.predicate} over time", lead=_leads(asked) if linked else None,
    )  # fmt: skip


def _leads(asked: Asked) -> Callable[[Bar], str | None]:
    """Where a bar leads: to its reasons, or if it stands for many to these alone."""

    def lead(bar: Bar) -> str:
        if bar.gathered:
            return asked.link("timeline", since=bar.start, until=bar.end, skip=0)
        return asked.link("why", at=bar.start or bar.end)

    return lead


def _unbelieved(entries: Sequence[HistoryEntry], seen: Timeline) -> list[Row]:
    """What somebody said, nobody took back, and is not believed at any time that is looked at."""
    believed = [belief.value for belief in seen]
    said = [
        entry
        for entry in entries
        if entry.status == "live" and entry.verb in ("remember", "affirm") and entry.value not in believed
    ]
    return rows_of_unbelieved("Said, and not believed", said)


# -- the other parts -----------------------------------------------------------------------------------------


def _mapped(viewer: Viewer, asked: Asked, outline: Outline, hues: Hues, linked: bool, name: str) -> dict[str, Any]:
    """The map: its rectangles, or of too many where they begin."""
    if outline.rectangles > TOLD_MAX:
        times = viewer.memory.moments(_named(outline, asked))
        figure = cells_figure(
            outline, times, asked, now=asked.meets(viewer.present), zone=viewer.zone, name=name, linked=linked
        )  # fmt: skip
        return {"map_figure": figure, "map_rows": None}
    found = viewer.memory.belief_map(asked.entity, asked.predicate, scope=asked.scope, **asked.within)
    drawn = _map(found, viewer, asked, hues, linked, name) if found.held else None
    return {"map_figure": drawn, "map_rows": found.held[-TABLE_ROWS:][::-1]}


def _map(found: BeliefMap, viewer: Viewer, asked: Asked, hues: Hues, linked: bool, name: str) -> Figure:
    title = f"{asked.entity} {asked.predicate}: valid time across, known time up"

    def lead(held: Held) -> str:
        return asked.link("timeline", known=held.known_from, at=None, skip=0)

    return map_figure(
        found, name=f"{name}map", title=title, known=asked.known, lead=lead if linked else None, hues=hues,
        now=asked.meets(viewer.present), zone=viewer.zone,
    )  # fmt: skip


def _met(
    viewer: Viewer, asked: Asked, outline: Outline, hues: Hues, entries: Sequence[HistoryEntry], name: str
) -> dict[str, Any]:
    """The devices side by side, before and after a meeting."""
    times = viewer.memory.moments(sorted({entry.known for entry in entries} & {*outline.changes}))
    meetings = meetings_of(entries, sorted(times.items()), viewer.memory.device)
    if not meetings:
        return {"meetings": [], "meeting": None, "sides": [], "unread": []}
    chosen = len(meetings) - 1 if asked.meeting is None else min(asked.meeting, len(meetings) - 1)
    most = notes_max(asked, long=outline.rectangles + outline.elsewhere > TOLD_MAX)
    return {
        "meetings": meetings,
        "meeting": meetings[chosen],
        "sides": sides_of(viewer, asked, meetings[chosen], meetings, hues, name, most),
        "unread": unread(viewer, most),
    }


def _reasons(viewer: Viewer, asked: Asked) -> dict[str, Any]:
    """Why something holds at the moment that was chosen; else now, or where the stretch that is looked at begins."""
    moment, now = asked.at, viewer.present
    if moment is None and asked.meets(now) is None:
        moment = asked.since or asked.until
    why = viewer.memory.why(
        asked.entity, asked.predicate, valid_at=moment or now, known_at=asked.known, scope=asked.scope
    )
    return {"why": why, "why_at": moment}
