"""Memory: the peak of a process that imports a bundle of 100,000 and of 400,000 claims over 20,000 slots.

The peak is the resident set of a fresh process that does nothing else.  A bundle of one batch, and a file
that is only opened, stand beside it for comparison.

Reach (first stage): bounded by the batch, so four times the claims take about as much: at most 1.15 times.
Here the "baseline" is the smaller bundle.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from syncmem import files
from syncmem.replica.bundle import MAGIC, write_bundle
from tests.benchmarks import material
from tests.benchmarks.measuring import Row, quantile, ratio_at_most
from tests.benchmarks.workshop import Workshop

REACH = 1.15
MIB = 2**20


class Sizes(NamedTuple):
    batch: int
    fewer: int
    more: int
    slots: int
    children: int


SIZES = {
    "small": Sizes(batch=100, fewer=200, more=800, slots=40, children=1),
    "quick": Sizes(batch=5_000, fewer=20_000, more=80_000, slots=4_000, children=1),
    "full": Sizes(batch=20_000, fewer=100_000, more=400_000, slots=20_000, children=3),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    bundles = {claims: bundle(workshop, claims, sizes.slots) for claims in (sizes.batch, sizes.fewer, sizes.more)}
    peaks: dict[int, list[float]] = {claims: [] for claims in bundles}
    before: list[float] = []
    for _ in range(sizes.children):
        for claims, file in bundles.items():
            with workshop.scratch() as folder:
                report = workshop.child("import", folder / material.REPLICA, file)
            peaks[claims].append(report["peak"] / MIB)
            before.append(report["opened"] / MIB)
    batch, fewer, more = (quantile(peaks[claims], 0.5) for claims in bundles)
    return [
        Row("peak memory, an empty file opened", quantile(before, 0.5), "MiB"),
        Row(f"peak memory, importing {sizes.batch:,} claims", batch, "MiB"),
        Row(f"peak memory, importing {sizes.fewer:,} claims", fewer, "MiB"),
        Row(
            f"peak memory, importing {sizes.more:,} beside {sizes.fewer:,} claims",
            *(more, "MiB", fewer, more / fewer),
            reach=ratio_at_most(REACH),
        ),
    ]


def bundle(workshop: Workshop, claims: int, slots: int) -> Path:
    """A bundle file with a history."""
    shape = material.Shape(claims, slots)
    name = "history.bundle"

    def build(folder: Path) -> None:
        files.write_whole(folder / name, lambda file: write_bundle(file, material.frames(shape)), magic=MAGIC)

    return workshop.kept(f"bundle-{shape.name}", build) / name
