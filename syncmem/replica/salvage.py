"""Salvage: what can still be read of a damaged file, row by row, whatever pages of it are lost. Nothing is changed.

Rules: a table is read from both ends up to what cannot be read, and the rows of events between are looked for one
place after the other; a row that does not match its checksum, or says what none can say, is counted and left out.
Nobody else can write meanwhile, where the file still lets itself be locked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from syncmem.errors import Busy, Damaged, SyncmemError
from syncmem.model import salt
from syncmem.model.frame import Stored
from syncmem.model.record import LOG_SHIFT
from syncmem.replica import driver
from syncmem.replica.cipher import FileKey
from syncmem.replica.connection import FAILURES, translated
from syncmem.replica.runs import COLUMNS, cover_of, events_of
from syncmem.replica.side import way_back
from syncmem.replica.transactions import checksum

LOOKS_MAX: Final = 1_000_000  # places at which a row is looked for, one after the other: some seconds
Row = tuple[Any, ...]
Run = tuple[int, int, list[Stored]]  # the position of its first event, its transaction, its events
MISREAD: Final = (SyncmemError, LookupError, TypeError, ValueError)  # what reading a damaged row comes to


class Salvage:
    """A damaged file, open for reading; ``lost`` counts the rows of each table that are not as they were written."""

    def __init__(self, path: str, key: FileKey | None) -> None:
        self._connection = _connected(path, key)
        self.lost: dict[str, int] = {}
        self.hints: dict[int, int] = {}  # position of an event in a damaged row -> when it arrived, if that is sound
        self._broken: set[str] = set()
        self._lock()

    def _lock(self) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except FAILURES as error:
            refusal = translated(error)
            if isinstance(refusal, Busy):
                self._connection.close()
                raise refusal from error
        try:
            self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except FAILURES:  # the text of one table is damaged: it shall not hide the others
            self._connection.execute("PRAGMA writable_schema = ON")

    def close(self) -> None:
        """Let others write."""
        self._connection.close()

    # -- tables -------------------------------------------------------------------------------------

    def rows(self, table: str, columns: str, key: str) -> list[Row]:
        """The rows of a table in the order of a key of theirs, as far as they can be read from either end."""
        found, whole = self._read(f"SELECT {columns} FROM {table} ORDER BY {key}")
        if not whole:
            self._broken.add(table)
            back = ", ".join(f"{part} DESC" for part in key.split(", "))
            behind, _ = self._read(f"SELECT {columns} FROM {table} ORDER BY {back}")
            known = set(found)
            found += [row for row in reversed(behind) if row not in known]
        return found

    def _read(self, sql: str) -> tuple[list[Row], bool]:
        """The rows of a query until it fails; whether it did not."""
        found: list[Row] = []
        try:
            for row in self._connection.execute(sql):
                found.append(row)
        except FAILURES:
            return found, False
        return found, True

    def is_whole(self, table: str) -> bool:
        """Whether all pages of a table could be read."""
        return table not in self._broken

    # -- events -------------------------------------------------------------------------------------

    def runs(self) -> dict[int, list[Run]]:
        """By the number of their log the rows of events that are as they were written, in order."""
        by_log: dict[int, list[Run]] = {}
        for row in self._run_rows():
            try:
                run = (row[0], row[2], events_of(*row))
            except MISREAD:
                self.lose("runs")
                self._hint(*row[:3])
                continue
            by_log.setdefault(row[0] >> LOG_SHIFT, []).append(run)
        return by_log

    def _hint(self, position: int, count: object, tx: object) -> None:
        if isinstance(tx, int) and isinstance(count, int):
            positions = range(position, position + min(max(count, 1), salt.BLOCK_EVENTS))
            self.hints.update(dict.fromkeys(positions, tx))

    def _run_rows(self) -> Iterator[Row]:
        found = {row[0]: row for row in self.rows("runs", COLUMNS, "position")}
        if "runs" in self._broken:
            for row in list(self._between(sorted(found))):
                found[row[0]] = row
        return iter(found[position] for position in sorted(found))

    def _between(self, known: Sequence[int]) -> Iterator[Row]:
        """The rows of events that no reading from the ends came to."""
        numbers = {row[0] for row in self.rows("logs", "no", "no")} | {place >> LOG_SHIFT for place in known}
        ends = {row[0]: row[1] for row in self.rows("logs", "no, seq", "no")}
        held, looks = set(known), LOOKS_MAX
        for number in sorted(numbers):
            place, last = (number << LOG_SHIFT) + 1, (number << LOG_SHIFT) + min(ends.get(number, 0), LOOKS_MAX)
            while place <= last and looks:
                looks -= 1
                row = None if place in held else self._one(place)
                if row is not None:
                    yield row
                place += row[1] if row is not None and 0 < row[1] <= salt.BLOCK_EVENTS else 1

    def _one(self, position: int) -> Row | None:
        rows, _ = self._read(f"SELECT {COLUMNS} FROM runs WHERE position = {position}")
        return rows[0] if rows else None

    def covers(self) -> dict[tuple[int, int], salt.Cover]:
        """By log and block the salt trees that are as they were written."""
        found = {}
        for log, block, body, crc in self.rows("blocks", "log, block, cover, crc", "log, block"):
            try:
                found[log, block] = cover_of(log, block, body, crc)
            except MISREAD:
                self.lose("blocks")
        return found

    def transactions(self) -> dict[int, int]:
        """By number the wall clock of the transactions that are as they were written."""
        found = {}
        for n, wall, crc in self.rows("transactions", "n, wall, crc", "n"):
            try:
                sound = checksum(n, wall) == crc
            except MISREAD:
                sound = False
            if sound:
                found[n] = wall
            else:
                self.lose("transactions")
        return found

    def lose(self, table: str) -> None:
        """A row of a table is not as it was written."""
        self.lost[table] = self.lost.get(table, 0) + 1


def _connected(path: str, key: FileKey | None) -> driver.Connection:
    """A connection of the first kind that the file lets in."""
    failure: Exception = Damaged("less than a page is left of the file")
    for read_only, cut_off in ((False, False), (True, False), (True, True)):
        try:
            if os.path.getsize(path) >= driver.PAGE_BYTES:
                return driver.connect(path, key=key, read_only=read_only, cut_off=cut_off)
        except FAILURES as error:
            failure = error
    raise Damaged(f"{failure}; nothing of the file can be read: {way_back(path)}") from failure
