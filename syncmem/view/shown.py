"""What is told of one slot: its timeline, its map in both times, what each device believed, its history, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from syncmem.picture.bars import Bar, Hues, Row
from syncmem.picture.rectangles import Held
from syncmem.view.figures import map_figure, rows_of_timeline, rows_of_unbelieved, timeline_figure
from syncmem.view.pages import Figure
from syncmem.view.sides import meetings_of, sides_of, unread

if TYPE_CHECKING:
    from syncmem.browsing import BeliefMap
    from syncmem.results import Belief, HistoryEntry, Timeline
    from syncmem.view.slot import Asked
    from syncmem.view.viewer import Viewer

TABLE_ROWS: Final = 50
EVENTS: Final = 30
FOLDED_MAX: Final = 500  # events and rectangles of a slot up to which a page also tells what follows from all of them


def told(
    viewer: Viewer, asked: Asked, found_map: BeliefMap, hues: Hues, *, linked: bool = True, name: str = ""
) -> dict[str, Any]:
    """All that the parts of a page about a slot show.

    ``linked``: its pictures lead somewhere; ``name``: the beginning of the ids of its pictures.
    """
    memory, scope = viewer.memory, asked.scope
    names, now = (asked.entity, asked.predicate), viewer.present
    few = len(found_map.held) <= FOLDED_MAX
    history = memory.history_page(*names, limit=EVENTS, scope=scope) if few else None
    small = history is not None and history.total <= FOLDED_MAX
    entries = () if history is None else history.entries
    found = memory.timeline(*names, known_at=asked.known, presumed=small, scope=scope)
    seen = _within(found, asked)
    found_map = replace(found_map, held=tuple(each for each in found_map.held if _seen(each.belief, asked)))
    meetings = meetings_of(entries, found_map.times, memory.device)
    chosen = len(meetings) - 1 if asked.meeting is None else min(asked.meeting, len(meetings) - 1)
    meeting = meetings[chosen] if meetings else None
    drawn: dict[str, Any] = {"now": now, "zone": viewer.zone, "hues": hues}
    rows = rows_of_timeline("Believed", seen)
    rows += _unbelieved(entries, found) if small and asked.known is None else []
    moment = asked.at or now
    return {
        "asked": asked,
        "found": found,
        "seen": seen,
        "holds": found.at(moment),
        "moment": asked.at,
        "rows": list(zip_longest(seen.beliefs, seen.presumed))[asked.skip : asked.skip + TABLE_ROWS],
        "table_rows": TABLE_ROWS,
        "figure": timeline_figure(
            rows,
            name=f"{name}timeline",
            title=f"{asked.entity} {asked.predicate} over time",
            lead=_leads(asked) if linked else None,
            **drawn,
        ),
        "known_map": found_map,
        "map_figure": _map(found_map, asked, drawn, linked, name) if found_map.held else None,
        "map_rows": found_map.held[-TABLE_ROWS:][::-1],
        "times": dict(found_map.times),
        "step": _step(asked, found_map),
        "why": memory.why(*names, valid_at=moment, known_at=asked.known, scope=scope) if small else None,
        "history": history,
        "meetings": meetings,
        "meeting": meeting,
        "unread": unread(viewer, asked) if meeting is not None and small else [],
        "sides": sides_of(viewer, asked, meeting, meetings, hues, name) if meeting is not None and small else [],
    }


def _step(asked: Asked, found: BeliefMap) -> int:
    """Where the slider stands."""
    if asked.known is None:
        return max(len(found.times) - 1, 0)
    return max(sum(number <= asked.known for number, _ in found.times) - 1, 0)


def _within(found: Timeline, asked: Asked) -> Timeline:
    """The beliefs that hold somewhere in the stretch of time that is looked at."""
    kept = [number for number, belief in enumerate(found.beliefs) if _seen(belief, asked)]
    presumed = tuple(found.presumed[number] for number in kept) if found.presumed else ()
    return replace(found, beliefs=tuple(found.beliefs[number] for number in kept), presumed=presumed)


def _seen(belief: Belief, asked: Asked) -> bool:
    since, until = asked.since, asked.until
    return (until is None or belief.valid_from is None or belief.valid_from < until) and (
        since is None or belief.valid_to is None or belief.valid_to > since
    )


def _leads(asked: Asked) -> Callable[[Bar], str | None]:
    """Where a bar leads: to its reasons, or if it stands for many to these alone."""

    def lead(bar: Bar) -> str:
        if bar.count > 1:
            return asked.link("timeline", since=bar.start, until=bar.end, skip=0)
        return asked.link("why", at=bar.start or bar.end)

    return lead


def _unbelieved(entries: Sequence[HistoryEntry], found: Timeline) -> list[Row]:
    """What somebody said, nobody took back, and is not believed at any time."""
    believed = [belief.value for belief in found]
    said = [
        entry
        for entry in entries
        if entry.status == "live" and entry.verb in ("remember", "affirm") and entry.value not in believed
    ]
    return rows_of_unbelieved("Said, and not believed", said)


def _map(found: BeliefMap, asked: Asked, drawn: dict[str, Any], linked: bool, name: str) -> Figure:
    title = f"{asked.entity} {asked.predicate}: valid time across, known time up"

    def lead(held: Held) -> str:
        return asked.link("timeline", known=held.known_from, at=None, skip=0)

    return map_figure(found, name=f"{name}map", title=title, known=asked.known, lead=lead if linked else None, **drawn)
