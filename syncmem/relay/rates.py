"""Rates: how much somebody may ask for in some time, and when there is room again.

Rules: a quiet one has saved up :data:`SAVED_SECONDS` of its rate; what was asked for counts also where it was more
than that, so that the next has to wait; what is remembered of each is one number, and nothing once it has rested.
(It is the generic cell rate algorithm: the number is the time at which everything asked for so far is paid.)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

SAVED_SECONDS: Final = 30.0
FORGET_ABOVE: Final = 4096  # remembered before those at rest are looked for


class Rate:
    """So much a second, for each key."""

    def __init__(self, per_second: float, now: Callable[[], float], *, saved_seconds: float = SAVED_SECONDS) -> None:
        self._cost = 1 / per_second
        self._now = now
        self._saved = saved_seconds
        self._paid: dict[Hashable, float] = {}
        self._look_above = FORGET_ABOVE

    def wait(self, key: Hashable) -> float:
        """In how many seconds the key may ask again; 0: now."""
        return max(0.0, self._paid.get(key, 0.0) - self._now() - self._saved)

    def count(self, key: Hashable, amount: float = 1) -> None:
        """The key was given so much."""
        now = self._now()
        self._paid[key] = max(now, self._paid.get(key, 0.0)) + amount * self._cost
        if len(self._paid) > self._look_above:
            self._paid = {key: paid for key, paid in self._paid.items() if paid > now}
            self._look_above = max(FORGET_ABOVE, 2 * len(self._paid))

    def __len__(self) -> int:
        return len(self._paid)
