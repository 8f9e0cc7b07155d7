"""Looking up items: one by its slot, many by their namespace and fields, the namespaces there are.

Rules: the index of fields proposes and :mod:`syncmem.model.conditions` decides.  The newest come first.  Where some
condition leaves few, those are read and sorted; else items are walked from the newest on until enough are found.
Most searches are within one namespace, below which there is none: its items are walked alone, in their order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from syncmem.model.conditions import Filter, meets, operates
from syncmem.model.value import unwrapped
from syncmem.replica.catalog import Slot
from syncmem.replica.connection import Database
from syncmem.replica.items import is_sought, namespace_of, sought

FEW = 1_000  # items that are sorted rather than walked
NARROW = 100  # items among which no narrower way is looked for
_LIVE: Final = "i.valid_from <= :now AND i.valid_to > :now"
_WITHIN: Final = "i.kind = :kind AND i.space >= :space AND i.space < :beyond"
_ALONE: Final = "i.kind = :kind AND i.space = :space"
_ENDS: Final = (  # the first and the last namespace within one
    "SELECT (SELECT space FROM items WHERE kind = :kind AND space >= :space AND space < :beyond ORDER BY space), "
    "(SELECT space FROM items WHERE kind = :kind AND space >= :space AND space < :beyond ORDER BY space DESC)"
)
_COLUMNS: Final = "i.no, i.slot, s.entity, i.valid_from, i.valid_to, i.created, i.claim, i.value"
_OF_SLOT: Final = (
    "SELECT i.no, i.slot, :entity, i.valid_from, i.valid_to, i.created, i.claim, i.value FROM items i "
    f"WHERE i.slot = :slot AND {_LIVE}"
)
_SPACES: Final = (
    "WITH RECURSIVE spaces(space) AS ("
    "SELECT min(space) FROM items WHERE kind = :kind AND space >= :space AND space < :beyond UNION ALL "
    "SELECT (SELECT min(space) FROM items WHERE kind = :kind AND space > spaces.space AND space < :beyond) "
    "FROM spaces WHERE space IS NOT NULL) "
    "SELECT space FROM spaces WHERE space IS NOT NULL AND EXISTS "
    f"(SELECT 1 FROM items i WHERE i.kind = :kind AND i.space = spaces.space AND {_LIVE})"
)


class Item(NamedTuple):
    """A JSON object under a path; times in microseconds, ``value`` JSON text."""

    no: int
    slot: int
    entity: str
    updated: int
    until: int
    created: int
    claim: int
    value: str

    @property
    def path(self) -> tuple[str, ...]:
        """The namespace, and the key in it."""
        return tuple(unwrapped(self.entity))

    @property
    def content(self) -> dict[str, Any]:
        found: dict[str, Any] = unwrapped(self.value)
        return found


class _Proposed(NamedTuple):
    """What the index of fields can say of a condition: a ``test`` of its column value."""

    name: str
    test: str
    value: str | int | float


class Lookup:
    """Answers of one kind of items at one instant. Not safe for threads, like the replica."""

    def __init__(self, database: Database, kind: int, instant: int) -> None:
        self._db = database
        self._about: dict[str, Any] = {"kind": kind, "now": instant}

    def of_slot(self, slot: Slot) -> Item | None:
        """The item of a slot."""
        row = self._db.execute(_OF_SLOT, self._about | {"slot": slot.id, "entity": slot.entity}).fetchone()
        return None if row is None else Item(*row)

    def numbered(self, numbers: Sequence[int]) -> list[Item]:
        """The items of some numbers."""
        source = "json_each(:numbers) j CROSS JOIN items i ON i.no = j.value CROSS JOIN slots s ON s.id = i.slot"
        sql = f"SELECT {_COLUMNS} FROM {source}"
        return [Item(*row) for row in self._db.execute(sql, {"numbers": json.dumps(numbers)})]

    def spaces(self, space: str) -> list[tuple[str, ...]]:
        """The namespaces within one that hold any item."""
        rows = self._db.execute(_SPACES, self._about | _range(space)).fetchall()
        return [namespace_of(row[0]) for row in rows]

    def select(self, space: str, wanted: Filter, limit: int | None = None, offset: int = 0) -> list[Item]:
        """The items within a namespace that meet a filter, the newest first."""
        conditions = list(_proposals(wanted))
        about = self._about | _range(space)
        for number, condition in enumerate(conditions):
            about |= {f"name{number}": condition.name, f"value{number}": condition.value}
        first, last = self._db.execute(_ENDS, about).fetchone()
        if first is None:
            return []
        about["space"] = first
        query = self._query(conditions, about, alone=first == last)
        if not wanted:
            about |= {"limit": -1 if limit is None else limit, "offset": offset}
            return [Item(*row) for row in self._db.execute(f"{query} LIMIT :limit OFFSET :offset", about)]
        found = (item for item in map(Item._make, self._db.execute(query, about)) if meets(item.content, wanted))
        return list(islice(found, offset, None if limit is None else offset + limit))

    def _query(self, conditions: list[_Proposed], about: dict[str, Any], *, alone: bool) -> str:
        """The statement that reads what may be meant, by the narrowest way to it."""
        within = _ALONE if alone else _WITHIN
        ways = [f"SELECT 1 FROM items i WHERE {within}"]
        ways += [
            f"SELECT DISTINCT slot FROM item_fields WHERE kind = :kind AND name = :name{number} "
            f"AND {each.test.format(number)}"
            for number, each in enumerate(conditions)
        ]
        narrowest, few = None, FEW
        for number, way in enumerate(ways if conditions or not alone else ()):
            if few <= NARROW:
                break
            count = self._db.execute(f"SELECT count(*) FROM ({way} LIMIT {few})", about).fetchone()[0]
            if count < few:
                narrowest, few = number, count
        tests = [within, _LIVE] + [
            f"EXISTS (SELECT 1 FROM item_fields f WHERE f.kind = i.kind AND f.name = :name{number} "
            f"AND f.value = :value{number} AND f.slot = i.slot)"
            for number, condition in enumerate(conditions)
            if condition.test == _SAME and number + 1 != narrowest
        ]
        source = f"items i INDEXED BY {'items_space' if alone or narrowest == 0 else 'items_latest'}"
        if narrowest:
            source = f"({ways[narrowest]}) w CROSS JOIN items i INDEXED BY items_slot ON i.slot = w.slot"
        rest = f"CROSS JOIN slots s ON s.id = i.slot WHERE {' AND '.join(tests)}"
        return f"SELECT {_COLUMNS} FROM {source} {rest} ORDER BY i.valid_from DESC, i.no DESC"


_SAME: Final = "value = :value{0}"
_TESTS: Final = {
    "$gt": "value >= :value{0}",
    "$gte": "value >= :value{0}",
    "$lt": "(value <= :value{0} OR value >= '')",  # texts of numbers come after all numbers
    "$lte": "(value <= :value{0} OR value >= '')",
}


def _proposals(wanted: Filter) -> Iterator[_Proposed]:
    """The conditions that the index of fields can narrow."""
    for name, each in wanted.items():
        for sign, other in each.items() if operates(each) else [("$eq", each)]:
            if not (is_sought(other) and _bindable(name) and _bindable(other)):
                continue
            if sign == "$eq":
                yield _Proposed(name, _SAME, sought(other))
            elif sign in _TESTS and not isinstance(other, str):
                beyond = -math.inf if sign.startswith("$g") else math.inf
                yield _Proposed(name, _TESTS[sign], math.nextafter(float(other), beyond))


def _bindable(value: object) -> bool:
    """Whether SQLite can look for a value as Python does."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode() == value
    return isinstance(value, float) or (isinstance(value, int) and -(2**63) <= value < 2**64)


def _range(space: str) -> dict[str, str]:
    return {"space": space, "beyond": space[:-1] + chr(ord(space[-1]) + 1)}


def within(space: str) -> tuple[str, dict[str, str]]:
    """SQL for "live and in this namespace" of items ``i``, and its parameters beside kind and now."""
    return f"{_WITHIN} AND {_LIVE}", _range(space)
