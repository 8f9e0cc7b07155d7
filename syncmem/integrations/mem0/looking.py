"""Finding the memories of somebody, or one by its id, among what is believed and what was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any

from syncmem.errors import InvalidInput, NotFound
from syncmem.integrations.mem0.filters import owners
from syncmem.integrations.mem0.shapes import PREDICATE, Kept, is_raw, latest
from syncmem.memory import Memory
from syncmem.model.instant import to_datetime
from syncmem.results import Belief, HistoryEntry


class Looking:
    """Looks into one scope of a memory; writes nothing."""

    def __init__(self, memory: Memory, scope: str) -> None:
        self._memory = memory
        self._scope = scope

    def told(self, id: str) -> list[HistoryEntry]:
        """What was said about a memory; of one that is a belief of a single-valued predicate, all of its slot."""
        telling, entry = self._memory._telling, self._event(id)
        owner = entry.entity if entry is not None else next((row.entity for row in self._raw_rows(id)), None)
        if owner is None:
            return []
        predicate = PREDICATE if entry is None else entry.predicate or PREDICATE

        def of_it(position: int) -> bool:
            value = telling.value_of(position)
            if is_raw(value):
                return bool(value["id"] == id)
            return entry is not None and (not self._many(entry) or value == entry.value)

        return self._memory._told_where(owner, predicate, self._scope, of_it)

    def find(self, id: str) -> Kept | None:
        """What is believed under an id: of a raw memory its own, else that of an event."""
        now = self._now()
        raw = self._raw_rows(id)
        for kept in latest(Kept.of(row) for row in raw if _holds_at(row, now)):
            return kept
        entry = None if raw else self._event(id)
        if entry is None or entry.entity is None:
            return None
        found = self._memory.beliefs(entry.entity, entry.predicate, scope=self._scope)
        same = (each for each in found if not self._many(entry) or each.value == entry.value)
        return next(map(Kept.of, same), None)

    def _many(self, entry: HistoryEntry) -> bool:
        return entry.predicate is None or self._memory._definition(self._scope, entry.predicate).many

    def _raw_rows(self, id: str) -> list[Belief]:
        """The raw memories of an id, of any time; the index of words finds them."""
        if not isinstance(id, str) or not id.strip():
            return []
        try:
            found = self._memory.search(id, scope=self._scope)
        except InvalidInput:  # no word in it
            return []
        return [row for row in found if row.predicate == PREDICATE and is_raw(row.value) and row.value["id"] == id]

    def _event(self, id: str) -> HistoryEntry | None:
        try:
            return self._memory.event(id)
        except (NotFound, InvalidInput):
            return None

    def held(self, filters: Mapping[str, Any], *, past: bool = False) -> list[Kept]:
        """What is believed of an owner, and the raw memories that name it."""
        key, name = next(iter(owners(filters).items()))
        found = [Kept.of(each, key) for each in self._memory.beliefs(name, scope=self._scope)]
        if key != "user_id":
            found += [Kept.of(each, key) for each in self.raw() if each.entity != name]
        if past:
            ended = self._memory.timeline(name, PREDICATE, scope=self._scope)
            found += [kept for kept in map(Kept.of, ended) if is_raw(kept.belief.value) and _lapsed(kept)]
        return latest(found)

    def raw(self) -> Iterator[Belief]:
        for entity in self._memory.entities(scope=self._scope):
            yield from self._memory.beliefs(entity, PREDICATE, scope=self._scope)

    def today(self) -> date:
        return self._now().date()

    def _now(self) -> datetime:
        now = to_datetime(self._memory._now())
        assert now is not None, "a clock shows a time"
        return now


def _holds_at(belief: Belief, now: datetime) -> bool:
    began = belief.valid_from is None or belief.valid_from <= now
    return began and (belief.valid_to is None or now < belief.valid_to)


def _lapsed(kept: Kept) -> bool:
    """Whether it ended by its expiration date, and not by a deletion."""
    last, end = kept.value.get("expiration_date"), kept.belief.valid_to
    return isinstance(last, str) and end is not None and end.date() > date.fromisoformat(last)
