"""Corrections of what had ended: the right value ends as the wrong one did.

Rule: ends go by value, so what ended the wrong value would leave the right one open.  A correction therefore says
them again of its own value, each naming the correction, so that they go when that is taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from syncmem.codec import pack
from syncmem.model.event import Ref, Statement, readable
from syncmem.model.record import CLAIM_ROLES, ends
from syncmem.model.subjects import MENTIONS
from syncmem.model.value import key
from syncmem.replica.replica import Replica
from syncmem.results import Decision, Receipt

_PRECISION = ("start_precision", "zone")
_SAID = ("episode", "span", "reason", MENTIONS)


def ends_of(replica: Replica, claim: int, value: Any) -> list[Statement]:
    """The ends that hit a claim, and that would not hit the same claim with another (stored) ``value``."""
    found = replica.fold.record_at(claim)
    assert found is not None
    slot, record = found
    equality = replica.catalog.predicate(slot.scope, slot.predicate).equality
    same = key(pack(value), equality) == record.key
    result = []
    for end in replica.fold.pages.records(slot.id, equality):
        acts = end.role not in CLAIM_ROLES and end.live and end.trust >= record.trust
        if acts and ends(end, record) and not (same and replica.fold.references.named_claim(end.position) != claim):
            said = readable(replica.logs.event(end.position))
            assert isinstance(said, Statement)
            result.append(said._replace(observed_at=end.observed_at))
    return result


def said_again(end: Statement, correction: Statement, named: Ref) -> Statement:
    """An end, of the value of a correction and by who corrects."""
    extra = {name: each for name, each in (end.extra or {}).items() if name in _PRECISION}
    kept = {name: each for name, each in (correction.extra or {}).items() if name in _SAID}
    return correction._replace(
        form=end.form,
        observed_at=end.observed_at,
        start=end.start,
        start_latest=end.start_latest,
        stop=None,
        then=end.then,
        refs=[named],
        extra={**extra, **kept} or None,
    )


def as_one(receipt: Receipt, ended: Sequence[Receipt]) -> Receipt:
    """The receipt of a correction with that of the ends that it says again."""
    for each in ended:
        closed = [change for change in each.closed if change not in receipt.opened]
        opened = [change for change in receipt.opened if change not in each.closed]
        receipt = replace(receipt, closed=(*receipt.closed, *closed), opened=(*opened, *each.opened), known=each.known)
    if not ended:
        return receipt
    decision = receipt.decision
    if not receipt.opened and decision in (Decision.ADD, Decision.UPDATE):
        decision = Decision.DELETE if receipt.closed else Decision.NOOP
    return replace(receipt, decision=decision, why=f"{receipt.why} It ends as what it corrects did.")
