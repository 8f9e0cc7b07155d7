"""Faults that users of memory systems reported, as candidates that arrive in more than one order and place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from syncmem import Candidate, Source
from syncmem.judging.packs import load
from tests.judging.desk import USER, Desk, meet

SINGLE = sorted(
    name
    for name, each in load("personal", Desk(pack=False).memory._environment.disk).predicates.items()
    if each.cardinality == "single" and not each.sensitive
)


def said(predicate: str, value: Any, day: str, **more: Any) -> Candidate:
    return Candidate(**{"entity": "ana", "source": USER, "observed_at": day, **more}, predicate=predicate, value=value)


def in_every_way(candidates: list[Candidate], look: Callable[[Desk], Any]) -> Any:
    """What is seen after the candidates came in any order, to one device or to three that meet; the same each time."""
    seen = []
    for order in permutations(candidates):
        desk = Desk().on("2025-06-01")
        for each in order:
            desk.hears(each)
        seen.append(look(desk))
        parts = [Desk(n).on("2025-06-01") for n in (1, 2, 3)]
        for number, each in enumerate(order):
            parts[number % 3].hears(each)
        meet(*parts)
        seen += [look(part) for part in parts]
    assert all(each == seen[0] for each in seen), seen
    return seen[0]


def line(predicate: str) -> Callable[[Desk], Any]:
    return lambda desk: desk.line(predicate)


def test_an_opposite_preference_closes_the_old_one_and_is_stored() -> None:
    history = [said("diet", "vegan", "2025-01-02"), said("diet", "eats everything", "2025-02-02")]
    assert in_every_way(history, line("diet")) == [
        ("vegan", "2025-01-02", "2025-02-02"),
        ("eats everything", "2025-02-02", None),
    ]


@pytest.mark.parametrize("predicate", SINGLE)
def test_every_single_valued_predicate_is_replaced_and_not_only_the_home(predicate: str) -> None:
    desk = Desk().on("2025-06-01")
    desk.hears(said(predicate, "1 one", "2025-05-20"), said(predicate, "2 two", "2025-05-25"))
    assert desk.values(predicate) == ["2 two"]


def test_there_and_back_again_is_three_intervals() -> None:
    towns = [said("home_city", town, f"2025-0{month}-01") for month, town in enumerate(("Bonn", "Rome", "Bonn"), 1)]
    assert in_every_way(towns, line("home_city")) == [
        ("Bonn", "2025-01-01", "2025-02-01"),
        ("Rome", "2025-02-01", "2025-03-01"),
        ("Bonn", "2025-03-01", None),
    ]


def test_an_older_document_that_is_read_later_lies_before_what_is_newer() -> None:
    papers = [
        said("employer", name, day, source=Source("document", name))
        for name, day in (("Acme", "2023"), ("Bolt", "2024"))
    ]
    assert in_every_way(papers, line("employer")) == [
        ("Acme", "2023-01-01", "2024-01-01"),
        ("Bolt", "2024-01-01", None),
    ]


def test_ten_old_mentions_do_not_outweigh_the_last_word() -> None:
    desk = Desk().on("2025-06-01")
    desk.hears(said("home_city", "Rome", "2025-05-01"))
    desk.hears(*(said("home_city", "Bonn", f"2025-04-{day}") for day in range(10, 20)))
    assert desk.values("home_city") == ["Rome"]


def test_likes_under_one_topic_are_all_kept() -> None:
    likes = [said("likes", drink, "2025-01-02") for drink in ("tea", "coffee", "mate")]
    assert sorted(in_every_way(likes, lambda desk: sorted(desk.values("likes")))) == ["coffee", "mate", "tea"]


def test_words_of_negation_about_one_predicate_touch_no_other() -> None:
    desk = Desk().on("2025-05-01")
    desk.says("I work at Acme. I speak Greek. I live in Bonn.")
    desk.on("2025-06-01").says("I no longer work at Acme.")
    assert (desk.values("employer"), desk.values("language"), desk.values("home_city")) == ([], ["Greek"], ["Bonn"])


def test_nearly_the_same_text_about_somebody_else_is_another_fact() -> None:
    both = [said("home_city", "Bonn", "2025-01-02"), said("home_city", "Rome", "2025-02-02", entity="anna")]
    assert in_every_way(both, line("home_city")) == [("Bonn", "2025-01-02", None)]


def test_a_false_claim_that_the_assistant_repeats_gains_nothing() -> None:
    desk = Desk().on("2025-05-01")
    desk.hears(said("employer", "Acme", "2025-05-01", kind="inferred"))
    desk.hears(
        *(said("employer", "Acme", "2025-05-02", source=Source("assistant", episode=f"e{n}")) for n in range(31))
    )
    assert len([entry for entry in desk.memory.history("ana", "employer") if entry.value == "Acme"]) == 1
    desk.says("I work at Bolt.")
    assert desk.values("employer") == ["Bolt"]


def test_a_low_source_does_not_become_a_high_one_on_its_way_through_the_queue() -> None:
    claims = [said("home_city", "Bonn", "2025-01-02"), said("home_city", "Rome", "2025-02-02", source=Source("web"))]
    assert in_every_way(claims, lambda desk: (desk.values("home_city"), len(desk.memory.questions()))) == (["Bonn"], 1)


def test_rapid_corrections_leave_the_last() -> None:
    desk = Desk().on("2025-05-01")
    for text in ("I live in Bonn.", "No, I live in Rome, not Bonn.", "Sorry, I live in Porto, not Rome."):
        desk.says(text.replace("Sorry, ", "No, "))
    assert [value for value, _, _ in desk.line("home_city")] == ["Porto"]
