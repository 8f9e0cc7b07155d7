"""Envelopes: what a mailbox sees."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from protocol.vectors.generate.keys import EPOCH_KEY, VAULT
from protocol.vectors.generate.making import expand, flipped, secret
from protocol.vectors.generate.vector import Vector
from syncmem import labels
from syncmem.codec import pack
from syncmem.seal.keys import public_key

EPOCH = secret("epoch id", 16)
OTHER = secret("other epoch key")
RANDOM = secret("random bytes of one message")
HEAD = 4 + 1 + 8 + 24 + 32
AROUND = {"vault": VAULT.hex(), "epoch": EPOCH.hex(), "epoch_key": EPOCH_KEY.hex()}


def mailbox(key: bytes) -> bytes:
    return sha256(labels.MAILBOX + public_key(expand(key, labels.WRITE, 32))).digest()[:16]


def envelope(plaintext: bytes, size: int = 256, **other: Any) -> bytes:
    """An envelope of ``size`` bytes, made after the formulas; ``other`` changes one thing in it."""
    length = other.get("length", len(plaintext))
    padded = length.to_bytes(4, "big") + plaintext + other.get("padding", b"")
    return sealed(padded.ljust(size - HEAD - 16, b"\0"), **other)


def sealed(padded: bytes, *, key: bytes = EPOCH_KEY, vault: bytes = VAULT, epoch: bytes = EPOCH, magic: bytes = b"SMv1",
           suite: int = 1, box: bytes | None = None, **_: Any) -> bytes:  # fmt: skip
    aad = labels.ENVELOPE + pack([1, vault, epoch, box or mailbox(key), len(padded)])
    drawn = RANDOM + sha256(aad).digest() + sha256(padded).digest()
    salt = hmac.digest(expand(key, labels.SALTING, 32), drawn, "sha256")[:24]
    both = expand(key, labels.MESSAGE + salt, 64)
    cipher = ChaCha20Poly1305(both[:32]).encrypt(bytes(12), padded, aad)
    return magic + bytes([suite]) + epoch[:8] + salt + both[32:] + cipher


def opened(name: str, says: str, data: bytes | str, outcome: str, plaintext: bytes | None = None) -> Vector:
    answer = {"outcome": outcome} | ({} if plaintext is None else {"plaintext": plaintext.hex()})
    ask = {"word": "open", **AROUND, "envelope": data if isinstance(data, str) else data.hex()}
    return Vector("envelope", name, says, ask, answer)


def vectors() -> Iterator[Vector]:
    hello = b"hello, other device"
    yield opened("open", "An envelope opens with the key of its epoch.", envelope(hello), "accepted", hello)
    yield opened("open-empty", "An envelope may hold nothing.", envelope(b""), "accepted", b"")
    full = b"x" * (256 - HEAD - 16 - 4)
    yield opened("open-full", "The shortest envelope holds up to 167 bytes.", envelope(full), "accepted", full)
    more = full + b"x"
    yield opened("open-512", "One byte more takes the next size.", envelope(more, 512), "accepted", more)
    most = b"x" * (512 - HEAD - 16 - 4 + 1)
    yield opened("open-544", "Behind 512 bytes the sizes are those of Padmé.", envelope(most, 544), "accepted", most)
    yield Vector(
        "envelope", "seal", "The same message with the same random bytes is sealed alike.",
        {"word": "seal", **AROUND, "plaintext": hello.hex(), "random": RANDOM.hex()},
        {"outcome": "accepted", "envelope": envelope(hello).hex()},
    )  # fmt: skip
    yield Vector(
        "envelope", "seal-hedged", "Another message with the same random bytes has another key.",
        {"word": "seal", **AROUND, "plaintext": b"hello, other devicf".hex(), "random": RANDOM.hex()},
        {"outcome": "accepted", "envelope": envelope(b"hello, other devicf").hex()},
    )  # fmt: skip
    yield from malformed(hello)
    yield from foreign(hello)


def malformed(hello: bytes) -> Iterator[Vector]:
    right = envelope(hello)
    for name, says, data in (
        ("too-short", "No envelope is shorter than 256 bytes.", right[:-1]),
        ("size-never-written", "257 bytes are no size of an envelope.", right + b"\0"),
        ("too-long", "No envelope is longer than 1 MiB.", "(00*1048577)"),
        ("too-long-size", "The next size after 1 MiB is too long.", "(00*1081344)"),
        ("magic", "An envelope begins with SMv1.", envelope(hello, magic=b"SMv2")),
        ("suite", "Another suite is not tried.", envelope(hello, suite=2)),
        ("length-beyond", "The length does not go beyond the envelope.", envelope(hello, length=168)),
        ("padding-not-zero", "The padding is zero.", envelope(hello, padding=b"\1")),
        ("padding-too-much", "The padding is no longer than it has to be.", envelope(hello, 512)),
    ):
        yield opened(name, says, data, "not-canonical")


def foreign(hello: bytes) -> Iterator[Vector]:
    right = envelope(hello)
    other_epoch = EPOCH[:8] + bytes(8)
    for name, says, data in (
        ("other-epoch", "An envelope names its epoch.", envelope(hello, epoch=secret("other epoch", 16))),
        ("other-epoch-same-hint", "The whole epoch id is authenticated.", envelope(hello, epoch=other_epoch)),
        ("other-key", "Another key does not prove itself.", envelope(hello, key=OTHER)),
        ("other-vault", "An envelope opens in its vault alone.", envelope(hello, vault=bytes(16))),
        ("other-mailbox", "An envelope opens in its mailbox alone.", envelope(hello, box=bytes(16))),
        ("hint-changed", "The hint has to fit.", flipped(right, 5)),
        ("salt-changed", "The salt has to fit the proof.", flipped(right, 13)),
        ("proof-changed", "The proof commits to the key.", flipped(right, 37)),
        ("text-changed", "Every bit of the text is authenticated.", flipped(right, HEAD)),
        ("padding-changed", "The padding is authenticated too.", flipped(right, -20)),
        ("tag-changed", "The tag has to fit.", flipped(right, -1)),
    ):
        yield opened(name, says, data, "unreadable")
