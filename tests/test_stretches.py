"""Looking at a stretch of a slot: the same beliefs, statements and reasons as in all of it, however long that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import Environment, ManualClock, Memory
from syncmem.model.instant import from_datetime
from syncmem.reasons import REPLACED
from syncmem.replica import stretch

BEGUN = datetime(2020, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ABOUT = ("ana", "home_city")

days = st.integers(0, 9).map(lambda number: BEGUN + number * DAY)


@st.composite
def statements(draw: st.DrawFn) -> dict[str, Any]:
    said: dict[str, Any] = {
        "value": draw(st.sampled_from("ABC")),
        "trust": draw(st.sampled_from(["user", "inference"])),
        "observed_at": draw(days),
    }
    form = draw(st.sampled_from(["state", "since", "change", "period", "trip", "retract"]))
    if form == "retract":
        return {"retract": draw(st.integers(0, 20))}
    if form in ("since", "period", "trip"):
        said["since"] = draw(days)
    if form == "change":
        said["changed_on"] = draw(days)
    if form in ("period", "trip"):
        said |= {
            "valid_to": said["since"] + draw(st.integers(1, 9)) * DAY,
            "then": "vacate" if form == "period" else "resume",
        }
    return said


@contextmanager
def told(history: list[dict[str, Any]], cardinality: str) -> Iterator[Memory]:
    clock = ManualClock(from_datetime(BEGUN + 40 * DAY))
    with Memory(":memory:", zone="UTC", embedder=None, environment=Environment(clock=clock)) as memory:
        memory.define("home_city", cardinality=cardinality)
        written: list[str] = []
        for each in history:
            clock.time += 60_000_000
            if "retract" not in each:
                said = {name: value for name, value in each.items() if value is not None}
                written.append(memory.remember(*ABOUT, said.pop("value"), affirm=False, source="a", **said).event)
            elif written:
                memory.retract(written[each["retract"] % len(written)], trust="user")
        yield memory


histories = st.lists(statements(), min_size=3, max_size=14)
ends = st.tuples(days, days).filter(lambda pair: pair[0] < pair[1])


@given(histories, st.sampled_from(["single", "many"]), ends)
def test_a_stretch_of_a_timeline_is_the_part_of_it_that_holds_there(
    history: list[dict[str, Any]], cardinality: str, within: tuple[datetime, datetime]
) -> None:
    start, end = within
    asked = {"valid_from": start, "valid_to": end}
    with told(history, cardinality) as memory:
        for known in (None, memory.last_known() // 2 + 1):
            all_of_it = memory.timeline(*ABOUT, presumed=True, known_at=known)
            expected = [
                (belief, since)
                for belief, since in zip(all_of_it, all_of_it.presumed, strict=True)
                if (belief.valid_from or start) < end and (belief.valid_to or end) > start
            ]
            part = memory.timeline(*ABOUT, presumed=True, known_at=known, **asked)
            assert list(zip(part, part.presumed, strict=True)) == expected
            counted = memory.outline(*ABOUT, known_at=known, **asked)
            assert counted.beliefs == sum(group.beliefs for group in counted.groups) == len(expected)
            assert sum(group.contested for group in counted.groups) == sum(belief.contested for belief, _ in expected)
        held = memory.belief_map(*ABOUT, **asked).held
        assert counted.rectangles == sum(cell.begun for cell in counted.cells) == len(held)
        assert set(held) <= set(memory.belief_map(*ABOUT).held)
        events = {entry.event for entry in memory.history_page(*ABOUT, **asked).entries}
        assert events <= {entry.event for entry in memory.history_page(*ABOUT).entries}
        assert {belief.event for belief in memory.timeline(*ABOUT, **asked)} <= events


@given(histories, days)
def test_of_very_many_statements_the_near_ones_give_the_same_reason(
    history: list[dict[str, Any]], moment: datetime
) -> None:
    with told(history, "single") as memory, pytest.MonkeyPatch.context() as patched:
        whole = memory.why(*ABOUT, valid_at=moment)
        patched.setattr(stretch, "WEIGHED_MAX", 2)
        patched.setattr(stretch, "NEAR", 4)
        near = memory.why(*ABOUT, valid_at=moment)
    assert near.belief == whole.belief and (near.winner is None) == (whole.winner is None)
    if whole.winner is not None and near.winner is not None:
        assert near.winner.value == whole.winner.value and near.winner.status == "live"
    against = [[why for _, why in each.lost if why != REPLACED] for each in (whole, near)]
    if whole.belief is not None and whole.belief.contested and against[0]:
        assert against[1], "what contests it is told"


def test_a_slot_of_thousands_of_claims_is_outlined_and_its_reasons_are_few() -> None:
    with Memory(":memory:", zone="UTC", embedder=None) as memory:
        memory.define("home_city", cardinality="single")
        with memory.transaction():
            for number in range(2_000):
                memory.remember(*ABOUT, f"city {number}", changed_on=BEGUN + number * DAY, source="user")
        memory.remember(*ABOUT, "Porto", since=BEGUN, observed_at=BEGUN + 999 * DAY, trust="inference", source="model")
        outline = memory.outline(*ABOUT)
        assert [group.beliefs for group in outline.groups] == [50] * 40 and outline.beliefs == 2_000
        group = outline.groups[19]
        part = memory.timeline(*ABOUT, presumed=True, valid_from=group.valid_from, valid_to=group.valid_to)
        assert [belief.value for belief in part] == [f"city {number}" for number in range(950, 1_000)]
        assert part.presumed[0] == group.valid_from, "a change vouches for its own start"
        why = memory.why(*ABOUT, valid_at=BEGUN + 990 * DAY)
        assert why.winner is not None and why.winner.value == "city 990" and len(why.lost) < 50
        assert "about other times are not weighed here" in why.text
        assert ("Porto", "its trust 30 is less than 90") in [(entry.value, reason) for entry, reason in why.lost]
