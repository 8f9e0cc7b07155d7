"""Canonical msgpack: one value, one encoding; the one door to msgpack.

Rules: shortest integers, UTF-8 text without surrogates, ``bin`` for bytes, float64, map keys are
ascending strings, no extension types.  :func:`unpack` accepts bytes only if they are exactly what
:func:`pack` would write for the value.  Every limit here bounds what hostile bytes may cost:
a decoded event is at most about 70 times its bytes, and an event is at most 64 KiB.
"""

from __future__ import annotations

from typing import Any, Final

import msgpack

from syncmem.errors import NotCanonical

DEPTH_MAX: Final = 16  # nesting; the C decoder itself stops at 1,024
EVENT_BYTES_MAX: Final = 64 * 1024  # header and payload of one event
FRAME_BYTES_MAX: Final = 1024 * 1024  # anything that travels as one piece


def pack(value: Any) -> bytes:
    """The canonical bytes of ``value`` (None, bool, int, float, str, bytes, list, dict with str keys).

    Dicts are written in ascending order of their keys' encoded bytes (shorter keys first).

    >>> pack([1, "a", {"b": 2, "a": 1}]).hex()
    '9301a16182a16101a16202'
    """
    plain = value if type(value) in _FLAT else _ordered(value)
    packed: bytes = msgpack.packb(plain, use_bin_type=True)
    return packed


def pack_flat(value: list[Any]) -> bytes:
    """As :func:`pack`, for a list that is known to hold no dict (the fast path of events)."""
    packed: bytes = msgpack.packb(value, use_bin_type=True)
    return packed


def unpack(data: bytes, *, bytes_max: int = EVENT_BYTES_MAX) -> Any:
    """The value of canonical bytes.

    Raises:
        NotCanonical: too long, malformed, too deep, or not the canonical encoding.
    """
    if len(data) > bytes_max:
        raise NotCanonical(f"{len(data)} bytes where at most {bytes_max} are allowed; ask the sender to split them")
    try:
        value = msgpack.unpackb(data, raw=False, strict_map_key=True, ext_hook=_no_extension)
        same = msgpack.packb(value, use_bin_type=True) == data
    except (ValueError, TypeError, RecursionError, OverflowError, msgpack.UnpackException) as error:
        raise NotCanonical(f"not canonical msgpack ({error}); ask the sender for the bytes again") from error
    if not same or not (_is_flat(value) or _is_canonical(value)):
        raise NotCanonical("a second encoding of the same value; ask the sender for canonical bytes")
    return value


def unpack_own(data: bytes) -> Any:
    """The value of bytes that this process or another of the same replica wrote: nothing is checked."""
    return msgpack.unpackb(data, raw=False, strict_map_key=False, use_list=True)


def _no_extension(code: int, data: bytes) -> Any:
    raise NotCanonical(f"extension type {code} is not used; ask the sender for canonical bytes")


def _is_flat(value: Any) -> bool:
    """Whether a decoded value is an array of scalars, for which re-encoding shows everything."""
    return type(value) is list and _FLAT.issuperset(map(type, value))


_FLAT: Final = frozenset({str, int, bool, bytes, type(None)})


def _is_canonical(value: Any, depth: int = 0) -> bool:
    """Whether a decoded value keeps the rules that re-encoding alone does not show (order, depth, NaN)."""
    kind = type(value)
    if kind is list:
        return depth < DEPTH_MAX and all(
            _is_canonical(item, depth + 1) for item in value if type(item) in _NEEDS_A_LOOK
        )
    if kind is dict:
        keys = list(value)
        return depth < DEPTH_MAX and keys == _key_order(keys) and all(_is_canonical(value[k], depth + 1) for k in keys)
    return bool(value == value)


_NEEDS_A_LOOK: Final = frozenset({list, dict, float})


def _key_order(keys: list[str]) -> list[str]:
    return sorted(keys, key=lambda key: (len(encoded := key.encode()), encoded))


def _ordered(value: Any, depth: int = 0) -> Any:
    """``value`` with every dict in canonical key order; refuses what has no canonical encoding."""
    kind = type(value)
    if kind in (list, tuple, dict) and depth >= DEPTH_MAX:
        raise NotCanonical(f"nested deeper than {DEPTH_MAX}; flatten the value")
    if kind is list or kind is tuple:
        return [item if type(item) in _FLAT else _ordered(item, depth + 1) for item in value]
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise NotCanonical("map keys must be text; convert them to str")
        return {key: _ordered(value[key], depth + 1) for key in _key_order(list(value))}
    if value is None or kind in (str, int, bool, bytes) or (kind is float and value == value):
        return value
    raise NotCanonical(f"{kind.__name__} has no canonical encoding; use text, numbers, lists or maps")
