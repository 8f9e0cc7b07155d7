"""The hybrid clock of a writer."""

from __future__ import annotations

from collections.abc import Iterator

from protocol.vectors.generate.making import DAY, T0
from protocol.vectors.generate.vector import Vector

FIVE_MINUTES = 300_000_000
YEARS_50 = 50 * 365 * DAY

# name, what it shows, clocks seen, the clock of the next event
CASES = (
    ("nothing-seen", "The first event carries the wall clock.", [], T0),
    ("wall-clock-ahead", "A wall clock ahead of all that was seen is taken as it is.", [T0 - 5, T0 - 9], T0),
    ("same-instant", "An event of the same microsecond gets the next one.", [T0], T0 + 1),
    ("seen-ahead", "A clock that is a little ahead is followed, so that causes come first.", [T0 + 77, T0], T0 + 78),
    ("five-minutes-ahead", "Five minutes ahead are followed.", [T0 + FIVE_MINUTES], T0 + FIVE_MINUTES + 1),
    ("more-than-five-minutes", "More than five minutes ahead are not followed.", [T0 + FIVE_MINUTES + 1], T0),
    ("one-wrong-among-others", "A wrong clock does not hide the right ones.", [T0 + YEARS_50, T0 + 3], T0 + 4),
    ("fifty-years-behind", "A clock far behind drags nobody back.", [T0 - YEARS_50], T0),
)


def vectors() -> Iterator[Vector]:
    for name, says, seen, clock in CASES:
        ask = {"word": "clock", "now": T0, "seen": seen}
        yield Vector("clock", name, says, ask, {"outcome": "accepted", "clock": clock})
