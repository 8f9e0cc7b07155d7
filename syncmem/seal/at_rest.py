"""Sealing what lies on this device's own disk beside an encrypted database.

Rules: every sealing draws a key of its own from fresh randomness, so a nonce is never used twice; what does not
open is an error, never an absence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from syncmem import labels
from syncmem.errors import Unreadable
from syncmem.seal.keys import derive

SALT_BYTES: Final = 32
_NONCE: Final = bytes(12)  # each key seals one message


def seal_at_rest(key: bytes, plaintext: bytes, randomness: Callable[[int], bytes]) -> bytes:
    """The salt, then the ciphertext of ``plaintext`` under a 32-byte key."""
    salt = randomness(SALT_BYTES)
    return salt + bytes(_cipher(key, salt).encrypt(_NONCE, plaintext, labels.AT_REST))


def unseal_at_rest(key: bytes, data: bytes) -> bytes:
    """What was sealed.

    Raises:
        Unreadable: it was sealed under another key, or changed.
    """
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(_cipher(key, data[:SALT_BYTES]).decrypt(_NONCE, data[SALT_BYTES:], labels.AT_REST))
    except InvalidTag as error:
        raise Unreadable("the bytes were sealed under another key, or changed; use the key of that time") from error


def _cipher(key: bytes, salt: bytes) -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(derive(key, labels.AT_REST + salt, 32))
