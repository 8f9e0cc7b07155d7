"""The work of one peer in one process: ``SCRIPT VERB WORKLOAD FOLDER`` prints a JSON object.

``merge``: two replicas write, then take in what the other wrote, then are saved.  ``reopen``: a key is read from what
was saved.  ``remember``: one memory is told claims one at a time, then asked for each.  All of it timed, without the
imports.  A peer gives a class of :class:`Replicas` or :class:`Remembering`; nothing here needs more than Python.
``harness.mjs`` is the same for JavaScript.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

PART = 256  # writes in a transaction
Write = tuple[str, str, int]  # key, value, second at which it began to hold


class Replicas(Protocol):
    """Two replicas of one peer; ``folder`` is theirs."""

    def __init__(self, folder: Path) -> None: ...

    def write(self, replica: int, part: Sequence[Write]) -> None:
        """One transaction."""

    def merge(self) -> None:
        """Each takes in what the other has."""

    def values(self, replica: int) -> dict[str, str]:
        """What each key holds now."""

    def save(self) -> None:
        """Everything of replica 0 is on the disk."""

    @staticmethod
    def reopened(folder: Path, key: str) -> str:
        """The value of a key, from what was saved."""


class Remembering(Protocol):
    """A memory in a folder; each ``put`` is durable when it returns."""

    def __init__(self, folder: Path) -> None: ...

    def put(self, key: str, value: str, start: int) -> None: ...

    def get(self, key: str) -> str | None:
        """What holds now."""


def main(peer: type[Any]) -> None:
    verb, workload, folder = sys.argv[1], json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3])
    print(json.dumps({"merge": merged, "reopen": reopened, "remember": remembered}[verb](peer, workload, folder)))


def merged(peer: type[Any], workload: dict[str, Any], folder: Path) -> dict[str, Any]:
    replicas = peer(folder)
    before = peak_bytes()

    def write() -> None:
        for replica, writes in enumerate(workload["writes"]):
            for start in range(0, len(writes), PART):
                replicas.write(replica, writes[start : start + PART])

    report = {"write": spent(write), "merge": spent(replicas.merge), "save": spent(replicas.save)}
    report["held"] = peak_bytes() - before
    one, other = (replicas.values(replica) for replica in (0, 1))
    right = sum(one.get(key) == value for key, value in workload["latest"].items())
    return report | {"converged": one == other, "right": right, "saved": size_of(folder)}


def reopened(peer: type[Any], workload: dict[str, Any], folder: Path) -> dict[str, Any]:
    key = next(iter(workload["latest"]))
    return spent(lambda: peer.reopened(folder, key)) | {"peak": peak_bytes()}


def remembered(peer: type[Any], workload: dict[str, Any], folder: Path) -> dict[str, Any]:
    memory = peer(folder)
    puts = [spent(lambda write=write: memory.put(*write)) for write in workload["writes"][0]]
    gets = [spent(lambda key=key: memory.get(key)) for key in workload["latest"]]
    right = sum(got.get("found") == value for got, value in zip(gets, workload["latest"].values(), strict=True))
    return {"put": typical(puts), "get": typical(gets), "right": right, "saved": size_of(folder)}


def typical(each: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The median of the seconds, and the mean of the CPU seconds."""
    seconds = sorted(one["seconds"] for one in each)
    return {"seconds": seconds[len(seconds) // 2], "cpu": sum(one["cpu"] for one in each) / len(each)}


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def spent(action: Callable[[], object]) -> dict[str, Any]:
    cpu, begin = time.process_time(), time.perf_counter()
    found = action()
    report = {"seconds": time.perf_counter() - begin, "cpu": time.process_time() - cpu}
    return report if found is None else report | {"found": found}


def peak_bytes() -> int:
    """Of this program alone, where the system tells."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line[:5] == "VmHWM")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
