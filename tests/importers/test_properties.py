"""Random archives: twice is once, in parts is as a whole, and a tree is told in the order in which it was said."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem import InvalidInput, Memory
from syncmem.importers.threads import Node, in_order
from tests.importers import archives
from tests.importers.archives import chatgpt_conversation, chatgpt_node
from tests.importers.conftest import fresh

START = datetime(2023, 1, 1, tzinfo=UTC)
times = st.none() | st.integers(0, 50)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Node]:
    """Messages that answer an earlier one, a later one, themselves, or none; some without time."""
    count = draw(st.integers(1, 9))
    ids = [str(n) for n in range(count)]
    nodes = {}
    for id in ids:
        at = draw(times)
        parent = draw(st.none() | st.sampled_from([*ids, "elsewhere"]))
        nodes[id] = Node(id, parent, None if at is None else START + timedelta(minutes=at))
    return nodes


@given(trees(), st.none() | st.sampled_from("0123456789"), times)
def test_a_tree_is_told_whole_in_order_and_what_was_given_up_is_marked(
    nodes: dict[str, Node], leaf: str | None, began: int | None
) -> None:
    placed = in_order(nodes, leaf, None if began is None else START + timedelta(minutes=began))
    assert sorted(each.node.id for each in placed) == sorted(nodes)
    dated = [each.at for each in placed if each.at is not None]
    assert dated == sorted(dated)
    place = {each.node.id: n for n, each in enumerate(placed)}
    for each in placed:
        parent = each.node.parent
        acyclic = parent in nodes and each.node.id not in _ancestors(nodes, parent)
        if acyclic and parent is not None and _ancestors(nodes, parent).isdisjoint(_round(nodes)):
            assert place[parent] < place[each.node.id]
    stood = {each.node.id for each in placed if not each.abandoned}
    if leaf in nodes:
        assert stood == _ancestors(nodes, leaf)
    else:
        assert stood and any(stood == _ancestors(nodes, id) for id in nodes)


def _ancestors(nodes: dict[str, Node], id: str | None) -> set[str]:
    """A message and all that it answers."""
    found: set[str] = set()
    while id is not None and id in nodes and id not in found:
        found.add(id)
        id = nodes[id].parent
    return found


def _round(nodes: dict[str, Node]) -> set[str]:
    """The messages that answer themselves in the end."""
    return {id for id in nodes if nodes[id].parent in nodes and id in _ancestors(nodes, nodes[id].parent)}


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    archive = []
    for number in range(draw(st.integers(1, 5))):
        nodes = []
        for place in range(draw(st.integers(1, 5))):
            parent = None if place == 0 else f"{number}-{draw(st.integers(0, place - 1))}"
            minute = draw(times)
            at = None if minute is None else 1.6e9 + 60 * minute + number
            role = draw(st.sampled_from(["user", "assistant", "tool"]))
            text = draw(st.sampled_from(["I live in Lisbon.", "I live in Rome.", "Yes.", "é" * 5_000]))
            nodes.append(chatgpt_node(f"{number}-{place}", parent, role, text, at))
        began = draw(st.sampled_from([None, 1.6e9]))
        archive.append(chatgpt_conversation(f"c{number}", *nodes, create_time=began))
    return archive


def said(memory: Memory) -> list[str]:
    """What a memory holds, whichever batch it came in."""
    turns = [(e.at, e.kind, e.speaker, e.conversation, e.title, memory.episode_text(e.id)) for e in memory.episodes()]
    return sorted(map(str, turns))


def imported(memory: Memory, archive: object, **words: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "conversations.json")
        path.write_text(json.dumps(archive), encoding="utf-8")
        return memory.import_archive(path, "chatgpt", user="ana", **words)


@settings(max_examples=15)
@given(conversations(), st.integers(0, 99))
def test_chats_in_parts_in_any_order_and_twice_are_the_whole(archive: list[dict[str, Any]], seed: int) -> None:
    shuffled = random.Random(seed).sample(archive, len(archive))
    cut = seed % (len(archive) + 1)
    with fresh() as whole, fresh() as parted:
        imported(whole, archive)
        for part in (shuffled[:cut], shuffled[cut:], shuffled[cut:]):
            if part:
                imported(parted, part, force=True)
        assert said(parted) == said(whole)
        before = parted.event_digest()
        assert imported(parted, archive, zone="Asia/Tokyo").turns == 0
        assert parted.event_digest() == before
        parted.merge(whole)
        assert said(parted) == said(whole)  # though each turn is held twice now


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of a table of jobs, no two seen at one time: which of two was said later only their order would tell."""
    days = draw(st.lists(st.integers(0, 400), min_size=1, max_size=8, unique=True))
    made = []
    for number, day in enumerate(days):
        seen = START + timedelta(days=day)
        form = draw(st.sampled_from(["since", "changed_on", "period", "plain"]))
        row = {"id": number, "who": draw(st.sampled_from(["ana", "bob"])), "job": draw(st.sampled_from("ABC"))}
        row["seen"] = seen.isoformat()
        if form in ("since", "changed_on"):
            row[form] = (seen - timedelta(days=draw(st.integers(0, 30)))).isoformat()
        elif form == "period":
            row |= {"since": (seen - timedelta(days=60)).isoformat(), "until": (seen - timedelta(days=9)).isoformat()}
        made.append(row)
    return made


MAPPING = {
    "id": "{id}",
    "claim": [
        {
            "entity": "{who}",
            "predicate": "job",
            "value": "{job}",
            "since": "{since}",
            "changed_on": "{changed_on}",
            "until": "{until}",
            "observed_at": "{seen}",
        }
    ],
    "predicates": {"job": {"cardinality": "single"}},
}


def tabled(memory: Memory, content: Iterable[dict[str, Any]], **words: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
        return memory.import_archive(path, "jsonl", mapping=MAPPING, **words)


@settings(max_examples=20)
@given(rows(), st.integers(0, 99))
def test_a_table_in_parts_in_any_order_and_twice_is_the_whole(content: list[dict[str, Any]], seed: int) -> None:
    shuffled = random.Random(seed).sample(content, len(content))
    cut = seed % (len(content) + 1)
    with fresh() as whole, fresh() as parted, fresh() as none:
        report = tabled(whole, content)
        for part in (shuffled[:cut], shuffled[cut:], content):
            tabled(parted, part, force=True)
        assert parted.belief_digest() == whole.belief_digest()
        assert report.claims == len(content)
        parted.merge(whole)
        assert parted.belief_digest() == whole.belief_digest()
        whole.retract(batch=report.batch)
        assert whole.belief_digest() == none.belief_digest()


ODD = (None, [], {}, "", 0, -1, 1e308, True, "9999-99-99", "2024-02-30T00:00:00Z", "x" * 3_000, [None], {"a": None},
       ["a", ["b"]], -1e18, 253_402_300_800, "2024-03-10T02:30:00", "\u0000")  # fmt: skip
KINDS: dict[str, Callable[[], Any]] = {
    "chatgpt": archives.chatgpt,
    "claude": archives.claude,
    "graphiti": lambda: {"edges": archives.GRAPHITI_EDGES, "nodes": archives.GRAPHITI_NODES},
    "mcp": lambda: archives.SERVER_MEMORY,
    "mem0": lambda: [{"id": "1", "memory": "a", "user_id": "ana", "created_at": "2024-01-01T00:00:00Z"}] * 2,
}


def places(within: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in an archive."""
    inner = within.items() if isinstance(within, dict) else enumerate(within) if isinstance(within, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


@given(st.sampled_from(sorted(KINDS)), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_whatever_stands_in_the_place_of_something_is_taken_in_or_refused_and_once(
    kind: str, random: random.Random
) -> None:
    archive = json.loads(json.dumps(KINDS[kind]()))
    for _ in range(random.choice((1, 1, 3))):
        *path, last = random.choice(list(places(archive)))
        within = archive
        for key in path:
            within = within[key]
        within[last] = json.loads(json.dumps(random.choice(ODD)))
    with tempfile.TemporaryDirectory() as folder, fresh() as memory:
        text = "\n".join(map(json.dumps, archive)) if kind == "mcp" else json.dumps(archive)
        path = archives.write(Path(folder, "archive"), text)
        try:
            memory.import_archive(path, kind)
        except InvalidInput:
            assert memory.imports() == ()
        else:
            again = memory.import_archive(path, kind)
            assert (again.turns, again.claims, again.ends) == (0, 0, 0)
