"""Unsettled beliefs: what is contested, or rests on guesses alone, at one moment; found by set, not slot by slot.

Rules: what opens doors (a sensitive predicate) comes first, and within each kind what has been so for longest; a
guess is unsettled if its predicate is sensitive, or if it took the place of another guess where one value holds.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from syncmem.model.instant import FOREVER
from syncmem.replica.catalog import Slot
from syncmem.replica.connection import Database
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.timelines import SINGLE

_ALL: Final = -1  # SQLite's word for no limit
_SENSITIVE: Final = "s.scope || char(31) || s.predicate IN (SELECT value FROM json_each(?2))"
# ?1 the moment, ?2 sensitive predicates, ?3 scope, ?4 slot, ?5 limit, ?6 the most trust of a guess, ?7 a lane
_FIND: Final = f"""
SELECT s.id, s.scope, s.entity, s.predicate,
    b.valid_from, b.valid_to, b.value, b.trust, b.contested, b.source, b.claim
FROM beliefs b JOIN slots s ON s.id = b.slot
WHERE b.known_to = {FOREVER} AND b.valid_from <= ?1 AND b.valid_to > ?1
    AND (?3 IS NULL OR s.scope = ?3) AND (?4 IS NULL OR b.slot = ?4) AND {{what}}
ORDER BY NOT ({_SENSITIVE}), b.valid_from, s.entity, s.predicate, s.scope, b.lane
LIMIT ?5"""
_CONTESTED: Final = _FIND.format(what="b.contested = 1")
_REPLACED: Final = f"""(
    SELECT p.trust FROM beliefs p WHERE p.slot = b.slot AND p.lane = b.lane AND p.known_to = {FOREVER}
    AND p.valid_from < b.valid_from AND p.value <> b.value ORDER BY p.valid_from DESC LIMIT 1) <= ?6"""
_GUESSED: Final = _FIND.format(
    what=f"b.contested = 0 AND b.trust <= ?6 AND ({_SENSITIVE} OR b.lane = ?7 AND {_REPLACED})"
)
Found = list[tuple[Slot, Rectangle]]


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Looks for unsettled beliefs of one replica.

    Attributes:
        now: the moment, microseconds.
        sensitive: (scope, predicate): those of which every guess is unsettled.
        scope, slot: only of these.
    """

    database: Database
    now: int
    sensitive: Collection[tuple[str, str]]
    scope: str | None = None
    slot: int | None = None

    def contested(self, limit: int | None = None) -> Found:
        """What something contradicts."""
        return self._find(_CONTESTED, limit)

    def guessed(self, guess: int, limit: int | None = None) -> Found:
        """What nothing contradicts, and nobody says with more trust than ``guess``."""
        return self._find(_GUESSED, limit, guess, SINGLE)

    def _find(self, sql: str, limit: int | None, *more: object) -> Found:
        sensitive = json.dumps([f"{scope}\x1f{name}" for scope, name in sorted(self.sensitive)])
        given = (self.now, sensitive, self.scope, self.slot, _ALL if limit is None else limit, *more)
        return [(Slot(*row[:4]), Rectangle(*row[4:])) for row in self.database.execute(sql, given).fetchall()]
