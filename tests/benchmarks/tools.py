"""Tools: how long a model waits for them, through the protocol's own client over streams, beside the verbs called.

The server is a process of its own; the "baseline" is the same verb called on an open Memory.  ``status`` says what the
protocol takes, nearly alone.

Reach (first stage): none is set; who waits is a model, for seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client

from syncmem import Memory
from tests.benchmarks.measuring import Row, in_unit, quantile
from tests.benchmarks.workshop import Workshop
from tests.mcp.speaking import call, streams

QUANTILES = {"p50": 0.5, "p99": 0.99}


class Sizes(NamedTuple):
    claims: int
    calls: int


SIZES = {"small": Sizes(50, 5), "quick": Sizes(2_000, 100), "full": Sizes(20_000, 500)}
Verb = Callable[[int], Any]


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    with workshop.scratch() as folder:
        path = folder / "memory.db"
        with Memory(path, embedder=None) as memory, memory.transaction():
            for number in range(sizes.claims):
                memory.remember(f"person {number}", "city", f"town {number % 97}")
        told = asyncio.run(_told(path, sizes))
        with Memory(path, embedder=None) as memory:
            direct = {name: [_seconds(verb, n) for n in range(sizes.calls)] for name, verb in _verbs(memory).items()}
    return [row for name, walls in told.items() for row in _rows(name, walls, direct.get(name))]


def _verbs(memory: Memory) -> dict[str, Verb]:
    return {
        "believe": lambda n: memory.believe(f"person {n}", "city"),
        "recall": lambda n: memory.recall(f"Which town is person {n} in?"),
        "remember": lambda n: memory.remember(f"person {n}", "hobby", f"direct {n}", trust="inference"),
    }


async def _told(path: Path, sizes: Sizes) -> dict[str, list[float]]:
    """The seconds of each call of each tool."""
    server = streams(path)
    server.env = {**(server.env or {}), "SYNCMEM_EMBEDDER": "none"}
    async with Client(server) as client:
        tools: dict[str, Callable[[int], Awaitable[Any]]] = {
            "status": lambda n: call(client, "status"),
            "believe": lambda n: call(client, "believe", entity=f"person {n}", predicate="city"),
            "recall": lambda n: call(client, "recall", question=f"Which town is person {n} in?"),
            "remember": lambda n: call(client, "remember", entity=f"person {n}", predicate="hobby", value=f"told {n}"),
        }
        found: dict[str, list[float]] = {}
        for name, tool in tools.items():
            await tool(0)  # what is loaded when it is first needed
            found[name] = []
            for number in range(sizes.calls):
                begin = time.perf_counter()
                await tool(number)
                found[name].append(time.perf_counter() - begin)
        return found


def _seconds(verb: Verb, number: int) -> float:
    begin = time.perf_counter()
    verb(number)
    return time.perf_counter() - begin


def _rows(name: str, walls: list[float], direct: list[float] | None) -> list[Row]:
    rows = []
    for label, share in QUANTILES.items():
        ours = in_unit(quantile(walls, share), "ms")
        row = Row(f"tool {name}, {label}", ours, "ms")
        if direct is not None:
            row.what, row.baseline = f"tool {name}, by the verb, {label}", in_unit(quantile(direct, share), "ms")
            row.ratio = ours / row.baseline
        rows.append(row)
    return rows
