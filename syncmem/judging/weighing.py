"""Weighing: which of the beliefs that are unsettled are worth a question first.

Rules: the order follows from what was said and when, so it is the same on every device that heard the same; what was
stated against a belief weighs more than what was guessed, what was said again more than what was said once, and else
what has been open for longest comes first, because much settles itself when the user next speaks of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncmem.model.plain import TIE_WINDOW
from syncmem.model.record import CLAIM_ROLES, Record, Role
from syncmem.model.sweep import sweep
from syncmem.replica.catalog import Slot
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.timelines import SINGLE, lane_of, spread_over_lanes
from syncmem.replica.unsettled import Unsettled
from syncmem.statements import TRUST_TIERS

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging

END_ROLES: Final = frozenset({Role.END_STATE, Role.END_CHANGE})
GUESS: Final = TRUST_TIERS["inference"]
WEIGHED_MAX: Final = 256  # of each kind, the longest open, where fewer questions are wanted: a tenth of a second


@dataclass(frozen=True, slots=True)
class Weighed:
    """A belief worth a question.

    Attributes:
        winner: the position of the claim that wins now.
        rivals: of claims that contradict it, and lost all the same.
        guesses: of other claims that have no more trust than it has: what a guess replaced.
        trust: of the best word against it.
        times: how often that was said.
    """

    slot: Slot
    belief: Rectangle
    sensitive: bool
    winner: int
    rivals: tuple[int, ...]
    guesses: tuple[int, ...]
    trust: int
    times: int

    @property
    def order(self) -> tuple[object, ...]:
        """What comes first is worth more."""
        kind = (not self.sensitive, not self.belief.contested)
        return (*kind, -self.trust, -self.times, self.belief.valid_from, self.slot[1:], self.belief.value)


def weighed(memory: Judging, now: int, scope: str | None, slot: Slot | None, wanted: int | None) -> list[Weighed]:
    """What is unsettled now, worth most first; at least as many as are wanted (None: all)."""
    sensitive = _sensitive_predicates(memory)
    among = Unsettled(memory._replica.db, now, sensitive, scope, None if slot is None else slot.id)
    limit = None if wanted is None else max(wanted, WEIGHED_MAX)
    found = among.contested(limit) + among.guessed(GUESS, limit)
    told = [_weigh(memory, where, belief, now, (where.scope, where.predicate) in sensitive) for where, belief in found]
    return sorted(told, key=lambda each: each.order)


def _sensitive_predicates(memory: Judging) -> set[tuple[str, str]]:
    """(scope, predicate) of all that is sensitive and of which anything was said."""
    catalog = memory._replica.catalog
    scopes = [row[0] for row in memory._replica.db.execute("SELECT DISTINCT scope FROM slots").fetchall()]
    names = {name for name, _, each in catalog.defined() if each.sensitive}
    return {(scope, name) for scope in scopes for name in names if catalog.predicate(scope, name).sensitive}


def _weigh(memory: Judging, slot: Slot, belief: Rectangle, now: int, sensitive: bool) -> Weighed:
    definition = memory._replica.catalog.predicate(slot.scope, slot.predicate)
    held = [r for r in memory._replica.fold.pages.records(slot.id, definition.equality) if r.counts]
    key = next(record.key for record in held if record.position == belief.claim)
    lane = spread_over_lanes(held, definition.many)[lane_of(key) if definition.many else SINGLE]
    winner = _winner(lane, now)
    covering = [r for r in lane if r.role in CLAIM_ROLES and r.key != winner.key and r.start <= now < r.stop]
    rivals = [record for record in covering if _is_rival(record, winner)]
    ends = [r for r in lane if r.role in END_ROLES and r.key == winner.key and r.observed_at >= winner.observed_at]
    against = rivals or ends
    trust = max((record.trust for record in against), default=0)
    times = sum(record.trust == trust for record in against)
    guesses = [record for record in covering if record.trust <= belief.trust]
    others = _positions(rivals), _positions(guesses)
    return Weighed(slot, belief, sensitive, winner.position, *others, trust, times)


def _positions(records: list[Record]) -> tuple[int, ...]:
    return tuple(record.position for record in records)


def _winner(lane: list[Record], now: int) -> Record:
    """The claim that wins now among those of a lane in which something is believed."""
    segments, _ = sweep(lane)
    last = next(segment for segment in reversed(segments) if segment.start <= now)
    assert last.winner is not None, "what is believed has a winner"
    return last.winner


def _is_rival(record: Record, winner: Record) -> bool:
    """Whether a claim was observed later and lost all the same, or ties the winner."""
    tied = record.trust == winner.trust and winner.observed_at - record.observed_at <= TIE_WINDOW
    return record.observed_at > winner.observed_at or tied
