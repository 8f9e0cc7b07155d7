"""Keys do what the standards say: the published vectors, run through the functions that the rest calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import labels
from syncmem.errors import Unreadable
from syncmem.seal.envelope import _cipher
from syncmem.seal.keys import _suite, derive, public_key, sign, transport_key, unwrap, verify, wrap, wrap_context
from tests.seal import hpke

SEED = bytes(range(32))
CONTEXT = wrap_context(bytes(16), "vault", public_key(SEED))

# RFC 8032, section 7.1: seed, public key, message, signature.
ED25519 = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        (
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        (
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ),
]

# RFC 5869, appendix A, the expanding half: key, info, output.
HKDF_EXPAND = [
    (
        "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
        "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
        bytes(range(0xB0, 0x100)).hex(),
        (
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
            "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
            "cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
    ),
    (
        "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
        "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]


@pytest.mark.parametrize(("seed", "public", "message", "signature"), ED25519)
def test_signatures_are_those_of_rfc_8032(seed: str, public: str, message: str, signature: str) -> None:
    key, text, wanted = bytes.fromhex(seed), bytes.fromhex(message), bytes.fromhex(signature)
    assert public_key(key).hex() == public
    assert sign(key, b"", text) == wanted
    assert verify(bytes.fromhex(public), b"", text, wanted)
    assert sign(key, text[:1], text[1:]) == wanted, "label and message are signed as one text"


@pytest.mark.parametrize(("key", "info", "output"), HKDF_EXPAND)
def test_derived_keys_are_those_of_rfc_5869(key: str, info: str, output: str) -> None:
    assert derive(bytes.fromhex(key), bytes.fromhex(info), len(output) // 2).hex() == output


def test_the_cipher_is_that_of_rfc_8439() -> None:
    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
        b"sunscreen would be it."
    )
    sealed = bytes.fromhex(
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d63dbea45e8ca9671282fafb69da92728b"
        "1a71de0a9e060b2905d6a5b67ecd3b3692ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
        "3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691"
    )
    nonce, bound = bytes.fromhex("070000004041424344454647"), bytes.fromhex("50515253c0c1c2c3c4c5c6c7")
    cipher = _cipher(bytes(range(0x80, 0xA0)))
    assert cipher.encrypt(nonce, text, bound) == sealed
    assert cipher.decrypt(nonce, sealed, bound) == text


def test_the_plain_hpke_of_these_tests_is_that_of_rfc_9180() -> None:
    recipient = bytes.fromhex("8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb")
    ephemeral = bytes.fromhex("f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600")
    info = bytes.fromhex("4f6465206f6e2061204772656369616e2055726e")
    text, bound = b"Beauty is truth, truth beauty", b"Count-0"
    sealed = bytes.fromhex(
        "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
        "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28"
    )
    assert hpke.seal(hpke.public(recipient), ephemeral, info, text, bound) == sealed
    assert hpke.open(recipient, info, sealed, bound) == text
    assert _suite().decrypt(hpke.seal(hpke.public(recipient), ephemeral, info, text), hpke.private(recipient), info)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200), st.binary(max_size=80))
def test_wraps_are_hpke_in_both_directions(seed: bytes, secret: bytes, context: bytes) -> None:
    private = derive(seed, labels.TRANSPORT, 32)
    assert hpke.public(private) == transport_key(seed)
    assert hpke.open(private, context, wrap(transport_key(seed), context, secret)) == secret
    assert unwrap(seed, context, hpke.seal(transport_key(seed), SEED, context, secret)) == secret


def test_a_wrap_opens_for_its_recipient_in_its_context_unchanged_and_not_otherwise() -> None:
    wrapped = wrap(transport_key(SEED), CONTEXT, b"the key of an epoch")
    assert unwrap(SEED, CONTEXT, wrapped) == b"the key of an epoch"
    others = [
        (bytes(32), CONTEXT, wrapped),
        (SEED, wrap_context(bytes(16), "work", public_key(SEED)), wrapped),
        (SEED, wrap_context(bytes(15) + b"\1", "vault", public_key(SEED)), wrapped),
        (SEED, CONTEXT, wrapped[:-1]),
        (SEED, CONTEXT, b""),
        *((SEED, CONTEXT, changed) for changed in each_with_a_byte_changed(wrapped)),
    ]
    for seed, context, data in others:
        with pytest.raises(Unreadable):
            unwrap(seed, context, data)


def each_with_a_byte_changed(data: bytes) -> list[bytes]:
    """Each byte; and the top bit of the encapsulated key, at which X25519 does not look (HPKE binds it)."""
    return [data[:at] + bytes([byte ^ 1]) + data[at + 1 :] for at, byte in enumerate(data)] + [
        data[:31] + bytes([data[31] ^ 0x80]) + data[32:]
    ]


@pytest.mark.parametrize("transport", [bytes(32), b"\1" + bytes(31), b"short", b""])
def test_nothing_is_wrapped_to_what_is_no_key(transport: bytes) -> None:
    with pytest.raises(Unreadable):
        wrap(transport, CONTEXT, b"the key of an epoch")


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=70))
def test_verifying_says_no_to_anything_and_never_raises(public: bytes, message: bytes, signature: bytes) -> None:
    assert not verify(public, labels.STATEMENT, message, signature)


def test_a_signature_is_of_one_label_and_one_message() -> None:
    signature = sign(SEED, labels.STATEMENT, b"what is said")
    assert verify(public_key(SEED), labels.STATEMENT, b"what is said", signature)
    assert not verify(public_key(SEED), labels.BLOB, b"what is said", signature)
    assert not verify(public_key(SEED), labels.STATEMENT, b"what was said", signature)
    assert not verify(public_key(bytes(32)), labels.STATEMENT, b"what is said", signature)


def test_the_transport_key_cannot_be_mistaken_for_another_key_of_its_seed() -> None:
    others = {public_key(SEED), *(derive(SEED, label, 32) for label in (labels.WRITE, labels.NAMES, labels.PAPER))}
    assert transport_key(SEED) not in others
    assert transport_key(SEED) != hpke.public(SEED)
