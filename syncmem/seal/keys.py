"""Device keys: Ed25519 to sign, X25519 to be sealed to, and everything derived from a seed.

Rules: a device has one secret, its 32-byte seed; every use of a key carries a label of its own; nothing
here draws randomness except what HPKE needs for itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from syncmem import labels
from syncmem.codec import pack
from syncmem.errors import Unreadable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SEED_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
_ANY: Final = bytes([1] * SEED_BYTES)  # a private key of nobody: every one fails on the same points


def public_key(seed: bytes) -> bytes:
    """The 32-byte Ed25519 public key of a seed."""
    return _private(seed).public_key().public_bytes_raw()


def sign(seed: bytes, label: bytes, message: bytes) -> bytes:
    """The 64-byte signature of a message under a label."""
    return _private(seed).sign(label + message)


def verify(public: bytes, label: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature is right; never raises, whatever it is given."""
    from cryptography.exceptions import InvalidSignature

    try:
        _public(public).verify(signature, label + message)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def derive(key: bytes, label: bytes, length: int) -> bytes:
    """HKDF-Expand with SHA-256."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    return HKDFExpand(SHA256(), length, label).derive(key)


@lru_cache(maxsize=64)
def transport_key(seed: bytes) -> bytes:
    """The 32-byte X25519 public key to which others seal for the owner of a seed."""
    return bytes(_transport(seed).public_key().public_bytes_raw())


def is_transport_key(transport: bytes) -> bool:
    """Whether something can be sealed to a key; a point of small order would fail each wrap, so each rotation."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

    try:
        X25519PrivateKey.from_private_bytes(_ANY).exchange(X25519PublicKey.from_public_bytes(transport))
    except ValueError:
        return False
    return True


def wrap_context(vault: bytes, scope: str, device: bytes) -> bytes:
    """What a wrapped epoch key is bound to."""
    return labels.WRAP + pack([vault, scope, device])


def wrap(transport: bytes, context: bytes, secret: bytes) -> bytes:
    """Seal bytes to a transport key (HPKE base mode): encapsulated key (32), then ciphertext.

    Raises:
        Unreadable: the transport key is no key.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    try:
        recipient = X25519PublicKey.from_public_bytes(transport)
        return bytes(_suite().encrypt(secret, recipient, info=context))
    except ValueError as error:
        raise Unreadable("the other device's transport key is no key; pair it again") from error


def unwrap(seed: bytes, context: bytes, wrapped: bytes) -> bytes:
    """The bytes that were sealed to the owner of a seed.

    Raises:
        Unreadable: they were sealed to somebody else, in another context, or changed.
    """
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(_suite().decrypt(wrapped, _transport(seed), info=context))
    except (InvalidTag, ValueError) as error:
        raise Unreadable("what was sealed to this device does not open; ask the sender to seal it again") from error


def agreement_key(seed: bytes) -> bytes:
    """The 32-byte X25519 public key of a private one."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def agree(seed: bytes, other: bytes, context: bytes) -> bytes:
    """The 32 bytes that who has ``seed`` and the owner of the public key ``other`` can compute, and nobody else.

    Raises:
        Unreadable: nothing can be agreed on with that key.
    """
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    try:
        both = X25519PrivateKey.from_private_bytes(seed).exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError as error:
        raise Unreadable("nothing can be agreed on with that key; upgrade syncmem") from error
    return HKDF(SHA256(), SEED_BYTES, salt=None, info=context).derive(both)


@lru_cache(maxsize=16)
def _private(seed: bytes) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed)


@lru_cache(maxsize=256)
def _public(key: bytes) -> Ed25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(key)


@lru_cache(maxsize=16)
def _transport(seed: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return X25519PrivateKey.from_private_bytes(derive(seed, labels.TRANSPORT, 32))


@lru_cache(maxsize=1)
def _suite() -> Any:
    from cryptography.hazmat.primitives import hpke

    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)
