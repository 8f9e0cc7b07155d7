"""Running the command line as its users do: another process, a real file, a fixed zone.

What a test only needs to be there is written through the library, which takes no process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncmem import Memory

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 60


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """A folder to run commands in; its memory is ``syncmem.db`` there."""

    folder: Path

    def memory(self, name: str = "syncmem.db") -> Memory:
        """A memory of the folder, to prepare it; close it before a command runs."""
        return Memory(self.folder / name, zone="UTC")

    def run(self, *arguments: object, env: dict[str, str] | None = None) -> Outcome:
        finished = subprocess.run(
            [sys.executable, "-m", "syncmem", *map(str, arguments)],
            cwd=self.folder,
            env=environment() | (env or {}),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS_MAX,
            check=False,
        )
        return Outcome(finished.returncode, finished.stdout.decode("utf-8"), finished.stderr.decode("utf-8"))

    def text(self, *arguments: object) -> str:
        """The output of a command that succeeds."""
        outcome = self.run(*arguments)
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return outcome.out

    def json(self, *arguments: object) -> Any:
        """What a command that succeeds prints with --json."""
        return json.loads(self.text(*arguments, "--json"))


def environment() -> dict[str, str]:
    """The caller's variables without those that change what is printed."""
    changing = {
        "SYNCMEM_DB",
        "SYNCMEM_KEY_FILE",
        "SYNCMEM_ZONE",
        "NO_COLOR",
        "FORCE_COLOR",
        "COLUMNS",
        "TERM",
        "TTY_COMPATIBLE",
    }
    kept = {name: value for name, value in os.environ.items() if name not in changing}
    path = os.pathsep.join(part for part in (str(ROOT), kept.get("PYTHONPATH", "")) if part)
    return kept | {"PYTHONPATH": path, "TZ": "UTC", "PYTHONIOENCODING": "utf-8", "TERM": "xterm-256color"}
