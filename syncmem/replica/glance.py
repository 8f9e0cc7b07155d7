"""A glance: what is believed of one slot at an instant, by one statement that looks the slot up by its names.

Rules: nothing is asked that was remembered, so nobody need ask whether another process has written.  A rectangle that
is found under the very names tells that they stand for themselves, and one in the lane of single values that the
predicate is single-valued; what is remembered of the predicate only tells where to look first.  Where values are to be
compared, the definition that stands is read along.  Where the answer takes more than that there is none here, and who
asks has to look properly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from syncmem.model.frame import VAULT
from syncmem.model.instant import FOREVER
from syncmem.replica.catalog import Catalog
from syncmem.replica.connection import Database
from syncmem.replica.reading import Reading
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.timelines import NONE_LANE, SINGLE

_RECTANGLE: Final = "b.valid_from, b.valid_to, b.value, b.trust, b.contested, b.source, b.claim"
_COLUMNS: Final = (
    f"{_RECTANGLE}, s.id, coalesce("
    "(SELECT claim FROM predicates WHERE predicate = ?2 AND scope = ?3), "
    f"(SELECT claim FROM predicates WHERE predicate = ?2 AND scope = '{VAULT}'))"
)
_NAMED: Final = "s.entity = ?1 AND s.predicate = ?2 AND s.scope = ?3"
_NOW: Final = f"b.known_to = {FOREVER}"
_THEN: Final = "b.known_to > ?5 AND b.known_from <= ?5"
_SINGLE: Final = (
    f"SELECT {_COLUMNS} FROM slots s JOIN beliefs b ON b.slot = s.id "
    f"WHERE {_NAMED} AND b.lane = x'' AND b.valid_from <= ?4 AND {{}} ORDER BY b.valid_from DESC LIMIT 2"
)
_MANY: Final = (  # each rectangle with its lane, and whether another one ends where it begins
    "WITH RECURSIVE lanes(slot, lane) AS ("
    f"SELECT s.id, (SELECT min(lane) FROM beliefs WHERE slot = s.id) FROM slots s WHERE {_NAMED} UNION ALL "
    "SELECT slot, (SELECT min(lane) FROM beliefs b WHERE b.slot = lanes.slot AND b.lane > lanes.lane) FROM lanes "
    "WHERE lane IS NOT NULL) "
    f"SELECT {_RECTANGLE}, b.lane, EXISTS ("
    "SELECT 1 FROM beliefs p WHERE p.slot = b.slot AND p.lane = b.lane AND p.known_to = b.known_to "
    "AND p.valid_from < b.valid_from AND p.valid_to = b.valid_from) "
    "FROM lanes CROSS JOIN beliefs b ON b.slot = lanes.slot AND b.lane = lanes.lane "
    f"WHERE {_NOW} AND b.valid_from <= ?4 AND b.valid_to > ?4"
)
_SINGLE_NOW: Final = _SINGLE.format(_NOW)
_SINGLE_THEN: Final = _SINGLE.format(_THEN)


class Glance:
    """Answers about one replica. Not safe for threads, like the replica."""

    def __init__(self, database: Database, catalog: Catalog, reading: Reading) -> None:
        self._db = database
        self._catalog = catalog
        self._reading = reading

    def at(self, scope: str, entity: str, predicate: str, instant: int, n: int | None = None) -> Sequence[Rectangle]:
        """As :meth:`Reading.at`, of a slot whose very names these are; none: look properly."""
        if self._reading.checks or (n is not None and self._reading.to_recheck):
            return ()
        asked = entity, predicate, scope, instant
        if n is None and self._catalog.predicate(scope, predicate).many:
            return self._of_many(asked)
        rows = self._db.rows(_SINGLE_NOW, asked) if n is None else self._db.rows(_SINGLE_THEN, (*asked, n))
        if not rows or rows[0][1] <= instant:
            return ()
        start, end, *_, slot, definition = rows[0]
        if end == FOREVER and (len(rows) == 1 or rows[1][1] != start):
            return (Rectangle._make(rows[0][:7]),)
        if definition != self._catalog.defined_by(scope, predicate):
            return ()
        equality = self._catalog.predicate(scope, predicate).equality
        return (self._reading.whole(equality, slot, SINGLE, [row[:7] for row in rows], n),)

    def _of_many(self, asked: tuple[str, str, str, int]) -> Sequence[Rectangle]:
        """What is believed now, value by value, if each began and ends alone, and "none" is not one of them."""
        rows = self._db.rows(_MANY, asked)
        plain = all(row[1] == FOREVER and not row[8] and row[7] != NONE_LANE for row in rows)
        return [Rectangle._make(row[:7]) for row in rows] if plain else ()
