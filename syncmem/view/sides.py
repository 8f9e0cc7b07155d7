"""The same slot on each device, before and after they met.

A meeting is a time at which this device took in what others had written about the slot: transactions in a row, no
more than ten minutes apart.  What the others believed is told by their own replicas where these are at hand, else by
the notes that they wrote, with the grade that the answer has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from syncmem.errors import NotFound
from syncmem.picture.bars import Hues, Row
from syncmem.results import Grade
from syncmem.view.figures import rows_of_timeline, timeline_figure
from syncmem.view.pages import Figure
from syncmem.view.viewer import THIS_DEVICE

if TYPE_CHECKING:
    from syncmem.results import HistoryEntry, Timeline
    from syncmem.view.slot import Asked
    from syncmem.view.viewer import Viewer

APART: Final = timedelta(minutes=10)
_INSTANT: Final = timedelta(microseconds=1)
NOTES_EVENTS_MAX: Final = 2_000  # of a device, up to which its notes are read: all of its log has to be
NOTES_ASKED_MAX: Final = 50_000  # ... where a meeting was chosen


@dataclass(frozen=True, slots=True)
class Meeting:
    """The transactions ``first`` to ``last`` of this device, and when they were."""

    first: int
    last: int
    begun: datetime
    ended: datetime


@dataclass(frozen=True, slots=True)
class Side:
    """One device: its timelines before and after a meeting; ``grade``: how sure the less sure one is."""

    label: str
    before: Timeline
    after: Timeline
    grade: Grade


@dataclass(frozen=True, slots=True)
class Sides:
    """All devices at one moment, drawn over one axis."""

    title: str
    figure: Figure
    lines: tuple[tuple[str, Timeline, Grade], ...]


def meetings_of(entries: Sequence[HistoryEntry], times: Sequence[tuple[int, datetime]], own: str) -> list[Meeting]:
    """The meetings of which a slot's history tells, in order."""
    when = dict(times)
    heard = sorted({entry.known for entry in entries if entry.device != own and entry.known in when})
    meetings: list[Meeting] = []
    for number in heard:
        last = meetings[-1] if meetings else None
        if last is not None and when[number] - last.ended <= APART:
            meetings[-1] = Meeting(last.first, number, last.begun, when[number])
        else:
            meetings.append(Meeting(number, number, when[number], when[number]))
    return meetings


def sides_of(
    viewer: Viewer, asked: Asked, meeting: Meeting, meetings: Sequence[Meeting], hues: Hues, name: str, notes_max: int
) -> list[Sides]:
    """Before, and after: what each device believed."""
    following = [each for each in meetings if each.first > meeting.last]
    until = following[0].begun - _INSTANT if following else None
    sides = _sides(viewer, asked, meeting, until, notes_max)
    lines = {
        "before": [(side.label, side.before, side.grade) for side in sides],
        "after": [(side.label, side.after, side.grade) for side in sides],
    }
    rows = {when: [row for label, found, _ in each for row in _rows(label, found)] for when, each in lines.items()}
    drawn: dict[str, Any] = {"now": asked.meets(viewer.present), "zone": viewer.zone, "hues": hues}
    title = f"{asked.entity} {asked.predicate} on each device {{}} they met"
    return [
        Sides(
            when,
            timeline_figure(
                rows[when], name=f"{name}devices-{when}", title=title.format(when), beside=rows[other], **drawn
            ),
            tuple(lines[when]),
        )
        for when, other in (("before", "after"), ("after", "before"))
    ]


def _rows(label: str, found: Timeline) -> list[Row]:
    return rows_of_timeline(label, found) or [Row(label, ())]


def _sides(viewer: Viewer, asked: Asked, meeting: Meeting, until: datetime | None, notes_max: int) -> list[Side]:
    """This device by its transactions, the others by time; ``until`` is the last moment before they met again."""
    about: dict[str, Any] = {
        "entity": asked.entity,
        "predicate": asked.predicate,
        "scope": asked.scope,
        "presumed": True,
        **asked.within,
    }
    own, early = viewer.memory, meeting.begun - _INSTANT
    before, after = (own.timeline(known_at=n, **about) for n in (meeting.first - 1, meeting.last))
    sides = [Side(THIS_DEVICE, before, after, Grade.EXACT)]
    for label, other in viewer.also.items():
        before, after = (other.timeline(known_at=time, **about) for time in (early, until))
        sides.append(Side(label, before, after, Grade.EXACT))
    told = [id for id, events in _others(viewer) if events <= notes_max]
    for id in told:
        try:
            before, after = (own.timeline(device=id, known_at=time, **about) for time in (early, until))
        except NotFound:
            continue  # it was erased meanwhile
        sides.append(Side(viewer.pages.device(id), before, after, _least_sure(before, after)))
    return sides


def unread(viewer: Viewer, notes_max: int) -> list[str]:
    """The devices whose logs are too long to be read for their notes."""
    return [id for id, events in _others(viewer) if events > notes_max]


def _others(viewer: Viewer) -> list[tuple[str, int]]:
    """The devices of which no replica is at hand, and how many events of each are here."""
    at_hand = {viewer.memory.device, *(other.device for other in viewer.also.values())}
    return [(device.id, device.events) for device in viewer.memory.devices() if device.id not in at_hand]


def notes_max(asked: Asked, *, long: bool) -> int:
    """Up to how many events of a device its notes are read; ``long``: the slot is, and all of it has to be folded."""
    if asked.meeting is not None:
        return NOTES_ASKED_MAX
    return 0 if long else NOTES_EVENTS_MAX


def _least_sure(*found: Timeline) -> Grade:
    grades = {belief.grade for timeline in found for belief in timeline}
    return next((g for g in (Grade.REDACTED, Grade.PARTIAL, Grade.PROVISIONAL) if g in grades), Grade.EXACT)
