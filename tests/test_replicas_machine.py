"""Two to four devices that say, take back, merge, crash, are copied and restored, in any order.

Rules that are held after every step: each replica believes what the reference believes of the events that
it holds; what was acknowledged is there; nothing of the scope "device" leaves.  In the end, once all have
met, all hold the same events and believe the same.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeGuard

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from syncmem import (
    NONE,
    BrokenChain,
    Environment,
    Forked,
    InvalidInput,
    ManualClock,
    Memory,
    NotFound,
    Receipt,
    Source,
    restore,
)
from syncmem.environment import seeded_randomness
from syncmem.model.event import (
    ClockNote,
    Define,
    Erase,
    Event,
    Form,
    Kind,
    LogKey,
    Ref,
    Retract,
    Statement,
    Then,
    Undo,
    Withdraw,
    chained,
    readable,
)
from syncmem.model.instant import FOREVER, from_datetime
from syncmem.model.link import Link
from syncmem.model.moved import Moved
from syncmem.model.subjects import subjects
from syncmem.replica.catalog import Slot
from syncmem.replica.chain import Log
from syncmem.replica.logs import SEQ_MASK
from tests import links, reference
from tests.machine import Disk, disk_of, put_back
from tests.strategies import Row, Said, as_answer, rows_of, without_covered

NOON = datetime(2024, 6, 15, 12, tzinfo=UTC)
DAYS = st.integers(-6, 6).map(lambda days: NOON + timedelta(days=days))
HOURS = st.integers(0, 72).map(lambda hours: timedelta(hours=hours))
SKEWS = st.sampled_from([timedelta(0), timedelta(minutes=-3), timedelta(hours=7), timedelta(days=-400)])
DEVICES = st.integers(0, 3)
ENTITIES = st.sampled_from(["ana", "ana", "bob"])
PREDICATES = st.sampled_from(["city", "language"])
SCOPES = st.sampled_from(["vault", "vault", "vault", "work", "device"])
VALUES = st.sampled_from(["A", "B", "C", "a", NONE])  # "A" and "a" are the same where a predicate says so
TRUSTS = st.sampled_from([90, 90, 50, 30])
SOURCES = st.sampled_from([None, None, "mail", "chat"])
BATCHES = st.sampled_from([None, None, None, "import 1", "import 2"])
OFTEN_NONE = st.one_of(st.none(), DAYS)
ABOUT = st.tuples(ENTITIES, PREDICATES)
PASSAGES = [Source("mail", episode="e1"), Source("chat", "x", "e1"), Source("mail", "y", "e1", (0, 3))]
SAID = st.fixed_dictionaries(
    {
        "scope": SCOPES,
        "trust": TRUSTS,
        "source": st.one_of(SOURCES, st.sampled_from(PASSAGES)),
        "batch": BATCHES,
        "observed_at": OFTEN_NONE,
    }
)


@dataclass
class Device:
    """A device: its file, its clock, and its open replica."""

    path: str
    clock: ManualClock
    seed: Iterator[int]
    memory: Memory = field(init=False)
    backup: tuple[str, set[str]] | None = None
    disk: tuple[Disk, set[str]] | None = None  # a copy of the whole machine
    put_back: bool = False  # the machine was that copy once: two lives of it have written

    def open(self) -> None:
        environment = Environment(clock=self.clock, randomness=seeded_randomness(next(self.seed)))
        self.memory = Memory(self.path, environment=environment, zone="UTC")

    @property
    def on_disk(self) -> bool:
        return self.path != ":memory:"


class Replicas(RuleBasedStateMachine):
    claims = Bundle("claims")
    others = Bundle("others")  # ends, denials, retractions, undoings, definitions ...
    bundles = Bundle("bundles")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="syncmem-machine-"))
        self.devices: list[Device] = []
        self.acknowledged: dict[str, Words] = {}  # what each write said; its event's name changes where it is moved
        self.about: dict[str, set[tuple[str, str]]] = {}  # of a statement or a link: scope and entity of what it names
        self.erased: set[tuple[str, str]] = set()  # what an erasure may reach by now, or will when devices meet
        self.held: dict[int, set[str]] = {}  # device -> what it acknowledged and must still hold
        self.unchecked: set[int] = set()
        self.numbers = itertools.count(1)

    # -- devices ------------------------------------------------------------------------------------

    @initialize(on_disk=st.lists(st.booleans(), min_size=2, max_size=4), skews=st.lists(SKEWS, min_size=4, max_size=4))
    def begin(self, on_disk: list[bool], skews: list[timedelta]) -> None:
        for number, (disk, skew) in enumerate(zip(on_disk, skews, strict=False)):
            path = str(self.folder / f"device-{number}.db") if disk else ":memory:"
            self.devices.append(Device(path, ManualClock(from_datetime(NOON + skew)), self.numbers))
            self.devices[-1].open()
            self.held[number] = set()

    def device(self, number: int) -> tuple[int, Device]:
        number %= len(self.devices)
        self.unchecked.add(number)
        return number, self.devices[number]

    def holder(self, number: int, event: str) -> int:
        """The first device, from this one on, that holds an event."""
        for step in range(len(self.devices)):
            other = (number + step) % len(self.devices)
            if self.named(self.devices[other].memory, event) != _NOBODY:
                return other
        return number

    def named(self, memory: Memory, event: str) -> str:
        """The name under which a memory knows an event."""
        return names_in(memory).get(self.acknowledged[event], _NOBODY)

    def write(self, number: int, verb: Callable[[Memory], Receipt]) -> Any:
        """Do a write; what is refused leaves no trace, what is acknowledged is kept in mind."""
        number, device = self.device(number)
        before = state(device.memory)
        try:
            receipt = verb(device.memory)
        except (InvalidInput, NotFound) as error:
            assert ";" in str(error)
            assert state(device.memory) == before
            return multiple()
        return self.keep(number, receipt.event)

    def keep(self, number: int, name: str) -> str:
        """Keep a write in mind."""
        memory = self.devices[number].memory
        event = f"write {next(self.numbers)}"
        position = memory._telling.position(name)
        self.acknowledged[event] = words_at(memory, position)
        self.held[number].add(event)
        scope, told = memory._replica.logs.key_of(position).scope, memory._replica.logs.event(position)
        self.about[event] = {(scope, name) for name in subjects(scope, told)}
        return event

    def stays(self, event: str) -> bool:
        """Whether an event is about nothing that was erased anywhere."""
        return not self.about[event] & self.erased

    @rule(number=DEVICES, hours=HOURS)
    def time_passes(self, number: int, hours: timedelta) -> None:
        self.device(number)[1].clock.time += hours // timedelta(microseconds=1)

    @rule(number=DEVICES, skew=SKEWS)
    def a_clock_jumps(self, number: int, skew: timedelta) -> None:
        self.device(number)[1].clock.time += skew // timedelta(microseconds=1)

    # -- verbs --------------------------------------------------------------------------------------

    @rule(target=claims, number=DEVICES, about=ABOUT, value=VALUES, said=SAID, affirm=st.sampled_from([None, False]))
    def remember_a_state(self, number: int, about: Any, value: Any, said: dict[str, Any], affirm: bool | None) -> Any:
        return self.write(number, lambda m: m.remember(*about, value, affirm=affirm, **said))

    @rule(target=claims, number=DEVICES, about=ABOUT, value=VALUES, said=SAID, since=DAYS, change=st.booleans())
    def remember_since_when(
        self, number: int, about: Any, value: Any, said: dict[str, Any], since: datetime, change: bool
    ) -> Any:
        start = {"changed_on" if change else "since": since}
        return self.write(number, lambda m: m.remember(*about, value, **start, **said))

    @rule(
        target=claims,
        number=DEVICES,
        about=ABOUT,
        value=VALUES,
        said=SAID,
        since=st.one_of(DAYS, st.none()),
        days=st.integers(0, 9),
        bound=st.sampled_from(["until", "valid_to", "expires_at"]),
        then=st.sampled_from([None, "resume", "vacate"]),
    )
    def remember_for_a_time(
        self, number: int, about: Any, value: Any, said: dict[str, Any], since: Any, days: int, bound: str, then: Any
    ) -> Any:
        stop = {bound: (since or NOON) + timedelta(days=days), "then": then}
        return self.write(number, lambda m: m.remember(*about, value, since=since, **stop, **said))

    @rule(
        target=claims,
        number=DEVICES,
        about=ABOUT,
        value=VALUES,
        said=SAID,
        ageing=st.sampled_from([{"ttl": "3d"}, {"stale_after": "2d", "stale_trust": "inference"}]),
    )
    def remember_what_ages(
        self, number: int, about: Any, value: Any, said: dict[str, Any], ageing: dict[str, Any]
    ) -> Any:
        return self.write(number, lambda m: m.remember(*about, value, **ageing, **said))

    @rule(
        target=claims,
        number=DEVICES,
        roots=st.lists(claims, min_size=1, max_size=3),
        about=ABOUT,
        value=VALUES,
        said=SAID,
    )
    def remember_what_follows(self, number: int, roots: list[str], about: Any, value: Any, said: dict[str, Any]) -> Any:
        def verb(memory: Memory) -> Receipt:
            names = [self.named(memory, root) for root in roots]
            scope = slot_of(memory, names[0])[0]
            return memory.remember(*about, value, derived_from=names, **{**said, "scope": scope})

        return self.write(self.holder(number, roots[0]), verb)

    @rule(target=claims, number=DEVICES, claim=claims, value=VALUES, trust=TRUSTS)
    def correct(self, number: int, claim: str, value: Any, trust: int) -> Any:
        return self.write(self.holder(number, claim), lambda m: m.correct(self.named(m, claim), value, trust=trust))

    @rule(target=others, number=DEVICES, about=ABOUT, value=VALUES, said=SAID, at=OFTEN_NONE, changed=st.booleans())
    def end(self, number: int, about: Any, value: Any, said: dict[str, Any], at: Any, changed: bool) -> Any:
        return self.write(number, lambda m: m.end(*about, value, at=at, changed=changed, **said))

    @rule(target=others, number=DEVICES, claim=claims, trust=TRUSTS)
    def end_a_claim(self, number: int, claim: str, trust: int) -> Any:
        def verb(memory: Memory) -> Receipt:
            name = self.named(memory, claim)
            value = memory.event(name).value
            scope, entity, predicate = slot_of(memory, name)
            return memory.end(entity, predicate, value, event=name, scope=scope, trust=trust)

        return self.write(self.holder(number, claim), verb)

    @rule(target=others, number=DEVICES, about=ABOUT, value=VALUES, said=SAID)
    def deny(self, number: int, about: Any, value: Any, said: dict[str, Any]) -> Any:
        return self.write(number, lambda m: m.deny(*about, value, **said))

    @rule(
        target=others,
        number=DEVICES,
        claim=claims,
        more=st.one_of(st.just(()), st.just(()), st.tuples(st.one_of(claims, others))),
        trust=TRUSTS,
        source=SOURCES,
        batch=BATCHES,
    )
    def retract(self, number: int, claim: str, more: tuple[str, ...], **said: Any) -> Any:
        def verb(memory: Memory) -> Receipt:
            return memory.retract(*(self.named(memory, event) for event in (claim, *more)), **said)

        return self.write(self.holder(number, claim), verb)

    @rule(target=others, number=DEVICES, batch=BATCHES.filter(bool), scope=SCOPES, trust=TRUSTS)
    def withdraw(self, number: int, batch: str, **said: Any) -> Any:
        return self.write(number, lambda m: m.retract(batch=batch, **said))

    @rule(target=others, number=DEVICES, event=st.one_of(claims, others), trust=TRUSTS, source=SOURCES)
    def undo(self, number: int, event: str, **said: Any) -> Any:
        return self.write(self.holder(number, event), lambda m: m.undo(self.named(m, event), **said))

    @rule(
        target=others,
        number=DEVICES,
        speaker=st.one_of(DEVICES, SOURCES.filter(bool)),
        since=OFTEN_NONE,
        trust=TRUSTS,
        dry_run=st.sampled_from([False, False, True]),
    )
    def withdraw_all_that_somebody_said(self, number: int, speaker: int | str, since: Any, **said: Any) -> Any:
        number, device = self.device(number)
        before = state(device.memory)
        named: dict[str, Any] = {"source": speaker}
        if isinstance(speaker, int):
            named = {"device": self.devices[speaker % len(self.devices)].memory.device}
        try:
            receipt = device.memory.withdraw(**named, since=since, **said)
        except NotFound as error:
            assert ";" in str(error)
            return multiple()
        assert receipt.events or state(device.memory) == before
        return multiple(*[self.keep(number, event) for event in receipt.events])

    @rule(
        target=others,
        number=DEVICES,
        names=st.permutations(["ana", "bob", "eva"]),
        same=st.sampled_from([True, True, False]),
        scope=SCOPES,
        trust=TRUSTS,
        source=SOURCES,
        batch=BATCHES,
    )
    def link(self, number: int, names: list[str], same: bool, **said: Any) -> Any:
        return self.write(number, lambda m: (m.same if same else m.different)(*names[:2], **said))

    @rule(
        target=others,
        number=DEVICES,
        predicate=PREDICATES,
        cardinality=st.sampled_from(["single", "single", "many"]),
        equality=st.sampled_from([None, None, "casefold"]),
        scope=SCOPES,
        trust=TRUSTS,
        batch=BATCHES,
    )
    def define(self, number: int, predicate: str, **said: Any) -> Any:
        return self.write(number, lambda m: m.define(predicate, **said))

    @rule(target=others, number=DEVICES, event=st.one_of(claims, others), hours=st.integers(-9_600, 48))
    def correct_a_clock(self, number: int, event: str, hours: int) -> Any:
        def verb(memory: Memory) -> Receipt:
            return memory.correct_clock(self.named(memory, event), timedelta(hours=hours))

        return self.write(self.holder(number, event), verb)

    @rule(
        number=DEVICES,
        entity=ENTITIES,
        scope=st.sampled_from([None, None, "vault", "work"]),
        aliases=st.sampled_from([True, False]),
    )
    def erase(self, number: int, entity: str, scope: str | None, aliases: bool) -> None:
        memory = self.device(number)[1].memory
        report = memory.erase(entity, scope=scope, aliases=aliases)
        assert report.scrubbed and (aliases or report.entities == (entity,))
        self.erased |= {(name, each) for name in report.events for each in report.entities}
        for name in report.events if aliases or scope is None else ():  # else it may be one with another by other links
            assert memory.beliefs(entity, scope=name) == []
            assert entity not in memory.entities(scope=name)

    # -- transactions -------------------------------------------------------------------------------

    @rule(number=DEVICES, entity=ENTITIES, values=st.lists(VALUES, min_size=1, max_size=3))
    def a_transaction_that_fails(self, number: int, entity: str, values: list[Any]) -> None:
        memory = self.device(number)[1].memory
        before = state(memory)
        with pytest.raises(ZeroDivisionError), memory.transaction():
            for value in values:
                memory.remember(entity, "city", value)
            raise ZeroDivisionError
        assert state(memory) == before

    @rule(target=claims, number=DEVICES, entity=ENTITIES, values=st.lists(VALUES, min_size=2, max_size=3))
    def a_transaction_of_which_one_step_fails(self, number: int, entity: str, values: list[Any]) -> Any:
        number, device = self.device(number)
        with device.memory.transaction():
            receipts = [device.memory.remember(entity, "language", value) for value in values]
            with pytest.raises(ZeroDivisionError), device.memory.transaction():
                device.memory.remember(entity, "language", "of the step that fails")
                raise ZeroDivisionError
        return multiple(*(self.keep(number, receipt.event) for receipt in receipts))

    # -- meeting ------------------------------------------------------------------------------------

    @rule(taker=DEVICES, giver=DEVICES)
    def merge(self, taker: int, giver: int) -> None:
        (_, one), (_, other) = self.device(taker), self.device(giver)
        if one is not other:
            merged(one.memory, other.memory)
            assert merged(one.memory, other.memory) == 0

    @rule(one=DEVICES, other=DEVICES)
    def meet(self, one: int, other: int) -> None:
        self.merge(one, other)
        self.merge(other, one)
        self.merge(one, other)

    @rule(taker=DEVICES, giver=DEVICES, order=st.randoms(use_true_random=False))
    def logs_arrive_in_any_order(self, taker: int, giver: int, order: Random) -> None:
        """As a merge, but each log in transactions of its own: what it refers to may still be on its way."""
        (_, one), (_, other) = self.device(taker), self.device(giver)
        if one is not other:
            frames = other.memory._offer(one.memory._replica.version_vector())
            logs = [list(frames_of_log) for _, frames_of_log in itertools.groupby(frames, lambda frame: frame.key)]
            order.shuffle(logs)
            with contextlib.suppress(Forked, BrokenChain):
                one.memory._receive(itertools.chain(*logs), events_max=1, progress=None)
            merged(one.memory, other.memory)
            assert merged(one.memory, other.memory) == 0

    @rule(target=bundles, number=DEVICES)
    def export(self, number: int) -> str:
        path = str(self.folder / f"bundle-{next(self.numbers)}")
        self.device(number)[1].memory.export_bundle(path)
        return path

    @rule(number=DEVICES, path=bundles)
    def take_in(self, number: int, path: str) -> None:
        memory = self.device(number)[1].memory
        with contextlib.suppress(Forked, BrokenChain):
            memory.import_bundle(path)
        with contextlib.suppress(Forked, BrokenChain):
            assert memory.import_bundle(path).transactions == 0

    # -- files --------------------------------------------------------------------------------------

    @rule(number=DEVICES)
    def reopen(self, number: int) -> None:
        device = self.device(number)[1]
        if device.on_disk:
            device.memory.close()
            device.open()

    @rule(number=DEVICES)
    def crash(self, number: int) -> None:
        """The process dies; another one opens the file, and only then the dead one's handles go."""
        device = self.device(number)[1]
        if device.on_disk:
            dead = device.memory
            device.open()
            dead.close()

    @rule(number=DEVICES)
    def move_to_a_copy(self, number: int) -> None:
        """The machine dies; what lay on its disk at that moment is opened elsewhere."""
        device = self.device(number)[1]
        if device.on_disk and not device.put_back:
            copy = str(self.folder / f"copy-{next(self.numbers)}.db")
            for suffix in ("", "-wal", ".device"):
                if Path(device.path + suffix).exists():
                    shutil.copyfile(device.path + suffix, copy + suffix)
            device.memory.close()
            device.path, device.disk = copy, None
            device.open()

    @rule(number=DEVICES)
    def back_up(self, number: int) -> None:
        number, device = self.device(number)
        path = str(self.folder / f"backup-{next(self.numbers)}")
        device.memory.backup(path)
        device.backup = (path, set(self.held[number]))

    @rule(number=DEVICES, heir=DEVICES)
    def go_back_to_the_backup(self, number: int, heir: int) -> None:
        """Only once another device holds what the backup lacks, so that nothing is lost for good."""
        (number, device), (heir, other) = self.device(number), self.device(heir)
        if device is other or device.backup is None or not device.on_disk:
            return
        path, held = device.backup
        if not self.bequeath(number, heir, held):
            return
        device.memory.close()
        restore(path, device.path, overwrite=True)
        device.open()

    def bequeath(self, number: int, heir: int, held: set[str]) -> bool:
        """Whether another device holds all that a device loses when it is what it was while it held only ``held``."""
        memory, other = self.devices[number].memory, self.devices[heir].memory
        while merged(other, memory) + merged(memory, other):
            pass
        private = {event for event in self.held[number] if self.acknowledged[event].scope == "device"}
        names = names_in(other)
        gone = {event for event in self.held[number] - held - private if self.acknowledged[event] not in names}
        if any(map(self.stays, gone)):
            return False  # the other one holds another branch of that log
        self.held[heir] |= self.held[number] - held - private
        self.held[number] = set(held)
        return True

    @rule(number=DEVICES)
    def copy_the_machine(self, number: int) -> None:
        number, device = self.device(number)
        if device.on_disk:
            device.memory.close()
            device.disk = disk_of(device.path), set(self.held[number])
            device.open()

    @rule(number=DEVICES, heir=DEVICES)
    def put_the_machine_back(self, number: int, heir: int) -> None:
        """Database and side file together, so that nothing shows it; time went on."""
        (number, device), (heir, other) = self.device(number), self.device(heir)
        if device is other or device.disk is None:
            return
        disk, held = device.disk
        if not self.bequeath(number, heir, held):
            return
        device.memory.close()
        put_back(device.path, disk)
        device.clock.time += 1 + next(self.numbers)  # no machine goes back within a microsecond
        device.put_back = True
        device.open()

    @rule(
        number=DEVICES,
        heir=DEVICES,
        witness=DEVICES,
        about=ABOUT,
        said=SAID,
        first=st.lists(VALUES, min_size=1, max_size=3),
        second=st.lists(VALUES, min_size=1, max_size=3),
    )
    def two_lives(
        self, number: int, heir: int, witness: int, about: Any, said: dict[str, Any], first: Any, second: Any
    ) -> None:
        """A machine is put back and writes on, and somebody may hear of its second life before it meets the first."""
        self.copy_the_machine(number)
        for value in first:
            self.write(number, lambda m, value=value: m.remember(*about, value, affirm=False, **said))
        self.put_the_machine_back(number, heir)
        for value in second:
            self.write(number, lambda m, value=value: m.remember(*about, value, affirm=False, **said))
        if witness % len(self.devices) != heir % len(self.devices):
            self.merge(witness, number)

    @rule(number=DEVICES)
    def rebuild(self, number: int) -> None:
        memory = self.device(number)[1].memory
        before = memory.belief_digest(), state(memory)
        memory.rebuild()
        assert (memory.belief_digest(), state(memory)) == before

    # -- what holds ---------------------------------------------------------------------------------

    @invariant()
    def every_replica_believes_what_the_reference_believes(self) -> None:
        for number in sorted(self.unchecked):
            memory = self.devices[number].memory
            names = names_in(memory)
            for event in filter(self.stays, self.held[number]):
                memory.event(names[self.acknowledged[event]])
            assert_as_the_reference(memory)
        self.unchecked.clear()

    def teardown(self) -> None:
        try:
            if self.devices:
                self.all_meet()
        finally:
            for device in self.devices:
                device.memory.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def all_meet(self) -> None:
        memories = [device.memory for device in self.devices]
        for _ in range(8):
            if not sum(merged(a, b) for a in memories for b in memories if a is not b):
                break
        else:
            raise AssertionError("eight rounds of merging were not enough")
        assert len({memory.event_digest() for memory in memories}) == 1
        assert len({memory.belief_digest() for memory in memories}) == 1
        for memory in memories:
            assert_as_the_reference(memory)
            problems = [p for p in memory.doctor(full=True).problems if p.startswith(("log ", "the file"))]
            assert not problems, problems
        for memory in memories:
            names = names_in(memory)
            for event, said in self.acknowledged.items():
                if said.scope != "device" and self.stays(event):
                    memory.event(names[said])


TestReplicas = Replicas.TestCase


_NOBODY = "000000000000-1"  # the name of an event that nobody holds


class Words(NamedTuple):
    """What an event says: the same wherever it stands."""

    scope: str
    device: bytes
    kind: int
    clock: int
    payload: bytes


def words_at(memory: Memory, position: int) -> Words:
    key, event = memory._replica.logs.key_of(position), memory._replica.logs.event(position)
    assert isinstance(event, Event)
    return Words(key.scope, key.device, event.kind, event.hlc, event.payload)


def names_in(memory: Memory) -> dict[Words, str]:
    """The names of all events that a memory holds, by what they say."""
    logs = memory._replica.logs
    return {
        Words(log.key.scope, log.key.device, event.kind, event.hlc, event.payload): f"{log.name}-{seq}"
        for log in logs.by_no.values()
        if log.key is not None
        for first, run in logs.runs(log.no)
        for seq, event in enumerate(run, first)
        if isinstance(event, Event)
    }


def merged(one: Memory, other: Memory) -> int:
    """Merge; how many events came. A log of which the other holds another branch is refused."""
    try:
        return one.merge(other).events
    except (Forked, BrokenChain):
        return 0


# -- the reference for a real replica -----------------------------------------------------------------


def state(memory: Memory) -> tuple[Any, ...]:
    return memory.event_digest(), memory.belief_digest(), memory._replica.last_transaction


def assert_as_the_reference(memory: Memory) -> None:
    """What is believed of every slot is what the reference makes of the events that are held."""
    told = {scope: told_in(memory, scope) for scope in ("vault", "work", "device")}
    rows = memory._replica.db.execute("SELECT id, scope, entity, predicate FROM slots").fetchall()
    stands = {scope: standing_in(told, scope) for scope in told}
    for slot in (Slot(*row) for row in rows):
        defined = definition_of(told, slot)
        same = str.casefold if defined.get("equality") == "casefold" else str
        placed = [e | {"slot": home(e["slot"], stands)} if "slot" in e else e for e in told[slot.scope]]
        live = reference.live_events([reference.prepared(_apart(e, slot, same)) for e in placed])
        ours = [e for e in live if e.get("slot") == slot[1:]]
        wanted = rows_of(ours, many=defined.get("cardinality") != "single")
        assert believed(memory, slot, same) == wanted, slot
        if stands[slot.scope].get(slot.entity, slot.entity) != slot.entity:
            assert wanted == [], slot
            continue
        timeline = memory.timeline(slot.entity, slot.predicate, scope=slot.scope)
        shown = [[_start(b.valid_from), _end(b.valid_to), same("(none)" if b.is_none else b.value)] for b in timeline]
        assert sorted(shown) == sorted(row[:3] for row in as_answer(wanted)), slot


def standing_in(told: dict[str, list[reference.Event]], scope: str) -> dict[str, str]:
    """The names under which entities stand in a scope."""
    acting = [reference.live_events(list(map(reference.prepared, told[each]))) for each in sorted({scope, "vault"})]
    return links.standing([event for events in acting for event in events])


def home(slot: tuple[str, str, str], stands: dict[str, dict[str, str]]) -> tuple[str, str, str]:
    """The slot in which what was said about one counts."""
    scope, entity, predicate = slot
    return scope, stands[scope].get(entity, entity), predicate


def _start(when: datetime | None) -> int:
    assert when is not None
    return from_datetime(when)


def _end(when: datetime | None) -> float:
    return reference.FOREVER if when is None else from_datetime(when)


def _apart(event: reference.Event, slot: Slot, same: Callable[[str], str]) -> reference.Event:
    """The event with what its value is compared by: one that equals none of another slot."""
    if "slot" not in event:
        return event
    value = Said(same(event["value"]) if event["slot"] == slot[1:] else f"{event['slot']}{event['value']}")
    value.event = event["id"]
    return {**event, "value": value}


def believed(memory: Memory, slot: Slot, same: Callable[[str], str]) -> list[Row]:
    """What the table says of a slot, as rows."""
    sql = (
        f"SELECT lane, valid_from, valid_to, value, contested, claim FROM beliefs WHERE slot = ? "
        f"AND known_to = {FOREVER} ORDER BY lane, valid_from"
    )
    lanes: dict[bytes, list[Row]] = {}
    for lane, start, end, value, contested, claim in memory._replica.db.execute(sql, (slot.id,)).fetchall():
        plain = reference.NONE if value == "null" else same(value.strip('"'))
        nameless = value == "null" and lane != b""
        winner = None if nameless else name_of(memory._replica.logs.log_of(claim), claim & SEQ_MASK)
        stop = reference.FOREVER if end == FOREVER else end
        lanes.setdefault(lane, []).append([start, stop, plain, bool(contested), winner])
    return without_covered(lanes)


def definition_of(told: dict[str, list[reference.Event]], slot: Slot) -> dict[str, Any]:
    """The settings of the definition that stands for a slot."""
    for scope in (slot.scope, "vault"):
        live = reference.live_events([reference.prepared(e) for e in told[scope]])
        found = [e for e in live if e["op"] == "define" and e["predicate"] == slot.predicate]
        if found:
            stands = max(found, key=lambda e: (e["trust"], e["hlc"], e["device"], e["seq"]))
            return dict(stands["settings"])
    return {}


def told_in(memory: Memory, scope: str) -> list[reference.Event]:
    """The events of a scope in the form of the reference, their clocks corrected."""
    replica = memory._replica
    moved = moved_in(memory, scope)
    found = [
        _event(log, seq, event, moved)
        for log in replica.logs.by_no.values()
        if log.key is not None and log.key.scope == scope
        for first, run in replica.logs.runs(log.no)
        for seq, event in enumerate(run, first)
        if _counts(memory, log, seq, event) and (log.id, seq) not in moved.twins
    ]
    standing = [e for e in reference.live_events([reference.prepared(e) for e in found]) if e["op"] == "clock_note"]
    spoken = [part for note in standing for part in moved.spoken(note)]
    notes = [e for e in spoken if e["trust"] >= 90 or e["writer"] == _writer(memory, e["log"])]
    for event in found:
        about = [n for n in notes if n["log"] == event["device"] and n["first"] <= event["seq"] <= n["last"]]
        if about:
            order = max(about, key=lambda n: (n["trust"], n["hlc"], n["device"], n["seq"]))
            event["corrected"] = event["hlc"] + order["offset"]
    return [{**e, "hlc": e.get("corrected", e["hlc"])} for e in found]


def _counts(memory: Memory, log: Log, seq: int, event: object) -> TypeGuard[Event]:
    """Whether an event says something that this version knows, and stands before the cut of its log, if it has one."""
    assert log.key is not None
    cut = memory._syncer.vault.cut_of(log.key)
    known = isinstance(event, Event) and event.kind in _OPERATIONS and readable(event) is not None
    return known and (cut is None or seq <= cut)


def _writer(memory: Memory, log: bytes) -> bytes | None:
    key = memory._replica.logs.by_id[log].key
    return None if key is None else key.device


@dataclass
class MovedBranches:
    """Where what stood in void branches stands now, as far as all of it is held: told from the logs alone."""

    now: dict[tuple[bytes, int, bytes], tuple[bytes, int]]  # of a reference: log and place
    before: dict[tuple[bytes, int], tuple[bytes, int, bytes]]  # of a place: where it stood, and the head there
    place: dict[tuple[bytes, int, bytes], tuple[bytes, int]]  # of a place and its head: log and place
    twins: set[tuple[bytes, int]]  # events that stand somewhere else as well, and count there

    def named(self, ref: Any) -> str:
        """The name of the event that a reference means; one that does not fit what is held there means none."""
        log, seq = self.now.get(tuple(ref), (ref.log, ref.seq))
        fits = tuple(ref) in self.now or self.held.get((log, seq), ref.id) == ref.id
        return f"{log.hex()}-{seq}" if fits else _NOBODY

    def spoken(self, note: reference.Event) -> list[reference.Event]:
        """A clock note that was moved speaks of what was moved with it, place by place."""
        branch = self.before.get((note["device"], note["seq"]))
        if branch is None or branch[0] != note["log"]:
            return [note]
        ours = self.branch_up_to(branch)
        last = min(note["last"], branch[1])
        return [
            note | {"log": log, "first": place, "last": place}
            for seq in range(note["first"], last + 1)
            for log, place in [ours.get(seq, (note["log"], seq))]
        ]

    def branch_up_to(self, end: tuple[bytes, int, bytes]) -> dict[int, tuple[bytes, int]]:
        """The places of a void branch, as far as it is void before its end, and where their events stand."""
        found: dict[int, tuple[bytes, int]] = {}
        log, seq, head = end
        while (log, seq, head) in self.place:
            found[seq] = self.place[log, seq, head]
            head, seq = self.previous[log, seq, head], seq - 1
        return found

    previous: dict[tuple[bytes, int, bytes], bytes] = field(default_factory=dict)
    held: dict[tuple[bytes, int], bytes] = field(default_factory=dict)  # the ids of the events that are held


def moved_in(memory: Memory, scope: str) -> MovedBranches:
    logs = memory._replica.logs
    copies: dict[tuple[bytes, int, bytes], list[tuple[bytes, int]]] = {}
    result = MovedBranches({}, {}, {}, set())
    for log in logs.held(scope=scope):
        for first, run in logs.runs(log.no):
            for seq, event in enumerate(run, first):
                result.held[log.id, seq] = logs.ref(log.position(seq)).id
                moved = readable(event)
                if not isinstance(moved, Moved) or log.seq < seq + len(moved.hashes):
                    continue
                assert log.key is not None
                old, head = LogKey(log.key.device, moved.incarnation, scope).id, moved.head
                for place, hashed in enumerate(moved.hashes, moved.first):
                    before, head = head, chained(head, hashed)
                    now = (log.id, seq + 1 + place - moved.first)
                    copies.setdefault((old, place, hashed[:16]), []).append(now)
                    result.before[now] = (old, place, head)
                    node = (old, place, head)
                    result.place[node] = min(now, result.place.get(node, now))
                    result.previous[node] = before
    for ref, found in copies.items():
        found.sort()
        result.now[ref] = found[0]
        result.twins.update(found[1:])
    return result


_OPERATIONS = {
    Kind.CLAIM: "assert",
    Kind.AFFIRM: "affirm",
    Kind.END: "end",
    Kind.DENY: "deny",
    Kind.RETRACT: "retract",
    Kind.WITHDRAW: "retract_batch",
    Kind.UNDO: "undo",
    Kind.DEFINE: "define",
    Kind.CLOCK_NOTE: "clock_note",
    Kind.FRONTIER: "frontier",
    Kind.ERASE: "erase",
    Kind.MOVED: "moved",
    Kind.SAME: "same",
    Kind.DIFFERENT: "different",
}


def _event(log: Log, seq: int, event: Event, moved: MovedBranches) -> reference.Event:
    payload = readable(event)
    assert payload is not None and log.key is not None
    stated = (getattr(payload, "source_kind", None), getattr(payload, "source_id", None))
    result: reference.Event = {
        "id": name_of(log, seq),
        "device": log.id,
        "writer": log.key.device,
        "seq": seq,
        "hlc": event.hlc,
        "op": _OPERATIONS[Kind(event.kind)],
        "trust": getattr(payload, "trust", 0),
        "source": None if stated == (None, None) else stated,
        "batch": getattr(payload, "batch", None),
    }
    if isinstance(payload, Statement):
        result |= _said(Kind(event.kind), log.key.scope, payload, moved)
    elif isinstance(payload, Retract):
        result["corrects"] = [moved.named(ref) for ref in payload.refs]
    elif isinstance(payload, Undo):
        result["targets"] = [moved.named(ref) for ref in payload.refs]
    elif isinstance(payload, Define):
        result |= {"predicate": payload.predicate, "settings": payload.settings}
    elif isinstance(payload, Link):
        result |= {"one": payload.one, "other": payload.other}
    elif isinstance(payload, ClockNote):
        result |= {"log": payload.log, "first": payload.first, "last": payload.last, "offset": payload.offset}
    else:
        assert isinstance(payload, Withdraw | Erase | Moved) or event.kind == Kind.FRONTIER
    return result


def _said(kind: Kind, scope: str, said: Statement, moved: MovedBranches) -> dict[str, Any]:
    """The fields of a statement."""
    result: dict[str, Any] = {
        "slot": (scope, said.entity, said.predicate),
        "value": reference.NONE if said.value is None else said.value,
        "mode": "change" if said.form == Form.CHANGE else "state",
        "observed_at": said.observed_at,
        "at" if kind == Kind.END else "valid_from": said.start,
    }
    names = [moved.named(ref) for ref in said.refs or ()]
    extra = said.extra or {}
    if "episode" in extra:
        way, folded = _OPERATIONS[Kind.CLAIM if kind == Kind.AFFIRM else kind], str(result["value"]).casefold()
        passage = (result["slot"], way, extra["episode"], str(extra.get("span")), folded)
        result |= {"episode": extra["episode"], "passage": passage}
    if kind in (Kind.CLAIM, Kind.AFFIRM) and "derived_from" in extra:
        result["derived_from"] = [moved.named(Ref(*ref)) for ref in extra["derived_from"]]
    if kind == Kind.END:
        return result | {"target": names[0] if names else None}
    if said.stop is not None:
        result |= {"valid_to": said.stop, "on_end": "resume" if said.then == Then.RESUME else "vacate"}
    ageing = {name: extra[name] for name in ("ttl", "stale_after", "stale_trust") if name in extra}
    return result | ageing | {"corrects": names}


def name_of(log: Log, seq: int) -> str:
    return f"{log.id.hex()}-{seq}"


def slot_of(memory: Memory, claim: str) -> tuple[str, str, str]:
    found = memory._replica.fold.record_at(memory._telling.position(claim))
    assert found is not None
    return found[0][1:]
