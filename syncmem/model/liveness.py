"""Which events are live: not undone, withdrawn with their batch, retracted, corrected or denied.

Rules, in the order in which they are read: what a removed device wrote behind its cut never acts; undo
first (an undo may itself be undone), then batches (which take everything along but undos and
withdrawals), then retractions and corrections (which reach the twins of what they name, whenever those
arrive), then what an event rests on: the claim that an end names, the claims that a claim is derived from
(:mod:`syncmem.model.grounds`).  Denials are decided where the records of a slot are at hand
(:func:`denied`).  Authority: the
actor's trust is at least the target's, or both carry the same stated source and the same device.  What
does not act leaves its target disputed.

References are hash pointers, so only a device that lies about what it moved (:mod:`syncmem.model.moved`) can
write a circle of them; what would rest on itself does not act there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from syncmem.model.event import Ref
from syncmem.model.grounds import Grounds
from syncmem.model.record import (
    DEAD,
    DENIED,
    DETACHED,
    DISPUTED,
    DOUBTED,
    RETRACTED,
    UNDONE,
    UNFOUNDED,
    WITHDRAWN,
    Record,
    denies,
)


class Relation(IntEnum):
    """How one event refers to another."""

    RETRACTS = 1
    CORRECTS = 2
    UNDOES = 3
    ENDS = 4
    RESTS_ON = 5  # a claim is derived from it


_RETRACTING = (Relation.RETRACTS, Relation.CORRECTS)


@dataclass(frozen=True, slots=True)
class Actor:
    """What authority and liveness need to know of an event."""

    position: int
    trust: int
    source: tuple[str | None, str | None] | None  # (kind, id) as stated, None where nothing is
    device: bytes
    batch: tuple[str, str] | None  # (scope, name); None also for undos and withdrawals, which no batch takes along
    retractable: bool  # a claim, an end or a denial
    corrects: bool = False  # a claim or a denial that names others
    twins: bytes | None = None  # what it shares with its twins, see :mod:`syncmem.model.evidence`
    roots: tuple[Ref, ...] | None = None  # what a derived claim names
    ends: tuple[Ref, ...] = ()  # what an end names
    corroborated_by: int = 0  # so many independent sources it says that it has


class Links(Protocol):
    """Where events and the references between them are looked up."""

    def actor(self, position: int) -> Actor | None:
        """The event, or None while it has not arrived."""

    def links_to(self, position: int) -> Sequence[tuple[Relation, int]]:
        """The references that name an event: how, and the position of the event that does."""

    def withdrawals(self, batch: tuple[str, str]) -> Sequence[int]:
        """Positions of the events that withdraw a batch."""

    def named_twins(self, actor: Actor) -> Sequence[int]:
        """The twins of a statement (not itself) that others name."""

    def roots(self, claim: Actor) -> Sequence[int | None]:
        """The claims that a derived claim names; None for one that has not arrived, or is none that is meant."""

    def named_claim(self, position: int) -> int | None:
        """The claim that an end names, if it has arrived and is the one meant."""

    def claim_denied(self, position: int) -> bool:
        """Whether a claim is denied."""

    def excluded(self, position: int) -> bool:
        """Whether the event's device was removed, and it stands behind the cut."""


def may_act(actor: Actor, target: Actor) -> bool:
    """Whether ``actor`` has the authority to take ``target`` back."""
    if actor.trust >= target.trust:
        return True
    return actor.source is not None and actor.source == target.source and actor.device == target.device


class Liveness:
    """Liveness of events, over all events or over those that ``visible`` admits (as-of questions)."""

    def __init__(self, links: Links, visible: Callable[[int], bool] | None = None) -> None:
        self._links = links
        self._visible = visible or (lambda position: True)
        self._looked_at: set[int] = set()  # events that the question asked just now depends on
        self.grounds = Grounds(links, self._stands_by_itself)

    def status(self, position: int) -> int:
        """The status flags of an event (denials apart)."""
        target = self._links.actor(position)
        if target is None:
            return 0
        flags = self._undone(target) | self._withdrawn(target)
        if self._links.excluded(position):
            flags |= WITHDRAWN
        if target.retractable:
            flags |= self._retracted(target)
            claim = self._links.named_claim(position)
            if claim is not None and self._visible(claim) and self._gone(claim):
                flags |= DETACHED
            if target.roots is not None and self.grounds.lacking(position) is not None:
                flags |= UNFOUNDED
        return flags

    def status_of(self, record: Record) -> int:
        return self.status(record.position)

    def undone(self, position: int) -> bool:
        """Whether an undo that stands takes an event back."""
        target = self._links.actor(position)
        return target is not None and bool(self._undone(target) & UNDONE)

    def acts(self, position: int) -> bool:
        """Whether an event that takes others back stands: neither excluded, undone nor withdrawn."""
        actor = None if self._links.excluded(position) else self._links.actor(position)
        return actor is not None and not (self._undone(actor) | self._withdrawn(actor)) & (UNDONE | WITHDRAWN)

    def _undone(self, target: Actor) -> int:
        naming = [p for relation, p in self._links.links_to(target.position) if relation == Relation.UNDOES]
        return self._verdict(target, naming, UNDONE, self._stands)

    def _retracted(self, target: Actor) -> int:
        return self._verdict(target, (actor for _, actor in self._retracting(target)), RETRACTED, self.acts)

    def retracted_as(self, position: int) -> set[int]:
        """By which names a statement is retracted or corrected: its own, those of twins."""
        target = self._links.actor(position)
        if target is None:
            return set()
        return {
            named
            for named, by in self._retracting(target)
            if self._visible(by) and self.acts(by) and (actor := self._links.actor(by)) and may_act(actor, target)
        }

    def _retracting(self, target: Actor) -> Iterator[tuple[int, int]]:
        """Who is named, the statement or a twin of it, and by which event that retracts or corrects.

        A correction reaches no twin that is one itself: else two corrections of one text would take each other back.
        """
        for relation, position in self._links.links_to(target.position):
            if relation in _RETRACTING:
                yield target.position, position
        for twin in self._links.named_twins(target) if target.twins is not None else ():
            for relation, position in self._links.links_to(twin) if self._visible(twin) else ():
                if relation == Relation.RETRACTS or (relation == Relation.CORRECTS and not target.corrects):
                    yield twin, position

    def _withdrawn(self, target: Actor) -> int:
        if target.batch is None:
            return 0
        return self._verdict(target, self._links.withdrawals(target.batch), WITHDRAWN, self._stands)

    def _verdict(self, target: Actor, actors: Iterable[int], flag: int, acts: Callable[[int], bool]) -> int:
        result = 0
        for position in actors:
            actor = self._links.actor(position) if self._visible(position) else None
            if actor is None or position in self._looked_at:
                continue
            self._looked_at.add(position)
            if acts(position):
                result |= flag if may_act(actor, target) else DISPUTED
            self._looked_at.discard(position)
        return result

    def _stands(self, position: int) -> bool:
        actor = None if self._links.excluded(position) else self._links.actor(position)
        return actor is not None and not self._undone(actor) & UNDONE

    def _gone(self, claim: int) -> bool:
        return bool(self.status(claim) & DEAD) or self._links.claim_denied(claim)

    def _stands_by_itself(self, claim: int) -> bool:
        """Whether a claim is visible and live, whatever it is derived from."""
        target = self._links.actor(claim) if self._visible(claim) and not self._links.excluded(claim) else None
        if target is None:
            return False
        gone = self._undone(target) | self._withdrawn(target) | self._retracted(target)
        return not gone & DEAD and not self._links.claim_denied(claim)


def denied(claim: Record, denials: Sequence[Record]) -> int:
    """The flags that live denials of its slot give a claim."""
    flags = 0
    for denial in denials:
        if denies(denial, claim):
            flags |= DENIED if denial.trust >= claim.trust else DOUBTED
    return flags
