"""The verbs that read, run as commands on a real file."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from syncmem.cli.app import cli
from tests.cli.running import Shell

LIVES = ("ana", "home_city")


@pytest.fixture
def moved(shell: Shell) -> Shell:
    """Berlin, then Lisbon, and a guess that lost."""
    with shell.memory() as memory:
        memory.remember(*LIVES, "Berlin", since="2015", source="user")
        memory.remember(*LIVES, "Lisbon", since="2025-04", source="user")
        memory.remember(*LIVES, "Madrid", trust="inference", source="model")
    return shell


def test_believe_answers_on_one_line(moved: Shell) -> None:
    answer = moved.text("believe", *LIVES)
    assert answer.startswith("Lisbon  from 2025-04-01  trust 90  user  contested  ")
    assert answer.count("\n") == 1


def test_believe_asks_about_another_time_in_the_world(moved: Shell) -> None:
    assert [held["value"] for held in moved.json("believe", *LIVES, "--valid-at", "2016")] == ["Berlin"]


def test_believe_asks_what_was_known_then(moved: Shell) -> None:
    with moved.memory() as memory:
        first = next(entry.known for entry in memory.history(*LIVES) if entry.value == "Berlin")
    assert [held["value"] for held in moved.json("believe", *LIVES, "--known-at", f"tx{first}")] == ["Berlin"]
    assert moved.json("believe", *LIVES, "--known-at", "2001-01-01") == []


def test_believe_asks_as_another_device(moved: Shell) -> None:
    with moved.memory() as memory, moved.memory("other.db") as other:
        other.merge(memory)
        device = memory.device
    as_it = ("--db", "other.db", "believe", *LIVES, "--device", device)
    (held,) = moved.json(*as_it)
    assert (held["value"], held["grade"]) == ("Lisbon", "provisional")
    assert "  provisional  " in moved.text(*as_it)


def test_believe_without_a_predicate_tells_all_of_an_entity(moved: Shell) -> None:
    with moved.memory() as memory:
        memory.remember("ana", "speaks", "Greek", since="2001")
        memory.remember("ana", "speaks", "German", since="2002")
    lines = moved.text("believe", "ana").splitlines()
    assert sorted(line.split("  ")[0] for line in lines) == [
        "ana home_city = Lisbon",
        "ana speaks = German",
        "ana speaks = Greek",
    ]


def test_timeline_draws_and_lists(moved: Shell) -> None:
    title, axis, bars, _, *table = moved.text("timeline", *LIVES, "--width", "60").splitlines()
    assert title == "ana home_city"
    assert axis.split() == ["2015", "Apr", "2025", "now"]
    assert bars.startswith("▌Berlin ━") and "▌Lisbon ╍" in bars and len(bars) <= 60
    assert table[0].split() == ["value", "from", "to", "trust", "event"]
    assert table[2].split()[:4] == ["Berlin", "2015-01-01", "2025-04-01", "90"]


def test_a_timeline_is_as_wide_as_it_may_be(moved: Shell) -> None:
    drawn = moved.run("timeline", *LIVES, env={"COLUMNS": "50"}).out.splitlines()
    assert max(map(len, drawn[:3])) == 50


def test_history_tells_each_event_and_what_it_did(moved: Shell) -> None:
    lines = moved.text("history", *LIVES).splitlines()
    assert any("remember  Lisbon  from 2025-04-01" in line for line in lines)
    assert any(line.strip().startswith("=> ") and "Lisbon holds from 2025-04-01" in line for line in lines)
    entries = moved.json("history", *LIVES)
    assert [entry["verb"] for entry in entries] == ["define", "remember", "remember", "remember"]


def test_why_names_the_winner_and_what_lost(moved: Shell) -> None:
    found = moved.json("why", *LIVES)
    assert found["winner"]["value"] == "Lisbon"
    assert {entry["value"] for entry, _ in found["lost"]} == {"Berlin", "Madrid"}
    printed = moved.text("why", *LIVES)
    assert "wins:" in printed and "does not hold:" in printed and "its trust 30 is less than 90" in printed


def test_why_of_what_was_taken_back(moved: Shell) -> None:
    with moved.memory() as memory:
        memory.undo(memory.history(*LIVES)[-1].event)
    assert "taken back:" in moved.text("why", *LIVES)


def test_contested_lists_what_to_ask(moved: Shell) -> None:
    assert moved.text("contested").startswith("ana home_city = Lisbon  from ")
    assert [held["value"] for held in moved.json("contested")] == ["Lisbon"]


def test_names_are_listed_one_a_line(moved: Shell) -> None:
    with moved.memory() as memory:
        memory.remember("ben", "home_city", "Rome")
    assert moved.text("entities") == "ana\nben\n"
    assert moved.json("entities") == ["ana", "ben"]
    assert moved.text("predicates").splitlines()[-1].split()[:3] == ["home_city", "single", "exact"]


def test_of_what_nobody_spoke_there_is_nothing(shell: Shell) -> None:
    assert here(shell, "believe", "ben") == "unknown\n"
    assert here(shell, "timeline", "ben", "car") == "nothing is believed at any time\n"
    assert here(shell, "history", "ben", "car") == "nothing was ever said\n"
    assert here(shell, "contested") == "nothing is contested\n"
    assert here(shell, "entities") == "no entities yet\n"
    assert here(shell, "why", "ben", "car").startswith("Nothing was ever said")


def test_a_value_from_elsewhere_cannot_steer_the_terminal(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember("ana", "note", "\x1b]0;owned\x07")
    for verb in ("believe", "timeline", "history", "why"):
        printed = here(shell, verb, "ana", "note")
        assert "owned" in printed and "\x1b" not in printed and "\x07" not in printed


def here(shell: Shell, *arguments: str) -> str:
    """The output of a command, run in this process."""
    outcome = CliRunner().invoke(cli, ["--db", str(shell.folder / "syncmem.db"), *arguments], color=True)
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout
