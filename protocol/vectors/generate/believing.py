"""Vectors about what is believed: logs that say something, and the rectangles that follow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from protocol.vectors.generate.making import DAY, T0, Device, Log
from protocol.vectors.generate.vector import Vector
from syncmem.codec import pack

UNBOUNDED = 2**62
SLOT = ("vault", "person:ana", "home_city")
Row = tuple[Any, ...]  # from, to (None: unbounded), value, trust, contested; then lane, and slot where it is another


def day(number: float) -> int:
    return T0 + int(number * DAY)


def logs(count: int, scope: str = "vault") -> list[Log]:
    """Logs of as many devices, in the order of their ids: what ties are broken by."""
    return sorted((Device(f"device {number}").log(scope) for number in range(count)), key=lambda log: log.id)


def define(
    log: Log, settings: dict[str, Any], *, predicate: str = "home_city", clock: int = T0 - DAY, trust: int = 90
) -> Any:
    return log.write(8, clock, [predicate, settings, trust, None, None, None, None])


def lane_of(key: Any) -> bytes:
    """The lane of a value in a many-valued slot, by the key that equal values share."""
    return sha256(pack(key)).digest()[:16]


def believed(area: str, name: str, says: str, written: Sequence[Log], rows: Iterable[Row], **other: Any) -> Vector:
    """Logs, and the rectangles of what is believed."""
    whole = [belief(*row) for row in rows]
    whole.sort(key=lambda row: (*row[:4], row[4]))
    scopes = sorted({row[0] for row in whole})
    digests = {scope: digest([row for row in whole if row[0] == scope]) for scope in scopes}
    ask = {"word": "fold", "frames": [frame.hex() for log in written for frame in frames(log)], **other}
    told = [[*row[:3], row[3].hex(), row[4], row[5], tagged(row[6]), *row[7:]] for row in whole]
    return Vector(area, name, says, ask, {"outcome": "accepted", "beliefs": told, "digests": digests})


def frames(log: Log) -> list[bytes]:
    return [log.frame()] if log.events else []


def belief(
    start: int, end: int | None, value: Any, trust: int, contested: bool, lane: bytes = b"", slot: Any = SLOT
) -> list[Any]:
    return [*slot, lane, start, end, value, trust, contested]


def digest(rows: Iterable[list[Any]]) -> str:
    """The belief digest of a scope: a sum, so that the order of the rectangles does not matter."""
    total = 0
    for _, entity, predicate, lane, start, end, value, trust, contested in rows:
        parts = [entity, predicate, lane, start, UNBOUNDED if end is None else end, value, trust, int(contested)]
        total += int.from_bytes(sha256(pack(parts)).digest(), "big")
    return (total % 2**256).to_bytes(32, "big").hex()


def tagged(value: Any) -> Any:
    """A value in the notation of the harness."""
    from syncmem.conformance.notation import tagged as notation

    return notation(json.loads(json.dumps(value)))
