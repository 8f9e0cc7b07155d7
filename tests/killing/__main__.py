"""``python -m tests.killing --cycles 150``: as many times are processes killed (-9) in the middle of what they do.

A seed is one life of two devices, of ``--life`` cycles; ``--state FILE`` goes on after the last seed that it tells of
and keeps the sums over all runs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from time import monotonic

from tests.kept_sums import KeptSums
from tests.killing.running import Violation, run

SCRATCH = "/dev/shm"  # what a killed process wrote is in the system's hands, whatever disk it is on


def main() -> int:
    given = _arguments()
    kept = KeptSums.read(given.state)
    seed = kept.next if given.seed is None else given.seed
    began, done, failed = monotonic(), 0, 0
    while done < given.cycles or monotonic() - began < given.minutes * 60:
        folder = Path(tempfile.mkdtemp(prefix="killing-", dir=SCRATCH if Path(SCRATCH).is_dir() else None))
        try:
            kept.sums.update(run(seed, given.life, folder))
        except Violation as found:
            failed += 1
            kept.failures[str(seed)] = str(found)[:2000]
            print(f"seed {seed}: {found}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        kept.next = seed = seed + 1
        done += given.life
        kept.write()
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(kept.sums.items()))
    print(f"{told}, {len(kept.failures)} failures")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(prog="python -m tests.killing", description=__doc__)
    reading.add_argument("--cycles", type=int, default=15, help="at least so many")
    reading.add_argument("--life", type=int, default=15, metavar="N", help="cycles of one life")
    reading.add_argument("--minutes", type=float, default=0.0)
    reading.add_argument("--seed", type=int, help="from this one on; else after the last one in the state")
    reading.add_argument("--state", type=Path, metavar="FILE")
    return reading.parse_args()


if __name__ == "__main__":
    sys.exit(main())
