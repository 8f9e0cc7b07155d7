"""Reports 12 to 19: what is still true stays, whoever is mentioned and however alike the words are; many values."""

from __future__ import annotations

from typing import Any

import pytest

from syncmem import Decision
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import Named, current, heard, line, said, values

# -- 12 to 14: mentions, negations, similar words ---------------------------------------------------------


@pytest.mark.parametrize(
    "about_others",
    [
        said("2025-02-01", "remember", "paul", "administers", "Acme"),
        said("2025-02-01", "remember", "acme", "administrator", "paul", mentions=["paul"]),
        said("2025-02-01", "remember", "paul", "project", "Acme"),
        said("2025-02-01", "end", "paul", "project", "Stripe"),
        said("2025-02-01", "deny", "paul", "project", "Stripe"),
        said("2025-02-01", "remember", "stripe", "employer", "nobody"),
        said("2025-02-01", "erase", "acme"),
    ],
    ids=lambda step: f"{step.verb} {step.arguments[0]}",
)
def test_a_mention_of_somebody_retires_nothing_else_about_them(tell: Tell, about_others: Any) -> None:
    """Report 12."""
    for memory in tell(said("2025-01-01", "remember", "paul", "employer", "Stripe"), about_others):
        assert line(memory, "paul", "employer") == [("Stripe", "2025-01-01", None)]


@pytest.mark.parametrize(
    "text", ["no longer drinks coffee", "not vegan any more", "never mind the old plan", "deleted"]
)
def test_words_of_negation_in_a_text_retire_no_note(tell: Tell, text: str) -> None:
    """Report 13: what ends is said by a verb, never guessed from words."""
    steps = [
        said("2025-01-01", "remember", "ana", "likes", "coffee"),
        said("2025-01-02", "remember", "ana", "note", "drinks coffee"),
        said("2025-01-03", "remember", "ana", "diet", text),
        said("2025-01-04", "remember", "ana", "note", text),
    ]
    for memory in tell(*steps):
        assert values(memory, "ana", "likes") == ["coffee"]
        assert values(memory, "ana", "note") == sorted(["drinks coffee", text])
        assert values(memory, "ana", "diet") == [text]


@pytest.mark.parametrize(
    ("one", "two"),
    [("anna", "ana"), ("Ana", "ana"), ("ana ", "ana"), ("ana 1", "ana 2"), ("\u0430na", "ana")],
    ids=repr,
)
def test_the_same_words_about_somebody_else_are_another_fact(tell: Tell, one: str, two: str) -> None:
    """Report 14: names are compared, not how alike they look."""
    steps = [
        said("2025-01-01", "remember", one, "home_city", "Lisbon"),
        said("2025-01-02", "remember", two, "home_city", "Lisbon"),
        said("2025-01-03", "remember", two, "home_city", "Lisbon."),
    ]
    for memory in tell(*steps):
        assert (current(memory, one, "home_city"), current(memory, two, "home_city")) == ("Lisbon", "Lisbon.")
        assert line(memory, one, "home_city") == [("Lisbon", "2025-01-01", None)]


# -- 15: scopes -----------------------------------------------------------------------------------------


def test_the_same_fact_in_two_scopes_is_two_facts(tell: Tell) -> None:
    """Report 15: neither is a repetition of the other, and what becomes of one does not touch the other."""
    steps = [
        said("2025-01-01", "remember", "ana", "home_city", "Lisbon"),
        said("2025-01-02", "remember", "ana", "home_city", "Lisbon", scope="work", name="in work"),
        said("2025-01-03", "remember", "ana", "home_city", "Porto", scope="team"),
        said("2025-01-04", "remember", "ana", "employer", "Acme"),
        said("2025-01-05", "deny", "ana", "home_city", "Porto"),
        said("2025-01-06", "retract", Named("in work")),
    ]
    for memory in tell(*steps, scopes=("work", "team")):
        assert current(memory, "ana", "home_city") == "Lisbon"
        assert current(memory, "ana", "home_city", scope="work") is None
        assert current(memory, "ana", "home_city", scope="team") == "Porto"


def test_repeating_a_fact_in_another_scope_adds_it_there(desk: Desk) -> None:
    """Report 15: the decision knows scopes too, also the one that never leaves the device."""
    decisions = [
        desk.on(f"2025-01-0{day}").remember("ana", "home_city", "Lisbon", scope=scope).decision
        for day, scope in enumerate(("vault", "work", "device", "vault", "work", "device"), 1)
    ]
    assert decisions == ["ADD", "ADD", "ADD", "NOOP", "NOOP", "NOOP"]
    desk.memory.erase("ana", scope="work")
    held = {s: current(desk.memory, "ana", "home_city", scope=s) for s in ("vault", "work", "device")}
    assert held == {"vault": "Lisbon", "work": None, "device": "Lisbon"}


# -- 16: what is not resolved stays -----------------------------------------------------------------------


@pytest.mark.parametrize("how", [{"trust": "inference"}, {"trust": "document", "source": "integration"}], ids=str)
def test_an_unresolved_conflict_removes_nothing_and_is_asked_about(tell: Tell, how: dict[str, Any]) -> None:
    """Report 16."""
    steps = [
        said("2025-01-01", "remember", "ana", "home_city", "Lisbon"),
        said("2025-01-02", "remember", "ana", "home_city", "Porto", **how),
    ]
    for memory in tell(*steps):
        assert [(b.value, b.contested) for b in memory.beliefs("ana")] == [("Lisbon", True)]
        assert [b.entity for b in memory.contested()] == ["ana"]
        assert {e.value: e.status for e in heard(memory, "ana", "home_city")} == {"Lisbon": "live", "Porto": "live"}
        assert [entry.value for entry, _ in memory.why("ana", "home_city").lost] == ["Porto"]


def test_two_devices_that_contradict_each_other_at_once_are_asked_about(desk: Desk, other: Desk) -> None:
    """Report 16."""
    desk.on("2025-01-01T12:00Z").remember("ana", "home_city", "Lisbon")
    other.on("2025-01-01T12:04Z").remember("ana", "home_city", "Porto")
    desk.on("2025-01-02").merge(other.memory)
    assert [(b.value, b.contested) for b in desk.memory.beliefs("ana")] == [("Porto", True)]
    assert {e.value for e in heard(desk.memory, "ana", "home_city")} == {"Lisbon", "Porto"}


# -- 17 to 19: many values --------------------------------------------------------------------------------


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "undeclared"])
def test_a_third_like_stands_beside_the_first_two(tell: Tell, declared: bool) -> None:
    """Report 17."""
    define = [said("2024-12-01", "define", "likes", cardinality="many")] if declared else []
    liked = ["sushi", "sushi rolls", "pasta", "Pasta"]
    for memory in tell(
        *define, *(said(f"2025-01-0{n}", "remember", "ana", "likes", v) for n, v in enumerate(liked, 1))
    ):
        assert values(memory, "ana", "likes") == sorted(liked)
        assert all(b.valid_to is None and not b.contested for b in memory.beliefs("ana", "likes"))


def test_two_relations_between_the_same_two_are_two_facts_and_a_repetition_is_none(tell: Tell) -> None:
    """Report 18."""
    steps = [
        said("2025-01-01", "remember", "paul", "knows", "quinn"),
        said("2025-01-02", "remember", "paul", "employs", "quinn"),
        said("2025-01-03", "remember", "paul", "knows", "quinn"),
        said("2025-01-04", "remember", "quinn", "knows", "paul"),
    ]
    for memory in tell(*steps):
        held = [(b.predicate, b.value, f"{b.valid_from:%d}") for b in memory.beliefs("paul")]
        assert sorted(held) == [("employs", "quinn", "02"), ("knows", "quinn", "01")]
        assert len(memory.beliefs("quinn")) == 1


def test_a_repetition_is_no_new_fact(desk: Desk) -> None:
    """Report 18: and yet it is kept as evidence."""
    decisions = [desk.on(f"2025-01-0{n}").remember("paul", "knows", "quinn").decision for n in (1, 2, 3)]
    assert decisions == [Decision.ADD, Decision.NOOP, Decision.NOOP]
    assert len(heard(desk.memory, "paul", "knows")) == 3


@pytest.mark.parametrize("gone", ["English", "Dutch"])
def test_of_five_languages_one_ends_and_four_stay(tell: Tell, gone: str) -> None:
    """Report 19."""
    languages = ["English", "Portuguese", "German", "French", "Dutch"]
    spoken = [said("2025-01-01", "remember", "ana", "language", language) for language in languages]
    for memory in tell(*spoken, said("2025-03-01", "end", "ana", "language", gone)):
        assert values(memory, "ana", "language") == sorted({*languages} - {gone})
        assert [b.value for b in memory.timeline("ana", "language") if b.valid_to is not None] == [gone]
        assert values(memory, "ana", "language", valid_at="2025-02-01") == sorted(languages)
