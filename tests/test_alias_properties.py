"""Names that are one, held by properties: whatever was said of whom, and whoever linked what, in whatever order.

The plain reference for names is :mod:`tests.links`.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st

from syncmem.environment import ManualClock
from syncmem.model.link import Bond, resolve
from syncmem.replica.digests import Digests
from syncmem.replica.frontiers import held_by
from syncmem.replica.reading import Reading
from syncmem.replica.replica import Replica
from tests import links
from tests.differential import wrong_history
from tests.strategies import (
    ENTITIES,
    History,
    deliver,
    expected,
    histories,
    living_in,
    logs_of,
    observed,
    parcels,
    randoms,
)
from tests.test_fold_properties import (
    FAR,
    current_without_numbers,
    empty_replica,
    merge,
    plainly,
    received,
    say_something,
    with_what_is_missing,
)
from tests.world import PREDICATE

NAMES = ("Zoë", "a", "b", "c", "d")
LINK = st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans(), st.permutations(NAMES))


def all_observed(replica: Replica, history: History, n: int | None = None) -> dict[str, Any]:
    return {entity: observed(replica, history, n, entity) for entity in ENTITIES}


def digest(replica: Replica) -> bytes:
    with replica.transaction():
        return Digests(replica.db, replica.logs).of("vault").beliefs


@given(histories(linked=True), randoms())
def test_names_are_read_as_the_reference_reads_them_now_then_and_after_a_rebuild(
    history: History, order: Random
) -> None:
    with living_in(history):
        assert wrong_history(history, order) == []


@given(histories(linked=True), randoms(), randoms())
def test_any_order_batching_and_repetition_give_the_same_beliefs_and_digests(
    history: History, one_way: Random, another_way: Random
) -> None:
    with living_in(history), received(history, one_way) as one, received(history, another_way) as another:
        assert current_without_numbers(one) == current_without_numbers(another)
        assert digest(one) == digest(another)


@given(histories(linked=True), randoms())
def test_parts_that_went_to_several_replicas_meet_in_the_same_beliefs(history: History, order: Random) -> None:
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
        assert len({digest(replica) for replica in replicas}) == 1
        for replica in replicas:
            assert all_observed(replica, history) == {entity: expected(history, None, entity) for entity in ENTITIES}


@given(histories(linked=True), randoms(), st.permutations(ENTITIES), st.booleans(), st.integers(0, 3))
def test_a_link_and_its_undoing_leave_no_trace_in_what_is_believed(
    history: History, order: Random, names: list[str], same: bool, trust: int
) -> None:
    about = {"one": names[0], "other": names[1], "trust": trust, "op": "same" if same else "different"}
    link = {"id": "y1", "device": "y", "seq": 1, "hlc": 7, **about}
    undone = {"id": "z1", "device": "z", "seq": 1, "hlc": FAR, "op": "undo", "trust": 100, "target": "y1"}
    longer = history.with_events(link, undone)
    note(f"one more: {link}")
    with living_in(history), received(history, order) as without, received(longer, order) as with_both:
        assert all_observed(with_both, longer) == all_observed(without, history)
        assert digest(with_both) == digest(without)


@given(histories(linked=True), randoms())
def test_what_was_known_then_is_what_a_replica_that_heard_no_more_believes(history: History, order: Random) -> None:
    with living_in(history), empty_replica(1) as growing:
        logs = logs_of(history)
        sent, then = parcels(order, logs), []
        for parcel in sent:
            deliver(growing, logs, parcel)
            then.append(growing.last_transaction)
        for count, n in enumerate(then, start=1):
            with empty_replica(2) as frozen:
                for parcel in sent[:count]:
                    deliver(frozen, logs, parcel)
                assert all_observed(growing, history, n) == all_observed(frozen, history)


@given(histories(events_max=8, clock_notes=False, linked=True), randoms())
def test_another_device_tells_from_notes_what_a_device_believed_of_any_name(history: History, order: Random) -> None:
    with living_in(history), empty_replica(7) as there, empty_replica(8) as here:
        logs, clock = logs_of(history), there.environment.clock
        assert isinstance(clock, ManualClock)
        times = []
        for parcel in parcels(order, logs):
            clock.time += 3_600_000_000
            deliver(there, logs, parcel)
            times.append(clock.time)
            say_something(there, order)
        merge(here, there)
        for time in times:
            n = Reading(there).transaction_at(time)
            visible, _ = held_by(here, there.identity.device, "vault", time)
            for entity in ENTITIES:
                slots = Reading(there).names.slots("vault", entity, PREDICATE, n)
                own = [row for slot in slots for row in Reading(there).timeline(slot, n)]
                slots = Reading(here).names.slots("vault", entity, PREDICATE, visible)
                told = [row for slot in slots for row in Reading(here).folded(slot, visible)]
                assert plainly(here, told) == plainly(there, own)


@given(st.lists(LINK, max_size=9))
def test_links_are_weighed_as_the_plain_reference_weighs_them(given_links: list[Any]) -> None:
    said = [
        {"op": "same" if same else "different", "trust": trust, "hlc": clock, "device": b"log", "seq": number}
        | {"one": names[0], "other": names[1]}
        for number, (trust, clock, same, names) in enumerate(given_links)
    ]
    bonds = [Bond((e["trust"], e["hlc"], b"log", e["seq"]), e["op"] == "same", e["one"], e["other"]) for e in said]
    assert resolve(bonds).stands == resolve(reversed(bonds)).stands == links.standing(said)
