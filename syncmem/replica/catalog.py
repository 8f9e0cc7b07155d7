"""The catalog: numbers for slots and sources, and the predicate definitions that stand.

Rules: what is numbered here never changes its meaning, so numbers are cached; definitions are looked up
in a slot's own scope first and in the scope "vault", which every device holds, second.  Whoever looks for the slot
of an entity gets that of the name under which the entity stands: here, and nowhere else, names become one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from syncmem.model import predicate
from syncmem.model.frame import VAULT as VAULT
from syncmem.model.predicate import UNDECLARED, Predicate
from syncmem.replica.aliases import Aliases
from syncmem.replica.connection import Database
from syncmem.results import Source

_SLOTS_CACHED_MAX: Final = 50_000
USED_PREDICATES: Final = (  # as the table "used": one step of an index for each, however many slots; the last is NULL
    "WITH RECURSIVE used(name) AS (SELECT min(predicate) FROM slots UNION ALL "
    "SELECT (SELECT min(predicate) FROM slots WHERE predicate > used.name) FROM used WHERE name IS NOT NULL)"
)
_UNUSED: Final = "DELETE FROM sources WHERE id = ? AND uses <= 0"


class Slot(NamedTuple):
    id: int
    scope: str
    entity: str
    predicate: str


class Catalog:
    """Reads and writes the tables ``slots``, ``sources`` and ``predicates``."""

    def __init__(self, database: Database, aliases: Aliases) -> None:
        self._db = database
        self.aliases = aliases
        self.forget()

    def forget(self) -> None:
        """Drop all caches: another process wrote, or a transaction was rolled back."""
        self.forget_slots()
        self._sources: dict[tuple[str | None, str | None], int] = {(None, None): 0}
        self._source_of: dict[int, Source] = {0: Source()}
        rows = self._db.execute("SELECT predicate, scope, settings, claim FROM predicates").fetchall()
        self._defined = {(name, scope): predicate.read(json.loads(settings)) for name, scope, settings, _ in rows}
        self._defining: dict[tuple[str, str], int] = {(name, scope): claim for name, scope, _, claim in rows}

    # -- slots --------------------------------------------------------------------------------------

    def forget_slots(self) -> None:
        """Look slots up anew: entities stand under other names."""
        self._slots: dict[tuple[str, str, str], Slot] = {}

    def find(self, scope: str, entity: str, predicate: str) -> Slot | None:
        """The slot in which an entity's statements are, or None where nothing was ever said about it."""
        key = (scope, entity, predicate)
        slot = self._slots.get(key)
        if slot is None:
            slot = self.named(scope, self.aliases.standing(scope, entity), predicate)
            if slot is not None:
                self._remember(key, slot)
        return slot

    def named(self, scope: str, entity: str, predicate: str) -> Slot | None:
        """The slot of this very name, whoever stands under it."""
        sql = "SELECT id FROM slots WHERE entity = ? AND predicate = ? AND scope = ?"
        row = self._db.execute(sql, (entity, predicate, scope)).fetchone()
        return None if row is None else Slot(row[0], scope, entity, predicate)

    def names(self, slot: Slot) -> list[str]:
        """The entities whose statements are in a slot."""
        return self.aliases.names(slot.scope, slot.entity)

    def cached(self, scope: str, entity: str, predicate: str) -> Slot | None:
        """The slot, if it was looked up before under these very names."""
        return self._slots.get((scope, entity, predicate))

    def ensure(self, scope: str, entity: str, predicate: str) -> Slot:
        """As :meth:`find`; the slot is made if it is new."""
        slot = self.find(scope, entity, predicate)
        if slot is None:
            slot = self._made(scope, self.aliases.standing(scope, entity), predicate)
            self._remember((scope, entity, predicate), slot)
        return slot

    def make(self, *names: str) -> Slot:
        """The slot of this very name (scope, entity, predicate), made if it is new."""
        return self.named(*names) or self._made(*names)

    def _made(self, *names: str) -> Slot:
        cursor = self._db.execute("INSERT INTO slots (scope, entity, predicate) VALUES (?, ?, ?)", names)
        return Slot(int(cursor.lastrowid), *names)

    def known(self, number: int) -> Slot | None:
        """The slot of a number, or None once it was erased."""
        row = self._db.execute("SELECT id, scope, entity, predicate FROM slots WHERE id = ?", (number,)).fetchone()
        return None if row is None else Slot(*row)

    def drop(self, slot: Slot) -> None:
        """Forget a slot of which nothing is left; its number is never used again."""
        self._db.execute("DELETE FROM slots WHERE id = ?", (slot.id,))
        self.forget_slots()

    def slots_of(self, predicate: str) -> list[Slot]:
        sql = "SELECT id, scope, entity, predicate FROM slots WHERE predicate = ? ORDER BY id"
        return [Slot(*row) for row in self._db.execute(sql, (predicate,))]

    def slots_named(self, scope: str, entity: str) -> list[Slot]:
        """The slots of this very name, whoever stands under it."""
        sql = "SELECT id, scope, entity, predicate FROM slots WHERE entity = ? AND scope = ? ORDER BY predicate"
        return [Slot(*row) for row in self._db.execute(sql, (entity, scope))]

    def _remember(self, asked: tuple[str, str, str], slot: Slot) -> None:
        if len(self._slots) >= _SLOTS_CACHED_MAX:
            self._slots.clear()
        self._slots[asked] = slot

    # -- sources ------------------------------------------------------------------------------------

    def source_number(self, kind: str | None, name: str | None) -> int:
        pair = (kind, name)
        number = self._sources.get(pair)
        if number is None:
            sql = "SELECT id FROM sources WHERE coalesce(kind, '') = ? AND coalesce(name, '') = ?"
            row = self._db.execute(sql, (kind or "", name or "")).fetchone()
            if row is None:
                row = (self._db.execute("INSERT INTO sources (kind, name) VALUES (?, ?)", pair).lastrowid,)
            number = self._sources[pair] = int(row[0])
        return number

    def count_uses(self, uses: Mapping[tuple[str | None, str | None], int]) -> None:
        """Note how many statements more (or less) name a source; one that none names is forgotten."""
        for pair, count in uses.items():
            number = self.source_number(*pair)
            if number:
                self._db.execute("UPDATE sources SET uses = uses + ? WHERE id = ?", (count, number))
            if number and count < 0 and self._db.execute(_UNUSED, (number,)).rowcount:
                self._sources.pop(pair, None)
                self._source_of.pop(number, None)

    def source(self, number: int) -> Source:
        """The kind and id that a source number stands for (nothing, once it was erased)."""
        found = self._source_of.get(number)
        if found is None:
            row = self._db.execute("SELECT kind, name FROM sources WHERE id = ?", (number,)).fetchone()
            if row is None:
                return Source()
            found = self._source_of[number] = Source(row[0], row[1])
        return found

    # -- predicates ---------------------------------------------------------------------------------

    def predicate(self, scope: str, name: str) -> Predicate:
        """The definition that stands for a predicate in a scope."""
        defined = self._defined
        return defined.get((name, scope)) or defined.get((name, VAULT)) or UNDECLARED

    def defined_by(self, scope: str, name: str) -> int | None:
        """The position of the definition that stands for a predicate in a scope."""
        return self._defining.get((name, scope)) or self._defining.get((name, VAULT))

    def define(self, scope: str, name: str, settings: str | None, position: int) -> bool:
        """Let a definition (JSON text; None: none) stand; whether slots must be folded anew."""
        before = self.predicate(scope, name)
        self._db.execute("DELETE FROM predicates WHERE predicate = ? AND scope = ?", (name, scope))
        self._defined.pop((name, scope), None)
        self._defining.pop((name, scope), None)
        if settings is not None:
            self._db.execute("INSERT INTO predicates VALUES (?, ?, ?, ?)", (name, scope, settings, position))
            self._defined[name, scope] = predicate.read(json.loads(settings))
            self._defining[name, scope] = position
        after = self.predicate(scope, name)
        return (before.many, before.equality) != (after.many, after.equality)

    @contextmanager
    def defined_as(self, definitions: Mapping[tuple[str, str], Predicate | None]) -> Iterator[None]:
        """For a while, let other definitions of some (predicate, scope) stand; None: none."""
        before = self._defined
        self._defined = {pair: found for pair, found in {**before, **definitions}.items() if found is not None}
        try:
            yield
        finally:
            self._defined = before

    def defined(self) -> Iterator[tuple[str, str, Predicate]]:
        """All definitions that stand: (predicate, scope, definition)."""
        for (name, scope), definition in sorted(self._defined.items()):
            yield name, scope, definition
