"""Receipts: what a write came to, read off the rectangles that it closed and began.

Rule: the receipt says what *this* device saw; the fold decides, on every device, what holds.

========== =====================================================================================
ADD        the value holds where nothing was believed
UPDATE     the value holds where another one was believed (or a definition changed what is believed)
DELETE     something believed is believed no longer, and nothing took its place
NOOP       no value that is believed has changed, at most why it is; the event is kept all the same, as evidence
CONTESTED  what was said did not win, and the slot now says that something contradicts its belief
========== =====================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from syncmem.model.event import Kind
from syncmem.model.value import Equality, same_stored
from syncmem.replica.rectangles import Change, Rectangle
from syncmem.results import Belief, Decision

_SAYS_SOMETHING = frozenset({Kind.CLAIM, Kind.AFFIRM})


def decide(kind: Kind, changes: Sequence[Change], against: Belief | None, equality: Equality) -> Decision:
    """The decision of a write. ``against``: the belief that stands against what was written, if any."""
    removed = [rectangle for change in changes for rectangle in change.removed]
    added = [rectangle for change in changes for rectangle in change.added]
    gained, lost = _outside(added, removed, equality), _outside(removed, added, equality)
    if against is not None and against.contested and not gained:
        return Decision.CONTESTED
    if (gained and lost) or (lost and kind in _SAYS_SOMETHING):
        return Decision.UPDATE
    if gained:
        return Decision.ADD
    if lost:
        return Decision.DELETE
    if _newly_contested(removed, added) and kind not in _SAYS_SOMETHING:
        return Decision.CONTESTED
    return Decision.NOOP


def _outside(rectangles: Sequence[Rectangle], others: Sequence[Rectangle], equality: Equality) -> bool:
    """Whether some part of the rectangles is not covered by others of the same value."""
    in_order = sorted(others)
    for rectangle in rectangles:
        reached = rectangle.valid_from
        for other in in_order:
            if other.valid_from > reached:
                break
            if other.valid_to > reached and same_stored(other.value, rectangle.value, equality):
                reached = other.valid_to
        if reached < rectangle.valid_to:
            return True
    return False


def _newly_contested(removed: Sequence[Rectangle], added: Sequence[Rectangle]) -> bool:
    return any(r.contested for r in added) and not any(r.contested for r in removed)


def sentence(decision: Decision, kind: Kind, against: Belief | None, changes: Sequence[Change]) -> str:
    """Why the decision is what it is, in one sentence."""
    if decision == Decision.CONTESTED:
        if against is None:
            return "It has not the trust to act, so what it speaks about is contested."
        return f"{against.value!r} stands with trust {against.trust}, so it is contested; ask the user."
    if decision == Decision.NOOP:
        if kind == Kind.AFFIRM:
            return "The same value is believed already; kept as an affirmation."
        if against is not None:
            return f"{against.value!r} stands for that time; kept as evidence."
        if any(change.removed or change.added for change in changes):
            return "The same is believed as before, for other reasons."
        return "Nothing that is believed changes; kept as evidence."
    ended = sum(len(change.removed) for change in changes)
    return {
        Decision.ADD: "It holds where it was not believed before.",
        Decision.UPDATE: f"It outranks what was believed ({ended} changed).",
        Decision.DELETE: f"It ends what was believed ({ended} changed).",
    }[decision]
