"""What comes out of an archive of each kind."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from syncmem import InvalidInput, Memory
from tests.field_reports.orders import current, line, values
from tests.importers import archives
from tests.importers.archives import chatgpt_conversation, chatgpt_node, lines, write
from tests.importers.conftest import Sample

Make = Callable[[str], Sample]


def told(memory: Memory, conversation: str) -> list[tuple[str, str | None, str]]:
    """The turns of a conversation: how each was said, by whom, and its first words."""
    found = memory.episodes(conversation=conversation)
    return [(e.kind, e.speaker, memory.episode_text(e.id)[:18]) for e in found]


def test_a_chatgpt_tree_is_told_in_the_order_in_which_it_was_said(memory: Memory, make: Make) -> None:
    report = make("chatgpt").into(memory)
    assert (report.turns, report.skipped) == (8, 0)
    assert told(memory, "moving") == [
        ("turn", "ana", "I live in Berlin."),
        ("turn", "assistant", "Noted."),
        ("abandoned turn", "ana", "I live in Porto."),
        ("abandoned turn", "assistant", "Porto it is."),
        ("turn", "ana", "I live in Lisbon."),
        ("turn", "assistant", archives.LONG[:18]),
    ]
    first, second, *_, last = memory.episodes(conversation="moving")
    assert (str(first.at), str(second.at)) == ("2023-11-14 22:13:30.250000+00:00", "2023-11-14 22:13:30.250001+00:00")
    assert (first.title, str(first.source.kind), first.source.id) == ("About moving", "user", "chatgpt")
    assert memory.episode_text(last.id) == archives.LONG and last.chunks > 0
    undated = memory.episodes(conversation="undated")
    assert {(e.at, memory.episode_text(e.id)) for e in undated} == {(None, "What is this?"), (None, "A cat.")}


def test_a_chatgpt_mapping_that_goes_round_in_circles_is_read_once(memory: Memory, tmp_path: Path) -> None:
    nodes = [chatgpt_node("a", "b", "user", "One.", 1.7e9), chatgpt_node("b", "a", "user", "Two.", 1.6e9)]
    own = chatgpt_node("own", "own", "user", "Three.", 1.65e9)
    deep = [chatgpt_node(f"d{n}", f"d{n - 1}", "user", f"deep {n}", 1.7e9 + n) for n in range(3_000)]
    archive = [chatgpt_conversation("circle", *nodes, own), chatgpt_conversation("deep", *deep), {"title": "none"}, 7]
    report = memory.import_archive(write(tmp_path / "conversations.json", archive), "chatgpt")
    assert (report.turns, report.skipped) == (3_003, 2)
    assert report.problems[0] == "the file, conversation 3: it is no conversation: it has no mapping"
    assert [text for _, _, text in told(memory, "deep")] == [f"deep {n}" for n in range(3_000)]


def test_a_chatgpt_export_may_be_the_zip_file_or_the_folder(memory: Memory, tmp_path: Path) -> None:
    one, two = archives.chatgpt()
    write(tmp_path / "export" / "conversations-001.json", [two])
    write(tmp_path / "export" / "conversations-000.json", [one])
    write(tmp_path / "export" / "user.json", {"id": "x"})
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("chat/conversations.json", json.dumps(archives.chatgpt()))
    assert memory.import_archive(tmp_path / "export", "chatgpt").turns == 8
    report = memory.import_archive(tmp_path / "export.zip", "chatgpt")
    assert (report.turns, report.known) == (0, 8)
    assert report.batch == memory.imports()[0].batch  # it is the same archive, however it is packed


def test_a_claude_export_with_an_attachment_and_branches(memory: Memory, make: Make) -> None:
    assert make("claude").into(memory).turns == 7
    flat = told(memory, "flat")
    assert sorted(flat[:2]) == [("document", "ana", "The lease."), ("turn", "ana", "See this.")]  # at one time
    assert flat[2:] == [("turn", "assistant", "I see."), ("turn", "ana", "Thank you.")]
    assert [str(e.at)[:19] for e in memory.episodes(conversation="flat")][-1] == "2024-03-01 09:05:00"
    assert told(memory, "tree") == [
        ("turn", "ana", "One?"),
        ("abandoned turn", "assistant", "Two."),
        ("turn", "assistant", "Three."),
    ]


def test_a_mem0_history_keeps_updates_and_deletions_at_their_own_times(memory: Memory, make: Make) -> None:
    report = make("mem0").into(memory)
    assert (report.claims, report.ends) == (6, 2)
    spans = {b.value: (str(b.valid_from), str(b.valid_to)) for b in memory.timeline("ana", "memory")}
    assert spans == {
        "Lives in Berlin": ("2024-01-10 16:00:00.123456+00:00", "2024-06-01 00:00:00+00:00"),
        "Lives in Lisbon": ("2024-06-01 00:00:00+00:00", "None"),
        "Likes tea": ("2024-01-11 16:00:00+00:00", "None"),  # two memories said so, one was deleted
        "Plays chess": ("2024-07-01 00:00:00+00:00", "None"),
    }


def test_mem0_memories_as_json(memory: Memory, tmp_path: Path) -> None:
    memories: list[dict[str, Any]] = [
        {"id": "1", "memory": "Lives in Lisbon", "user_id": "ana", "created_at": "2024-01-01T00:00:00Z"},
        {"id": "2", "memory": "Likes tea", "created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-02-01T00:00:00Z"},
        {"id": "3", "memory": None},
    ]
    relations = [{"source": "ana", "relationship": "works_at", "destination": "Acme"}]
    archive = write(tmp_path / "all.json", {"results": memories, "relations": relations})
    report = memory.import_archive(archive, "mem0", user="bob")
    assert (report.claims, report.skipped, report.problems) == (3, 1, ("memory 3: it has no text",))
    assert line(memory, "ana", "memory") == [("Lives in Lisbon", "2024-01-01", None)]
    assert line(memory, "bob", "memory") == [("Likes tea", "2024-02-01", None)]
    assert line(memory, "ana", "works_at") == [("Acme", None, None)]
    again = memory.import_archive(write(tmp_path / "list.json", memories), "mem0", user="bob")
    assert (again.known, again.claims, again.lacking) == (2, 0, 1)


def test_the_memory_of_the_reference_server_is_undated(memory: Memory, make: Make) -> None:
    report = make("mcp").into(memory)
    assert (report.claims, report.repeated) == (4, 2)
    assert line(memory, "ana", "observation") == [("Speaks Greek", None, None)]
    assert line(memory, "ana", "works_at") == [("Acme", None, None)]
    memory.erase("Acme")
    assert memory.beliefs("ana", "works_at") == []


def test_graphiti_facts_hold_when_they_say(memory: Memory, make: Make) -> None:
    report = make("graphiti").into(memory)
    assert report.problems == (
        "edge 6: it would end before it begins",
        "edge 7: it has no name, or no node of a known name at one of its ends",
    )
    assert line(memory, "ana", "WORKS_AT") == [("Acme", "2021-02-01", "2024-03-01"), ("Initech", "2024-03-01", None)]
    assert line(memory, "ana", "KNOWS") == [("Acme", "2024-05-01", None)]
    assert line(memory, "ana", "LIKED") == [("Acme", None, "2023-01-01")]
    assert line(memory, "ana", "ADVISES") == [("Initech", "2022-01-01", "2024-06-01")]


def test_graphiti_triplets(memory: Memory, tmp_path: Path) -> None:
    node, edge = archives.GRAPHITI_NODES, archives.GRAPHITI_EDGES
    triplets = [{"source_node": node[0], "edge": edge[0], "target_node": node[1]}]
    memory.import_archive(write(tmp_path / "t.json", triplets), "graphiti")
    assert line(memory, "ana", "WORKS_AT") == [("Acme", "2021-02-01", "2024-03-01")]


def test_notes_of_basic_memory(memory: Memory, make: Make) -> None:
    report = make("basic-memory").into(memory)
    assert (report.claims, report.skipped) == (5, 0)
    assert line(memory, "Coffee", "method") == [("Pour over gives clarity #brewing (tried twice)", "2024-02-03", None)]
    assert values(memory, "Coffee", "relates_to") + values(memory, "Coffee", "links_to") == ["Tea", "Water"]
    assert line(memory, "tea", "kind") == [("Green", None, None)]  # without front matter: its name, no date


def test_cards(memory: Memory, make: Make) -> None:
    report = make("vcard").into(memory)
    assert report.problems == ("the file, card at line 21: it has no name (FN)",)
    assert values(memory, "Ana Sousa", "phone") == ["+351 1", "+351 2"]
    assert line(memory, "Ana Sousa", "birthday") == [("1990-01-02", "2024-01-02", None)]
    assert current(memory, "Ana Sousa", "address") == {
        "street": "Rua 1",
        "city": "Lisbon",
        "code": "1000",
        "country": "Portugal",
    }
    assert values(memory, "Ana Sousa", "organization") == ["Acme, Research"]
    assert values(memory, "Ana Sousa", "note") == ["A long note that is folded"]
    assert line(memory, "João", "phone") == [("+351 3", None, None)]
    assert not memory.predicates()["birthday"].many


def test_a_line_of_a_card_that_cannot_be_read_is_told(
    memory: Memory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cards = archives.CARDS.replace("TEL;TYPE=HOME:+351 2", "TEL;TYPE=HO")
    report = memory.import_archive(write(tmp_path / "a.vcf", cards), "vcard")
    assert (
        report.skipped == 2 and "a part of it cannot be read" in report.problems[0] and "line 7" in report.problems[0]
    )
    assert values(memory, "Ana Sousa", "phone") == ["+351 1"]
    assert capsys.readouterr() == ("", "")


def test_a_table_means_what_its_mapping_says(memory: Memory, make: Make) -> None:
    report = make("csv").into(memory)
    assert (report.claims, report.problems) == (
        2,
        ("line 6: it has not as many columns as the first line names",),
    )
    jobs = [("Acme, Inc.", "2021-02-01", "2024-03-01"), ("Initech", "2024-03-01", None)]
    assert line(memory, "ana", "employer") == jobs


def test_a_table_of_turns(memory: Memory, tmp_path: Path) -> None:
    rows = [{"who": {"name": "bob"}, "said": "Hello.", "when": 1_700_000_000, "room": 7}, {"said": None}]
    turn = {"text": "{said}", "speaker": "{who.name}", "at": "{when}", "conversation": "room {room}"}
    memory.import_archive(lines(tmp_path / "log.jsonl", rows), "jsonl", mapping={"turn": turn})
    assert told(memory, "room 7") == [("turn", "bob", "Hello.")]


def test_a_mapping_that_is_not_right_is_refused(memory: Memory, make: Make) -> None:
    table = make("csv")
    for mapping, said in (({}, "no column"), ({"claim": [{"entity": "{x}"}]}, "claim.0.predicate"), (None, "mapping=")):
        try:
            table.into(memory, mapping=mapping)
        except InvalidInput as error:
            assert said in str(error)
        else:
            raise AssertionError(mapping)
    assert memory.imports() == ()
