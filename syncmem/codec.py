"""Canonical msgpack: one value, one encoding; the one door to msgpack.

Rules: shortest integers, UTF-8 text without surrogates, ``bin`` for bytes, float64, map keys are
ascending strings, no extension types.  :func:`unpack` accepts bytes only if they are exactly what
:func:`pack` would write for the value.  Every limit here bounds what hostile bytes may cost:
a decoded event is at most about 70 times its bytes, and an event is at most 64 KiB; what is longer holds
at most so many elements; and no array is made before it is known that its elements can be there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, repeat
from operator import eq, lt
from typing import Any, Final

import msgpack

from syncmem.errors import Damaged, NotCanonical

DEPTH_MAX: Final = 16  # nesting; the C decoder itself stops at 1,024
EVENT_BYTES_MAX: Final = 64 * 1024  # header and payload of one event
FRAME_BYTES_MAX: Final = 1024 * 1024  # anything that travels as one piece
ELEMENTS_MAX: Final = 64 * 1024  # of all arrays and maps (keys too) in what is longer than an event
CONTAINERS_MAX: Final = 16 * 1024  # arrays and maps in what is longer than an event: each takes a microsecond


def pack(value: Any) -> bytes:
    """The canonical bytes of ``value`` (None, bool, int, float, str, bytes, list, dict with str keys).

    Dicts are written in ascending order of their keys' encoded bytes (shorter keys first).

    >>> pack([1, "a", {"b": 2, "a": 1}]).hex()
    '9301a16182a16101a16202'
    """
    return _packed(value if type(value) in FLAT else _ordered(value))


def pack_flat(value: list[Any]) -> bytes:
    """As :func:`pack`, for a list that is known to hold no dict (the fast path of events)."""
    return _packed(value)


def repack(value: Any) -> bytes:
    """The canonical bytes of what was unpacked from such: its dicts are in order."""
    return _packed(value)


# One packer for all: to make one takes longer than to pack a small value.  It calls no Python code, so nothing
# else can come between its first byte and its last.
_packed: Final[Callable[[Any], bytes]] = msgpack.Packer(use_bin_type=True).pack


def unpack(data: bytes, *, bytes_max: int = EVENT_BYTES_MAX) -> Any:
    """The value of canonical bytes.

    Raises:
        NotCanonical: too long, too many elements, malformed, too deep, or not the canonical encoding.
    """
    if len(data) > bytes_max:
        raise NotCanonical(f"{len(data)} bytes where at most {bytes_max} are allowed; ask the sender to split them")
    if len(data) > EVENT_BYTES_MAX:
        _look_over(data, ELEMENTS_MAX, CONTAINERS_MAX)
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
    if _declares_much(data) or (containers_max is not None and _count(data, _OPENING) > containers_max):
        _look_over(data, len(data), len(data) if containers_max is None else containers_max)
    try:
        value = _unpacked(data)
        same = _packed(value) == data
    except (ValueError, TypeError, RecursionError, OverflowError, msgpack.UnpackException) as error:
        raise NotCanonical(f"not canonical msgpack ({error}); ask the sender for the bytes again") from error
    if not same:
        raise NotCanonical("a second encoding of the same value; ask the sender for canonical bytes")
    return value


def pack_each(rows: Iterable[Sequence[Any]]) -> Iterator[bytes]:
    """As :func:`pack_flat` of each row, in turn."""
    return map(msgpack.Packer(use_bin_type=True).pack, rows)


def unpack_each(parts: Sequence[bytes]) -> list[Any] | None:
    """The values of canonical bytes, one of each part; None if a part is something else (the fast path for many)."""
    values = []
    joined = b"".join(parts)
    if _declares_much(joined):
        return None
    unpacker = msgpack.Unpacker(
        raw=False, strict_map_key=True, ext_hook=_no_extension, max_buffer_size=max(len(joined), 1)
    )
    unpacker.feed(joined)
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
    try:
        return msgpack.unpackb(data, raw=False, strict_map_key=False, use_list=True)
    except ValueError as error:
        raise Damaged(
            f"a row of the file cannot be read ({error}); run 'syncmem repair', or restore a backup"
        ) from error


# -- before anything is made of bytes -----------------------------------------------------------------

_OPENING: Final = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])  # the bytes that an array or a map can begin with
_OPENING_LONG: Final = bytes(range(0xDC, 0xE0))  # those after which it says how many elements follow
_PROMISED_BYTES_MAX: Final = 16 * 1024 * 1024  # what the C decoder may set aside for elements that never come
_POINTER_BYTES: Final = 8


def _count(data: bytes, wanted: bytes) -> int:
    return len(data) - len(data.translate(None, wanted))


def _declares_much(data: bytes) -> bool:
    """Whether arrays that lie in each other could declare far more elements than there are bytes."""
    most = _PROMISED_BYTES_MAX // (_POINTER_BYTES * len(data) or 1)  # headers, each of which promises all that follows
    return len(data) > most and _count(data, _OPENING_LONG) > most


def _look_over(data: bytes, elements_max: int, containers_max: int) -> None:
    """Count what is declared, a header at a time; refuse too much. Malformed bytes are the decoder's to refuse."""
    place, left, end = 0, 1, len(data)
    while left and place < end:
        each, digits, few = _HEADERS[data[place]]
        place += 1 + digits
        number = int.from_bytes(data[place - digits : place], "big") if digits else few
        left += each * number - 1
        if not each:
            place += number
            continue
        elements_max -= each * number
        containers_max -= 1
        if elements_max < 0 or containers_max < 0:
            raise NotCanonical("more arrays, maps or elements than may be; ask the sender to split them")


def _headers() -> Iterator[tuple[int, int, int]]:
    """Of each first byte: elements a piece (0: bytes follow), digits of the number that follows, else that number."""
    yield from [(0, 0, 0)] * 0x80
    yield from ((2, 0, pairs) for pairs in range(16))
    yield from ((1, 0, items) for items in range(16))
    yield from ((0, 0, size) for size in range(32))
    fixed = {0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4, 0xD3: 8}
    counted = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}
    for first in range(0xC0, 0x100):
        each = {0xDC: 1, 0xDD: 1, 0xDE: 2, 0xDF: 2}.get(first, 0)
        yield each, counted.get(first, 0), fixed.get(first, 0)


_HEADERS: Final = tuple(_headers())


def _no_extension(code: int, data: bytes) -> Any:
    raise NotCanonical(f"extension type {code} is not used; ask the sender for canonical bytes")


_unpacked: Final = partial(msgpack.unpackb, raw=False, strict_map_key=True, ext_hook=_no_extension)


def _is_flat(value: Any) -> bool:
    """Whether a decoded value is an array of scalars, for which re-encoding shows everything."""
    return type(value) is list and FLAT.issuperset(map(type, value))


FLAT: Final = frozenset({str, int, bool, bytes, type(None)})


def is_canonical(value: Any, depth: int = 0) -> bool:
    """Whether a decoded value keeps the rules that re-encoding alone does not show (keys, depth, NaN, extensions)."""
    kind = type(value)
    if kind is not list and kind is not dict:
        return kind in FLAT or (kind is float and value == value)
    if depth == DEPTH_MAX or not value:
        return depth < DEPTH_MAX
    if kind is dict:
        if not _ascend(value):
            return False
        value = value.values()
    inner = [item for item in value if type(item) not in FLAT]  # mostly none: a generator for nothing costs more
    return not inner or all(map(is_canonical, inner, repeat(depth + 1)))


def _ascend(keys: Collection[Any]) -> bool:
    """Whether decoded keys are text (the decoder lets bytes pass, too) in the order of :func:`_key_order`."""
    if not {str}.issuperset(map(type, keys)):
        return False
    if len(keys) == 1:
        return True
    ordered = [(len(encoded), encoded) for encoded in map(str.encode, keys)]
    return all(map(lt, ordered, ordered[1:]))


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
