"""``python -m tests.simulator --seed 7``: one run; ``--seeds 0..999``, ``--minutes 10``: many, one for each seed."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.simulator.running import run, run_seed
from tests.simulator.trace import Trace


def main() -> int:
    reading = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    reading.add_argument("--seed", type=int, default=0)
    reading.add_argument("--seeds", help="FIRST..LAST, both included")
    reading.add_argument("--minutes", type=float, default=0.0)
    reading.add_argument("--size", choices=["small", "large"], default="small")
    reading.add_argument("--replay", type=Path)
    given = reading.parse_args()
    if given.replay:
        outcome = run(Trace.read(given.replay))
        print(outcome.hash, outcome.failure or "all laws hold")
        return 1 if outcome.failure else 0
    first, _, last = (given.seeds or f"{given.seed}..{given.seed}").partition("..")
    seed, until, began = int(first), int(last), time.time()
    failed = 0
    while seed <= until or time.time() - began < given.minutes * 60:
        outcome = run_seed(seed, given.size)
        if outcome.failure:
            failed += 1
            print(f"seed {seed}: {outcome.failure[:600]}", flush=True)
        elif seed == until == int(first):
            print(f"seed {seed}: {outcome.hash}, all laws hold")
        seed += 1
    print(f"{seed - int(first)} seeds, {failed} failures, {time.process_time():.1f} s CPU")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
