"""Scrubbing: no byte of what was erased stays in any file.

Rules: SQLite overwrites what it deletes, but pages that were once rearranged may keep copies in their slack;
so after an erasure the file is rewritten, then the write-ahead log is emptied into it.  A damaged file that a repair
has set aside is deleted, because nobody can tell what it holds, once the repair needs it no more.  What is still to be
done stands in the file itself, so that another process, a later write or a later start does it.  A reader
with an old view holds up the last step; nothing waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Final

from syncmem.errors import FileError
from syncmem.replica.connection import Database
from syncmem.replica.driver import MEMORY

CHORE: Final = "scrub"
REPAIR: Final = "repair"  # a repair is under way: see :mod:`syncmem.replica.mending`
DROP: Final = "drop damaged"  # what a repair has set aside is to go
DAMAGED_SUFFIX: Final = ".damaged"  # of what a repair replaced; a second one has ".2" behind it
REPLACED_SUFFIX: Final = ".replaced"  # of what a restore replaced: it stays, and the doctor tells
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

    def mark(self, n: int, *, erased: bool = False) -> None:
        """Traces may be left by transaction ``n``; inside it. ``erased``: of what was erased, in damaged files too."""
        if erased and self.keeps_damaged:
            self._db.execute("INSERT OR REPLACE INTO chores VALUES (?, '')", (DROP,))
        self.state = f"{REWRITE} {n}"
        self._db.execute("INSERT OR REPLACE INTO chores VALUES (?, ?)", (CHORE, self.state))

    def scrub(self) -> bool:
        """Do what can be done now; whether no trace is left. Outside of a transaction."""
        try:
            while self.state is not None:
                if self.state.startswith(REWRITE):
                    self._db.rewrite()
                    self._done(self.state.replace(REWRITE, EMPTY_LOG))
                elif self._db.empty_log() and self._drop_damaged():
                    self._done(None)
                else:
                    return False
        except (FileError, OSError):  # busy, no room ...: it stays to be done, and doctor tells
            return False
        return True

    @property
    def keeps_damaged(self) -> bool:
        """Whether a damaged file was set aside."""
        return next(self._damaged(), None) is not None

    def _damaged(self) -> Iterator[str]:
        if self._db.path != MEMORY:
            names = (f"{self._db.path}{DAMAGED_SUFFIX}{number}" for number in ("", *(f".{n}" for n in range(2, 100))))
            yield from takewhile(self._db.disk.identity, names)

    def _drop_damaged(self) -> bool:
        """Delete the files that were set aside, if something was erased since; whether none is left that is to go."""
        chores = {row[0] for row in self._db.execute("SELECT name FROM chores").fetchall()}
        if DROP not in chores or REPAIR in chores:
            return DROP not in chores
        for name in list(self._damaged())[::-1]:
            for beside in ("-wal", "-shm", ""):
                self._db.disk.remove(f"{name}{beside}")
        return True

    def _done(self, then: str | None) -> None:
        """A step is done; if another process has erased more meanwhile, that is still to be scrubbed."""
        with self._db.transaction():
            if then is None:
                self._db.execute("DELETE FROM chores WHERE name = ?", (DROP,))
                self._db.execute("DELETE FROM chores WHERE name = ? AND state = ?", (CHORE, self.state))
            else:
                self._db.execute("UPDATE chores SET state = ? WHERE name = ? AND state = ?", (then, CHORE, self.state))
        self.forget()
