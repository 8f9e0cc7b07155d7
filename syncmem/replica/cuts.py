"""Cuts: where the logs of devices that were removed from the vault stop to count.

Rules: an event behind a cut is kept and forwarded and has no effect; a cut counts from the transaction in
which this device learned of it, so that what was believed before stays answerable.  Of events that stand twice
(see :mod:`syncmem.replica.moves`) one counts.
"""

from __future__ import annotations

from collections.abc import Callable

from syncmem.model.event import LogKey
from syncmem.replica.connection import Database
from syncmem.replica.logs import SEQ_MASK, Logs


class Cuts:
    """Reads and writes the table ``cuts``."""

    def __init__(self, database: Database, logs: Logs) -> None:
        self._db = database
        self._logs = logs
        self.asked: Callable[[LogKey], int | None] = lambda key: None  # the vault: where a log stops to count
        self.superseded: set[int] = set()  # the events of which a twin counts instead
        self.forget()

    def forget(self) -> None:
        """Read anew."""
        self._moves: dict[bytes, list[tuple[int, int | None]]] = {}
        for log, n, seq in self._db.execute("SELECT log, n, seq FROM cuts ORDER BY log, n"):
            self._moves.setdefault(log, []).append((n, seq))

    def of(self, log: bytes) -> int | None:
        """The last place of a log that counts (while replaying: counted then); None: all of it does."""
        now = self._logs.replayed
        moves = self._moves.get(log, ())
        return next((seq for n, seq in reversed(moves) if now is None or n <= now), None)

    def excludes(self, position: int) -> bool:
        """Whether an event stands behind the cut of its log, or has a twin that counts."""
        if position in self.superseded:
            return True
        if not self._moves:
            return False
        cut = self.of(self._logs.log_of(position).id)
        return cut is not None and position & SEQ_MASK > cut

    def begin(self, key: LogKey, n: int) -> None:
        """A log begins in transaction ``n``, here or elsewhere, perhaps of a removed device."""
        self.note(key.id, n, self.asked(key))

    def note(self, log: bytes, n: int, seq: int | None) -> bool:
        """Store that a log counts up to ``seq`` from transaction ``n`` on; whether that is new."""
        if self.of(log) == seq:
            return False
        self._db.execute("INSERT OR REPLACE INTO cuts VALUES (?, ?, ?)", (log, n, seq))
        self._moves.setdefault(log, []).append((n, seq))
        return True

    def moves_of(self, log: bytes) -> list[int]:
        """The transactions in which a log was cut anew."""
        return [n for n, _ in self._moves.get(log, ())]

    def moved_in(self, n: int) -> list[int]:
        """The positions of events whose logs were cut anew in a transaction."""
        moved = [log for log, moves in self._moves.items() if any(number == n for number, _ in moves)]
        logs = [self._logs.by_id[log] for log in moved if log in self._logs.by_id]
        return [log.position(seq) for log in logs for seq in range(1, log.seq + 1)]
