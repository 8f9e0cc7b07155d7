"""Reports 32 to 39: what was retracted, forgotten or deleted stays away, and each change has an author."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncmem import Memory, Source
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import Named, current, heard, instant, line, said, values
from tests.sync.group import Group

# -- 32: a false fact ------------------------------------------------------------------------------------


def test_a_retracted_fact_is_gone_from_every_time_and_kept_for_audit(tell: Tell) -> None:
    """Report 32."""
    steps = [
        said("2025-01-01", "remember", "ana", "home_city", "Berlin", since="2020"),
        said("2025-02-01", "remember", "ana", "home_city", "Rome", since="2024", name="false"),
        said("2025-03-01", "retract", Named("false"), reason="another Ana"),
    ]
    for memory in tell(*steps):
        assert line(memory, "ana", "home_city") == [("Berlin", "2020-01-01", None)]
        for day in ("2024-06-01", "2025-02-15", "2025-06-01"):
            assert current(memory, "ana", "home_city", valid_at=day) == "Berlin"
        assert current(memory, "ana", "home_city", asserted_by="2025-02-15", valid_at="2025-02-15") == "Rome"
        (false,) = [e for e in heard(memory, "ana", "home_city") if e.value == "Rome"]
        (taking_back,) = [e for e in heard(memory, "ana", "home_city") if e.verb == "retract"]
        assert (false.status, taking_back.reason, taking_back.names) == ("retracted", "another Ana", (false.event,))
        assert [entry.value for entry, _ in memory.why("ana", "home_city").taken_back] == ["Rome"]


def test_what_was_believed_before_a_retraction_can_still_be_asked(desk: Desk) -> None:
    """Report 32."""
    false = desk.on("2025-02-01").remember("ana", "home_city", "Rome")
    taken = desk.on("2025-03-01").retract(false.event)
    assert current(desk.memory, "ana", "home_city") is None
    assert current(desk.memory, "ana", "home_city", known_at=taken.known - 1) == "Rome"
    assert current(desk.memory, "ana", "home_city", known_at="2025-02-15", valid_at="2025-02-15") == "Rome"


# -- 33: the same source again, and a new statement -------------------------------------------------------


def test_a_retracted_fact_stays_away_when_its_own_event_arrives_again(desk: Desk, other: Desk, tmp_path: Path) -> None:
    """Report 33, as far as it is about the same event: bundles and devices from before bring nothing back."""
    false = desk.on("2025-02-01").remember("ana", "home_city", "Rome", source=Source("model", "x", "talk-1", (3, 9)))
    desk.memory.export_bundle(tmp_path / "old.bundle")
    other.on("2025-02-02").merge(desk.memory)
    desk.on("2025-03-01").retract(false.event)
    desk.memory.import_bundle(tmp_path / "old.bundle")
    desk.memory.merge(other.memory)
    desk.memory.rebuild()
    assert line(desk.memory, "ana", "home_city") == []
    other.memory.merge(desk.memory)
    assert line(other.memory, "ana", "home_city") == []


def test_after_a_retraction_a_new_statement_of_the_user_holds(tell: Tell) -> None:
    """Report 33: only the record was a mistake, the value may be said again."""
    steps = [
        said(
            "2025-02-01",
            "remember",
            "ana",
            "home_city",
            "Rome",
            source=Source("model", "x", "talk-1", (3, 9)),
            name="a",
        ),
        said("2025-03-01", "retract", Named("a")),
        said("2025-04-01", "remember", "ana", "home_city", "Rome", source=Source("user", None, "talk-2", (0, 9))),
    ]
    for memory in tell(*steps):
        assert line(memory, "ana", "home_city") == [("Rome", "2025-04-01", None)]


@pytest.mark.parametrize("again", ["before", "after"])
def test_a_denied_value_stays_away_when_an_old_source_is_read_again(tell: Tell, again: str) -> None:
    """Report 33: a denial binds every statement that was observed before it, whenever that is taken in."""
    source: dict[str, Any] = {"source": Source("document", "letter", "page-1", (3, 9)), "observed_at": "2024-05-01"}
    rerun = said("2025-04-01" if again == "after" else "2025-02-15", "remember", "ana", "home_city", "Rome", **source)
    steps = [
        said("2025-02-01", "remember", "ana", "home_city", "Rome", **source),
        said("2025-03-01", "deny", "ana", "home_city", "Rome"),
    ]
    for memory in tell(*sorted([*steps, rerun], key=lambda step: step.when)):
        assert line(memory, "ana", "home_city") == []


# -- 34, 37: no read path brings it back, no count counts it ----------------------------------------------

READS: dict[str, Callable[[Memory], Any]] = {
    "believe": lambda m: m.believe("bob", "home_city"),
    "beliefs": lambda m: m.beliefs("bob"),
    "timeline": lambda m: list(m.timeline("bob", "home_city")),
    "as of then": lambda m: m.beliefs("bob", valid_at="2025-01-15"),
    "contested": lambda m: m.contested(),
    "entities": lambda m: m.entities(),
    "history": lambda m: heard(m, "bob", "home_city"),
    "known then": lambda m: m.beliefs("bob", known_at="2025-01-15", valid_at="2025-01-15"),
    "asserted then": lambda m: m.beliefs("bob", asserted_by="2025-01-15", valid_at="2025-01-15"),
    "why": lambda m: m.why("bob", "home_city").winner,
}
NOT_FOR_AUDIT = ("believe", "beliefs", "timeline", "as of then", "contested", "why")


@pytest.mark.parametrize("forget", ["erase", "retract", "deny", "undo", "withdraw"])
def test_what_was_forgotten_is_found_on_no_way_also_after_a_rebuild(tmp_path: Path, forget: str) -> None:
    """Reports 34 and 37: what was erased nowhere, what was taken back only where one asks for the past."""
    path = tmp_path / "a.db"
    with Memory(path, zone="UTC") as memory:
        memory.define("home_city", cardinality="single")
        event = memory.remember("bob", "home_city", "Rome", since="2025-01-01", batch="b").event
        verbs: dict[str, Callable[[], Any]] = {
            "erase": lambda: memory.erase("bob"),
            "retract": lambda: memory.retract(event),
            "deny": lambda: memory.deny("bob", "home_city", "Rome"),
            "undo": lambda: memory.undo(event),
            "withdraw": lambda: memory.retract(batch="b"),
        }
        verbs[forget]()
        memory.rebuild()
    with Memory(path, zone="UTC") as memory:
        ways = READS if forget == "erase" else NOT_FOR_AUDIT
        assert {way: READS[way](memory) for way in ways if READS[way](memory)} == {}
        assert memory.doctor().facts["beliefs"] == {"current": 0, "contested_slots": 0}


@pytest.mark.parametrize("gone", range(4))
def test_counts_are_what_is_visible(tell: Tell, gone: int) -> None:
    """Report 37."""
    claims = [said(f"2025-01-0{n + 1}", "remember", "ana", "likes", n, name=str(n)) for n in range(5)]
    taken = [said("2025-02-01", "retract", Named(str(n))) for n in range(gone)]
    for memory in tell(*claims, *taken):
        visible = values(memory, "ana", "likes")
        assert visible == list(range(gone, 5))
        assert memory.doctor().facts["beliefs"]["current"] == len(visible)


# -- 38: a stale device -----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["erase", "retract", "deny", "end"])
@pytest.mark.parametrize("edited", [False, True], ids=["untouched there", "written about there"])
def test_a_stale_device_does_not_bring_back_what_was_deleted(synced: Group, verb: str, edited: bool) -> None:
    """Report 38."""
    laptop, phone = synced.devices["laptop"], synced.devices["phone"]
    event = laptop.remember("bob", "home_city", "Rome").event
    laptop.remember("ana", "home_city", "Lisbon")
    synced.settle()
    if edited:
        phone.remember("bob", "likes", "tea")
    synced.pass_time()
    if verb == "erase":
        laptop.erase("bob")
    elif verb == "retract":
        laptop.retract(event)
    else:
        getattr(laptop, verb)("bob", "home_city", "Rome")
    synced.pass_time()
    synced.settle("phone", "laptop")
    for memory in (laptop, phone):
        assert current(memory, "bob", "home_city") is None
        assert current(memory, "ana", "home_city") == "Lisbon"
        expected = ["tea"] if edited and verb != "erase" else []
        assert values(memory, "bob", "likes") == expected, "what a device that had not heard of the erasure said goes"
    synced.assert_in_sync()


# -- 39: every change has an author -----------------------------------------------------------------------


def test_every_change_of_a_belief_names_its_event_its_device_and_its_reason(synced: Group) -> None:
    """Report 39: also those that arrive by a sync; nothing flips in the background."""
    laptop, phone = synced.devices["laptop"], synced.devices["phone"]
    first = laptop.remember("ana", "home_city", "Berlin", reason="she said so")
    synced.settle()
    synced.pass_time()
    second = phone.remember("ana", "home_city", "Lisbon", reason="a postcard")
    synced.pass_time()
    synced.sync("phone")
    (change,) = laptop.sync().changes
    for part in [*first.opened, *second.closed, *second.opened, *change.closed, *change.opened]:
        cause = laptop.event(part.event)
        assert cause.reason in ("she said so", "a postcard")
        assert cause.device in (laptop.device, phone.device)
    before = laptop.belief_digest()
    synced.pass_time()
    laptop.rebuild()
    laptop.doctor(full=True)
    synced.settle()
    assert laptop.belief_digest() == before
    effects = [entry.effect for entry in heard(laptop, "ana", "home_city")]
    assert all("holds from" in effect for effect in effects)


def test_time_alone_changes_no_stored_belief(desk: Desk) -> None:
    """Report 39: what lapses has its end from the beginning."""
    desk.on("2025-01-01").remember("ana", "mood", "busy", ttl="5d")
    desk.memory.remember("ana", "home_city", "Paris", expires_at="2025-01-20")
    before = desk.memory.belief_digest(), desk.memory.event_digest()
    desk.on("2026-01-01").rebuild()
    assert desk.memory.beliefs("ana") == []
    assert (desk.memory.belief_digest(), desk.memory.event_digest()) == before
    assert instant("2026-01-01T12:00Z") == desk.clock.time
