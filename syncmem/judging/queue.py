"""The queue: what was heard and waits to be judged, and what was judged and is in doubt.

Rules: it is a table of the replica's file, so it is as durable as all else, and an erasure takes what it holds
about its entity along; it stays on this device; of what is judged and beyond doubt nothing is kept.
Observed times are settled when a candidate comes in, and told apart by less than a millisecond, so that the order
in which candidates are judged later decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from syncmem.errors import InvalidInput
from syncmem.judging.candidate import NOW, Candidate, from_json, to_json
from syncmem.model.instant import EARLIEST, parse
from syncmem.replica.connection import Database
from syncmem.statements import UNDATED

WAITING_MAX: Final = 100_000  # a year of busy days; more means that nobody consolidates
_APART: Final = 1_000  # microseconds within which candidates of one moment keep their order


class Doubt(NamedTuple):
    """What is in doubt about a candidate that was written: where it may belong instead."""

    predicate: str
    proposals: tuple[str, ...]
    events: tuple[str, ...]


class Entry(NamedTuple):
    id: int
    observed: int
    candidate: Candidate
    doubt: Doubt | None


class Queue:
    """Reads and writes the table ``candidates``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, candidate: Candidate, zone: Any, now: int) -> int:
        """Store a candidate; inside a write transaction."""
        subjects = json.dumps([candidate.entity, *candidate.mentions], ensure_ascii=False)
        sql = "INSERT INTO candidates (scope, subjects, observed, body) VALUES (?, ?, 0, ?)"
        number = int(self._db.execute(sql, (candidate.scope, subjects, to_json(candidate))).lastrowid)
        observed = _observed(candidate, zone, now, number)
        self._db.execute("UPDATE candidates SET observed = ? WHERE id = ?", (observed, number))
        return number

    def check_room(self, count: int) -> None:
        """Refuse more than can wait."""
        if len(self) + count > WAITING_MAX:
            raise InvalidInput(f"at most {WAITING_MAX} candidates can wait to be judged; call consolidate() first")

    def __len__(self) -> int:
        """How many wait."""
        return int(self._db.execute("SELECT count(*) FROM candidates WHERE doubt IS NULL").fetchone()[0])

    def next_after(self, number: int) -> Entry | None:
        """The first that waits behind another one."""
        return self._one("doubt IS NULL AND id > ? ORDER BY id", number)

    def waiting(self, number: int) -> Entry | None:
        """One that still waits."""
        return self._one("doubt IS NULL AND id = ?", number)

    def about(self, scope: str, names: Sequence[str], last: int) -> list[Entry]:
        """Those that wait about an entity of these names, up to one of them."""
        named = "json_extract(subjects, '$[0]') IN (SELECT value FROM json_each(?))"
        sql = f"{_SELECT} doubt IS NULL AND id <= ? AND scope = ? AND {named} ORDER BY id"
        rows = self._db.execute(sql, (last, scope, json.dumps(names, ensure_ascii=False))).fetchall()
        return [_entry(row) for row in rows]

    def in_doubt(self) -> list[Entry]:
        """Those that were judged and are in doubt."""
        rows = self._db.execute(f"{_SELECT} doubt IS NOT NULL ORDER BY id").fetchall()
        return [_entry(row) for row in rows]

    def keep(self, entry: Entry, doubt: Doubt) -> None:
        """Keep a candidate that was written, because it is not sure where it belongs."""
        subjects = json.dumps([entry.candidate.entity, *entry.candidate.mentions], ensure_ascii=False)
        row = (entry.id, entry.candidate.scope, subjects, entry.observed, to_json(entry.candidate), json.dumps(doubt))
        self._db.execute("INSERT INTO candidates VALUES (?, ?, ?, ?, ?, ?)", row)

    def drop(self, number: int) -> None:
        self._db.execute("DELETE FROM candidates WHERE id = ?", (number,))

    def _one(self, condition: str, number: int) -> Entry | None:
        row = self._db.execute(f"{_SELECT} {condition} LIMIT 1", (number,)).fetchone()
        return None if row is None else _entry(row)


_SELECT: Final = "SELECT id, observed, body, doubt FROM candidates WHERE"


def _entry(row: tuple[int, int, str, str | None]) -> Entry:
    number, observed, body, doubt = row
    told = None
    if doubt is not None:
        predicate, proposals, events = json.loads(doubt)
        told = Doubt(predicate, tuple(proposals), tuple(events))
    return Entry(number, observed, from_json(body), told)


def _observed(candidate: Candidate, zone: Any, now: int, number: int) -> int:
    """When it was said, never later than now, and in the order of the queue within a moment."""
    if candidate.observed_at == UNDATED:
        return EARLIEST
    stated = candidate.observed_at
    said = now if stated in (None, NOW) else min(now, parse(stated, zone=candidate.zone or zone).earliest)
    return said + number % _APART
