"""The nearest documents to a question: exactly among some ten thousands, through one-bit vectors among more.

Rules: the vectors in the file are the truth.  The quick first pass is a cache in this process's memory, made from
them when it is first needed and never written: a copied file needs no care, and an erasure leaves no trace in it.
Comparing is done by sqlite-vec where it can be loaded, else by numpy, else in plain Python; the first pass by numpy
where it is installed, else by sqlite-vec, which takes time for each that it is asked for, so for fewer; else all are
compared.  Where all are compared the answers are the same; a first pass leaves out some that are hardly alike.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from sys import byteorder
from typing import Any, Final, TypeVar

from syncmem.recall.asked import Axes
from syncmem.recall.vectors import Vectors
from syncmem.replica.driver import dbapi, driver
from syncmem.replica.replica import Replica

EXACT_MAX: Final = 5_000  # vectors that are all compared; among more, one-bit vectors choose whom to compare
NEAREST_MAX: Final = 300  # documents that are proposed, the nearest first: compared exactly, whoever chose them
_FILTERED_MAX: Final = 20_000  # documents within filters that are compared
NEAREST_IN_SQL_MAX: Final = 100  # ... as many where sqlite-vec does the first pass
_ASKED_AT_ONCE: Final = 500
T = TypeVar("T")


class Comparer:
    """Compares vectors that are in the file of one replica."""

    def __init__(self, replica: Replica, *, extension: bool = True, numpy: bool = True) -> None:
        self._db = replica.db
        self._numpy: Any = _numpy() if numpy else None
        self.engine = "sqlite-vec" if extension and _loaded(replica) else "numpy" if self._numpy else "python"

    def compared(
        self, rows: str, parameters: dict[str, Any], asked: bytes, most: int = NEAREST_MAX
    ) -> list[tuple[float, Any]]:
        """The likeness of rows, whose last column is a vector, with the rest of each row: the most alike first."""
        about = parameters | {"asked": asked}
        if self.engine == "sqlite-vec":
            sql = f"SELECT 1 - vec_distance_cosine(vector, :asked) AS likeness, * FROM ({rows}) ORDER BY likeness DESC"
            found = self._db.execute(f"{sql} LIMIT {most}", about).fetchall()
            return [(row[0], row[1:-1]) for row in found]
        held = self._db.execute(rows, about).fetchall()
        likenesses = self._likenesses([row[-1] for row in held], asked)
        best = heapq.nlargest(most, range(len(held)), key=likenesses.__getitem__)
        return [(likenesses[index], held[index][:-1]) for index in best]

    def _likenesses(self, vectors: Sequence[bytes], asked: bytes) -> list[float]:
        if self._numpy is not None and vectors:
            matrix = self._numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
            found: list[float] = (matrix @ self._numpy.frombuffer(asked, dtype="<f4")).tolist()
            return found
        mine = _numbers(asked)
        return [sum(map(float.__mul__, mine, _numbers(vector))) for vector in vectors]


class Nearest(Comparer):
    """Finds the nearest documents of one replica under one model."""

    def __init__(self, replica: Replica, vectors: Vectors, *, extension: bool = True, numpy: bool = True) -> None:
        super().__init__(replica, extension=extension, numpy=numpy)
        self._vectors = vectors
        self._bits: Any = None
        self._documents: Any = None
        self._until = 0

    def to(self, asked: bytes) -> Likeness:
        """The likeness of documents to a question, by its vector."""
        embedder = self._vectors.embedder
        span = getattr(embedder, "unlike", 0.2), getattr(embedder, "alike", 1.0)
        return Likeness(self, self._vectors.model(), asked, span)

    def all_compared(self, model: int) -> bool:
        """Whether every vector is compared: there are few, or one-bit vectors cannot be had."""
        few = self._db.execute(_SOME, (model, EXACT_MAX + 1)).fetchone()[0] <= EXACT_MAX
        return bool(few or self._vectors.embedder.dimension % 8 or self.engine == "python")

    # -- one bit for each number ----------------------------------------------------------------------

    def roughly(self, model: int, asked: bytes) -> list[int]:
        """Live documents that may be the nearest, by their one-bit vectors."""
        self._follow(model)
        if self._numpy is None:
            sql = "SELECT rowid FROM temp.near WHERE bits MATCH vec_quantize_binary(?) AND k = ?"
            return [row[0] for row in self._db.execute(sql, (asked, NEAREST_IN_SQL_MAX)).fetchall()]
        numpy = self._numpy
        far = numpy.bitwise_count(self._bits ^ self._bits_of([asked])).sum(axis=1, dtype=numpy.uint16)
        if len(far) > NEAREST_MAX:
            found: list[int] = self._documents[numpy.argpartition(far, NEAREST_MAX)[:NEAREST_MAX]].tolist()
            return found
        return list(self._documents.tolist())

    def _follow(self, model: int) -> None:
        """Take in the vectors that were made since."""
        last = int(self._db.execute("SELECT coalesce(max(id), 0) FROM vectors").fetchone()[0])
        until = self._reached()
        if last > until:
            self._add(model, until)
            self._reach(last)

    def _reached(self) -> int:
        """Up to which row the one-bit vectors were made; with sqlite-vec as transactional as they are."""
        if self._numpy is not None:
            return self._until
        self._db.execute("CREATE TEMP TABLE IF NOT EXISTS near_until (until INTEGER NOT NULL)")
        row = self._db.execute("SELECT until FROM temp.near_until").fetchone()
        return 0 if row is None else int(row[0])

    def _reach(self, until: int) -> None:
        self._until = until
        if self._numpy is None:
            self._db.execute("DELETE FROM temp.near_until")
            self._db.execute("INSERT INTO temp.near_until VALUES (?)", (until,))

    def _add(self, model: int, until: int) -> None:
        size = self._vectors.embedder.dimension
        if self._numpy is None:
            if not until:
                self._db.execute("DROP TABLE IF EXISTS temp.near")
                self._db.execute(f"CREATE VIRTUAL TABLE temp.near USING vec0(bits bit[{size}])")
            gone = "DELETE FROM temp.near WHERE rowid IN (SELECT document FROM vectors WHERE model = ? AND id > ?)"
            self._db.execute(gone, (model, until))
            self._db.execute(_FILL, (model, until))
            return
        rows = self._db.execute(_LIVE_AFTER, (model, until)).fetchall()
        numbers = self._numpy.array([row[0] for row in rows], dtype=self._numpy.int64)
        bits = self._bits_of([row[1] for row in rows])
        self._documents = numbers if not until else self._numpy.concatenate([self._documents, numbers])
        self._bits = bits if not until else self._numpy.concatenate([self._bits, bits])

    def _bits_of(self, vectors: Sequence[bytes]) -> Any:
        numpy, size = self._numpy, self._vectors.embedder.dimension
        matrix = numpy.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), size)
        return numpy.packbits(matrix > 0, axis=1)

    def forget(self) -> None:
        """Make the one-bit vectors anew when they are next needed."""
        self._reach(0)


class Likeness:
    """How alike documents are to one question: 0 as texts that have nothing to do with each other, 1 as its answer.

    ``span``: the cosines that mean 0 and 1.
    """

    def __init__(self, nearest: Nearest, model: int | None, asked: bytes, span: tuple[float, float]) -> None:
        self._nearest = nearest
        self._db = nearest._db
        self._model = model
        self._asked = asked
        self._unlike, self._alike = span

    def nearest(self, axes: Axes, filters: str) -> Iterator[int]:
        """Documents like the question, the most alike first: live ones, or those that were live then."""
        if self._model is None:
            return
        compared = self._nearest.compared
        if axes.n is not None:
            found = compared(_AS_OF, {"model": self._model, "n": axes.n}, self._asked)
        elif filters:
            match = filters.removeprefix(" AND ")
            found = compared(_FILTERED, {"model": self._model, "match": match, "most": _FILTERED_MAX}, self._asked)
        elif self._nearest.all_compared(self._model):
            found = compared(_LIVE, {"model": self._model}, self._asked)
        else:
            found = self._among_nearest(self._model)
        found.sort(key=lambda pair: (-round(pair[0], 6), pair[1]))
        yield from (row[0] for likeness, row in found if likeness > self._unlike)

    def _among_nearest(self, model: int) -> list[tuple[float, Any]]:
        """The likeness of the documents that seem nearest; what is no longer believed does not crowd them out."""
        for last_try in (False, True):
            near = self._nearest.roughly(model, self._asked)
            found = self._nearest.compared(_among(near), {"model": model}, self._asked)
            if last_try or len(found) * 2 > len(near):
                break
            self._nearest.forget()
        return found

    def of(self, documents: Iterable[tuple[int, int]]) -> dict[tuple[int, int], float]:
        """The likeness of documents, each named by its slot and digest; of those that have a vector."""
        if self._model is None:
            return {}
        found: dict[tuple[int, int], float] = {}
        for part in _parts(sorted(set(documents))):
            pairs = ", ".join(f"({slot}, {digest})" for slot, digest in part)
            for likeness, pair in self._nearest.compared(
                _OF.format(pairs), {"model": self._model}, self._asked, len(part)
            ):
                found[pair] = max(0.0, (likeness - self._unlike) / (self._alike - self._unlike))
        return found


_LIVE_JOIN: Final = "FROM vectors v JOIN documents d ON d.id = v.document WHERE v.model = {} AND d.live > 0"
_SOME: Final = "SELECT count(*) FROM (SELECT 1 FROM vectors WHERE model = ? LIMIT ?)"
_OF: Final = (
    "SELECT d.slot, d.digest, v.vector FROM documents d JOIN vectors v ON v.document = d.id "
    "WHERE v.model = :model AND (d.slot, d.digest) IN (VALUES {})"
)
_LIVE_AFTER: Final = f"SELECT d.id, v.vector {_LIVE_JOIN.format('?')} AND v.id > ?"
_FILL: Final = (
    f"INSERT INTO temp.near(rowid, bits) SELECT d.id, vec_quantize_binary(v.vector) {_LIVE_JOIN.format('?')} "
    "AND v.id > ?"
)
_LIVE: Final = f"SELECT d.id, v.vector {_LIVE_JOIN.format(':model')}"
_AS_OF: Final = (
    "SELECT d.id, v.vector FROM vectors v JOIN documents d ON d.id = v.document WHERE v.model = :model "
    "AND EXISTS (SELECT 1 FROM beliefs b WHERE b.slot = d.slot AND b.lane = d.lane AND b.value = d.value "
    "AND b.known_from <= :n AND b.known_to > :n)"
)
_FILTERED: Final = (
    "SELECT v.document, v.vector FROM (SELECT rowid FROM text_live WHERE text_live MATCH :match LIMIT :most) t "
    "JOIN vectors v ON v.document = t.rowid >> 1 WHERE v.model = :model AND NOT t.rowid & 1"
)


def _among(documents: Sequence[int]) -> str:
    return f"{_LIVE} AND d.id IN ({','.join(map(str, documents))})"


def _parts(numbers: Sequence[T]) -> Iterator[Sequence[T]]:
    return (numbers[first : first + _ASKED_AT_ONCE] for first in range(0, len(numbers), _ASKED_AT_ONCE))


def _numbers(vector: bytes) -> list[float]:
    found = array("f")
    found.frombytes(vector)
    if byteorder == "big":
        found.byteswap()
    return found.tolist()


def _loaded(replica: Replica) -> bool:
    """Whether this connection has sqlite-vec now."""
    if not driver().extensions:
        return False
    connection = replica.db.raw
    with suppress(ImportError, AttributeError, dbapi.Error):
        import sqlite_vec

        connection.enable_load_extension(True)
        try:
            sqlite_vec.load(connection)
        finally:
            connection.enable_load_extension(False)
        return True
    return False


def _numpy() -> Any:
    """numpy, where it is installed and counts bits."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy if hasattr(numpy, "bitwise_count") else None
