"""Reports 24, 28 and 29: what was elsewhere comes in with its own times, and in its own order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from syncmem import english
from tests.field_reports.conftest import Desk
from tests.field_reports.orders import current, heard, line
from tests.importers import archives
from tests.importers.archives import chatgpt_conversation, chatgpt_node, write
from tests.importers.conftest import MAKERS, sample


def test_a_fact_that_is_backfilled_holds_since_it_did_and_is_known_since_now(desk: Desk, tmp_path: Path) -> None:
    """Report 24: happened, said, imported and recorded are kept apart."""
    edge = archives.graphiti_edge("e", "WORKS_AT", "n2", valid_at="2023-02-03T00:00:00Z")
    content = {"nodes": archives.GRAPHITI_NODES, "edges": [edge]}
    desk.on("2025-05-01").import_archive(write(tmp_path / "g.json", content), "graphiti")
    memory = desk.on("2025-06-01")
    assert line(memory, "ana", "WORKS_AT") == [("Acme", "2023-02-03", None)]
    assert current(memory, "ana", "WORKS_AT", known_at="2025-04-30") is None
    (entry,) = heard(memory, "ana", "WORKS_AT")
    assert (entry.source.kind, entry.source.id) == ("graphiti", "e")
    assert f"{entry.observed_at:%Y-%m-%d} {entry.asserted_at:%Y-%m-%d}" == "2024-05-01 2025-05-01"


@pytest.mark.parametrize("kind", ["mcp", "mem0", "graphiti", "basic-memory", "vcard", "csv", "chatgpt", "claude"])
def test_nothing_that_is_imported_is_given_the_day_of_the_import(desk: Desk, tmp_path: Path, kind: str) -> None:
    """Report 24: what nobody dated stays undated, whatever it comes from."""
    assert kind in MAKERS
    today = datetime(2025, 5, 1, tzinfo=UTC)
    memory = desk.on("2025-05-01")
    sample(kind, tmp_path).into(memory)
    beliefs = [belief for entity in memory.entities() for belief in memory.beliefs(entity)]
    times = [*(e.at for e in memory.episodes()), *(b.valid_from for b in beliefs)]
    assert times and all(time is None or time < today for time in times)


def test_five_hundred_old_messages_outrank_nothing_that_is_newer(desk: Desk, tmp_path: Path) -> None:
    """Report 28: neither in what is believed nor in what is recalled; each keeps the time at which it was said."""
    desk.on("2025-05-01").remember("ana", "home_city", "Lisbon", source="user")
    cities = ("Berlin", "Rome", "Oslo", "Paris", "Madrid")
    first = datetime(2021, 1, 1, tzinfo=UTC).timestamp()
    said = ((f"I live in {cities[n % 5]}.", first + n * 86_400) for n in range(500))
    old = [chatgpt_conversation(f"c{n}", chatgpt_node(f"m{n}", None, "user", *each)) for n, each in enumerate(said)]
    memory = desk.on("2025-06-01")
    archive = write(tmp_path / "conversations.json", old)
    report = memory.import_archive(archive, "chatgpt", user="ana", extractor=english)
    assert (report.turns, report.derived) == (500, 500)
    assert current(memory, "ana", "home_city") == "Lisbon"
    assert current(memory, "ana", "home_city", valid_at="2021-01-02T12:00Z") == "Rome"
    (hit,) = memory.recall("Where does ana live?", k=3).hits
    assert hit.belief.value == "Lisbon"
    turns = memory.episodes()
    assert [f"{turn.at:%Y-%m-%d}" for turn in turns[:2]] == ["2021-01-01", "2021-01-02"]
    assert f"{memory.event(turns[0].event).asserted_at:%Y-%m}" == "2025-06"


def test_a_branching_chat_is_told_forward_and_what_was_given_up_is_marked(desk: Desk, tmp_path: Path) -> None:
    """Report 29: the tree was walked from its leaf to its root, and came out backwards."""
    memory = desk.on("2025-06-01")
    memory.import_archive(write(tmp_path / "conversations.json", archives.chatgpt()), "chatgpt", user="ana")
    told = memory.episodes(conversation="moving")
    assert [(turn.kind, memory.episode_text(turn.id)[:17]) for turn in told] == [
        ("turn", "I live in Berlin."),
        ("turn", "Noted."),
        ("abandoned turn", "I live in Porto."),
        ("abandoned turn", "Porto it is."),
        ("turn", "I live in Lisbon."),
        ("turn", archives.LONG[:17]),
    ]
    assert [turn.at for turn in told] == sorted(turn.at for turn in told if turn.at is not None)
