"""Opening: ``Memory(path)`` and a first ``believe()`` in a fresh process, at 1,000 to 1,000,000 claims.

The import of the package is not part of it (see ``starting``); what is imported only when a file is opened is.  The
rows "again" open the file a second time in the same process, where nothing is left to import.
The baseline opens the same file with the bare driver and selects the current row.  Files are warm.

Reach (first stage): below 5 ms at any size.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks import material, reads
from tests.benchmarks.measuring import Row, at_most, in_unit, quantile
from tests.benchmarks.workshop import Workshop

REACH_MS = 5.0


class Sizes(NamedTuple):
    shapes: tuple[material.Shape, ...]
    children: int


SIZES = {
    "small": Sizes((material.Shape(200, 40),), children=1),
    "quick": Sizes((material.Shape(1_000, 200), reads.shape("quick")), children=3),
    "full": Sizes((material.Shape(1_000, 200), material.Shape(100_000, 20_000), reads.shape("full")), children=9),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    rows: list[Row] = []
    for shape in sizes.shapes:
        path = material.built(workshop, shape)
        ours, bare = [], []
        for _ in range(sizes.children):
            ours.append(_child(workshop, "open", path))
            bare.append(_child(workshop, "open-bare", path))
        rows += _rows(f"{shape.total:,} claims", ours, bare)
    return rows


def _child(workshop: Workshop, verb: str, path: Path) -> dict[str, Any]:
    return workshop.child(verb, path, *material.slot_names(7))


def _rows(size: str, ours: list[dict[str, Any]], bare: list[dict[str, Any]]) -> list[Row]:
    rows = []
    for what, name in (("open and first read", "first"), ("open and read again", "again")):
        mine, theirs = (quantile([report[name] for report in side], 0.5) for side in (ours, bare))
        worst = max(report[name] for report in ours)
        row = Row(f"{what}, {size}", in_unit(mine, "ms"), "ms", in_unit(theirs, "ms"), mine / theirs)
        row.more = {"worst_ms": in_unit(worst, "ms"), "late_imports": ours[0]["late_imports"]}
        row.reach = at_most(REACH_MS) if name == "first" else None
        rows.append(row)
    return rows
