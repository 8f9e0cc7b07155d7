"""A glance: what is believed of one slot at an instant, by one statement that looks the slot up by its names.

Rules: it asks nothing that was remembered, so it need not ask whether another process has written.  A rectangle that
is found under the very names tells that they stand for themselves, and one in the lane of single values that the
predicate is single-valued; only how values compare is remembered, and the definition that stands is read along.
Where the answer takes more than that there is none here, and who asks has to look properly.
"""

from __future__ import annotations

from typing import Final

from syncmem.model.frame import VAULT
from syncmem.model.instant import FOREVER
from syncmem.replica.catalog import Catalog
from syncmem.replica.connection import Database
from syncmem.replica.reading import Reading
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.timelines import SINGLE

_COLUMNS: Final = (
    "b.valid_from, b.valid_to, b.value, b.trust, b.contested, b.source, b.claim, s.id, coalesce("
    "(SELECT claim FROM predicates WHERE predicate = ?2 AND scope = ?3), "
    f"(SELECT claim FROM predicates WHERE predicate = ?2 AND scope = '{VAULT}'))"
)
_NAMED: Final = (
    f"SELECT {_COLUMNS} FROM slots s JOIN beliefs b ON b.slot = s.id "
    "WHERE s.entity = ?1 AND s.predicate = ?2 AND s.scope = ?3 AND b.lane = x'' AND b.valid_from <= ?4"
)
_LATEST: Final = "ORDER BY b.valid_from DESC LIMIT 2"
_NOW: Final = f"{_NAMED} AND b.known_to = {FOREVER} {_LATEST}"
_THEN: Final = f"{_NAMED} AND b.known_to > ?5 AND b.known_from <= ?5 {_LATEST}"


class Glance:
    """Answers about one replica. Not safe for threads, like the replica."""

    def __init__(self, database: Database, catalog: Catalog, reading: Reading) -> None:
        self._db = database
        self._catalog = catalog
        self._reading = reading

    def at(self, scope: str, entity: str, predicate: str, instant: int, n: int | None = None) -> Rectangle | None:
        """As :meth:`Reading.at`, of a single-valued slot whose very names these are; None: look properly."""
        if self._reading.checks:
            return None
        asked = entity, predicate, scope, instant
        rows = self._db.rows(_NOW, asked) if n is None else self._db.rows(_THEN, (*asked, n))
        if not rows or rows[0][1] <= instant:
            return None
        start, end, *_, slot, definition = rows[0]
        if end == FOREVER and (len(rows) == 1 or rows[1][1] != start):
            return Rectangle._make(rows[0][:7])
        if definition != self._catalog.defined_by(scope, predicate):
            return None
        equality = self._catalog.predicate(scope, predicate).equality
        return self._reading.whole(equality, slot, SINGLE, [row[:7] for row in rows], n)
