"""Vouching: up to when statements vouch for a belief; from there on it is only presumed to hold still.

Rule: the same that the fold goes by.  What has a stated end vouches up to it, a state for the moment at which it was
said, a change for its own start (the anchors of :mod:`syncmem.model.record`); the latest voice for a value counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from syncmem.model.instant import EARLIEST, to_datetime
from syncmem.model.record import CLAIM_ROLES, Record
from syncmem.replica.reading import Placed
from syncmem.replica.stretch import vouched_until


def presumed_since(placed: Sequence[Placed], records: Iterable[Record]) -> tuple[datetime | None, ...]:
    """Of each belief of a slot from when on it is only presumed (the year 1: throughout); None: nowhere."""
    keys: dict[int, bytes] = {}
    voices: dict[bytes, list[tuple[int, int]]] = {}
    for record in records:
        if record.role in CLAIM_ROLES and record.counts:
            keys[record.position] = record.key
            voices.setdefault(record.key, []).append((record.start, vouched_until(record)))
    result: list[datetime | None] = []
    for _, rectangle in placed:
        said = voices.get(keys.get(rectangle.claim, b""), ())
        heard = [until for start, until in said if start < rectangle.valid_to and until >= rectangle.valid_from]
        latest = max(heard, default=rectangle.valid_from)
        result.append(to_datetime(max(latest, EARLIEST)) if latest < rectangle.valid_to else None)
    return tuple(result)
