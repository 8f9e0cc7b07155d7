"""A hundred and fifty times processes are killed in the middle of what they do (more: ``python -m tests.killing``)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from syncmem import Memory
from tests.killing.running import Heard, Violation, look

ROOT = Path(__file__).parents[2]
PARTS, CYCLES = 3, 50

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs fork and SIGKILL")


@pytest.mark.parametrize("part", range(PARTS))
def test_whenever_processes_are_killed_what_they_acknowledged_is_there_and_all_heals(part: int) -> None:
    """In a process of its own, which has no thread when it forks."""
    command = [sys.executable, "-m", "tests.killing", "--cycles", str(CYCLES), "--seed", str(100 * part)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert found.returncode == 0, f"{found.stdout}{found.stderr}"
    assert "0 failures" in found.stdout


def test_who_looks_sees_what_is_lost_and_what_is_back(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("person:0", "seen", "x-0")
        for heard in (Heard(said={"x-0", "y-0"}), Heard(said={"x-0"}, gone={"x-0"})):
            with pytest.raises(Violation, match="seed 1"):
                look(memory, heard, "seed 1")
