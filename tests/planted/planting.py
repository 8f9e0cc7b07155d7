"""Plants a bug in a copy of the package and its tests, and runs the test that must catch it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic

from tests.planted.bugs import POWER, Planted
from tests.planting import ROOT, copy_to, plant

NOT_COPIED = ("__pycache__", "benchmarks", "corpus", "regressions", "recall_evaluation", "simulated_year")
SECONDS_MAX = 240


def caught(planted: Planted, folder: Path) -> tuple[bool, float]:
    """Whether the test fails with the bug, and after how many seconds."""
    copy_to(folder, NOT_COPIED)
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    plant(planted.bug, folder)
    began = monotonic()
    run = subprocess.run(
        _command(planted),
        cwd=folder,
        env=_without_this_one(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=SECONDS_MAX,
        check=False,
    )
    telling = ("failures",) if planted.caught_by.startswith(POWER) else ("1 failed", "1 error")
    return run.returncode == 1 and any(word in run.stdout for word in telling), monotonic() - began


def _command(planted: Planted) -> list[str]:
    if planted.caught_by.startswith(POWER):
        return [sys.executable, "-m", "tests.power", *planted.caught_by.removeprefix(POWER).split()]
    return [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        f"tests/{planted.caught_by}",
    ]


def _without_this_one() -> dict[str, str]:
    """The environment, in which the copy comes before the package that is installed."""
    import os

    return {**os.environ, "PYTHONPATH": "."}
