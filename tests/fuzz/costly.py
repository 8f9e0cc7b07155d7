"""Messages made to cost much: each breaks a rule as late and as dearly as it can.

Rule: nothing that a hostile peer sends costs more than 32 MB and 50 ms to refuse.  tests/fuzz/test_costs.py
holds the memory and the number of calls; ``python -m tests.benchmarks --only hostile`` measures the time.
"""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from hashlib import sha256
from random import Random
from typing import Any, Final

from syncmem.codec import EVENT_BYTES_MAX, pack_flat
from syncmem.replica.bundle import MAGIC
from syncmem.seal.envelope import PLAINTEXT_BYTES_MAX
from syncmem.wire.blob import PIECE_BYTES_MAX, ItemKind
from syncmem.wire.frames import FRAME_INFLATED_MAX
from syncmem.wire.messages import HEAD_BYTES_MAX
from tests.fuzz import valid
from tests.fuzz.targets import TARGETS, body_of

BYTES_MAX: Final = 32 * 2**20
MILLISECONDS_MAX: Final = 50.0
SMALL_BYTES: Final = 128  # of a piece: about as much as an end has
NAN: Final = float("nan")
Made = Callable[[], bytes]


# -- canonical bytes ----------------------------------------------------------------------------------


def _long(header: int, count: int) -> bytes:
    """The shorter of two long headers."""
    digits = 2 if count < 2**16 else 4
    return bytes([header + (digits == 4)]) + count.to_bytes(digits, "big")


def _filled(unit: bytes, size: int, last: bytes = b"") -> bytes:
    """An array of as many times a unit as fit, at last something else."""
    count = (size - 5 - len(last)) // len(unit)
    return _long(0xDC, count + bool(last)) + unit * count + last


def _nested(header: bytes, size: int) -> bytes:
    """Arrays or maps in each other, each of which promises all that could follow."""
    one = header + size.to_bytes(4, "big")
    return (one * 1_000).ljust(size, b"\x01")


def _keys(size: int) -> bytes:
    """A map with as many keys as fit, out of order."""
    texts = (bytes((33 + n // 8100 % 90, 33 + n // 90 % 90, 33 + n % 90)) for n in range(size // 5 - 1))
    pairs = [b"\xa3" + text + b"\x01" for text in texts]
    Random(1).shuffle(pairs)
    return _long(0xDE, len(pairs)) + b"".join(pairs)


def _values(size: int) -> dict[str, bytes]:
    """Values of a size that cost much to look at and are refused at the end."""
    nan, disordered = b"\xcb\x7f\xf8" + bytes(5) + b"\x01", b"\x82\xa1b\x01\xa1a\x02"
    return {
        "arrays that promise": _nested(b"\xdd", size),
        "maps that promise": _nested(b"\xdf", size),
        "a text that promises": b"\xdb\x7f\xff\xff\xff".ljust(size, b"a"),
        "empty arrays": _filled(b"\x90", size, nan),
        "empty maps": _filled(b"\x80", size, nan),
        "maps of maps": _filled(b"\x81\xa0" * 12 + b"\x80", size, nan),
        "arrays of arrays": _filled(b"\x91" * 14 + b"\x90", size, nan),
        "maps of two keys": _filled(b"\x82\xa1a\x01\xa1b\x02", size, disordered),
        "very many keys": _keys(size),
        "one key very many times": _long(0xDE, size // 2 - 3) + b"\xa0\x01" * (size // 2 - 3),
        "floats": _filled(b"\xcb\x3f\xf8" + bytes(6), size, nan),
        "small texts": _filled(b"\xa2\xc4\x80", size, nan),
        "small bytes": _filled(b"\xc4\x02ab", size, nan),
        "large integers": _filled(b"\xcf" + b"\xff" * 8, size, nan),
        "long forms": _filled(b"\xcd\x00\x01", size),
        "text that is none": _filled(b"\xa1\xff", size),
        "numbers": _filled(b"\x01", size, nan),
        "numbers beside an array": _filled(b"\x01", size, b"\x91" + nan),
    }


# -- frames -------------------------------------------------------------------------------------------


def _packed(body: bytes) -> Made:
    return lambda: b"\1" + zlib.compress(body, 9)


def _groups(groups: list[Any], count: int = 256) -> Made:
    """A frame of ``count`` events with these groups of payloads."""

    def made() -> bytes:
        key, *_, head, signature = body_of(TARGETS["frame"].samples[0])
        shapes = [0, count, 0] if len(groups) == 1 else [1, list(range(count))]
        parts = [key, 256, [0, count, 1], [0, count, 5], shapes, groups, [], [], head, signature]
        return _packed(pack_flat(parts))()

    return made


ROOM: Final = FRAME_INFLATED_MAX - 1000
FRAMES: Final[dict[str, Made]] = {
    "a hundred megabytes of zeros": _packed(bytes(100_000_000)),
    "arrays that promise": _packed(_nested(b"\xdd", ROOM)),
    "maps that promise": _packed(_nested(b"\xdf", ROOM)),
    "empty maps": _packed(_filled(b"\x80", ROOM)),
    "empty arrays": _packed(_filled(b"\x90", ROOM)),
    "empty maps, as many as may be": _packed(_filled(b"\x80", 16_000)),
    "deep arrays": _packed(_filled(b"\x91\x90", ROOM)),
    "very many keys": _groups([[1, [[0, 1, {f"{n:05}": 0 for n in reversed(range(ROOM // 8))}]]]], 1),
    "arrays in arrays, as many as may be": _groups([[1, [[0, 1, [[[1]]] * 8_000 + [NAN]]]]], 1),
    "maps in order, as many as may be": _groups([[1, [[0, 1, [{"a": 0, "b": 1}] * 9_000 + [NAN]]]]], 1),
    "a long value for all events": _groups([[1, [[0, 256, "x" * ROOM]]]]),
    "many maps for all events": _groups([[1, [[0, 256, [{}] * ROOM]]]]),
    "long values in all columns": _groups([[32, [[0, 256, "x" * (ROOM // 33)]] * 32]]),
    "a field of maps": _groups([[1, [[0, 1, [{}] * 65_000 + [NAN]]]]], 1),
    "a field of maps of maps": _groups([[1, [[0, 1, [{"": {"": {"": {}}}}] * 6_500 + [NAN]]]]], 1),
    "maps, the last out of order": _groups([[1, [[0, 1, [{"a": 0, "b": 1}] * 9_000 + [{"b": 0, "a": 1}]]]]], 1),
    "a field of floats": _groups([[1, [[0, 1, [1.5] * 7_000 + [NAN]]]]], 1),
    "a field of small arrays": _groups([[1, [[0, 1, [[[]]] * 21_000 + [NAN]]]]], 1),
    "a field of numbers": _groups([[1, [[0, 1, [1] * 60_000 + [[NAN]]]]]], 1),
    "a group for each event": _groups([[32, [[0, 1, 7]] * 32]] * 255 + [[1, [[0, 1, NAN]]]]),
    "large integers": _groups([[1, [[3, 2**64 - 1, [2**64 - 1] * 255]]]]),
}


# -- what holds canonical bytes -----------------------------------------------------------------------


def _pieces(*pieces: bytes) -> bytes:
    return b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)


def _blob(size: int, piece: bytes) -> Made:
    """A blob of as many pieces as fit, after a right head."""
    head = _first_piece()
    count = (size - len(head)) // (4 + len(piece))
    return lambda: head + _pieces(piece) * count


def _first_piece() -> bytes:
    sample = TARGETS["blob"].samples[0]
    return sample[: 4 + int.from_bytes(sample[:4], "big")]


def _head(kind: int, head: bytes) -> bytes:
    return bytes([kind]) + len(head).to_bytes(4, "big") + head


def _late(data: bytes) -> Made:
    return lambda: data


def _all() -> dict[str, dict[str, Made]]:
    event, head, piece = (_values(size) for size in (EVENT_BYTES_MAX, HEAD_BYTES_MAX, PIECE_BYTES_MAX - 1))
    room = PLAINTEXT_BYTES_MAX - 100
    return {
        "codec": {name: _late(value) for name, value in event.items()},
        "frame": FRAMES,
        "payload": {name: _late(b"\x01" + value) for name, value in event.items()},
        "statement": {name: _late(value[: EVENT_BYTES_MAX - 100]) for name, value in event.items()},
        "request": {name: _late(_head(0, value)) for name, value in head.items()},
        "answer": {name: _late(_head(0, value)) for name, value in head.items()},
        "blob": {
            **{f"wants: {name}": _late(_first_piece() + _pieces(b"\x03" + value)) for name, value in piece.items()},
            "empty pieces": _blob(room, b""),
            "pieces of one byte": _blob(room, b"\x63"),
            "small frames": _blob(room, bytes([ItemKind.FRAME, 0, 0x90])),
        },
        "bundle": {
            "pieces of nothing": _late(MAGIC + bytes(2**20)),
            "small pieces": _late(MAGIC + _pieces(bytes(SMALL_BYTES - 1)) * 8_000),
            "small frames": _late(MAGIC + _pieces(bytes(SMALL_BYTES)) * 8_000),
        },
        "envelope": {
            "random bytes": _late(b"SMv1\1" + valid.KEY.epoch[:8] + sha256(b"").digest() * 29_126),
            "of another epoch": _late((b"SMv1\1" + bytes(8)).ljust(2**20, b"x")),
        },
    }


COSTLY: Final[dict[str, dict[str, Made]]] = _all()


def peak_of_reading(reader: str, data: bytes) -> int:
    """The most memory that a reader takes at a time, in bytes."""
    tracemalloc.start()
    try:
        TARGETS[reader].accepts(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
