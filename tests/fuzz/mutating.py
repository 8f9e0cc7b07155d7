"""Changing messages: bytes that flip, go, come and move; values that turn into others inside."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from syncmem.codec import pack_flat, unpack_own
from tests.fuzz.targets import Target

STRANGE: Final = [  # headers of msgpack in long forms, huge lengths, what is no text, no number, no type
    *(b"\xc0", b"\xc1", b"\xc2", b"\x80", b"\x90", b"\xa0", b"\xc4\x00", b"\xd9\x00", b"\xcc\x00", b"\xd0\xff"),
    *(b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdc\xff\xff", b"\xdb\xff\xff\xff\xff"),
    *(b"\xcb\x7f\xf8" + bytes(5) + b"\x01", b"\xcb\x7f\xf0" + bytes(6), b"\xcf" + b"\xff" * 8, b"\xd3\x80" + bytes(7)),
    *(
        b"\xa1\xff",
        b"\xa3\xed\xa0\x80",
        b"\xc7\x01\x05\x00",
        b"\xd4\x05\x00",
        b"\xd6\xff" + bytes(4),
        b"\x91" * 20,
        b"\x81\xa0" * 20,
    ),
    *(bytes(4), b"\xff\xff\xff\xff", b"\x00\x00\x00\x01", b"\x7f\xff\xff\xff"),
]
VALUES: Final[list[Any]] = [
    *(None, True, False, 0, 1, -1, 255, 2**40, 2**62, 2**63, 2**64 - 1, -(2**63), 1.5, float("nan"), float("inf")),
    *("", "x", "x" * 300, "\0", "vault", b"", bytes(8), bytes(16), bytes(32), bytes(64), [], {}, [[]], [1], {"a": 1}),
    *({"b": 1, "a": 2}, [None] * 20, [[1, 2], 3], [[bytes(16), 1, bytes(16)], 5]),
]


def mutated(target: Target, random: Random) -> bytes:
    """A message that is almost one of a target's samples."""
    if target.inside and random.random() < 0.5:
        body, wrap = random.choice(target.inside)
        value = unpack_own(body)
        for _ in range(random.randint(1, 3)):
            value = _value_changed(value, random)
        return wrap(pack_flat(value))
    data = random.choice(target.samples)
    for _ in range(random.randint(1, 4)):
        data = random.choice(_CHANGES)(data, target.samples, random)
    return data


# -- bytes --------------------------------------------------------------------------------------------


def _flipped(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    place = random.randrange(len(data) or 1)
    return data[:place] + bytes(byte ^ 1 << random.randrange(8) for byte in data[place : place + 1]) + data[place + 1 :]


def _set(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    place = random.randrange(len(data) or 1)
    return data[:place] + random.choice(STRANGE)[:1] + data[place + 1 :]


def _cut(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _without(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + data[place + random.randint(1, 8) :]


def _with(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + random.choice(STRANGE) + data[place:]


def _doubled(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    place, size = random.randrange(len(data) + 1), random.randint(1, 64)
    return data[: place + size] + data[place:]


def _spliced(data: bytes, others: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(others)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


_CHANGES: Final = (_flipped, _set, _cut, _without, _with, _doubled, _spliced)


# -- values -------------------------------------------------------------------------------------------


def _value_changed(value: Any, random: Random) -> Any:
    """A value of which one part, however deep, is another, is gone, or is there twice."""
    if type(value) is list and value and random.random() < 0.9:
        return _list_changed(value, random)
    if type(value) is dict and value and random.random() < 0.8:
        key = random.choice(list(value))
        return {**value, key: _value_changed(value[key], random)}
    return random.choice(VALUES)


def _list_changed(value: list[Any], random: Random) -> list[Any]:
    place = random.randrange(len(value))
    part = value[place]
    kind = random.random()
    if kind < 0.1:
        parts = []
    elif kind < 0.2:
        parts = [part, part]
    else:
        parts = [_value_changed(part, random)]
    return [*value[:place], *parts, *value[place + 1 :]]
