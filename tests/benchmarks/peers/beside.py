"""Peers beside this library: two replicas, merged both ways; memories that are told claims; and what is the limit.

Two replicas make 100,000 writes each over 20,000 slots, five a slot, in an order that is not that of the times they
speak of; then each takes in what the other has.  A peer does it twice: "every write kept" gives each write a key of its
own, so that nothing is lost, as here; "last write wins" writes the slot itself, so that a peer forgets what it
overwrites, and its answer is the one that was written last, not the one that holds.  Ours is durable, signed and
checked, and keeps both axes of time either way.  Memories are told claims one at a time.  Each side runs in a process
and an environment of its own, a round of one after a round of the other; the "baseline" is the peer.  Behind a peer's
name stands what it does not do; LangGraph's store is the benchmark ``langgraph``.

Reach (first stage): where every write is kept, 4 times the claims of cr-sqlite and 2.5 times those of SQLite-Sync (both
WASM), more than Automerge and TinyBase; beside Loro, Yjs and pycrdt none: they hold everything in memory.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.measuring import Row
from tests.benchmarks.peers.installing import WORK, Environments, NotThere, ours, worked
from tests.benchmarks.peers.listed import LIMITS, MERGE, PEERS, REMEMBER, Peer
from tests.benchmarks.workshop import Workshop

FIRST, SECONDS = 1_262_304_000, 315_532_800  # 2010-01-01, and ten years
OUR_SCRIPTS = {MERGE: "ours.py", REMEMBER: "ours_claims.py"}
MIB = 2**20
Report = dict[str, Any]
Figure = Callable[[Report], float]


class Sizes(NamedTuple):
    writes: int  # of each replica
    told: int  # to a memory
    rounds: int
    per_slot: int = 5


SIZES = {
    "small": Sizes(writes=500, told=25, rounds=1),
    "quick": Sizes(writes=20_000, told=500, rounds=1),
    "full": Sizes(writes=100_000, told=5_000, rounds=3),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    environments = Environments(workshop.cache / "peers")
    with workshop.scratch() as folder:
        bench = Bench(folder, environments, sizes)
        rows = [row for peer in PEERS if peer.work == MERGE for row in merging(bench, peer)]
        rows += [row for peer in PEERS if peer.work == REMEMBER for row in _remembering(bench, peer)]
        return rows + _limits(bench)


class Bench:
    """The workloads, and running a script on one in a folder of its own; ours once a round and kind of work."""

    def __init__(self, folder: Path, environments: Environments, sizes: Sizes) -> None:
        self.sizes = sizes
        self.environments = environments
        self.folder = folder
        self.slots = self._written("slots", sizes.writes)
        self.kept = self._written("kept", sizes.writes, kept=True)
        self.told = self._written("told", sizes.told, replicas=1)
        self._ours: dict[tuple[str, int], Report] = {}

    def _written(self, name: str, count: int, **options: Any) -> Path:
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(workload(count, self.sizes.per_slot, **options)))
        return path

    def beside(self, peer: Peer, workload: Path) -> Both:
        """Rounds of both sides in turn.

        Raises:
            NotThere: the peer is not to be had here, or does not do this.
        """
        command = self.environments.command(peer)
        both = Both([], [])
        for number in range(self.sizes.rounds):
            both.ours.append(self.ours(peer.work, number))
            both.theirs.append(self.report(command, peer.work, workload))
        return both

    def ours(self, work: str, number: int) -> Report:
        if (work, number) not in self._ours:
            workload = self.slots if work == MERGE else self.told
            self._ours[work, number] = self.report(ours(OUR_SCRIPTS[work]), work, workload)
        return self._ours[work, number]

    def report(self, command: list[str], work: str, workload: Path) -> Report:
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            report = worked(command, work, workload, place)
            return report | ({"reopen": worked(command, "reopen", workload, place)} if work == MERGE else {})


class Both(NamedTuple):
    """The reports of both sides, round by round."""

    ours: list[Report]
    theirs: list[Report]

    def row(self, what: str, unit: str, figure: Figure, cpu: Figure) -> Row:
        """Medians, and the median of the rounds' own ratios."""
        mine, others = [figure(one) for one in self.ours], [figure(one) for one in self.theirs]
        ratio = statistics.median(a / max(b, 1e-9) for a, b in zip(mine, others, strict=True))
        pairs = zip(map(cpu, self.ours), map(cpu, self.theirs), strict=True)
        by_cpu = statistics.median(a / max(b, 1e-9) for a, b in pairs)
        return Row(what, statistics.median(mine), unit, statistics.median(others), ratio, by_cpu)


def workload(count: int, per_slot: int, *, kept: bool = False, replicas: int = 2) -> Report:
    """Writes of replicas, and the value with the latest start of each key."""
    latest: dict[str, tuple[int, str]] = {}
    writes = []
    for replica in range(replicas):
        chance = random.Random(replica)
        slots = [number % max(count // per_slot, 1) for number in range(count)]
        chance.shuffle(slots)
        starts = chance.sample(range(SECONDS // 2), count)  # even for one, odd for the other: none begin at once
        part = []
        for number, (slot, start) in enumerate(zip(slots, starts, strict=True)):
            key = f"slot-{slot}" + (f"-write-{replica}-{number}" if kept else "")
            part.append((key, f"value {replica} {number}", FIRST + 2 * start + replica))
            latest[key] = max(latest.get(key, (0, "")), part[-1][:0:-1])
        writes.append(part)
    return {"writes": writes, "latest": {key: value for key, (_, value) in latest.items()}}


# -- merging ------------------------------------------------------------------------------------------

KEPT, LAST = "every write kept", "last write wins"
_FIGURES: tuple[tuple[str, str, Figure, Figure], ...] = (
    ("writing", "s", lambda one: one["write"]["seconds"], lambda one: one["write"]["cpu"]),
    ("reopening and a first read", "ms", lambda one: one["reopen"]["seconds"] * 1e3, lambda one: one["reopen"]["cpu"]),
    ("memory for two replicas", "MiB", lambda one: one["held"] / MIB, lambda one: one["held"]),
)


def merging(bench: Bench, peer: Peer) -> list[Row]:
    rows: list[Row] = []
    for mode, path in ((KEPT, bench.kept), (LAST, bench.slots)):
        what = f"{mode}, beside {peer.name}"
        try:
            both = bench.beside(peer, path)
        except NotThere as error:
            return [*rows, Row(f"{what}: not measured", 0.0, "claims/s", note=str(error))]
        assert all(one["converged"] for one in (*both.ours, *both.theirs)), what
        merged = _merged(bench, what, both)
        merged.reach, merged.note = (peer.reach, f"{peer.name}: {peer.lacks}") if mode == KEPT else (None, "")
        rows += [merged, *(both.row(f"{what}: {name}", *figures) for name, *figures in _FIGURES)]
        rows.append(_on_disk(bench, what, both) if mode == KEPT else _right(bench.slots, what, both))
    return rows


def _merged(bench: Bench, what: str, both: Both) -> Row:
    count = 2 * bench.sizes.writes
    row = both.row(
        f"{what}: merged both ways",
        "claims/s",
        lambda one: count / one["merge"]["seconds"],
        lambda one: count / max(one["merge"]["cpu"], 1e-9),
    )
    row.more = {"ours_cpu_claims_per_second": count / both.ours[-1]["merge"]["cpu"]}
    return row


def _on_disk(bench: Bench, what: str, both: Both) -> Row:
    """What one replica with the writes of both takes: ours has saved two of them, a peer one."""
    count = 2 * bench.sizes.writes
    mine, theirs = both.ours[-1]["saved"] / 2 / count, both.theirs[-1]["saved"] / count
    return Row(f"{what}: bytes on disk a write", mine, "bytes", theirs, mine / max(theirs, 1e-9))


def _right(workload: Path, what: str, both: Both) -> Row:
    """How often the answer is the value that holds."""
    slots = len(json.loads(workload.read_text())["latest"])
    mine, theirs = (reports[-1]["right"] / slots * 100 for reports in both)
    return Row(f"{what}: answers that hold", mine, "%", theirs, mine / max(theirs, 1e-9))


# -- memories -----------------------------------------------------------------------------------------


def _remembering(bench: Bench, peer: Peer) -> list[Row]:
    what = f"{bench.sizes.told:,} claims told, beside {peer.name}"
    try:
        both = bench.beside(peer, bench.told)
    except NotThere as error:
        return [Row(f"{what}: not measured", 0.0, "ms", note=str(error))]
    rows = [_each(both, f"{what}: {name}", verb) for name, verb in (("telling one", "put"), ("asking for one", "get"))]
    rows[0].note = f"{peer.name}: {peer.lacks}"
    return [*rows, _right(bench.told, what, both)]


def _each(both: Both, what: str, verb: str) -> Row:
    return both.row(what, "ms", lambda one: one[verb]["seconds"] * 1e3, lambda one: one[verb]["cpu"])


# -- limits -------------------------------------------------------------------------------------------


def _limits(bench: Bench) -> list[Row]:
    """Our merge, both ways, beside what parts of the work cost alone."""
    try:
        python = bench.environments.installed_python(LIMITS)
        limits = worked([python, str(WORK / "limits.py")], MERGE, bench.slots, bench.folder)
    except NotThere as error:
        return [Row("limits: not measured", 0.0, "claims/s", note=str(error))]
    mine, count, rows = bench.ours(MERGE, 0)["merge"], 2 * bench.sizes.writes, []
    for name, spent in limits.items():
        ours_a_second, bare = count / mine["seconds"], count / max(spent["seconds"], 1e-9)
        by_cpu = spent["cpu"] / max(mine["cpu"], 1e-9)
        rows.append(
            Row(f"merged both ways, beside {name}", ours_a_second, "claims/s", bare, ours_a_second / bare, by_cpu)
        )
    return rows
