"""Every case of the corpus, told in every way; and the corpus itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.contradictions.careless import SAID, TIERS, careless, told
from tests.contradictions.cases import CASE_WAYS, FOLDER, HELD_OUT, Case, cases, faults
from tests.field_reports.orders import Way

KINDS = {
    *("corrections", "dates", "hypotheticals", "imports", "inferences", "many_valued", "negations", "part_time"),
    *("quotes", "revisions", "temporary", "third_persons"),
}
WRONG_SHARE_MAX = 0.02  # of the answers that can be known without dates, in each tier, of each corpus


@pytest.mark.parametrize("way", CASE_WAYS, ids=str)
@pytest.mark.parametrize("case", cases(), ids=str)
def test_what_was_said_is_believed(case: Case, way: Way, tmp_path: Path) -> None:
    assert list(faults(case, way, tmp_path)) == []


def test_the_corpus_is_whole() -> None:
    """No kind is empty, no sentence is there twice, and a case that says nothing cannot be right."""
    found = cases()
    assert Counter(case.kind for case in found).keys() == KINDS
    assert len({case.said for case in found}) == len(found) >= 160
    assert all(case.steps and case.expect for case in found)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize(("corpus", "answers_min"), [(FOLDER, 350), (HELD_OUT, 150)], ids=["seen", "held out"])
def test_what_a_careless_model_sends_is_seldom_wrong_in_silence(corpus: Path, answers_min: int, tier: str) -> None:
    """Whoever is said to have said it.  Of the cases held out the README of the corpus has the first figures."""
    answers = [answer for case in cases(corpus) for answer in careless(case, tier) if answer.carried]
    wrong = [answer for answer in answers if answer.counts == "wrong"]
    assert len(answers) >= answers_min and len(wrong) <= WRONG_SHARE_MAX * len(answers), wrong


@pytest.mark.parametrize("case", cases(HELD_OUT)[::8], ids=str)
def test_what_was_said_as_people_say_it_is_believed(case: Case, tmp_path: Path) -> None:
    """A sample; ``python -m tests.contradictions --held-out`` tells all."""
    assert list(faults(case, CASE_WAYS[0], tmp_path)) == []


def test_the_held_out_corpus_is_whole_and_its_steps_have_words() -> None:
    found = cases(HELD_OUT)
    assert {case.kind for case in found} == KINDS and len({case.said for case in found}) == len(found) >= 80
    spoken = [words for case in found for step, words in zip(case.steps, case.words, strict=True) if step.verb in SAID]
    assert spoken and all(spoken)


def test_a_careful_telling_is_asked_about_seldom() -> None:
    asked = [case for case in cases() for _ in told(case.steps).questions()]
    assert len(asked) <= 0.1 * len(cases()), list(map(str, asked))
