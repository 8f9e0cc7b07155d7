"""Scrubbing: no byte of what was erased stays in any file.

Rules: SQLite overwrites what it deletes, but pages that were once rearranged may keep copies in their slack;
so after an erasure the file is rewritten, then the write-ahead log is emptied into it.  What is still to be
done stands in the file itself, so that another process, a later write or a later start does it.  A reader
with an old view holds up the last step; nothing waits for it.
"""

from __future__ import annotations

from typing import Final

from syncmem.errors import FileError
from syncmem.replica.connection import Database

CHORE: Final = "scrub"
REWRITE: Final = "rewrite"  # the file may hold traces
EMPTY_LOG: Final = "empty the log"  # the file's new pages are in the write-ahead log


class Scrubber:
    """Reads and writes the table ``chores``."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.forget()

    def forget(self) -> None:
        """Look again what is to be done."""
        row = self._db.execute("SELECT state FROM chores WHERE name = ?", (CHORE,)).fetchone()
        self.state: str | None = None if row is None else str(row[0])

    def mark(self) -> None:
        """Traces may be left; inside the write transaction that erases."""
        self._note(REWRITE)

    def scrub(self) -> bool:
        """Do what can be done now; whether no trace is left. Outside of a transaction."""
        if self.state is None:
            return True
        try:
            if self.state == REWRITE:
                self._db.rewrite()
                with self._db.transaction():
                    self._note(EMPTY_LOG)
            if not self._db.empty_log():
                return False
            with self._db.transaction():
                self._note(None)
        except FileError:  # busy, no room ...: it stays to be done, and doctor tells
            return False
        return True

    def _note(self, state: str | None) -> None:
        if state is None:
            self._db.execute("DELETE FROM chores WHERE name = ?", (CHORE,))
        else:
            self._db.execute("INSERT OR REPLACE INTO chores VALUES (?, ?)", (CHORE, state))
        self.state = state
