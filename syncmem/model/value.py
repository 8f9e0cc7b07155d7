"""What a claim may hold, its one encoding, and when two values are the same.

| Python                     | JSON        | stored as            | compared under `exact`                            |
|----------------------------|-------------|----------------------|---------------------------------------------------|
| ``str``, at most 48 KiB    | text        | UTF-8 text           | after Unicode normalisation (NFC)                 |
| ``bool``                   | true, false | boolean              | only with itself, never with 1 or 0               |
| ``int``, -2^63 to 2^64 - 1 | number      | integer              | 1 is neither 1.0 nor "1"                          |
| ``float``, finite          | number      | float64              | 0.0 and -0.0 differ                               |
| ``datetime``, aware        | text        | RFC 3339 text in UTC | as that text                                      |
| ``date``                   | text        | ISO 8601 text        | as that text                                      |
| ``list``, ``tuple``        | array       | list                 | item by item, in order                            |
| ``dict``, ``str`` keys     | object      | map                  | key by key, whatever the order                    |
| ``None``, within the two   | null        | nil                  | only with itself                                  |
| :data:`NONE`               | null        | nil                  | only with itself, under every equality            |

| equality   | two values are the same if they are the same under `exact`, or                                        |
|------------|-------------------------------------------------------------------------------------------------------|
| `casefold` | are texts that differ in upper and lower case, in outer white space or in runs of inner white space   |
| `number`   | are numbers, or texts of plain decimal numbers, of one amount: 1, 1.0, "1" and "1.00".  A float is    |
|            | the decimal that JSON shows for it: 0.1 is "0.1".  true and false are not numbers                     |
| `date`     | are ISO 8601 texts that state one instant (in whatever offset), one day, one quarter ...  A day is    |
|            | never an instant, "2025-03~" is not "2025-03", and a local time is only the same local time           |

Lists and maps compare under `exact`, whatever the equality.  Refused are NaN, infinities, bytes, sets, naive
datetimes, lone surrogates, other objects, ``None`` as a whole value, more than 48 KiB in all, and more than 12
containers inside one another.  Map keys are stored in ascending order of their encoded bytes: shorter ones
first, those of one length byte by byte (UTF-8).
"""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from typing import Any, Final, final

from syncmem.codec import pack, repack, unpack, unpack_own
from syncmem.errors import InvalidInput, NotCanonical
from syncmem.model.equality import Equality, key
from syncmem.model.instant import from_datetime, iso

__all__ = ["NONE", "TEXT_BYTES_MAX", "Equality", "NoValue", "decode", "encode", "from_json", "key", "to_json"]

TEXT_BYTES_MAX: Final = 48 * 1024  # leaves a quarter of an event (64 KiB) to everything that is not the value
VALUE_BYTES_MAX: Final = TEXT_BYTES_MAX + 3  # the longest text with its msgpack head; the limit of every value
DEPTH_MAX: Final = 12  # of the 16 levels that the codec allows; the others are the event's

_NIL: Final = pack(None)
_HINTS: Final = {
    "bytes": "keep the bytes elsewhere and store their name or digest as text",
    "set": "pass a sorted list",
    "frozenset": "pass a sorted list",
    "Decimal": "pass str(value), and declare the predicate's equality as number",
}


@final
class NoValue:
    """The type of :data:`NONE`; it has one instance, also after copying and unpickling."""

    __slots__ = ()

    def __new__(cls) -> NoValue:
        existing: NoValue | None = globals().get("NONE")
        return object.__new__(cls) if existing is None else existing

    def __repr__(self) -> str:
        return "NONE"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "NONE"


NONE: Final = NoValue()  # known to have none ("I have no car"), which is not the same as unknown


def encode(value: object) -> bytes:
    """The canonical bytes of a value.

    >>> encode({"b": 1, "a": [None, "x"]}) == encode({"a": [None, "x"], "b": 1})
    True
    >>> encode(NONE).hex()
    'c0'

    Raises:
        InvalidInput: the value is one that a claim cannot hold; see the module's table.
    """
    if value is None:
        raise InvalidInput("None is not a value; pass NONE for 'known to have none', or call end() to close a claim")
    if value is NONE:
        return _NIL
    try:
        data = pack(value if type(value) is str else _plain(value, 0))
    except UnicodeEncodeError as error:
        raise InvalidInput("a lone surrogate has no UTF-8; decode the text's source with errors='replace'") from error
    if len(data) > VALUE_BYTES_MAX:
        raise InvalidInput(f"a value is at most {TEXT_BYTES_MAX} bytes; keep the rest elsewhere and store its name")
    return data


def decode(data: bytes) -> object:
    """The value of canonical bytes: what :func:`encode` was given, with dates as text and tuples as lists.

    >>> decode(encode(("Lisbon", date(2025, 3, 14)))), decode(encode(NONE))
    (['Lisbon', '2025-03-14'], NONE)

    Raises:
        NotCanonical: not the encoding of a value that a claim may hold.
    """
    value = unpack(data, bytes_max=VALUE_BYTES_MAX)
    check(value, len(data))
    return NONE if value is None else value


def check(value: Any, size: int | None = None) -> None:
    """Refuse what was decoded from canonical bytes (so many, if that is known) and is no value of a claim.

    Raises:
        NotCanonical: it is none.
    """
    if (len(repack(value)) if size is None else size) > VALUE_BYTES_MAX:
        raise NotCanonical(f"a value is at most {TEXT_BYTES_MAX} bytes; ask the sender to split it")
    if type(value) is not str:
        try:
            _plain(value, 0)
        except InvalidInput as error:
            raise NotCanonical(f"a claim cannot hold this value: {error}") from error


def to_json(data: bytes) -> str:
    """Compact JSON of canonical bytes; :data:`NONE` is ``null``.

    >>> to_json(encode({"city": "Zürich", "since": 2015}))
    '{"city":"Zürich","since":2015}'

    Raises:
        NotCanonical: as :func:`decode`.
    """
    value = decode(data)
    return _ENCODER.encode(None if value is NONE else value)


def to_stored(data: bytes) -> str:
    """As :func:`to_json`, for canonical bytes of this replica: nothing is checked."""
    return _ENCODER.encode(unpack_own(data))


def from_json(text: str) -> object:
    """The value that a JSON text stands for; ``null`` is :data:`NONE`.

    >>> from_json('[1, null]'), from_json("null")
    ([1, None], NONE)

    Raises:
        InvalidInput: not JSON, a key given twice, or a value that a claim cannot hold.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"not a JSON value ({error}); pass one JSON text, strings in double quotes") from error
    value = NONE if value is None else value
    encode(value)
    return value


def from_stored(text: str) -> object:
    """The value of JSON text that :func:`to_json` wrote: nothing is checked, plain text is quick.

    >>> from_stored('"Lisbon"'), from_stored("null")
    ('Lisbon', NONE)
    """
    if text[0] == '"' and "\\" not in text:
        return text[1:-1]
    value = unwrapped(text)
    return NONE if value is None else value


def unwrapped(text: str) -> Any:
    """What JSON text stands for that this library wrote: nothing is checked, and nothing stands around it."""
    return _scan(text, 0)[0]


def same_stored(one: str, other: str, equality: Equality) -> bool:
    """Whether two JSON texts that :func:`to_json` wrote stand for equal values.

    >>> same_stored('"Lisbon"', '"LISBON"', Equality.CASEFOLD), same_stored("1", "1.0", Equality.EXACT)
    (True, False)
    """
    if one == other or (equality == Equality.EXACT and one.isascii() and other.isascii()):
        return one == other
    return key(encode(from_stored(one)), equality) == key(encode(from_stored(other)), equality)


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_scan: Final = json.JSONDecoder().raw_decode


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _plain(value: object, depth: int) -> Any:
    """``value`` in the types of the codec; ``depth`` containers are around it."""
    if isinstance(value, (str, int, float)):
        return _plain_scalar(value)
    if isinstance(value, date):
        return iso(from_datetime(value)) if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, (list, tuple, dict)):
        if depth == DEPTH_MAX:
            raise InvalidInput(f"the value is nested deeper than {DEPTH_MAX}; flatten it or store parts as own claims")
        if not isinstance(value, dict):
            return [_plain(item, depth + 1) for item in value]
        return {_plain_key(key): _plain(item, depth + 1) for key, item in value.items()}
    if value is None:
        return None
    if value is NONE:
        raise InvalidInput("NONE is a whole value, never a part of one; use None inside lists and dicts")
    name = type(value).__name__
    raise InvalidInput(f"a claim cannot hold a {name}; {_HINTS.get(name, 'pass text, numbers, lists or dicts')}")


def _plain_scalar(value: str | int | float) -> str | int | float:
    """The value itself, stripped of a subclass such as an enumeration's."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise InvalidInput("an integer needs more than 64 bits; pass it as text, with the equality number")
        return int.__index__(value)
    if not math.isfinite(value):
        raise InvalidInput(f"{value} is not a finite number; pass a number or text, or leave the claim out")
    return float.__float__(value)


def _plain_key(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise InvalidInput(f"a dict key is a {type(key).__name__}; convert the keys with str()")
