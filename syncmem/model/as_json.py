"""Results as JSON types."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from syncmem.model.value import NONE


def as_dict(result: Any) -> dict[str, Any]:
    """The fields of a result as plain JSON values: times as RFC 3339 text, NONE as None."""
    return {name: _plain(value) for name, value in asdict(result).items()}


def _plain(value: Any) -> Any:
    """Nested results as JSON types."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return None if value is NONE else value
