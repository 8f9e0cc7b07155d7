"""All worked cases of the belief rule, through the public API, in several orders and over several replicas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from protocol.vectors.generate.fold import CASES
from tests.scenarios import first_wrong, main

PARTS = 12  # spread over the test processes


def cases(batch: str) -> list[dict[str, Any]]:
    """The cases from which vectors are made (see :mod:`protocol.vectors.generate.fold`)."""
    return [json.loads(line) for line in (CASES / f"{batch}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("part", range(PARTS))
def test_every_worked_case_comes_out_as_written(part: int) -> None:
    wrong = [f"{c['n']}: {why}" for c in cases("worked")[part::PARTS] if (why := first_wrong(c))]
    assert not wrong


@pytest.mark.parametrize("part", range(PARTS))
def test_every_random_case_comes_out_as_written(part: int) -> None:
    wrong = [f"{c['n']}: {why}" for c in cases("random")[part::PARTS] if (why := first_wrong(c))]
    assert not wrong


def test_the_command_names_a_wrong_case_and_fails(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    case = cases("worked")[0]
    wrong = {**case, "n": 2, "expect": [[0, None, "Atlantis"]]}
    (tmp_path / "cases.json").write_text(json.dumps([case, wrong]))
    assert main([str(tmp_path / "cases.json")]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert "case 2" in printed[0]
    assert printed[-1] == "1 of 2 right"
