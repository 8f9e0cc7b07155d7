"""``python -m tests.planted``: plants every bug, runs the test that must catch it, prints a table."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.planted.bugs import PLANTED
from tests.planted.planting import caught


def main() -> int:
    missed = 0
    print("| bug | caught by | s |\n|---|---|---|")
    for planted in PLANTED:
        if len(sys.argv) > 1 and sys.argv[1] not in planted.bug.name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found, seconds = caught(planted, Path(folder))
        missed += not found
        name = planted.caught_by.removeprefix("power: ")
        shown = name if "::" in name else f"python -m tests.power {name}"
        print(
            f"| {planted.bug.name} | {f'`{shown}`' if found else f'NOT CAUGHT by {shown}'} | {seconds:.0f} |",
            flush=True,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
