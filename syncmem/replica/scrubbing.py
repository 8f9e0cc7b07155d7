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
REWRITE: Final = "rewrite"  # the file may hold traces; the number of the latest transaction that erased follows
EMPTY_LOG: Final = "empty the log"  # the file's new pages are in the write-ahead log; the same number follows


class Scrubber:
    """Reads and writes the table ``chores``."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.forget()

    def forget(self) -> None:
        """Look again what is to be done."""
        row = self._db.execute("SELECT state FROM chores WHERE name = ?", (CHORE,)).fetchone()
        self.state: str | None = None if row is None else str(row[0])

    def mark(self, n: int) -> None:
        """Traces may be left by transaction ``n``; inside it."""
        self.state = f"{REWRITE} {n}"
        self._db.execute("INSERT OR REPLACE INTO chores VALUES (?, ?)", (CHORE, self.state))

    def scrub(self) -> bool:
        """Do what can be done now; whether no trace is left. Outside of a transaction."""
        try:
            while self.state is not None:
                if self.state.startswith(REWRITE):
                    self._db.rewrite()
                    self._done(self.state.replace(REWRITE, EMPTY_LOG))
                elif self._db.empty_log():
                    self._done(None)
                else:
                    return False
        except FileError:  # busy, no room ...: it stays to be done, and doctor tells
            return False
        return True

    def _done(self, then: str | None) -> None:
        """A step is done; if another process has erased more meanwhile, that is still to be scrubbed."""
        with self._db.transaction():
            if then is None:
                self._db.execute("DELETE FROM chores WHERE name = ? AND state = ?", (CHORE, self.state))
            else:
                self._db.execute("UPDATE chores SET state = ? WHERE name = ? AND state = ?", (then, CHORE, self.state))
        self.forget()
