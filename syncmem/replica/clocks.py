"""Known clock errors: a wrong clock is corrected by an event, never by refusing or holding.

Rule: of the notes about a place in a log that stand, the greatest ``(trust, position)`` in event order
corrects its clock.  A note counts if the device itself wrote it, or its trust is a user's word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from syncmem.model.event import ClockNote, Event, readable
from syncmem.model.instant import EARLIEST, LATEST
from syncmem.model.record import LOG_SHIFT
from syncmem.replica.connection import Database
from syncmem.replica.logs import SEQ_MASK, Logs

USER_TRUST: Final = 90


class _Note(NamedTuple):
    order: tuple[int, int, bytes, int]  # (trust, position in event order)
    device: bytes
    first: int
    last: int
    offset: int

    def corrects(self, seq: int, device: bytes) -> bool:
        """Whether the note is about a place in a log of ``device``, and counts there."""
        return self.first <= seq <= self.last and (self.device == device or self.order[0] >= USER_TRUST)


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
        for position, log, *about in self._db.execute(sql).fetchall():
            self._notes.setdefault(log, []).append(self._note(position, about))

    def any_notes(self) -> bool:
        """Whether any clock is known to have been wrong."""
        return bool(self._notes)

    def corrected(self, position: int, hlc: int) -> int:
        """The writer's clock of an event, corrected for known errors."""
        notes = self._notes.get(position >> LOG_SHIFT)
        if not notes:
            return hlc
        seq, device = position & SEQ_MASK, self._logs.log_of(position).device
        about = [note for note in notes if note.corrects(seq, device)]
        return min(max(hlc + max(about).offset, EARLIEST), LATEST) if about else hlc

    def add(self, position: int, note: ClockNote) -> None:
        """Store a note; :meth:`choose` decides whether it stands."""
        row = (position, self._logs.number(note.log), note.first, note.last, note.offset)
        sql = "INSERT OR IGNORE INTO clock_notes (position, log, first, last, offset) VALUES (?, ?, ?, ?, ?)"
        self._db.execute(sql, row)

    def choose(self, note: ClockNote, acts: Callable[[int], bool]) -> None:
        """Decide anew which notes about a log stand: are neither undone nor withdrawn."""
        log = self._logs.number(note.log)
        for (position,) in self._db.execute("SELECT position FROM clock_notes WHERE log = ?", (log,)).fetchall():
            self._db.execute("UPDATE clock_notes SET stands = ? WHERE position = ?", (int(acts(position)), position))
        self.forget()

    def known_to(self, visible: Callable[[int], bool], acts: Callable[[int], bool]) -> Clocks:
        """The clocks as they are corrected by the visible notes alone."""
        limited = Clocks(self._db, self._logs)
        sql = "SELECT position, log, first, last, offset FROM clock_notes"
        for position, log, *about in self._db.execute(sql).fetchall():
            if visible(position) and acts(position):
                limited._notes.setdefault(log, []).append(self._note(position, about))
        return limited

    @contextmanager
    def corrected_by(self, others: Clocks) -> Iterator[None]:
        """For a while, correct by other notes than those that stand."""
        before, self._notes = self._notes, others._notes
        try:
            yield
        finally:
            self._notes = before

    def about(self, log: int) -> list[int]:
        """The positions of all notes about a log."""
        return [row[0] for row in self._db.execute("SELECT position FROM clock_notes WHERE log = ?", (log,)).fetchall()]

    def _note(self, position: int, about: list[int]) -> _Note:
        event, log = self._logs.event(position), self._logs.log_of(position)
        payload = readable(event)
        assert isinstance(event, Event) and isinstance(payload, ClockNote)
        return _Note((payload.trust, event.hlc, log.id, position), log.device, *about)
