"""The belief rule, held by properties: whatever was said, in whatever order it comes, the engine believes
what the reference believes, and what follows from the rule is so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from syncmem.environment import Environment, ManualClock, seeded_randomness
from syncmem.model.event import ClockNote, Kind
from syncmem.model.instant import FOREVER
from syncmem.replica.frontiers import asserted_by, held_by
from syncmem.replica.reading import Reading
from syncmem.replica.replica import Replica
from syncmem.results import Grade
from syncmem.seal.keys import public_key
from tests import world
from tests.differential import wrong_history
from tests.reference import Event
from tests.strategies import (
    STATEMENTS,
    TRICKY,
    Held,
    History,
    Parcel,
    Row,
    answered,
    as_answer,
    closed,
    deliver,
    expected,
    held_after,
    histories,
    living_in,
    logs_of,
    observed,
    one_more,
    overlaps,
    parcels,
    randoms,
    rectangles,
)
from tests.world import (
    ENTITY,
    ORIGIN,
    PREDICATE,
    Writer,
    believed,
    fresh_replica,
    instant,
    payload_of,
    sorted_keys,
)

FAR = 10_000  # a tick after everything
FOREVER_TICK = float("inf")


# -- the set of events decides, not their order -------------------------------------------------------


@pytest.mark.parametrize("name", TRICKY)
def test_a_history_that_was_hard_to_find_is_believed_as_the_reference_believes_it(name: str) -> None:
    for seed in range(20):
        for page_records in (32, 1):
            assert wrong_history(replace(TRICKY[name], page_records=page_records), Random(seed)) == []


@given(histories(), randoms(), randoms())
def test_any_order_batching_and_repetition_give_the_beliefs_of_the_reference(
    history: History, one_way: Random, another_way: Random
) -> None:
    with living_in(history), received(history, one_way) as one, received(history, another_way) as another:
        assert observed(one, history) == expected(history)
        assert observed(another, history) == expected(history)
        assert current_without_numbers(one) == current_without_numbers(another)


@given(histories(), randoms())
def test_after_every_batch_the_beliefs_are_those_of_the_reference(history: History, order: Random) -> None:
    with living_in(history), empty_replica() as replica:
        for held in arriving(replica, history, order):
            assert observed(replica, history) == expected(history, held)


@given(histories(), randoms())
def test_parts_of_the_events_that_went_to_several_replicas_meet_in_the_same_beliefs(
    history: History, order: Random
) -> None:
    with living_in(history), empty_replica(1) as a, empty_replica(2) as b, empty_replica(3) as c:
        logs, replicas = logs_of(history), [a, b, c]
        for parcel in parcels(order, logs):
            for replica in order.sample(replicas, order.randint(1, 3)):
                deliver(replica, logs, with_what_is_missing(replica, logs, parcel))
            giver, taker = order.sample(replicas, 2)
            if order.randint(0, 2) == 0:
                merge(taker, giver)
        for taker in (a, b, c, a, b):
            for giver in replicas:
                merge(taker, giver)
        for replica in replicas:
            assert observed(replica, history) == expected(history)


@given(histories(), randoms())
def test_what_has_arrived_once_changes_nothing_when_it_arrives_again(history: History, order: Random) -> None:
    with living_in(history), received(history, order) as replica:
        before, last = rectangles(replica), replica.last_transaction
        logs = logs_of(history)
        deliver(replica, logs, [(name, 0, len(log.events)) for name, log in logs.items()])
        assert (rectangles(replica), replica.last_transaction) == (before, last)


# -- the table of beliefs -----------------------------------------------------------------------------


@given(histories(), randoms())
def test_rectangles_never_overlap_and_equal_neighbours_are_one(history: History, order: Random) -> None:
    with living_in(history), received(history, order) as replica:
        assert overlaps(replica) == []


@given(histories(), randoms())
def test_a_rectangle_that_was_closed_never_changes(history: History, order: Random) -> None:
    with living_in(history), empty_replica() as replica:
        before: set[Any] = set()
        for _ in arriving(replica, history, order):
            now = closed(replica)
            assert before <= now
            before = now


@given(histories(), randoms())
def test_what_was_known_then_is_the_reference_of_what_had_arrived_by_then(history: History, order: Random) -> None:
    with living_in(history), empty_replica() as replica:
        then = [(replica.last_transaction, held) for held in arriving(replica, history, order)]
        for n, held in then:
            assert observed(replica, history, n) == expected(history, held)
            assert told_at(replica, history, n) == as_answer(expected(history, held))
        assert observed(replica, history, 0) == []


@given(histories(), randoms())
def test_a_timeline_and_a_look_at_each_instant_tell_the_same(history: History, order: Random) -> None:
    with living_in(history), received(history, order) as replica:
        slot = replica.catalog.find("vault", ENTITY, PREDICATE)
        if slot is None:
            return
        reading = Reading(replica)
        rows = told_at(replica, history, None)
        assert rows == as_answer(expected(history))
        for tick in range(-2, 60):
            there = answered(replica, history, reading.at(slot, instant(tick) or 0))
            holding = [row for row in rows if row[0] <= tick < row[1]]
            assert [row[2] for row in there] == [row[2] for row in holding]


@given(histories(), randoms())
def test_a_rebuild_gives_the_same_rectangles_row_for_row(history: History, order: Random) -> None:
    with living_in(history), received(history, order) as replica:
        before = rectangles(replica)
        replica.rebuild()
        assert rectangles(replica) == before


# -- other axes ---------------------------------------------------------------------------------------


@given(histories(clock_notes=False), randoms(), st.integers(-1, 41))
def test_what_was_asserted_by_then_is_the_reference_of_what_had_been_recorded_by_then(
    history: History, order: Random, tick: int
) -> None:
    with living_in(history), received(history, order) as replica:
        slot = replica.catalog.find("vault", ENTITY, PREDICATE)
        if slot is None:
            return
        reading = Reading(replica)
        placed = reading.folded(slot, asserted_by(replica, instant(tick) or 0))
        by_then = replace(history, events=[e for e in history.events if e["hlc"] <= tick])
        assert answered(replica, history, placed) == as_answer(expected(by_then))


@given(histories(), randoms())
def test_a_clock_note_moves_what_was_asserted_to_the_corrected_time(history: History, order: Random) -> None:
    with living_in(history), received(history, order) as replica:
        slot = replica.catalog.find("vault", ENTITY, PREDICATE)
        if slot is None:
            return
        tick = 20
        reading = Reading(replica)
        placed = reading.folded(slot, asserted_by(replica, instant(tick) or 0))
        rightly = [{**e, "right": e["hlc"] + history.offsets.get(e["device"], 0)} for e in history.events]
        wrong_clocks = set(history.offsets)
        if all(e["right"] <= tick for e in rightly if e["device"] in wrong_clocks):
            early = replace(history, events=[e for e in rightly if e["right"] <= tick])
            assert answered(replica, history, placed) == as_answer(expected(early))


@given(histories(events_max=8, clock_notes=False), randoms())
def test_another_device_tells_from_notes_what_a_device_believed(history: History, order: Random) -> None:
    with living_in(history), empty_replica(7) as there, empty_replica(8) as here:
        logs = logs_of(history)
        clock = there.environment.clock
        assert isinstance(clock, ManualClock)
        times = []
        for parcel in parcels(order, logs):
            clock.time += 3_600_000_000
            deliver(there, logs, parcel)
            times.append(clock.time)
            clock.time += 60_000_000
            say_something(there, order)
            times.append(clock.time)
        merge(here, there)
        slot, slot_here = (r.catalog.find("vault", ENTITY, PREDICATE) for r in (there, here))
        assert slot is not None and slot_here is not None
        for time in times:
            own = Reading(there).timeline(slot, Reading(there).transaction_at(time))
            visible, grade = held_by(here, there.identity.device, "vault", time)
            told = Reading(here).folded(slot_here, visible)
            assert plainly(here, told) == plainly(there, own)
            assert grade == (Grade.PROVISIONAL if time == times[-1] else Grade.EXACT)


def test_another_device_tells_what_was_believed_before_a_wrong_clock_was_known() -> None:
    claim: Event = {"id": "a1", "device": "a", "seq": 1, "hlc": 9, "op": "assert", "value": "A", "trust": 2}
    history = History([claim], offsets={"a": -5})
    with living_in(history), empty_replica(7) as there, empty_replica(8) as here:
        clock, logs = there.environment.clock, logs_of(history)
        assert isinstance(clock, ManualClock)
        for parcel in ([("(definitions)", 0, 1), ("a", 0, 1)], [("a", 1, 2)]):
            clock.time += 3_600_000_000
            deliver(there, logs, parcel)
        merge(here, there)
        slot = here.catalog.find("vault", ENTITY, PREDICATE)
        assert slot is not None
        for time, start in ((clock.time - 3_600_000_000, 9), (clock.time, 4)):
            own = Reading(there).timeline(slot, Reading(there).transaction_at(time))
            visible, _ = held_by(here, there.identity.device, "vault", time)
            assert [row[:3] for row in answered(there, history, own)] == [[start, FOREVER_TICK, "A"]]
            assert plainly(here, Reading(here).folded(slot, visible)) == plainly(there, own)


# -- what one more event may do -----------------------------------------------------------------------


@given(histories(), randoms(), randoms())
def test_an_event_and_its_undoing_leave_no_trace_in_beliefs(history: History, order: Random, more: Random) -> None:
    extra = one_more(more, history, operations=(*STATEMENTS, "retract", "undo", "retract_batch"))
    note(f"one more: {extra}")
    undone = {"id": "y1", "device": "y", "seq": 1, "hlc": FAR, "op": "undo", "trust": 100, "target": extra["id"]}
    longer = history.with_events(extra, undone)
    with living_in(history), received(history, order) as without, received(longer, order) as with_both:
        assert observed(with_both, longer) == observed(without, history)


@given(histories(), randoms(), randoms())
def test_a_statement_changes_nothing_before_its_start(history: History, order: Random, more: Random) -> None:
    extra = one_more(more, history, operations=("assert", "affirm", "end"), corrects=())
    note(f"one more: {extra}")
    given_start = extra.get("at") if extra["op"] == "end" else extra.get("valid_from")
    seen = min(extra["hlc"], extra.get("observed_at", extra["hlc"]))
    start = seen if given_start is None else given_start
    longer = history.with_events(extra)
    with living_in(history), received(history, order) as without, received(longer, order) as with_it:
        assert until(start, observed(with_it, longer)) == until(start, observed(without, history))


@given(histories(named_ends=False), randoms(), randoms(), st.integers(1, 3))
def test_a_lower_tier_never_changes_an_instant_that_a_higher_one_won(
    history: History, order: Random, more: Random, trust: int
) -> None:
    extra = one_more(more, history, corrects=(), trust=trust)
    note(f"one more: {extra}")
    longer = history.with_events(extra)
    with living_in(history), received(history, order) as without, received(longer, order) as with_it:
        after = {(lane, value, tick) for lane, value, tick, _ in won(with_it)}
        assert {(lane, value, tick) for lane, value, tick, tier in won(without) if tier > trust} <= after


@given(histories(), randoms(), st.integers(1, 2_000))
def test_shifting_all_times_shifts_what_is_believed(history: History, order: Random, ticks: int) -> None:
    later = replace(history, events=[shifted(e, ticks) for e in history.events])
    with living_in(history), received(history, order) as now, received(later, order) as then:
        assert observed(then, later) == [[a + ticks, b + ticks, *rest] for a, b, *rest in observed(now, history)]


@given(histories(clock_notes=False, events_max=8), histories(clock_notes=False, events_max=8), randoms())
def test_slots_know_nothing_of_each_other(one: History, other: History, order: Random) -> None:
    both = replace(one, events=interleaved(one.events, other.events, order))
    with living_in(one), received(both, order) as replica:
        assert without_winners(observed(replica, both)) == without_winners(expected(one))
        other = replace(other, cardinalities=one.cardinalities)
        found = without_winners(observed(replica, both, entity="person:bob"))
        assert found == without_winners(expected(other))


# -- helpers ------------------------------------------------------------------------------------------


@contextmanager
def empty_replica(seed: int = 0) -> Iterator[Replica]:
    environment = Environment(clock=ManualClock(ORIGIN + FAR * world.UNIT), randomness=seeded_randomness(seed))
    replica = Replica(":memory:", environment, public_key)
    try:
        yield replica
    finally:
        replica.close()


@contextmanager
def received(history: History, order: Random) -> Iterator[Replica]:
    """A replica that holds the whole history, which came to it in some way."""
    with empty_replica() as replica:
        for _ in arriving(replica, history, order):
            pass
        yield replica


def arriving(replica: Replica, history: History, order: Random) -> Iterator[Held]:
    """Let a history arrive in parcels; what is held after each."""
    logs = logs_of(history)
    sent: list[Parcel] = []
    for parcel in parcels(order, logs):
        sent.append(parcel)
        note(f"arrives: {parcel}")
        deliver(replica, logs, parcel)
        yield held_after(sent)


def with_what_is_missing(replica: Replica, logs: Any, parcel: Parcel) -> Parcel:
    """A parcel that also brings what a replica lacks before it."""
    held = {name: replica.logs.by_id[log.key.id].seq for name, log in logs.items() if log.key.id in replica.logs.by_id}
    return [(name, min(after, held.get(name, 0)), until) for name, after, until in parcel]


def merge(taker: Replica, giver: Replica) -> None:
    list(taker.receive(giver.frames(taker.version_vector())))


def told_at(replica: Replica, history: History, n: int | None) -> list[Row]:
    slot = replica.catalog.find("vault", ENTITY, PREDICATE)
    return [] if slot is None else answered(replica, history, Reading(replica).timeline(slot, n))


def plainly(replica: Replica, placed: Sequence[Any]) -> list[Any]:
    """An answer without what is numbered otherwise on each replica."""
    return [(lane, *r[:5], str(replica.logs.ref(r.claim))) for lane, r in placed]


def say_something(replica: Replica, order: Random) -> None:
    """A device's own claim about the slot."""
    event: Event = {"op": "assert", "value": order.choice("ABC"), "hlc": 0, "trust": order.choice((1, 2, 3))}
    with replica.transaction():
        replica.append("vault", [(Kind.CLAIM, payload_of(event, {})[1])])


def current_without_numbers(replica: Replica) -> list[Any]:
    """The current beliefs, without transaction numbers and with names of claims."""
    rows = [row for row in rectangles(replica) if row[4] == FOREVER]
    return [(*row[:4], *row[5:7], *row[8:13], str(replica.logs.ref(row[13]))) for row in rows]


def until(start: int, rows: list[Row]) -> list[Row]:
    """The part of rows before an instant."""
    return [[a, min(b, start), *rest] for a, b, *rest in rows if a < start]


def won(replica: Replica) -> set[tuple[Any, ...]]:
    """(lane, value, instant, trust) at each tick and between ticks."""
    found = set()
    for row in rectangles(replica):
        if row[4] == FOREVER:
            for half in range(-120, 240):
                if row[5] <= ORIGIN + half * world.UNIT // 2 < row[6]:
                    found.add((row[3], row[8], half, row[9]))
    return found


def shifted(event: Event, ticks: int) -> Event:
    times = ("hlc", "observed_at", "valid_from", "valid_to", "expires_at", "at")
    return {**event, **{name: event[name] + ticks for name in times if event.get(name) is not None}}


def interleaved(ours: list[Event], theirs: list[Event], order: Random) -> list[Event]:
    """Two histories in one set of logs, the second about another entity and in batches of its own."""
    other = [{**e, "id": f"bob:{e['id']}", "entity": "person:bob"} for e in theirs]
    for event in other:
        for name in ("target", "batch"):
            if event.get(name):
                event[name] = f"bob:{event[name]}"
        for name in ("corrects", "derived_from"):
            if event.get(name):
                event[name] = [f"bob:{named}" for named in event[name]]
    waiting, mixed = [list(ours), other], []
    while any(waiting):
        mixed.append(order.choice([events for events in waiting if events]).pop(0))
    seqs = {device: count(1) for device in "abcd"}
    return [{**e, "seq": next(seqs[e["device"]])} for e in mixed]


def without_winners(rows: list[Row]) -> list[Row]:
    return [row[:4] for row in rows]


@pytest.mark.parametrize("direction", [1, -1])
def test_a_device_corrects_its_own_clock_also_where_the_note_arrives_first(direction: int) -> None:
    """The note stands in another log of the device than the claims, and its trust alone would not suffice."""
    device = sorted_keys(1)[0]
    claims, notes = Writer(device), Writer(replace(device, incarnation=bytes(16)))
    for value, hlc in (("A", 5), ("B", 9)):
        kind, payload = payload_of({"op": "assert", "value": value, "trust": 50, "source": None}, {})
        claims.write(kind, payload, instant(hlc) or 0)
    notes.write(Kind.CLOCK_NOTE, ClockNote(claims.key.id, 1, 1, 10 * world.UNIT, 2, None, None, None), instant(10) or 0)
    replica = fresh_replica()
    for writer in (claims, notes)[::direction]:
        list(replica.receive(writer.frames()))
    assert believed(replica) == [[9, None, "B"], [15, None, "A"]]
