"""How a mailbox and a relay agree on what proves requests, as bytes."""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from protocol.vectors.generate.keys import EPOCH_KEY
from protocol.vectors.generate.mailbox import BLOB, BOX, KEY, STREAM, WRITE_SEED, asked, message, name, signed, text
from protocol.vectors.generate.making import expand, flipped, runs, secret
from protocol.vectors.generate.vector import Vector
from syncmem import labels

RELAY_SEED = secret("a relay")
OTHER_RELAY_SEED = secret("another relay")
AGREEMENT_SEED = expand(WRITE_SEED, labels.AGREEMENT, 32)


def x25519(seed: bytes) -> bytes:
    return X25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


AGREEMENT = x25519(AGREEMENT_SEED)


def shared(relay_seed: bytes) -> bytes:
    both = X25519PrivateKey.from_private_bytes(AGREEMENT_SEED).exchange(
        X25519PublicKey.from_public_bytes(x25519(relay_seed))
    )
    context = labels.SHARED + KEY + AGREEMENT + x25519(relay_seed)
    return HKDF(SHA256(), 32, salt=None, info=context).derive(both)


def coded(body: bytes, relay_seed: bytes = RELAY_SEED) -> bytes:
    said = labels.CODE + sha256(body).digest()
    return body + x25519(relay_seed) + hmac.digest(shared(relay_seed), said, "sha256")


def vectors() -> Iterator[Vector]:
    yield Vector(
        "keys", "shared", "What is agreed on follows from the epoch key and the relay's key, for every device alike.",
        {"word": "keys", "epoch_key": EPOCH_KEY.hex(), "relay_key": x25519(RELAY_SEED).hex()},
        {"outcome": "accepted", "agreement_key": AGREEMENT.hex(), "shared": shared(RELAY_SEED).hex()},
    )  # fmt: skip
    yield from agreeing()
    yield from codes()


def agreeing() -> Iterator[Vector]:
    told = {"mailbox": BOX.hex(), "agreement_key": AGREEMENT.hex()}
    right = signed(message([1, KEY, AGREEMENT]))
    yield asked("agree", "key", "Who has the write key says the mailbox's other key.", right, "accepted", **told)
    short = signed(message([1, KEY, AGREEMENT[:31]]))
    yield asked("agree", "key-short", "An agreement key has 32 bytes.", short, "not-canonical")
    stranger = signed(message([1, KEY, AGREEMENT]), secret("a stranger"))
    yield asked("agree", "signature-of-other", "Nobody agrees on anything for others.", stranger, "unreadable")
    again = coded(message([1, KEY, AGREEMENT]))
    yield by_code("agree", "by-code", "Who agrees signs.", again, "unreadable")
    relay = x25519(RELAY_SEED)
    yield asked("agreed", "key", "The relay says its key.", message([1, relay]), "accepted", relay_key=relay.hex())
    yield asked("agreed", "key-short", "A relay's key has 32 bytes.", message([1, relay[:31]]), "not-canonical")


def codes() -> Iterator[Vector]:
    body = message([1, KEY, [[STREAM, 1, len(BLOB)]], [], 1000, None, False], BLOB)
    told: dict[str, Any] = {"mailbox": BOX.hex(), "puts": [[text(name(1)), None]], "cursors": [], "inline": 1000}
    told |= {"drop_key": None, "making_room": False}
    for called, says, data, outcome in (
        ("by-code", "A code under what was agreed on is as good as a signature.", coded(body), "accepted"),
        ("signed-after-agreeing", "Who has agreed may still sign.", signed(body), "accepted"),
        ("code-changed", "One bit of the code is enough.", flipped(coded(body), -1), "unreadable"),
        ("code-blob-changed", "The code covers the blobs.", flipped(coded(body), -65), "unreadable"),
        (
            "code-of-other-relay", "What was agreed on with one relay proves nothing at another.",
            coded(body, OTHER_RELAY_SEED), "unreadable",
        ),
    ):  # fmt: skip
        yield by_code("exchange", called, says, data, outcome, **(told if outcome == "accepted" else {}))
    yield asked("exchange", "code-not-agreed", "Who has not agreed has no code.", coded(body), "unreadable")
    weak = "With a key of small order nothing is agreed on."
    yield by_code("exchange", "code-weak-key", weak, coded(body), "unreadable", agreement=bytes(32))


def by_code(
    kind: str, called: str, says: str, data: bytes, outcome: str, *, agreement: bytes = AGREEMENT, **told: Any
) -> Vector:
    """Asked of the relay with ``RELAY_SEED``, which has agreed with the mailbox."""
    ask = {"word": "mailbox", "message": kind, "bytes": runs(data)}
    ask |= {"relay_seed": RELAY_SEED.hex(), "agreement_key": agreement.hex()}
    return Vector("mailbox", f"{kind}-{called}", says, ask, {"outcome": outcome, **told})
