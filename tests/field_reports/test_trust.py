"""Reports 54 to 59: who said it, about whom, and what else was said with it."""

from __future__ import annotations

from typing import Any

import pytest

from syncmem import Source
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import Named, current, heard, line, said, values

ALICE, BOB = Source("user", "alice", "talk-1", (0, 5)), Source("user", "bob", "talk-2", (7, 9))


@pytest.mark.parametrize("verb", ["remember", "correct"])
def test_an_update_by_somebody_else_leaves_the_first_row_to_its_author(tell: Tell, verb: str) -> None:
    """Report 54."""
    new = (
        said("2025-02-01", "remember", "ana", "home_city", "Lisbon", source=BOB)
        if verb == "remember"
        else said("2025-02-01", "correct", Named("first"), "Lisbon", source=BOB)
    )
    for memory in tell(said("2025-01-01", "remember", "ana", "home_city", "Berlin", source=ALICE, name="first"), new):
        by_value = {
            e.value: (e.source, e.observed_at and f"{e.observed_at:%m-%d}") for e in heard(memory, "ana", "home_city")
        }
        assert by_value == {"Berlin": (ALICE, "01-01"), "Lisbon": (BOB, "01-01" if verb == "correct" else "02-01")}
        belief = memory.believe("ana", "home_city")
        assert belief is not None and belief.source.id == "bob"


WORDS: dict[str, Any] = {
    "since": "2024-03",
    "source": ALICE,
    "batch": "import-1",
    "reason": "a letter",
    "trust": "integration",
    "mentions": ["rui"],
}


def test_what_was_said_with_a_claim_is_kept_with_it_and_never_changed(tell: Tell) -> None:
    """Report 55: an update is a new row, and the old one keeps all that came with it."""
    steps = [
        said("2025-01-01", "remember", "ana", "home_city", "Berlin", name="old", **WORDS),
        said("2025-02-01", "remember", "ana", "home_city", "Lisbon"),
    ]
    for memory in tell(*steps):
        old, new = sorted(heard(memory, "ana", "home_city"), key=lambda entry: entry.value)
        kept = (f"{old.valid_from:%Y-%m}", old.source, old.batch, old.reason, old.trust)
        assert kept == ("2024-03", ALICE, "import-1", "a letter", 70)
        assert (new.source, new.batch, new.reason, new.trust) == (Source(), None, None, 90)


KEPT_BY_A_CORRECTION: dict[str, tuple[dict[str, Any], str]] = {
    "its start": ({"since": "2024-03-01"}, "2024-03-01 open"),
    "its change": ({"changed_on": "2024-03"}, "2024-03-01 open"),
    "its end": ({"since": "2024-03-01", "until": "2024-06"}, "2024-03-01 2024-07-01"),
    "its plan": ({"until": "2025-06-30"}, "2025-01-01 2025-07-01"),
    "its expiry": ({"expires_at": "2025-06-30"}, "2025-01-01 2025-06-30"),
    "its lifetime": ({"ttl": "30d", "since": "2025-01-01"}, "2025-01-01 2025-01-31"),
}


@pytest.mark.parametrize("what", KEPT_BY_A_CORRECTION)
def test_a_correction_carries_what_it_does_not_replace(tell: Tell, what: str) -> None:
    """Report 55."""
    words, expected = KEPT_BY_A_CORRECTION[what]
    steps = [
        said("2025-01-01", "remember", "ana", "home_city", "Lisbn", name="wrong", **words),
        said("2025-01-05", "correct", Named("wrong"), "Lisbon"),
    ]
    for memory in tell(*steps):
        ((value, start, end),) = line(memory, "ana", "home_city")
        assert (value, f"{start} {end or 'open'}") == ("Lisbon", expected)


def test_a_correction_replaces_what_is_said_again(tell: Tell) -> None:
    """Report 55."""
    steps = [
        said(
            "2025-01-01",
            "remember",
            "ana",
            "home_city",
            "Lisbn",
            name="wrong",
            since="2024-03",
            until="2024-06",
            source=ALICE,
        ),
        said("2025-01-05", "correct", Named("wrong"), "Lisbon", since="2023", valid_to="2024-01-01", source=BOB),
    ]
    for memory in tell(*steps):
        assert line(memory, "ana", "home_city") == [("Lisbon", "2023-01-01", "2024-01-01")]


def test_who_is_mentioned_is_still_mentioned_after_a_correction(desk: Desk) -> None:
    """Report 55: or an erasure of them would pass it by."""
    wrong = desk.on("2025-01-01").remember("ana", "note", "lunch with ruy", mentions=["rui"])
    desk.on("2025-01-02").correct(wrong.event, "lunch with Rui")
    desk.memory.erase("rui")
    assert desk.memory.beliefs("ana") == []


@pytest.mark.parametrize("friend", ["rui", "Ana", "ana's friend", "friend:ana"])
def test_what_a_friend_likes_is_not_what_the_user_likes(tell: Tell, friend: str) -> None:
    """Report 56."""
    steps = [
        said("2025-01-01", "remember", "ana", "favourite", "tea"),
        said("2025-01-02", "remember", friend, "favourite", "coffee", source=ALICE),
        said("2025-01-03", "end", friend, "favourite", "coffee"),
        said("2025-01-04", "remember", friend, "favourite", "milk"),
        said("2025-01-05", "deny", friend, "favourite", "tea"),
    ]
    for memory in tell(*steps):
        assert line(memory, "ana", "favourite") == [("tea", "2025-01-01", None)]
        assert current(memory, friend, "favourite") == "milk"
        assert memory.contested() == []


@pytest.mark.parametrize("mentions", [1, 4, 16])
def test_many_old_mentions_do_not_outweigh_a_later_statement(tell: Tell, mentions: int) -> None:
    """Report 59: how often something was said counts for nothing."""
    old = [
        said(f"2025-01-{1 + n // 2:02}T{12 + n % 2}:00Z", "remember", "ana", "home_city", "A") for n in range(mentions)
    ]
    for memory in tell(*old, said("2025-02-01", "remember", "ana", "home_city", "B")):
        assert line(memory, "ana", "home_city") == [("A", "2025-01-01", "2025-02-01"), ("B", "2025-02-01", None)]


def test_old_mentions_that_are_read_later_do_not_pull_the_present_back(tell: Tell) -> None:
    """Report 59: a whole archive of them."""
    new = said("2025-02-01", "remember", "ana", "home_city", "B")
    archive = [
        said(f"2025-03-{n:02}", "remember", "ana", "home_city", "A", source="document", observed_at=f"2024-01-{n:02}")
        for n in range(1, 11)
    ]
    for memory in tell(new, *archive):
        assert line(memory, "ana", "home_city") == [("A", "2024-01-01", "2025-02-01"), ("B", "2025-02-01", None)]
        assert values(memory, "ana", "home_city") == ["B"]
