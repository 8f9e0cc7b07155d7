"""Times as archives write them: seconds since 1970, ISO 8601 in its many spellings, nothing at all.

Rule: what cannot be a time is None: what nobody dated is not given a date.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_MAX: Final = 253_402_300_799
_MILLISECONDS_FROM: Final = 100_000_000_000  # as seconds the year 5138, as milliseconds 1973
_LONG_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
_BASIC: Final = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?")


def seconds(stated: object) -> datetime | None:
    """Seconds, or milliseconds, since 1970."""
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not math.isfinite(stated):
        return None
    given = stated / 1000 if abs(stated) >= _MILLISECONDS_FROM else stated
    return _EPOCH + timedelta(microseconds=round(given * 1e6)) if 0 < given <= _SECONDS_MAX else None


def iso(stated: object) -> str | None:
    """Text in ISO 8601 as this library reads it; what else was written there stays as it is, to be refused."""
    if not isinstance(stated, str) or not stated.strip():
        return None
    text = _LONG_FRACTION.sub(r"\1", stated.strip())
    basic = _BASIC.fullmatch(text)
    if basic is None:
        return text
    year, month, day, hour, minute, second, zone = basic.groups()
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}{zone or ''}"


def either(stated: object) -> datetime | str | None:
    """Seconds or ISO 8601, whichever it is."""
    return iso(stated) if isinstance(stated, str) else seconds(stated)


def order(stated: object) -> datetime | None:
    """A time that can be compared; what has no zone is compared as if it were UTC, for the order alone."""
    found = either(stated) if not isinstance(stated, datetime) else stated
    if isinstance(found, str):
        try:
            found = datetime.fromisoformat(found)
        except ValueError:
            return None
    if found is None:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
