"""A few hundred small worlds of the simulator (many more: ``python -m tests.simulator``), and that it is one that can
be relied on: the same seed makes the same run, in every process, and so does the trace that it left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulator.running import run, run_seed
from tests.simulator.trace import Trace

ROOT = Path(__file__).parents[2]
REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.json"))
PARTS, SEEDS_OF_A_PART = 16, 7  # small worlds: one or two a second
LARGE = range(6)


@pytest.mark.parametrize("part", range(PARTS))
def test_small_worlds_keep_every_law(part: int) -> None:
    for seed in range(part * SEEDS_OF_A_PART, (part + 1) * SEEDS_OF_A_PART):
        outcome = run_seed(seed)
        assert outcome.failure is None, f"python -m tests.simulator --seed {seed}\n{outcome.failure}"


@pytest.mark.parametrize("seed", LARGE)
def test_large_worlds_keep_every_law(seed: int) -> None:
    outcome = run_seed(seed, "large")
    assert outcome.failure is None, f"python -m tests.simulator --seed {seed} --size large\n{outcome.failure}"


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_what_once_broke_a_law_breaks_none(path: Path) -> None:
    outcome = run(Trace.read(path))
    assert outcome.failure is None, outcome.failure


def test_a_seed_makes_the_same_run_in_every_process_and_so_does_its_trace() -> None:
    told = {hashed: _in_a_process("3", hashed) for hashed in ("1", "2")}
    outcome = run_seed(3)
    assert run(outcome.trace).hash == outcome.hash
    assert all(outcome.hash in text for text in told.values()), (outcome.hash, told)


def _in_a_process(seed: str, hashed: str) -> str:
    """What the command prints of a seed, where sets and dicts of bytes have another order."""
    return subprocess.run(
        [sys.executable, "-m", "tests.simulator", "--seed", seed],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashed},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=True,
    ).stdout
