"""Plants a bug in a copy of the package and its tests, and runs the test that must catch it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from time import monotonic

from tests.planted.bugs import POWER, Planted
from tests.test_mutations import ROOT

NOT_COPIED = ("__pycache__", "benchmarks", "corpus", "regressions", "recall_evaluation", "simulated_year")
SECONDS_MAX = 240


def fits(planted: Planted) -> int:
    """In how many places the bug can be planted: one, unless the code has moved on."""
    return (ROOT / "syncmem" / planted.bug.file).read_text(encoding="utf-8").count(planted.bug.old)


def caught(planted: Planted, folder: Path) -> tuple[bool, float]:
    """Whether the test fails with the bug, and after how many seconds."""
    for part in ("syncmem", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns(*NOT_COPIED))
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    file = folder / "syncmem" / planted.bug.file
    text = file.read_text(encoding="utf-8").replace(planted.bug.old, planted.bug.new)
    file.write_text(text, encoding="utf-8")
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
