"""Keeping: a memory as a store of JSON objects under paths, for the interfaces of others.

Rules: one object is one slot (the path is the entity, :func:`~syncmem.replica.items.entity_of`), single-valued.
Putting is a claim that supersedes, deleting an end; so all of it keeps its history, syncs, and is recalled like any
belief.  An object with a lease lapses when nobody read or wrote it for so long, at most a twentieth later: a reading
renews the lease only where that much of it has gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from syncmem import statements
from syncmem.errors import InvalidInput
from syncmem.memory import Memory
from syncmem.model.conditions import Filter
from syncmem.model.event import Kind, Payload, Statement, readable
from syncmem.model.instant import FOREVER
from syncmem.model.value import from_stored
from syncmem.recall.item_vectors import ItemVectors, Lacking
from syncmem.replica.catalog import VAULT
from syncmem.replica.items import entity_of, space_of
from syncmem.replica.lookup import Item, Lookup
from syncmem.results import Source
from syncmem.statements import Bounds, Words

INDEX: Final = "index"  # in ``extra`` of a claim: by which of its fields it is found; false: by none
_SPARE: Final = 20  # a lease is so much of itself longer than what was asked for
Path = tuple[str, ...]
Ranked = tuple[float | None, Item]


@dataclass(frozen=True, slots=True)
class Put:
    """An object under a path; ``value`` None deletes it, ``lease`` lets it lapse, ``index`` names its fields."""

    path: Path
    value: dict[str, Any] | None
    lease: timedelta | None = None
    index: bool | list[str] | None = None


class Keeping:
    """The objects under one predicate of a memory, which stays the caller's to close.

    >>> with Memory(":memory:") as memory:
    ...     keeping = Keeping(memory, "note")
    ...     keeping.put([Put(("ana", "1"), {"n": 1, "text": "likes tea"})])
    ...     keeping.put([Put(("ana", "2"), {"n": 2, "text": "dances"})])
    ...     keeping.get(("ana", "1")).content, [item.path for item in keeping.select(("ana",), {"n": {"$gt": 1}})]
    ({'n': 1, 'text': 'likes tea'}, [('ana', '2')])
    """

    def __init__(
        self,
        memory: Memory,
        predicate: str,
        *,
        description: str | None = None,
        scope: str = VAULT,
        trust: int | str = "inference",
        source: Source | str | None = None,
    ) -> None:
        self._memory = memory
        self._replica = memory._replica
        self._predicate = statements.name("predicate", predicate)
        self._said: Words = memory._words(
            scope=scope, trust=trust, source=source, observed_at=None, batch=None, reason=None, zone="UTC"
        )
        with memory._looking():
            kind = self._replica.index.items.kind(self._predicate, self._said.scope)
            ready = kind is not None and self._definition.declared
        if not ready:
            with memory.transaction():
                if not self._definition.declared:
                    memory.define(predicate, cardinality="single", description=description, scope=scope)
                kind = self._replica.index.items.begin(self._predicate, self._said.scope)
        assert kind is not None
        self._kind = kind

    # -- reading ------------------------------------------------------------------------------------

    def get(self, path: Path) -> Item | None:
        """The object under a path, if there is one."""
        entity = entity_of(path)
        with self._memory._lock:  # what is found in the file is current, whoever wrote it meanwhile
            slot = self._replica.catalog.cached(self._said.scope, entity, self._predicate)
            if slot is not None and slot.entity == entity:
                self._replica.db.check_usable()
                if (found := self._lookup().of_slot(slot)) is not None:
                    return found
        with self._memory._looking():
            return self._get(self._lookup(), entity)

    def select(self, namespace: Path, wanted: Filter, limit: int | None = None, offset: int = 0) -> list[Item]:
        """The objects within a namespace that meet a filter, the newest first."""
        with self._memory._looking():
            return self._lookup().select(space_of(namespace), wanted, limit, offset)

    def namespaces(self, within: Path = ()) -> list[Path]:
        """The namespaces that hold any object."""
        with self._memory._looking():
            return self._lookup().spaces(space_of(within))

    # -- writing ------------------------------------------------------------------------------------

    def put(self, puts: Sequence[Put]) -> None:
        """Write objects, all or none.

        Raises:
            InvalidInput: a path or an object that cannot be kept; nothing was written.
        """
        if not puts:
            return
        with self._memory.transaction():
            lookup = self._lookup()
            events = [event for put in puts for event in self._events(lookup, put)]
            if events:
                self._replica.append(self._said.scope, events)

    def renew(self, items: Sequence[Item]) -> None:
        """Objects were read: renew the leases that it is time to renew."""
        leased = [item for item in items if item.until < FOREVER]
        if not leased:
            return
        with self._memory._looking():
            due = [(item, lease) for item in leased if (lease := self._lease(item)) is not None]
        if due:
            with self._memory.transaction():
                said = [(Kind.AFFIRM, self._claim(i.path, i.content, lease, None)) for i, lease in due]
                self._replica.append(self._said.scope, said)

    def _events(self, lookup: Lookup, put: Put) -> list[tuple[Kind, Payload]]:
        if put.value is not None:
            lease = None if put.lease is None else put.lease + put.lease / _SPARE
            return [(Kind.CLAIM, self._claim(put.path, put.value, lease, put.index))]
        entity = entity_of(put.path)
        held = self._get(lookup, entity)
        if held is None:
            return []
        value = from_stored(held.value)
        return [(Kind.END, statements.ending(entity, self._predicate, value, self._said, None, False, None))]

    def _claim(self, path: Path, value: dict[str, Any], lease: timedelta | None, index: Any) -> Statement:
        try:
            claim = statements.claim(
                entity_of(path), self._predicate, value, self._said, Bounds(ttl=lease), self._definition, self._now()
            )
        except InvalidInput as error:
            raise InvalidInput(f"{'/'.join(path)}: {error}") from error
        return claim if index is None else claim._replace(extra={**(claim.extra or {}), INDEX: index})

    def _lease(self, item: Item) -> timedelta | None:
        """The lease that an object was last given, if enough of it has gone."""
        equality = self._definition.equality
        records = self._replica.fold.pages.records(item.slot, equality, b"")
        lease = max((record.stop - record.anchor for record in records if record.stop == item.until), default=0)
        left = item.until - self._now()
        return timedelta(microseconds=lease) if left * (_SPARE + 1) < lease * _SPARE else None

    # -- what is alike ------------------------------------------------------------------------------

    def vectors(self, model: str) -> ItemVectors:
        """The vectors of these objects under a model."""
        with self._memory._lock:
            return ItemVectors(self._replica, self._kind, model)

    def lacking(self, vectors: ItemVectors, most: int) -> list[tuple[Lacking, bool | list[str] | None]]:
        """Objects whose vectors are to be made, each with what was said of its index."""
        with self._memory._looking():
            return [(each, self._index_of(each.claim)) for each in vectors.lacking(most)]

    def keep_vectors(self, vectors: ItemVectors, done: int, made: Sequence[tuple[int, str, bytes]]) -> None:
        """Store (item number, path, vector) for all objects up to number ``done``."""
        with self._memory.transaction():
            vectors.keep(done, made)

    def nearest(
        self, vectors: ItemVectors, namespace: Path, wanted: Filter, asked: bytes, limit: int, offset: int
    ) -> list[Ranked]:
        """The objects most like a question; behind them those without a vector, the newest first."""
        with self._memory._looking():
            lookup, space, instant = self._lookup(), space_of(namespace), self._now()
            meant = {item.no: item for item in lookup.select(space, wanted)} if wanted else None
            among = None if meant is None else list(meant)
            best = vectors.nearest(instant, space, among, asked, offset + limit)
            held = {item.no: item for item in lookup.numbered([no for _, no in best])} if meant is None else meant
            ranked: list[Ranked] = [(likeness, held[no]) for likeness, no in best]
            if len(ranked) < offset + limit:
                seen = {no for _, no in best}
                ranked += [(None, item) for item in lookup.select(space, wanted) if item.no not in seen]
            return ranked[offset : offset + limit]

    def _index_of(self, claim: int) -> bool | list[str] | None:
        said = readable(self._replica.logs.event(claim))
        found = (said.extra or {}).get(INDEX) if isinstance(said, Statement) else None
        named = type(found) is list and all(type(name) is str for name in found)
        return found if named or type(found) is bool else None

    # -- how ----------------------------------------------------------------------------------------

    @property
    def _definition(self) -> Any:
        return self._replica.catalog.predicate(self._said.scope, self._predicate)

    def _now(self) -> int:
        """The present, as :mod:`syncmem.replica.items` has it."""
        return max(self._memory._now(), self._replica.index.items.present)

    def _lookup(self) -> Lookup:
        return Lookup(self._replica.db, self._kind, self._now())

    def _get(self, lookup: Lookup, entity: str) -> Item | None:
        slot = self._replica.catalog.find(self._said.scope, entity, self._predicate)
        return None if slot is None else lookup.of_slot(slot)
