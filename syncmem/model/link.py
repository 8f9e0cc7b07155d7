"""Links: somebody says that two names are one entity, or that they are not; and what follows from all of them.

Rules: the greatest ``(trust, clock, log, place)`` counts first; what contradicts what has counted before it has no
effect; names that are one stand under the least of them.  It follows from the set of links alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from syncmem.errors import NotCanonical


class Link(NamedTuple):
    """Payload of same and different: about two names of entities, in either order."""

    one: str
    other: str
    trust: int
    source_kind: str | None
    source_id: str | None
    batch: str | None
    extra: dict[str, Any] | None


def check_link(link: Link) -> None:
    """Refuse what no writer writes."""
    if not link.one or not link.other:
        raise NotCanonical("a link names two entities; ask the sender to check it")


class Bond(NamedTuple):
    """A link that acts, as it is weighed."""

    order: tuple[int, int, bytes, int]  # (trust, clock, log, position)
    same: bool
    one: str
    other: str


class Resolved(NamedTuple):
    """What links make of names."""

    stands: dict[str, str]  # each name that is linked -> the least of those that are one with it
    outweighed: frozenset[int]  # positions of the links without effect


def resolve(bonds: Iterable[Bond]) -> Resolved:
    """Weigh links against each other.

    >>> said = [Bond((90, 1, b"", 1), True, "robert", "bob"), Bond((50, 2, b"", 2), False, "bob", "robert")]
    >>> resolve(said)
    Resolved(stands={'robert': 'bob', 'bob': 'bob'}, outweighed=frozenset({2}))
    """
    groups = _Groups()
    outweighed = []
    for bond in sorted(bonds, reverse=True):
        one, other = groups.of(bond.one), groups.of(bond.other)
        joined = one == other
        if not joined and not bond.same:
            groups.part(one, other)
        elif not joined and other not in groups.apart[one]:
            groups.join(one, other)
        elif joined != bond.same:
            outweighed.append(bond.order[3])
    return Resolved(groups.least(), frozenset(outweighed))


class _Groups:
    """Names in groups, each known by one of its members, and which groups are to stay apart."""

    def __init__(self) -> None:
        self._group: dict[str, str] = {}
        self._members: dict[str, list[str]] = {}
        self.apart: dict[str, set[str]] = {}

    def of(self, name: str) -> str:
        if name not in self._group:
            self._group[name], self._members[name], self.apart[name] = name, [name], set()
        return self._group[name]

    def part(self, one: str, other: str) -> None:
        self.apart[one].add(other)
        self.apart[other].add(one)

    def join(self, one: str, other: str) -> None:
        """The smaller group goes into the larger one, so that a name is moved seldom."""
        less, more = sorted((one, other), key=lambda group: len(self._members[group]))
        moved = self._members.pop(less)
        self._members[more] += moved
        self._group.update(dict.fromkeys(moved, more))
        for foe in self.apart.pop(less):
            self.apart[foe].discard(less)
            self.part(more, foe)

    def least(self) -> dict[str, str]:
        least = {group: min(members) for group, members in self._members.items()}
        return {name: least[group] for name, group in self._group.items()}
