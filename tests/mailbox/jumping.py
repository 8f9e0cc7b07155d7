"""A relay as a process whose clocks jump when a test says so: ``python -m tests.mailbox.jumping CLOCKS --data DIR ...``

CLOCKS is a file of two numbers: by how many seconds the wall clock is wrong, and how many were slept through (which is
what a machine that was suspended sees of the other clock). The relay gets them through its environment, like any time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from syncmem.environment import Environment, SystemClock
from syncmem.relay.config import load
from syncmem.relay.server import serve


class Jumps(NamedTuple):
    """How far the clocks of a relay are from the machine's, in seconds."""

    wall: int
    slept: int

    def write(self, file: Path) -> None:
        part = file.with_suffix(".part")
        part.write_text(f"{self.wall} {self.slept}", encoding="ascii")
        part.replace(file)

    @classmethod
    def read(cls, file: Path) -> Jumps:
        wall, slept = file.read_text(encoding="ascii").split()
        return cls(int(wall), int(slept))


class JumpingClock(SystemClock):
    """The machine's clocks, moved as the file says."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def now(self) -> int:
        return super().now() + 1_000_000 * Jumps.read(self._file).wall

    def elapsed(self) -> float:
        return super().elapsed() + Jumps.read(self._file).slept


def command(file: Path, *options: str) -> list[str]:
    """Runs a relay with the clocks of a file."""
    return [sys.executable, "-m", "tests.mailbox.jumping", str(file), *options]


def main() -> None:
    file, kind, place = sys.argv[1:4]
    settings = load(None, os.environ, {kind.removeprefix("--"): place, "port": 0})
    clock = JumpingClock(Path(file))
    serve(settings, lambda url: print(f"relay at {url}", flush=True), environment=Environment(clock=clock))


if __name__ == "__main__":
    main()
