"""All worked cases of the belief rule, through the public API, in several orders and over several replicas."""

from __future__ import annotations

import json

import pytest

from tests.scenarios import first_wrong, main
from tests.shared import ROOT, needs

WORKED, RANDOM = ROOT / "design" / "scenarios.json", ROOT / "design" / "random-cases.json"
PARTS = 12  # spread over the test processes


@needs(WORKED)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_worked_case_comes_out_as_written(part: int) -> None:
    wrong = [f"{c['n']}: {why}" for c in json.loads(WORKED.read_text())[part::PARTS] if (why := first_wrong(c))]
    assert not wrong


@needs(RANDOM)
@pytest.mark.parametrize("part", range(PARTS))
def test_every_random_case_comes_out_as_written(part: int) -> None:
    wrong = [f"{c['n']}: {why}" for c in json.loads(RANDOM.read_text())[part::PARTS] if (why := first_wrong(c))]
    assert not wrong


@needs(WORKED)
def test_the_command_names_a_wrong_case_and_fails(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    case = json.loads(WORKED.read_text())[0]
    wrong = {**case, "n": 2, "expect": [[0, None, "Atlantis"]]}
    (tmp_path / "cases.json").write_text(json.dumps([case, wrong]))
    assert main([str(tmp_path / "cases.json")]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert "case 2" in printed[0]
    assert printed[-1] == "1 of 2 right"
