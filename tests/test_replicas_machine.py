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
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from syncmem import NONE, Environment, InvalidInput, ManualClock, Memory, NotFound, Receipt, restore
from syncmem.environment import seeded_randomness
from syncmem.model.event import (
    ClockNote,
    Define,
    Erase,
    Event,
    Form,
    Kind,
    Retract,
    Statement,
    Then,
    Undo,
    Withdraw,
    readable,
)
from syncmem.model.instant import FOREVER, from_datetime
from syncmem.replica.catalog import Slot
from syncmem.replica.chain import Log
from syncmem.replica.logs import SEQ_MASK
from tests import reference
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
SAID = st.fixed_dictionaries(
    {"scope": SCOPES, "trust": TRUSTS, "source": SOURCES, "batch": BATCHES, "observed_at": OFTEN_NONE}
)


@dataclass
class Device:
    """A device: its file, its clock, and its open replica."""

    path: str
    clock: ManualClock
    seed: Iterator[int]
    memory: Memory = field(init=False)
    backup: tuple[str, set[str]] | None = None

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
        self.acknowledged: dict[str, str] = {}  # event id -> scope
        self.about: dict[str, tuple[str, str]] = {}  # event id of a statement -> scope, entity
        self.erased: set[tuple[str, str]] = set()  # what an erasure may reach by now, or will when devices meet
        self.held: dict[int, set[str]] = {}  # device -> ids that it acknowledged and must still hold
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
            with contextlib.suppress(NotFound):
                self.devices[other].memory.event(event)
                return other
        return number

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
        self.acknowledged[receipt.event] = scope_of(device.memory, receipt.event)
        self.held[number].add(receipt.event)
        found = device.memory._replica.fold.record_at(device.memory._telling.position(receipt.event))
        if found is not None:
            self.about[receipt.event] = found[0].scope, found[0].entity
        return receipt.event

    def stays(self, event: str) -> bool:
        """Whether an event is about nothing that was erased anywhere."""
        return self.about.get(event) not in self.erased

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

    @rule(target=claims, number=DEVICES, claim=claims, value=VALUES, trust=TRUSTS)
    def correct(self, number: int, claim: str, value: Any, trust: int) -> Any:
        return self.write(self.holder(number, claim), lambda m: m.correct(claim, value, trust=trust))

    @rule(target=others, number=DEVICES, about=ABOUT, value=VALUES, said=SAID, at=OFTEN_NONE, changed=st.booleans())
    def end(self, number: int, about: Any, value: Any, said: dict[str, Any], at: Any, changed: bool) -> Any:
        return self.write(number, lambda m: m.end(*about, value, at=at, changed=changed, **said))

    @rule(target=others, number=DEVICES, claim=claims, trust=TRUSTS)
    def end_a_claim(self, number: int, claim: str, trust: int) -> Any:
        def verb(memory: Memory) -> Receipt:
            value = memory.event(claim).value
            scope, entity, predicate = slot_of(memory, claim)
            return memory.end(entity, predicate, value, event=claim, scope=scope, trust=trust)

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
        return self.write(self.holder(number, claim), lambda m: m.retract(claim, *more, **said))

    @rule(target=others, number=DEVICES, batch=BATCHES.filter(bool), scope=SCOPES, trust=TRUSTS)
    def withdraw(self, number: int, batch: str, **said: Any) -> Any:
        return self.write(number, lambda m: m.retract(batch=batch, **said))

    @rule(target=others, number=DEVICES, event=st.one_of(claims, others), trust=TRUSTS, source=SOURCES)
    def undo(self, number: int, event: str, **said: Any) -> Any:
        return self.write(self.holder(number, event), lambda m: m.undo(event, **said))

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
        for event in receipt.events:
            self.acknowledged[event] = scope_of(device.memory, event)
            self.held[number].add(event)
        return multiple(*receipt.events)

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
        return self.write(self.holder(number, event), lambda m: m.correct_clock(event, timedelta(hours=hours)))

    @rule(number=DEVICES, entity=ENTITIES, scope=st.sampled_from([None, None, "vault", "work"]))
    def erase(self, number: int, entity: str, scope: str | None) -> None:
        memory = self.device(number)[1].memory
        report = memory.erase(entity, scope=scope)
        assert report.scrubbed
        self.erased |= {(name, entity) for name in report.events}
        for name in report.events:
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
        for receipt in receipts:
            self.acknowledged[receipt.event] = "vault"
            self.about[receipt.event] = "vault", entity
            self.held[number].add(receipt.event)
        return multiple(*(receipt.event for receipt in receipts))

    # -- meeting ------------------------------------------------------------------------------------

    @rule(taker=DEVICES, giver=DEVICES)
    def merge(self, taker: int, giver: int) -> None:
        (_, one), (_, other) = self.device(taker), self.device(giver)
        if one is not other:
            one.memory.merge(other.memory)
            assert one.memory.merge(other.memory).events == 0

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
            one.memory._receive(itertools.chain(*logs), events_max=1, progress=None)
            assert one.memory.merge(other.memory).events == 0

    @rule(target=bundles, number=DEVICES)
    def export(self, number: int) -> str:
        path = str(self.folder / f"bundle-{next(self.numbers)}")
        self.device(number)[1].memory.export_bundle(path)
        return path

    @rule(number=DEVICES, path=bundles)
    def take_in(self, number: int, path: str) -> None:
        memory = self.device(number)[1].memory
        memory.import_bundle(path)
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
        if device.on_disk:
            copy = str(self.folder / f"copy-{next(self.numbers)}.db")
            for suffix in ("", "-wal", ".device"):
                if Path(device.path + suffix).exists():
                    shutil.copyfile(device.path + suffix, copy + suffix)
            device.memory.close()
            device.path = copy
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
        other.memory.merge(device.memory)
        path, held = device.backup
        private = {event for event in self.held[number] if self.acknowledged[event] == "device"}
        self.held[heir] |= self.held[number] - private
        for event in private - held:
            del self.acknowledged[event]
        self.held[number] = set(held)
        device.memory.close()
        restore(path, device.path, overwrite=True)
        device.open()

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
            for event in filter(self.stays, self.held[number]):
                memory.event(event)
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
        for _ in range(4):
            if not sum(a.merge(b).events for a in memories for b in memories if a is not b):
                break
        else:
            raise AssertionError("four rounds of merging were not enough")
        assert len({memory.event_digest() for memory in memories}) == 1
        assert len({memory.belief_digest() for memory in memories}) == 1
        for memory in memories:
            assert_as_the_reference(memory)
            problems = memory.doctor(full=True).problems
            assert not [p for p in problems if p.startswith(("log ", "the file"))]
        for event, scope in self.acknowledged.items():
            for memory in memories if scope != "device" and self.stays(event) else ():
                assert memory.event(event).event == event


TestReplicas = Replicas.TestCase


# -- the reference for a real replica -----------------------------------------------------------------


def state(memory: Memory) -> tuple[Any, ...]:
    return memory.event_digest(), memory.belief_digest(), memory._replica.last_transaction


def assert_as_the_reference(memory: Memory) -> None:
    """What is believed of every slot is what the reference makes of the events that are held."""
    told = {scope: told_in(memory, scope) for scope in ("vault", "work", "device")}
    rows = memory._replica.db.execute("SELECT id, scope, entity, predicate FROM slots").fetchall()
    for slot in (Slot(*row) for row in rows):
        defined = definition_of(told, slot)
        same = str.casefold if defined.get("equality") == "casefold" else str
        live = reference.live_events([reference.prepared(_apart(e, slot, same)) for e in told[slot.scope]])
        ours = [e for e in live if e.get("slot") == slot[1:]]
        wanted = rows_of(ours, many=defined.get("cardinality") != "single")
        assert believed(memory, slot, same) == wanted, slot
        timeline = memory.timeline(slot.entity, slot.predicate, scope=slot.scope)
        shown = [[_start(b.valid_from), _end(b.valid_to), same("(none)" if b.is_none else b.value)] for b in timeline]
        assert sorted(shown) == sorted(row[:3] for row in as_answer(wanted)), slot


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
    found = [
        _event(log, seq, event)
        for log in replica.logs.by_no.values()
        if log.key is not None and log.key.scope == scope
        for first, run in replica.logs.runs(log.no)
        for seq, event in enumerate(run, first)
        if isinstance(event, Event)
    ]
    standing = [e for e in reference.live_events([reference.prepared(e) for e in found]) if e["op"] == "clock_note"]
    notes = [e for e in standing if e["trust"] >= 90 or e["writer"] == _writer(memory, e["log"])]
    for event in found:
        about = [n for n in notes if n["log"] == event["device"] and n["first"] <= event["seq"] <= n["last"]]
        if about:
            order = max(about, key=lambda n: (n["trust"], n["hlc"], n["device"], n["seq"]))
            event["corrected"] = event["hlc"] + order["offset"]
    return [{**e, "hlc": e.get("corrected", e["hlc"])} for e in found]


def _writer(memory: Memory, log: bytes) -> bytes | None:
    key = memory._replica.logs.by_id[log].key
    return None if key is None else key.device


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
}


def _event(log: Log, seq: int, event: Event) -> reference.Event:
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
        result |= _said(Kind(event.kind), log.key.scope, payload)
    elif isinstance(payload, Retract):
        result["corrects"] = [_name(ref) for ref in payload.refs]
    elif isinstance(payload, Undo):
        result |= {"target": _name(payload.refs[0]), "targets": [_name(ref) for ref in payload.refs]}
    elif isinstance(payload, Define):
        result |= {"predicate": payload.predicate, "settings": payload.settings}
    elif isinstance(payload, ClockNote):
        result |= {"log": payload.log, "first": payload.first, "last": payload.last, "offset": payload.offset}
    else:
        assert isinstance(payload, Withdraw | Erase) or event.kind == Kind.FRONTIER
    return result


def _said(kind: Kind, scope: str, said: Statement) -> dict[str, Any]:
    """The fields of a statement."""
    result: dict[str, Any] = {
        "slot": (scope, said.entity, said.predicate),
        "value": reference.NONE if said.value is None else said.value,
        "mode": "change" if said.form == Form.CHANGE else "state",
        "observed_at": said.observed_at,
        "at" if kind == Kind.END else "valid_from": said.start,
    }
    names = [_name(ref) for ref in said.refs or ()]
    if kind == Kind.END:
        return result | {"target": names[0] if names else None}
    if said.stop is not None:
        result |= {"valid_to": said.stop, "on_end": "resume" if said.then == Then.RESUME else "vacate"}
    extra = said.extra or {}
    ageing = {name: extra[name] for name in ("ttl", "stale_after", "stale_trust") if name in extra}
    return result | ageing | {"corrects": names}


def name_of(log: Log, seq: int) -> str:
    return f"{log.id.hex()}-{seq}"


def _name(ref: Any) -> str:
    return f"{ref.log.hex()}-{ref.seq}"


def scope_of(memory: Memory, event: str) -> str:
    replica = memory._replica
    return replica.logs.key_of(memory._telling.position(event)).scope


def slot_of(memory: Memory, claim: str) -> tuple[str, str, str]:
    found = memory._replica.fold.record_at(memory._telling.position(claim))
    assert found is not None
    return found[0][1:]
