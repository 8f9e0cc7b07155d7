"""How a request shows that who asks has the mailbox's key: the last 64 bytes of it.

Rules: who has the write key can sign with it, at any relay and at once; who has agreed with a relay may put a code
under what they agreed on instead, which costs a fortieth. What is agreed on is the same for all who have the write
key, so a code tells one from another no better than a signature; and it holds only at the relay whose key stands
beside it.

    agreement key = X25519: private derive(write seed, "syncmem/v1/agreement\\0", 32)
    shared        = HKDF-SHA256(X25519(agreement key, relay's key),
                                "syncmem/v1/shared\\0" || write key || agreement key || relay's key, 32)
    code          = HMAC-SHA256(shared, "syncmem/v1/code\\0" || SHA-256(message))
    proof         = signature (64 bytes), or relay's key (32) || code (32)
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple, TypeAlias

from syncmem import labels
from syncmem.seal.keys import SEED_BYTES, agree, agreement_key, derive, public_key, sign, verify

AGREEMENT_BYTES: Final = 32

Proved: TypeAlias = Callable[[bytes, bytes, bytes], bool]
"""Whether a proof (the last of the three) shows that who wrote a message has a write key (the first)."""


class Shared(NamedTuple):
    """What a mailbox and a relay have agreed on."""

    relay_key: bytes
    secret: bytes

    def code(self, message: bytes) -> bytes:
        return hmac.digest(self.secret, labels.CODE + sha256(message).digest(), "sha256")


def proof(message: bytes, write_seed: bytes, shared: Shared | None) -> bytes:
    """What is put behind a message."""
    if shared is not None:
        return shared.relay_key + shared.code(message)
    return sign(write_seed, labels.REQUEST, sha256(message).digest())


def signed(key: bytes, message: bytes, proof: bytes) -> bool:
    """Whether a proof is a signature of the write key."""
    return verify(key, labels.REQUEST, sha256(message).digest(), proof)


def coded(shared: Shared | None, message: bytes, proof: bytes) -> bool:
    """Whether a proof is a code under what was agreed on, if anything was."""
    return shared is not None and hmac.compare_digest(proof, shared.relay_key + shared.code(message))


def of_mailbox(write_seed: bytes) -> bytes:
    """The agreement key of a mailbox."""
    return agreement_key(_private(write_seed))


def shared_by_mailbox(write_seed: bytes, relay_key: bytes) -> Shared:
    """What who has the write key agrees on with a relay.

    Raises:
        Unreadable: that is no key of a relay.
    """
    context = _context(public_key(write_seed), of_mailbox(write_seed), relay_key)
    return Shared(relay_key, agree(_private(write_seed), relay_key, context))


def shared_by_relay(relay_seed: bytes, write_key: bytes, agreement: bytes) -> Shared:
    """What a relay agrees on with the mailbox that said its agreement key.

    Raises:
        Unreadable: that is no such key.
    """
    relay_key = agreement_key(relay_seed)
    return Shared(relay_key, agree(relay_seed, agreement, _context(write_key, agreement, relay_key)))


def _private(write_seed: bytes) -> bytes:
    return derive(write_seed, labels.AGREEMENT, SEED_BYTES)


def _context(write_key: bytes, agreement: bytes, relay_key: bytes) -> bytes:
    return labels.SHARED + write_key + agreement + relay_key
