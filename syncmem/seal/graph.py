"""Statements as a graph: what each had in its past, in an order that all devices share.

Rules: a statement waits until all of its ancestors are held; those that do not wait are numbered by (depth,
id), so parents stand before children; a past is an integer with one bit for each number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from syncmem.errors import NotCanonical
from syncmem.seal.bodies import StatementKind
from syncmem.seal.statements import Statement

STATEMENTS_MAX: Final = 4096  # a vault of 50 devices rotated monthly stays below for years


class Graph:
    """The statements of one vault.

    Attributes:
        vault: its id; ``held``: id -> statement, also those that wait; ``ordered``: those that do not, by number.
        number: id -> number; ``past``: number -> its ancestors (bits).
    """

    def __init__(self, statements: Iterable[Statement]) -> None:
        held = {statement.id: statement for statement in statements}
        roots = [id for id, statement in held.items() if statement.kind == StatementKind.GENESIS]
        if len(roots) != 1:
            raise NotCanonical("a roster has one genesis; ask another device for the whole roster")
        self.vault = roots[0]
        self.held = {id: held[id] for id in sorted(held) if held[id].roster == self.vault}
        if len(self.held) > STATEMENTS_MAX:
            raise NotCanonical(f"a roster has at most {STATEMENTS_MAX} statements; start a new vault")
        depths = self._depths()
        self.ordered = sorted(
            (self.held[id] for id in depths), key=lambda statement: (depths[statement.id], statement.id)
        )
        self.number = {statement.id: number for number, statement in enumerate(self.ordered)}
        self.past: list[int] = []
        for statement in self.ordered:
            self.past.append(self._past_of(statement))

    def _depths(self) -> dict[bytes, int]:
        """The depth of each statement whose ancestors are all held."""
        children: dict[bytes, list[bytes]] = {}
        for id, statement in self.held.items():
            for parent in statement.parents:
                children.setdefault(parent, []).append(id)
        lacking = {id: len(statement.parents) for id, statement in self.held.items()}
        depths: dict[bytes, int] = {}
        level, depth = [self.vault], 0
        while level:
            depths |= dict.fromkeys(level, depth)
            following = [child for id in level for child in children.get(id, ())]
            level, depth = [], depth + 1
            for child in following:
                lacking[child] -= 1
                if not lacking[child]:
                    level.append(child)
        return depths

    def _past_of(self, statement: Statement) -> int:
        past = 0
        for parent in statement.parents:
            number = self.number[parent]
            past |= self.past[number] | 1 << number
        return past

    def knew(self, later: bytes, earlier: bytes) -> bool:
        """Whether a statement has another in its past."""
        return bool(self.past[self.number[later]] >> self.number[earlier] & 1)

    @property
    def waiting(self) -> list[Statement]:
        """Those of which an ancestor is not held."""
        return [statement for id, statement in self.held.items() if id not in self.number]

    @property
    def missing(self) -> set[bytes]:
        """Ids that are named as parents and not held."""
        return {parent for statement in self.held.values() for parent in statement.parents} - set(self.held)


def numbers(bits: int) -> Iterator[int]:
    """The numbers of which a set consists, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
