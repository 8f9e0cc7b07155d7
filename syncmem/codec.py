"""Canonical msgpack: one value, one encoding; the one door to msgpack.

Rules: shortest integers, UTF-8 text without surrogates, ``bin`` for bytes, float64, map keys are
ascending strings, no extension types.  :func:`unpack` accepts bytes only if they are exactly what
:func:`pack` would write for the value.  Every limit here bounds what hostile bytes may cost:
a decoded event is at most about 70 times its bytes, and an event is at most 64 KiB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from operator import eq
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
    plain = value if type(value) in FLAT else _ordered(value)
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
    value = unpack_outer(data)
    if not (_is_flat(value) or is_canonical(value)):
        raise NotCanonical("a second encoding of the same value; ask the sender for canonical bytes")
    return value


def unpack_outer(data: bytes, *, containers_max: int | None = None) -> Any:
    """The value of bytes that re-encode to themselves; what is inside is to be looked at by :func:`is_canonical`.

    Raises:
        NotCanonical: malformed, a second encoding, or more than ``containers_max`` arrays and maps.  How long
            ``data`` may be is the caller's to decide.
    """
    counted: dict[str, Any] = {}
    if containers_max is not None and len(data) - len(data.translate(None, _OPENING)) > containers_max:
        counted = dict.fromkeys(("list_hook", "object_hook"), _at_most(containers_max))
    try:
        value = msgpack.unpackb(data, raw=False, strict_map_key=True, ext_hook=_no_extension, **counted)
        same = msgpack.packb(value, use_bin_type=True) == data
    except (ValueError, TypeError, RecursionError, OverflowError, msgpack.UnpackException) as error:
        raise NotCanonical(f"not canonical msgpack ({error}); ask the sender for the bytes again") from error
    if not same:
        raise NotCanonical("a second encoding of the same value; ask the sender for canonical bytes")
    return value


_OPENING: Final = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])  # the bytes that an array or a map can begin with


def _at_most(containers_max: int) -> Callable[[Any], Any]:
    """A hook that sees every array or map as soon as it is there, and stops after some."""
    left = containers_max

    def seen(container: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise NotCanonical(f"more than {containers_max} arrays and maps; ask the sender to split them")
        return container

    return seen


def pack_each(rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """As :func:`pack_flat` of each row, in turn."""
    return map(msgpack.Packer(use_bin_type=True).pack, rows)


def unpack_each(parts: Sequence[bytes]) -> list[Any] | None:
    """The values of canonical bytes, one of each part; None if a part is something else (the fast path for many)."""
    values = []
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=True, ext_hook=_no_extension)
    unpacker.feed(b"".join(parts))
    try:
        for end in accumulate(map(len, parts)):
            values.append(unpacker.unpack())
            if unpacker.tell() != end:
                return None
        same = all(map(eq, pack_each(values), parts))
    except (ValueError, TypeError, RecursionError, OverflowError, msgpack.UnpackException):
        return None
    return values if same and all(_is_flat(value) or is_canonical(value) for value in values) else None


def unpack_own(data: bytes) -> Any:
    """The value of bytes that this process or another of the same replica wrote: nothing is checked."""
    return msgpack.unpackb(data, raw=False, strict_map_key=False, use_list=True)


def _no_extension(code: int, data: bytes) -> Any:
    raise NotCanonical(f"extension type {code} is not used; ask the sender for canonical bytes")


def _is_flat(value: Any) -> bool:
    """Whether a decoded value is an array of scalars, for which re-encoding shows everything."""
    return type(value) is list and FLAT.issuperset(map(type, value))


FLAT: Final = frozenset({str, int, bool, bytes, type(None)})


def is_canonical(value: Any, depth: int = 0) -> bool:
    """Whether a decoded value keeps the rules that re-encoding alone does not show (keys, depth, NaN, extensions)."""
    kind = type(value)
    if kind is list:
        return depth < DEPTH_MAX and all(is_canonical(item, depth + 1) for item in value if type(item) not in FLAT)
    if kind is dict:
        if depth >= DEPTH_MAX or not _are_keys(list(value)):
            return False
        return all(is_canonical(item, depth + 1) for item in value.values() if type(item) not in FLAT)
    return kind in FLAT or (kind is float and value == value)


def _are_keys(keys: list[Any]) -> bool:
    """Whether the keys of a map are text in canonical order: the decoder also lets bytes through."""
    return _TEXT.issuperset(map(type, keys)) and (len(keys) < 2 or keys == _key_order(keys))


_TEXT: Final = frozenset({str})


def _key_order(keys: list[str]) -> list[str]:
    return sorted(keys, key=lambda key: (len(encoded := key.encode()), encoded))


def _ordered(value: Any, depth: int = 0) -> Any:
    """``value`` with every dict in canonical key order; refuses what has no canonical encoding."""
    kind = type(value)
    if kind in (list, tuple, dict) and depth >= DEPTH_MAX:
        raise NotCanonical(f"nested deeper than {DEPTH_MAX}; flatten the value")
    if kind is list or kind is tuple:
        return [item if type(item) in FLAT else _ordered(item, depth + 1) for item in value]
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise NotCanonical("map keys must be text; convert them to str")
        return {key: _ordered(value[key], depth + 1) for key in _key_order(list(value))}
    if value is None or kind in (str, int, bool, bytes) or (kind is float and value == value):
        return value
    raise NotCanonical(f"{kind.__name__} has no canonical encoding; use text, numbers, lists or maps")
