"""The catalogue of faults: each has tests that are there, or a reason."""

from __future__ import annotations

import re

from tests.test_mutations import ROOT

NUMBERS = {"L": 18, "C": 6, "R": 15, "P": 18}


def rows() -> dict[str, str]:
    text = (ROOT / "protocol" / "faults.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| ([LCRP]\d+) \|.*\|(.*)\|$", text, re.MULTILINE))


def test_every_fault_of_the_catalogue_has_its_row() -> None:
    assert set(rows()) == {f"{letter}{n + 1}" for letter, count in NUMBERS.items() for n in range(count)}


def test_every_row_names_tests_or_says_why_there_are_none() -> None:
    for number, cell in rows().items():
        assert "::test_" in cell, number
        assert cell.strip().startswith("`") or re.match(r" none: \S.{60}", cell), number


def test_every_test_that_is_named_is_there() -> None:
    text = (ROOT / "protocol" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"`(?:tests/)?([\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > 100
    for file, name in named:
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), f"{file}::{name}"
