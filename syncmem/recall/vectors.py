"""Vectors of documents: kept by model, made later than the documents, gone with them at once.

Rules: a vector is made from the entity, the words and the description of the predicate, and the value; it is never
made inside a write.  What has none yet is found from the documents themselves: each model has come up to one of
them (``done``), and begins again where the words of predicates were defined anew.  An old vector serves until then.
Vectors have length one, as 32-bit floats of little-endian order.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from math import sqrt
from sys import byteorder
from typing import Final, NamedTuple

from syncmem.errors import InvalidInput
from syncmem.model.value import from_stored
from syncmem.model.words import name_text, texts_in
from syncmem.recall.embedding import Embedder
from syncmem.replica.catalog import USED_PREDICATES
from syncmem.replica.replica import Replica

LETTERS_MAX: Final = 1_000  # of a value that is embedded
_LOOKED_AT: Final = 20_000  # documents passed over at once, where only some need a vector


class Pending(NamedTuple):
    """A document that needs a vector: its text, and the digest of its predicate's words."""

    document: int
    words: int
    text: str


class Batch(NamedTuple):
    """Documents that need a vector; ``until``: of those up to it no others do, as long as ``words`` are the same."""

    pending: tuple[Pending, ...]
    until: int
    words: int


class Vectors:
    """Reads and writes ``vectors`` and ``embedders`` for one model."""

    def __init__(self, replica: Replica, embedder: Embedder) -> None:
        self._replica = replica
        self._db = replica.db
        self.embedder = embedder

    def model(self) -> int | None:
        """The number of the model; None before its first vector."""
        row = self._db.execute(_STATE, (self.embedder.id,)).fetchone()
        return None if row is None else int(row[0])

    def batch(self, count: int) -> Batch | None:
        """Some documents that need a vector, in their order; None: all have one."""
        row = self._db.execute(_STATE, (self.embedder.id,)).fetchone()
        model, done, words = (-1, 0, 0) if row is None else row
        defined = self._words()
        now = _digest_of_all(defined)
        until = done if words == now else 0
        found: list[Pending] = []
        looked_at = count  # mostly all of the next ones need one
        while len(found) < count:
            rows = self._db.execute(_NEXT, (model, until, looked_at)).fetchall()
            for number, scope, entity, predicate, value, has in rows:
                until = number
                wanted = defined.get((scope, predicate), 0)
                if has != wanted:
                    found.append(Pending(number, wanted, self._text(scope, entity, predicate, value)))
                    if len(found) == count:
                        break
            if len(rows) < looked_at:
                break
            looked_at = _LOOKED_AT
        return None if (until, now) == (done, words) and row is not None else Batch(tuple(found), until, now)

    def put(self, batch: Batch, made: Sequence[Sequence[float]]) -> None:
        """Keep the vectors of those documents that are still there; inside a write transaction."""
        self._db.execute("INSERT OR IGNORE INTO embedders (id) VALUES (?)", (self.embedder.id,))
        model, size = self.model(), self.embedder.dimension
        pairs = zip(batch.pending, made, strict=True)
        rows = [(model, each.words, packed(vector, size), each.document) for each, vector in pairs]
        self._db.executemany(_PUT, rows)
        sql = "UPDATE embedders SET done = ?, words = ? WHERE no = ?"
        self._db.execute(sql, (batch.until, batch.words, model))

    def lacking(self) -> int:
        """How many documents have no vector."""
        row = self._db.execute(_STATE, (self.embedder.id,)).fetchone()
        model, done, words = (-1, 0, 0) if row is None else row
        start = done if words == _digest_of_all(self._words()) else 0
        return int(self._db.execute(_LACKING, (model, start)).fetchone()[0])

    # -- texts --------------------------------------------------------------------------------------

    def _text(self, scope: str, entity: str, predicate: str, value: str) -> str:
        told = " ".join(texts_in(from_stored(value)))[:LETTERS_MAX]
        description = self._replica.catalog.predicate(scope, predicate).description
        return f"{entity} {name_text(predicate)}: {told}. {description}".strip()

    def _words(self) -> dict[tuple[str, str], int]:
        """Of each predicate in use that is described, a digest of the words that go into its vectors."""
        found = {}
        for scope, predicate in self._db.execute(_USED).fetchall():
            description = self._replica.catalog.predicate(scope, predicate).description
            if description:
                found[scope, predicate] = _digest(description)
        return found


_STATE: Final = "SELECT no, done, words FROM embedders WHERE id = ?"
_NEXT: Final = (
    "SELECT d.id, s.scope, s.entity, s.predicate, d.value, v.words FROM documents d JOIN slots s ON s.id = d.slot "
    "LEFT JOIN vectors v ON v.document = d.id AND v.model = ?1 WHERE d.id > ?2 ORDER BY d.id LIMIT ?3"
)
_LACKING: Final = (
    "SELECT count(*) FROM documents d LEFT JOIN vectors v ON v.document = d.id AND v.model = ?1 "
    "WHERE d.id > ?2 AND v.id IS NULL"
)
_PUT: Final = (
    "INSERT OR REPLACE INTO vectors (document, model, words, vector) SELECT id, ?1, ?2, ?3 FROM documents WHERE id = ?4"
)
_USED: Final = (
    f"{USED_PREDICATES} "
    "SELECT DISTINCT l.scope, name FROM used JOIN logs l ON l.scope IS NOT NULL WHERE name IS NOT NULL"
)


def packed(vector: Sequence[float], dimension: int) -> bytes:
    """A vector of length one as it is stored."""
    numbers = [float(number) for number in vector]
    if len(numbers) != dimension:
        raise InvalidInput(f"the embedder made {len(numbers)} numbers and says {dimension}; correct its dimension")
    length = sqrt(sum(number * number for number in numbers)) or 1.0
    stored = array("f", [number / length for number in numbers])
    if byteorder == "big":
        stored.byteswap()
    return stored.tobytes()


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest(), "big")


def _digest_of_all(words: Mapping[tuple[str, str], int]) -> int:
    return _digest(repr(sorted(words.items())))
