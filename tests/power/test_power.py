"""The power is lost all over each write path: a sweep, and that the disk bites where nothing is synced."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.test_mutations import ROOT

pytest.importorskip("apsw", reason="needs pip install 'syncmem[power-tests]'")


def power(*options: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: it has another SQLite library."""
    command = [sys.executable, "-m", "tests.power", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def test_whenever_the_power_goes_nothing_acknowledged_is_lost_and_nothing_is_half() -> None:
    found = power("--seed", "0", "--runs", "20", "--every", "15")
    assert found.returncode == 0, f"{found.stdout}{found.stderr}"
    assert "0 failures" in found.stdout


def cost(synchronous: str) -> int:
    found = power("--calibrate", synchronous, "--runs", "3")
    assert found.returncode == 0, found.stderr
    return int(json.loads(found.stdout).get("that cost something", 0))


def test_the_disk_bites_where_less_is_synced_than_the_library_asks_for() -> None:
    assert cost("NORMAL") > 0
    assert cost("OFF") > 0
    assert cost("FULL") == 0
