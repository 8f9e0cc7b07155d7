"""What is told of one slot: its timeline, its map in both times, what each device believed, its history, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from syncmem.picture.bars import Hues, Row, gathered
from syncmem.picture.timeline import BARS_MAX
from syncmem.view.figures import map_figure, rows_of_timeline, rows_of_unbelieved, timeline_figure
from syncmem.view.pages import Figure
from syncmem.view.sides import meetings_of, sides_of

if TYPE_CHECKING:
    from syncmem.browsing import BeliefMap
    from syncmem.results import Belief, HistoryEntry, Timeline
    from syncmem.view.slot import Asked
    from syncmem.view.viewer import Viewer

TABLE_ROWS: Final = 50
EVENTS: Final = 30
FOLDED_MAX: Final = 500  # events of a slot up to which it is told what is only presumed, and what is not believed


def told(
    viewer: Viewer, asked: Asked, found_map: BeliefMap, hues: Hues, *, linked: bool = True, name: str = ""
) -> dict[str, Any]:
    """All that the parts of a page about a slot show.

    ``linked``: its pictures lead somewhere; ``name``: the beginning of the ids of its pictures.
    """
    memory, scope = viewer.memory, asked.scope
    names, now = (asked.entity, asked.predicate), viewer.present
    history = memory.history_page(*names, limit=EVENTS, scope=scope)
    small = history.total <= FOLDED_MAX
    found = memory.timeline(*names, known_at=asked.known, presumed=small, scope=scope)
    seen = _within(found, asked)
    meetings = meetings_of(history.entries, found_map.times, memory.device)
    chosen = len(meetings) - 1 if asked.meeting is None else min(asked.meeting, len(meetings) - 1)
    meeting = meetings[chosen] if meetings else None
    drawn: dict[str, Any] = {"now": now, "zone": viewer.zone, "hues": hues}
    rows = _rows(seen, asked, linked) + (_unbelieved(history.entries, found) if small and asked.known is None else [])
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
            rows, name=f"{name}timeline", title=f"{asked.entity} {asked.predicate} over time", **drawn
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
        "sides": [] if meeting is None else sides_of(viewer, asked, meeting, meetings, hues, name),
    }


def _step(asked: Asked, found: BeliefMap) -> int:
    """Where the slider stands."""
    if asked.known is None:
        return max(len(found.times) - 1, 0)
    return max(sum(number <= asked.known for number, _ in found.times) - 1, 0)


def _within(found: Timeline, asked: Asked) -> Timeline:
    """The beliefs that hold somewhere in the stretch of time that is looked at."""
    since, until = asked.since, asked.until
    kept = [
        number
        for number, belief in enumerate(found.beliefs)
        if (until is None or belief.valid_from is None or belief.valid_from < until)
        and (since is None or belief.valid_to is None or belief.valid_to > since)
    ]
    presumed = tuple(found.presumed[number] for number in kept) if found.presumed else ()
    return replace(found, beliefs=tuple(found.beliefs[number] for number in kept), presumed=presumed)


def _rows(seen: Timeline, asked: Asked, linked: bool) -> list[Row]:
    """The timeline's rows; of too many beliefs groups, which lead to themselves."""

    def lead(belief: Belief) -> str:
        return asked.link("why", at=belief.valid_from or belief.valid_to)

    def closer(start: datetime | None, end: datetime | None) -> str:
        return asked.link("timeline", since=start, until=end, skip=0)

    rows = rows_of_timeline("Believed", seen, lead if linked else None)
    return [replace(row, bars=gathered(row.bars, BARS_MAX, closer if linked else None)) for row in rows]


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

    def lead(held: Any) -> str:
        return asked.link("timeline", known=held.known_from, at=None, skip=0)

    return map_figure(
        found, name=f"{name}map", title=title, known=asked.known, lead=lead if linked else None, **drawn
    )
