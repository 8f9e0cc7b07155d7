"""The closed set of outcomes, and which error of the library is which.

Rule: whatever is asked ends in exactly one of these words; an error that is none of them is a bug.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from syncmem.errors import (
    BadSignature,
    BrokenChain,
    Forked,
    InvalidInput,
    MailboxRefused,
    NotCanonical,
    SyncmemError,
    Unreadable,
)


class Outcome(StrEnum):
    """What became of what was asked."""

    ACCEPTED = "accepted"
    KNOWN = "known"  # it was held already; nothing changed
    KEPT = "kept"  # a kind or a form of a later version: kept and forwarded, not acted upon
    FORGOTTEN = "forgotten"  # a salt that nobody can compute any more
    NOT_CANONICAL = "not-canonical"  # malformed, a second encoding, or beyond a limit
    WRONG_SIGNATURE = "wrong-signature"  # the head of a log is not signed by its device
    BROKEN_CHAIN = "broken-chain"  # the events do not lead to the stated head, or lack a salt
    GAP = "gap"  # events before these are missing; to be tried again when they are there
    FORKED = "forked"  # other events are held in these places
    UNREADABLE = "unreadable"  # a seal does not open, or a signature other than that of a head is wrong
    REFUSED = "refused"  # well-formed and not allowed
    INVALID = "invalid"  # the question itself cannot be understood, or asks to write what nobody may write


_OUTCOMES: Final[tuple[tuple[type[SyncmemError], Outcome], ...]] = (
    (NotCanonical, Outcome.NOT_CANONICAL),
    (BadSignature, Outcome.WRONG_SIGNATURE),
    (BrokenChain, Outcome.BROKEN_CHAIN),
    (Forked, Outcome.FORKED),
    (Unreadable, Outcome.UNREADABLE),
    (MailboxRefused, Outcome.REFUSED),
    (InvalidInput, Outcome.INVALID),
)


def outcome_of(error: SyncmemError) -> Outcome:
    """The outcome that an error stands for.

    >>> outcome_of(BrokenChain("events are missing", missing_after=3))
    <Outcome.GAP: 'gap'>
    """
    if isinstance(error, BrokenChain) and error.missing_after is not None:
        return Outcome.GAP
    for kind, outcome in _OUTCOMES:
        if isinstance(error, kind):
            return outcome
    raise error
