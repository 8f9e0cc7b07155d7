"""A belief as mem0 tells of a memory, and the rows of its history.

A raw memory is one value of the many-valued predicate "memory" of its owner: a map of its ``id``, its text
(``memory``) and what mem0 keeps beside it.  Every other belief of the owner is told as a memory, too: "home_city:
Lisbon", named by the id of its event; so what was imported, extracted or said elsewhere is found.  What was handed over
with the message from which such a fact was drawn (owners, metadata, expiration) stands beside the message's episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import md5
from typing import Any, Final, TypeGuard

from syncmem.model.value import NONE
from syncmem.results import Belief, HistoryEntry

PREDICATE: Final = "memory"
BESIDE: Final = "mem0"  # under which it stands beside an episode
REPLACED: Final = "replaced by an update"  # the reason of an end that makes room
_PROMOTED: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory as mem0 knows it, and the belief that it is."""

    id: str
    text: str
    belief: Belief
    value: dict[str, Any]  # as a raw memory is stored; of other beliefs, as it would be
    handed: bool = False  # a fact that came through this interface
    others: tuple[Belief, ...] = ()  # what else is believed under the id: two devices updated it apart

    @classmethod
    def of(cls, belief: Belief, owner: str = "user_id", beside: Mapping[str, Any] | None = None) -> Kept:
        """``beside``: what was handed over with a fact; else its entity is what ``owner`` says, and that is all."""
        text = text_of(belief.predicate, belief.value)
        if is_raw(belief.value):
            return cls(belief.value["id"], text, belief, belief.value)
        fields = {"id": belief.event, **(beside or {owner: belief.entity}), "memory": text}
        return cls(str(fields["id"]), text, belief, fields, beside is not None)

    @property
    def created_at(self) -> str | None:
        return self.value.get("created_at") or moment(self.belief.valid_from)

    @property
    def fields(self) -> dict[str, Any]:
        """What filters look at."""
        times = {"created_at": self.created_at, "updated_at": moment(self.belief.valid_from)}
        return {**(self.value.get("metadata") or {}), **self._promoted(), **times}

    def item(self, **score: float | None) -> dict[str, Any]:
        """As get, get_all and search return it."""
        return {
            "id": self.id,
            "memory": self.text,
            "hash": md5(self.text.encode(), usedforsecurity=False).hexdigest(),
            "metadata": self.value.get("metadata") or None,
            **score,
            "created_at": self.created_at,
            "updated_at": moment(self.belief.valid_from),
            **self._promoted(),
        }

    @property
    def beside(self) -> dict[str, Any]:
        """What is to be handed over with it when it is said anew."""
        return {name: part for name, part in self.value.items() if name != "memory" and part is not None}

    def _promoted(self) -> dict[str, Any]:
        return {name: self.value[name] for name in _PROMOTED if name in self.value}


def is_raw(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and isinstance(value.get("id"), str) and isinstance(value.get("memory"), str)


def text_of(predicate: str, value: Any) -> str:
    if is_raw(value):
        return str(value["memory"])
    said = "none" if value is NONE else str(value)
    return said if predicate == PREDICATE else f"{predicate}: {said}"


def value_from(predicate: str, text: str) -> str:
    """The value that a belief gets from a text; the inverse of :func:`text_of`."""
    return text.removeprefix(f"{predicate}:").strip() if predicate != PREDICATE else text


def moment(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat()


def expired(kept: Kept, today: date) -> bool:
    """Whether its last day is over; as mem0, a memory holds through its expiration date."""
    last = kept.value.get("expiration_date")
    return isinstance(last, str) and last < today.isoformat()


def latest(found: Iterable[Kept]) -> list[Kept]:
    """Each id once: where two devices updated one memory apart, the later update; newest first."""
    once: dict[str, Kept] = {}
    for kept in sorted(found, key=lambda kept: (moment(kept.belief.valid_from) or "", kept.belief.event), reverse=True):
        first = once.setdefault(kept.id, kept)
        if first is not kept and first.belief != kept.belief:
            once[kept.id] = replace(first, others=(*first.others, kept.belief))
    return list(once.values())


# -- history -------------------------------------------------------------------------------------------------


def rows(id: str, told: Iterable[HistoryEntry]) -> Iterator[dict[str, Any]]:
    """The rows of one memory's history, from the statements about it."""
    before: str | None = None
    created: str | None = None
    for entry in sorted(told, key=lambda each: (moment(each.asserted_at) or "", each.event)):
        if entry.status != "live" or entry.reason == REPLACED or entry.verb not in ("remember", "end"):
            continue
        ends = entry.verb == "end"
        now = None if ends else text_of(entry.predicate or "", entry.value)
        at = moment(entry.observed_at or entry.asserted_at)
        created = created or at
        beside = entry.value if isinstance(entry.value, dict) else {}
        yield {
            "id": entry.event,
            "memory_id": id,
            "old_memory": before,
            "new_memory": now,
            "event": "DELETE" if ends else "ADD" if before is None else "UPDATE",
            "created_at": created,
            "updated_at": at,
            "is_deleted": ends,
            "actor_id": beside.get("actor_id"),
            "role": beside.get("role"),
        }
        before = now
