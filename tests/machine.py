"""A device whose whole disk can be put back: database and side file together, so that nothing shows it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from syncmem import Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness

SUFFIXES = ("", "-wal", "-shm", ".device")
HOUR = 3_600_000_000
Disk = dict[str, bytes | None]


def disk_of(path: str | Path) -> Disk:
    """What lies on the disk of a replica that is closed."""
    files = {suffix: Path(f"{path}{suffix}") for suffix in SUFFIXES}
    return {suffix: file.read_bytes() if file.exists() else None for suffix, file in files.items()}


def put_back(path: str | Path, disk: Disk) -> None:
    """Make the files what they were, in place, while the replica is closed."""
    for suffix, content in disk.items():
        file = Path(f"{path}{suffix}")
        if content is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(content)


@dataclass
class Machine:
    """A device, its clock, and copies of its disk."""

    path: Path
    clock: ManualClock
    seeds: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        number = sum(self.path.stem.encode()) * 1000 + next(self.seeds)
        environment = Environment(self.clock, seeded_randomness(number))
        self.memory = Memory(self.path, environment=environment, zone="UTC")

    def backed_up(self) -> Disk:
        self.memory.close()
        disk = disk_of(self.path)
        self.open()
        return disk

    def put_back(self, disk: Disk) -> None:
        """The disk is what it was; time went on."""
        self.memory.close()
        put_back(self.path, disk)
        self.clock.time += HOUR + 1
        self.open()

    def values(self, entity: str = "ana", predicate: str = "diary", **asked: str) -> list[object]:
        return sorted(belief.value for belief in self.memory.beliefs(entity, predicate, **asked))  # type: ignore[arg-type]
