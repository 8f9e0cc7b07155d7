"""HPKE base mode (RFC 9180; X25519, HKDF-SHA256, ChaCha20-Poly1305), written plainly, to hold wraps against.

The library that wraps takes no associated data, and every published vector has some: so the vectors prove
this module, and this module proves the wraps.
"""

from __future__ import annotations

import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from syncmem.seal.keys import derive

KEM = b"KEM" + (0x20).to_bytes(2, "big")
HPKE = b"HPKE" + b"".join(part.to_bytes(2, "big") for part in (0x20, 1, 3))
KEY_BYTES = 32


def private(key: bytes) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(key)


def public(key: bytes) -> bytes:
    return private(key).public_key().public_bytes_raw()


def seal(recipient: bytes, ephemeral: bytes, info: bytes, plain: bytes, bound: bytes = b"") -> bytes:
    """The encapsulated key and the ciphertext."""
    shared = _shared(ephemeral, recipient, public(ephemeral) + recipient)
    return public(ephemeral) + _cipher(shared, info).encrypt(_nonce(shared, info), plain, bound)


def open(recipient: bytes, info: bytes, sealed: bytes, bound: bytes = b"") -> bytes:
    encapsulated, ciphertext = sealed[:KEY_BYTES], sealed[KEY_BYTES:]
    shared = _shared(recipient, encapsulated, encapsulated + public(recipient))
    return _cipher(shared, info).decrypt(_nonce(shared, info), ciphertext, bound)


def _shared(own: bytes, other: bytes, context: bytes) -> bytes:
    secret = private(own).exchange(X25519PublicKey.from_public_bytes(other))
    return _expand(KEM, _extract(KEM, b"", b"eae_prk", secret), b"shared_secret", context, 32)


def _cipher(shared: bytes, info: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(_scheduled(shared, info, b"key", 32))


def _nonce(shared: bytes, info: bytes) -> bytes:
    return _scheduled(shared, info, b"base_nonce", 12)


def _scheduled(shared: bytes, info: bytes, label: bytes, length: int) -> bytes:
    context = b"\0" + _extract(HPKE, b"", b"psk_id_hash", b"") + _extract(HPKE, b"", b"info_hash", info)
    return _expand(HPKE, _extract(HPKE, shared, b"secret", b""), label, context, length)


def _extract(suite: bytes, salt: bytes, label: bytes, material: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + material, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    return derive(key, length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, length)
