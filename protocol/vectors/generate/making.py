"""What vectors are made of: fixed secrets, and the formulas of the protocol written down once more.

Nothing here is taken from the code that is tested, but the labels, the canonical encoding (which has vectors
of its own) and Ed25519.
"""

from __future__ import annotations

import hmac
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from syncmem import labels
from syncmem.codec import pack, pack_flat
from syncmem.seal.keys import public_key, sign

T0 = 1_735_689_600_000_000  # 2025-01-01T00:00:00Z
DAY = 86_400_000_000
START = bytes(32)  # the chain value before the first event


def secret(name: str, size: int = 32) -> bytes:
    """Bytes that are always the same for a name."""
    return expand(sha256(b"syncmem vectors").digest(), name.encode(), size)


def expand(key: bytes, info: bytes, size: int) -> bytes:
    """HKDF-Expand with SHA-256 (RFC 5869)."""
    done, block, number = b"", b"", 1
    while len(done) < size:
        block = hmac.digest(key, block + info + bytes([number]), "sha256")
        done, number = done + block, number + 1
    return done[:size]


def leaf(seed: bytes, number: int) -> bytes:
    """The salt of a leaf: down the tree, a bit of its number at each step."""
    value = seed
    for bit in format(number, "08b"):
        value = sha256(labels.SALT + (b"\1" if bit == "1" else b"\0") + value).digest()
    return value


def node(seed: bytes, number: int) -> bytes:
    """A node of the salt tree, by its number in the heap."""
    value = seed
    for bit in format(number, "b")[1:]:
        value = sha256(labels.SALT + (b"\1" if bit == "1" else b"\0") + value).digest()
    return value


@dataclass(frozen=True)
class Device:
    """A device that writes, known by a name."""

    name: str

    @property
    def seed(self) -> bytes:
        return secret(f"device {self.name}")

    @property
    def key(self) -> bytes:
        return public_key(self.seed)

    def log(self, scope: str = "vault", life: int = 1) -> Log:
        return Log(self, scope, secret(f"life {life} of {self.name}", 16))


@dataclass
class Log:
    """A log, written event by event."""

    device: Device
    scope: str
    incarnation: bytes
    events: list[tuple[int, int, bytes]] = field(default_factory=list)  # kind, clock, payload
    hashes: list[bytes] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=lambda: [START])

    @property
    def key(self) -> list[Any]:
        return [self.device.key, self.incarnation, self.scope]

    @property
    def id(self) -> bytes:
        return sha256(labels.LOG + pack(self.key)).digest()[:16]

    def seed(self, place: int) -> bytes:
        """The seed of the salt tree of a place's block."""
        return secret(f"block {place // 256} of {self.id.hex()}")

    def header(self, place: int, kind: int, clock: int, payload: bytes) -> bytes:
        salt = leaf(self.seed(place), place % 256)
        commitment = sha256(labels.PAYLOAD + salt + payload).digest()
        return pack([self.id, place, kind, clock, commitment, len(payload)])

    def write(self, kind: int, clock: int, payload: Any) -> list[Any]:
        """Write an event (its fields, or its bytes); the reference to it."""
        data = payload if isinstance(payload, bytes) else pack(payload)
        place = len(self.events) + 1
        self.events.append((kind, clock, data))
        hashed = sha256(labels.HEADER + self.header(place, kind, clock, data)).digest()
        self.hashes.append(hashed)
        self.heads.append(sha256(labels.CHAIN + self.heads[-1] + hashed).digest())
        return self.ref(place)

    def ref(self, place: int) -> list[Any]:
        return [self.id, place, self.hashes[place - 1][:16]]

    def signature(self, place: int, head: bytes | None = None) -> bytes:
        return sign(self.device.seed, labels.HEAD, pack([self.id, place, head or self.heads[place]]))

    def parts(self, first: int = 1, last: int | None = None, erased: Sequence[int] = ()) -> list[Any]:
        """The parts of a frame's body: plain columns, payloads as they are."""
        last = last or len(self.events)
        placed = [(place, *self.events[place - 1]) for place in range(first, last + 1) if place not in erased]
        group = [[-1, [[1, [payload for *_, payload in placed]]]]] if placed else []
        return [
            self.key,
            first,
            [1, [kind for _, kind, _, _ in placed]],
            [1, [clock for _, _, clock, _ in placed]],
            [1, [0 for _ in placed]],
            group,
            cover(self.seed(first), erased),
            [[place, self.hashes[place - 1]] for place in erased],
            self.heads[last],
            self.signature(last),
        ]

    def frame(self, first: int = 1, last: int | None = None, erased: Sequence[int] = ()) -> bytes:
        return framed(self.parts(first, last, erased))


def cover(seed: bytes, forgotten: Sequence[int]) -> list[list[Any]]:
    """The least nodes from which all leaves but some follow."""
    gone = {256 + place % 256 >> steps for place in forgotten for steps in range(9)}
    kept = [n for n in range(1, 512) if n not in gone and (n == 1 or n // 2 in gone)]
    return [[n, node(seed, n)] for n in kept]


def framed(parts: Any) -> bytes:
    """A frame as it is; maps stay as they are, in order or not."""
    return b"\0" + pack_flat(parts)


def deflated(parts: Any) -> bytes:
    """A frame with zlib: stored blocks, which look the same with every version of it."""
    return b"\1" + zlib.compress(pack_flat(parts), 0)


def said(value: Any, **other: Any) -> list[Any]:
    """The payload of a statement about where Ana lives."""
    fields: dict[str, Any] = {
        "entity": "person:ana", "predicate": "home_city", "value": value, "form": 0, "observed_at": None,
        "start": None, "start_latest": None, "stop": None, "then": 0, "trust": 90, "source_kind": None,
        "source_id": None, "batch": None, "refs": None, "extra": None,
    }  # fmt: skip
    assert not set(other) - set(fields), other
    return list({**fields, **other}.values())


def flipped(data: bytes, place: int) -> bytes:
    """Bytes with one bit changed."""
    place %= len(data)
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def runs(data: bytes) -> str:
    """Hexadecimal text, in which what repeats often is written once (see the notation of the harness)."""
    parts, place = [], 0
    for found in _REPEATED.finditer(data):
        block, count = found[1], len(found[0]) // len(found[1])
        parts.append(f"{data[place : found.start()].hex()}({block.hex()}*{count})")
        place = found.end()
    return "".join(parts) + data[place:].hex()


_REPEATED = re.compile(rb"(?s)(.{1,48}?)\1{39,}")
