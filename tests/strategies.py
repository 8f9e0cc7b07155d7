"""Histories to try the fold on: what a few devices may have said, and the ways in which it may travel.

Every choice comes from a ``random.Random``: Hypothesis brings one that it can shrink, and
:mod:`tests.differential` a seeded one, so both try the same kind of history.  Events have the form that
:mod:`tests.reference` reads; times are ticks.  :func:`expected` is the reference's answer about a slot,
:func:`observed` the engine's; both are lists of ``[from, to, value, contested, winner]``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any

from hypothesis import strategies as st

from syncmem.model.event import ClockNote, Define, Kind, Ref
from syncmem.model.instant import FOREVER
from syncmem.replica import pages
from syncmem.replica.reading import Placed, Reading
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.replica import Replica
from tests import links, reference, world
from tests.reference import NONE, Event
from tests.world import ENTITY, PREDICATE, Writer, instant, payload_of, sorted_keys, ticks

DAY = 86_400_000_000
TWO_MINUTES = 120_000_000  # short ticks, so that neighbours fall within the tie window of five minutes
DEFINITIONS = "(definitions)"
STATEMENTS = ("assert", "affirm", "end", "deny")
ENTITIES = (ENTITY, "person:abe", "person:bob")  # the least of names that are one is now this one, now another
ALL = ("assert",) * 10 + ("affirm", "end") * 3 + ("deny", "retract", "undo") * 2 + ("retract_batch",)
MIXED_TRUST = (1, 2, 3)
TAKING_BACK = ("assert",) * 6 + ("end", "deny", "retract_batch") + ("retract", "undo") * 3
MOODS = (  # operations, tiers of trust, percent of claims that lapse or age, are bounded, rest on something
    (ALL, (2, 2, 2, 1, 3), 15, 35, 0),
    (TAKING_BACK, (2, 2, 2, 1, 3), 5, 15, 40),
    (TAKING_BACK, (2, 2, 2, 1, 3), 0, 10, 70),
    (("assert",), MIXED_TRUST, 50, 35, 0),  # each finds other bugs
    (("assert",) * 3 + ("end",), MIXED_TRUST, 5, 35, 0),
    (("assert",) * 3 + ("affirm",), (2,), 0, 35, 0),
    (("assert",) * 9 + ("affirm",), (2,), 0, 0, 0),  # plain claims, one after the other
)

Row = list[Any]  # [from, to (infinite: no end), value, contested, id of the event that wins at from]
Held = dict[str, int]  # device -> how many of its events are held
Parcel = list[tuple[str, int, int]]  # (device, after, until): what travels at once


@dataclass(frozen=True)
class History:
    """What was said about one slot (or, with ``entity`` in an event, about several).

    Attributes:
        events: in an order in which nothing is named before it is written.
        cardinalities: definitions of the predicate, in the order in which they were written.
        offsets: device -> ticks by which its clock was wrong, as its last event says.
        unit: microseconds of a tick; ``page_records``: statements to a page of the engine.
    """

    events: list[Event]
    cardinalities: list[str] = field(default_factory=lambda: ["single"])
    offsets: dict[str, int] = field(default_factory=dict)
    unit: int = DAY
    page_records: int = 32

    def with_events(self, *more: Event) -> History:
        return replace(self, events=[*self.events, *more])


# -- histories that were hard to find -----------------------------------------------------------------


def _claims(*events: Event, **settings: Any) -> History:
    """A history of assertions (or what ``op`` says) with late clocks, each of a device of its own."""
    devices = iter("abcd")
    filled = [{"device": next(devices), "seq": 1, "hlc": 40, "op": "assert", "trust": 2, **e} for e in events]
    return History([{"id": f"{e['device']}{e['seq']}", **e} for e in filled], **settings)


_AGEING = {"stale_after": 6, "stale_trust": 2}
TRICKY: dict[str, History] = {
    "the ray of a higher tier outlives its claim behind a stronger ray of a lower tier": _claims(
        {"value": "A", "trust": 3, "valid_from": 5, "observed_at": 30, "ttl": 5},
        {"value": "B", "trust": 1, "valid_from": 6, "observed_at": 33},
        {"value": "C", "valid_from": 20, "observed_at": 20},
    ),
    "what ages is tied with what closed its remainder": _claims(
        {"value": "C", "mode": "change", "valid_from": 3, "observed_at": 6, "trust": 3} | _AGEING,
        {"value": "B", "observed_at": 6, "valid_from": 6},
        unit=TWO_MINUTES,
    ),
    "what has aged is closed by what it is tied with then": _claims(
        {"value": "C", "valid_from": 10, "observed_at": 6},
        {"value": "A", "observed_at": 5, "trust": 3, "stale_after": 5, "stale_trust": 2},
        unit=TWO_MINUTES,
    ),
    "a value is first said while the none before it is taken back": _claims(
        {"value": NONE, "hlc": 7},
        {"value": "B", "hlc": 5, "valid_from": 1, "observed_at": 1},
        {"op": "undo", "target": "a1"},
        cardinalities=["many"],
    ),
    "a value is first said while the none before it is denied": _claims(
        {"value": NONE, "mode": "change", "hlc": 12, "valid_from": 2},
        {"value": "A", "mode": "change", "hlc": 17, "valid_from": 1},
        {"op": "deny", "value": NONE, "hlc": 20},
        cardinalities=["many"],
    ),
    "none and then a value": _claims(
        {"value": NONE, "mode": "change", "valid_from": 1},
        {"value": "A", "mode": "change", "valid_from": 7},
        cardinalities=["many"],
    ),
    "a denial whose clock was wrong": _claims(
        {"op": "deny", "value": "A", "hlc": 13},
        {"value": "A", "hlc": 10},
        offsets={"a": -12},
    ),
    "a claim that comes with the note about its clock": _claims({"value": "A", "hlc": 5}, offsets={"a": 2}),
    "a retraction goes with its batch": _claims(
        {"value": "A", "observed_at": 3},
        {"op": "retract", "target": "a1", "batch": "p"},
        {"op": "retract_batch", "batch": "p"},
    ),
    "a value is said twice before another one": _claims(
        {"op": "affirm", "value": "A", "hlc": 16},
        {"op": "affirm", "value": "B"},
        {"value": "A", "hlc": 22},
        unit=TWO_MINUTES,
    ),
    "a passage is read again after what was read first was retracted": _claims(
        {"value": "A", "episode": "e", "span": [0, 3]},
        {"op": "retract", "target": "a1"},
        {"value": "A", "episode": "e", "span": [0, 3], "hlc": 44},
        {"value": "B", "episode": "e", "span": [0, 3], "hlc": 5},
    ),
    "a passage is read again by somebody with more trust than its retraction has": _claims(
        {"value": "A", "episode": "e"},
        {"op": "retract", "target": "a1"},
        {"value": "A", "episode": "e", "trust": 3},
        {"op": "undo", "target": "b1"},
    ),
    "a passage is read again after what was read first was corrected, and the correction is undone": _claims(
        {"value": "A", "episode": "e"},
        {"value": "B", "corrects": ["a1"]},
        {"value": "A", "episode": "e", "valid_from": 20},
        {"op": "undo", "target": "b1"},
    ),
    "two corrections of one passage that says the same": _claims(
        {"value": "A", "episode": "e"},
        {"value": "A", "episode": "e", "corrects": ["a1"], "valid_from": 5},
        {"value": "A", "episode": "e", "corrects": ["b1"], "valid_from": 9},
    ),
    "a denial of what two others are derived from, one after the other": _claims(
        {"value": "A", "hlc": 5},
        {"value": "B", "derived_from": ["a1"], "valid_from": 3},
        {"value": "C", "derived_from": ["b1"], "valid_from": 6},
        {"op": "deny", "value": "A"},
    ),
    "a retraction is undone of what two others are derived from": _claims(
        {"value": "A", "hlc": 5},
        {"value": "B", "derived_from": ["a1"], "valid_from": 3},
        {"op": "retract", "target": "a1"},
        {"op": "undo", "target": "c1"},
    ),
    "two sources corroborate each other": _claims(
        {"value": "A", "source": "x"},
        {"value": "A", "source": "y"},
        {"value": "A", "derived_from": ["a1", "b1"], "corroborated_by": 2, "trust": 30, "hlc": 39},
        {"value": "B", "trust": 3},
    ),
    "one source seen twice corroborates nothing": _claims(
        {"value": "A", "source": "x"},
        {"value": "A", "source": "x"},
        {"value": "A", "derived_from": ["a1", "b1"], "corroborated_by": 2, "trust": 30, "hlc": 39},
        {"value": "B", "trust": 3},
    ),
    "one source that comes by two ways corroborates nothing": _claims(
        {"value": "A", "source": "x"},
        {"value": "B", "source": "y", "derived_from": ["a1"]},
        {"value": "A", "derived_from": ["a1", "b1"], "corroborated_by": 2, "trust": 30, "hlc": 39},
        {"value": "B", "trust": 3},
    ),
    "what arrives late of a withdrawn batch": _claims(
        {"value": "A", "batch": "p"},
        {"op": "retract_batch", "batch": "p"},
        {"value": "B", "batch": "p"},
    ),
    "names that were parted stay apart when one of them joins others": _claims(
        {"value": "A", "entity": ENTITIES[2]},
        {"op": "different", "one": ENTITIES[0], "other": ENTITIES[2], "trust": 3},
        {"op": "same", "one": ENTITIES[0], "other": ENTITIES[1], "trust": 2},
        {"op": "same", "one": ENTITIES[1], "other": ENTITIES[2], "trust": 1},
    ),
    "a name of which only a denial was said joins and parts again": _claims(
        {"value": "A", "hlc": 10, "entity": ENTITIES[0]},
        {"op": "deny", "value": "A", "hlc": 20, "entity": ENTITIES[2]},
        {"op": "same", "one": ENTITIES[0], "other": ENTITIES[2]},
        {"op": "undo", "target": "c1"},
    ),
    "ends of a state that reach over each other": _claims(
        {"op": "end", "value": "A", "at": 3, "observed_at": 30, "trust": 1},
        {"op": "end", "value": "A", "at": 4, "observed_at": 20, "trust": 3},
        {"value": "A", "valid_from": 10, "observed_at": 10},
        {"value": "A", "valid_from": 25, "observed_at": 10, "trust": 1},
    ),
}


# -- making histories ---------------------------------------------------------------------------------


def histories(**settings: Any) -> st.SearchStrategy[History]:
    """Hypothesis' histories; ``settings`` as for :func:`history`."""
    return randoms().map(lambda random: history(random, **settings))


def randoms() -> st.SearchStrategy[Random]:
    """A source of choices that Hypothesis can shrink."""
    return st.randoms(use_true_random=False)


def history(
    random: Random,
    *,
    events_max: int = 14,
    cardinalities: Sequence[str] | None = None,
    clock_notes: bool = True,
    named_ends: bool = True,
    linked: bool = False,
) -> History:
    """A history of a few devices; ``linked``: of several entities, of which some may be one."""
    devices = "abcd"[: random.randint(1, 4)]
    values = ["A", "B", "C"][: random.randint(1, 3)] + [NONE] * random.choice((0, 0, 1))
    span = random.choice((8, 20, 40))
    *mood, rests = random.choice(MOODS)
    making = _Making(random, devices, values, span, *mood, named_ends, rests, linked)
    if cardinalities is None:
        cardinalities = random.choice((["single"], ["single"], ["many"], ["many", "single"], ["single", "many"]))
    noted = [device for device in devices if clock_notes and _chance(random, 15)]
    return History(
        events=[making.event() for _ in range(random.randint(1, events_max))],
        cardinalities=list(cardinalities),
        offsets={device: random.randint(-span, span) for device in noted},
        unit=random.choice((DAY, TWO_MINUTES)),
        page_records=random.choice((32, 1, 2)),
    )


@dataclass
class _Making:
    """Makes one event after another."""

    random: Random
    devices: str
    values: list[str]
    span: int
    operations: Sequence[str]
    trusts: Sequence[int]
    ageing: int
    bounded: int
    named_ends: bool
    rests: int = 0
    linked: bool = False
    made: list[Event] = field(default_factory=list)

    def event(self) -> Event:
        random = self.random
        device = random.choice(self.devices)
        seq = sum(e["device"] == device for e in self.made) + 1
        event: Event = {"id": f"{device}{seq}", "device": device, "seq": seq}
        event["hlc"] = self.span if _chance(random, 40) else self._time()  # late clocks clamp no observation
        event["op"] = random.choice(self.operations)
        if self.linked and _chance(random, 25):
            event["op"] = random.choice(("same", "same", "same", "different", "undo"))
        event["trust"] = random.choice(self.trusts)
        if _chance(random, 20):
            event["source"] = random.choice("xy")
        self._say(event)
        if event["op"] not in ("undo", "retract_batch") and _chance(random, 20):
            event["batch"] = random.choice("pq")
        self.made.append(event)
        return event

    def _say(self, event: Event) -> None:
        random, operation = self.random, event["op"]
        if operation in ("retract", "undo"):
            event["target"] = self._some([e["id"] for e in self.made])
            return
        if operation == "retract_batch":
            event["batch"] = random.choice("pq")
            return
        if operation in links.LINKS:
            event["one"], event["other"] = random.sample(ENTITIES, 2)
            return
        if self.linked:
            event["entity"] = random.choice(ENTITIES)
        event["value"] = random.choice(self.values)
        event["mode"] = random.choice(("state", "state", "change")) if operation in ("assert", "end") else "state"
        if _chance(random, 80):
            event["observed_at"] = self._time()
        if operation == "end":
            self._end(event)
        elif operation != "deny":
            self._bound(event)
        if self.rests:
            self._rest(event)

    def _rest(self, event: Event) -> None:
        """The passage from which a statement was taken, and the claims from which a claim is derived."""
        random = self.random
        if _chance(random, self.rests):
            event["episode"], event["span"] = random.choice("eef"), random.choice((None, None, None, [0, 3]))
        claims = [e for e in self.made if e["op"] in reference.CLAIMS]
        if not claims or event["op"] not in reference.CLAIMS or not _chance(random, self.rests):
            return
        roots = random.sample(claims, min(len(claims), random.choice((1, 1, 2, 3))))
        event["derived_from"] = [e["id"] for e in roots] + ["nothing"] * _chance(random, 5)
        event["trust"] = random.choice((event["trust"], *[min(e["trust"] for e in roots)] * 3, 30))
        if _chance(random, 50):
            event["corroborated_by"] = random.choice((1, 2, 2, 3))

    def _end(self, event: Event) -> None:
        claims = [e["id"] for e in self.made if e["op"] in reference.CLAIMS]
        if event["mode"] == "change" or _chance(self.random, 60):
            event["at"] = self._time()
        if claims and self.named_ends and _chance(self.random, 30):
            event["target"] = self.random.choice(claims)

    def _bound(self, event: Event) -> None:
        """When a claim starts, stops and ages; an affirmation seldom says more than that it is so."""
        random = self.random
        often = 100 if event["op"] == "assert" else 20
        if event["mode"] == "change" or _chance(random, often // 2):
            event["valid_from"] = self._time()
        if _chance(random, often * self.bounded // 100):
            event["mode"] = "state"
            event["on_end"] = random.choice(("resume", "vacate", None))
            for name in random.choice((("valid_to",), ("valid_to",), ("expires_at",), ("valid_to", "expires_at"))):
                event[name] = random.randint(0, self.span + 5)
            return
        if _chance(random, often * self.ageing // 100):
            event["ttl"] = random.randint(1, 8)
        if _chance(random, often * self.ageing // 100):
            event["stale_after"], event["stale_trust"] = random.randint(1, 8), random.choice((0, 1, 2))
        if self.made and self.bounded and _chance(random, often // 10):
            event["corrects"] = [random.choice(self.made)["id"]]

    def _time(self) -> int:
        return self.random.randint(0, self.span)

    def _some(self, names: list[str]) -> str:
        """One of the names; seldom one that nothing has."""
        return "nothing" if not names or _chance(self.random, 5) else self.random.choice(names)


def _chance(random: Random, percent: int) -> bool:
    return random.randint(0, 99) >= 100 - percent  # low numbers, to which Hypothesis shrinks, mean no


def one_more(random: Random, history: History, operations: Sequence[str] = STATEMENTS, **settled: Any) -> Event:
    """One more event for a history, of a device of its own."""
    known = [*history.events]
    making = _Making(random, "z", ["A", "B", "C", NONE], 40, operations, MIXED_TRUST, 15, 35, False, made=known)
    return {**making.event(), "batch": None, **settled}


# -- logs and parcels ---------------------------------------------------------------------------------


@contextmanager
def living_in(history: History) -> Iterator[None]:
    """The length of a tick and the size of a page are those of the history."""
    before = world.UNIT, pages.PAGE_RECORDS
    world.UNIT, pages.PAGE_RECORDS = history.unit, history.page_records  # type: ignore[misc]
    try:
        yield
    finally:
        world.UNIT, pages.PAGE_RECORDS = before  # type: ignore[misc]


def logs_of(history: History) -> dict[str, Writer]:
    """The history as logs, byte for byte; definitions stand in a log of their own."""
    names = sorted({e["device"] for e in history.events})
    logs = dict(zip([DEFINITIONS, *names], map(Writer, sorted_keys(len(names) + 1)), strict=True))
    for number, cardinality in enumerate(history.cardinalities):
        settings = Define(PREDICATE, {"cardinality": cardinality}, 90, None, None, None, None)
        logs[DEFINITIONS].write(Kind.DEFINE, settings, (instant(number) or 0) - 100 * world.UNIT)
    refs: dict[str, Ref] = {}
    for event in history.events:
        kind, payload = payload_of(event, refs)
        if kind in (Kind.CLAIM, Kind.AFFIRM, Kind.END, Kind.DENY):
            payload = payload._replace(entity=event.get("entity", ENTITY))  # type: ignore[call-arg]
        refs[event["id"]] = logs[event["device"]].write(kind, payload, instant(event["hlc"]) or 0)
    for device, offset in history.offsets.items():
        if device in logs:
            log, last = logs[device], len(logs[device].events)
            note = ClockNote(log.key.id, 1, last, offset * world.UNIT, 2, None, None, None)
            log.write(Kind.CLOCK_NOTE, note, log.events[-1].hlc)
    return logs


def parcels(random: Random, logs: Mapping[str, Writer]) -> list[Parcel]:
    """All events of the logs in some order, in parcels of some size; a few of them twice."""
    held = dict.fromkeys(logs, 0)
    result: list[Parcel] = []
    while waiting := [name for name in sorted(logs) if held[name] < len(logs[name].events)]:
        parcel: Parcel = []
        for name in random.sample(waiting, random.randint(1, len(waiting))):
            again = random.randint(0, held[name]) if _chance(random, 20) else held[name]
            until = random.randint(held[name] + 1, len(logs[name].events))
            parcel.append((name, again, until))
            held[name] = until
        result.append(parcel)
    return result


def deliver(replica: Replica, logs: Mapping[str, Writer], parcel: Parcel) -> None:
    """Let a replica receive a parcel, in one transaction."""
    list(replica.receive([frame for name, after, until in parcel for frame in logs[name].frames(after, until)]))


def held_after(sent: Iterable[Parcel]) -> Held:
    """How many events of each log have arrived with these parcels."""
    held: Held = {}
    for parcel in sent:
        for name, _, until in parcel:
            held[name] = max(held.get(name, 0), until)
    return held


# -- what must be believed ----------------------------------------------------------------------------


class Said(str):
    """A value that knows in which event it was said; equal to the same text said elsewhere."""

    event: str = ""


def expected(history: History, held: Held | None = None, entity: str = ENTITY) -> list[Row]:
    """What the reference believes of an entity, and of what is one with it, once ``held`` has arrived (unsaid: all)."""
    if held is None:
        held = {name: len(log.events) for name, log in logs_of(history).items()}
    defined = history.cardinalities[: held.get(DEFINITIONS, 0)]
    there = arrived(history, held)
    names = links.one_with(entity, reference.live_events([reference.prepared(e) for e in there]))
    others = {e["id"] for e in there if e["op"] in STATEMENTS and e.get("entity", ENTITY) not in names}
    live = reference.live_events([reference.prepared(_apart(e, names)) for e in there])
    return _in_ticks(rows_of([e for e in live if e["id"] not in others], many=not defined or defined[-1] == "many"))


def _apart(event: Event, names: set[str]) -> Event:
    """The event with a value that equals none of the slot of these names, if it is about another entity."""
    if event["op"] not in STATEMENTS or event.get("entity", ENTITY) in names:
        return event
    return {**event, "value": f"{event.get('entity')}:{event['value']}"}


def arrived(history: History, held: Held) -> list[Event]:
    """The events that had arrived, in microseconds, their clocks corrected by the notes that had."""
    result = []
    written: Held = {}
    for event in history.events:
        device = event["device"]
        place = written[device] = written.get(device, 0) + 1
        if place > held.get(device, 0):
            continue
        noted = held[device] > sum(e["device"] == device for e in history.events)
        result.append(in_microseconds(event, history.offsets.get(device, 0) if noted else 0))
    return result


def in_microseconds(event: Event, offset: int = 0) -> Event:
    """The event with real times and every default that depends on the uncorrected clock."""
    real = dict(event)
    if event["op"] in reference.CLAIMS:
        real["on_end"] = "resume" if reference.prepared(event)["overlay"] else "vacate"
    if "value" in event:
        real["value"] = Said(event["value"])
        real["value"].event = event["id"]
    for name in ("hlc", "observed_at", "valid_from", "valid_to", "expires_at", "at"):
        if real.get(name) is not None:
            real[name] = instant(real[name])
    for name in ("ttl", "stale_after"):
        if real.get(name) is not None:
            real[name] *= world.UNIT
    real["hlc"] += offset * world.UNIT
    return real


def rows_of(live: list[Event], *, many: bool) -> list[Row]:
    """The reference's rows for the live events of one slot, their times as those of the events."""
    if not many:
        return _joined(_fold(live))
    values = sorted({str(e["value"]) for e in live if e["op"] in reference.CLAIMS} - {NONE})
    lanes = [_fold([e for e in live if e.get("value") in (value, NONE)], value) for value in values]
    shown = [row for lane in lanes for row in _joined(lane)]
    nothing = _without(_joined(_fold(live, NONE)), shown)
    return sorted([*shown, *nothing], key=_order)


def _fold(live: list[Event], value: str | None = None) -> list[Row]:
    rows = reference.folded(copy.deepcopy(live))
    return [[a, b, v, c, getattr(v, "event", None)] for a, b, v, c in rows if value in (None, v)]


def _without(nothing: list[Row], shown: list[Row]) -> list[Row]:
    """Where nothing is known to be, outside all spans in which a value is shown."""
    result = []
    for start, end, value, contested, _ in nothing:
        marks = sorted({start, end, *(m for row in shown for m in row[:2] if start < m < end)})
        free = [[a, b, value, contested, None] for a, b in pairwise(marks) if not any(r[0] <= a < r[1] for r in shown)]
        result += _joined(free)
    return result


def _joined(rows: list[Row]) -> list[Row]:
    """Neighbours of equal value and contest as one."""
    result: list[Row] = []
    for row in rows:
        if result and result[-1][1] == row[0] and result[-1][2:4] == row[2:4]:
            result[-1][1] = row[1]
        else:
            result.append(list(row))
    return result


def _in_ticks(rows: list[Row]) -> list[Row]:
    return [[_tick(a), _tick(b), str(v), c, w] for a, b, v, c, w in rows]


def _tick(moment: Any) -> Any:
    return reference.FOREVER if moment in (FOREVER, reference.FOREVER) else ticks(moment)


def _order(row: Row) -> tuple[Any, str]:
    return (row[0], str(row[2]))


# -- what is believed ---------------------------------------------------------------------------------


def observed(replica: Replica, history: History, n: int | None = None, entity: str = ENTITY) -> list[Row]:
    """What the table says that a replica believes of a slot, or believed at its transaction ``n``."""
    then = FOREVER - 1 if n is None else n
    sql = (
        "SELECT lane, valid_from, valid_to, value, trust, contested, source, claim FROM beliefs "
        "WHERE slot = ? AND known_from <= ? AND known_to > ? ORDER BY lane, valid_from"
    )
    slots = Reading(replica).names.slots("vault", entity, PREDICATE, n)
    found = [row for slot in slots for row in replica.db.execute(sql, (slot.id, then, then)).fetchall()]
    return without_covered(rows_by_lane(replica, history, [(row[0], Rectangle(*row[1:])) for row in found]))


def without_covered(lanes: dict[bytes, list[Row]]) -> list[Row]:
    """The rows of all lanes; "none" only where the slot believes no value."""
    shown = [row for lane in lanes.values() for row in _joined(lane) if row[2] != NONE]
    nothing = [row for lane in lanes.values() for row in _joined(lane) if row[2] == NONE]
    return sorted([*shown, *(nothing if b"" in lanes else _without(nothing, shown))], key=_order)


def answered(replica: Replica, history: History, placed: list[Placed]) -> list[Row]:
    """An answer of :class:`Reading` as rows of :func:`as_answer`."""
    lanes = rows_by_lane(replica, history, placed)
    return sorted([row for rows in lanes.values() for row in rows], key=_order)


def as_answer(rows: list[Row]) -> list[Row]:
    """Rows as a timeline tells them: neighbours of equal value are one, contested if any part is."""
    result: dict[str, list[Row]] = {}
    for row in rows:
        same = result.setdefault(row[2], [])
        if same and same[-1][1] == row[0]:
            same[-1][1], same[-1][3] = row[1], same[-1][3] or row[3]
        else:
            same.append(list(row))
    return sorted([row for same in result.values() for row in same], key=_order)


def rows_by_lane(replica: Replica, history: History, placed: list[Placed]) -> dict[bytes, list[Row]]:
    """Rectangles as rows, not yet joined."""
    names = {log.key.id: name for name, log in logs_of(history).items()}
    ids = _ids_by_place(history)
    lanes: dict[bytes, list[Row]] = {}
    for lane, rectangle in placed:
        value = json.loads(rectangle.value)
        log = replica.logs.log_of(rectangle.claim)
        winner = ids.get((names.get(log.id, ""), rectangle.claim & (2**40 - 1)))
        nameless = value is None and lane != b""  # cut where values are shown: its winner is one further back
        said = [NONE if value is None else value, bool(rectangle.contested), None if nameless else winner]
        lanes.setdefault(lane, []).append([_tick(rectangle.valid_from), _tick(rectangle.valid_to), *said])
    return lanes


def _ids_by_place(history: History) -> dict[tuple[str, int], str]:
    written: Held = {}
    ids = {}
    for event in history.events:
        place = written[event["device"]] = written.get(event["device"], 0) + 1
        ids[event["device"], place] = event["id"]
    return ids


def rectangles(replica: Replica) -> list[tuple[Any, ...]]:
    """The table of beliefs, row for row, with names instead of numbers that a rebuild may give anew."""
    sql = (
        "SELECT s.scope, s.entity, s.predicate, b.lane, b.known_to, b.valid_from, b.valid_to, b.known_from, b.value, "
        "b.trust, b.contested, o.kind, o.name, b.claim FROM beliefs b JOIN slots s ON s.id = b.slot "
        "LEFT JOIN sources o ON o.id = b.source ORDER BY 1, 2, 3, 4, 5, 6"
    )
    return [tuple(row) for row in replica.db.execute(sql).fetchall()]


def closed(replica: Replica) -> set[tuple[Any, ...]]:
    """The rectangles that are no longer believed."""
    return {row for row in rectangles(replica) if row[4] != FOREVER}


def overlaps(replica: Replica) -> list[tuple[Any, ...]]:
    """Pairs of rectangles of one lane that share an instant of both axes, and neighbours that should be one."""
    rows = rectangles(replica)
    by_lane: dict[Any, list[tuple[Any, ...]]] = {}
    for row in rows:
        by_lane.setdefault(row[:4], []).append(row)
    found = []
    for lane in by_lane.values():
        for index, a in enumerate(lane):
            for b in lane[index + 1 :]:
                both = max(a[7], b[7]) < min(a[4], b[4])
                alike = a[8:11] == b[8:11] and (a[6] == b[5] or b[6] == a[5])
                if both and (max(a[5], b[5]) < min(a[6], b[6]) or alike):
                    found.append((a, b))
    return found
