"""The workshop: where the files of a run lie, which of them are kept, and what children report.

``SYNCMEM_BENCH_CACHE`` names a folder for the large files, so that a second run need not build them;
otherwise everything lies in a temporary folder (``TMPDIR`` chooses the disk) and goes with the run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.benchmarks.measuring import Round, timed

CACHE = "SYNCMEM_BENCH_CACHE"
ROOT = Path(__file__).parents[2]
CHILD_SECONDS_MAX = 1_800


@dataclass
class Workshop:
    """The files of one run."""

    scale: str
    folder: Path
    cache: Path
    _numbers: Iterator[int] = field(default_factory=count)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A new folder, for as long as it is needed."""
        folder = self.folder / f"scratch-{next(self._numbers)}"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def kept(self, name: str, build: Callable[[Path], None]) -> Path:
        """A folder that is built once: whole, or not there."""
        folder = self.cache / name
        if not folder.exists():
            half = self.cache / f"{name}.half"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir(parents=True)
            build(half)
            half.rename(folder)
        return folder

    def child(self, *arguments: str | Path) -> dict[str, Any]:
        """What a fresh process of :mod:`tests.benchmarks.child` reports."""
        command = [sys.executable, "-m", "tests.benchmarks.child", *map(str, arguments)]
        outcome = subprocess.run(
            command,
            cwd=ROOT,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=CHILD_SECONDS_MAX,
            check=False,
        )
        if outcome.returncode:
            raise RuntimeError(f"a child failed: {outcome.stderr[-2000:]}")
        report: dict[str, Any] = json.loads(outcome.stdout)
        return report

    def started(self, *command: str) -> Round:
        """A fresh process from its start to its end: wall seconds, and CPU seconds where the system tells."""
        options: dict[str, Any] = {"cwd": ROOT, "env": self._environment(), "stdout": subprocess.DEVNULL}
        before = _cpu_of_children()
        found = timed([lambda: subprocess.run(command, check=True, **options)])
        return Round(found.walls, _cpu_of_children() - before)

    def _environment(self) -> dict[str, str]:
        """A child finds what was compiled before it, as an installed package does, whatever this process may write."""
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode")}


def _cpu_of_children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    if sys.platform == "win32":
        return 0.0
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def workshop(scale: str) -> Iterator[Workshop]:
    """A workshop in a temporary folder; what is kept lies in the cache, if the environment names one."""
    with tempfile.TemporaryDirectory(prefix="syncmem-bench-") as name:
        folder = Path(name)
        cache = os.environ.get(CACHE)
        yield Workshop(scale, folder, Path(cache) if cache else folder / "kept")
