"""Device keys: Ed25519, made from 32 random bytes."""

from __future__ import annotations


def public_key(private: bytes) -> bytes:
    """The 32-byte public key of a 32-byte Ed25519 private key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
