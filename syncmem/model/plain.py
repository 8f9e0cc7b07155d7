"""The fold of plain statements: open claims of one trust, which nothing ends.

Most timelines are like this, and of such claims the greatest rank so far wins: nothing ends by itself, and
whoever is closed by an untied ray never returns.  Who is closed only by claims that it is tied with stays beside
the winner as a *rival*, and contests it if it says something else.  Where more is at stake, :func:`winners` says
so, and :mod:`syncmem.model.sweep` decides.

Rule: only the stored fields of a record are read, so that a row need not be made a record to be folded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from syncmem.model.instant import FOREVER
from syncmem.model.record import AFFIRM, LOG_SHIFT, PLAIN

TIE_WINDOW: Final = 5 * 60 * 1_000_000  # microseconds; two devices that speak so close contradict each other
_NOT_PLAIN: Final = ~(AFFIRM | PLAIN)  # flags that make a claim dead or contested
_LOG: Final = 1 << LOG_SHIFT  # positions that differ by so much are in two logs
Row = Sequence[Any]  # a record, or its stored fields
AnyRow = TypeVar("AnyRow", bound=Row)
Alike = Callable[[Row, Row], bool]


class Won(NamedTuple, Generic[AnyRow]):
    """From ``start`` (to the next one's start) the claim ``row`` wins."""

    start: int
    row: AnyRow
    contested: bool


class Meeting(NamedTuple):
    """What is to be known of two claims that were spoken close to each other."""

    one_device: Alike  # whether one device said both
    same_value: Alike


def winners(
    rows: Iterable[AnyRow], first: AnyRow | None = None, meeting: Meeting | None = None
) -> list[Won[AnyRow]] | None:
    """Who wins from when on, of claims in order of their start (``first`` held before); None: not plain.

    Without ``meeting`` they are not plain either where two logs spoke so close that they may contest each other.
    """
    won: list[Won[AnyRow]] = []
    best, rank, rivals, contested = first, _rank(first) if first is not None else (), list[AnyRow](), False
    last = None
    for row in rows:
        _, role, flags, _, trust, start, anchor, stop, observed_at, _, _, aging, *_ = row
        if role or flags & _NOT_PLAIN or stop != FOREVER or aging or start == last:
            return None
        last, beaten = start, (anchor, observed_at, start)
        if best is None:
            best, rank = row, beaten
            won.append(Won(start, row, False))
            continue
        if trust != best[4]:
            return None
        wins = beaten > rank
        if rivals or _close(row, best):
            if meeting is None:
                return None
            rivals = [rival for rival in rivals if _rank(rival) > beaten or _tied(row, rival, meeting)]
            if _tied(row, best, meeting):
                rivals.append(best if wins else row)
        if wins:
            best, rank = row, beaten
        now = bool(rivals) and meeting is not None and not all(meeting.same_value(best, rival) for rival in rivals)
        if wins or now != contested:
            contested = now
            won.append(Won(start, best, now))
    return won


def _rank(row: Row) -> tuple[int, int, int]:
    """As :attr:`syncmem.model.record.Record.rank`, for claims of which no two start at once."""
    return (row[6], row[8], row[5])


def _close(one: Row, other: Row) -> bool:
    """Whether two logs spoke within the window of a tie."""
    return bool(abs(one[8] - other[8]) <= TIE_WINDOW and one[0] ^ other[0] >= _LOG)


def _tied(one: Row, other: Row, meeting: Meeting) -> bool:
    return _close(one, other) and not meeting.one_device(one, other)
