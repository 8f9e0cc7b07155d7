"""Archives in the published shapes of each program, with the nasty parts of real ones."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LONG = "A very long answer. " * 8_000  # 160 kB: lies beside the log


def write(path: Path, content: object) -> Path:
    """A file of JSON, or of text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lines(path: Path, objects: Iterable[object]) -> Path:
    return write(path, "".join(json.dumps(each) + "\n" for each in objects))


# -- ChatGPT -------------------------------------------------------------------------------------------


def chatgpt_node(
    id: str, parent: str | None, role: str | None = None, text: str = "", at: float | None = None, **message: Any
) -> dict[str, Any]:
    """A node of a mapping; without a role it has no message."""
    said = {
        "id": id,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": {"content_type": "text", "parts": [text]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
    }
    return {"id": id, "message": None if role is None else said | message, "parent": parent, "children": []}


def chatgpt_conversation(id: str, *nodes: dict[str, Any], **given: Any) -> dict[str, Any]:
    """A conversation; its mapping is in no useful order."""
    mapping = {node["id"]: node for node in sorted(nodes, key=lambda node: str(node["id"])[::-1])}
    for node in nodes:
        if node["parent"] in mapping:
            mapping[node["parent"]]["children"].append(node["id"])
    told = {"title": f"About {id}", "create_time": 1_700_000_000.0, "update_time": 1_700_009_000.0}
    return told | {"mapping": mapping, "conversation_id": id, "id": id, "current_node": nodes[-1]["id"]} | given


def chatgpt() -> list[dict[str, Any]]:
    """A conversation with a branch that was given up, null times, hidden and tool messages; one without any time."""
    hidden = {"metadata": {"is_visually_hidden_from_conversation": True}}
    to_tool = {"recipient": "python", "content": {"content_type": "code", "text": "print(1)"}}
    picture = {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "What is this?"]}
    return [
        chatgpt_conversation(
            "moving",
            chatgpt_node("root", None),
            chatgpt_node("system", "root", "system", "You are helpful.", None),
            chatgpt_node("hidden", "system", "user", "My profile: I live in Rome.", None, **hidden),
            chatgpt_node("ask", "hidden", "user", "I live in Berlin.", 1_700_000_010.25),
            chatgpt_node("answer", "ask", "assistant", "Noted.", None),
            chatgpt_node("edited", "answer", "user", "I live in Porto.", 1_700_000_100.0),
            chatgpt_node("answer-2", "edited", "assistant", "Porto it is.", 1_700_000_110.0),
            chatgpt_node("tool-call", "answer", "assistant", "", 1_700_000_150.0, **to_tool),
            chatgpt_node("tool", "tool-call", "tool", "1", 1_700_000_151.0),
            chatgpt_node("again", "tool", "user", "I live in Lisbon.", 1_700_000_200.0),
            chatgpt_node("last", "again", "assistant", LONG, 1_700_000_210.5),
        ),
        chatgpt_conversation(
            "undated",
            chatgpt_node("u-root", None),
            chatgpt_node("u-ask", "u-root", "user", "", None, content=picture),
            chatgpt_node("u-answer", "u-ask", "assistant", "A cat.", None),
            create_time=None,
            update_time=None,
        ),
    ]


# -- Claude --------------------------------------------------------------------------------------------


def claude_message(uuid: str, sender: str, text: str, at: str | None, **more: Any) -> dict[str, Any]:
    content: list[Any] = [{"type": "text", "text": text, "start_timestamp": at, "stop_timestamp": at}]
    told = {"uuid": uuid, "text": text, "content": content, "sender": sender, "created_at": at, "updated_at": at}
    return told | {"attachments": [], "files": []} | more


def claude() -> list[dict[str, Any]]:
    """A flat conversation with an attachment and a null time, and one with branches."""
    attached = {"file_name": "lease.txt", "file_size": 9, "file_type": "txt", "extracted_content": "The lease."}
    nothing = "00000000-0000-4000-8000-000000000000"
    return [
        {
            "uuid": "flat",
            "name": "Lease",
            "created_at": "2024-03-01T09:00:00.123456Z",
            "updated_at": "2024-03-01T09:10:00Z",
            "account": {"uuid": "account"},
            "chat_messages": [
                claude_message("m1", "human", "See this.", "2024-03-01T09:00:00.5Z", attachments=[attached]),
                claude_message("m2", "assistant", "I see.", None, content=[{"type": "tool_use"}]),
                claude_message("m3", "human", "Thank you.", "2024-03-01T10:05:00+01:00"),
            ],
        },
        {
            "uuid": "tree",
            "name": "",
            "created_at": "2024-04-01T09:00:00Z",
            "current_leaf_message_uuid": "t3",
            "chat_messages": [
                claude_message("t1", "human", "One?", "2024-04-01T09:00:00Z", parent_message_uuid=nothing),
                claude_message("t2", "assistant", "Two.", "2024-04-01T09:00:05Z", parent_message_uuid="t1"),
                claude_message("t3", "assistant", "Three.", "2024-04-01T09:01:00Z", parent_message_uuid="t1"),
            ],
        },
    ]


# -- mem0 ----------------------------------------------------------------------------------------------

Row = tuple[str, str, str | None, str | None, str, str | None, str | None]


def mem0_history(path: Path, rows: Iterable[Row]) -> Path:
    """``history.db``: (id, memory, old, new, event, created, updated)."""
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT, "
            "created_at DATETIME, updated_at DATETIME, is_deleted INTEGER DEFAULT 0, actor_id TEXT, role TEXT)"
        )
        db.executemany(
            "INSERT INTO history (id, memory_id, old_memory, new_memory, event, created_at, updated_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    db.close()
    return path


MEM0_ROWS: list[Row] = [
    ("h1", "m1", None, "Lives in Berlin", "ADD", "2024-01-10T09:00:00.123456-07:00", None),
    ("h2", "m2", None, "Likes tea", "ADD", "2024-01-11T09:00:00-07:00", None),
    ("h3", "m3", None, "Likes tea", "ADD", "2024-01-12T09:00:00-07:00", None),  # the same text once more
    # of an update created_at is that of the addition
    ("h4", "m1", "Lives in Berlin", "Lives in Lisbon", "UPDATE", "2024-01-10T09:00:00-07:00", "2024-06-01T00:00:00Z"),
    ("h5", "m2", "Likes tea", None, "DELETE", None, None),  # the third memory still says so
    ("h6", "m4", None, "Has a cat", "ADD", "2024-07-01T00:00:00Z", None),
    ("h7", "m4", "Has a cat", None, "DELETE", None, None),  # at no time: not before what stands before it
    ("h8", "m5", None, "Plays chess", "ADD", None, None),
]


# -- the others ----------------------------------------------------------------------------------------

SERVER_MEMORY = [
    {"type": "entity", "name": "ana", "entityType": "person", "observations": ["Speaks Greek", "Speaks Greek"]},
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": []},
    {"type": "relation", "from": "ana", "to": "Acme", "relationType": "works_at"},
    {"type": "relation", "from": "ana", "to": "Acme", "relationType": "works_at"},
]

GRAPHITI_NODES = [
    {"uuid": "n1", "name": "ana", "labels": ["Entity"], "created_at": "2024-05-01T10:00:00Z", "summary": ""},
    {"uuid": "n2", "name": "Acme", "labels": ["Entity"], "created_at": "2024-05-01T10:00:00Z", "summary": ""},
    {"uuid": "n3", "name": "Initech", "labels": ["Entity"], "created_at": "2024-05-01T10:00:00Z", "summary": ""},
]


def graphiti_edge(uuid: str, name: str, target: str, **times: str | None) -> dict[str, Any]:
    told = {"uuid": uuid, "source_node_uuid": "n1", "target_node_uuid": target, "name": name, "fact": f"ana {name}"}
    dates = {"created_at": "2024-05-01T10:00:00Z", "valid_at": None, "invalid_at": None, "expired_at": None}
    return told | dates | times


GRAPHITI_EDGES = [
    graphiti_edge("e1", "WORKS_AT", "n2", valid_at="2021-02-01T00:00:00Z", invalid_at="2024-03-01T00:00:00Z"),
    graphiti_edge("e2", "WORKS_AT", "n3", valid_at="2024-03-01T00:00:00+00:00"),
    graphiti_edge("e3", "KNOWS", "n2"),  # nobody said since when
    graphiti_edge("e4", "LIKED", "n2", invalid_at="2023-01-01T00:00:00Z"),  # over when it was said
    graphiti_edge("e5", "ADVISES", "n3", valid_at="2022-01-01T00:00:00Z", expired_at="2024-06-01T00:00:00Z"),
    graphiti_edge("e6", "BACKWARDS", "n3", valid_at="2022-01-01T00:00:00Z", invalid_at="2021-01-01T00:00:00Z"),
    graphiti_edge("e7", "LOST", "n9"),
]

NOTE = """---
title: Coffee
type: note
permalink: drinks/coffee
modified: 2024-02-03T10:00:00+01:00
tags: [drinks]
---
# Coffee

- [method] Pour over gives clarity #brewing (tried twice)
- [ ] buy a grinder
- [x] buy beans
- [shop](https://example.org)
- relates_to [[Tea]]
- [[Water|the water]]

```
- [code] is no observation
```
"""

CARDS = (
    "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:u1\r\nFN:Ana Sousa\r\nN:Sousa;Ana;;;\r\n"
    "TEL;TYPE=CELL:+351 1\r\nTEL;TYPE=HOME:+351 2\r\nEMAIL:ana@example.org\r\n"
    "ADR;TYPE=HOME:;;Rua 1;Lisbon;;1000;Portugal\r\nBDAY:19900102\r\nORG:Acme;Research\r\n"
    "NOTE:A long note that is\r\n  folded\r\nREV:20240102T030405Z\r\nEND:VCARD\r\n"
    "BEGIN:VCARD\r\nVERSION:2.1\r\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Jo=C3=A3o\r\n"
    "TEL;CELL:+351 3\r\nEND:VCARD\r\n"
    "BEGIN:VCARD\r\nVERSION:4.0\r\nTEL:+351 4\r\nEND:VCARD\r\n"
)

JOBS = (
    "id,person,employer,from,to,noted\r\n"
    '1,ana,"Acme, Inc.",2021-02,2024-02,2024-03-01\r\n'
    "2,ana,Initech,2024-03,,2024-03-01\r\n"
    "\r\n"
    "3,bob,,2020,,2024-03-01\r\n"
    "4,bob,Hooli\r\n"
)
JOBS_MAPPING = """
id = "{id}"
[[claim]]
entity = "{person}"
predicate = "employer"
value = "{employer}"
since = "{from}"
until = "{to}"
observed_at = "{noted}"
[predicates.employer]
cardinality = "single"
"""
