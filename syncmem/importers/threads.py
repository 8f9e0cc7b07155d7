"""Threads: the messages of one conversation as a tree, in the order in which they were said.

Rules: what answers something was said after it, so where its own time is missing or earlier it is given the least
later one; a message is *abandoned* if the conversation, as it stood, does not go through it.  A tree is walked
without recursion, and each of its messages once, whatever is written in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_BEFORE_ALL: Final = datetime.min.replace(tzinfo=UTC)
_LEAST: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Node:
    """A place in a conversation: what it answers, when it was said, and what the archive has of it."""

    id: str
    parent: str | None
    at: datetime | None
    held: Any = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A message in its order."""

    node: Node
    at: datetime | None
    abandoned: bool


def in_order(nodes: Mapping[str, Node], leaf: str | None, began: datetime | None) -> list[Placed]:
    """All messages, the earliest first.

    Args:
        leaf: the last message of the conversation as it stood; unknown: the latest one.
        began: when the conversation began, for messages that have no time before them.
    """
    walked = list(_from_the_roots(nodes, began))
    times = dict(walked)
    if leaf not in nodes:
        leaf = max(times, key=lambda id: (_known(times[id]), _depths(walked)[id]), default=None)
    current = set(_up_from(nodes, leaf))
    depth = _depths(walked)
    placed = [Placed(nodes[id], at, id not in current) for id, at in walked]
    return sorted(placed, key=lambda each: (_known(each.at), depth[each.node.id]))


def _known(at: datetime | None) -> tuple[bool, datetime]:
    """Undated messages come first, in the order of the tree."""
    return at is not None, _BEFORE_ALL if at is None else at


def _depths(walked: list[tuple[str, datetime | None]]) -> dict[str, int]:
    return {id: place for place, (id, _) in enumerate(walked)}


def _from_the_roots(nodes: Mapping[str, Node], began: datetime | None) -> Iterator[tuple[str, datetime | None]]:
    """Every message with its time, after the one that it answers."""
    children: dict[str | None, list[str]] = {}
    for node in nodes.values():
        answers = node.parent in nodes and node.parent != node.id
        children.setdefault(node.parent if answers else None, []).append(node.id)
    seen: set[str] = set()
    roots = [*children.get(None, ()), *nodes]  # behind the roots: what goes round in a circle
    for root in roots:
        waiting = [(root, nodes[root].at or began)]
        while waiting:
            id, before = waiting.pop()
            if id in seen:
                continue
            seen.add(id)
            own = nodes[id].at
            at = own if before is None or (own is not None and own > before) else before
            yield id, at
            after = None if at is None else at + _LEAST
            waiting += [(child, after) for child in reversed(children.get(id, ()))]


def _up_from(nodes: Mapping[str, Node], leaf: str | None) -> Iterator[str]:
    seen: set[str] = set()
    while leaf is not None and leaf in nodes and leaf not in seen:
        seen.add(leaf)
        yield leaf
        leaf = nodes[leaf].parent
