"""Regrouping: statements go to the slots of the names under which their entities stand from now on.

Rules: only slots of names that moved are looked at; one that loses something is folded anew, one that gains claims
folds those in, as if they had just arrived, unless denials or clocks have to be looked at again; every event keeps the
entity that it names, so that a link and its undoing leave no trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from syncmem.model.record import BY_DENIAL
from syncmem.replica.catalog import Catalog, Slot
from syncmem.replica.connection import Database
from syncmem.replica.timelines import Timelines, Work


class Regrouping:
    """Turns names that moved into work on slots."""

    def __init__(self, database: Database, catalog: Catalog, timelines: Timelines) -> None:
        self._db = database
        self._catalog = catalog
        self._timelines = timelines

    def regroup(self, moved: Sequence[tuple[str, str, str]], work: dict[Slot, Work]) -> None:
        """Move what was said about entities; ``moved``: (scope, entity, where it stood)."""
        for scope, name in sorted({(scope, before) for scope, _, before in moved}):
            for slot in self._catalog.slots_named(scope, name):
                self._sort_out(slot, work)
        for scope, entity, before in moved:
            for predicate in self._denied_predicates(scope, entity):
                home = self._catalog.ensure(scope, entity, predicate)
                for slot in filter(None, (home, self._catalog.named(scope, before, predicate))):
                    work.setdefault(slot, Work()).rebuild = True

    def _sort_out(self, slot: Slot, work: dict[Slot, Work]) -> None:
        """Send the claims and ends of a slot that belong elsewhere to where they belong."""
        item = work.get(slot, Work())
        unsettled = item.rebuild
        for record in [*self._timelines.records(slot), *item.new]:
            entity = self._timelines.entity_of(record.position)
            assert entity is not None, "a slot holds statements"
            home = self._catalog.ensure(slot.scope, entity, slot.predicate)
            if home == slot:
                continue
            item.gone.add(record.position)
            item.rebuild = True
            work[slot] = item
            gaining = work.setdefault(home, Work())
            gaining.new.append(record)
            gaining.rebuild |= unsettled or record.flags & BY_DENIAL != 0 or self._timelines.has_denials(home)
        item.new = [record for record in item.new if record.position not in item.gone]

    def _denied_predicates(self, scope: str, entity: str) -> list[str]:
        sql = "SELECT DISTINCT predicate FROM denials WHERE entity = ? AND scope = ? ORDER BY predicate"
        return [row[0] for row in self._db.execute(sql, (entity, scope)).fetchall()]
