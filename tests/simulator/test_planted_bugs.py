"""Planted bugs of the kinds that only show between devices: the simulator must find each of them within a few seeds.

A bug is planted as in :mod:`tests.planting` does.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.planting import Bug, copy_to, fits, plant

SEEDS = 20  # tried from the one that found it when it was planted: the test is to be quick
SECONDS_MAX = 240  # of the wall, on a machine that others use, too
NOT_COPIED = ("__pycache__", "cli", "benchmarks", "regressions")


BUGS = (
    Bug(
        "an event about an erased entity is let in",
        "replica/erasures.py",
        "        return not self.forbids(position, event)\n",
        "        return True\n",
    ),
    Bug(
        "messages are salted with what repeats",
        "seal/envelope.py",
        "drawn = randomness(RANDOM_BYTES) + sha256(bound).digest() + sha256(padded).digest()",
        "drawn = sha256(bound).digest()",
    ),
    Bug(
        "what was refused for lack of room counts as kept",
        "sync/session.py",
        "if result.outcome in (Outcome.STORED, Outcome.KNOWN):",
        "if result.outcome in (Outcome.STORED, Outcome.KNOWN, Outcome.OVER_QUOTA):",
    ),
    Bug(
        "a copied file goes on as who it was copied from",
        "replica/identity.py",
        "if side.file != self._environment.disk.identity(self._db.path):",
        "if False:",
    ),
    Bug(
        "what a removed device writes counts",
        "replica/cuts.py",
        "return cut is not None and position & SEQ_MASK > cut",
        "return False",
    ),
    Bug(
        "who was heard of is in sync",
        "sync/standing.py",
        "verified=own or (bool(scopes) and all(verified)),",
        "verified=own or bool(seen),",
    ),
    Bug(
        "a rectangle that was closed is overwritten",
        "replica/rectangles.py",
        "UPDATE beliefs SET known_to = ?4",
        "UPDATE beliefs SET known_to = ?4 - 1 + (known_from = ?4 - 1)",
    ),
    Bug(
        "blobs that hold what was erased stay in the mailbox",
        "sync/ledger.py",
        "if self._holds_erased(contents):",
        "if False:",
    ),
)
FOUND_BY = {bug.name: seed for bug, seed in zip(BUGS, (5, 0, 202, 21, 26, 2, 0, 11), strict=True)}


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_simulator_finds_a_planted_bug(bug: Bug, tmp_path: Path) -> None:
    places = fits(bug)
    assert places == 1, f"the bug {bug.name!r} fits {places} places of {bug.file}; plant it anew in BUGS"
    copy_to(tmp_path, NOT_COPIED)
    plant(bug, tmp_path)
    found = simulated(tmp_path, FOUND_BY[bug.name])
    assert found.returncode == 1, f"not found: {bug.name}\n{found.stdout}{found.stderr}"
    assert "1 failures" in found.stdout, f"{bug.name} broke the simulator itself\n{found.stdout}{found.stderr}"


def simulated(folder: Path, first: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.simulator", "--seeds", f"{first}..{first + SEEDS - 1}", "--stop"],
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=SECONDS_MAX,
        check=False,
    )
