"""The fold of plain statements: open claims of one trust, which nothing ends.

Most timelines are like this, and of such claims the greatest rank so far wins: nothing ends by itself, and
whoever is closed by an untied ray never returns.  Who is closed only by claims that it is tied with stays beside
the winner as a *rival*, and contests it if it says something else.  Where more is at stake, :func:`winners` says
so, and :mod:`syncmem.model.sweep` decides.

Rule: only the stored fields of a record are read, so that a row need not be made a record to be folded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from syncmem.model.instant import FOREVER
from syncmem.model.record import AFFIRM, LOG_SHIFT, PLAIN

TIE_WINDOW: Final = 5 * 60 * 1_000_000  # microseconds; two devices that speak so close contradict each other
_NOT_PLAIN: Final = ~(AFFIRM | PLAIN)  # flags that make a claim dead or contested
_LOG: Final = 1 << LOG_SHIFT  # positions that differ by so much are in two logs
Row = Sequence[Any]  # a record, or its stored fields
AnyRow = TypeVar("AnyRow", bound=Row)
Won = tuple[int, AnyRow, bool]  # from when on (to the next one's start) a claim wins, and whether it is contested


class Writer(Protocol):
    """Who writes a log."""

    @property
    def device(self) -> bytes: ...


class Meeting(NamedTuple):
    """What is to be known of claims that were spoken close to each other."""

    writers: Mapping[int, Writer]  # by the number of the log
    key: Callable[[bytes], bytes]  # value -> what equal values share


class Standing(NamedTuple, Generic[AnyRow]):
    """What the claims so far mean for those that start later."""

    best: AnyRow | None = None
    rivals: Sequence[AnyRow] = ()
    contested: bool = False


def winners(
    rows: Iterable[AnyRow], standing: Standing[AnyRow] | None = None, meeting: Meeting | None = None
) -> tuple[list[Won[AnyRow]], Standing[AnyRow]] | None:
    """Who wins from when on, of claims in order of their start that come after others; None: not plain.

    Without ``meeting`` they are not plain either where two logs spoke so close that they may contest each other.
    """
    won: list[Won[AnyRow]] = []
    best, rivals, contested = standing or Standing[AnyRow]()
    rank = () if best is None else _rank(best)
    last = None
    for row in rows:
        position, role, flags, _, trust, start, anchor, stop, observed_at, _, _, aging, *_ = row
        if role or flags & _NOT_PLAIN or stop != FOREVER or aging or start == last:
            return None
        last, beside = start, (anchor, observed_at, start)
        wins = beside > rank
        if best is not None:
            if trust != best[4]:
                return None
            if rivals or (position ^ best[0] >= _LOG and abs(observed_at - best[8]) <= TIE_WINDOW):
                if meeting is None:
                    return None
                rivals = _rivals(row, beside, best, rivals, meeting.writers)
        if wins:
            best, rank = row, beside
        assert best is not None
        now = bool(rivals) and _contested(best, rivals, meeting)
        if wins or now != contested:
            contested = now
            won.append((start, best, now))
    return won, Standing(best, rivals, contested)


def _rank(row: Row) -> tuple[int, int, int]:
    """As :attr:`syncmem.model.record.Record.rank`, for claims of which no two start at once."""
    return (row[6], row[8], row[5])


def _rivals(
    row: AnyRow, rank: tuple[int, ...], best: AnyRow, rivals: Sequence[AnyRow], writers: Mapping[int, Writer]
) -> list[AnyRow]:
    """Who is closed only by claims that it is tied with, once ``row`` (of this rank) has met the others."""
    device, seen = writers[row[0] >> LOG_SHIFT].device, row[8]

    def is_tied(other: Row) -> bool:
        return writers[other[0] >> LOG_SHIFT].device != device and bool(abs(seen - other[8]) <= TIE_WINDOW)

    left = [rival for rival in rivals if is_tied(rival) or _rank(rival) > rank]
    if is_tied(best):
        left.append(best if rank > _rank(best) else row)
    return left


def _contested(best: Row, rivals: Sequence[Row], meeting: Meeting | None) -> bool:
    """Whether any rival says something else."""
    assert meeting is not None, "else there are no rivals"
    return any(rival[3] != best[3] and meeting.key(rival[3]) != meeting.key(best[3]) for rival in rivals)
