"""Rechecking: whether what is stored of what was believed of a slot is what its statements make of it.

Rules: what was known then is folded anew from the events that had arrived by then.  Where something else than
arrivals changed what is held or what counts (an erasure, a removal, a moved branch, a corrected clock), that is not
told by what is left, and nothing is said of it; nor of slots so large that folding them would be waited for.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from syncmem.errors import Damaged
from syncmem.replica.catalog import Slot
from syncmem.replica.reading import Reading
from syncmem.replica.rectangles import Rectangle, merged
from syncmem.replica.replica import Replica
from syncmem.replica.visible import Visible

PAGES_MAX: Final = 8  # of a slot
_ALTERED: Final = (
    "SELECT EXISTS (SELECT 1 FROM erased) OR EXISTS (SELECT 1 FROM moves) OR EXISTS (SELECT 1 FROM clock_notes) "
    "OR EXISTS (SELECT 1 FROM cuts WHERE seq IS NOT NULL)"
)
_STORED: Final = (
    "SELECT lane, valid_from, valid_to, value, trust, contested, source, claim FROM beliefs "
    "WHERE slot = ?1 AND known_from <= ?2 AND known_to > ?2 ORDER BY lane, valid_from"
)
Shown = list[tuple[bytes, list[tuple[int, int, str, int, int]]]]


def recheck(replica: Replica, reading: Reading, slot: Slot, n: int) -> None:
    """See that what was believed of a slot at transaction ``n`` is what had arrived by then makes of it.

    Raises:
        Damaged: a disk has changed it.
    """
    pages = replica.db.execute("SELECT count(*) FROM pages WHERE slot = ?", (slot.id,)).fetchone()[0]
    if pages > PAGES_MAX or replica.db.execute(_ALTERED).fetchone()[0]:
        return
    logs = replica.logs
    arrived = Visible(lambda position: logs.holds(position) and logs.arrival(position) <= n)
    rows = replica.db.execute(_STORED, (slot.id, n)).fetchall()
    stored = [(lane, Rectangle._make(rectangle)) for lane, *rectangle in rows]
    if _shown(stored) != _shown(reading.in_its_lanes(slot, arrived)):
        raise Damaged("what was believed is not what its statements make of it: rows are damaged; run 'syncmem repair'")


def _shown(placed: list[tuple[bytes, Rectangle]]) -> Shown:
    """By lane what is told of beliefs, equal neighbours as one."""
    by_lane = groupby(sorted(placed), key=lambda each: each[0])
    return [(lane, [row[:5] for row in merged(row for _, row in group)]) for lane, group in by_lane]
