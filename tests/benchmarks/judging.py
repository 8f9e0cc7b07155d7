"""Judging at 100,000 claims: questions() by contested(), a repetition by a new claim, candidates by plain verbs.

The file is that of the benchmark "care": 20,000 slots of five single-valued changes, each hundredth claim doubtful.
Candidates are submitted in one call and consolidated, each judged and committed by itself; beside them the same claims
written by remember(), each committed by itself.

Reach (first stage): the questions that are wanted cost what they are, not what is open: questions(limit=2) takes at
most half as long as all of them; a repetition takes at most as long as a new claim (1.2 leaves room for noise); a
candidate takes at most four times as long as the claim that comes of it.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from typing import NamedTuple

from syncmem import Candidate, Memory, Source
from tests.benchmarks import material
from tests.benchmarks.measuring import Round, Row, alternate, latency, ratio_at_least, ratio_at_most, throughput, timed
from tests.benchmarks.workshop import Workshop

FEW_REACH, NOOP_REACH, CANDIDATES_REACH = 0.5, 1.2, 0.25
FEW = 2
USER = Source(kind="user")


class Sizes(NamedTuple):
    claims: int
    slots: int
    rounds: int
    written: int  # a round


SIZES = {
    "small": Sizes(claims=400, slots=80, rounds=2, written=4),
    "quick": Sizes(claims=100_000, slots=20_000, rounds=3, written=100),
    "full": Sizes(claims=100_000, slots=20_000, rounds=9, written=500),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    path = material.built(workshop, material.Shape(sizes.claims, sizes.slots, doubtful=100))
    with workshop.scratch() as folder:
        copy = folder / "judging.db"
        shutil.copy(path, copy)
        with Memory(copy) as memory:
            return [*_questions(memory, sizes), _repetition(memory, sizes), _candidates(memory, sizes)]


def _questions(memory: Memory, sizes: Sizes) -> list[Row]:
    number = len(memory.questions())

    def side(asked: Callable[[], object]) -> Callable[[int], Round]:
        return lambda _: timed([asked])

    everything = side(memory.questions)
    few = alternate(sizes.rounds, side(lambda: memory.questions(limit=FEW)), everything)
    contested = alternate(sizes.rounds, everything, side(lambda: memory.contested(valid_at="2026-01-01T00:00Z")))
    return [
        latency(f"questions(limit={FEW}) by all {number:,} of them", few, reach=ratio_at_most(FEW_REACH)),
        latency(f"all {number:,} questions by contested() now", contested),
    ]


def _repetition(memory: Memory, sizes: Sizes) -> Row:
    """The same value again, beside a value of an entity of which nothing was known."""
    new = itertools.count()
    memory.remember("known", material.PREDICATES[0], "same")

    def again(_: int) -> Round:
        return timed([lambda: memory.remember("known", material.PREDICATES[0], "same")] * sizes.written)

    def add(_: int) -> Round:
        return timed([lambda: memory.remember(f"new {next(new)}", material.PREDICATES[0], "same")] * sizes.written)

    compared = alternate(sizes.rounds, again, add)
    return latency("a repetition (NOOP) by a new claim (ADD)", compared, reach=ratio_at_most(NOOP_REACH))


def _candidates(memory: Memory, sizes: Sizes) -> Row:
    def judged(number: int) -> Round:
        said = [
            Candidate(f"heard {number}-{n}", material.PREDICATES[0], "x", observed_at="now", source=USER)
            for n in range(sizes.written)
        ]
        return timed([lambda: memory.submit(said), memory.consolidate])

    def plain(number: int) -> Round:
        names = [f"told {number}-{n}" for n in range(sizes.written)]
        return timed([lambda n=n: memory.remember(n, material.PREDICATES[0], "x") for n in names])  # type: ignore[misc]

    compared = alternate(sizes.rounds, judged, plain)
    reach = ratio_at_least(CANDIDATES_REACH)
    return throughput("candidates, submitted and consolidated, by remember()", compared, sizes.written, reach=reach)
