"""Envelopes: what travels, sealed under an epoch key of a scope.

Rules: every message has a key of its own, from a salt that is hedged with the message, so neither a
cloned machine nor a bad source of randomness repeats a keystream; the envelope commits to its key; its
length is one of few; it opens only in the vault, the epoch and the mailbox it was sealed for.

=========  =====  ===========================================================
part       bytes
=========  =====  ===========================================================
magic      4      "SMv1"
suite      1      1
hint       8      the start of the epoch's id
salt       24     ``HMAC(salting key, random || H(aad) || H(padded))[:24]``
proof      32     the second half of what the epoch key and the salt give
sealed     16 +   ChaCha20-Poly1305 of length, plaintext and zeros
=========  =====  ===========================================================
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Final

from syncmem import labels
from syncmem.codec import pack
from syncmem.errors import NotCanonical, Unreadable
from syncmem.seal.keys import derive, public_key

MAGIC: Final = b"SMv1"
SUITE: Final = 1
ENVELOPE_BYTES_MIN: Final = 256  # a report
ENVELOPE_BYTES_CLAIMS: Final = 512  # what is more: one claim looks like a few
ENVELOPE_BYTES_MAX: Final = 1024 * 1024
HINT_BYTES, SALT_BYTES, PROOF_BYTES, TAG_BYTES, RANDOM_BYTES = 8, 24, 32, 16, 32
OVERHEAD_BYTES: Final = len(MAGIC) + 1 + HINT_BYTES + SALT_BYTES + PROOF_BYTES + TAG_BYTES
_LENGTH_BYTES: Final = 4
_NONCE: Final = bytes(12)  # each key seals one message
PLAINTEXT_BYTES_MAX: Final = 960 * 1024  # Padmé of this is the longest envelope that fits


@dataclass(frozen=True)
class EpochKey:
    """The key of one epoch of one scope, and what follows from it.

    Attributes:
        vault, epoch: ids of 16 bytes; ``secret``: the epoch key; ``subject``: names the scope's erased entities.
        write_seed, write_key: sign requests to the mailbox; ``mailbox``: its id (16 bytes), the hash of the latter.
        key_mark, subject_mark: what the epoch's statement says of the two keys (32 bytes each).
    """

    vault: bytes
    scope: str
    epoch: bytes
    secret: bytes = field(repr=False)
    subject: bytes = field(repr=False)

    @cached_property
    def write_seed(self) -> bytes:
        return derive(self.secret, labels.WRITE, 32)

    @cached_property
    def write_key(self) -> bytes:
        return public_key(self.write_seed)

    @cached_property
    def mailbox(self) -> bytes:
        return sha256(labels.MAILBOX + self.write_key).digest()[:16]

    @cached_property
    def key_mark(self) -> bytes:
        return sha256(labels.EPOCH + self.secret).digest()

    @cached_property
    def subject_mark(self) -> bytes:
        return sha256(labels.SUBJECTS + self.subject).digest()

    @cached_property
    def names(self) -> bytes:
        return derive(self.secret, labels.NAMES, 32)

    def stream(self, log: bytes) -> bytes:
        """The name of a log's stream in the mailbox (8 bytes)."""
        return hmac.digest(self.names, log, "sha256")[:8]

    def bound(self, padded: int) -> bytes:
        """What an envelope of this epoch authenticates beside its content."""
        return labels.ENVELOPE + pack([SUITE, self.vault, self.epoch, self.mailbox, padded])


def seal(key: EpochKey, plaintext: bytes, randomness: Callable[[int], bytes]) -> bytes:
    """The envelope of at most ``PLAINTEXT_BYTES_MAX`` bytes."""
    assert len(plaintext) <= PLAINTEXT_BYTES_MAX, "what is sealed is bounded where it is made"
    size = padded_length(OVERHEAD_BYTES + _LENGTH_BYTES + len(plaintext)) - OVERHEAD_BYTES
    padded = (len(plaintext).to_bytes(_LENGTH_BYTES, "big") + plaintext).ljust(size, b"\0")
    bound = key.bound(size)
    drawn = randomness(RANDOM_BYTES) + sha256(bound).digest() + sha256(padded).digest()
    salt = hmac.digest(derive(key.secret, labels.SALTING, 32), drawn, "sha256")[:SALT_BYTES]
    once, proof = _message_key(key.secret, salt)
    return b"".join(
        (MAGIC, bytes([SUITE]), key.epoch[:HINT_BYTES], salt, proof, _cipher(once).encrypt(_NONCE, padded, bound))
    )


def unseal(key: EpochKey, data: bytes) -> bytes:
    """The plaintext of an envelope; the checks stand in the order of the protocol.

    Raises:
        NotCanonical: size, magic, suite or padding are wrong.
        Unreadable: it is of another epoch, or was changed.
    """
    if not ENVELOPE_BYTES_MIN <= len(data) <= ENVELOPE_BYTES_MAX or padded_length(len(data)) != len(data):
        raise NotCanonical("an envelope of this size is never written; ask the sender for it again")
    if data[:4] != MAGIC:
        raise NotCanonical("the bytes are no envelope; ask the mailbox for them again")
    if data[4] != SUITE:
        raise NotCanonical(f"the envelope is of suite {data[4]}, this syncmem knows {SUITE}; upgrade syncmem")
    if data[5:13] != key.epoch[:HINT_BYTES]:
        raise Unreadable("the envelope is of another epoch; sync again to learn its key")
    salt, proof, sealed = data[13:37], data[37:69], data[69:]
    once, wanted = _message_key(key.secret, salt)
    if not hmac.compare_digest(proof, wanted):
        raise Unreadable("the envelope was not sealed with this key; ask the sender for it again")
    return _without_padding(_opened(once, sealed, key.bound(len(sealed) - TAG_BYTES)))


def _opened(once: bytes, sealed: bytes, bound: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag

    try:
        return bytes(_cipher(once).decrypt(_NONCE, sealed, bound))
    except InvalidTag as error:
        raise Unreadable("the envelope was changed or put elsewhere; ask the sender for it again") from error


def _without_padding(padded: bytes) -> bytes:
    length = int.from_bytes(padded[:_LENGTH_BYTES], "big")
    end = _LENGTH_BYTES + length
    wanted = padded_length(OVERHEAD_BYTES + end) - OVERHEAD_BYTES
    if end > len(padded) or wanted != len(padded) or padded.count(0, end) != len(padded) - end:
        raise NotCanonical("the padding of an envelope is wrong; ask the sender to check it")
    return padded[_LENGTH_BYTES:end]


def padded_length(length: int) -> int:
    """256 bytes, 512 bytes, then Padmé: the next length with few significant bits, which adds at most 12 %.

    >>> [padded_length(n) for n in (1, 257, 513, 1000, 100_000)]
    [256, 512, 544, 1024, 100352]
    """
    if length <= ENVELOPE_BYTES_CLAIMS:
        return ENVELOPE_BYTES_MIN if length <= ENVELOPE_BYTES_MIN else ENVELOPE_BYTES_CLAIMS
    exponent = length.bit_length() - 1
    low_bits = exponent - exponent.bit_length()
    mask = (1 << low_bits) - 1
    return (length + mask) & ~mask


def _message_key(secret: bytes, salt: bytes) -> tuple[bytes, bytes]:
    both = derive(secret, labels.MESSAGE + salt, 64)
    return both[:32], both[32:]


def _cipher(key: bytes) -> Any:
    return _aead()(key)


@lru_cache(maxsize=1)
def _aead() -> Any:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305
