"""Bundles: files of frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from protocol.vectors.generate.chain import BO, written
from protocol.vectors.generate.making import flipped, runs, secret
from protocol.vectors.generate.vector import Vector
from syncmem.codec import pack

MAGIC = b"syncmem bundle 1\n"


def piece(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def end(frames: Sequence[bytes], count: int | None = None, digest: bytes | None = None) -> bytes:
    whole = sha256(b"".join(frames)).digest()
    return piece(pack(["end", len(frames) if count is None else count, digest or whole]))


def bundled(*frames: bytes) -> bytes:
    return MAGIC + b"".join(map(piece, frames)) + end(frames)


def vectors() -> Iterator[Vector]:
    one, two = written(3), written(2, BO)
    a, b = one.frame(1, 2), two.frame()
    first, second = [one.id.hex(), 1, 2], [two.id.hex(), 1, 2]
    yield bundle("empty", "A bundle may hold nothing.", bundled(), [])
    yield bundle("one-frame", "A piece is a length and a frame.", bundled(a), [first])
    yield bundle("two-frames", "Frames of several logs follow each other.", bundled(a, b), [first, second])
    yield bundle("no-magic", "A bundle begins with its name and version.", bundled(a)[1:])
    yield bundle("version-2", "A bundle of another version is not read.", bundled(a).replace(b"bundle 1", b"bundle 2"))
    yield bundle("end-missing", "A bundle that was cut off between two pieces lacks its end.", MAGIC + piece(a))
    yield bundle("cut-in-a-piece", "A bundle that was cut off inside a piece is refused.", bundled(a)[:-1])
    yield bundle("goes-on", "Nothing follows the end.", bundled(a) + piece(b))
    yield bundle("count-wrong", "The end counts the frames.", MAGIC + piece(a) + end([a], count=2))
    other = flipped(sha256(a).digest(), 0)
    yield bundle("digest-wrong", "The end has the digest of all frames.", MAGIC + piece(a) + end([a], digest=other))
    swapped = MAGIC + piece(b) + piece(a) + end([a, b])
    yield bundle("frames-swapped", "Frames stay in the order in which they were written.", swapped)
    yield bundle("frame-dropped", "No frame can be left out.", MAGIC + piece(a) + end([a, b]))
    huge = MAGIC + (2**31).to_bytes(4, "big") + a
    yield bundle("piece-too-long", "A length beyond that of the longest frame is not read.", huge)
    yield bundle("frame-malformed", "Each frame is read before any is taken in.", bundled(a, b"\0" + b[1:-1]))
    id, part = secret("an episode", 16), b"part of its content"
    parts = [b"\2" + pack([id, number, part]) for number in (1, 2)]
    chunks = [[id.hex(), number, len(part)] for number in (1, 2)]
    says = "Parts of the content of episodes follow the frames: a byte 2, and [episode, number, bytes]."
    yield bundle("chunks", says, bundled(a, *parts), [first], chunks)
    yield bundle("chunk-malformed", "Each part is looked at before any is taken in.", bundled(b"\2" + pack([id, part])))
    yield bundle("chunk-short-id", "An episode's id has 16 bytes.", bundled(b"\2" + pack([id[:15], 1, part])))
    yield bundle("chunk-empty", "A part has a byte at least.", bundled(b"\2" + pack([id, 1, b""])))
    yield bundle("chunk-too-long", "A part has at most 48 KiB.", bundled(b"\2" + pack([id, 1, bytes(49153)])))
    yield bundle("unknown-piece", "Other pieces than frames, parts and the end are refused.", bundled(a, b"\3" + b[1:]))


def bundle(name: str, says: str, data: bytes, frames: list[Any] | None = None, chunks: Sequence[Any] = ()) -> Vector:
    right = {"outcome": "accepted", "frames": frames, "chunks": [*chunks]}
    answer = {"outcome": "not-canonical"} if frames is None else right
    return Vector("bundle", name, says, {"word": "bundle", "bundle": runs(data)}, answer)
