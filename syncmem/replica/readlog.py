"""The read log: what was asked, and which claims were found for it.

Rules: it never leaves the device; it holds references to claims, never their texts, so it keeps nothing alive, and
what is erased is erased there, too; with an erased claim, or an erased entity, go the questions that found or named it
(and what would confirm a guess at them: the digest of the prompt).  The oldest entries make room for new ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from syncmem.model.words import terms
from syncmem.replica.connection import Database

RECALLS_MAX: Final = 10_000  # entries that are kept
_NAME_WORDS_MAX: Final = 4  # words of a question that may be the name of an entity


class Reference(NamedTuple):
    """A claim that was found: its position (0: it was erased), whether it was handed out, and as what."""

    claim: int
    handed: bool
    past: bool
    score: float
    why: str


class Entry(NamedTuple):
    """One recall; ``asked``: the limits, as JSON types. Question, limits and digest are None once they were erased.

    ``shared``: another device's.
    """

    no: int
    id: str
    n: int
    time: int
    instant: int
    question: str | None
    asked: dict[str, Any] | None
    digest: bytes | None
    shared: bool = False


class ReadLog:
    """Reads and writes ``recalls`` and ``recalled``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def add(
        self,
        name: str,
        n: int,
        time: int,
        instant: int,
        question: str,
        asked: dict[str, Any],
        digest: bytes,
        found: Sequence[Reference],
    ) -> None:
        """Note a recall; inside a write transaction."""
        row = (name, n, time, instant, question, json.dumps(asked, ensure_ascii=False, sort_keys=True), digest)
        sql = "INSERT INTO recalls (id, n, time, instant, question, asked, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"
        number = int(self._db.execute(sql, row).lastrowid)
        rows = [(number, rank, *reference) for rank, reference in enumerate(found)]
        self._db.executemany("INSERT INTO recalled VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.execute("DELETE FROM recalled WHERE recall <= ?", (number - RECALLS_MAX,))
        self._db.execute("DELETE FROM recalls WHERE no <= ?", (number - RECALLS_MAX,))

    def entry(self, name: str) -> Entry | None:
        """The recall of a receipt."""
        return self._one("id = ?", name)

    def of_digest(self, digest: bytes) -> Entry | None:
        """The latest recall that handed out a prompt."""
        return self._one("digest = ? ORDER BY no DESC LIMIT 1", digest)

    def found(self, entry: Entry) -> list[Reference]:
        """What a recall found, best first."""
        sql = "SELECT claim, handed, past, score, why FROM recalled WHERE recall = ? ORDER BY rank"
        return [Reference(c, h == 1, p == 1, s, w) for c, h, p, s, w in self._db.execute(sql, (entry.no,)).fetchall()]

    # -- forgetting ---------------------------------------------------------------------------------

    def forget_entity(self, entity: str) -> bool:
        """An entity is erased: no question that names it is left; whether there was one."""
        wanted = set(terms(entity))
        gone = [
            number
            for number, question, asked in self._questions()
            if entity.casefold() in question.casefold()
            or (wanted and wanted.issubset(terms(question)))
            or json.loads(asked).get("entity") == entity
        ]
        self._scrub(gone)
        return bool(gone)

    def forget_claims(self, positions: Sequence[int]) -> None:
        """Claims are erased: of a reference only its place is left, and of what found it no question."""
        for position in positions:
            rows = self._db.execute("SELECT DISTINCT recall FROM recalled WHERE claim = ?", (position,)).fetchall()
            if rows:
                self._scrub([row[0] for row in rows])
                self._db.execute("UPDATE recalled SET claim = 0, score = 0, why = '' WHERE claim = ?", (position,))

    def names(self) -> Iterator[str]:
        """What in the questions may be the name of an entity: their words, one or a few together."""
        for _, question, asked in self._questions():
            filtered = json.loads(asked).get("entity")
            if filtered is not None:
                yield filtered
            words = question.split()
            for first in range(len(words)):
                for last in range(first + 1, min(first + _NAME_WORDS_MAX, len(words)) + 1):
                    name = " ".join(words[first:last]).strip(_PUNCTUATION)
                    yield from {name, name.removesuffix("'s"), name.casefold(), name.removesuffix("'s").casefold()}

    def _questions(self) -> list[tuple[int, str, str]]:
        sql = "SELECT no, question, asked FROM recalls WHERE question IS NOT NULL"
        found: list[tuple[int, str, str]] = self._db.execute(sql).fetchall()
        return found

    def _scrub(self, numbers: Sequence[int]) -> None:
        sql = "UPDATE recalls SET question = NULL, asked = NULL, digest = NULL WHERE no = ?"
        self._db.executemany(sql, [(number,) for number in numbers])

    def _one(self, condition: str, value: object) -> Entry | None:
        row = self._db.execute(f"SELECT {_COLUMNS} FROM recalls WHERE {condition}", (value,)).fetchone()
        return None if row is None else _entry(row)


_COLUMNS: Final = "no, id, n, time, instant, question, asked, digest"
_PUNCTUATION: Final = " .,;:!?¿¡\"'()[]«»„“”’"


def _entry(row: tuple[Any, ...]) -> Entry:
    return Entry(*row)._replace(asked=None if row[6] is None else json.loads(row[6]))
