"""One run: a relay, a memory that several processes write and one syncs, their deaths, and an audit at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from syncmem import Memory
from tests.benchmarks import devices
from tests.load import writing
from tests.load.writing import HOLDER, SHARED, STEP, entity_of, notes_of

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 120  # in which a process that is told to end has ended
SYNCS_MAX = 20
PROBES = 100


class Violation(AssertionError):
    """Something was lost, or is not as it was written."""


@dataclass(frozen=True)
class Load:
    """``kill_every``: seconds after which all processes are killed and started again, about; 0: never."""

    processes: int = 8
    rate: float = 20.0
    seconds: float = 60.0
    kill_every: float = 0.0
    seed: int = 0


@dataclass
class Outcome:
    """``took``, ``late``: microseconds, of each write; ``disk``: of a sync of a small file; ``errors``: of callers."""

    disk: list[int] = field(default_factory=list)
    took: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    kills: int = 0
    cycles: int = 0
    held: int = 0


def run(load: Load, folder: Path) -> Outcome:
    """Load a new memory in ``folder``; what came of it.

    Raises:
        Violation: what was acknowledged is not held, by the memory or by the device that syncs with it.
    """
    laptop, phone = folder / "laptop.db", folder / "phone.db"
    with devices.relay(folder / "relay") as address:
        with Memory(laptop) as memory:
            memory.define(HOLDER, cardinality="single")
            memory.create_vault("laptop")
            devices.joined(memory, phone, address)
        outcome, names = Outcome(_syncs_of_the_disk(folder / "probe")), list[str]()
        random, end = Random(load.seed), time.monotonic() + load.seconds
        while (left := end - time.monotonic()) > 0:
            these = [f"writer {outcome.cycles}.{number}" for number in range(load.processes)]
            names += these
            spell = min(left, load.kill_every * random.uniform(0.2, 1.8)) if load.kill_every else left
            _spell(load, folder, these, spell, dies=bool(load.kill_every), outcome=outcome)
        _audit(folder, names, outcome)
    return outcome


def _spell(load: Load, folder: Path, names: Sequence[str], seconds: float, *, dies: bool, outcome: Outcome) -> None:
    """All processes from their start to their end."""
    laptop = str(folder / "laptop.db")
    with (folder / "syncer.txt").open("ab") as heard:
        syncer = _started(["-m", "syncmem", "--db", laptop, "sync", "--watch"], heard.fileno())
        writers = [
            _started([*("-m", writing.__name__), laptop, name, str(load.rate), str(folder / name)]) for name in names
        ]
        _until_all_write([folder / name for name in names], writers)
        time.sleep(seconds)
        gone = [name for name, writer in zip(names, writers, strict=True) if writer.poll() is not None]
        for process in (*writers, syncer):
            process.send_signal(signal.SIGKILL if dies else signal.SIGTERM)
        for process in (*writers, syncer):
            process.wait(SECONDS_MAX)
    outcome.cycles += 1
    outcome.kills += len(writers) + 1 if dies else 0
    if gone:
        raise Violation(f"{', '.join(gone)} ended by itself")


def _until_all_write(notes: Sequence[Path], writers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until each process has begun: how long that takes is not what is asked."""
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end and not any(writer.poll() for writer in writers):
        if all(path.exists() and path.stat().st_size for path in notes):
            return
        time.sleep(0.02)


def _syncs_of_the_disk(path: Path) -> list[int]:
    """How long it takes until a page is on the disk."""
    took = []
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    for number in range(PROBES):
        os.pwrite(file, bytes(4096), number * 4096)
        begin = time.perf_counter()
        os.fsync(file)
        took.append(int((time.perf_counter() - begin) * 1e6))
    os.close(file)
    return took


def _started(arguments: Sequence[str], stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=dict(os.environ), stdout=stdout)


def _audit(folder: Path, names: Sequence[str], outcome: Outcome) -> None:
    """See that both devices hold what was acknowledged, that nothing is damaged, and that a rebuild changes nothing."""
    acknowledged: dict[str, set[int]] = {}
    for name in names:
        noted, errors = notes_of(folder / name)
        acknowledged[name] = {number for number, _, _ in noted}
        outcome.took += [took for _, took, _ in noted]
        outcome.late += [late for _, _, late in noted]
        outcome.errors += errors
    with Memory(folder / "laptop.db") as laptop, Memory(folder / "phone.db") as phone:
        _synced(laptop, phone)
        for memory in (laptop, phone):
            outcome.held = sum(_held(memory, acknowledged).values())
        if damaged := [text for text in laptop.doctor(full=True).problems if "log" in text or "damaged" in text]:
            raise Violation(f"the doctor says {damaged[0]}")


def _synced(laptop: Memory, phone: Memory) -> None:
    for _ in range(SYNCS_MAX):
        for memory in (laptop, phone):
            memory.sync()
        if laptop.event_digest() == phone.event_digest():
            break
    if laptop.belief_digest() != phone.belief_digest():
        raise Violation("the two devices believe differently after they have met")


def _held(memory: Memory, acknowledged: dict[str, set[int]]) -> Counter[str]:
    """How many of the acknowledged writes of each process a memory holds: all."""
    held: Counter[str] = Counter()
    shared = _remembered(memory, SHARED, HOLDER)
    for name, numbers in acknowledged.items():
        found = {
            value for entity in {entity_of(name, n) for n in numbers} for value in _remembered(memory, entity, STEP)
        }
        lost = [n for n in sorted(numbers) if n not in found and f"{name} {n}" not in shared]
        if lost:
            raise Violation(f"{len(lost)} acknowledged writes of {name} are not in {memory.path}: {lost[:5]}")
        held[name] = len(numbers)
    return held


def _remembered(memory: Memory, entity: str, predicate: str) -> set[object]:
    return {entry.value for entry in memory.history(entity, predicate) if entry.verb == "remember"}
