"""The household of the daily life: three devices of one vault, the store of a relay between them, and a reader.

Time is a clock that the household sets; files, keys and seals are real.  The store is a relay's own, asked without
HTTP.  Every blob that is put is opened and its bytes are counted, part by part.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from syncmem import Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.errors import NotFound
from syncmem.relay.store import SqliteStore
from syncmem.seal.envelope import EpochKey
from syncmem.standing import MailboxSync
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange
from tests.benchmarks.blob_parts import parts_of

ADDRESS = "relay:"
DEVICES = ("laptop", "phone", "tablet")


class Shelf:
    """A mailbox over a store in this process."""

    push: str | None = None

    def __init__(self, store: SqliteStore, count: Callable[[Exchange], None]) -> None:
        self.address = ADDRESS
        self._store = store
        self._count = count

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        self._count(request)
        return self._store.exchange(request)

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        return self._store.get(key, names)

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        return self._store.drop(request)

    def close(self) -> None:
        pass


class Household:
    """Devices by name; ``seconds`` and ``cpu`` of each kind of action, in the order in which they were done.

    Attributes:
        news: the devices for which something may lie at the relay; ``wrote``: claims since a device last synced.
        sent: bytes of blobs by kind, see :mod:`blob_parts`; ``blobs``: how many; ``parts``: bytes by what they are.
    """

    def __init__(self, folder: Path, now: int, stack: ExitStack) -> None:
        self.folder = folder
        self.clock = ManualClock(now)
        self.store = SqliteStore(folder / "relay", seeded_randomness(1), clock=self.clock)
        stack.callback(self.store.close)
        self._stack = stack
        self.seconds: defaultdict[str, list[float]] = defaultdict(list)
        self.cpu: defaultdict[str, list[float]] = defaultdict(list)
        self.wrote: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.blobs: Counter[str] = Counter()
        self.parts: Counter[str] = Counter()
        self._known: dict[bytes, EpochKey] = {}  # the vault's keys by their mailboxes' keys
        self.news: set[str] = set()
        self.memories = self._founded()
        self.reader = stack.enter_context(Memory(self.path("laptop"), environment=self._environment(99)))

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.db"

    def _environment(self, number: int) -> Environment:
        return Environment(
            self.clock, seeded_randomness(number), open_mailbox=lambda address: Shelf(self.store, self._count)
        )

    def _count(self, request: Exchange) -> None:
        """What goes into the vault's mailboxes; what is left for the recovery phrase does not count."""
        for put in request.puts if request.key in self._known else ():
            kind, parts = parts_of(self._known[request.key], put.blob)
            self.sent[kind] += len(put.blob)
            self.blobs[kind] += 1
            self.parts += parts

    def begin_counting(self) -> None:
        """Count from here on."""
        keys = self.memories[DEVICES[0]]._syncer.vault.keys.values()
        self._known = {key.write_key: key for key in keys}

    def _founded(self) -> dict[str, Memory]:
        founder = Memory(self.path(DEVICES[0]), environment=self._environment(0))
        self._stack.enter_context(founder)
        founder.create_vault(DEVICES[0])
        found = {DEVICES[0]: founder}
        for number, name in enumerate(DEVICES[1:], 1):
            found[name] = self.joined(founder, name, number)
        return found

    def joined(self, host: Memory, name: str, number: int) -> Memory:
        """A new device, let in by another; it has taken in nothing yet."""
        invitation = host.invite(ADDRESS)
        path, environment = self.path(name), self._environment(number)
        with suppress(NotFound):
            Memory.join(path, invitation.code, name=name, wait_seconds=0, environment=environment)
        assert invitation.accept(lambda asked: asked == name)
        joined = Memory.join(path, invitation.code, name=name, wait_seconds=0, environment=environment)
        return self._stack.enter_context(joined)

    def timed(self, what: str, action: Callable[[], object]) -> None:
        cpu, begin = time.process_time(), time.perf_counter()
        action()
        self.seconds[what].append(time.perf_counter() - begin)
        self.cpu[what].append(time.process_time() - cpu)

    def remember(self, name: str, entity: str, predicate: str, value: str) -> None:
        """A device remembers, and the reader asks what is believed of that."""
        self.timed("remember", lambda: self.memories[name].remember(entity, predicate, value, source="user"))
        self.timed("believe", lambda: self.reader.believe(entity, predicate))
        self.wrote[name] += 1

    def sync(self, name: str) -> MailboxSync:
        """A device syncs."""
        found: list[MailboxSync] = []
        self.timed("sync", lambda: found.extend(self.memories[name].sync().mailboxes))
        (report,) = found
        assert report.error is None and not report.refused, report
        self.wrote.pop(name, 0)
        self.news.discard(name)
        if report.sent:
            self.news |= {*self.memories} - {name}
        return report

    def settle(self) -> None:
        """Sync until nobody has anything to tell."""
        while self.news or self.wrote:
            for name in self.memories:
                self.sync(name)


class Saying:
    """What is said: 40 claims a day, of which two are new and the others repeat what is true; seeded."""

    PEOPLE, PREDICATES, CHANGED = 50, 20, 0.05

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._slots = [(f"person {p}", f"fact {n}") for p in range(self.PEOPLE) for n in range(self.PREDICATES)]
        self._chance.shuffle(self._slots)
        self._weights = [1 / (place + 20) for place in range(len(self._slots))]
        self._true = dict.fromkeys(self._slots, 0)

    def predicates(self) -> list[str]:
        return [f"fact {number}" for number in range(self.PREDICATES)]

    def next(self) -> tuple[str, str, str]:
        """Entity, predicate and value."""
        (slot,) = self._chance.choices(self._slots, self._weights)
        self._true[slot] += self._chance.random() < self.CHANGED
        return (*slot, f"{slot[1]}, as it is since change {self._true[slot]}")
