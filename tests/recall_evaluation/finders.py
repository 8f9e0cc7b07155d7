"""What is judged beside ``Memory.recall``: the finders that anybody would write first.

``ByText`` is a bare FTS5 table: over ``written()``, every row ever written, as a store without time would have it, or
over ``believed(memory)``, what holds at the asked moment.  ``ByVector`` compares the vectors of all that holds, and
reads what a predicate means as well.  Rules: a finder has the method ``recall(question, k=, ...)`` and nothing else
is asked of it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from syncmem import NONE, Memory
from syncmem.replica import driver
from tests.recall_evaluation.embedders import Vectors
from tests.recall_evaluation.telling import CLAIMS, everything_said


@dataclass(frozen=True)
class Row:
    """A belief as far as it is judged."""

    entity: str
    predicate: str
    value: Any

    @property
    def words(self) -> str:
        return "none" if self.value is NONE else str(self.value)

    @property
    def text(self) -> str:
        return f"{self.entity} {self.predicate}".replace("_", " ") + f": {self.words}"


class Hit(Protocol):
    @property
    def belief(self) -> Any: ...


class Found(Protocol):
    @property
    def hits(self) -> Sequence[Hit]: ...


class Finder(Protocol):
    """What is judged; :class:`syncmem.Memory` is one."""

    def recall(self, question: str, *, k: int, valid_at: str | None = None, entity: str | None = None) -> Found: ...


@dataclass(frozen=True)
class RankedRow:
    belief: Row
    score: float


@dataclass(frozen=True)
class Ranked:
    """Rows, best first."""

    hits: tuple[RankedRow, ...]


Rows = Callable[[str | None], tuple[Row, ...]]  # what may be found at a moment


def written() -> Rows:
    """All values that were ever stated, whatever became of them."""
    said = (said for said in everything_said() if said.verb in CLAIMS)
    rows = tuple(dict.fromkeys(Row(said.entity, said.predicate, said.value) for said in said))
    return lambda valid_at: rows


@functools.cache
def believed(memory: Memory) -> Rows:
    """What a memory believes at a moment."""

    @functools.cache
    def rows(valid_at: str | None) -> tuple[Row, ...]:
        beliefs = (b for entity in memory.entities() for b in memory.beliefs(entity, valid_at=valid_at))
        return tuple(Row(b.entity, b.predicate, b.value) for b in beliefs)

    return rows


class ByText:
    """A bare FTS5 table: any word of the question, best bm25 first."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._table = functools.cache(self._filled)

    def recall(self, question: str, *, k: int, valid_at: str | None = None, entity: str | None = None) -> Ranked:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        rows = self._rows(valid_at)
        sql = "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ? ORDER BY 2 DESC"
        found = self._table(valid_at).execute(sql, (words,)).fetchall() if words else []
        hits = (RankedRow(rows[number], score) for number, score in found)
        return Ranked(tuple(hit for hit in hits if entity in (None, hit.belief.entity))[:k])

    def _filled(self, valid_at: str | None) -> Any:
        table = driver.dbapi.connect(":memory:")
        table.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
        rows = enumerate(row.text for row in self._rows(valid_at))
        table.executemany("INSERT INTO texts (rowid, text) VALUES (?, ?)", rows)
        return table


class ByVector:
    """Nearest by cosine, all rows compared; a row's text says what its predicate means."""

    def __init__(self, memory: Memory, embedder: Vectors) -> None:
        self._rows, self._embedder, self._predicates = believed(memory), embedder, memory.predicates()
        self._vectors: dict[str, Any] = {}  # text -> vector

    def recall(self, question: str, *, k: int, valid_at: str | None = None, entity: str | None = None) -> Ranked:
        rows = [row for row in self._rows(valid_at) if entity in (None, row.entity)]
        asked = self._embedder.query(question)
        hits = (RankedRow(row, float(vector @ asked)) for row, vector in zip(rows, self._embedded(rows), strict=True))
        return Ranked(tuple(sorted(hits, key=lambda hit: -hit.score)[:k]))

    def _embedded(self, rows: list[Row]) -> list[Any]:
        texts = [f"{row.text}. {self._predicates[row.predicate].description or ''}" for row in rows]
        unknown = list(dict.fromkeys(text for text in texts if text not in self._vectors))
        if unknown:
            self._vectors.update(zip(unknown, self._embedder.documents(unknown), strict=True))
        return [self._vectors[text] for text in texts]
