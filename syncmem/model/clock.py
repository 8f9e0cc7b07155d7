"""The hybrid clock: what a writer puts into an event so that causes come before effects.

Rules: never behind the wall clock, and after everything that was seen; but a clock far ahead is not followed,
so one wrong device cannot drag the others along.  A clock is a label and never a reason to refuse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FOLLOWED_MAX: Final = 5 * 60 * 1_000_000  # microseconds ahead: what clocks set by hand or by a network differ at most


def next_clock(now: int, seen: Iterable[int]) -> int:
    """The clock of the next event (microseconds); ``seen``: those of other events.

    >>> next_clock(10, [3]), next_clock(10, [12]), next_clock(10, [10 + FOLLOWED_MAX + 1])
    (10, 13, 10)
    """
    return max(now, max((clock for clock in seen if clock <= now + FOLLOWED_MAX), default=-1) + 1)
