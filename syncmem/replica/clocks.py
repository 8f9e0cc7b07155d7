"""Known clock errors: a wrong clock is corrected by an event, never by refusing or holding.

Rule: of the notes about a place in a log that stand, the greatest ``(trust, position)`` in event order
corrects its clock.  A note counts if the device itself wrote it, or its trust is a user's word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from syncmem.model.event import ClockNote, readable
from syncmem.model.instant import EARLIEST, LATEST
from syncmem.model.record import LOG_SHIFT
from syncmem.replica.connection import Database
from syncmem.replica.logs import SEQ_MASK, Logs

USER_TRUST: Final = 90


class _Note(NamedTuple):
    order: tuple[int, int, bytes, int]
    first: int
    last: int
    offset: int


class Clocks:
    """Reads and writes the table ``clock_notes``."""

    def __init__(self, database: Database, logs: Logs) -> None:
        self._db = database
        self._logs = logs
        self._notes: dict[int, list[_Note]] = {}

    def forget(self) -> None:
        """Read the notes that stand anew."""
        self._notes = {}
        sql = "SELECT position, log, first, last, offset FROM clock_notes WHERE stands = 1"
        for position, log, first, last, offset in self._db.execute(sql).fetchall():
            self._notes.setdefault(log, []).append(_Note(self._order(position), first, last, offset))

    def any_notes(self) -> bool:
        """Whether any clock is known to have been wrong."""
        return bool(self._notes)

    def corrected(self, position: int, hlc: int) -> int:
        """The writer's clock of an event, corrected for known errors."""
        notes = self._notes.get(position >> LOG_SHIFT)
        if not notes:
            return hlc
        seq = position & SEQ_MASK
        about = [note for note in notes if note.first <= seq <= note.last]
        return min(max(hlc + max(about).offset, EARLIEST), LATEST) if about else hlc

    def add(self, position: int, note: ClockNote) -> None:
        """Store a note; :meth:`choose` decides whether it counts."""
        row = (position, self._logs.number(note.log), note.first, note.last, note.offset)
        sql = "INSERT OR IGNORE INTO clock_notes (position, log, first, last, offset) VALUES (?, ?, ?, ?, ?)"
        self._db.execute(sql, row)

    def choose(self, note: ClockNote, acts: Callable[[int], bool]) -> None:
        """Decide anew which notes about a log count."""
        log = self._logs.number(note.log)
        for (position,) in self._db.execute("SELECT position FROM clock_notes WHERE log = ?", (log,)).fetchall():
            stands = acts(position) and self._may_correct(position, log)
            self._db.execute("UPDATE clock_notes SET stands = ? WHERE position = ?", (int(stands), position))
        self.forget()

    def known_to(self, visible: Callable[[int], bool], acts: Callable[[int], bool]) -> Clocks:
        """The clocks as they are corrected by the visible notes alone."""
        limited = Clocks(self._db, self._logs)
        sql = "SELECT position, log, first, last, offset FROM clock_notes"
        for position, log, first, last, offset in self._db.execute(sql).fetchall():
            if visible(position) and acts(position) and self._may_correct(position, log):
                limited._notes.setdefault(log, []).append(_Note(self._order(position), first, last, offset))
        return limited

    def _may_correct(self, position: int, log: int) -> bool:
        subject = self._logs.by_no[log].key
        own = subject is not None and subject.device == self._logs.key_of(position).device
        return own or self._order(position)[0] >= USER_TRUST

    def _order(self, position: int) -> tuple[int, int, bytes, int]:
        event = self._logs.event(position)
        payload = readable(event)
        assert isinstance(payload, ClockNote)
        return (payload.trust, event.hlc, self._logs.log_of(position).id, position)
