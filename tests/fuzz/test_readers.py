"""Whatever bytes a reader of foreign bytes is given, it takes them or refuses them as it says."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutating import mutated
from tests.fuzz.targets import TARGETS, taken_in
from tests.strategies import randoms

CHANGED = settings(max_examples=settings().max_examples * 5)
QUICK = [name for name in TARGETS if name != "event"]  # which opens a memory for each example


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_valid_is_taken(name: str) -> None:
    target = TARGETS[name]
    assert all(target.accepts(sample) for sample in target.samples)
    assert all(target.accepts(wrap(body)) for body, wrap in target.inside)


@pytest.mark.parametrize("name", QUICK)
def test_random_bytes_are_taken_or_refused(name: str) -> None:
    target = TARGETS[name]

    @given(st.binary(max_size=300))
    def holds(data: bytes) -> None:
        target.accepts(data)

    holds()


@pytest.mark.parametrize("name", QUICK)
def test_what_was_changed_is_taken_or_refused(name: str) -> None:
    target = TARGETS[name]

    @CHANGED
    @given(randoms())
    def holds(random: Random) -> None:
        target.accepts(mutated(target, random))

    holds()


@given(randoms())
def test_no_event_that_a_member_can_write_stops_a_memory(random: Random) -> None:
    taken_in(*(mutated(TARGETS["event"], random) for _ in range(12)))
