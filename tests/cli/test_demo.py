"""The demo: three devices, three answers, one answer."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell

DEVICES = ("phone", "laptop", "tablet")
SLOT = ("customer:17", "home_city")


def drawn(page: str, title: str) -> dict[str, str]:
    """Device -> its bars, in the section that begins with a title."""
    section = page[page.index(title) :].split("\n\n")[0]
    return {name: line for line in section.splitlines() for name in DEVICES if line.startswith(f"  {name} ")}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return Shell(tmp_path_factory.mktemp("demo")).text("demo")


def test_three_timelines_become_one(page: str) -> None:
    before, after = drawn(page, "Before they meet"), drawn(page, "After: one answer")
    assert len({bars.split("▌", 1)[1] for bars in before.values()}) == 3
    assert len({bars.split("▌", 1)[1] for bars in after.values()}) == 1
    held = [part.split()[0] for part in after["tablet"].split("▌")[1:]]
    assert held == ["Berlin", "Lisbon", "Paris", "Lisbon"]


def test_the_digests_are_different_and_then_equal(page: str) -> None:
    first, second = (line.split() for line in page.splitlines() if line.startswith("  digests"))
    assert len({first[2], first[4], first[6]}) == 3 and first[-1] == "different"
    assert len({second[2], second[4], second[6]}) == 1 and second[-1] == "equal"


def test_the_questions_are_answered(page: str) -> None:
    answers = page[page.index("Asked on the tablet") :]
    assert "Lisbon, since 1 Apr" in answers
    assert '"I moved to Lisbon in April."' in answers
    assert "not Madrid, said 17 Jun: its trust 30 is less than 90" in answers
    assert "Berlin: what was believed is never rewritten" in answers
    assert "whether it is still Lisbon: Madrid is a later guess (trust 30)" in answers
    assert "retracted on the laptop, 18 Jun" in answers


def test_the_page_fits_a_terminal(page: str) -> None:
    assert max(map(len, page.splitlines())) <= 80
    assert len(page.splitlines()) <= 60


def test_the_story_is_the_same_each_time_and_leaves_nothing(empty: Shell, page: str) -> None:
    assert empty.text("demo") == page
    assert list(empty.folder.iterdir()) == []


def test_the_story_as_json(empty: Shell) -> None:
    told = empty.json("demo")
    assert len(set(told["digests_before"].values())) == 3
    assert len(set(told["digests_after"].values())) == 1
    assert [held["value"] for held in told["after"]["phone"]] == ["Berlin", "Lisbon", "Paris", "Lisbon"]
    assert (told["tablet_on_tuesday"]["value"], told["tablet_about_tuesday"]["value"]) == ("Berlin", "Lisbon")
    assert told["contested"][0]["value"] == "Lisbon"


def test_kept_files_answer_as_the_page_says(empty: Shell) -> None:
    assert "syncmem --db kept/tablet.db timeline customer:17 home_city" in empty.text("demo", "--keep", "kept")
    tablet = ("--db", "kept/tablet.db")
    assert empty.json(*tablet, "believe", *SLOT)[0]["value"] == "Lisbon"
    assert empty.json(*tablet, "believe", *SLOT, "--known-at", "2025-06-17")[0]["value"] == "Berlin"
    assert empty.json(*tablet, "doctor", "--full")["problems"] == []
    again = empty.run("demo", "--keep", "kept")
    assert again.code == 1 and "exists already" in again.err
