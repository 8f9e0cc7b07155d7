"""Events, their salts and frames (protocol/README.md: Logs, Events, Frames)."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from itertools import accumulate
from typing import Any, NamedTuple

from sealed import Refused, check_signature, label, pack, sign, unpack

INFLATED_MAX = 192 * 1024
SCOPE = "vault"
FIRST_HEAD = bytes(32)


class Event(NamedTuple):
    """An event at its place; ``payload`` is None where it was erased."""

    log: bytes
    place: int
    kind: int
    clock: int
    payload: bytes | None
    hashed: bytes

    @property
    def id(self) -> bytes:
        return self.hashed[:16]

    @property
    def fields(self) -> list[Any]:
        """What it says; nothing, if it is not to be read."""
        try:
            found = unpack(self.payload or b"")
        except Refused:
            return []
        return found if isinstance(found, list) else []


def log_id(device: bytes, incarnation: bytes, scope: str = SCOPE) -> bytes:
    return sha256(label("log") + pack([device, incarnation, scope])).digest()[:16]


def chain(head: bytes, hashed: bytes) -> bytes:
    return sha256(label("chain") + head + hashed).digest()


def header_hash(log: bytes, place: int, kind: int, clock: int, salt: bytes, payload: bytes) -> bytes:
    commitment = sha256(label("payload") + salt + payload).digest()
    return sha256(label("header") + pack([log, place, kind, clock, commitment, len(payload)])).digest()


def salt_of(cover: dict[int, bytes], place: int) -> bytes:
    """The salt of a place, from the nodes of its block's tree that are known."""
    node, path = 256 + place % 256, []
    while node and node not in cover:
        path.append(node)
        node //= 2
    if not node:
        raise Refused("a salt is missing")
    value = cover[node]
    for child in reversed(path):
        value = sha256(label("salt") + bytes([child & 1]) + value).digest()
    return value


# -- frames ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """Consecutive events of one log, not yet joined to what is before them."""

    device: bytes
    log: bytes
    first: int
    events: list[Event]
    head: bytes

    def follows(self, head: bytes) -> bool:
        """Whether the events lead from a head to that of the frame, which its device has signed."""
        for event in self.events:
            head = chain(head, event.hashed)
        return head == self.head


def read_frame(data: bytes) -> Frame:
    try:
        return _read_frame(data)
    except (IndexError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise Refused("a frame is malformed") from error


def _read_frame(data: bytes) -> Frame:
    key, first, kinds, clocks, shapes, groups, nodes, erased, head, signature = unpack(_inflated(data))
    device, incarnation, scope = key
    log, last = log_id(device, incarnation, scope), 0
    times = column(clocks)
    members = [
        [time for time, shape in zip(times, column(shapes), strict=True) if shape == n] for n in range(len(groups))
    ]
    payloads = [iter(_payloads(group, theirs)) for group, theirs in zip(groups, members, strict=True)]
    cover, gone = dict(nodes), dict(erased)
    told = iter(zip(column(kinds), times, column(shapes), strict=True))
    events: list[Event] = []
    for place in range(first, first + len(times) + len(gone)):
        last = place
        if place in gone:
            events.append(Event(log, place, -1, 0, None, gone[place]))
            continue
        kind, clock, shape = next(told)
        payload = next(payloads[shape])
        hashed = header_hash(log, place, kind, clock, salt_of(cover, place), payload)
        events.append(Event(log, place, kind, clock, payload, hashed))
    if scope != SCOPE or first < 1 or first // 256 != last // 256:
        raise Refused("a frame is of another scope, or crosses a block")
    check_signature(device, label("head") + pack([log, last, head]), signature)
    return Frame(device, log, first, events, head)


def _inflated(data: bytes) -> bytes:
    if data[:1] == b"\0":
        return data[1:]
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(data[1:], INFLATED_MAX)
    except zlib.error as error:
        raise Refused("a frame does not inflate") from error
    if data[:1] != b"\1" or not inflater.eof or inflater.unused_data:
        raise Refused("a frame inflates to too much")
    return body


def _payloads(group: list[Any], clocks: list[int]) -> list[bytes]:
    arity, columns = group
    read = [column(each, clocks) for each in columns]
    rows = zip(*read, strict=True) if read else [()] * len(clocks)
    return read[0] if arity == -1 else [pack(list(row)) for row in rows]


def column(listed: list[Any], clocks: Iterable[int] = ()) -> list[Any]:
    """The entries of a column, in any of its five modes."""
    mode, *parts = listed
    if mode == 0:
        return [parts[1]] * min(parts[0], 256)
    if mode == 1:
        return parts[0]
    if mode == 2:
        return [parts[0][number] for number in parts[1]]
    if mode == 3:
        return list(accumulate([parts[0], *parts[1]]))
    return [None if step is None else clock + step for clock, step in zip(clocks, parts[0], strict=True)]


def write_frame(
    seed: bytes, key: list[Any], place: int, head: bytes, salt: bytes, kind: int, clock: int, fields: list[Any]
) -> tuple[bytes, bytes]:
    """A frame of one new event, and the head after it."""
    log = log_id(*key)
    head = chain(head, header_hash(log, place, kind, clock, salt, pack(fields)))
    group = [len(fields), [[1, [field]] for field in fields]]
    columns = [[1, [kind]], [1, [clock]], [1, [0]]]
    signature = sign(seed, label("head") + pack([log, place, head]))
    body = [key, place, *columns, [group], [[256 + place % 256, salt]], [], head, signature]
    return b"\0" + pack(body), head
