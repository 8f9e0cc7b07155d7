"""What runs in a process of its own: ``python -m tests.benchmarks.child VERB ...`` prints one JSON object.

``open PATH ENTITY PREDICATE`` and ``open-bare ...`` time an opening and a first read; ``import PATH BUNDLE`` and
``import-from PATH ARCHIVE KIND`` measure the peak memory of an import; ``sync PATH ADDRESS``, ``merge PATH OTHER`` and
``join PATH CODE`` measure what the words say (``join`` with the sync that follows).  Nothing of the library is imported
before the clock runs.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def opening(path: str, entity: str, predicate: str) -> dict[str, Any]:
    from syncmem import Memory

    modules = len(sys.modules)

    def read() -> None:
        with Memory(path) as memory:
            assert memory.believe(entity, predicate) is not None

    first = _seconds(read)
    late = len(sys.modules) - modules
    return {"first": first, "again": _seconds(read), "late_imports": late}


def opening_bare(path: str, entity: str, predicate: str) -> dict[str, Any]:
    from syncmem.replica.driver import dbapi

    sql = (
        "SELECT b.value FROM slots s JOIN beliefs b ON b.slot = s.id WHERE s.entity = ? AND s.predicate = ? "
        "AND s.scope = 'vault' AND b.lane = x'' AND b.known_to = 4611686018427387904 "
        "ORDER BY b.valid_from DESC LIMIT 1"
    )

    def read() -> None:
        connection = dbapi.connect(path, isolation_level=None)
        assert connection.execute(sql, (entity, predicate)).fetchone() is not None
        connection.close()

    return {"first": _seconds(read), "again": _seconds(read)}


def importing(path: str, bundle: str) -> dict[str, Any]:
    from syncmem import Memory

    with Memory(path) as memory:
        opened = peak_bytes()
        seconds = _seconds(lambda: memory.import_bundle(bundle))
        return {"opened": opened, "peak": peak_bytes(), "seconds": seconds}


def syncing(path: str, address: str) -> dict[str, Any]:
    from syncmem import Memory

    with Memory(path) as memory:
        return _spent(lambda: _synced(memory, address))


def merging(path: str, other: str) -> dict[str, Any]:
    from syncmem import Memory

    with Memory(path) as memory, Memory(other) as holder:
        return _spent(lambda: memory.merge(holder))


def joining(path: str, code: str, address: str) -> dict[str, Any]:
    from syncmem import Memory

    with Memory.join(path, code, name=Path(path).stem, wait_seconds=0) as memory:
        opened = peak_bytes()
        return {**_spent(lambda: _synced(memory, address)), "opened": opened, "peak": peak_bytes()}


def _synced(memory: Any, address: str) -> None:
    report = memory.sync(address)
    assert report.complete, report


def peak_bytes(process: int | str = "self") -> int:
    """The peak of a program alone: on Linux ``ru_maxrss`` also remembers the program that started it.

    ``process``: the id of another one, where the system tells (Linux); 0 where it does not, or it has ended.
    """
    status = Path(f"/proc/{process}/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    if process != "self":
        return 0
    import resource  # not there on Windows

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _spent(action: Callable[[], object]) -> dict[str, Any]:
    """Wall and CPU seconds."""
    cpu = time.process_time()
    return {"seconds": _seconds(action), "cpu": time.process_time() - cpu}


def _seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def importing_from(path: str, archive: str, kind: str) -> dict[str, Any]:
    from syncmem import Memory

    with Memory(path) as memory:
        opened = peak_bytes()
        seconds = _seconds(lambda: memory.import_archive(archive, kind))
        return {"opened": opened, "peak": peak_bytes(), "seconds": seconds}


VERBS: dict[str, Callable[..., dict[str, Any]]] = {
    "open": opening,
    "open-bare": opening_bare,
    "import": importing,
    "import-from": importing_from,
    "sync": syncing,
    "merge": merging,
    "join": joining,
}

if __name__ == "__main__":
    print(json.dumps(VERBS[sys.argv[1]](*sys.argv[2:])))
