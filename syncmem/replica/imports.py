"""Imports as a replica holds them: which records of which archives are known, so that none comes in twice.

Rules: it follows from the events alone, so devices that hold the same events know the same records; what was taken
back one by one stays known, what was withdrawn with its batch, or was erased, is not; where a record came in more than
once, because devices did not know of each other, the same one of its events stands for it on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from syncmem.model.imported import IDENTITY_BYTES, ORIGIN_BYTES
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.logs import Logs


class Imports:
    """Reads and writes the table ``imported``."""

    def __init__(self, database: Database, logs: Logs, cuts: Cuts, withdrawn: Callable[[int], bool]) -> None:
        self._db = database
        self._logs = logs
        self._cuts = cuts
        self._withdrawn = withdrawn

    def add(self, position: int, mark: bytes, batch: int) -> None:
        """An event of an import arrived; ``batch``: the number of its batch."""
        self._db.execute("INSERT OR IGNORE INTO imported VALUES (?, ?, ?)", (mark, position, batch))

    def remove(self, position: int, mark: bytes) -> None:
        """An event of an import is erased."""
        self._db.execute("DELETE FROM imported WHERE mark = ? AND position = ?", (mark, position))

    def known(self, mark: bytes) -> int | None:
        """Where a record of an archive stands, if it is known and was not withdrawn."""
        rows = self._db.execute("SELECT position, batch FROM imported WHERE mark = ?", (mark,)).fetchall()
        standing = [p for p, batch in rows if not self._cuts.excludes(p) and not self._withdrawn(batch)]
        return min(standing, key=lambda position: (self._logs.log_of(position).id, position), default=None)

    def batches_of(self, begin: bytes) -> set[int]:
        """The batches that hold a record, whatever it said, or any of a source; ``begin``: how their marks begin."""
        sql = "SELECT DISTINCT batch FROM imported WHERE mark BETWEEN ? AND ?"
        found = self._db.execute(sql, (begin, begin + b"\xff" * 32)).fetchall()
        return {batch for (batch,) in found if not self._withdrawn(batch)}

    def records(self, origin: bytes, batches: Iterable[int]) -> int:
        """How many records of one source some batches hold, each once, however often it was changed there."""
        within = (origin, origin + b"\xff" * 32)
        standing = [str(int(batch)) for batch in sorted(batches)]
        identity = f"substr(mark, {ORIGIN_BYTES + 1}, {IDENTITY_BYTES})"
        sql = (
            f"SELECT count(DISTINCT {identity}) FROM imported WHERE mark BETWEEN ? AND ? "
            f"AND batch IN ({', '.join(standing)})"
        )
        return int(self._db.execute(sql, within).fetchone()[0])

    def batches(self) -> list[tuple[str, str, int, bool]]:
        """Every batch that came out of an archive: its scope, its name, how many events it has, if it is withdrawn."""
        sql = (
            "SELECT b.scope, b.name, i.batch, count(*) FROM imported i JOIN batches b ON b.id = i.batch "
            "GROUP BY i.batch ORDER BY min(i.position)"
        )
        found = self._db.execute(sql).fetchall()
        return [(scope, name, count, self._withdrawn(batch)) for scope, name, batch, count in found]
