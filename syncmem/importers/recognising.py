"""Recognising: of which kinds an archive may be, by how it begins.

Rules: a look at the first mebibyte, or at the names in a folder or zip file; the signs of a kind are what its form
cannot be without, and stand in one table.  What has no sign of any kind is left to the importer that was named.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any, Final

from syncmem.errors import InvalidInput
from syncmem.importers import basic_memory, chatgpt, vcard
from syncmem.importers.archive import BOM, Archive, json_parser
from syncmem.importers.kinds import importer, kinds
from syncmem.importers.records import Importer
from syncmem.replica import bundle, event_lines
from syncmem.replica.schema import APPLICATION_ID

HEAD_BYTES: Final = 2**20
AUTO: Final = "auto"
EXPORT: Final = "export"
MEMORY: Final = "memory"
TABLES: Final = frozenset({"jsonl", "csv"})  # whoever hands over a mapping knows what the columns mean
LOOKS: Final = {
    "chatgpt": "an export of ChatGPT",
    "claude": "an export of Claude",
    "mem0": "memories of mem0",
    "mcp": "the memory of an MCP server",
    "graphiti": "a graph of Graphiti",
    "basic-memory": "Markdown notes",
    "vcard": "vCards",
    "jsonl": "a table of JSON lines",
    "csv": "a table",
    EXPORT: "an export of syncmem",
    MEMORY: "a memory of syncmem",
}
_OWN: Final = {EXPORT: "import", MEMORY: "merge"}  # what other commands take
_KEYS: Final = {  # of a JSON object, or of the first in a list
    "mapping": "chatgpt",
    "chat_messages": "claude",
    "memory": "mem0",
    "results": "mem0",
    "entityType": "mcp",
    "relationType": "mcp",
    "nodes": "graphiti",
    "edges": "graphiti",
    "source_node": "graphiti",
}
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_SQLITE: Final = b"SQLite format 3\x00"


def importer_of(archive: Archive, kind: str) -> Importer:
    """The importer of a kind, or ("auto") of the kind that an archive looks like.

    Raises:
        InvalidInput: there is none, it cannot be told, or the archive looks like another kind.
    """
    found = importer(_kind_of(archive) if kind == AUTO else kind)
    told = another(archive, kind) if kind in LOOKS.keys() - TABLES else None
    if told is not None:
        raise InvalidInput(told)
    return found


def another(archive: Archive, kind: str) -> str | None:
    """What an archive that does not look like a kind looks like, with the command for it; None: like it, or nothing."""
    found = recognised(archive)
    if not found or kind in found:
        return None
    command = _OWN.get(found[0], f"import-from {found[0]}{' --mapping TOML' if found[0] in TABLES else ''}")
    rather = f", not like {LOOKS[kind]}" if kind in LOOKS else ""
    return f"{archive.path} looks like {_looks(found)}{rather}; use 'syncmem {command} {archive.path}'"


def recognised(archive: Archive) -> list[str]:
    """The kinds whose signs an archive has.

    Raises:
        InvalidInput: there is nothing in it, or nothing that can be read.
    """
    if archive.path.is_dir() or archive.zipped:
        return _of_names(archive)
    with archive.open() as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(_UTF_16):
        raise InvalidInput(f"{archive.path} is UTF-16; save it as UTF-8 (as it was exported), then import it")
    if not head.strip():
        raise InvalidInput(f"{archive.path} is empty; nothing was imported: export it again, or copy it whole")
    if head.startswith(bundle.MAGIC) or event_lines.is_legible(head):
        return [EXPORT]
    if head.startswith(_SQLITE):
        return _of_tables(archive)
    return _of_text(head.removeprefix(BOM), archive.path.suffix.casefold())


def _kind_of(archive: Archive) -> str:
    found = recognised(archive)
    if not found:
        raise InvalidInput(f"it cannot be told of which kind {archive.path} is; name it: one of {', '.join(kinds())}")
    if len(found) > 1:
        raise InvalidInput(f"{archive.path} holds {_looks(found)}; name the kind to take in: {' or '.join(found)}")
    if found[0] in _OWN:
        raise InvalidInput(str(another(archive, AUTO)))
    return found[0]


def _looks(kinds: list[str]) -> str:
    return " and ".join(LOOKS[kind] for kind in kinds)


def _of_names(archive: Archive) -> list[str]:
    """By the files in a folder or zip file: those that an importer would read."""
    found = []
    if chats := archive.matching(chatgpt.FILES):
        with archive.open(chats[0]) as file:
            found += _of_text(file.read(HEAD_BYTES).removeprefix(BOM), "")
    found += ["vcard"] if archive.matching(*vcard.FILES) else []
    return found + (["basic-memory"] if archive.matching(basic_memory.FILES) else [])


def _of_tables(archive: Archive) -> list[str]:
    if next(archive.rows("PRAGMA application_id"))[0] == APPLICATION_ID:
        return [MEMORY]
    columns = {str(row[1]) for row in archive.rows("PRAGMA table_info(history)")}
    return ["mem0"] if {"memory_id", "event"} <= columns else []


def _of_text(head: bytes, suffix: str) -> list[str]:
    if head.lstrip()[:1] in (b"{", b"["):
        found = list(dict.fromkeys(_KEYS[key] for key in _keys(head) if key in _KEYS))
        return found or (["jsonl"] if _lines_of_objects(head) else [])
    if head.lstrip()[:11].upper() == b"BEGIN:VCARD":
        return ["vcard"]
    return {".md": ["basic-memory"], ".csv": ["csv"]}.get(suffix, [])


def _keys(head: bytes) -> list[str]:
    """The keys of the first object of a JSON text that may break off."""
    try:
        first = _first(json.loads(head.lstrip().split(b"\n", 1)[0]))
        return list(first) if isinstance(first, dict) else []
    except (ValueError, RecursionError):
        pass  # it stands on several lines, or on one that is longer
    keys = []
    parser = json_parser()
    try:
        for place, event, key in parser.parse(BytesIO(head)):
            if place in ("", "item") and event == "end_map":
                break
            if place in ("", "item") and event == "map_key":
                keys.append(key)
    except (parser.JSONError, UnicodeDecodeError, RecursionError):
        pass  # whether it is whole is for its importer to say
    return keys


def _first(content: Any) -> Any:
    return content[0] if isinstance(content, list) and content else content


def _lines_of_objects(head: bytes) -> bool:
    """Whether the first two lines are objects, each for itself."""
    lines = [line for line in head.split(b"\n", 3)[:2] if line.strip()]
    try:
        return len(lines) == 2 and all(isinstance(json.loads(line), dict) for line in lines)
    except (ValueError, RecursionError):
        return False
