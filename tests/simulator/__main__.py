"""``python -m tests.simulator --seed 7``: one run; ``--seeds 0..999``, ``--minutes 10``: many, one for each seed.

What fails is shrunk to a few steps and written beside the state (or here) as ``NAME.json``, which ``--replay`` runs
again. ``--state FILE`` goes on after the last seed that it tells of, and keeps the sums over all runs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import monotonic

from tests.simulator.running import Outcome, run, run_seed
from tests.simulator.shrinking import shrunk
from tests.simulator.state import State
from tests.simulator.trace import Trace


def main() -> int:
    given = _arguments()
    if given.replay:
        return _told(run(Trace.read(given.replay)), str(given.replay))
    state = State.read(given.state, given.size)
    first, last = _seeds(given, state)
    began, seed, failures = monotonic(), first, 0
    while seed <= last or monotonic() - began < given.minutes * 60:
        outcome = run_seed(seed, given.size)
        if outcome.failure:
            failures += 1
            print(f"seed {seed}: {outcome.failure[:500]}", flush=True)
            _keep(outcome, Path(given.state or ".").parent / f"{given.size}-{seed}.json", given.tries)
        state.add(seed, outcome)
        seed += 1
        if failures and given.stop:
            break
    if first == last and seed == last + 1 and not failures:
        print(f"seed {first}: {outcome.hash}")
    print(state.told())
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    reading.add_argument("--seed", type=int, help="this one; with --minutes from this one on")
    reading.add_argument("--seeds", help="FIRST..LAST, both included")
    reading.add_argument("--minutes", type=float, default=0.0)
    reading.add_argument("--size", choices=["small", "large"], default="small")
    reading.add_argument("--replay", type=Path, metavar="TRACE.json")
    reading.add_argument("--state", type=Path, metavar="FILE")
    reading.add_argument("--tries", type=int, default=0, help="runs that shrinking a failure may take; 0: none")
    reading.add_argument("--stop", action="store_true", help="at the first failure")
    return reading.parse_args()


def _seeds(given: argparse.Namespace, state: State) -> tuple[int, int]:
    if given.seeds:
        first, _, last = given.seeds.partition("..")
        return int(first), int(last)
    if given.seed is not None:
        return given.seed, given.seed
    return state.next, state.next - 1


def _keep(outcome: Outcome, path: Path, tries: int) -> None:
    """Write the trace of a failure, shrunk as far as it may take."""
    trace = shrunk(outcome.trace, outcome.law, tries) if tries else outcome.trace
    trace.write(path, (outcome.failure or "")[:300])
    print(f"  {len(trace.steps)} steps: {path}", flush=True)


def _told(outcome: Outcome, what: str) -> int:
    print(f"{what}: {outcome.hash}, {outcome.failure or 'all laws hold'}")
    return 1 if outcome.failure else 0


if __name__ == "__main__":
    sys.exit(main())
