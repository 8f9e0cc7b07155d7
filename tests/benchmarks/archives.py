"""Archives: a chat export, and one ten times as large, imported: peak memory, and turns a second.

The peak is the resident set of a fresh process that does nothing else.  The export is one of ChatGPT; a conversation
has ten turns of 1,000 letters each.

Reach (first stage): bounded by a portion, so ten times the archive takes at most 1.5 times the memory.  Here the
"baseline" is the smaller archive.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.measuring import Row, ratio_at_most
from tests.benchmarks.workshop import Workshop

REACH = 1.5
MIB = 2**20
TURNS, LETTERS = 10, 1_000


class Sizes(NamedTuple):
    fewer: int  # conversations
    more: int


SIZES = {"small": Sizes(5, 20), "quick": Sizes(400, 4_000), "full": Sizes(4_000, 40_000)}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    rows, peaks = [], []
    for conversations in sizes:
        with workshop.scratch() as folder:
            archive = export(folder / "conversations.json", conversations)
            report = workshop.child("import-from", folder / "archive.db", archive, "chatgpt")
            size = archive.stat().st_size / MIB
        peaks.append(report["peak"] / MIB)
        rate = conversations * TURNS / report["seconds"]
        rows.append(
            Row(f"chat export of {conversations:,} conversations ({size:,.0f} MiB), turns imported", rate, "/s")
        )
    fewer, more = peaks
    name = "peak memory, importing the larger beside the smaller export"
    return [*rows, Row(name, more, "MiB", fewer, more / fewer, reach=ratio_at_most(REACH))]


def export(path: Path, conversations: int) -> Path:
    """A chat export, written as a stream."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("[")
        for number in range(conversations):
            file.write(("," if number else "") + json.dumps(_conversation(number)))
        file.write("]")
    return path


def _conversation(number: int) -> dict[str, object]:
    began = 1_600_000_000 + number * 600
    mapping = {f"{number}-{turn}": _node(number, turn, began) for turn in range(TURNS)}
    last = f"{number}-{TURNS - 1}"
    return {
        "conversation_id": f"c{number}",
        "title": "A",
        "create_time": began,
        "current_node": last,
        "mapping": mapping,
    }


def _node(number: int, turn: int, began: int) -> dict[str, object]:
    text = (f"Turn {turn} of {number}: " + "many words of it, " * (LETTERS // 18))[:LETTERS]
    message = {
        "id": f"{number}-{turn}",
        "author": {"role": "assistant" if turn % 2 else "user"},
        "create_time": began + 20.5 * turn,
        "content": {"content_type": "text", "parts": [text]},
    }
    parent = f"{number}-{turn - 1}" if turn else None
    return {"id": message["id"], "parent": parent, "children": [], "message": message}
