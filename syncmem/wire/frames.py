"""Frames as bytes: a codec byte, then what the events have in common as columns.

Rules: what is hashed is the payload rebuilt, so any payload survives byte for byte: a canonical array goes
into columns field by field, everything else as it is.  Compression is transport; only the inflated form
counts.  Nothing is believed before it was looked at: what inflates is bounded, what is rebuilt is bounded,
and every part has its type, size and range checked.  A hostile frame costs at most 32 MB and 50 ms.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

from syncmem.codec import CONTAINERS_MAX, FLAT, is_canonical, pack_each, pack_flat, unpack, unpack_each, unpack_outer
from syncmem.errors import NotCanonical
from syncmem.model.event import SEQ_MAX, Erased, Event, LogKey
from syncmem.model.frame import DEVICE_SCOPE, FRAME_PAYLOAD_MAX, Frame
from syncmem.model.salt import BLOCK_EVENTS, Cover
from syncmem.wire.columns import column_of, entries

FRAME_INFLATED_MAX: Final = 192 * 1024  # 64 KiB of payloads, and what columns, covers and erased events add at worst
FRAME_BYTES_MAX: Final = FRAME_INFLATED_MAX + 1  # with the codec byte: what does not shrink goes as it is
ARITY_MAX: Final = 32  # fields of a payload in columns: bounds what columns add to many small fields
KEY_BYTES, INCARNATION_BYTES, HASH_BYTES, SIGNATURE_BYTES = 32, 16, 32, 64
CLOCK_END: Final = 2**62
KIND_END: Final = 2**63
_AS_IT_IS, _ZLIB = 0, 1
_RAW: Final = -1  # the arity of payloads that are not in columns
_LEVEL: Final = 6  # of zlib: 9 gains less than 0.1 %, 1 loses 3 % (measured on the real histories)
_PARTS: Final = 10
_NODES: Final = 2 * BLOCK_EVENTS - 1  # of a block's salt tree


# -- writing -------------------------------------------------------------------------------------------


def frame_bytes(frame: Frame) -> bytes:
    """The bytes of a frame."""
    body = _body(frame)
    assert len(body) <= FRAME_INFLATED_MAX, "a frame's payloads are bounded where it is cut"
    packed = zlib.compress(body, _LEVEL)
    return bytes([_ZLIB]) + packed if len(packed) < len(body) else bytes([_AS_IT_IS]) + body


def _body(frame: Frame) -> bytes:
    body = pack_flat(_parts(frame, ARITY_MAX))
    if len(body) > CONTAINERS_MAX:  # else it cannot hold as many
        try:
            unpack_outer(body, containers_max=CONTAINERS_MAX)
        except NotCanonical:
            return pack_flat(_parts(frame, _RAW))
    return body


def _parts(frame: Frame, arity_max: int) -> list[Any]:
    events = [event for event in frame.events if isinstance(event, Event)]
    clocks = [event.hlc for event in events]
    shapes, groups = _grouped(events, arity_max)
    placed = enumerate(frame.events, frame.first)
    return [
        [frame.key.device, frame.key.incarnation, frame.key.scope],
        frame.first,
        column_of([event.kind for event in events]),
        column_of(clocks),
        column_of(shapes),
        [_group(arity, rows, [clocks[n] for n in members]) for arity, rows, members in groups],
        [[node, value] for node, value in sorted(frame.cover.items())],
        [[place, event.header_hash] for place, event in placed if isinstance(event, Erased)],
        frame.head,
        frame.signature,
    ]


_Group = tuple[int, list[list[Any]], list[int]]  # arity, the payloads' fields, which events they are of


def _grouped(events: Sequence[Event], arity_max: int) -> tuple[list[int], list[_Group]]:
    """Events by what their payloads look like: the group of each, and the groups."""
    shapes: list[int] = []
    groups: list[_Group] = []
    numbers: dict[tuple[int, int], int] = {}
    for member, (event, fields) in enumerate(
        zip(events, _fields([event.payload for event in events], arity_max), strict=True)
    ):
        shape = (_RAW, _RAW) if fields is None else (event.kind, len(fields))
        number = numbers.setdefault(shape, len(groups))
        if number == len(groups):
            groups.append((shape[1], [], []))
        groups[number][1].append([event.payload] if fields is None else fields)
        groups[number][2].append(member)
        shapes.append(number)
    return shapes, groups


def _fields(payloads: Sequence[bytes], arity_max: int) -> list[list[Any] | None]:
    """The fields of each payload that can go in columns; None for the others."""
    found = unpack_each(payloads)
    values = [_value(payload) for payload in payloads] if found is None else found
    return [value if type(value) is list and len(value) <= arity_max else None for value in values]


def _value(payload: bytes) -> Any:
    try:
        return unpack(payload)
    except NotCanonical:
        return None


def _group(arity: int, rows: Sequence[Sequence[Any]], clocks: Sequence[int]) -> list[Any]:
    return [arity, [column_of(values, clocks) for values in zip(*rows, strict=True)]]


# -- reading -------------------------------------------------------------------------------------------


def read_frame(data: bytes) -> Frame:
    """The frame of bytes.

    Raises:
        NotCanonical: the bytes are no well-formed frame.
    """
    parts = unpack_outer(_inflated(data), containers_max=CONTAINERS_MAX)
    if type(parts) is not list or len(parts) != _PARTS:
        raise _refused("it has other parts")
    key, first, kinds, clocks, shapes, groups, nodes, erased, head, signature = parts
    if type(first) is not int or not 1 <= first <= SEQ_MAX or not _is_bytes(head, HASH_BYTES):
        raise _refused("its place or its head is wrong")
    if not _is_bytes(signature, SIGNATURE_BYTES):
        raise _refused("its signature is wrong")
    events = _read_events(kinds, clocks, shapes, groups)
    placed = _with_erased(first, events, _pairs(erased, BLOCK_EVENTS))
    return Frame(_read_key(key), first, placed, _read_cover(nodes), head, signature)


def _inflated(data: bytes) -> bytes:
    if not 2 <= len(data) <= FRAME_BYTES_MAX or data[0] not in (_AS_IT_IS, _ZLIB):
        raise _refused("its size or its codec is wrong")
    if data[0] == _AS_IT_IS:
        return data[1:]
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(data[1:], FRAME_INFLATED_MAX)
    except zlib.error as error:
        raise _refused("it does not inflate") from error
    if not inflater.eof or inflater.unused_data:
        raise _refused("it inflates to too much, or something follows it")
    return body


def _read_key(key: Any) -> LogKey:
    if type(key) is not list or len(key) != 3 or type(key[2]) is not str or key[2] == DEVICE_SCOPE:
        raise _refused("its log may not travel")
    if not _is_bytes(key[0], KEY_BYTES) or not _is_bytes(key[1], INCARNATION_BYTES):
        raise _refused("its log's key is wrong")
    return LogKey(*key)


def _read_cover(nodes: Any) -> Cover:
    cover = dict(_pairs(nodes, BLOCK_EVENTS))
    if not all(1 <= node <= _NODES for node in cover) or any(_has_node_above(cover, node) for node in cover):
        raise _refused("its salts are wrong")
    return cover


def _has_node_above(cover: Cover, node: int) -> bool:
    """Whether a node follows from another one: then it says nothing, or a lie."""
    while node > 1:
        node //= 2
        if node in cover:
            return True
    return False


def _pairs(listed: Any, most: int) -> list[tuple[int, bytes]]:
    """``[number, 32 bytes]`` pairs with ascending numbers."""
    if type(listed) is not list or len(listed) > most:
        raise _refused("a list of numbered hashes is wrong")
    for pair in listed:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not int or not _is_bytes(pair[1], HASH_BYTES):
            raise _refused("a list of numbered hashes is wrong")
    numbers = [number for number, _ in listed]
    if numbers != sorted(set(numbers)):
        raise _refused("a list of numbered hashes is out of order")
    return [(number, value) for number, value in listed]


def _with_erased(first: int, events: Sequence[Event], erased: Sequence[tuple[int, bytes]]) -> list[Event | Erased]:
    """All events in their places; they are inside one block."""
    count = len(events) + len(erased)
    last = first + count - 1
    if not count or last > SEQ_MAX or first // BLOCK_EVENTS != last // BLOCK_EVENTS:
        raise _refused("it is empty or crosses a block")
    if not all(first <= place <= last for place, _ in erased):
        raise _refused("an erased event is not inside it")
    placed: list[Event | Erased] = list(events)
    for place, hashed in erased:
        placed.insert(place - first, Erased(hashed))
    return placed


def _read_events(kinds: Any, clocks: Any, shapes: Any, groups: Any) -> list[Event]:
    kind_of, clock_of, shape_of = entries(kinds), entries(clocks), entries(shapes)
    if not len(kind_of) == len(clock_of) == len(shape_of):
        raise _refused("its columns differ in length")
    if not _all_between(kind_of, KIND_END) or not _all_between(clock_of, CLOCK_END):
        raise _refused("a kind or a clock is out of range")
    payloads = _read_groups(shape_of, clock_of, groups)
    return [Event(*fields) for fields in zip(kind_of, clock_of, payloads, strict=True)]


def _read_groups(shapes: Sequence[int], clocks: Sequence[int], groups: Any) -> list[bytes]:
    """The payloads, in order."""
    if type(groups) is not list or len(groups) > BLOCK_EVENTS or not _all_between(shapes, len(groups)):
        raise _refused("a payload belongs to no group")
    members: list[list[int]] = [[] for _ in groups]
    for shape, clock in zip(shapes, clocks, strict=True):
        members[shape].append(clock)
    left, payloads = FRAME_PAYLOAD_MAX, []
    for group, theirs in zip(groups, members, strict=True):
        found = _read_group(group, theirs, left)
        left -= sum(map(len, found))
        payloads.append(iter(found))
    return [next(payloads[shape]) for shape in shapes]


def _read_group(group: Any, clocks: Sequence[int], bytes_max: int) -> list[bytes]:
    arity, columns = group if type(group) is list and len(group) == 2 else (None, None)
    if type(arity) is not int or not _RAW <= arity <= ARITY_MAX or type(columns) is not list or not clocks:
        raise _refused("a group of payloads is wrong")
    if len(columns) != abs(arity):
        raise _refused("a group has other columns than fields")
    read = [entries(column, clocks) for column in columns]
    if any(len(values) != len(clocks) for values in read):
        raise _refused("a group's columns differ in length")
    if arity == _RAW:
        return _bounded(read[0], bytes_max)
    rows = zip(*read, strict=True) if read else [()] * len(clocks)
    try:
        payloads = _bounded(pack_each(rows), bytes_max)
    except (ValueError, OverflowError) as error:
        raise _refused("a field is out of range") from error
    nested = [values for values in read if not FLAT.issuperset(map(type, values))]
    each = {id(value): value for values in nested for value in values}
    if not is_canonical(list(each.values())):
        raise _refused("a field is not canonical")
    return payloads


def _bounded(payloads: Iterable[Any], bytes_max: int) -> list[bytes]:
    """Payloads, looked at one by one: what they rebuild to may be far more than what they came as."""
    found = []
    for payload in payloads:
        bytes_max -= len(payload) if type(payload) is bytes else bytes_max + 1
        if bytes_max < 0:
            raise _refused("its payloads are too long, or none")
        found.append(payload)
    return found


def _all_between(numbers: Sequence[Any], end: int) -> bool:
    return {int}.issuperset(map(type, numbers)) and all(0 <= number < end for number in numbers)


def _is_bytes(value: Any, size: int) -> bool:
    return type(value) is bytes and len(value) == size


def _refused(why: str) -> NotCanonical:
    return NotCanonical(f"not a frame of events: {why}; ask the sender for it again")
