"""Recall at 10,000 and 100,000 live claims: how long an answer takes, what the index costs in bytes and at each write.

People with twenty predicates each; values of three to eight words, a few of them common, most rare, as words are.
Vectors of 256 numbers come from a hash, so the time of a model is not in any figure.  Beside a recall stands a bare
FTS5 query for the same question and the product of all vectors with the question's by numpy, in the same run.

Reach (first stage): at 100,000 claims p50 below 30 ms and p99 below 120 ms.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

from syncmem import Memory
from syncmem.replica.driver import dbapi
from tests.benchmarks.measuring import Row, alternate, at_most, in_unit, latency, quantile, timed
from tests.benchmarks.workshop import Workshop

P50_REACH_MS, P99_REACH_MS = 30.0, 120.0
PREDICATES = tuple(
    f"{first}_{second}"
    for first in ("home", "work", "last", "best")
    for second in ("city", "colour", "meal", "tool", "trip")
)
COMMON = 200  # words that half of all words are of
RARE = 20_000


class Sizes(NamedTuple):
    claims: tuple[int, ...]
    questions: int
    rounds: int
    writes: int


SIZES = {
    "small": Sizes((300,), questions=5, rounds=2, writes=10),
    "quick": Sizes((10_000,), questions=60, rounds=3, writes=200),
    "full": Sizes((10_000, 100_000), questions=120, rounds=3, writes=500),
}


class Hashed:
    """Vectors out of a hash: nothing is alike, and nothing takes time."""

    id = "benchmark-256"
    dimension = 256
    unlike = 0.0

    def embed_documents(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> Sequence[float]:
        numbers = array("b")
        numbers.frombytes(Random(crc32(text.encode())).randbytes(self.dimension))
        return numbers


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    rows: list[Row] = []
    with workshop.scratch() as folder:
        for claims in sizes.claims:
            with Memory(folder / f"{claims}.db", embedder=Hashed()) as memory:
                texts = _filled(memory, claims)
                rows += _sizes(memory, claims)
                rows += _answers(memory, claims, texts, sizes)
        rows += _writes(folder, sizes)
    return rows


def _word(random: Random) -> str:
    kind, number = ("common", random.randrange(COMMON)) if random.random() < 0.5 else ("rare", random.randrange(RARE))
    return f"{'ckmprstvbd'[number % 10]}{'aeiou'[number // 10 % 5]}{kind[0]}{number:x}"


def _filled(memory: Memory, claims: int) -> list[tuple[str, str, str]]:
    random, said = Random(5), []
    for first in range(0, claims, 1_000):
        with memory.transaction():
            for number in range(first, min(first + 1_000, claims)):
                entity, predicate = f"person {number // len(PREDICATES)}", PREDICATES[number % len(PREDICATES)]
                value = " ".join(_word(random) for _ in range(random.randint(3, 8)))
                memory.remember(entity, predicate, value)
                said.append((entity, predicate, value))
    return said


def _sizes(memory: Memory, claims: int) -> list[Row]:
    """What the index takes in the file."""
    before = _bytes(memory)
    wanted, memory._embedder_wanted = memory._embedder_wanted, None
    seconds = time.process_time()
    memory.index()
    texts = _bytes(memory)
    built = time.process_time() - seconds
    memory._embedder_wanted, memory._embedding_sought = wanted, False
    memory.index()
    of = f"{claims:,} claims"
    return [
        Row(f"index of texts, {of}", (texts - before) / claims, "B/claim", before / claims, texts / before),
        Row(f"vectors, {of}", (_bytes(memory) - texts) / claims, "B/claim"),
        Row(f"making the index of texts, {of}", in_unit(built / claims, "µs"), "µs"),
    ]


def _bytes(memory: Memory) -> int:
    pages, free, size = (
        memory._replica.db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _answers(memory: Memory, claims: int, said: list[tuple[str, str, str]], sizes: Sizes) -> list[Row]:
    random = Random(9)
    asked = [_question(random, *random.choice(said)) for _ in range(sizes.questions)]
    memory.recall(asked[0][1], log=False)  # the first one makes the one-bit vectors
    bare = _bare(said)
    product = _product(memory, claims)
    known = memory._replica.last_transaction

    def ours(number: int, **options: Any) -> Any:
        return timed([partial(memory.recall, question, log=False, **options) for _, question in asked])

    def filtered(number: int) -> Any:
        return timed([partial(memory.recall, question, log=False, entity=entity) for entity, question in asked])

    def by_text(number: int) -> Any:
        return timed([partial(bare, question) for _, question in asked])

    def by_vector(number: int) -> Any:
        return timed([partial(product, question) for _, question in asked])

    of = f"{claims:,} live claims"
    plain = alternate(sizes.rounds, ours, by_text)
    rows = [
        latency(f"recall, {of}, p50, by a bare FTS5 query", plain, reach=at_most(P50_REACH_MS)),
        latency(f"recall, {of}, p99, by a bare FTS5 query", plain, share=0.99, reach=at_most(P99_REACH_MS)),
        latency(f"recall of an entity, {of}, p50, by a bare FTS5 query", alternate(sizes.rounds, filtered, by_text)),
    ]
    if product is not _nothing:
        rows.append(latency(f"recall, {of}, p50, by all vectors in numpy", alternate(sizes.rounds, ours, by_vector)))
    noted = timed([partial(memory.recall, question) for _, question in asked])
    then = timed([partial(memory.recall, question, log=False, known_at=known) for _, question in asked[:10]])
    rows += [
        Row(f"recall with a receipt, {of}, p50", in_unit(quantile(noted.walls, 0.5), "ms"), "ms"),
        Row(f"recall with known_at, {of}, p50", in_unit(quantile(then.walls, 0.5), "ms"), "ms"),
    ]
    return rows


def _question(random: Random, entity: str, predicate: str, value: str) -> tuple[str, str]:
    """A question by the slot, by words of the value, or by both."""
    words = value.split()
    kinds = (
        f"What is the {predicate.replace('_', ' ')} of {entity}?",
        f"Who has {words[0]} and {words[-1]}?",
        f"Does {entity} know of {words[1]}?",
    )
    return entity, random.choice(kinds)


def _bare(said: list[tuple[str, str, str]]) -> Callable[[str], object]:
    table = dbapi.connect(":memory:")
    table.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
    table.executemany("INSERT INTO texts (text) VALUES (?)", [(" ".join(row).replace("_", " "),) for row in said])

    def query(question: str) -> object:
        words = " OR ".join(f'"{word}"' for word in question.rstrip("?").split())
        return table.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10", (words,)).fetchall()

    return query


def _nothing(question: str) -> object:
    return None


def _product(memory: Memory, claims: int) -> Callable[[str], object]:
    try:
        import numpy
    except ImportError:
        return _nothing
    rows = [row[0] for row in memory._replica.db.execute("SELECT vector FROM vectors").fetchall()]
    matrix = numpy.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), -1)
    embedder = Hashed()

    def query(question: str) -> object:
        asked = numpy.array(embedder.embed_query(question), dtype="<f4")
        likeness = matrix @ asked
        return numpy.argpartition(-likeness, min(10, len(rows) - 1))[:10].tolist()

    return query


def _writes(folder: Path, sizes: Sizes) -> list[Row]:
    """A write and a merge in bulk with the index, by the same without one."""
    random = Random(3)
    with Memory(folder / "with.db", embedder=None) as indexed, Memory(folder / "without.db", embedder=None) as plain:
        for memory in (indexed, plain):
            _filled(memory, min(sizes.claims))
        indexed.index()

        def some(memory: Memory, number: int) -> Any:
            values = [f"{_word(random)} {_word(random)} {number} {index}" for index in range(sizes.writes)]
            return timed(
                [partial(memory.remember, f"new {index % 50}", "home_city", v) for index, v in enumerate(values)]
            )

        def many(memory: Memory, number: int) -> Any:
            return timed([lambda: _bulk(memory, number, sizes.writes * 10)])

        single = alternate(sizes.rounds, partial(some, indexed), partial(some, plain))
        bulk = alternate(sizes.rounds, partial(many, indexed), partial(many, plain))
    return [
        latency("remember() with the index, by one without", single, unit="µs"),
        latency(f"{sizes.writes * 10:,} claims in one transaction with the index, by one without", bulk),
    ]


def _bulk(memory: Memory, number: int, count: int) -> None:
    random = Random(number)
    with memory.transaction():
        for index in range(count):
            memory.remember(f"bulk {number} {index // 20}", PREDICATES[index % 20], f"{_word(random)} {_word(random)}")
