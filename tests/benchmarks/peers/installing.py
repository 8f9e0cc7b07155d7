"""The environments of peers: one for Python, one folder of node modules; made on demand, apart from the project's own.

Rule: what cannot be installed or run is a reason in words, and never an error of the run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.listed import Peer

WORK = Path(__file__).parent / "work"
INSTALL_SECONDS_MAX, WORK_SECONDS_MAX = 600, 3_600
SAID_CHARACTERS_MAX = 120  # of a reason


class NotThere(Exception):
    """A peer cannot be installed, or does not do the work; says why."""


class Environments:
    """Where peers are installed: a folder that is kept for the next run where there is a cache."""

    def __init__(self, folder: Path) -> None:
        self._python_folder = folder / "python"
        self._node_folder = folder / "node"

    def command(self, peer: Peer) -> list[str]:
        """What runs a peer's script, after it was installed."""
        if peer.is_javascript:
            return ["node", str(self.installed_node(peer.packages) / peer.script)]
        return [self.installed_python(peer.packages), str(WORK / peer.script)]

    def installed_python(self, packages: Sequence[str]) -> str:
        """The interpreter of an environment with these packages."""
        python = self._python_folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        if not python.exists():
            venv.create(self._python_folder, with_pip=True)
        there = "import sys, importlib.metadata as m; [m.version(name) for name in sys.argv[1:]]"
        if subprocess.run([str(python), "-c", there, *packages], capture_output=True, check=False).returncode:
            _run([str(python), "-m", "pip", "install", "-q", "--no-input", *packages], "pip", INSTALL_SECONDS_MAX)
        return str(python)

    def installed_node(self, packages: Sequence[str]) -> Path:
        """A folder with node modules, and with the scripts beside them, as they find modules from where they lie."""
        npm = shutil.which("npm")
        if npm is None or shutil.which("node") is None:
            raise NotThere("Node.js is not installed")
        self._node_folder.mkdir(parents=True, exist_ok=True)
        for script in WORK.glob("*.mjs"):
            shutil.copy(script, self._node_folder)
        if not all((self._node_folder / "node_modules" / package).exists() for package in packages):
            _run([npm, "install", "--prefix", str(self._node_folder), *packages], "npm", INSTALL_SECONDS_MAX)
        return self._node_folder


def worked(command: Sequence[str], *arguments: str | Path) -> dict[str, Any]:
    """What a script reports; its last line of output is a JSON object."""
    said = _run([*command, *map(str, arguments)], "its script", WORK_SECONDS_MAX)
    report: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    return report


def _run(command: Sequence[str], what: str, seconds_max: float) -> str:
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds_max,
            env=variables,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotThere(f"{what}: {type(error).__name__}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "rror" in line] or done.stderr.splitlines() or ["failed"]
        raise NotThere(f"{what}: {lines[-1].strip()[:SAID_CHARACTERS_MAX]}")
    return done.stdout


def ours(script: str) -> list[str]:
    """What runs a script with this library, in the environment of this run."""
    return [sys.executable, str(WORK / script)]
