"""What is judged beside ``Memory.recall``: the finders that anybody would write first, and a better one.

``ByText`` is a bare FTS5 table: over ``written()``, every row ever written, as a store without time would have it, or
over ``believed(memory)``, what holds at the asked moment.  ``BySlot`` and ``ByVector`` read what a predicate means as
well; ``Summed`` adds them up, by the rule that did best here (README.md).  Rules: a finder has the method
``recall(question, k=, ...)`` and nothing else is asked of it.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any, Protocol

from syncmem import NONE, Memory
from syncmem.replica import driver
from tests.recall_evaluation.embedders import Embedder
from tests.recall_evaluation.telling import CLAIMS, everything_said

EVERYTHING = 100_000  # hits; more than there are rows
TEXT_WEIGHT = 0.25  # of bm25, beside cosines in standard deviations from their mean
NAMED_WEIGHT = 3.0  # for a row whose entity the question names
CJK = re.compile("[\u3040-\u30ff\u4e00-\u9fff]+")
LITTLE_WORDS = """
    a about after all am an and any are as at be been before but by can could did do does for from had has have he her
    him his how i if in into is it its me might my no not of on or out over she should so than that the their them then
    there these they this those to under up was were what when where which who whom whose why will with would you your
    am das dem den der des die ein eine hat ist sind und von was welche welcher welches wem wer wie wo zu
    as com como da de do e em na no o onde os para por qual quando que quem se um uma
    al con cómo cuál cuándo del dónde el en es la las le lo los para que quién qué tiene un una y
"""  # in English, German, Portuguese and Spanish


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

    columns, weights, tokenizer = ("text",), (1.0,), "unicode61"

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._table = functools.cache(self._filled)

    def recall(self, question: str, *, k: int, valid_at: str | None = None, entity: str | None = None) -> Ranked:
        words = " OR ".join(f'"{word}"' for word in self.words(question))
        rows = self._rows(valid_at)
        sql = f"SELECT rowid, -bm25(texts, {', '.join(map(str, self.weights))}) FROM texts WHERE texts MATCH ?"
        found = self._table(valid_at).execute(f"{sql} ORDER BY 2 DESC", (words,)).fetchall() if words else []
        hits = (RankedRow(rows[number], score) for number, score in found)
        return Ranked(tuple(hit for hit in hits if entity in (None, hit.belief.entity))[:k])

    def fields(self, row: Row) -> tuple[str, ...]:
        """What is indexed of a row, a text for each column."""
        return (row.text,)

    def words(self, question: str) -> list[str]:
        return re.findall(r"\w+", question)

    def _filled(self, valid_at: str | None) -> Any:
        table = driver.dbapi.connect(":memory:")
        table.execute(f"CREATE VIRTUAL TABLE texts USING fts5({', '.join(self.columns)}, tokenize='{self.tokenizer}')")
        fields = ((number, *self.fields(row)) for number, row in enumerate(self._rows(valid_at)))
        marks = ", ".join("?" * len(self.columns))
        table.executemany(f"INSERT INTO texts (rowid, {', '.join(self.columns)}) VALUES (?, {marks})", fields)
        return table


class BySlot(ByText):
    """What was said of a slot leads to what holds in it.

    Stems, without little words, Japanese by pairs of characters; beside the value: how the predicate is called and
    what it means, and the values that its slot was said to have and has not.
    """

    columns = ("entity", "predicate", "value", "aliases", "description", "other_values")
    weights = (3.0, 3.0, 2.0, 2.0, 1.0, 2.0)
    tokenizer = "porter unicode61 remove_diacritics 2"

    def __init__(self, memory: Memory) -> None:
        super().__init__(believed(memory))
        self._predicates, self._little = memory.predicates(), frozenset(LITTLE_WORDS.split())
        self._stated: dict[tuple[str, str], list[Row]] = defaultdict(list)  # of the single-valued slots
        for row in written()(None):
            if not self._predicates[row.predicate].many:
                self._stated[row.entity, row.predicate].append(row)

    def fields(self, row: Row) -> tuple[str, ...]:
        about = self._predicates[row.predicate]
        others = [other.words for other in self._stated[row.entity, row.predicate] if other != row]
        called = (row.entity.replace("_", " "), row.predicate.replace("_", " "), row.words)
        fields = (*called, "; ".join(about.aliases or ()), about.description or "", "; ".join(others))
        return tuple(map(in_pairs, fields))

    def words(self, question: str) -> list[str]:
        words = super().words(in_pairs(question))
        return [word for word in words if word.casefold() not in self._little] or words


class ByVector:
    """Nearest by cosine, all rows compared; a row's text says what its predicate means."""

    def __init__(self, memory: Memory, embedder: Embedder) -> None:
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


class Summed:
    """The cosine in standard deviations, some of bm25, and something for the entity that the question names."""

    def __init__(self, memory: Memory, embedder: Embedder) -> None:
        self._vector, self._text = ByVector(memory, embedder), BySlot(memory)

    def recall(self, question: str, *, k: int, valid_at: str | None = None, entity: str | None = None) -> Ranked:
        axes = {"valid_at": valid_at, "entity": entity}
        near = self._vector.recall(question, k=EVERYTHING, **axes).hits
        mean, spread = fmean(hit.score for hit in near), pstdev(hit.score for hit in near)
        matching = {hit.belief: hit.score for hit in self._text.recall(question, k=EVERYTHING, **axes).hits}
        scored = [
            RankedRow(
                hit.belief,
                (hit.score - mean) / spread
                + TEXT_WEIGHT * matching.get(hit.belief, 0)
                + NAMED_WEIGHT * names(question, hit.belief.entity),
            )
            for hit in near
        ]
        return Ranked(tuple(sorted(scored, key=lambda hit: -hit.score)[:k]))


def names(question: str, entity: str) -> bool:
    """Whether a question names an entity: all words of its id but the article, also in the genitive."""
    words = set(re.findall("[a-z0-9]+", question.casefold()))
    words |= {word.removesuffix("s") for word in words}
    return all(part in words for part in entity.split("_") if part not in ("a", "the"))


def in_pairs(text: str) -> str:
    """A text whose Japanese is written as overlapping pairs of characters."""

    def pairs(found: re.Match[str]) -> str:
        run = found.group()
        return f" {' '.join(run[place : place + 2] for place in range(max(1, len(run) - 1)))} "

    return CJK.sub(pairs, text)
