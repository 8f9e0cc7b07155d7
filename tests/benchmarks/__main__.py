"""``python -m tests.benchmarks [--scale small|quick|full] [--only NAME...] [--peers] [--json FILE]``"""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.benchmarks.running import BENCHMARKS, ON_DEMAND, SCALES, run, title


def main() -> None:
    listing = "\n".join(f"  {name:10} {title(name)}" for name in BENCHMARKS)
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measure the library beside a log written by hand.",
        epilog=f"benchmarks:\n{listing}\n\nSYNCMEM_BENCH_CACHE: a folder for large files and peers; TMPDIR: the disk.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scale", choices=SCALES, default="small", help="small: no figures to quote; quick: minutes")
    parser.add_argument("--only", nargs="+", choices=list(BENCHMARKS), metavar="NAME", help="these benchmarks only")
    parser.add_argument(
        "--peers", action="store_true", help="what else there is, installed on demand; with --only: besides"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="append one JSON object a row")
    arguments = parser.parse_args()
    names = arguments.only or ([] if arguments.peers else list(BENCHMARKS))
    print(run([*names, *(ON_DEMAND if arguments.peers else ())], arguments.scale, arguments.json))


if __name__ == "__main__":
    main()
