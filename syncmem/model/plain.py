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

from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.record import AFFIRM, LOG_SHIFT, PLAIN

TIE_WINDOW: Final = 5 * 60 * 1_000_000  # microseconds; two devices that speak so close contradict each other
_NOT_PLAIN: Final = ~(AFFIRM | PLAIN)  # flags that make a claim dead or contested
_LOG: Final = 1 << LOG_SHIFT  # positions that differ by so much are in two logs
Row = Sequence[Any]  # a record, or its stored fields
_LEAST: Final = (BEGINNING - 1, BEGINNING, BEGINNING)  # below every rank
AnyRow = TypeVar("AnyRow", bound=Row)
Won = tuple[int, AnyRow, bool]  # from when on (to the next one's start) a claim wins, and whether it is contested
Rank = tuple[int, int, int]  # as Record.rank, for claims of which no two start at once
Rival = tuple[AnyRow, Rank, bytes]  # a claim, its rank, and whose device wrote it


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
    rivals: Sequence[Rival[AnyRow]] = ()
    contested: bool = False


def winners(
    rows: Iterable[AnyRow], standing: Standing[AnyRow] | None = None, meeting: Meeting | None = None
) -> tuple[list[Won[AnyRow]], Standing[AnyRow]] | None:
    """Who wins from when on, of claims in order of their start that come after others; None: not plain.

    Without ``meeting`` they are not plain either where two logs spoke so close that they may contest each other.
    """
    won: list[Won[AnyRow]] = []
    best, rivals, contested = standing or Standing[AnyRow]()
    rank: Rank = _LEAST if best is None else (best[6], best[8], best[5])
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
                rivals = _rivals(row, beside, best, rank, rivals, meeting.writers)
        if wins:
            best, rank = row, beside
        assert best is not None
        now = bool(rivals) and _contested(best, rivals, meeting)
        if wins or now != contested:
            contested = now
            won.append((start, best, now))
    return won, Standing(best, rivals, contested)


def says_the_same(one: Won[Row], next: Won[Row]) -> bool:
    """Whether two neighbours are one belief."""
    return bool(one[1][3] == next[1][3]) and one[2] == next[2]


def last_run(won: Sequence[Won[Row]]) -> int:
    """From which index on all say the same as the last one."""
    index = max(len(won) - 1, 0)
    while index and says_the_same(won[index - 1], won[index]):
        index -= 1
    return index


def _rivals(
    row: AnyRow,
    rank: Rank,
    best: AnyRow,
    best_rank: Rank,
    rivals: Sequence[Rival[AnyRow]],
    writers: Mapping[int, Writer],
) -> list[Rival[AnyRow]]:
    """Who is closed only by claims that it is tied with, once ``row`` (of this rank) has met the others."""
    seen, device, other = row[8], writers[row[0] >> LOG_SHIFT].device, writers[best[0] >> LOG_SHIFT].device
    left = [
        rival
        for rival in rivals
        if rival[1] > rank or (rival[2] != device and -TIE_WINDOW <= seen - rival[0][8] <= TIE_WINDOW)
    ]
    if other != device and -TIE_WINDOW <= seen - best[8] <= TIE_WINDOW:
        left.append((best, best_rank, other) if rank > best_rank else (row, rank, device))
    return left


def _contested(best: Row, rivals: Iterable[Rival[Row]], meeting: Meeting | None) -> bool:
    """Whether any rival says something else."""
    assert meeting is not None, "else there are no rivals"
    others = [rival[3] for rival, _, _ in rivals if rival[3] != best[3]]
    return bool(others) and {*map(meeting.key, others)} != {meeting.key(best[3])}
