"""What a restatement costs: remember() of what is believed already (NOOP) beside that of something new (ADD).

No reach was set; the first stage asks for the two costs side by side.  Here the "baseline" is the ADD.
Both are one durable transaction; the two alternate in one memory.
"""

from __future__ import annotations

from itertools import count, islice
from typing import NamedTuple

from syncmem import Decision, Memory
from tests.benchmarks.measuring import Row, alternate, latency, timed
from tests.benchmarks.workshop import Workshop


class Sizes(NamedTuple):
    rounds: int
    writes: int


SIZES = {
    "small": Sizes(rounds=3, writes=4),
    "quick": Sizes(rounds=3, writes=40),
    "full": Sizes(rounds=7, writes=100),
}


class Speaker:
    """Says new things and old things, and looks at the decisions."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._numbers = count()

    def new(self) -> None:
        self._say(f"thing:{next(self._numbers)}", Decision.ADD)

    def old(self, number: int) -> None:
        self._say(f"thing:{number}", Decision.NOOP)

    def _say(self, entity: str, expected: Decision) -> None:
        decision = self.memory.remember(entity, "state", "solid").decision
        assert decision == expected, decision


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    with workshop.scratch() as folder, Memory(folder / "replica.db") as memory:
        memory.define("state", cardinality="single")
        speaker = Speaker(memory)
        for _ in range(sizes.writes):
            speaker.new()
        known = count()
        found = alternate(
            sizes.rounds,
            lambda _: timed([lambda n=n: speaker.old(n) for n in islice(known, sizes.writes)]),
            lambda _: timed([speaker.new] * sizes.writes),
        )
        return [
            latency("NOOP (an affirmation) beside ADD, median", found),
            latency("NOOP (an affirmation) beside ADD, p99", found, share=0.99),
        ]
