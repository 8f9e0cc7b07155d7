"""Which benchmarks there are, and running them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tests.benchmarks import (
    affirming,
    archives,
    at_rest,
    care,
    daily,
    growth,
    hostile,
    hot_slot,
    idling,
    interrupted,
    joining,
    judging,
    langgraph,
    memory_use,
    merging,
    opening,
    pushing,
    reads,
    recalling,
    relay_load,
    sealing,
    sizes,
    starting,
    stores,
    syncing,
    tools,
    viewing,
    wire_bytes,
    writes,
)
from tests.benchmarks.measuring import Row
from tests.benchmarks.peers import beside
from tests.benchmarks.table import append_line, load, machine, table
from tests.benchmarks.workshop import Workshop, workshop

BENCHMARKS: dict[str, ModuleType] = {
    "daily": daily,
    "growth": growth,
    "writes": writes,
    "affirming": affirming,
    "merging": merging,
    "hot-slot": hot_slot,
    "reads": reads,
    "recall": recalling,
    "view": viewing,
    "care": care,
    "judging": judging,
    "langgraph": langgraph,
    "mcp": tools,
    "sizes": sizes,
    "starting": starting,
    "opening": opening,
    "memory": memory_use,
    "archives": archives,
    "at-rest": at_rest,
    "seal": sealing,
    "wire": wire_bytes,
    "sync": syncing,
    "join": joining,
    "interrupted": interrupted,
    "idle": idling,
    "push": pushing,
    "hostile": hostile,
    "stores": stores,
    "relay-load": relay_load,
}
ON_DEMAND: dict[str, ModuleType] = {"peers": beside}  # they install what they measure
SCALES = ("small", "quick", "full")  # seconds; minutes; an hour
LOAD_MAX = 1.5  # before a run; above it the sides wait for a processor, and ratios of waits tell nothing


def title(name: str) -> str:
    """The first line of a benchmark's docstring."""
    return ((BENCHMARKS | ON_DEMAND)[name].__doc__ or "").partition("\n")[0]


def measure(name: str, place: Workshop) -> list[Row]:
    rows: list[Row] = (BENCHMARKS | ON_DEMAND)[name].run(place)
    for row in rows:
        row.benchmark = name
    return rows


def run(names: Sequence[str], scale: str, json_file: Path | None = None) -> str:
    """Run benchmarks one after the other; the table."""
    found: list[Row] = []
    before = load()
    append_line(json_file, {"machine": machine(scale)})
    with workshop(scale) as place:
        for name in names:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows = measure(name, place)
            for row in rows:
                append_line(json_file, row.plain())
            found += rows
    append_line(json_file, {"load_after": load()})
    about = {**machine(scale), "load": f"{before} before, {load()} after"}
    facts = ", ".join(f"{key} {value}" for key, value in about.items())
    notes = [facts]
    if scale == "small":
        notes.append("Small scale: these figures show that the benchmarks run, and nothing else.")
    if before is not None and before[0] > LOAD_MAX:
        notes.append(
            f"Something else was running (load above {LOAD_MAX}): do not quote these figures, least of all waits."
        )
    return "\n".join([table(found, {name: title(name) for name in names}), "", *notes])
