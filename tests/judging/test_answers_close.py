"""Whatever was said, every question can be answered, and is then closed on every device."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem import Answer
from tests.judging.desk import SECOND, Desk, meet
from tests.judging.test_consolidating import sayings

PREDICATES = ("home_city", "language", "email")


def believed_now(desk: Desk) -> list[list[str]]:
    return [sorted(map(str, desk.values(predicate))) for predicate in PREDICATES]


def asked_on(seed: int) -> tuple[Desk, Desk]:
    """Two devices that heard a part each, and met, on a day on which some of what was said still holds."""
    chance = Random(seed)
    laptop, phone = Desk(1).on("2025-01-05"), Desk(2).on("2025-01-05")
    for each in sayings(chance):
        chance.choice((laptop, phone)).hears(each)
    meet(laptop.on("2025-01-06"), phone.on("2025-01-06"))
    return laptop, phone


def later_that_day(*desks: Desk) -> None:
    """They meet; on another day something else that was said may begin or end, and be asked about."""
    for desk in desks:
        desk.clock.time = max(each.clock.time for each in desks) + SECOND
    meet(*desks)


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_that_what_is_believed_is_right_changes_nothing_and_closes_the_question_everywhere(seed: int) -> None:
    laptop, phone = asked_on(seed)
    before = believed_now(laptop)
    for asked in laptop.memory.questions():
        laptop.memory.answer(asked, Answer.KEEP)
    assert laptop.memory.questions() == ()
    assert believed_now(laptop) == before
    later_that_day(laptop, phone)
    assert phone.memory.questions() == ()


@pytest.mark.parametrize("neither", [True, False])
@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_any_answer_closes_its_question_everywhere(neither: bool, seed: int) -> None:
    laptop, phone = asked_on(seed)
    for asked in laptop.memory.questions():
        last = [option.value for option in asked.options if not option.over][-1]
        phone.memory.answer(asked.id, Answer.NEITHER if neither else last)
        assert asked.id not in {each.id for each in phone.memory.questions()}
    assert phone.memory.questions() == ()
    later_that_day(laptop, phone)
    assert laptop.memory.questions() == ()
