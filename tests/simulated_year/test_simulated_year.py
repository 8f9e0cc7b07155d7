"""Some weeks of the simulated year (the whole of it: ``python -m tests.simulated_year``)."""

from __future__ import annotations

import pytest

from tests.simulated_year.life import ASKED_A_WEEK, Figures, Life

WEEKS = 10
DAYS_WRONG_MAX = 14


def lived(seed: int, days: int, noise: float = 1.0) -> Figures:
    life = Life(seed, noise)
    try:
        return life.live(days)
    finally:
        life.close()


@pytest.mark.parametrize("seed", [7, 8])
def test_two_questions_a_week_keep_changes_from_being_wrong_in_silence(seed: int) -> None:
    figures = lived(seed, WEEKS * 7)
    assert max(figures.asked) <= ASKED_A_WEEK
    assert figures.longest <= DAYS_WRONG_MAX, figures.silently_wrong.most_common(3)
    assert figures.contested < 0.01
    assert figures.wrong < 0.01


def test_a_year_comes_out_the_same_from_the_same_seed() -> None:
    assert lived(3, 15) == lived(3, 15)


def test_the_figures_can_be_bad() -> None:
    """Where thirty times as much is guessed wrongly, more is contested than two questions a week can settle."""
    assert lived(7, 35, noise=30.0).contested > 0.05
