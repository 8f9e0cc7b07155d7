"""``python -m tests.power --seed 0 --minutes 10 --state FILE``: runs, one for each seed; the file keeps sums over all.

One seed goes one write path (they take turns) and loses the power at each of its moments; ``--every 5`` at each fifth.
``--runs N`` ends after so many.  ``--calibrate NORMAL`` (or ``OFF``) overrules the library's synchronisation instead.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import monotonic, process_time

from tests.kept_sums import KeptSums
from tests.power import library

library.install()

from tests.power.audit import Violation  # noqa: E402  the library is chosen before syncmem is imported
from tests.power.paths import PATHS  # noqa: E402
from tests.power.running import calibrate, run  # noqa: E402

SCRATCH = "/dev/shm"  # what lies on the disk is decided here, not by the machine's


def main() -> int:
    given = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="power-", dir=SCRATCH if Path(SCRATCH).is_dir() else None))
    try:
        return _calibrated(given, folder) if given.calibrate else _swept(given, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _swept(given: argparse.Namespace, folder: Path) -> int:
    kept = KeptSums.read(given.state)
    seed = kept.next if given.seed is None else given.seed
    began, done, failed = monotonic(), 0, 0
    while done < given.runs or monotonic() - began < given.minutes * 60:
        cpu = process_time()
        try:
            kept.sums.update(run(seed, folder / "world", every=given.every))
        except Violation as found:
            failed += 1
            kept.failures[str(seed)] = str(found)
            print(f"seed {seed} ({PATHS[seed % len(PATHS)].name}): {found}", flush=True)
        kept.sums["milliseconds of CPU"] += int(1000 * (process_time() - cpu))
        kept.next = seed = seed + 1
        done += 1
        kept.write()
    for name, count in sorted(kept.sums.items()):
        print(f"{count:>12,}  {name}")
    print(f"{len(kept.failures)} failures")
    return 1 if failed else 0


def _calibrated(given: argparse.Namespace, folder: Path) -> int:
    told: Counter[str] = Counter()
    for seed in range(given.seed or 0, (given.seed or 0) + max(given.runs, 1)):
        told.update(calibrate(seed, folder / "world", given.calibrate))
    print(json.dumps(told, sort_keys=True))
    return 0


def _arguments() -> argparse.Namespace:
    reading = argparse.ArgumentParser(prog="python -m tests.power", description=__doc__)
    reading.add_argument("--seed", type=int, help="from this one on; else after the last one in the state")
    reading.add_argument("--minutes", type=float, default=0.0)
    reading.add_argument("--runs", type=int, default=1, help="at least so many")
    reading.add_argument("--every", type=int, default=1, metavar="N", help="lose the power at each N-th moment only")
    reading.add_argument("--state", type=Path, metavar="FILE")
    reading.add_argument("--calibrate", choices=["NORMAL", "OFF", "FULL"])
    return reading.parse_args()


if __name__ == "__main__":
    sys.exit(main())
