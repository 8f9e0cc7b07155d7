"""How large the file is: bytes a claim after a checkpoint, and beside the canonical bytes of its events.

The same history taken in by merges and by imports (fewer transactions leave fewer past beliefs), and at full
scale the file of 1,000,000 claims.  No reach was set; the first stage asks for the figures.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from syncmem.replica.replica import BULK_EVENTS, MERGE_EVENTS, Replica
from tests.benchmarks import material, reads
from tests.benchmarks.baseline import BareLog
from tests.benchmarks.measuring import Row
from tests.benchmarks.workshop import Workshop


class Sizes(NamedTuple):
    claims: int
    slots: int
    large: bool


SIZES = {
    "small": Sizes(400, 80, large=False),
    "quick": Sizes(20_000, 4_000, large=False),
    "full": Sizes(100_000, 20_000, large=True),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    shape = material.Shape(sizes.claims, sizes.slots)
    rows: list[Row] = []
    with workshop.scratch() as folder:
        bare = _bare_bytes(folder / "log.db", shape)
        for what, events_max in (("merged", MERGE_EVENTS), ("imported", BULK_EVENTS)):
            path = folder / f"{what}.db"
            replica = material.open_replica(path)
            for _ in replica.receive(material.frames(shape), events_max=events_max):
                pass
            replica.close()
            rows += _rows(f"{shape.total:,} claims {what}", path, shape, bare)
    if sizes.large:
        large = reads.shape(workshop.scale)
        rows += _rows(f"{large.total:,} claims imported", material.built(workshop, large), large, None)
    return rows


def _bare_bytes(path: Path, shape: material.Shape) -> float:
    log = BareLog(path)
    log.add(material.rows(shape))
    log.checkpoint()
    log.close()
    return path.stat().st_size / shape.total


def _rows(what: str, path: Path, shape: material.Shape, bare: float | None) -> list[Row]:
    replica = material.open_replica(path)
    try:
        replica.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        size, canonical, more = path.stat().st_size, material.canonical_bytes(replica), _inside(replica)
    finally:
        replica.close()
    a_claim = size / shape.total
    ratio = None if bare is None else a_claim / bare
    return [
        Row(f"file bytes a claim, {what}", a_claim, "bytes", bare, ratio, more=more),
        Row(f"file bytes a canonical event byte, {what}", size / canonical, "bytes"),
    ]


def _inside(replica: Replica) -> dict[str, Any]:
    """Where the bytes are: contents of the large tables, without SQLite's own."""
    found = {
        "events": "SELECT sum(length(body)) FROM runs",
        "pages": "SELECT sum(length(body) + length(carry)) FROM pages",
        "beliefs": "SELECT count(*) FROM beliefs",
        "past_beliefs": "SELECT count(*) FROM beliefs WHERE known_to < 4611686018427387904",
        "free_pages": "PRAGMA freelist_count",
    }
    return {name: replica.db.execute(sql).fetchone()[0] for name, sql in found.items()}
