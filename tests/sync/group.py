"""Several devices of one person, in one process: real files or memory, one clock each, any mailbox."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from syncmem import BrokenChain, Environment, ManualClock, Memory, SyncReport
from syncmem.environment import seeded_randomness
from syncmem.model.event import Event, LogKey
from syncmem.model.instant import from_datetime
from syncmem.seal.envelope import EpochKey, unseal
from syncmem.sync import open_mailbox
from syncmem.sync.in_memory import InMemoryServer
from syncmem.wire.blob import Item, ItemKind, read_blob
from syncmem.wire.frames import read_frame
from syncmem.wire.mailbox import Mailbox


def items_of(key: EpochKey, sealed: bytes) -> Sequence[Item]:
    """What is in a blob; of a report that does not say whose it is, nothing: it holds no events."""
    try:
        return read_blob(unseal(key, sealed), key.vault, key.mailbox).items
    except BrokenChain:
        return ()


NOON = datetime(2026, 6, 15, 12, tzinfo=UTC)


@dataclass
class Group:
    """Devices that meet at one address; ``opener`` makes the mailbox (None: the real one)."""

    folder: Path
    address: str
    opener: Callable[[str], Mailbox] | None = None
    servers: Sequence[InMemoryServer] = ()  # where that opens mailboxes in memory
    devices: dict[str, Memory] = field(default_factory=dict)
    clocks: dict[str, ManualClock] = field(default_factory=dict)
    phrase: str = ""
    _seeds: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def environment(self, name: str) -> Environment:
        clock = self.clocks.setdefault(name, ManualClock(from_datetime(NOON)))
        return Environment(
            clock=clock, randomness=seeded_randomness(next(self._seeds)), open_mailbox=self.opener or open_mailbox
        )

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def found(self, name: str = "laptop") -> Memory:
        """The first device, and the vault."""
        memory = self.open(name)
        self.phrase = memory.create_vault(name)
        memory.add_mailbox(self.address)
        return memory

    def open(self, name: str) -> Memory:
        self.devices[name] = Memory(self.path(name), environment=self.environment(name), zone="UTC")
        return self.devices[name]

    def pair(self, name: str, by: str = "laptop", scopes: tuple[str, ...] = ()) -> Memory:
        """Let a new device in: it asks, the other accepts, it goes on."""
        invitation = self.devices[by].invite(scopes=scopes)
        environment = self.environment(name)
        joining = Memory(self.path(name), environment=environment, zone="UTC")
        joining.close()
        try:
            Memory.join(self.path(name), invitation.code, name=name, wait_seconds=0, environment=environment)
        except LookupError:
            pass
        assert invitation.accept(lambda asking: asking == name) == name
        joined = Memory.join(
            self.path(name), invitation.code, name=name, wait_seconds=0, environment=environment, zone="UTC"
        )
        self.devices[name] = joined
        return joined

    def pass_time(self, delta: timedelta = timedelta(hours=1)) -> None:
        for clock in self.clocks.values():
            clock.time += delta // timedelta(microseconds=1)

    def sync(self, *names: str) -> list[SyncReport]:
        return [self.devices[name].sync() for name in names]

    def settle(self, *names: str) -> None:
        """Sync in turn until nobody sends or receives any more."""
        for _ in range(12):
            reports = self.sync(*(names or self.devices))
            if not any(one.sent or one.received for report in reports for one in report.mailboxes):
                return
        raise AssertionError("the devices do not come to rest")

    def copy(self, name: str, to: str) -> Memory:
        """Clone a device's files while it is closed, and open the clone."""
        self.devices[name].close()
        for suffix in ("", ".device"):
            shutil.copyfile(f"{self.path(name)}{suffix}", f"{self.path(to)}{suffix}")
        self.open(name)
        return self.open(to)

    # -- what lies in the mailboxes ------------------------------------------------------------------

    def keys_ever(self) -> list[EpochKey]:
        """Every epoch key that any device has."""
        found = {key.epoch: key for memory in self.devices.values() for key in memory._syncer.vault.keys.values()}
        return list(found.values())

    def blobs(self) -> Iterator[tuple[bytes, bytes]]:
        """(mailbox id, sealed blob) of all that lies in the mailboxes."""
        if self.address.startswith("folder:"):
            for path in Path(self.address.removeprefix("folder:")).rglob("*.blob"):
                if data := path.read_bytes():
                    yield bytes.fromhex(path.parts[-4]), data
        for server in self.servers:
            for id, box in server.boxes.items():
                for stream in box.blobs.values():
                    yield from ((id, blob) for blob in stream.values() if blob)

    def events_in_mailboxes(self, keys: Iterable[EpochKey] | None = None) -> Iterator[tuple[LogKey, int, Event]]:
        """Every event that lies there with its payload: its log, its place. Opened with these keys, or with all."""
        by_mailbox = {key.mailbox: key for key in (self.keys_ever() if keys is None else keys)}
        for mailbox, sealed in self.blobs():
            key = by_mailbox.get(mailbox)
            if key is not None:
                items = items_of(key, sealed)
                for frame in (read_frame(item.body) for item in items if item.kind == ItemKind.FRAME):
                    for place, event in enumerate(frame.events, frame.first):
                        if isinstance(event, Event):
                            yield frame.key, place, event

    def close(self) -> None:
        for memory in self.devices.values():
            memory.close()

    def assert_in_sync(self, *names: str) -> None:
        """All hold the same, believe the same, and say so."""
        memories = [self.devices[name] for name in names or self.devices]
        assert len({memory.event_digest() for memory in memories}) == 1
        assert len({memory.belief_digest() for memory in memories}) == 1
        for memory in memories:
            status = memory.status()
            assert status.in_sync, status
