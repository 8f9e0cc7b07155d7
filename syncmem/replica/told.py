"""What other devices told of their frontier notes before they sent them.

Rules: what is told of a note counts until the log goes beyond its place: then the note itself is here; nothing else
follows from it.  A log is named by the start of its id; where that is no log that is known here, what was held of it
has not arrived.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from syncmem.codec import pack_flat, unpack_own
from syncmem.model.event import LogKey
from syncmem.model.frontier import Noted
from syncmem.replica.chain import Log
from syncmem.replica.connection import Database
from syncmem.replica.logs import Logs

TOLD_MAX: Final = 1024  # of one log: some times what may wait


class Told:
    """Reads and writes the table ``told``."""

    def __init__(self, database: Database, logs: Logs) -> None:
        self._db = database
        self._logs = logs

    def keep(self, key: LogKey, notes: Iterable[Noted]) -> None:
        """Keep what a device told of notes in one of its logs; what the log has come to is forgotten."""
        log = self._logs.introduce(key)
        self._db.execute("DELETE FROM told WHERE log = ? AND place <= ?", (log.no, log.seq))
        room = TOLD_MAX - self._db.execute("SELECT count(*) FROM told WHERE log = ?", (log.no,)).fetchone()[0]
        new = [note for note in notes if note.place > log.seq][: max(room, 0)]
        rows = [(log.no, note.place, note.clock, pack_flat([list(entry) for entry in note.changed])) for note in new]
        self._db.executemany("INSERT OR IGNORE INTO told VALUES (?, ?, ?, ?)", rows)

    def behind(self, log: Log) -> list[Noted]:
        """What was told of notes beyond what is held of a log, in order."""
        sql = "SELECT place, clock, changed FROM told WHERE log = ? AND place > ? ORDER BY place"
        rows = self._db.execute(sql, (log.no, log.seq)).fetchall()
        return [Noted(place, clock, [(s, last) for s, last in unpack_own(changed)]) for place, clock, changed in rows]
