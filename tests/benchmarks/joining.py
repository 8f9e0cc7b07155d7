"""A new device: it is let in and takes a history of 100,000 and of 1,000,000 claims from a relay.

A process of its own joins with a code and syncs once; the time is that of the sync, the peak is the resident
set of the whole process.

Reach (first stage): under 300 MB, whatever the size of the history.
"""

from __future__ import annotations

from typing import NamedTuple

from syncmem import Memory
from tests.benchmarks import devices, material
from tests.benchmarks.measuring import Row, at_most
from tests.benchmarks.workshop import Workshop

REACH_MB = 300.0
MB = 1e6
CLAIMS_PER_SLOT = 5


class Sizes(NamedTuple):
    histories: tuple[int, ...]


SIZES = {
    "small": Sizes((400,)),
    "quick": Sizes((20_000, 100_000)),
    "full": Sizes((100_000, 1_000_000)),
}


def run(workshop: Workshop) -> list[Row]:
    return [row for claims in SIZES[workshop.scale].histories for row in _rows(workshop, claims)]


def _rows(workshop: Workshop, claims: int) -> list[Row]:
    shape = material.Shape(claims, max(claims // CLAIMS_PER_SLOT, 1))
    with workshop.scratch() as folder, devices.relay(folder / "relay") as address:
        founder, newcomer, code = devices.awaited(workshop, shape, folder, address)
        report = workshop.child("join", newcomer, code, address)
        with Memory(founder) as memory, Memory(newcomer) as other:
            assert memory.belief_digest() == other.belief_digest()
    speed = Row(f"join with {claims:,} claims", claims / report["seconds"], "claims/s")
    speed.more = {"seconds": report["seconds"], "cpu_claims_per_second": claims / report["cpu"]}
    peak = Row(f"peak memory, join with {claims:,} claims", report["peak"] / MB, "MB", reach=at_most(REACH_MB))
    peak.more = {"before": report["opened"] / MB}
    return [speed, peak]
