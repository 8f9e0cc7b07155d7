"""When two values are the same: one key per value and equality.

The four equalities are described in the second table of :mod:`syncmem.model.value`.  Rules:

* Two values are the same exactly if their keys are the same bytes; nothing is rounded.
* A key is itself canonical, and its own key.  NONE has one key under every equality, shared with nothing.
* Keys are derived, never replicated, and the same under every version of Python (see :mod:`syncmem.model.text`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, tzinfo
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from syncmem.codec import pack, unpack_own
from syncmem.errors import InvalidInput
from syncmem.model.instant import Moment, iso, parse
from syncmem.model.text import folded, normalized

_PLAIN_DECIMAL: Final = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?")
_CLOCK: Final = ("minute", "second", "instant")  # the precisions that state a time of day


class Equality(StrEnum):
    """How a predicate compares its values."""

    EXACT = "exact"
    CASEFOLD = "casefold"
    NUMBER = "number"
    DATE = "date"


def key(data: bytes, equality: Equality) -> bytes:
    """The bytes that two values share exactly if they are the same under ``equality``.

    ``data`` is the canonical encoding of a value, which is not checked again here.

    >>> key(pack("  New   YORK "), Equality.CASEFOLD) == pack("new york")
    True
    >>> {key(pack(value), Equality.NUMBER) for value in (1, 1.0, "1", "1.00")} == {pack("1")}
    True
    >>> key(pack("2025-03-14T10:15+01:00"), Equality.DATE) == pack("2025-03-14T09:15:00Z")
    True
    """
    return keyed(equality)(data)


def keyed(equality: Equality) -> Callable[[bytes], bytes]:
    """:func:`key` under one equality."""
    return _KEYS[equality]


def _exact_key(data: bytes) -> bytes:
    if data[1:].isascii():  # only the head is not: a short ASCII text, or no text at all
        return data
    return pack(_normalized(_opened(data)))


def _normalized(value: Any) -> Any:
    if type(value) is str:
        return normalized(value)
    if type(value) is list:
        return [_normalized(item) for item in value]
    if type(value) is dict:
        keys = [normalized(key) for key in value]
        keys = keys if len(set(keys)) == len(keys) else list(value)  # never lose an entry
        return dict(zip(keys, map(_normalized, value.values()), strict=True))
    return value


def _casefold_key(data: bytes) -> bytes:
    value = _opened(data)
    if type(value) is not str:
        return _exact_key(data)
    return pack(" ".join(folded(value).split()))


def _number_key(data: bytes) -> bytes:
    value = _opened(data)
    if type(value) is float:
        value = format(Decimal(repr(value)), "f")
    elif type(value) is int:
        value = str(value)
    plain = _PLAIN_DECIMAL.fullmatch(value) if type(value) is str else None
    if plain is None:
        return _exact_key(data)
    sign, whole, fraction = plain.groups(default="")
    amount = f"{whole.lstrip('0') or '0'}.{fraction.rstrip('0')}".rstrip(".")
    return pack("-" + amount if sign == "-" and amount != "0" else amount)


def _date_key(data: bytes) -> bytes:
    value = _opened(data)
    moment = _moment(value, UTC) if type(value) is str else None
    if moment is None:
        return _exact_key(data)
    stamp = iso(moment.earliest)
    if moment.precision in _CLOCK:
        return pack(stamp if _moment(value, None) else stamp.removesuffix("Z"))
    if moment.precision == "day":
        return pack(stamp[:10] + moment.qualifier)
    if moment.precision == "quarter":
        return pack(f"{stamp[:4]}-{33 + int(stamp[5:7]) // 3}{moment.qualifier}")
    return data  # the other precisions have one spelling


def _moment(text: str, zone: tzinfo | None) -> Moment | None:
    try:
        return parse(text, zone=zone)
    except InvalidInput:
        return None


def _opened(data: bytes) -> Any:
    return unpack_own(data)  # it was checked when it came in; a key may be longer


_KEYS: Final[dict[Equality, Callable[[bytes], bytes]]] = {
    Equality.EXACT: _exact_key,
    Equality.CASEFOLD: _casefold_key,
    Equality.NUMBER: _number_key,
    Equality.DATE: _date_key,
}
