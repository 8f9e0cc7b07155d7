"""The write paths of the library: how each begins, and what it does while the power may go.

Every path runs on a memory of its own; ``ack`` notes what stands now, which from then on must never be lost.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from syncmem import Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.sync.folder import Folder
from tests.power.disk import DISKS, PowerDisk

BEGAN = 1_781_524_800_000_000  # June 2026
HOUR = 3_600_000_000
CANARY = "CANARY-7351"


class State(NamedTuple):
    """What is held and believed: ``heads`` are (place, event) by log; ``erased``: the canary must be gone."""

    heads: dict[bytes, tuple[int, bytes]]
    events: str
    beliefs: str
    erased: bool
    step: int


class Lying(NamedTuple):
    """What lies in the shared folder, which is of another machine and keeps all it was given."""

    files: dict[str, bytes]


@dataclass
class World:
    """One machine whose power goes, and a peer and a shared folder that stay."""

    folder: Path
    random: Random
    disk: PowerDisk = field(init=False)
    time: int = BEGAN
    opened: int = 0
    steps: int = 0
    erased: bool = False
    memory: Any = None
    again: Any = None

    def __post_init__(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "disk").mkdir(parents=True)
        psow = self.random.random() < 0.5
        self.disk = PowerDisk(self.folder / "disk", powersafe=psow, sector=self.random.choice((512, 4096)))
        DISKS[:] = [self.disk]

    def restart(self) -> None:
        """From here on all that is drawn is what it was after the last restart."""
        if self.again is None:
            self.again = self.random.getstate(), self.time, self.opened
        else:
            state, self.time, self.opened = self.again
            self.random.setstate(state)
        self.steps, self.erased = 0, False

    @property
    def path(self) -> Path:
        return self.folder / "disk" / "a.db"

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    @property
    def peer_path(self) -> Path:
        return self.folder / "peer.db"

    def environment(self, *, peer: bool = False) -> Environment:
        self.opened += 1
        self.time += HOUR
        randomness = seeded_randomness(self.random.randrange(2**40) + self.opened)
        options: dict[str, Any] = {} if peer else {"disk": self.disk}
        return Environment(ManualClock(self.time), randomness, open_mailbox=self._mailbox, **options)

    def open(self) -> Memory:
        self.memory = None
        self.memory = Memory(self.path, environment=self.environment(), zone="UTC", embedder=None)
        return self.memory

    def open_peer(self) -> Memory:
        return Memory(self.peer_path, environment=self.environment(peer=True), zone="UTC", embedder=None)

    def ack(self) -> None:
        self.steps += 1
        self.disk.note(state(self.memory, self.erased, self.steps))

    def _mailbox(self, address: str) -> Any:
        return Watched(Folder(address), self)

    def lying(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.shared.rglob("*") if path.is_file()}

    def lay(self, files: dict[str, bytes]) -> None:
        shutil.rmtree(self.shared, ignore_errors=True)
        for name, data in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(data)


class Watched:
    """The shared folder; what lies in it is noted after each question, before the answer arrives."""

    def __init__(self, inner: Folder, world: World) -> None:
        self._inner, self._world = inner, world

    def exchange(self, *asked: Any) -> Any:
        answer = self._inner.exchange(*asked)
        self._world.disk.note(Lying(self._world.lying()))
        return answer

    def drop(self, *asked: Any) -> Any:
        answer = self._inner.drop(*asked)
        self._world.disk.note(Lying(self._world.lying()))
        return answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def state(memory: Memory, erased: bool = False, step: int = 0) -> State:
    logs = memory._replica.logs
    heads = {log.id: (log.seq, logs.ref(log.position(log.seq)).id) for log in logs.held(scope=None) if log.seq}
    return State(heads, memory.event_digest(), memory.belief_digest(), erased, step)


# -- what is done ---------------------------------------------------------------------------------------


def say(memory: Memory, random: Random, number: int) -> None:
    entity = random.choice(("ana", "rui", "bo"))
    value: Any = random.choice((f"value {number}", number, "Lisbon", "x" * random.randrange(3000)))
    memory.remember(entity, random.choice(("home", "likes")), value)


def some(world: World) -> None:
    """A memory with a past."""
    with world.open() as memory:
        memory.define("home", cardinality="single")
        for number in range(world.random.randrange(12)):
            say(memory, world.random, number)


def nothing(world: World) -> None:
    """No file yet."""


def creates(world: World) -> None:
    world.ack()
    world.memory.remember("ana", "home", "Lisbon")
    world.ack()


def remembers(world: World) -> None:
    for number in range(100, 104):
        say(world.memory, world.random, number)
        world.ack()


def groups(world: World) -> None:
    for first in (100, 200):
        with world.memory.transaction():
            for number in range(first, first + world.random.randrange(2, 12)):
                say(world.memory, world.random, number)
        world.ack()


def _with_peer(world: World, count: int) -> None:
    some(world)
    with world.open_peer() as peer:
        peer.define("home", cardinality="single")
        with peer.transaction():
            for number in range(count):
                say(peer, world.random, number)


def peer_of_many(world: World) -> None:
    _with_peer(world, world.random.choice((20, 300)))


def merges(world: World) -> None:
    with world.open_peer() as peer:
        world.memory.merge(peer)
    world.ack()


def bundle(world: World) -> None:
    _with_peer(world, 60)
    with world.open_peer() as peer:
        peer.export_bundle(world.folder / "peer.bundle")


def imports(world: World) -> None:
    world.memory.import_bundle(world.folder / "peer.bundle")
    world.ack()


def with_secret(world: World) -> None:
    some(world)
    with world.open() as memory:
        for number in range(6):
            memory.remember("eve", "secret", f"{CANARY}-{number}" + "y" * world.random.randrange(2000))


def erases(world: World) -> None:
    world.erased = world.memory.erase("eve").scrubbed
    world.ack()
    say(world.memory, world.random, 500)
    world.ack()


def rebuilds(world: World) -> None:
    world.ack()
    world.memory.rebuild()
    world.ack()


def retracts(world: World) -> None:
    for event in [entry.event for entry in world.memory.history("ana", "home")][:2]:
        world.memory.retract(event)
        world.ack()
    world.memory.define("likes", cardinality="single")
    world.ack()


def backs_up(world: World) -> None:
    target = world.folder / "disk" / f"copy {world.opened}.db"
    world.ack()
    world.memory.backup(target)
    world.ack()


def two_devices(world: World) -> None:
    """A vault of two that meet in a shared folder, and each has something to say."""
    world.shared.mkdir()
    some(world)
    with world.open() as memory:
        memory.create_vault("a")
        memory.add_mailbox(f"folder:{world.shared}")
        memory.sync()
        invitation = memory.invite()
        world.open_peer().close()
        with suppress(LookupError):
            _join(world, invitation.code)
        assert invitation.accept(lambda asking: asking == "b") == "b"
        with _join(world, invitation.code) as peer:
            memory.sync()
            for number in range(world.random.randrange(5)):
                say(peer, world.random, number)
            peer.sync()


def _join(world: World, code: str) -> Memory:
    options: dict[str, Any] = {"name": "b", "wait_seconds": 0, "environment": world.environment(peer=True)}
    return Memory.join(world.peer_path, code, zone="UTC", embedder=None, **options)


def syncs(world: World) -> None:
    for number in (100, 200):
        say(world.memory, world.random, number)
        world.ack()
        world.memory.sync()
        world.ack()


@dataclass(frozen=True)
class WritePath:
    """``whole``: each step is one transaction, so that what stands is always what was noted before or after it."""

    name: str
    begins: Callable[[World], None]
    does: Callable[[World], None]
    whole: bool = True


PATHS: Sequence[WritePath] = (
    WritePath("creation and migration", nothing, creates),
    WritePath("remember", some, remembers),
    WritePath("grouped writes", some, groups),
    WritePath("retraction and definition", some, retracts),
    WritePath("merge", peer_of_many, merges, whole=False),
    WritePath("bundle", bundle, imports, whole=False),
    WritePath("erasure and scrub", with_secret, erases),
    WritePath("rebuild", some, rebuilds),
    WritePath("backup", some, backs_up),
    WritePath("sync", two_devices, syncs, whole=False),
)
