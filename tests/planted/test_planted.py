"""Each planted bug fits the code as it is, and names a test that is there; a few are planted and must be caught."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.planted.bugs import PLANTED, POWER, Planted
from tests.planted.planting import caught
from tests.planting import ROOT, fits

TRIED = PLANTED[4::14]  # each takes seconds; ``python -m tests.planted`` tries them all


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.bug.name)
def test_a_bug_can_be_planted_and_the_test_that_catches_it_is_there(planted: Planted) -> None:
    assert fits(planted.bug) == 1, f"plant the bug {planted.bug.name!r} anew"
    if not planted.caught_by.startswith(POWER):
        file, name = planted.caught_by.split("::")
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("planted", TRIED, ids=lambda planted: planted.bug.name)
def test_a_planted_bug_is_caught_by_the_test_that_is_named(planted: Planted, tmp_path: Path) -> None:
    assert caught(planted, tmp_path)[0], f"{planted.caught_by} does not catch that {planted.bug.name}"
