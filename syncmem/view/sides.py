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

if TYPE_CHECKING:
    from syncmem.results import HistoryEntry, Timeline
    from syncmem.view.slot import Asked
    from syncmem.view.viewer import Viewer

APART: Final = timedelta(minutes=10)
_INSTANT: Final = timedelta(microseconds=1)
NOTES_EVENTS_MAX: Final = 20_000  # of a device, up to which its notes are read for every page
HERE: Final = "This device"


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


def meetings_of(
    entries: Sequence[HistoryEntry], times: Sequence[tuple[int, datetime]], own: str
) -> list[Meeting]:
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
    viewer: Viewer, asked: Asked, meeting: Meeting, meetings: Sequence[Meeting], hues: Hues, name: str
) -> list[Sides]:
    """Before, and after: what each device believed."""
    following = [each for each in meetings if each.first > meeting.last]
    until = following[0].begun - _INSTANT if following else None
    sides = _sides(viewer, asked, meeting, until)
    before = [(side.label, side.before, side.grade) for side in sides]
    after = [(side.label, side.after, side.grade) for side in sides]
    return [
        _drawn(viewer, asked, "before", before, hues, name),
        _drawn(viewer, asked, "after", after, hues, name),
    ]


def _sides(viewer: Viewer, asked: Asked, meeting: Meeting, until: datetime | None) -> list[Side]:
    """This device by its transactions, the others by time; ``until`` is the last moment before they met again."""
    about: dict[str, Any] = {"entity": asked.entity, "predicate": asked.predicate, "scope": asked.scope}
    own, early = viewer.memory, meeting.begun - _INSTANT
    before, after = (own.timeline(known_at=n, **about) for n in (meeting.first - 1, meeting.last))
    sides = [Side(HERE, before, after, Grade.EXACT)]
    for label, other in viewer.also.items():
        before, after = (other.timeline(known_at=time, **about) for time in (early, until))
        sides.append(Side(label, before, after, Grade.EXACT))
    known = {own.device, *(other.device for other in viewer.also.values())}
    told = [device for device in own.devices() if device.id not in known and device.events <= NOTES_EVENTS_MAX]
    names = {device.id: device.name for device in own.status().devices} if told else {}
    for id in [device.id for device in told]:
        try:
            before, after = (own.timeline(device=id, known_at=time, **about) for time in (early, until))
        except NotFound:
            continue  # it was erased meanwhile
        sides.append(Side(names.get(id) or f"device {id}", before, after, _least_sure(before, after)))
    return sides


def _least_sure(*found: Timeline) -> Grade:
    grades = {belief.grade for timeline in found for belief in timeline}
    return next((g for g in (Grade.REDACTED, Grade.PARTIAL, Grade.PROVISIONAL) if g in grades), Grade.EXACT)


def _drawn(
    viewer: Viewer, asked: Asked, when: str, lines: list[tuple[str, Timeline, Grade]], hues: Hues, name: str
) -> Sides:
    rows: list[Row] = []
    for label, found, _ in lines:
        rows += rows_of_timeline(label, found) or [Row(label, ())]
    title = f"{asked.entity} {asked.predicate} on each device {when} they met"
    drawn: dict[str, Any] = {"now": viewer.present, "zone": viewer.zone, "hues": hues}
    figure = timeline_figure(rows, name=f"{name}devices-{when}", title=title, **drawn)
    return Sides(when, figure, tuple(lines))
