"""What was said, told in many ways: on one device or on several, in order, reversed, shuffled, split and twice.

Rules: a step is said at its own time by a device whose clock stands there; what differs between the ways is who
says it and in which order readers hear of it.  A step that names an earlier one is said by a device that has heard
of that one.  All readers of one way must believe the same before a test looks at any of them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from syncmem import Candidate, Environment, HistoryEntry, Judgement, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime
from syncmem.sync.in_memory import InMemoryServer
from tests.sync.group import Group

EARLY = "2000-01-01T00:00Z"  # when devices are set up and predicates defined
LATE = "2026-06-01T12:00Z"  # when readers meet and are asked
SECOND = 1_000_000
MINUTE = 60 * SECOND


@dataclass(frozen=True)
class Named:
    """The event of the step of that name."""

    step: str


@dataclass(frozen=True)
class Step:
    """One verb said at one time; ``said`` makes them."""

    when: str
    verb: str
    arguments: tuple[Any, ...]
    words: dict[str, Any]
    name: str | None = None
    device: str | None = None  # None: any

    @property
    def names(self) -> list[str]:
        given = [*self.arguments, *self.words.values()]
        listed = [each for argument in given for each in (argument if isinstance(argument, list) else [argument])]
        return [argument.step for argument in listed if isinstance(argument, Named)]


def said(
    when: str, verb: str, /, *arguments: Any, name: str | None = None, device: str | None = None, **words: Any
) -> Step:
    """``said("2025-01-10", "remember", "ana", "city", "Lisbon")``; a day alone is its noon, UTC."""
    return Step(when if "T" in when else f"{when}T12:00Z", verb, arguments, words, name, device)


def instant(when: str) -> int:
    return from_datetime(datetime.fromisoformat(when))


@dataclass
class Devices:
    """Devices by name, each with a clock; they know the predicates before anything is said."""

    single: Sequence[str]
    open: Callable[[str], tuple[Memory, ManualClock]]
    memories: dict[str, Memory] = field(default_factory=dict)
    clocks: dict[str, ManualClock] = field(default_factory=dict)
    events: dict[str, tuple[str, str]] = field(default_factory=dict)  # name of a step -> its device, its event

    def device(self, name: str) -> Memory:
        if name not in self.memories:
            self.memories[name], self.clocks[name] = self.open(name)
            for predicate in self.single:
                self.memories[name].define(predicate, cardinality="single")
        return self.memories[name]

    def say(self, step: Step, name: str) -> Any:
        """Say a step; its receipt."""
        memory = self.device(name)
        for other in dict.fromkeys(self.events[named][0] for named in step.names):
            if other != name:
                self.clocks[name].time = instant(step.when) - MINUTE
                memory.merge(self.memories[other])
        self.clocks[name].time = instant(step.when)
        arguments = [self._event(argument) for argument in step.arguments]
        words = {name: self._event(argument) for name, argument in step.words.items()}
        if step.verb == "submit":
            return self._judge(step, name, Candidate(*arguments, **words))
        receipt = getattr(memory, step.verb)(*arguments, **words)
        if step.name is not None:
            self.events[step.name] = (name, receipt.event)
        return receipt

    def _judge(self, step: Step, name: str, candidate: Candidate) -> Judgement:
        """Submit a candidate and consolidate a second later; what became of it."""
        at_once = self.memories[name].submit(candidate).judged
        self.clocks[name].time += SECOND
        judged = [*at_once, *self.memories[name].consolidate()][-1]
        if step.name is not None and judged.receipts:
            self.events[step.name] = (name, judged.receipts[0].event)
        return judged

    def _event(self, argument: Any) -> Any:
        if isinstance(argument, list):
            return [self._event(each) for each in argument]
        return self.events[argument.step][1] if isinstance(argument, Named) else argument

    def wake(self) -> None:
        """All clocks at the time of asking."""
        for clock in self.clocks.values():
            clock.time = max(clock.time, instant(LATE))


def in_memory(seeds: Iterator[int]) -> Callable[[str], tuple[Memory, ManualClock]]:
    def open(name: str) -> tuple[Memory, ManualClock]:
        clock = ManualClock(instant(EARLY))
        return Memory(":memory:", zone="UTC", environment=Environment(clock, seeded_randomness(next(seeds)))), clock

    return open


@dataclass(frozen=True)
class Way:
    """How steps reach readers: who says step number ``i``, and in which order the devices are heard."""

    name: str
    speaker: Callable[[int, Step], str]
    order: Callable[[list[str]], list[str]] = list
    times: int = 1  # how often each device is heard
    mailbox: bool = False

    def __repr__(self) -> str:
        return self.name


def _split(count: int) -> Callable[[int, Step], str]:
    return lambda i, step: step.device or f"device {i % count}"


def _each(i: int, step: Step) -> str:
    return f"device {i}"


def _shuffled(seed: int) -> Callable[[list[str]], list[str]]:
    return lambda names: random.Random(seed).sample(names, len(names))


WAYS = (
    Way("in order on one device", lambda i, step: "laptop"),
    Way("on a device each, heard in order", _each),
    Way("on a device each, heard in reverse", _each, lambda names: names[::-1]),
    Way("on a device each, shuffled", _each, _shuffled(1)),
    Way("split over two devices, heard twice", _split(2), times=2),
    Way("split over three devices", _split(3), lambda names: names[::-1]),
    Way("through a mailbox", _split(3), mailbox=True),
)


def readers(
    way: Way, steps: Sequence[Step], single: Sequence[str], folder: Path, scopes: tuple[str, ...] = ()
) -> Iterator[Memory]:
    """Everybody who has heard all: the devices that spoke, and a fresh one; all believe the same."""
    if way.mailbox:
        yield from _synced(way, steps, single, folder, scopes)
        return
    devices = Devices(single, in_memory(itertools.count(1)))
    for i, step in enumerate(steps):
        devices.say(step, way.speaker(i, step))
    speakers = list(devices.memories)
    fresh, by_bundle = devices.device("fresh"), devices.device("by bundle")
    devices.wake()
    for name in way.order(speakers) * way.times:
        fresh.merge(devices.memories[name])
    _carry_by_bundle(fresh, by_bundle, folder, way.times)
    for name in speakers:
        for other in way.order([other for other in speakers if other != name]) * way.times:
            devices.memories[name].merge(devices.memories[other])
    yield from _agreed(devices.memories)


def _carry_by_bundle(full: Memory, empty: Memory, folder: Path, times: int) -> None:
    full.export_bundle(folder / "all.bundle")
    for _ in range(times):
        empty.import_bundle(folder / "all.bundle")


def _synced(
    way: Way, steps: Sequence[Step], single: Sequence[str], folder: Path, scopes: tuple[str, ...]
) -> Iterator[Memory]:
    """Three devices of a vault that speak offline and then sync until they rest."""
    server = InMemoryServer(seeded_randomness(9))
    group = Group(folder, "memory:", server.mailbox, [server])
    speakers = sorted({way.speaker(i, step) for i, step in enumerate(steps)})
    for name in speakers:
        group.clocks[name] = ManualClock(instant(EARLY))
    first = group.found(speakers[0])
    for scope in scopes:
        first.define("topic", cardinality="single", scope=scope)
    for name in speakers[1:]:
        group.pair(name, by=speakers[0], scopes=scopes)
    devices = Devices(single, lambda name: (group.devices[name], group.clocks[name]))
    for i, step in enumerate(steps):
        devices.say(step, way.speaker(i, step))
    devices.wake()
    group.settle()
    group.assert_in_sync()
    yield from _agreed(group.devices)


def _agreed(memories: dict[str, Memory]) -> Iterator[Memory]:
    digests = {name: memory.belief_digest() for name, memory in memories.items()}
    assert len(set(digests.values())) == 1, digests
    try:
        yield from memories.values()
    finally:
        for memory in memories.values():
            memory.close()


# -- reading -------------------------------------------------------------------------------------------


def line(memory: Memory, entity: str, predicate: str, **asked: Any) -> list[tuple[Any, str | None, str | None]]:
    """The timeline of a slot as (value, first day, day after the last)."""
    return [(b.value, _day(b.valid_from), _day(b.valid_to)) for b in memory.timeline(entity, predicate, **asked)]


def values(memory: Memory, entity: str, predicate: str, **asked: Any) -> list[Any]:
    """What holds, in order of the text."""
    return sorted((b.value for b in memory.beliefs(entity, predicate, **asked)), key=str)


def heard(memory: Memory, entity: str, predicate: str) -> list[HistoryEntry]:
    """The statements about a slot, without the definitions of its predicate."""
    return [entry for entry in memory.history(entity, predicate) if entry.verb != "define"]


def current(memory: Memory, entity: str, predicate: str, **asked: Any) -> Any:
    """The value that holds, None where nothing is known."""
    belief = memory.believe(entity, predicate, **asked)
    return None if belief is None else belief.value


def _day(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d}"
