"""Oscillation: slots that keep going back to a value that they had left, and who swings them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from syncmem.model.instant import FOREVER
from syncmem.replica.replica import Replica
from syncmem.replica.telling import Telling

OSCILLATION_MIN: Final = 2  # times a slot went back to a value it had left
_SWINGERS_MAX: Final = 5  # who is named of a slot
_STEPS: Final = f"""
    WITH steps AS (
        SELECT slot, claim, source, value = lag(value, 2) OVER w AND value <> lag(value, 1) OVER w AS back FROM (
            SELECT *, lag(value) OVER (PARTITION BY slot, lane ORDER BY valid_from) AS p
            FROM beliefs WHERE known_to = {FOREVER} AND (?1 IS NULL OR slot IN (SELECT value FROM json_each(?1)))
        ) WHERE p IS NULL OR p <> value
        WINDOW w AS (PARTITION BY slot, lane ORDER BY valid_from))"""
_SLOTS: Final = f"""{_STEPS}
    SELECT slot, s.scope, s.entity, s.predicate, sum(back) AS times FROM steps JOIN slots s ON s.id = steps.slot
    GROUP BY slot HAVING times >= ?2 ORDER BY times DESC, s.entity, s.predicate LIMIT ?3"""
_SWINGS: Final = f"""{_STEPS}
    SELECT slot, claim, source FROM steps WHERE back"""


def oscillating(replica: Replica, most: int) -> list[dict[str, Any]]:
    """The slots that went back most often; ``by``: whose claims took them back, and how often."""
    found = replica.db.execute(_SLOTS, (None, OSCILLATION_MIN, most)).fetchall()
    swings: dict[int, dict[tuple[str, str | None, str | None], int]] = {}
    for slot, claim, source in _swings(replica, [row[0] for row in found]):
        said = replica.catalog.source(source)
        who = (Telling.device_id(replica.logs.key_of(claim).device), said.kind, said.id)
        counts = swings.setdefault(slot, {})
        counts[who] = counts.get(who, 0) + 1
    return [
        {"scope": scope, "entity": entity, "predicate": predicate, "times": times, "by": _ranked(swings[slot])}
        for slot, scope, entity, predicate, times in found
    ]


def _swings(replica: Replica, slots: list[int]) -> Sequence[tuple[int, int, int]]:
    rows: Sequence[tuple[int, int, int]] = replica.db.execute(_SWINGS, (json.dumps(slots),)).fetchall()
    return rows


def _ranked(counts: dict[tuple[str, str | None, str | None], int]) -> list[dict[str, Any]]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:_SWINGERS_MAX]
    names = ("device", "source_kind", "source_id")
    return [dict(zip(names, who, strict=True)) | {"swings": count} for who, count in ranked]
