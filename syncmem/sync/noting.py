"""Frontier notes of this device: when they are sent, and what is told of them before.

Rules: notes at the end of the log wait for what is said next and are sent with it; alone only once they have waited for
a day, or are many.  What notes that wait say is told once, with the report of what they are notes of: so what this
device believed when is known elsewhere as soon as it would be by the notes themselves.
"""

from __future__ import annotations

from typing import Final

from syncmem.model.event import Event, Frontier, readable
from syncmem.model.frontier import LOG_START_BYTES, Noted
from syncmem.replica.chain import Log
from syncmem.replica.logs import Logs
from syncmem.replica.said import Said

WAIT: Final = 86_400_000_000  # microseconds
WAITING_MAX: Final = 32


class Noting:
    """Looks at the own logs."""

    def __init__(self, logs: Logs, said: Said) -> None:
        self._logs = logs
        self._said = said

    def due(self, log: Log, now: int) -> int:
        """The place up to which a log is to lie in a mailbox now; inside a write transaction."""
        end = self._said.of(log).place if log.own else log.seq
        if not 0 < log.seq - end <= WAITING_MAX:
            return log.seq
        first = self._logs.event(log.position(end + 1))
        return end if isinstance(first, Event) and abs(now - first.hlc) < WAIT else log.seq

    def waiting(self, log: Log, after: int) -> list[Noted]:
        """What the notes at the end of a log say, as far as they stand behind a place."""
        end = max(after, self._said.of(log).place)
        placed = [(place, self._logs.event(log.position(place))) for place in range(end + 1, log.seq + 1)]
        return [_told(place, event) for place, event in placed if isinstance(event, Event)]


def _told(place: int, event: Event) -> Noted:
    note = readable(event)
    changed = note.changed if isinstance(note, Frontier) else ()
    return Noted(place, event.hlc, [(log[:LOG_START_BYTES], last) for log, last, _ in changed])
