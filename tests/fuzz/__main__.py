"""``python -m tests.fuzz TARGET [--seconds N] [--keep]``: a long run guided by coverage.

It needs ``pip install -e '.[fuzz]'``.

It begins with the kept corpus and ends with the first input that a target does not take or refuse as it should
(written to a file that is named), or when the time is over.  ``--keep`` then keeps the shortest inputs that
reached something new.  ``python -m tests.fuzz --write-valid`` writes the kept corpus' valid messages anew.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

LENGTH_MAX = 4096  # of what is tried: what needs more is in tests/fuzz/costly.py
MEMORY_MB_MAX = 1024
INPUT_SECONDS_MAX = 10


def main() -> None:
    if sys.argv[1:2] == ["--atheris"]:
        fuzz(sys.argv[2], sys.argv[3:])
    from tests.fuzz import kept
    from tests.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", nargs="?", choices=list(TARGETS))
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--write-valid", action="store_true")
    given = parser.parse_args()
    if given.write_valid:
        kept.write_valid()
    if given.target:
        sys.exit(long_run(given.target, given.seconds, keep=given.keep))


def fuzz(name: str, arguments: list[str]) -> None:
    """Run libFuzzer in this process, which does not return."""
    import atheris

    with atheris.instrument_imports(include=["syncmem"]):
        from tests.fuzz.targets import TARGETS
    target = TARGETS[name]
    atheris.Setup([sys.argv[0], *arguments], lambda data: target.accepts(data) and None)
    atheris.Fuzz()


def long_run(name: str, seconds: int, *, keep: bool) -> int:
    """Fuzz a target in a process of its own; its exit code."""
    from tests.fuzz import kept

    with tempfile.TemporaryDirectory() as found:
        limits = [f"-max_len={LENGTH_MAX}", f"-rss_limit_mb={MEMORY_MB_MAX}", f"-timeout={INPUT_SECONDS_MAX}"]
        arguments = [f"-max_total_time={seconds}", *limits, "-print_final_stats=1", found, str(kept.ROOT / name)]
        command = [sys.executable, "-m", "tests.fuzz", "--atheris", name, *arguments]
        code = subprocess.run(command, check=False).returncode
        if keep and not code:
            print(f"{kept.keep(name, [path.read_bytes() for path in Path(found).iterdir()])} found files are kept")
        return code


if __name__ == "__main__":
    main()
