"""Items: JSON objects under paths, kept so that many are looked up at once, in step with the rectangles.

Rules: an *item* is a current rectangle of a slot whose entity is a path (a JSON list of two texts or more: a
namespace, and a key in it), whose predicate is kept (:meth:`Items.begin`) and whose value is a JSON object.  All of it
is derived from the rectangles, in the transaction in which they change; nothing is kept while no predicate is.
What ended before the *present* (the time of the latest writing) is not here; what is to end or to begin carries its
times, so nothing is due when time passes.  A clock that goes far back brings the present back with it.
``item_fields`` proposes: it lacks long texts, and all items of a slot share its fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any, Final, NamedTuple

from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.plain import TIE_WINDOW
from syncmem.model.subjects import path_of
from syncmem.model.text import is_writable, normalized
from syncmem.replica.connection import Database
from syncmem.replica.rectangles import Change

TEXT_LETTERS_MAX: Final = 64  # of a text by which something is found: a name or a tag, not what is told
_CURRENT: Final = f"slot = ?1 AND lane = x'' AND known_to = {FOREVER}"
_OPEN: Final = (
    f"SELECT valid_from, valid_to, claim, value FROM beliefs WHERE {_CURRENT} AND valid_to > ?2 ORDER BY valid_from"
)
_BEFORE: Final = f"SELECT valid_from FROM beliefs WHERE {_CURRENT} AND valid_from < ?2 AND valid_to = ?2"
_KEPT: Final = "SELECT valid_from, no, kind, valid_to, created, claim, value FROM items WHERE slot = ?"
_FIELD: Final = "INSERT INTO item_fields VALUES (?, ?, ?, ?)"
_FORGET_FIELD: Final = "DELETE FROM item_fields WHERE kind = ? AND name = ? AND value = ? AND slot = ?"
_PUT: Final = (
    "INSERT INTO items (kind, slot, space, valid_from, valid_to, created, claim, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


class _Row(NamedTuple):
    no: int  # 0: it stays as it is
    kind: int
    valid_to: int
    created: int
    claim: int
    value: str


class Items:
    """Reads and writes ``item_kinds``, ``items`` and ``item_fields``."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._kinds: dict[tuple[str, str], int] = {}
        self.present = 0

    def forget(self) -> None:
        """Look again which predicates are kept."""
        rows = self._db.execute("SELECT predicate, scope, no, present FROM item_kinds").fetchall()
        self._kinds = {(predicate, scope): no for predicate, scope, no, _ in rows}
        self.present = max((row[3] for row in rows), default=0)

    def kind(self, predicate: str, scope: str) -> int | None:
        """The number of a predicate in a scope, if its items are kept."""
        return self._kinds.get((predicate, scope))

    def begin(self, predicate: str, scope: str) -> int:
        """Keep the items of a predicate from now on; its number. Inside a write transaction."""
        known = self.kind(predicate, scope)
        if known is not None:
            return known
        row = (predicate, scope, self.present)
        self._db.execute("INSERT INTO item_kinds (predicate, scope, present) VALUES (?, ?, ?)", row)
        self.forget()
        self._keep_all(predicate, scope)
        return self._kinds[predicate, scope]

    def anew(self) -> None:
        """Everything derived was folded anew, and slots may have other numbers."""
        if self._kinds:
            for table in ("items", "item_fields", "item_vectors"):
                self._db.execute(f"DELETE FROM {table}")
            for predicate, scope in list(self._kinds):
                self._keep_all(predicate, scope)

    def _keep_all(self, predicate: str, scope: str) -> None:
        rows = self._db.execute("SELECT id FROM slots WHERE predicate = ? AND scope = ?", (predicate, scope))
        for (slot,) in rows.fetchall():
            self._keep(slot, None)

    def follow(self, changes: Iterable[Change], wall: int) -> None:
        """Do as the rectangles did; inside their transaction. A change without rectangles: the slot was told anew."""
        if not self._kinds:
            return
        back = wall < self.present - TIE_WINDOW
        if back or wall > self.present:
            self.present = wall
            self._db.execute("UPDATE item_kinds SET present = ?", (wall,))
        if back:
            self.anew()
        since: dict[int, int | None] = {}
        for slot, lane, removed, added in changes:
            starts = [rectangle.valid_from for rectangle in (*removed, *added)]
            known = since.get(slot, FOREVER)
            since[slot] = None if known is None or lane or not starts else min(known, *starts)
        for slot, first in since.items():
            self._keep(slot, first)

    def drop(self, slot: int) -> None:
        """A slot of which nothing is left: its items are not here."""
        if self._kinds:
            before = {start: _Row(*row) for start, *row in self._db.execute(_KEPT, (slot,)).fetchall()}
            self._exchange(slot, before, [])

    def _keep(self, slot: int, changed_from: int | None) -> None:
        """Make the items of a slot what its rectangles say; before ``changed_from`` those are as they were."""
        names = self._db.execute("SELECT predicate, scope, entity FROM slots WHERE id = ?", (slot,)).fetchone()
        kind = None if names is None else self._kinds.get((names[0], names[1]))
        if kind is None:
            return
        before = {start: _Row(*row) for start, *row in self._db.execute(_KEPT, (slot,)).fetchall()}
        space = space_in(names[2])
        found = self._currents(slot, before, changed_from) if space else []
        new: list[tuple[Any, ...]] = []
        for start, end, created, claim, value in found:
            old = before.get(start)
            if old is not None and old[3:] == (created, claim, value):
                if old.valid_to != end:
                    self._db.execute("UPDATE items SET valid_to = ? WHERE no = ?", (end, old.no))
                before[start] = old._replace(no=0)  # it stays
            elif value.startswith("{"):
                new.append((kind, slot, space, start, end, created, claim, value))
        self._exchange(slot, before, new)

    def _currents(
        self, slot: int, before: dict[int, _Row], changed_from: int | None
    ) -> list[tuple[int, int, int, int, str]]:
        """The rectangles of a slot that have not ended: start, end, since when it holds any value, claim, value."""
        since = self.present if changed_from is None else min(changed_from, self.present)
        begun = {start: row.created for start, row in before.items() if changed_from is not None and start <= since}
        found: list[tuple[int, int, int, int, str]] = []
        last = (BEGINNING, BEGINNING)  # the end of the one before, and since when the slot had held any value by then
        for start, end, claim, value in self._db.execute(_OPEN, (slot, since)).fetchall():
            created = begun.get(start)
            if created is None:
                created = last[1] if last[0] == start else self._begun(slot, start)
            last = end, created
            if end > self.present:
                found.append((start, end, created, claim, value))
        return found

    def _begun(self, slot: int, start: int) -> int:
        """Since when the slot has held any value without a gap before ``start``."""
        while (row := self._db.execute(_BEFORE, (slot, start)).fetchone()) is not None:
            start = row[0]
        return start

    def _exchange(self, slot: int, before: dict[int, _Row], new: list[tuple[Any, ...]]) -> None:
        """Take out the rows of a slot that do not stay, put new ones in, and let its fields follow."""
        gone = [row for row in before.values() if row.no]
        if not gone and not new:
            return
        kinds = {row.kind for row in gone} | {row[0] for row in new}
        assert len(kinds) == 1, "a slot has one predicate"
        (kind,) = kinds
        stay = fields_of([*(row.value for row in before.values() if not row.no), *(row[-1] for row in new)])
        were = fields_of([row.value for row in before.values()])
        for sql, changed in ((_FORGET_FIELD, were - stay), (_FIELD, stay - were)):
            if changed:
                self._db.executemany(sql, [(kind, name, value, slot) for name, value in changed])
        for row in gone:
            self._db.execute("DELETE FROM item_vectors WHERE item = ?", (row.no,))
            self._db.execute("DELETE FROM items WHERE no = ?", (row.no,))
        for each in new:
            self._db.execute(_PUT, each)


# -- paths and fields -----------------------------------------------------------------------------------


def entity_of(path: Sequence[str]) -> str:
    """The entity of a path.

    >>> entity_of(("users", "ana", "prefs"))
    '["users","ana","prefs"]'
    """
    return space_of(path)[:-1] + "]"


def space_of(namespace: Sequence[str]) -> str:
    """How the entities of all paths in a namespace begin; each of its texts is written in one way.

    >>> space_of(("users", "ana"))
    '["users","ana",'
    """
    return "[" + "".join(_word(label) + "," for label in namespace)


def namespace_of(space: str) -> tuple[str, ...]:
    """The namespace of :func:`space_of`."""
    return tuple(json.loads(space[:-1] + "]"))


def space_in(entity: str) -> str | None:
    """The namespace in which the path is that an entity is, if it is one, as :func:`space_of` writes it."""
    path = path_of(entity)
    if path is None:
        return None
    space = space_of(path[:-1])
    return space if f"{space}{_word(path[-1])}]" == entity else None


def _word(label: str) -> str:
    """A text as JSON, with escapes where an entity could not hold it as it is."""
    plain = encode_basestring(label)
    if plain.isascii():
        return plain
    return plain if is_writable(plain) and normalized(plain) == plain else encode_basestring_ascii(label)


def fields_of(values: Iterable[str]) -> set[tuple[str, str | int | float]]:
    """The plain fields of JSON objects by which they are found."""
    objects = map(json.loads, values)
    return {(name, sought(each)) for one in objects for name, each in one.items() if is_sought(each)}


def is_sought(field: object) -> bool:
    """Whether there is an entry for a field: a number, or a text that is short or a number."""
    if isinstance(field, str):
        return len(field) <= TEXT_LETTERS_MAX or _is_number(field)
    return isinstance(field, (int, float))


def sought(field: Any) -> str | int | float:
    """A field as it is looked up: a text, or a number as SQLite holds it."""
    if isinstance(field, str):
        return field
    return int(field) if -(2**63) <= field < 2**63 and field == int(field) else float(field)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
