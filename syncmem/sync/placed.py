"""Which mailboxes hold the content of which episodes, as far as this device knows, and what others ask for.

Rule: all of it can be forgotten and found out again by looking; that something was dropped is forgotten only with
all else that was thought of its mailbox, and is looked at once more after a day: a folder may not have shown all yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from syncmem.replica.connection import Database

_SURELY_DROPPED: Final = -1  # states below are the times, negative, at which nothing was found for the first time
LOOKED_AGAIN_AFTER: Final = 86_400_000_000  # microseconds: what a folder brings in disorder is there by then


class Placed:
    """Reads and writes the tables ``placed`` and ``asked``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def count(self, no: int, event: bytes) -> int:
        """How many of the chunks that are here a mailbox surely holds."""
        return max(0, self._state(no, event))

    def due(self, no: int, scope: str) -> list[bytes]:
        """The ids of a scope's events of which more chunks are here than a mailbox is known to hold."""
        return [event for event, lacking in self._lacking(no, scope) if lacking]

    def lacking(self, no: int, scope: str) -> int:
        """How many chunks of a scope are here and not known to be at a mailbox."""
        return sum(lacking for _, lacking in self._lacking(no, scope))

    def _lacking(self, no: int, scope: str) -> Iterator[tuple[bytes, int]]:
        sql = (
            "SELECT e.event, (SELECT count(*) FROM chunks c WHERE c.episode = e.id) - max(0, coalesce(p.state, 0)) "
            "FROM episodes e JOIN contents t ON t.event = e.event "
            "LEFT JOIN placed p ON p.mailbox = ? AND p.event = e.event WHERE e.scope = ? ORDER BY e.position"
        )
        for event, lacking in self._db.execute(sql, (no, scope)).fetchall():
            yield event, max(0, lacking)

    def note(self, no: int, event: bytes, chunks: int) -> None:
        """A mailbox holds as many of the chunks that are here, and nobody waits for them."""
        self._db.execute("INSERT OR REPLACE INTO placed VALUES (?, ?, ?)", (no, event, chunks))
        self._db.execute("DELETE FROM asked WHERE mailbox = ? AND event = ?", (no, event))

    def note_dropped(self, no: int, event: bytes, now: int) -> None:
        """Nothing of it is there any more."""
        again = self.was_dropped(no, event)
        self.note(no, event, _SURELY_DROPPED if again else -max(now, 2))

    def was_dropped(self, no: int, event: bytes) -> bool:
        return self._state(no, event) < 0

    def is_to_be_dropped(self, no: int, event: bytes, now: int) -> bool:
        """Whether something may be there: nobody looked, or once and long ago."""
        state = self._state(no, event)
        return state >= 0 or (state != _SURELY_DROPPED and not 0 <= now + state < LOOKED_AGAIN_AFTER)

    def _state(self, no: int, event: bytes) -> int:
        row = self._db.execute("SELECT state FROM placed WHERE mailbox = ? AND event = ?", (no, event)).fetchone()
        return int(row[0]) if row else 0

    def ask(self, no: int, wanted: Iterable[tuple[bytes, int]]) -> None:
        """Somebody does not find (event, chunk) pairs there: whoever has them looks again."""
        for event, number in wanted:
            sql = "SELECT 1 FROM contents WHERE event = ? AND ? BETWEEN 1 AND chunks"
            if self._db.execute(sql, (event, number)).fetchone():
                self._db.execute("INSERT OR IGNORE INTO asked VALUES (?, ?, ?)", (no, event, number))
                self._db.execute("DELETE FROM placed WHERE mailbox = ? AND event = ? AND state >= 0", (no, event))

    def asked(self, no: int, event: bytes) -> set[int]:
        """The chunks of an event that somebody does not find there."""
        rows = self._db.execute("SELECT number FROM asked WHERE mailbox = ? AND event = ?", (no, event)).fetchall()
        return {number for (number,) in rows}
