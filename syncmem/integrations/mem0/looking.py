"""Finding the memories of somebody, or one by its id, among what is believed and what was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any

from syncmem.errors import InvalidInput, NotFound
from syncmem.integrations.mem0.filters import owners
from syncmem.integrations.mem0.shapes import BESIDE, PREDICATE, Kept, is_raw, latest
from syncmem.memory import Memory
from syncmem.model.event import readable
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
            if entry is None:
                return False
            return not self._many(entry) or value == entry.value or self._beside(telling.episode_of(position), id)

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
        found = [self.kept(each) for each in self._memory.beliefs(entry.entity, entry.predicate, scope=self._scope)]
        same = [each for each in found if each.id == id]
        same += [each for each in found if not self._many(entry) or each.belief.value == entry.value]
        return next(iter(same), None)

    def kept(self, belief: Belief, owner: str = "user_id") -> Kept:
        """A belief as mem0 knows it, with what was handed over with it."""
        if is_raw(belief.value):
            return Kept.of(belief)
        entry = self._event(belief.event)
        return Kept.of(belief, owner, None if entry is None else self._handed(entry.source.episode))

    def came_from(self, belief: Belief, program: str | None, trust: int) -> bool:
        """Whether all that was stated for a belief with more trust came through this interface of a program."""
        told = self._memory.history(belief.entity, belief.predicate, scope=self._scope)
        stated = [each for each in told if each.status == "live" and each.verb in ("remember", "affirm")]
        return all(
            each.source.id == program and self._handed(each.source.episode) is not None
            for each in stated
            if each.trust > trust and each.value == belief.value
        )

    def _handed(self, episode: object) -> dict[str, Any] | None:
        """What was handed over with a message, if it came through this interface."""
        try:
            beside = self._memory.episode(episode).beside if isinstance(episode, str) else None
        except NotFound:
            return None
        found = (beside or {}).get(BESIDE)
        return found if isinstance(found, dict) else None

    def _beside(self, episode: object, id: str) -> bool:
        return (self._handed(episode) or {}).get("id") == id

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
        about = [name, *sorted(self._mentioning(name) - {name})]
        found = [self.kept(each, key) for one in about for each in self._memory.beliefs(one, scope=self._scope)]
        if past:
            ended = self._memory.timeline(name, PREDICATE, scope=self._scope)
            found += [kept for kept in map(Kept.of, ended) if is_raw(kept.belief.value) and _lapsed(kept)]
        return latest(found)

    def _mentioning(self, name: str) -> set[str]:
        """About whom it was said, or who said it, where an owner is named as another one's."""
        replica, found = self._memory._replica, set()
        with self._memory._looking():
            rows = replica.db.execute("SELECT position FROM mentions WHERE entity = ?", (name,)).fetchall()
            for (position,) in rows:
                said = readable(replica.logs.event(position))
                found.add(getattr(said, "speaker", None) or getattr(said, "entity", None))
        return {each for each in found if each is not None}

    def added(self, program: str | None) -> Iterator[Kept]:
        """Everybody's raw memories, and the facts that came through this interface of a program."""
        for entity in self._memory.entities(scope=self._scope):
            for belief in self._memory.beliefs(entity, scope=self._scope):
                kept = self.kept(belief)
                if belief.predicate == PREDICATE or (kept.handed and belief.source.id == program):
                    yield kept

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
