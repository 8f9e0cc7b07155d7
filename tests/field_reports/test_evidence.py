"""Reports 30, 33 and 58: what a claim rests on, and what becomes of it when that is taken back."""

from __future__ import annotations

from typing import Any

import pytest

from syncmem import Memory, Source
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import Named, Step, current, heard, line, said, values

PASSAGE = Source("model", "x", "talk-1", (3, 9))


def derived(when: str, value: Any, *roots: str, **words: Any) -> Step:
    """Ana's time zone follows from what the named steps say."""
    given = {"derived_from": [Named(root) for root in roots], "name": "derived", **words}
    return said(when, "remember", "ana", "time_zone", value, **given)


# -- 30: the dates of what it is derived from ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "covered"),
    [
        ({"since": "2023-02-01"}, {"since": "2024-03-01"}, ("2023-02-01", None)),
        (
            {"since": "2023-02", "until": "2023-05"},
            {"since": "2023-04", "until": "2023-12"},
            ("2023-02-01", "2024-01-01"),
        ),
        ({"since": "2023-02", "until": "2023-05"}, {"since": "2024-03"}, ("2023-02-01", None)),
        ({"changed_on": "2023-02-01"}, {}, ("2023-02-01", None)),
        ({}, {}, ("2025-01-01", None)),
    ],
    ids=str,
)
def test_what_is_derived_holds_for_the_time_that_its_sources_cover(
    tell: Tell, one: dict[str, Any], other: dict[str, Any], covered: tuple[str, str | None]
) -> None:
    """Report 30."""
    steps = [
        said("2025-01-01", "remember", "ana", "office", "Lisbon", name="one", **one),
        said("2025-02-01", "remember", "ana", "bank", "Porto", name="other", **other),
        derived("2025-03-01", "WET", "one", "other"),
    ]
    for memory in tell(*steps, single=("time_zone",)):
        assert line(memory, "ana", "time_zone") == [("WET", *covered)]


def test_what_is_derived_from_old_papers_does_not_beat_what_was_learned_since(tell: Tell) -> None:
    """Report 30: it was observed when its sources were, and not when somebody thought of it."""
    steps = [
        said("2025-01-01", "remember", "ana", "office", "Lisbon", observed_at="2023-05-01", name="one"),
        said("2025-02-01", "remember", "ana", "time_zone", "CET"),
        derived("2025-03-01", "WET", "one"),
    ]
    for memory in tell(*steps, single=("time_zone",)):
        assert line(memory, "ana", "time_zone") == [("WET", "2023-05-01", "2025-02-01"), ("CET", "2025-02-01", None)]


def test_what_nobody_dated_gets_no_date_by_being_derived(tell: Tell) -> None:
    """Report 30: undated papers stay undated."""
    paper: dict[str, Any] = {"source": "document", "trust": "document", "observed_at": "undated"}
    steps = [
        said("2025-01-01", "remember", "ana", "office", "Lisbon", name="one", **paper),
        derived("2025-03-01", "WET", "one"),
    ]
    for memory in tell(*steps, single=("time_zone",)):
        assert line(memory, "ana", "time_zone") == [("WET", None, None)]


# -- 33: the same passage, read again -----------------------------------------------------------------------

TAKE_BACK: dict[str, Step] = {
    "retract": said("2025-03-01", "retract", Named("first")),
    "correct": said("2025-03-01", "correct", Named("first"), "Roma Street", name="right"),
}


@pytest.mark.parametrize("how", TAKE_BACK)
@pytest.mark.parametrize("again", ["2025-02-15", "2025-04-01"])
@pytest.mark.parametrize(
    "reader", [Source("model", "x", "talk-1", (3, 9)), Source("newer model", None, "talk-1", (3, 9))]
)
def test_a_passage_that_is_read_again_does_not_bring_back_what_was_taken_back(
    tell: Tell, how: str, again: str, reader: Source
) -> None:
    """Report 33: whoever reads it, and wherever: also a device that has not heard of the retraction."""
    steps = [
        said("2025-02-01", "remember", "ana", "home_city", "Rome", source=PASSAGE, name="first"),
        TAKE_BACK[how],
        said(again, "remember", "ana", "home_city", "rome", source=reader, affirm=False, name="again"),
    ]
    for memory in tell(*sorted(steps, key=lambda step: step.when)):
        assert values(memory, "ana", "home_city") == ([] if how == "retract" else ["Roma Street"])
        (status,) = [entry.status for entry in heard(memory, "ana", "home_city") if entry.value == "rome"]
        assert status.startswith("retracted with ")
        memory.rebuild()
        assert current(memory, "ana", "home_city") == (None if how == "retract" else "Roma Street")


def test_taking_the_retraction_back_gives_both_readings_back(tell: Tell) -> None:
    """Report 33."""
    steps = [
        said("2025-02-01", "remember", "ana", "home_city", "Rome", source=PASSAGE, name="first"),
        said("2025-03-01", "retract", Named("first"), name="gone"),
        said("2025-04-01", "remember", "ana", "home_city", "Rome", source=PASSAGE, affirm=False),
        said("2025-05-01", "undo", Named("gone")),
    ]
    for memory in tell(*steps):
        assert line(memory, "ana", "home_city") == [("Rome", "2025-02-01", None)]
        assert {entry.status for entry in heard(memory, "ana", "home_city") if entry.verb == "remember"} == {"live"}


@pytest.mark.parametrize(
    "other", [Source("model", "x", "talk-1", (9, 12)), Source("model", "x", "talk-2", (3, 9)), None]
)
def test_a_new_statement_of_what_was_retracted_holds(tell: Tell, other: Source | None) -> None:
    """Report 33: another passage has not been taken back."""
    steps = [
        said("2025-02-01", "remember", "ana", "home_city", "Rome", source=PASSAGE, name="first"),
        said("2025-03-01", "retract", Named("first")),
        said("2025-04-01", "remember", "ana", "home_city", "Rome", source=other),
    ]
    for memory in tell(*steps):
        assert line(memory, "ana", "home_city") == [("Rome", "2025-04-01", None)]


def test_a_guess_that_takes_a_statement_back_binds_no_reading_of_it_either(tell: Tell) -> None:
    """Report 33: what has not the trust to retract leaves the slot contested, with both readings."""
    steps = [
        said("2025-02-01", "remember", "ana", "home_city", "Rome", source=PASSAGE, name="first"),
        said("2025-03-01", "retract", Named("first"), trust="inference"),
        said("2025-04-01", "remember", "ana", "home_city", "Rome", source=PASSAGE, affirm=False),
    ]
    for memory in tell(*steps):
        (belief,) = memory.beliefs("ana", "home_city")
        assert (belief.value, belief.contested) == ("Rome", True)


def test_who_reads_it_again_is_told_why_it_does_not_count(desk: Desk) -> None:
    """Report 33: nothing is dropped in silence."""
    first = desk.on("2025-02-01").remember("ana", "home_city", "Rome", source=PASSAGE)
    desk.on("2025-03-01").retract(first.event)
    receipt = desk.on("2025-04-01").remember("ana", "home_city", "Rome", source=PASSAGE)
    assert (receipt.decision, receipt.opened) == ("NOOP", ())
    assert receipt.why.endswith(f"It does not count: retracted with {first.event}.")


# -- 58: trust does not rise by being derived ---------------------------------------------------------------


@pytest.mark.parametrize("stated", [None, "user", 90])
def test_what_is_derived_has_the_least_trust_of_its_sources(tell: Tell, stated: Any) -> None:
    """Report 58: trust(derived) = min(trust(sources))."""
    steps = [
        said("2025-01-01", "remember", "ana", "office", "Lisbon", name="sure"),
        said("2025-01-02", "remember", "ana", "bank", "Porto", name="guess", trust="inference", source="model"),
        derived("2025-03-01", "WET", "sure", "guess", trust=stated),
    ]
    for memory in tell(*steps, single=("time_zone",)):
        assert [belief.trust for belief in memory.beliefs("ana", "time_zone")] == [30]


def test_a_chain_of_derivations_never_rises(tell: Tell) -> None:
    """Report 58: a summary of a summary of a guess is a guess, and does not overrule what was stated."""
    steps = [
        said("2025-01-01", "remember", "ana", "office", "Lisbon", name="guess", trust="inference", source="model"),
        said("2025-01-02", "remember", "ana", "country", "Portugal", derived_from=[Named("guess")], name="second"),
        said("2025-01-03", "remember", "ana", "time_zone", "CET", trust="document", source="letter"),
        derived("2025-03-01", "WET", "second", observed_at="2025-03-01"),
    ]
    for memory in tell(*steps, single=("time_zone",)):
        assert current(memory, "ana", "time_zone") == "CET"
        assert [belief.value for belief in memory.contested()] == ["CET"]


GOING: dict[str, Step] = {
    "retracted": said("2025-04-01", "retract", Named("root")),
    "undone": said("2025-04-01", "undo", Named("root")),
    "denied": said("2025-04-01", "deny", "ana", "office", "Lisbon"),
    "corrected": said("2025-04-01", "correct", Named("root"), "Linz"),
    "withdrawn": said("2025-04-01", "retract", batch="import-1", scope="vault"),
}


@pytest.mark.parametrize("how", GOING)
def test_what_is_derived_goes_with_what_it_is_derived_from_through_every_step(tell: Tell, how: str) -> None:
    """Report 58: nothing outlives its evidence; also where the parts arrive in any order."""
    steps = [
        said("2025-01-01", "remember", "ana", "office", "Lisbon", batch="import-1", name="root"),
        said("2025-01-02", "remember", "ana", "country", "Portugal", derived_from=[Named("root")], name="second"),
        derived("2025-03-01", "WET", "second"),
        GOING[how],
    ]
    for memory in tell(*steps, single=("time_zone", "country", "office")):
        assert values(memory, "ana", "country") == values(memory, "ana", "time_zone") == []
        assert current(memory, "ana", "office") == ("Linz" if how == "corrected" else None)
        entries = [*heard(memory, "ana", "country"), *heard(memory, "ana", "time_zone")]
        statuses = [entry.status for entry in entries if entry.verb == "remember"]
        assert len(statuses) == 2 and all(status.startswith("unfounded: ") for status in statuses)
        memory.rebuild()
        assert values(memory, "ana", "time_zone") == []


@pytest.mark.parametrize("how", ["retracted", "denied", "undone"])
def test_it_is_back_with_its_root_and_was_known_all_along(desk: Desk, how: str) -> None:
    root = desk.on("2025-01-01").remember("ana", "office", "Lisbon")
    last = desk.on("2025-01-02").remember("ana", "time_zone", "WET", derived_from=[root.event])
    memory = desk.on("2025-02-01")
    taken: dict[str, Any] = {
        "retracted": lambda: memory.retract(root.event),
        "denied": lambda: memory.deny("ana", "office", "Lisbon"),
        "undone": lambda: memory.undo(root.event),
    }
    gone = taken[how]()
    assert told(memory) == []
    assert told(memory, known_at=gone.known - 1) == told(memory, asserted_by="2025-01-15T00:00Z") == ["WET"]
    back = desk.on("2025-03-01").undo(gone.event)
    assert told(memory) == ["WET"]
    memory.rebuild()
    assert told(memory, known_at=back.known - 1) == told(memory, asserted_by="2025-02-15T00:00Z") == []
    assert told(memory, known_at=last.known) == told(memory) == ["WET"]


def told(memory: Memory, **asked: Any) -> list[Any]:
    return values(memory, "ana", "time_zone", **asked)
