"""Starting: the import of the package, and ``syncmem believe`` from nothing to its answer.

Each is a fresh process with its bytecode compiled beforehand, as an installed package has it.  The "baseline" is a
Python that does nothing, so what is above it is ours.  The CPU seconds beside them tell what a busy machine hides.

Reach (first stage): importing takes less than 150 ms, ``syncmem believe`` less than 300 ms.
"""

from __future__ import annotations

import sys

from syncmem import Memory
from tests.benchmarks.measuring import Compared, Reach, Row, alternate, at_most, latency
from tests.benchmarks.workshop import Workshop

STARTS = {"small": 1, "quick": 7, "full": 21}
NOTHING = ("-c", "pass")


def run(workshop: Workshop) -> list[Row]:
    with workshop.scratch() as folder:
        path = folder / "memory.db"
        with Memory(path) as memory:
            memory.remember("ana", "home_city", "Lisbon")
        believe = ("-m", "syncmem", "--db", str(path), "believe", "ana", "home_city")
        return [
            _row(workshop, "import syncmem", ("-c", "import syncmem"), at_most(150)),
            _row(workshop, "syncmem believe", believe, at_most(300)),
        ]


def _row(workshop: Workshop, what: str, arguments: tuple[str, ...], reach: Reach) -> Row:
    workshop.started(sys.executable, *arguments)  # compiles what is imported
    found = alternate(
        STARTS[workshop.scale],
        lambda _: workshop.started(sys.executable, *arguments),
        lambda _: workshop.started(sys.executable, *NOTHING),
    )
    return latency(f"{what}, a whole process", found, reach=reach, **_cpu_ms(found))


def _cpu_ms(found: Compared) -> dict[str, float]:
    """The least CPU of each side: other programs only ever add to it."""
    ours, nothing = (min(part.cpu for part in side) * 1e3 for side in found)
    return {"cpu_ms": ours, "nothing_cpu_ms": nothing}
