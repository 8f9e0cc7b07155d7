"""The fold of plain statements: open claims of one trust, which nobody contests and nothing ends.

Most timelines are like this, and of such claims the greatest rank so far wins: nothing ends by itself, and
whoever is closed by an untied ray never returns.  Where more is at stake, :func:`winners` says so, and
:mod:`syncmem.model.sweep` decides.

Rule: only the stored fields of a record are read, so that a row need not be made a record to be folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from syncmem.model.instant import FOREVER
from syncmem.model.record import AFFIRM, LOG_SHIFT, PLAIN

TIE_WINDOW: Final = 5 * 60 * 1_000_000  # microseconds; two devices that speak so close contradict each other
_NOT_PLAIN: Final = ~(AFFIRM | PLAIN)  # flags that make a claim dead or contested
_LOG: Final = 1 << LOG_SHIFT  # positions that differ by so much are in two logs
Row = Sequence[Any]  # a record, or its stored fields
AnyRow = TypeVar("AnyRow", bound=Row)


def winners(rows: Iterable[AnyRow], first: Row | None = None) -> list[AnyRow] | None:
    """Who wins from its start on, of claims in order of their start (``first`` held before); None: not plain.

    Logs of one device are taken for those of two here, so that claims spoken so close are left to the sweep.
    """
    won: list[AnyRow] = []
    best, trusted = ((), None) if first is None else (_rank(first), first[4])
    last = None
    for row in rows:
        position, role, flags, _, trust, start, anchor, stop, observed_at, hlc, _, aging, *_ = row
        if role or flags & _NOT_PLAIN or stop != FOREVER or aging or start == last:
            return None
        last, rank = start, (anchor, observed_at, start, hlc, position)
        if best:
            if trust != trusted or (abs(observed_at - best[1]) <= TIE_WINDOW and position ^ best[4] >= _LOG):
                return None
            if rank < best:
                continue
        won.append(row)
        best, trusted = rank, trust
    return won


def _rank(row: Row) -> tuple[int, ...]:
    """As :attr:`syncmem.model.record.Record.rank`, for claims that no two logs made with one clock."""
    return (row[6], row[8], row[5], row[9], row[0])
