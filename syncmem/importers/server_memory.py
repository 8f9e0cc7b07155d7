"""The memory of the MCP reference server: ``memory.jsonl``, a line for each entity and each relation.

Nothing in it has a date, so all of it ranks below whatever is dated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from syncmem.importers.archive import Archive
from syncmem.importers.records import Fact, Plain, Record, Skipped


class ServerMemory(Plain):
    """Reads entities with their observations, and relations."""

    kind: ClassVar[str] = "mcp"
    trust: ClassVar[str] = "inference"

    def read(self, archive: Archive) -> Iterator[Record]:
        for number, line in archive.objects():
            if line.get("type") == "entity":
                yield from _entity(line, f"line {number}")
            elif line.get("type") == "relation":
                yield from _relation(line, f"line {number}")
            else:
                yield Skipped(f"line {number}", f"nothing is known of the type {line.get('type')!r}")


def _entity(line: dict[str, Any], place: str) -> Iterator[Record]:
    name, kind, observations = line.get("name"), line.get("entityType"), line.get("observations")
    if not isinstance(name, str) or not name:
        yield Skipped(place, "the entity has no name")
        return
    if isinstance(kind, str) and kind:
        yield Fact((name,), name, "type", kind, observed_at=None)
    for observation in observations if isinstance(observations, list) else ():
        yield Fact((name,), name, "observation", observation, observed_at=None)


def _relation(line: dict[str, Any], place: str) -> Iterator[Record]:
    one, other, how = line.get("from"), line.get("to"), line.get("relationType")
    if not (isinstance(one, str) and isinstance(other, str) and isinstance(how, str) and one and other and how):
        yield Skipped(place, "the relation has no from, to and relationType")
        return
    yield Fact((one, how, other), one, how, other, observed_at=None, mentions=(other,))
