"""A new device that is killed ten times while it takes a history of 100,000 and of 1,000,000 claims from a relay.

It joins with a code in a process of its own, which is killed (SIGKILL) each time that it holds a part more; another
process goes on.  The peak is the resident set of that process which came to the most.

Reach (first stage): under 300 MB, whatever the size of the history; what was taken in before a kill is not taken
in again.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from syncmem import Memory
from syncmem.replica import driver
from tests.benchmarks import devices, material
from tests.benchmarks.child import peak_bytes
from tests.benchmarks.joining import CLAIMS_PER_SLOT, MB, REACH_MB
from tests.benchmarks.measuring import Row, at_most
from tests.benchmarks.workshop import ROOT, Workshop

KILLS = 10
SECONDS_MAX = 7_200
SIZES = {"small": (3_000,), "quick": (100_000,), "full": (100_000, 1_000_000)}


class Spell(NamedTuple):
    """What one process came to: its peak in bytes, how many events were held at its end, whether it was killed."""

    peak: int
    held: int
    killed: bool


def run(workshop: Workshop) -> list[Row]:
    return [row for claims in SIZES[workshop.scale] for row in _rows(workshop, claims)]


def _rows(workshop: Workshop, claims: int) -> list[Row]:
    shape = material.Shape(claims, max(claims // CLAIMS_PER_SLOT, 1))
    with workshop.scratch() as folder, devices.relay(folder / "relay") as address:
        founder, newcomer, code = devices.awaited(workshop, shape, folder, address)
        begun = time.perf_counter()
        spells = [_spell(newcomer, ("join", str(newcomer), code, address), claims // (KILLS + 1))]
        while spells[-1].killed:
            until = claims * (len(spells) + 1) // (KILLS + 1) if len(spells) < KILLS else None
            spells.append(_spell(newcomer, ("sync", str(newcomer), address), until))
        seconds = time.perf_counter() - begun
        with Memory(founder) as memory, Memory(newcomer) as other:
            assert memory.belief_digest() == other.belief_digest()
    assert all(one.held <= other.held for one, other in pairwise(spells)), "what was held is lost"
    what = f"join with {claims:,} claims, killed {sum(spell.killed for spell in spells)} times"
    peak = Row(f"peak memory, {what}", max(spell.peak for spell in spells) / MB, "MB", reach=at_most(REACH_MB))
    peak.more = {f"peak_{number}": spell.peak / MB for number, spell in enumerate(spells)}
    return [Row(what, claims / seconds, "claims/s"), peak]


def _spell(path: Path, arguments: tuple[str, ...], until: int | None) -> Spell:
    """One process, killed once so many events are held."""
    command = [sys.executable, "-m", "tests.benchmarks.child", *arguments]
    peak, held, end = 0, 0, time.monotonic() + SECONDS_MAX
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as child:
        while child.poll() is None and time.monotonic() < end:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                peak = max(peak, peak_bytes(child.pid))
            held = _held(path)
            if until is not None and held >= until:
                child.kill()
                child.wait()
                return Spell(peak, held, killed=True)
            time.sleep(0.02)
    assert child.returncode == 0, "a process that goes on ended with an error"
    return Spell(peak, _held(path), killed=False)


def _held(path: Path) -> int:
    """How many events a memory holds that another process has open."""
    if not path.exists():
        return 0
    with contextlib.suppress(driver.dbapi.OperationalError):
        connection = driver.connect(str(path), read_only=True)
        try:
            return int(connection.execute("SELECT coalesce(sum(seq), 0) FROM logs").fetchone()[0])
        finally:
            connection.close()
    return 0
