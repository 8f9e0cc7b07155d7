"""The verbs of recall, run as commands on a real file."""

from __future__ import annotations

import pytest

from tests.cli.running import Shell


@pytest.fixture
def living(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Ana in Berlin, then in Lisbon; Bob in Rome."""
    monkeypatch.setenv("SYNCMEM_EMBEDDER", "none")  # whatever is installed
    with shell.memory() as memory:
        memory.define("home_city", cardinality="single", aliases=["lives in"])
        memory.remember("ana", "home_city", "Berlin", since="2015", source="user")
        memory.remember("ana", "home_city", "Lisbon", since="2025-04", source="user")
        memory.remember("bob", "home_city", "Rome", since="2020", source="user")
    return shell


def test_recall_lists_what_is_found_and_why_said_tells_it_again(living: Shell) -> None:
    told = living.text("recall", "Where does Ana live?")
    first, *_, receipt, note = told.splitlines()
    assert first.startswith("ana home_city = Lisbon  from 2025-04-01") and "(slot, text " in first
    assert note == "note: only words were compared: there is no embedder"
    again = living.text("why-said", receipt)
    assert "the model was given 2 beliefs. The same question is answered the same now." in again
    assert "  given: ana home_city = Lisbon" in again and "[holds]" in again


def test_recall_prints_the_block_within_its_budget(living: Shell) -> None:
    found = living.json("recall", "Who lives where?", "--token-budget", "200", "--no-log")
    assert found["tokens"] <= 200 and found["receipt"] is None and found["cut"]
    block = living.text("recall", "Where did Ana live?", "--valid-at", "2016", "--prompt", "--entity", "ana")
    assert '"ana" "home_city": "Berlin"' in block and "Lisbon" not in block
    history = living.json("recall", "home", "--predicate", "home_city", "--history", "-k", "1000")
    assert sorted((hit["belief"]["value"], hit["past"]) for hit in history["hits"]) == [
        ("Berlin", True),
        ("Lisbon", False),
        ("Rome", False),
    ]


def test_briefing_search_and_index(living: Shell) -> None:
    assert [hit["belief"]["value"] for hit in living.json("briefing", "ana")["hits"]] == ["Lisbon"]
    assert [held["value"] for held in living.json("search", "ana home")] == ["Berlin", "Lisbon"]
    assert living.text("search", "nowhere") == "nothing found\n"
    assert living.text("index") == "everything is indexed\n"
