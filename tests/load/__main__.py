"""``python -m tests.load --processes 8 --rate 20 --minutes 10``: several processes write one memory, one syncs it.

It prints how long a write took, which errors a caller saw, and what is held in the end of what was acknowledged.  With
``--kill-every SECONDS`` all of them are killed again and again (SIGKILL); ``--runs N`` (each of ``--minutes``) begins
anew so often, and ``--state FILE`` goes on after the last run that it tells of, and keeps the sums over all.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.benchmarks.measuring import quantile
from tests.kept_sums import KeptSums
from tests.load.running import Load, Outcome, Violation, run


def main() -> int:
    given = _arguments()
    kept, failed = KeptSums.read(given.state), 0
    for seed in range(kept.next, kept.next + given.runs):
        load = Load(given.processes, given.rate, given.minutes * 60, given.kill_every, seed)
        with tempfile.TemporaryDirectory(prefix="load-", ignore_cleanup_errors=True) as folder:
            try:
                outcome = run(load, Path(folder))
            except Violation as found:
                failed += 1
                kept.failures[str(seed)] = str(found)
                print(f"run {seed}: {found}", flush=True)
                continue
        print(_told(load, outcome), flush=True)
        kept.sums.update(_sums(outcome))
        kept.next = seed + 1
        kept.write()
    for name, count in sorted(kept.sums.items()):
        print(f"{count:>12,}  {name}")
    print(f"{len(kept.failures)} failures")
    return 1 if failed else 0


def _told(load: Load, outcome: Outcome) -> str:
    """What came of one run, for people."""
    took = _shown(outcome.took)
    kinds = dict(Counter(error.split(" ", 1)[1].partition(":")[0] for error in outcome.errors))
    rate, shown = len(outcome.took) / max(load.seconds, 1), kinds or "none"
    lines = (
        f"{load.processes} processes, {load.rate:g} writes/s each, {load.seconds:g} s, load {os.getloadavg()[0]:.1f}",
        f"one sync of the disk alone took {_shown(outcome.disk)}",
        f"{len(outcome.took):,} writes acknowledged ({rate:.0f}/s), {outcome.held:,} of them held by both devices",
        f"a write took {took}, and began late by {_shown(outcome.late)}",
        f"errors of callers: {shown} {''.join(outcome.errors[:1])}",
        f"{outcome.cycles} cycles, {outcome.kills} kills",
    )
    return "\n".join(lines)


def _shown(micros: list[int]) -> str:
    """Milliseconds."""
    values = [each / 1000 for each in micros] or [0.0]
    parts = ", ".join(f"p{100 * part:g} {quantile(values, part):.1f}" for part in (0.5, 0.9, 0.99))
    return f"{parts}, at most {max(values):.1f} ms"


def _sums(outcome: Outcome) -> dict[str, int]:
    return {
        "runs": 1,
        "writes acknowledged": len(outcome.took),
        "of them held by both devices": outcome.held,
        "errors of callers": len(outcome.errors),
        "cycles that ended with SIGKILL": outcome.cycles if outcome.kills else 0,
        "processes killed": outcome.kills,
    }


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    reading.add_argument("--processes", type=int, default=8)
    reading.add_argument("--rate", type=float, default=20.0, help="writes a second, of each process")
    reading.add_argument("--minutes", type=float, default=1.0)
    reading.add_argument("--kill-every", type=float, default=0.0, metavar="SECONDS", help="about; 0: never")
    reading.add_argument("--runs", type=int, default=1)
    reading.add_argument("--state", type=Path, metavar="FILE")
    return reading.parse_args()


if __name__ == "__main__":
    sys.exit(main())
