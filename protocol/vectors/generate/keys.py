"""Keys: what is derived from what, and what is wrapped to whom."""

from __future__ import annotations

import base64
import hmac
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from protocol.vectors.generate.making import Device, expand, flipped, secret
from protocol.vectors.generate.vector import Vector
from syncmem import labels
from syncmem.codec import pack
from syncmem.seal.keys import public_key

VAULT, SCOPE = secret("vault", 16), "vault"
EPOCH_KEY, SUBJECT_KEY = secret("epoch key"), secret("subject key")
ANA, BO = Device("ana"), Device("bo")

# Of the recovery phrase's format (BIP-39), its own published example: 32 zero bytes.
ZERO_PHRASE = " ".join(["abandon"] * 23 + ["art"])


def transport(device: Device) -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(expand(device.seed, labels.TRANSPORT, 32))


# -- HPKE, base mode, of RFC 9180: so that a wrap is the same each time it is made ---------------------

KEM, SUITE = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"  # X25519, HKDF-SHA256, ChaCha20-Poly1305


def labeled_extract(suite: bytes, salt: bytes, label: bytes, value: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + value, "sha256")


def labeled_expand(suite: bytes, key: bytes, label: bytes, info: bytes, size: int) -> bytes:
    return expand(key, size.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, size)


def wrapped(recipient: bytes, context: bytes, plain: bytes) -> bytes:
    """Sealed to a transport key with an ephemeral key that is always the same."""
    ephemeral = X25519PrivateKey.from_private_bytes(secret("ephemeral key"))
    sent = ephemeral.public_key().public_bytes_raw()
    agreed = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    extracted = labeled_extract(KEM, b"", b"eae_prk", agreed)
    shared = labeled_expand(KEM, extracted, b"shared_secret", sent + recipient, 32)
    ids = labeled_extract(SUITE, b"", b"psk_id_hash", b""), labeled_extract(SUITE, b"", b"info_hash", context)
    schedule, start = b"\0" + b"".join(ids), labeled_extract(SUITE, shared, b"secret", b"")
    key = labeled_expand(SUITE, start, b"key", schedule, 32)
    nonce = labeled_expand(SUITE, start, b"base_nonce", schedule, 12)
    return sent + ChaCha20Poly1305(key).encrypt(nonce, plain, b"")


def wrap_for(device: Device, vault: bytes = VAULT, scope: str = SCOPE, plain: bytes = EPOCH_KEY + SUBJECT_KEY) -> bytes:
    recipient = transport(device).public_key().public_bytes_raw()
    return wrapped(recipient, labels.WRAP + pack([vault, scope, device.key]), plain)


def wraps() -> Iterator[Vector]:
    right = wrap_for(ANA)
    answer = {"outcome": "accepted", "epoch_key": EPOCH_KEY.hex(), "subject_key": SUBJECT_KEY.hex()}
    yield wrap("unwrap", "A device opens what was wrapped to its transport key.", right, answer)
    for name, says, data in (
        ("unwrap-other-vault", "A wrap is bound to its vault.", wrap_for(ANA, vault=bytes(16))),
        ("unwrap-other-scope", "A wrap is bound to its scope.", wrap_for(ANA, scope="work")),
        ("unwrap-other-device", "A wrap opens for its recipient alone.", wrap_for(BO)),
        ("unwrap-changed", "A wrap with another bit does not open.", flipped(right, -1)),
        ("unwrap-other-sender", "A wrap with another encapsulated key does not open.", flipped(right, 3)),
        ("unwrap-weak-sender", "An encapsulated key of small order agrees on nothing.", bytes(32) + right[32:]),
        ("unwrap-cut-off", "A wrap has 112 bytes.", right[:40]),
        ("unwrap-empty", "No bytes are no wrap.", b""),
        ("unwrap-one-key", "A wrap holds two keys.", wrap_for(ANA, plain=EPOCH_KEY)),
    ):
        yield wrap(name, says, data, {"outcome": "unreadable"})


def wrap(name: str, says: str, data: bytes, answer: dict[str, Any]) -> Vector:
    about = {"device_seed": ANA.seed.hex(), "vault": VAULT.hex(), "scope": SCOPE}
    return Vector("keys", name, says, {"word": "unwrap", **about, "wrap": data.hex()}, answer)


# -- derivations ----------------------------------------------------------------------------------------


def derived(name: str, says: str, ask: dict[str, Any], /, **answer: Any) -> Vector:
    told = {key: value.hex() if isinstance(value, bytes) else value for key, value in answer.items()}
    return Vector("keys", name, says, {"word": "keys", **ask}, {"outcome": "accepted", **told})


def vectors() -> Iterator[Vector]:
    yield derived(
        "device", "A device's keys follow from its seed: one signs, one is sealed to.",
        {"device_seed": ANA.seed.hex()}, device=ANA.key, transport=transport(ANA).public_key().public_bytes_raw(),
    )  # fmt: skip
    for name, box in (("drop-key", b"\1" * 16), ("drop-key-elsewhere", b"\2" * 16)):
        ask = {"device_seed": ANA.seed.hex(), "mailbox": box.hex()}
        drop_key = public_key(expand(ANA.seed, labels.DROP + box, 32))
        yield derived(name, "A device's drop key is another one at each mailbox.", ask, drop_key=drop_key)
    write = public_key(expand(EPOCH_KEY, labels.WRITE, 32))
    names = expand(EPOCH_KEY, labels.NAMES, 32)
    mailbox = sha256(labels.MAILBOX + write).digest()[:16]
    yield derived(
        "epoch", "The mailbox of an epoch, and who may write there, follow from its key.",
        {"epoch_key": EPOCH_KEY.hex()}, write_key=write, mailbox=mailbox, names_key=names,
    )  # fmt: skip
    log = ANA.log().id
    yield derived(
        "stream", "A stream is named by a keyed hash of the log: the relay learns no log id.",
        {"epoch_key": EPOCH_KEY.hex(), "log": log.hex()}, stream=hmac.digest(names, log, "sha256")[:8],
    )  # fmt: skip
    event = secret("an episode's event", 16)
    shelf = expand(EPOCH_KEY, labels.CONTENT + event, 32)
    mailbox = sha256(labels.MAILBOX + public_key(expand(shelf, labels.WRITE, 32))).digest()[:16]
    yield derived(
        "content", "The content of an episode has a mailbox of its own, which follows from the event's id.",
        {"epoch_key": EPOCH_KEY.hex(), "event": event.hex()}, mailbox=mailbox,
        stream=hmac.digest(expand(shelf, labels.NAMES, 32), event, "sha256")[:8],
    )  # fmt: skip
    for name, entity in (("subject", "person:ana"), ("subject-beyond-ascii", "person:Zoë")):
        digest = hmac.digest(SUBJECT_KEY, labels.SUBJECT + entity.encode(), "sha256")[:16]
        says = "An erased entity is named by a keyed hash of its UTF-8 bytes."
        yield derived(name, says, {"subject_key": SUBJECT_KEY.hex(), "entity": entity}, name=digest)
    yield from phrases()
    yield from codes()
    for length, size in (
        (1, 256),
        (256, 256),
        (257, 512),
        (512, 512),
        (513, 544),
        (1000, 1024),
        (100_000, 100_352),
        (1_000_000, 1_015_808),
    ):
        yield derived(f"padded-{length}", f"{length} bytes are padded to {size}.", {"length": length}, padded=size)
    yield Vector(
        "keys", "seed-short", "A seed has 32 bytes.",
        {"word": "keys", "device_seed": ANA.seed[:31].hex()}, {"outcome": "invalid"},
    )  # fmt: skip
    yield from wraps()


def coded(data: bytes) -> str:
    return "SYNCMEM-" + base64.b32encode(data + sha256(data).digest()[:4]).decode().rstrip("=")


def codes() -> Iterator[Vector]:
    said, address = secret("code", 16), "https://relay.example.org"
    place = expand(said + bytes(16), labels.INVITATION, 32)
    right = coded(pack([1, said, address]))
    told: dict[str, Any] = {"secret": said, "address": address, "place": place}
    yield derived("code", "A code tells a secret and an address; the secret leads to the meeting place.",
                  {"code": right}, **told)  # fmt: skip
    spaced = "\n".join([right[:20].lower(), "  " + right[20:50], right[50:]])
    yield derived("code-as-typed", "Case, spaces and line ends of a code do not matter.", {"code": spaced}, **told)
    other = right[:30] + ("B" if right[30] != "B" else "C") + right[31:]
    for name, says, code in (
        ("code-wrong-character", "A wrong character of a code is noticed.", other),
        ("code-cut-off", "A code that is not whole is noticed.", right[:-3]),
        ("code-without-name", "A code begins with its name.", right.removeprefix("SYNCMEM-")),
        ("code-short-secret", "The secret of a code has 16 bytes.", coded(pack([1, said[:15], address]))),
        ("code-version-2", "A code of another version is not used.", coded(pack([2, said, address]))),
    ):
        yield Vector("keys", name, says, {"word": "keys", "code": code}, {"outcome": "invalid"})


def phrases() -> Iterator[Vector]:
    paper = expand(bytes(32), labels.PAPER, 32)
    yield derived("phrase", "32 bytes are 24 words, the last of which checks the others.", {"entropy": "(00*32)"},
                  phrase=ZERO_PHRASE)  # fmt: skip
    yield derived("paper-seed", "The words on paper give the seed of the paper member.", {"phrase": ZERO_PHRASE},
                  paper_seed=paper, recovery_seed=expand(paper, labels.RECOVERY, 32))  # fmt: skip
    spelled = ZERO_PHRASE.upper().replace("ABANDON", "ABAN")
    yield derived("paper-seed-four-letters", "Case does not matter, and four letters of a word are enough.",
                  {"phrase": spelled}, paper_seed=paper)  # fmt: skip
    for name, says, words in (
        ("phrase-checksum", "Words that do not fit together are refused.", " ".join(["abandon"] * 24)),
        ("phrase-word", "A word that is in no list is refused.", ZERO_PHRASE.replace("art", "arty")),
        ("phrase-23-words", "A phrase has 24 words.", ZERO_PHRASE.rpartition(" ")[0]),
    ):
        yield Vector("keys", name, says, {"word": "keys", "phrase": words}, {"outcome": "invalid"})
