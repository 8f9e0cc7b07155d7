"""Weighing: which of the beliefs that are unsettled are worth a question first.

Rules: the order follows from what was said and when, so it is the same on every device that heard the same; what was
stated against a belief weighs more than what was guessed, what was said again more than what was said once, and else
what has been open for longest comes first, because much settles itself when the user next speaks of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncmem.model.record import CLAIM_ROLES, Record, Role
from syncmem.replica.catalog import Slot
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.unsettled import Unsettled
from syncmem.statements import TRUST_TIERS

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging

GUESS: Final = TRUST_TIERS["inference"]
WEIGHED_MAX: Final = 256  # of each kind, where only some questions are wanted: the longest open; a tenth of a second


@dataclass(frozen=True, slots=True)
class Weighed:
    """A belief worth a question.

    Attributes:
        trust: of the best word against it.
        times: how often that was said.
    """

    slot: Slot
    belief: Rectangle
    sensitive: bool
    trust: int
    times: int

    @property
    def order(self) -> tuple[object, ...]:
        """What comes first is worth more."""
        kind = (not self.sensitive, not self.belief.contested)
        return (*kind, -self.trust, -self.times, self.belief.valid_from, self.slot[1:], self.belief.value)


def weighed(memory: Judging, now: int, scope: str | None, slot: Slot | None, *, some: bool) -> list[Weighed]:
    """What is unsettled now, worth most first; ``some``: not all of it is wanted."""
    sensitive = _sensitive_predicates(memory)
    among = Unsettled(memory._replica.db, now, sensitive, scope, None if slot is None else slot.id)
    limit = WEIGHED_MAX if some else None
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
    records = memory._replica.fold.pages.records(slot.id, definition.equality)
    present = [record for record in records if record.live and record.start <= now < record.stop]
    own = next((record.key for record in records if record.position == belief.claim), None)
    said = [r.observed_at for r in present if r.role in CLAIM_ROLES and r.key == own and r.trust >= belief.trust]
    newest = max(said, default=0)
    against = [r for r in present if _is_against(r, own, many=definition.many) and r.observed_at >= newest]
    trust = max((record.trust for record in against), default=0)
    return Weighed(slot, belief, sensitive, trust, sum(record.trust == trust for record in against))


def _is_against(record: Record, own: bytes | None, *, many: bool) -> bool:
    """Whether a statement says another value, or that the value holds no longer."""
    if record.role in CLAIM_ROLES:
        return record.key != own and not many
    return record.key == own and record.role != Role.DENY
