"""The hybrid clock: what a writer puts into an event so that causes come before effects.

Rules: never behind the wall clock, and after everything that was seen; but a clock far ahead is not followed,
so one wrong device cannot drag the others along.  A clock is a label and never a reason to refuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FOLLOWED_MAX: Final = 5 * 60 * 1_000_000  # microseconds ahead: what clocks set by hand or by a network differ at most


def next_clock(now: int, seen: Iterable[int], before: int | None = None) -> int:
    """The clock of the next event (microseconds): ``seen`` in other events, ``before``: of the one written just before.

    >>> next_clock(10, [3]), next_clock(10, [12]), next_clock(10, [10 + FOLLOWED_MAX + 1])
    (10, 13, 10)
    """
    followed = [clock for clock in seen if clock <= now + FOLLOWED_MAX]
    followed += [] if before is None else [before]
    return max(now, max(followed, default=-1) + 1)
