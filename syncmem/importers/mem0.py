"""mem0: its ``history.db``, and the memories as JSON (a list, or an object with ``results`` and ``relations``).

The history has a row for each time that a memory was added, updated or deleted.  Rules: an event happened at
``updated_at``, which an addition has not: at ``created_at``, which of an update is the time of the addition; a row
without both happened when the row before it did; a text that another memory still holds has not ended.  The JSON holds
what was left: each memory as of its last update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, ClassVar

from syncmem.errors import InvalidInput
from syncmem.importers.archive import Archive
from syncmem.importers.records import End, Fact, Plain, Record, Skipped, Time, named
from syncmem.importers.times import either, order

PREDICATE = "memory"
_SQLITE = b"SQLite format 3\x00"
_COLUMNS = ("id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "actor_id")
_OWNERS = ("user_id", "agent_id", "run_id")


class Mem0(Plain):
    """Reads a history of memories, or memories."""

    kind: ClassVar[str] = "mem0"
    trust: ClassVar[str] = "inference"

    def read(self, archive: Archive) -> Iterator[Record]:
        with archive.open() as file:
            history = file.read(len(_SQLITE)) == _SQLITE
        return _history(archive) if history else _memories(archive)


# -- history.db --------------------------------------------------------------------------------------------


def _history(archive: Archive) -> Iterator[Record]:
    there = {str(row[1]) for row in archive.rows("PRAGMA table_info(history)")}
    if not {"memory_id", "event"} <= there:
        raise InvalidInput(f"{archive.path} has no table of mem0's history; is it the right file?")
    columns = ", ".join(name if name in there else f"NULL AS {name}" for name in _COLUMNS)
    holding: Counter[bytes] = Counter()  # how many memories of somebody hold a text
    before: Time | None = None
    for values in archive.rows(f"SELECT {columns} FROM history ORDER BY rowid"):
        row = dict(zip(_COLUMNS, values, strict=True))
        happened = either(row["updated_at"]) or either(row["created_at"]) or before
        before = max((each for each in (before, happened) if each is not None), key=_order, default=None)
        yield from _event(row, happened, holding, archive.user)


def _order(time: Time) -> tuple[bool, Any]:
    found = order(time)
    return found is not None, found or 0


def _event(row: dict[str, Any], happened: Time | None, holding: Counter[bytes], user: str) -> Iterator[Record]:
    event, old, new = str(row["event"]).upper(), row["old_memory"], row["new_memory"]
    id, owner = (str(row["memory_id"]), str(row["id"])), str(row["actor_id"] or user)
    if event not in ("ADD", "UPDATE", "DELETE"):
        yield Skipped(f"row {row['id']}", f"nothing is known of the event {event!r}")
        return
    if event == "UPDATE" and old == new:
        return
    if event != "ADD" and isinstance(old, str) and old:
        holding[_text(owner, old)] -= 1
        if holding[_text(owner, old)] <= 0:
            del holding[_text(owner, old)]
            yield End(id, owner, PREDICATE, old, at=happened, observed_at=happened)
    if event != "DELETE" and isinstance(new, str) and new:
        holding[_text(owner, new)] += 1
        changed = happened if event == "UPDATE" else None
        yield Fact(id, owner, PREDICATE, new, observed_at=happened, changed_on=changed)


def _text(owner: str, text: str) -> bytes:
    return sha256(f"{owner}\0{text}".encode("utf-8", "surrogatepass")).digest()[:8]


# -- JSON --------------------------------------------------------------------------------------------------


def _memories(archive: Archive) -> Iterator[Record]:
    listed = archive.first("") == "["
    for number, memory in enumerate(archive.items("", "item" if listed else "results.item"), 1):
        text = memory.get("memory") if isinstance(memory, dict) else None
        if not isinstance(text, str) or not text:
            yield Skipped(f"memory {number}", "it has no text")
            continue
        owner = next(filter(None, (named(memory.get(name)) for name in _OWNERS)), archive.user)
        seen = either(memory.get("updated_at")) or either(memory.get("created_at"))
        yield Fact((named(memory.get("id")) or text,), owner, PREDICATE, text, observed_at=seen)
    for number, relation in enumerate(() if listed else archive.items("", "relations.item", optional=True), 1):
        parts = [relation.get(name) for name in ("source", "relationship")] if isinstance(relation, dict) else []
        parts += [relation.get("destination") or relation.get("target")] if parts else []
        if len(parts) == 3 and all(isinstance(part, str) and part for part in parts):
            source, name, target = map(str, parts)
            yield Fact((source, name, target), source, name, target, observed_at=None, mentions=(target,))
        else:
            yield Skipped(f"relation {number}", "it has no source, relationship and destination")
