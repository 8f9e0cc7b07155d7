"""Devices of one vault for benchmarks: a founder that holds a history of members, a relay, and who joins.

Who founds a vault answers for all that is held then: a history's authors, and the device that took it in when
its file was built.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from syncmem import Memory
from syncmem.errors import NotFound
from tests.benchmarks import material
from tests.benchmarks.workshop import ROOT, Workshop

SECONDS_MAX = 30
RATES = ("MAILBOX_REQUESTS_SECOND", "MAILBOX_BYTES_SECOND")  # of relays that are measured: none


def founder(workshop: Workshop, shape: material.Shape, folder: Path) -> Path:
    """The file of a device that has founded a vault and holds a history of others."""
    path = folder / "founder.db"
    shutil.copyfile(material.built(workshop, shape), path)
    with Memory(path) as memory:
        memory.create_vault("founder")
    return path


class Relay(NamedTuple):
    """A relay as a process of its own."""

    address: str
    process_id: int

    @property
    def resident_kib(self) -> int:
        """What it holds in memory, where the system tells (Linux)."""
        with open(f"/proc/{self.process_id}/status", encoding="ascii") as told:
            return next(int(line.split()[1]) for line in told if line.startswith("VmRSS"))


@contextmanager
def relay(folder: Path) -> Iterator[str]:
    """A relay as a process of its own; its address."""
    with relay_process(folder) as made:
        yield made.address


@contextmanager
def relay_process(folder: Path, *options: str) -> Iterator[Relay]:
    command = [sys.executable, "-m", "syncmem", "relay", "--data", str(folder), "--port", "0", *options]
    unlimited = {f"SYNCMEM_RELAY_LIMITS__{name}": str(10**12) for name in RATES}
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | unlimited, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Relay(process.stdout.readline().split()[-1], process.pid)
    finally:
        process.terminate()
        process.wait(SECONDS_MAX)
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def shared_folder(folder: Path) -> Iterator[str]:
    """A folder that several devices see; its address."""
    folder.mkdir()
    yield f"folder:{folder}"


def let_in(memory: Memory, path: Path, address: str) -> str:
    """A new device at ``path`` has asked and was let in; the code with which it goes on."""
    invitation = memory.invite(address)
    with suppress(NotFound):
        Memory.join(path, invitation.code, name=path.stem, wait_seconds=0)
    assert invitation.accept(lambda name: name == path.stem)
    return invitation.code


def awaited(workshop: Workshop, shape: material.Shape, folder: Path, address: str) -> tuple[Path, Path, str]:
    """A founder all of whose history lies at the relay, where a new device's file will be, and its code."""
    made, new = founder(workshop, shape, folder), folder / "newcomer.db"
    with Memory(made) as memory:
        code = let_in(memory, new, address)
    workshop.child("sync", made, address)
    return made, new, code


def joined(memory: Memory, path: Path, address: str) -> None:
    """A new device at ``path`` is a member."""
    code = let_in(memory, path, address)
    with closing(Memory.join(path, code, name=path.stem, wait_seconds=0)):
        pass
