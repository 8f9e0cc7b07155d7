"""Canonical bytes, keys and envelopes (protocol/README.md: Canonical bytes, Keys, Envelope)."""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgpack
from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives import hpke
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

SUITE = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


class Refused(ValueError):
    """Bytes from elsewhere are not what they should be; nothing was taken from them."""


def label(name: str) -> bytes:
    return b"syncmem/v1/" + name.encode() + b"\0"


# -- canonical bytes -------------------------------------------------------------------------------------------


def pack(value: Any) -> bytes:
    return msgpack.packb(ordered(value), use_bin_type=True)


def ordered(value: Any) -> Any:
    """Maps with their keys in order: shorter ones first."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return {key: ordered(value[key]) for key in keys}
    return [ordered(item) for item in value] if isinstance(value, list | tuple) else value


def unpack(data: bytes) -> Any:
    try:
        value = msgpack.unpackb(data, raw=False, strict_map_key=True, max_ext_len=0)
        if pack(value) == data:
            return value
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError, msgpack.UnpackException) as error:
        raise Refused("the bytes are no value") from error
    raise Refused("the bytes are not canonical")


# -- keys ------------------------------------------------------------------------------------------------------


def derive(key: bytes, info: bytes, length: int = 32) -> bytes:
    return HKDFExpand(SHA256(), length, info).derive(key)


def public_key(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed: bytes, message: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def check_signature(public: bytes, message: bytes, signature: bytes) -> None:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise Refused("a signature is wrong") from error


def transport_key(seed: bytes) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(derive(seed, label("transport")))


def unwrap(seed: bytes, info: bytes, wrapped: bytes) -> bytes:
    """What was sealed to the owner of a seed."""
    try:
        return SUITE.decrypt(wrapped, transport_key(seed), info=info)
    except (InvalidTag, ValueError) as error:
        raise Refused("this was sealed to somebody else") from error


# -- envelopes -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EpochKey:
    """The key of one epoch of one scope, and the mailbox that follows from it."""

    vault: bytes
    epoch: bytes
    secret: bytes

    @property
    def mailbox(self) -> bytes:
        return sha256(label("mailbox") + public_key(derive(self.secret, label("write")))).digest()[:16]

    def stream(self, log: bytes) -> bytes:
        return hmac.digest(derive(self.secret, label("names")), log, "sha256")[:8]

    def bound(self, size: int) -> bytes:
        return label("envelope") + pack([1, self.vault, self.epoch, self.mailbox, size])

    def once(self, salt: bytes) -> tuple[bytes, bytes]:
        both = derive(self.secret, label("message") + salt, 64)
        return both[:32], both[32:]


HEAD = 4 + 1 + 8 + 24 + 32
TAG = 16


def seal(key: EpochKey, plain: bytes) -> bytes:
    size = padme(HEAD + 4 + len(plain) + TAG) - HEAD - TAG
    padded = (len(plain).to_bytes(4, "big") + plain).ljust(size, b"\0")
    bound = key.bound(size)
    drawn = os.urandom(32) + sha256(bound).digest() + sha256(padded).digest()
    salt = hmac.digest(derive(key.secret, label("salting")), drawn, "sha256")[:24]
    once, proof = key.once(salt)
    head = b"SMv1\x01" + key.epoch[:8] + salt + proof
    return head + ChaCha20Poly1305(once).encrypt(bytes(12), padded, bound)


def unseal(key: EpochKey, data: bytes) -> bytes:
    """The content of an envelope; the checks in the order of the protocol."""
    if not 256 <= len(data) <= 1024 * 1024 or padme(len(data)) != len(data):
        raise Refused("no envelope has this size")
    if data[:5] != b"SMv1\x01" or data[5:13] != key.epoch[:8]:
        raise Refused("it is no envelope of this epoch")
    once, proof = key.once(data[13:37])
    if not hmac.compare_digest(proof, data[37:HEAD]):
        raise Refused("it was sealed with another key")
    try:
        bound = key.bound(len(data) - HEAD - TAG)
        padded = ChaCha20Poly1305(once).decrypt(bytes(12), data[HEAD:], bound)
    except InvalidTag as error:
        raise Refused("it was changed") from error
    end = 4 + int.from_bytes(padded[:4], "big")
    if end > len(padded) or padme(HEAD + end + TAG) != len(data) or any(padded[end:]):
        raise Refused("its padding is wrong")
    return padded[4:end]


def padme(length: int) -> int:
    """256, 512, then the next length with few significant bits."""
    if length <= 512:
        return 256 if length <= 256 else 512
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (length + mask) & ~mask
