"""Every case of the corpus, told in every way; and the corpus itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.contradictions.careless import SAID, TIERS, careless, told
from tests.contradictions.cases import CASE_WAYS, HELD_OUT, Case, cases, faults
from tests.field_reports.orders import Way

KINDS = {
    *("corrections", "dates", "hypotheticals", "imports", "inferences", "many_valued", "negations", "part_time"),
    *("quotes", "revisions", "temporary", "third_persons"),
}


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


@pytest.mark.parametrize(("tier", "share"), list(zip(TIERS, (0.02, 0.02, 0.043), strict=True)))
def test_what_a_careless_model_sends_is_seldom_wrong_in_silence(tier: str, share: float) -> None:
    """Where the host says who spoke, or nobody does.  A model that passes all off as the user's word is believed."""
    answers = [answer for case in cases() for answer in careless(case, tier) if answer.carried]
    wrong = [answer for answer in answers if answer.counts == "wrong"]
    assert len(answers) > 350 and len(wrong) <= share * len(answers), wrong


@pytest.mark.parametrize("case", cases(HELD_OUT)[::8], ids=str)
def test_what_was_said_as_people_say_it_is_believed(case: Case, tmp_path: Path) -> None:
    """A sample; ``python -m tests.contradictions --held-out`` tells all."""
    assert list(faults(case, CASE_WAYS[0], tmp_path)) == []


def test_the_held_out_corpus_is_whole_and_its_steps_have_words() -> None:
    found = cases(HELD_OUT)
    assert {case.kind for case in found} == KINDS and len({case.said for case in found}) == len(found) >= 80
    spoken = [words for case in found for step, words in zip(case.steps, case.words, strict=True) if step.verb in SAID]
    assert spoken and all(spoken)


@pytest.mark.parametrize("tier", TIERS)
def test_what_people_really_say_is_seldom_wrong_in_silence(tier: str) -> None:
    """A sample, and not the first figures, which the README of the corpus holds: the rules have seen these since."""
    answers = [answer for case in cases(HELD_OUT)[::3] for answer in careless(case, tier) if answer.carried]
    wrong = [answer for answer in answers if answer.counts == "wrong"]
    assert len(answers) > 40 and len(wrong) <= 0.02 * len(answers), wrong


def test_a_careful_telling_is_asked_about_seldom() -> None:
    asked = [case for case in cases() for _ in told(case.steps).questions()]
    assert len(asked) <= 0.1 * len(cases()), list(map(str, asked))
