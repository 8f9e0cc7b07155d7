"""Graphiti: entity edges as JSON: ``{"nodes": [...], "edges": [...]}``, or a list of triplets
``{"source_node": ..., "edge": ..., "target_node": ...}``.

Rules: a fact holds from ``valid_at`` to ``invalid_at`` and was said at ``created_at``; one that only expired
(``expired_at``) was no longer believed from then on; what has no date is not given that of the import.  The names of
nodes are held in memory, the edges are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from syncmem.importers.archive import Archive
from syncmem.importers.records import End, Fact, Plain, Record, Skipped, Time, named
from syncmem.importers.times import either, order


class Graphiti(Plain):
    """Reads nodes and edges."""

    kind: ClassVar[str] = "graphiti"
    trust: ClassVar[str] = "inference"

    def read(self, archive: Archive) -> Iterator[Record]:
        if archive.first("") == "[":
            for number, triplet in enumerate(archive.items("", "item"), 1):
                found = triplet if isinstance(triplet, dict) else {}
                edge = found.get("edge", found.get("relationship"))
                yield from _edge(edge, _name(found.get("source_node")), _name(found.get("target_node")), number)
            return
        names: dict[str | None, str] = {}
        for node in archive.items("", "nodes.item"):
            id = named(node.get("uuid")) if isinstance(node, dict) else None
            if id is not None and (name := _name(node)) is not None:
                names[id] = name
        for number, edge in enumerate(archive.items("", "edges.item"), 1):
            ends = edge if isinstance(edge, dict) else {}
            one, other = (names.get(named(ends.get(end))) for end in ("source_node_uuid", "target_node_uuid"))
            yield from _edge(edge, one, other, number)


def _name(node: object) -> str | None:
    name = node.get("name") if isinstance(node, dict) else node
    return name if isinstance(name, str) and name else None


def _edge(edge: object, one: str | None, other: str | None, number: int) -> Iterator[Record]:
    name = edge.get("name") if isinstance(edge, dict) else None
    if not isinstance(edge, dict) or not isinstance(name, str) or not name or one is None or other is None:
        yield Skipped(f"edge {number}", "it has no name, or no node of a known name at one of its ends")
        return
    said, begins, ends, expired = (either(edge.get(n)) for n in ("created_at", "valid_at", "invalid_at", "expired_at"))
    if begins is not None and ends is not None and not _before(begins, ends):
        yield Skipped(f"edge {number}", "it would end before it begins")
        return
    id = (named(edge.get("uuid")) or f"{one} {name} {other}",)
    slot: dict[str, Any] = {"id": id, "entity": one, "predicate": name, "value": other, "mentions": (other,)}
    period = begins is not None and ends is not None
    if begins is None and ends is not None and not _before(said, ends):
        said = None  # it was over when it was said, and nobody knows when it began
    yield Fact(**slot, observed_at=said, since=begins, valid_to=ends if period else None)
    gone = expired if ends is None else ends
    if not period and gone is not None:
        yield End(**slot, at=gone, observed_at=gone)


def _before(one: Time | None, other: Time) -> bool:
    first, second = order(one), order(other)
    return first is None or second is None or first < second
