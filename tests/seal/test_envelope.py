"""What was sealed opens in its place, unchanged, and nowhere else; what is seen from outside says little."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from hypothesis import example, given
from hypothesis import strategies as st

from syncmem import labels
from syncmem.codec import pack
from syncmem.environment import seeded_randomness
from syncmem.errors import NotCanonical, PeerError, Unreadable
from syncmem.seal.envelope import (
    ENVELOPE_BYTES_CLAIMS,
    ENVELOPE_BYTES_MAX,
    ENVELOPE_BYTES_MIN,
    OVERHEAD_BYTES,
    PLAINTEXT_BYTES_MAX,
    EpochKey,
    padded_length,
    seal,
    unseal,
)
from syncmem.seal.keys import derive

KEY = EpochKey(b"v" * 16, "vault", b"e" * 16, b"k" * 32, b"s" * 32)
SALT, PROOF, SEALED = slice(13, 37), slice(37, 69), slice(69, None)
DRAWN = seeded_randomness(1)


def frozen(count: int) -> bytes:
    """A source of randomness that is stuck, as in a machine that was cloned."""
    return bytes(count)


@given(st.binary(max_size=5000), st.integers(0, 2**32))
@example(b"", 0)
@example(bytes(PLAINTEXT_BYTES_MAX), 0)
def test_what_was_sealed_comes_back(plaintext: bytes, seed: int) -> None:
    assert unseal(KEY, seal(KEY, plaintext, seeded_randomness(seed))) == plaintext


def test_an_envelope_is_what_the_protocol_says() -> None:
    """Opened by hand, from the words of the protocol alone."""
    data = seal(KEY, b"ana moved", DRAWN)
    assert data[:13] == b"SMv1\x01" + b"e" * 8
    both = derive(KEY.secret, b"syncmem/v1/message\0" + data[SALT], 64)
    assert data[PROOF] == both[32:]
    size = len(data) - OVERHEAD_BYTES
    bound = b"syncmem/v1/envelope\0" + pack([1, KEY.vault, KEY.epoch, KEY.mailbox, size])
    padded = ChaCha20Poly1305(both[:32]).decrypt(bytes(12), data[SEALED], bound)
    assert padded == b"\0\0\0\x09ana moved" + bytes(size - 13)


# -- nothing else opens -------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [1, 0x80, 0xFF])
def test_an_envelope_of_which_any_byte_was_changed_is_refused(change: int) -> None:
    data = seal(KEY, b"ana moved", DRAWN)
    for at in range(len(data)):
        with pytest.raises(PeerError):
            unseal(KEY, data[:at] + bytes([data[at] ^ change]) + data[at + 1 :])


@given(st.binary(max_size=1200))
@example(bytes(ENVELOPE_BYTES_MIN))
def test_bytes_that_nobody_sealed_are_refused(data: bytes) -> None:
    with pytest.raises(PeerError):
        unseal(KEY, data)


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, vault=b"w" * 16),
        replace(KEY, epoch=b"f" * 16),
        replace(KEY, epoch=b"e" * 8 + b"f" * 8),
        replace(KEY, secret=b"l" * 32),
    ],
)
def test_an_envelope_of_another_vault_epoch_or_key_does_not_open(other: EpochKey) -> None:
    with pytest.raises(Unreadable):
        unseal(other, seal(KEY, b"ana moved", DRAWN))


def test_an_envelope_in_another_mailbox_does_not_open() -> None:
    class Elsewhere(EpochKey):
        mailbox = b"m" * 16  # type: ignore[assignment]

    elsewhere = Elsewhere(KEY.vault, KEY.scope, KEY.epoch, KEY.secret, KEY.subject)
    with pytest.raises(Unreadable, match="changed or put elsewhere"):
        unseal(KEY, seal(elsewhere, b"ana moved", DRAWN))


# -- the order of checks ------------------------------------------------------------------------------


def test_the_first_of_several_faults_is_the_one_that_is_told() -> None:
    """Size, magic, suite, epoch, proof, tag: mended one by one, from a bundle of faults."""
    right = seal(KEY, b"ana moved", DRAWN)
    parts = [right[:4], right[4:5], right[5:13], right[13:69], right[69:]]
    wrong = [bytes(byte ^ 0x55 for byte in part) for part in parts]
    told = ["no envelope", "of suite", "of another epoch", "not sealed with this key", "changed or put elsewhere"]
    with pytest.raises(NotCanonical, match="this size"):
        unseal(KEY, b"".join(wrong) + b"\0")
    for mended, message in enumerate(told):
        with pytest.raises(PeerError, match=message):
            unseal(KEY, b"".join(parts[:mended] + wrong[mended:]))
    assert unseal(KEY, b"".join(parts)) == b"ana moved"


def sealed_by_hand(padded: bytes) -> bytes:
    """An envelope whose padding a reader has to judge: all else is right."""
    both = derive(KEY.secret, labels.MESSAGE + bytes(24), 64)
    head = b"SMv1\x01" + KEY.epoch[:8] + bytes(24) + both[32:]
    return head + ChaCha20Poly1305(both[:32]).encrypt(bytes(12), padded, KEY.bound(len(padded)))


@pytest.mark.parametrize(
    ("padded", "right"),
    [
        (b"\0\0\0\x03ana".ljust(171, b"\0"), True),
        (b"\0\0\0\x03ana".ljust(170, b"\0") + b"\1", False),
        (b"\0\0\0\xa8".ljust(171, b"\0"), False),
        (b"\xff\xff\xff\xff".ljust(171, b"\0"), False),
        (b"\0\0\0\x03ana".ljust(427, b"\0"), False),
    ],
    ids=["right", "hides a byte", "longer than it is", "far longer than it is", "more padding than is due"],
)
def test_padding_has_one_form(padded: bytes, right: bool) -> None:
    data = sealed_by_hand(padded)
    assert len(data) == padded_length(len(data)), "the size alone gives nothing away"
    if right:
        assert unseal(KEY, data) == b"ana"
    else:
        with pytest.raises(NotCanonical, match="padding"):
            unseal(KEY, data)


# -- what is seen from outside ------------------------------------------------------------------------


@given(st.integers(0, PLAINTEXT_BYTES_MAX))
def test_lengths_are_few_and_cost_little(length: int) -> None:
    bare = OVERHEAD_BYTES + 4 + length
    size = padded_length(bare)
    least = ENVELOPE_BYTES_MIN if bare <= ENVELOPE_BYTES_MIN else ENVELOPE_BYTES_CLAIMS
    assert max(bare, least) <= size <= max(least, bare * 1.12)
    assert size <= ENVELOPE_BYTES_MAX
    assert padded_length(size) == size
    significant = bin(size).rstrip("0")[2:]
    assert len(significant) <= (size.bit_length() - 1).bit_length() + 1, "as the definition of Padmé has it"


def test_short_messages_have_two_lengths() -> None:
    lengths = {len(seal(KEY, bytes(count), DRAWN)) for count in range(0, 400, 7)}
    assert lengths == {ENVELOPE_BYTES_MIN, ENVELOPE_BYTES_CLAIMS}
    assert len({padded_length(size) for size in range(1, ENVELOPE_BYTES_MAX, 97)}) < 250


def test_more_than_a_megabyte_is_not_even_looked_at() -> None:
    with pytest.raises(NotCanonical, match="size"):
        unseal(KEY, bytes(padded_length(ENVELOPE_BYTES_MAX + 1)))


# -- randomness that fails ----------------------------------------------------------------------------


def test_a_stuck_source_of_randomness_gives_each_message_and_place_a_key_of_its_own() -> None:
    elsewhere = replace(KEY, epoch=b"e" * 8 + b"f" * 8)
    sealed = [seal(KEY, b"ana", frozen), seal(KEY, b"ben", frozen), seal(KEY, b"ana\0", frozen)]
    sealed.append(seal(elsewhere, b"ana", frozen))
    assert len({data[SALT] for data in sealed}) == len(sealed)
    assert seal(KEY, b"ana", frozen) == sealed[0], "the same message again tells only that it is the same"


def test_the_salt_is_hedged_with_the_epoch_key_as_the_protocol_says() -> None:
    data = seal(KEY, b"ana", frozen)
    padded = b"\0\0\0\x03ana".ljust(171, b"\0")
    drawn = bytes(32) + sha256(KEY.bound(171)).digest() + sha256(padded).digest()
    salting = derive(KEY.secret, b"syncmem/v1/salting\0", 32)
    assert data[SALT] == hmac.digest(salting, drawn, "sha256")[:24]


@given(st.binary(max_size=300))
def test_the_same_message_twice_looks_different_with_good_randomness(plaintext: bytes) -> None:
    first, second = seal(KEY, plaintext, DRAWN), seal(KEY, plaintext, DRAWN)
    assert first[SALT] != second[SALT]
    assert first[SEALED] != second[SEALED]


# -- keys of an epoch ---------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["write_seed", "write_key", "mailbox", "names"])
def test_what_follows_from_an_epoch_key_follows_from_the_secret_alone(part: str) -> None:
    value: Callable[[EpochKey], bytes] = lambda key: getattr(key, part)  # noqa: E731
    assert value(replace(KEY, epoch=b"f" * 16, scope="work", subject=b"t" * 32)) == value(KEY)
    assert value(replace(KEY, secret=b"l" * 32)) != value(KEY)


def test_an_epoch_key_is_not_shown() -> None:
    assert repr(KEY.secret) not in repr(KEY)
    assert repr(KEY.subject) not in repr(KEY)
