"""Every case of the corpus, told in every way; and the corpus itself."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.contradictions.cases import CASE_WAYS, Case, cases, faults
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
