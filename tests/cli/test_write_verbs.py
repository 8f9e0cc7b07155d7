"""The verbs that write, run as commands on a real file."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell

LIVES = ("ana", "home_city")


def told(shell: Shell, *values: tuple[str, str]) -> list[str]:
    """States of home_city, each since a year, written one after the other; their event ids."""
    with shell.memory() as memory:
        return [memory.remember(*LIVES, value, since=since).event for value, since in values]


def test_a_move_closes_what_was_believed(shell: Shell) -> None:
    told(shell, ("Berlin", "2015"))
    receipt = shell.json("remember", *LIVES, "Lisbon", "--since", "2025-04")
    assert receipt["decision"] == "UPDATE"
    assert [change["value"] for change in receipt["closed"]] == ["Berlin"]
    assert receipt["opened"][-1]["valid_from"] == "2025-04-01T00:00:00Z"


def test_a_receipt_in_words_names_the_event(shell: Shell) -> None:
    printed = shell.text("remember", *LIVES, "Berlin", "--since", "2015")
    assert printed.startswith("ADD  ") and "opened  Berlin  from 2015-01-01" in printed
    event = printed.split("event")[1].split()[0]
    with shell.memory() as memory:
        assert memory.event(event).value == "Berlin"


def test_erasing_asks_first_and_tells_what_went(shell: Shell) -> None:
    told(shell, ("Berlin", "2015"), ("Lisbon", "2020"))
    refused = shell.run("erase", "ana")
    assert refused.code == 1 and "for good?" in refused.err
    assert "3 events" not in shell.text("erase", "nobody", "--yes")
    assert "2 events erased in scope vault." in shell.text("erase", "ana", "--yes", "--reason", "as asked")
    assert shell.json("erase", "ana", "--yes")["events"] == {"vault": 0}
    assert shell.json("believe", *LIVES) == []
    assert shell.json("scrub") == {"scrubbed": True}


def test_who_is_mentioned_is_erased_with_it(shell: Shell) -> None:
    shell.text("remember", *LIVES, "with Bob", "--mentions", "bob", "--mentions", "eva")
    assert shell.json("erase", "bob", "--yes")["events"] == {"vault": 1}
    assert shell.json("believe", *LIVES) == []


def test_what_follows_from_a_claim_goes_and_comes_back_with_it(shell: Shell) -> None:
    (root,) = told(shell, ("Lisbon", "2015"))
    printed = shell.text("remember", "ana", "time_zone", "WET", "--derived-from", root, "--trust", "user")
    assert "opened  WET  from 2015-01-01" in printed
    gone = shell.json("retract", root)
    assert shell.json("believe", "ana", "time_zone") == []
    assert f"unfounded: {root} is retracted" in shell.text("history", "ana", "time_zone")
    shell.run("undo", gone["event"])
    assert [belief["value"] for belief in shell.json("believe", "ana", "time_zone")] == ["WET"]


def test_a_week_away_ends_by_itself(shell: Shell) -> None:
    shell.text("remember", *LIVES, "Lisbon", "--since", "2020", "--observed-at", "2025-01-01")
    away = ("--since", "2025-06-09", "--until", "2025-06-15", "--then", "resume")
    shell.text("remember", *LIVES, "Paris", *away)
    found = [(held["value"], held["valid_from"][:10]) for held in shell.json("timeline", *LIVES)]
    assert found == [("Lisbon", "2020-01-01"), ("Paris", "2025-06-09"), ("Lisbon", "2025-06-16")]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("Zürich 東京",), "Zürich 東京"),
        (("--value-json", '{"a": [1, null]}'), {"a": [1, None]}),
        (("--value-json", "3"), 3),
        (("--none",), None),
        (("--", "-5"), "-5"),
    ],
)
def test_values_are_text_unless_said_otherwise(shell: Shell, arguments: tuple[str, ...], value: object) -> None:
    shell.text("remember", *LIVES, *arguments)
    (found,) = shell.json("believe", *LIVES)
    assert found["value"] == value


def test_who_says_so_is_kept(shell: Shell) -> None:
    said = ("--source", "document", "--source-id", "letter.pdf", "--episode", "mail-7", "--observed-at", "2024-05-01")
    shell.text("remember", *LIVES, "Rome", *said, "--trust", "document", "--batch", "import-1", "--reason", "found it")
    entry = shell.json("history", *LIVES)[-1]
    assert (entry["source"]["kind"], entry["source"]["id"], entry["source"]["episode"]) == (
        "document",
        "letter.pdf",
        "mail-7",
    )
    assert (entry["trust"], entry["batch"], entry["observed_at"]) == (50, "import-1", "2024-05-01T00:00:00Z")


def test_a_date_is_a_date_of_the_zone(shell: Shell) -> None:
    shell.text("remember", *LIVES, "Lisbon", "--since", "2025-07-01", "--zone", "Europe/Lisbon")
    (found,) = shell.json("--zone", "Asia/Tokyo", "believe", *LIVES)
    assert found["valid_from"] == "2025-06-30T23:00:00Z"
    assert "from 2025-07-01 08:00" in shell.text("believe", *LIVES, "--zone", "Asia/Tokyo")


def test_end_stops_a_value(shell: Shell) -> None:
    shell.text("remember", *LIVES, "Berlin", "--changed-on", "2015")
    receipt = shell.json("end", *LIVES, "Berlin", "--at", "2020-07", "--changed")
    assert receipt["decision"] == "DELETE"
    assert shell.json("believe", *LIVES) == []
    assert shell.text("believe", *LIVES) == "unknown\n"


def test_deny_takes_away_what_was_never_true(shell: Shell) -> None:
    told(shell, ("Oslo", "2015"))
    assert shell.json("deny", *LIVES, "Oslo")["decision"] == "DELETE"
    assert shell.json("timeline", *LIVES) == []
    assert "nothing is believed" in shell.text("timeline", *LIVES)


def test_correct_puts_another_claim_in_the_place_of_one(shell: Shell) -> None:
    (wrong,) = told(shell, ("Porto", "2023"))
    shell.text("correct", wrong, "Lisbon", "--reason", "misheard")
    (held,) = shell.json("timeline", *LIVES)
    assert (held["value"], held["valid_from"][:4]) == ("Lisbon", "2023")


def test_retract_brings_back_what_was_superseded_and_undo_takes_that_back(shell: Shell) -> None:
    _, mistake = told(shell, ("Berlin", "2015"), ("Porto", "2023"))
    retraction = shell.json("retract", mistake, "--reason", "the wrong customer")["event"]
    assert [held["value"] for held in shell.json("timeline", *LIVES)] == ["Berlin"]
    shell.text("undo", retraction)
    assert [held["value"] for held in shell.json("timeline", *LIVES)] == ["Berlin", "Porto"]


def test_a_batch_is_withdrawn_as_a_whole(shell: Shell) -> None:
    with shell.memory() as memory:
        for entity in ("ana", "ben"):
            memory.remember(entity, "home_city", "Rome", batch="import-1")
    shell.text("retract", "--batch", "import-1")
    with shell.memory() as memory:
        assert memory.beliefs("ana") == memory.beliefs("ben") == []


def test_define_settles_what_a_predicate_is_like(shell: Shell) -> None:
    shell.text("define", "speaks", "--many", "--equality", "casefold", "--ttl", "30d", "--sensitive")
    found = shell.json("predicates")["speaks"]
    assert (found["many"], found["equality"], found["sensitive"], found["declared"]) == (True, "casefold", True, True)
    assert "lapses after 30d" in shell.text("predicates")


def test_an_undeclared_predicate_is_pointed_out(shell: Shell) -> None:
    assert "'syncmem define' settles it" in shell.text("remember", "ana", "speaks", "Greek")
    assert "many (undeclared)" in shell.text("predicates")


def test_a_poisoned_import_is_looked_at_taken_back_and_restored(shell: Shell) -> None:
    shell.text("remember", "ana", "home_city", "Lisbon", "--changed-on", "2025-01")
    shell.text("remember", "ana", "home_city", "Porto", "--changed-on", "2025-04", "--source", "mail-import")
    command = ("withdraw", "--source", "mail-import", "--since", "2020-01-01")
    dry = shell.text(*command, "--dry-run")
    assert "nothing is kept" in dry and "ana home_city  1" in dry and "Beliefs would change in 1 slot." in dry
    assert shell.json("believe", "ana", "home_city")[0]["value"] == "Porto"
    told = shell.text(*command)
    assert shell.json("believe", "ana", "home_city")[0]["value"] == "Lisbon"
    undo = told.splitlines()[-1].partition("syncmem ")[2].split()
    shell.text(*undo)
    assert shell.json("believe", "ana", "home_city")[0]["value"] == "Porto"
    again = shell.json(*command, "--until", "2020-12-31")
    assert (again["events"], again["taken"], again["until"][:10]) == ([], {}, "2020-12-31")


def test_a_history_names_a_few_of_the_many_events_that_were_taken_back_at_once(shell: Shell) -> None:
    with shell.memory() as memory:
        for number in range(5):
            memory.remember("ana", "home_city", f"city {number}", source="mail-import")
        memory.withdraw(source="mail-import")
    told = shell.text("history", "ana", "home_city")
    assert "and 2 more" in told and told.count("undone") == 5
    assert len(shell.json("history", "ana", "home_city")[-1]["names"]) == 5


def test_a_withdrawal_that_does_not_say_whose_words_is_a_usage_error(shell: Shell) -> None:
    refused = shell.run("withdraw", "--since", "2026-01-01")
    assert refused.code == 2 and "--device ID" in refused.err
    unknown = shell.run("withdraw", "--device", "ffff")
    assert unknown.code == 1 and "devices" in unknown.err
