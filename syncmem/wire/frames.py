"""Frames as bytes: one array a field instead of one row an event, then zlib.

Rules: what is hashed is the canonical event, which a reader rebuilds; how a frame is written is free, so a
writer may choose any column's mode and a reader knows all; what it inflates to is bounded before
anything is decoded; payloads that are no canonical arrays travel as they are.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from syncmem.codec import EVENT_BYTES_MAX, pack, unpack
from syncmem.errors import NotCanonical
from syncmem.model.event import ERASED, SEQ_MAX, Event, LogKey, erased
from syncmem.model.frame import Frame
from syncmem.model.instant import LATEST
from syncmem.model.salt import BLOCK_EVENTS

FRAME_INFLATED_MAX: Final = 192 * 1024  # 64 KiB of payloads or one event, and room for what stands around them
SCOPE_BYTES_MAX: Final = 1024
ARITY_MAX: Final = 64
_PLAIN, _ZLIB = 0, 1
_LEVEL: Final = 6
_CONSTANT, _ENTRIES, _TABLE, _STEPS, _BY_CLOCK = range(5)
_RAW: Final = -1  # the arity of payloads that are no canonical arrays
_INT_MAX: Final = 2**64


def frame_bytes(frame: Frame) -> bytes:
    """A frame as it travels."""
    events = [event for event in frame.events if event.kind != ERASED]
    gone = [[place, event.payload] for place, event in enumerate(frame.events, frame.first) if event.kind == ERASED]
    clocks = [event.hlc for event in events]
    groups: dict[tuple[int, int], tuple[list[Any], list[int]]] = {}
    shapes = []
    numbers: dict[tuple[int, int], int] = {}
    for event in events:
        fields = _fields(event.payload)
        shape = (event.kind, _RAW if fields is None else len(fields))
        rows, times = groups.setdefault(shape, ([], []))
        rows.append((event.payload,) if fields is None else fields)
        times.append(event.hlc)
        shapes.append(numbers.setdefault(shape, len(numbers)))
    body = pack(
        [
            [frame.key.device, frame.key.incarnation, frame.key.scope],
            frame.first,
            frame.last,
            _column([event.kind for event in events]),
            _column(clocks),
            _column(shapes),
            [
                [arity, [_column(list(entries), times) for entries in zip(*rows, strict=True)]]
                for (_, arity), (rows, times) in groups.items()
            ],
            [[node, value] for node, value in sorted(frame.cover.items())],
            gone,
            frame.head,
            frame.signature,
        ]
    )
    small = zlib.compress(body, _LEVEL)
    return bytes([_ZLIB]) + small if len(small) < len(body) else bytes([_PLAIN]) + body


def read_frame(data: bytes) -> Frame:
    """The frame of bytes.

    Raises:
        NotCanonical: they are no well-formed frame, or inflate to more than any frame.
    """
    parts = unpack(_inflated(data), bytes_max=FRAME_INFLATED_MAX)
    _check(type(parts) is list and len(parts) >= 11 and type(parts[0]) is list)
    key, first, last, kinds, clocks, shapes, groups, cover, erased_places, head, signature = parts[:11]
    _check([type(part) for part in key] == [bytes, bytes, str] and (len(key[0]), len(key[1])) == (32, 16))
    _check(type(first) is int and type(last) is int and 1 <= first <= last <= SEQ_MAX)
    _check(first // BLOCK_EVENTS == last // BLOCK_EVENTS and len(key[2].encode()) <= SCOPE_BYTES_MAX)
    _check(type(head) is bytes and type(signature) is bytes and (len(head), len(signature)) == (32, 64))
    gone = _pairs(erased_places, 32)
    _check(all(first <= place <= last for place in gone))
    count = last - first + 1 - len(gone)
    events = iter(_events(count, kinds, clocks, shapes, groups))
    whole = [erased(gone[p]) if p in gone else next(events) for p in range(first, last + 1)]
    return Frame(LogKey(*key), first, whole, _pairs(cover, 32), head, signature)


def _inflated(data: bytes) -> bytes:
    if not data or data[0] not in (_PLAIN, _ZLIB) or len(data) > FRAME_INFLATED_MAX:
        raise NotCanonical("the bytes are no frame of this version; upgrade syncmem, or ask for them again")
    if data[0] == _PLAIN:
        return data[1:]
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(data[1:], FRAME_INFLATED_MAX + 1)
    except zlib.error as error:
        raise NotCanonical(f"a frame does not inflate ({error}); ask the sender for it again") from error
    _check(len(body) <= FRAME_INFLATED_MAX and inflater.eof and not inflater.unused_data)
    return body


def _fields(payload: bytes) -> list[Any] | None:
    """The fields of a payload that is a canonical array, or None."""
    try:
        fields = unpack(payload)
    except NotCanonical:
        return None
    return fields if type(fields) is list and 0 < len(fields) <= ARITY_MAX else None


def _events(count: int, kinds: Any, clocks: Any, shapes: Any, groups: Any) -> list[Event]:
    """The events of a frame, put together from its columns."""
    times = _entries(clocks, count, ())
    codes, numbers = _entries(kinds, count, ()), _entries(shapes, count, ())
    _check(all(type(time) is int and 0 <= time <= LATEST for time in times))
    _check(all(type(code) is int and ERASED < code < 2**32 for code in codes))
    _check(type(groups) is list and all(type(n) is int and 0 <= n < len(groups) for n in numbers))
    members: list[list[int]] = [[] for _ in groups]
    for place, number in enumerate(numbers):
        members[number].append(place)
    payloads: list[bytes] = [b""] * count
    for group, places in zip(groups, members, strict=True):
        for place, payload in zip(places, _payloads(group, [times[place] for place in places]), strict=True):
            payloads[place] = payload
    _check(all(len(payload) <= EVENT_BYTES_MAX for payload in payloads))
    return [Event(code, time, payload) for code, time, payload in zip(codes, times, payloads, strict=True)]


def _payloads(group: Any, times: Sequence[int]) -> list[bytes]:
    _check(type(group) is list and len(group) == 2 and type(group[0]) is int and type(group[1]) is list)
    arity, columns = group
    raw = arity == _RAW
    _check(len(columns) == (1 if raw else arity) and len(columns) <= ARITY_MAX and (raw or arity > 0))
    entries = [_entries(column, len(times), times) for column in columns]
    if raw:
        _check(all(type(payload) is bytes for payload in entries[0]))
        return list(entries[0])
    return [pack(list(fields)) for fields in zip(*entries, strict=True)]


# -- columns ------------------------------------------------------------------------------------------


def _column(values: list[Any], clocks: Sequence[int] | None = None) -> list[Any]:
    """The shortest likely form of a column."""
    types = set(map(type, values))
    if not values or not types <= _SCALARS or (bool in types and len(types) > 1):
        return [_ENTRIES, values]
    first = values[0]
    if len(types) == 1 and values.count(first) == len(values):
        return [_CONSTANT, len(values), first]
    if types == {int}:
        return _numbers(values, clocks)
    if types == {int, type(None)} and clocks is not None:
        return [_BY_CLOCK, [None if v is None else v - c for v, c in zip(values, clocks, strict=True)]]
    places = {value: number for number, value in enumerate(dict.fromkeys(values))}
    if 2 * len(places) > len(values):
        return [_ENTRIES, values]
    return [_TABLE, list(places), [places[value] for value in values]]


_SCALARS: Final = frozenset({int, str, bytes, bool, type(None)})


def _numbers(values: list[int], clocks: Sequence[int] | None) -> list[Any]:
    steps = [after - before for before, after in itertools.pairwise(values)]
    forms: list[list[Any]] = [[_STEPS, values[0], steps]]
    if clocks is not None:
        forms.append([_BY_CLOCK, [value - clock for value, clock in zip(values, clocks, strict=True)]])
    best = min(forms, key=lambda form: sum(map(abs, form[-1])))
    return best if all(abs(step) < _INT_MAX // 2 for step in best[-1]) else [_ENTRIES, values]


def _entries(column: Any, count: int, clocks: Sequence[int]) -> list[Any]:
    """The entries of a column, as many as there must be."""
    _check(type(column) is list and len(column) >= 2 and type(column[0]) is int)
    reader = _READERS.get(column[0])
    if reader is None:
        raise NotCanonical(f"a column of an unknown mode {column[0]}; upgrade syncmem")
    entries = reader(column, count, clocks)
    _check(len(entries) == count)
    return entries


def _constant(column: list[Any], count: int, clocks: Sequence[int]) -> list[Any]:
    _check(len(column) == 3 and column[1] == count)
    return [column[2]] * count


def _listed(column: list[Any], count: int, clocks: Sequence[int]) -> list[Any]:
    _check(len(column) == 2 and type(column[1]) is list)
    return list(column[1])


def _tabled(column: list[Any], count: int, clocks: Sequence[int]) -> list[Any]:
    _check(len(column) == 3 and type(column[1]) is list and _are_ints(column[2]))
    table, places = column[1:]
    _check(all(0 <= place < len(table) for place in places))
    return [table[place] for place in places]


def _stepped(column: list[Any], count: int, clocks: Sequence[int]) -> list[Any]:
    _check(len(column) == 3 and type(column[1]) is int and _are_ints(column[2]))
    entries = [column[1]]
    for step in column[2]:
        entries.append(entries[-1] + step)
    _check(all(-_INT_MAX // 2 <= entry < _INT_MAX for entry in entries))
    return entries


def _by_clock(column: list[Any], count: int, clocks: Sequence[int]) -> list[Any]:
    _check(len(column) == 2 and type(column[1]) is list and len(column[1]) == len(clocks))
    _check(all(step is None or type(step) is int for step in column[1]))
    entries = [None if step is None else clock + step for clock, step in zip(clocks, column[1], strict=True)]
    _check(all(entry is None or -_INT_MAX // 2 <= entry < _INT_MAX for entry in entries))
    return entries


_READERS: Final[dict[int, Callable[[list[Any], int, Sequence[int]], list[Any]]]] = {
    _CONSTANT: _constant,
    _ENTRIES: _listed,
    _TABLE: _tabled,
    _STEPS: _stepped,
    _BY_CLOCK: _by_clock,
}


def _are_ints(items: Any) -> bool:
    return type(items) is list and all(type(item) is int for item in items)


def _pairs(items: Any, length: int) -> dict[int, bytes]:
    """Ascending ``[number, bytes]`` pairs."""
    _check(type(items) is list and all(type(i) is list and [type(p) for p in i] == [int, bytes] for i in items))
    _check(all(len(value) == length for _, value in items))
    numbers = [number for number, _ in items]
    _check(all(before < after for before, after in itertools.pairwise(numbers)))
    return dict(items)


def _check(fits: bool) -> None:
    if not fits:
        raise NotCanonical("a frame breaks a rule of its format; ask the sender for it again")
