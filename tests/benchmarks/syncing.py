"""Sync of 100,000 claims between two processes, through a relay and through a folder.

One process sends a history to an empty mailbox; then another, which was let in before, takes it in.  The
relay is a process of its own, behind a real socket.  Beside them, as the "baseline", a third process merges
the same events from the first one's file into an empty replica.  Timed is the work itself, not the starting
of processes; "both" is the two one after the other, as if nothing of them overlapped.

Reach (first stage): both together reach 0.6 of the merge's claims a second.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import NamedTuple

from syncmem import Memory
from tests.benchmarks import devices, material
from tests.benchmarks.measuring import Compared, Round, Row, ratio_at_least, throughput
from tests.benchmarks.workshop import Workshop

REACH = 0.6
WAYS = {"relay": devices.relay, "folder": devices.shared_folder}


class Sizes(NamedTuple):
    claims: int
    slots: int
    rounds: int


SIZES = {
    "small": Sizes(claims=400, slots=80, rounds=1),
    "quick": Sizes(claims=20_000, slots=4_000, rounds=2),
    "full": Sizes(claims=100_000, slots=20_000, rounds=3),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    shape = material.Shape(sizes.claims, sizes.slots)
    rows = []
    with workshop.scratch() as folder:
        founder, names = devices.founder(workshop, shape, folder), count()
        for way in WAYS:
            pushed, pulled, both, merged = Compared([], []), Compared([], []), Compared([], []), []
            for _ in range(sizes.rounds):
                place = folder / f"{way}-{next(names)}"
                place.mkdir()
                push, pull = _synced(workshop, founder, place, way)
                pushed.ours.append(push)
                pulled.ours.append(pull)
                both.ours.append(Round([*push.walls, *pull.walls], push.cpu + pull.cpu))
                merged.append(_round(workshop, "merge", place / "merged.db", founder))
            for what, found in (("both", both), ("sending", pushed), ("taking in", pulled)):
                found.baseline.extend(merged)
                row = throughput(f"{what}, {shape.total:,} claims through a {way}", found, shape.total)
                row.reach = ratio_at_least(REACH) if what == "both" else None
                rows.append(row)
    return rows


def _synced(workshop: Workshop, founder: Path, place: Path, way: str) -> tuple[Round, Round]:
    """One process sends everything, another takes everything in."""
    newcomer = place / "newcomer.db"
    with WAYS[way](place / "mailbox") as address:
        with Memory(founder) as memory:
            devices.joined(memory, newcomer, address)
        pushed = _round(workshop, "sync", founder, address)
        pulled = _round(workshop, "sync", newcomer, address)
    with Memory(founder) as memory, Memory(newcomer) as other:
        assert memory.belief_digest() == other.belief_digest()
    return pushed, pulled


def _round(workshop: Workshop, verb: str, *arguments: str | Path) -> Round:
    report = workshop.child(verb, *arguments)
    return Round([report["seconds"]], report["cpu"])
