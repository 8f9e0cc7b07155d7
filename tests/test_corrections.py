"""What a correction takes over from the claim that it corrects, and what it must not change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.test_stories import Desk


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.memory.close()


@pytest.mark.parametrize("bounds", [{}, {"since": "2019"}, {"changed_on": "2019"}, {"changed_on": "2019-05~"}], ids=str)
def test_repairing_what_is_past_does_not_touch_what_followed(desk: Desk, bounds: dict[str, Any]) -> None:
    """It once spoke as of today, and the spelling of a city long left replaced the present one."""
    wrong = desk.on("2025-01-10").remember("ana", "home_city", "Berln", **bounds)
    desk.on("2025-02-01").remember("ana", "home_city", "Lisbon")
    before = desk.line()
    desk.on("2025-02-02").correct(wrong.event, "Berlin")
    assert desk.line() == [("Berlin", *before[0][1:]), *before[1:]]


@pytest.mark.parametrize("what", ["a trip over it", "a plan", "a trip that is over"])
def test_repairing_one_of_several_layers_leaves_the_others(desk: Desk, what: str) -> None:
    base = desk.on("2025-01-10").remember("ana", "home_city", "Lisbn")
    trip = desk.on("2025-01-11").remember("ana", "home_city", "Paris", until="2025-01-20")
    plan = desk.on("2025-01-12").remember("ana", "home_city", "Rome", since="2025-06")
    before = desk.line()
    chosen, day = {"a trip over it": (base, 13), "a plan": (plan, 13), "a trip that is over": (trip, 28)}[what]
    wrong = {base: "Lisbn", trip: "Paris", plan: "Rome"}[chosen]
    desk.on(f"2025-01-{day}").correct(chosen.event, "right")
    assert desk.line() == [("right" if value == wrong else value, *days) for value, *days in before]


@pytest.mark.parametrize("bounds", [{}, {"since": "2019"}, {"changed_on": "2019"}], ids=str)
def test_a_device_that_has_not_heard_what_followed_repairs_the_past_as_well(desk: Desk, bounds: dict[str, Any]) -> None:
    tablet = Desk(2)
    wrong = desk.on("2025-01-10").remember("ana", "home_city", "Berln", **bounds)
    tablet.on("2025-01-11").merge(desk.memory)
    desk.on("2025-02-01").remember("ana", "home_city", "Lisbon")
    tablet.on("2025-02-02").correct(wrong.event, "Berlin")
    desk.on("2025-02-03").merge(tablet.memory)
    assert [value for value, _, _ in desk.line()] == ["Berlin", "Lisbon"]
    tablet.memory.close()


def test_who_vouches_for_today_says_so(desk: Desk) -> None:
    wrong = desk.on("2025-01-10").remember("ana", "home_city", "Lisbn")
    desk.on("2025-02-01").remember("ana", "home_city", "Bonn")
    desk.on("2025-02-02").correct(wrong.event, "Lisbon", observed_at="2025-02-02T12:00Z")
    assert desk.line() == [("Lisbon", "2025-01-10", None)]


def test_what_was_said_on_a_trip_stays_of_the_trip(desk: Desk) -> None:
    """It once got a start of its own and became home."""
    desk.on("2025-01-10").remember("ana", "home_city", "Lisbon")
    desk.on("2025-06-09").remember("ana", "home_city", "Paris", until="2025-06-15")
    wrong = desk.on("2025-06-12").remember("ana", "home_city", "Pariss")
    desk.on("2025-06-12").correct(wrong.event, "Paris")
    assert [value for value, _, _ in desk.line()] == ["Lisbon", "Paris", "Lisbon"]


def test_a_month_stays_a_month(desk: Desk) -> None:
    """It once became its first day, and lost to what was said in the middle of it."""
    desk.on("2025-03-10").remember("ana", "home_city", "Bonn")
    wrong = desk.on("2025-04-05").remember("ana", "home_city", "Berln", changed_on="2025-03")
    desk.on("2025-04-06").correct(wrong.event, "Berlin")
    assert desk.line() == [("Berlin", "2025-03-01", None)]


def test_a_correction_lapses_and_ages_as_what_it_corrects(desk: Desk) -> None:
    """It once held for ever."""
    wrong = desk.on("2025-01-10").remember("ana", "mood", "bsy", ttl="5d")
    right = desk.on("2025-01-11").correct(wrong.event, "busy")
    assert [f"{b.valid_to:%d}" for b in desk.memory.timeline("ana", "mood")] == ["15"]
    desk.on("2025-01-12").correct(right.event, "busy", ttl="1d")
    assert [f"{b.valid_to:%d}" for b in desk.memory.timeline("ana", "mood")] == ["11"]
    desk.memory.define("weight", cardinality="single")
    old = desk.on("2025-01-13").remember("ana", "weight", 70, stale_after="10d", stale_trust="inference")
    desk.on("2025-01-14").correct(old.event, 71)
    desk.on("2025-02-10").remember("ana", "weight", 75, trust="document")
    assert [(b.value, f"{b.valid_from:%m-%d}") for b in desk.memory.timeline("ana", "weight")] == [
        (71, "01-13"),
        (75, "02-10"),
    ]


def test_what_had_lapsed_does_not_come_back_by_its_correction(desk: Desk) -> None:
    wrong = desk.on("2025-01-10").remember("ana", "mood", "bsy", ttl="5d")
    desk.on("2025-02-10").correct(wrong.event, "busy")
    assert desk.memory.beliefs("ana", "mood") == []
    assert [(b.value, f"{b.valid_to:%m-%d}") for b in desk.memory.timeline("ana", "mood")] == [("busy", "01-15")]
