"""Statements of the roster, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from protocol.vectors.generate.keys import EPOCH_KEY, SUBJECT_KEY, transport
from protocol.vectors.generate.making import T0, Device, flipped, runs, secret
from protocol.vectors.generate.vector import Vector
from syncmem import labels
from syncmem.codec import pack, pack_flat
from syncmem.seal.keys import sign

ANA, BO, PAPER = Device("ana"), Device("bo"), Device("paper")
GENESIS, ADD, REVOKE, EPOCH, NAME, GRANT, ADOPT = range(1, 8)
ROOT = bytes(16)  # what a genesis names as its vault
LOG, HEAD = secret("some log", 16), secret("some head")
WRAP = secret("wrap", 112)
PARENTS = sorted([secret("parent 1", 16), secret("parent 2", 16)])


def member(device: Device, name: str | None = None, founder: bytes | None = None, **other: Any) -> list[Any]:
    """A member with its proof; ``key``, ``said`` and ``signer`` make another one of it."""
    key = other.get("key", transport(device).public_key().public_bytes_raw())
    signer: Device = other.get("signer", device)
    said = pack(other.get("said", [key, founder]))
    return [device.key, key, name or device.name, sign(signer.seed, other.get("label", labels.MEMBER), said)]


def epoch_body(scope: str, *devices: Device, key: bytes = EPOCH_KEY, subject: bytes = SUBJECT_KEY) -> list[Any]:
    """An epoch of a scope, with the same wrap for each device: who opens it is shown by the vectors of keys."""
    wraps = [[device, WRAP] for device in sorted(device.key for device in devices)]
    return [scope, wraps, sha256(labels.EPOCH + key).digest(), sha256(labels.SUBJECTS + subject).digest()]


def content(
    kind: int, body: Any, signer: Device = ANA, vault: bytes = PARENTS[0], parents: Any = (), **other: Any
) -> bytes:
    """The content of a statement, canonical or not."""
    return pack_flat([kind, vault, list(parents), other.get("key", signer.key), other.get("time", T0), body])


def signed(said: bytes, signer: Device = ANA) -> bytes:
    return pack_flat([said, sign(signer.seed, labels.STATEMENT, said)])


def id_of(said: bytes) -> bytes:
    return sha256(labels.ROSTER + said).digest()[:16]


def genesis_body(paper: bool = False) -> list[Any]:
    return [
        1,
        secret("nonce", 16),
        member(ANA),
        member(PAPER, founder=ANA.key) if paper else None,
        secret("recovery") if paper else None,
    ]


def accepted(
    name: str, says: str, kind: int, body: Any, parents: Sequence[bytes] = PARENTS, outcome: str = "accepted"
) -> Vector:
    said = content(kind, body, vault=ROOT if kind == GENESIS else PARENTS[0], parents=parents)
    id = id_of(said)
    answer = {
        "outcome": outcome, "id": id.hex(), "kind": kind, "vault": (id if kind == GENESIS else PARENTS[0]).hex(),
        "parents": [parent.hex() for parent in parents], "signer": ANA.key.hex(), "time": T0,
    }  # fmt: skip
    return asked(name, says, signed(said), answer)


def asked(name: str, says: str, data: bytes, answer: dict[str, Any]) -> Vector:
    return Vector("statement", name, says, {"word": "statement", "statement": runs(data)}, answer)


def vectors() -> Iterator[Vector]:
    yield accepted("genesis", "A genesis names itself the root of its vault.", GENESIS, genesis_body(), ())
    yield accepted("genesis-with-paper", "A genesis may name a member on paper.", GENESIS, genesis_body(True), ())
    grants = [["vault", PARENTS[1], WRAP]]
    yield accepted("add", "A member is added with the keys it is given.", ADD, [member(BO), grants])
    yield accepted("revoke", "A member is taken out, with the places up to which it counts.", REVOKE,
                   [BO.key, [[LOG, 5, HEAD]], True, "lost"])  # fmt: skip
    yield accepted("epoch", "A scope gets a new key, wrapped for each that has it.", EPOCH, epoch_body("vault", BO))
    yield accepted("name", "A member gets another name.", NAME, [BO.key, "kitchen"])
    yield accepted("grant", "A member is given more scopes.", GRANT, [BO.key, grants])
    yield accepted("adopt", "What a revoked device wrote counts up to a place.", ADOPT, [LOG, 9, HEAD])
    yield accepted("later-fields", "Fields that a later version appends are kept.", NAME, [BO.key, "kitchen", "new"])
    yield accepted("unknown-kind", "A statement of a later kind is kept and counts for nothing.", 99, ["new"],
                   outcome="kept")  # fmt: skip
    for name, says, data in malformed():
        yield asked(name, says, data, {"outcome": "not-canonical"})
    for name, says, data in unsigned():
        yield asked(name, says, data, {"outcome": "unreadable"})


NAMED = content(NAME, [BO.key, "kitchen"], parents=PARENTS)


def unsigned() -> Iterator[tuple[str, str, bytes]]:
    yield (
        "signature-changed",
        "One bit of the signature is enough.",
        pack([NAMED, flipped(sign(ANA.seed, labels.STATEMENT, NAMED), 7)]),
    )
    yield "signature-of-other", "A statement is signed by the device that it names.", signed(NAMED, BO)
    yield "content-changed", "The signature covers every bit of the content.", pack(
        [flipped(NAMED, -1), sign(ANA.seed, labels.STATEMENT, NAMED)])  # fmt: skip
    yield (
        "signature-of-other-kind",
        "A signature under another label is none.",
        pack([NAMED, sign(ANA.seed, labels.BLOB, NAMED)]),
    )
    weak = content(NAME, [BO.key, "kitchen"], parents=PARENTS, key=b"\xff" * 32)
    yield "signer-no-key", "A signer that is no key has signed nothing.", signed(weak)


def said(kind: int, body: Any, **other: Any) -> bytes:
    return signed(content(kind, body, **{"parents": PARENTS, **other}))


def malformed() -> Iterator[tuple[str, str, bytes]]:
    yield "no-pair", "A statement is content and signature.", pack([NAMED])
    yield "signature-short", "A signature has 64 bytes.", pack([NAMED, bytes(63)])
    yield (
        "content-second-encoding",
        "The content is canonical.",
        signed(NAMED.replace(b"\xa7kitchen", b"\xd9\7kitchen")),
    )
    yield "content-followed", "Nothing follows the content.", signed(NAMED + b"\0")
    yield "content-of-five", "The content has six parts.", signed(b"\x95" + NAMED[1 : -len(pack([BO.key, "kitchen"]))])
    yield "too-long", "A statement has at most 64 KiB.", said(REVOKE, [BO.key, [], False, "x" * 65_536])
    yield "time-a-float", "The time is an integer.", said(NAME, [BO.key, "kitchen"], time=1.0)
    yield "time-too-far", "The time lies within 2^62.", said(NAME, [BO.key, "kitchen"], time=2**62 + 1)
    yield "vault-short", "A vault's id has 16 bytes.", said(NAME, [BO.key, "kitchen"], vault=bytes(15))
    yield "signer-short", "A signer's key has 32 bytes.", said(NAME, [BO.key, "kitchen"], key=ANA.key[:31])
    yield "parents-descending", "Parents ascend.", said(NAME, [BO.key, "kitchen"], parents=PARENTS[::-1])
    yield "parent-twice", "A parent stands once.", said(NAME, [BO.key, "kitchen"], parents=[PARENTS[0]] * 2)
    yield "parent-short", "A parent's id has 16 bytes.", said(NAME, [BO.key, "kitchen"], parents=[bytes(15)])
    yield "genesis-with-parents", "A genesis has no parents.", said(GENESIS, genesis_body(), vault=ROOT)
    yield "genesis-in-a-vault", "A genesis names no vault.", said(GENESIS, genesis_body(), parents=[])
    yield (
        "no-genesis-and-no-vault",
        "Only a genesis names no vault.",
        said(NAME, [BO.key, "kitchen"], vault=ROOT, parents=[]),
    )
    yield from malformed_bodies()


def malformed_bodies() -> Iterator[tuple[str, str, bytes]]:
    yield "body-no-array", "A body is an array.", said(NAME, "kitchen")
    yield "body-short", "A body has all the fields of version 1.", said(NAME, [BO.key])
    suite = [2, *genesis_body()[1:]]
    yield "suite-2", "Another suite is another protocol.", said(GENESIS, suite, vault=ROOT, parents=[])
    yield "member-short-key", "A member's key has 32 bytes.", said(ADD, [[BO.key[:31], *member(BO)[1:]], []])
    yield "member-no-name", "A member has a name.", said(ADD, [[*member(BO)[:2], "", member(BO)[3]], []])
    yield "name-too-long", "A name has at most 256 bytes.", said(NAME, [BO.key, "k" * 257])
    yield "grant-short-epoch", "An epoch's id has 16 bytes.", said(GRANT, [BO.key, [["vault", bytes(15), WRAP]]])
    yield "epoch-no-scope", "An epoch is of a scope.", said(EPOCH, epoch_body("", BO))
    crowd = [Device(f"device {number}") for number in range(52)]
    yield "epoch-52-wraps", "A vault has at most 50 devices and one on paper.", said(EPOCH, epoch_body("vault", *crowd))
    yield (
        "cut-short-head",
        "A cut names a head of 32 bytes.",
        said(REVOKE, [BO.key, [[LOG, 5, HEAD[:31]]], False, None]),
    )
    yield "cut-negative", "A cut names a place from 0.", said(REVOKE, [BO.key, [[LOG, -1, HEAD]], False, None])
    yield "wipe-a-number", "Whether to wipe is true or false.", said(REVOKE, [BO.key, [], 1, None])
    yield "adopt-too-far", "Places end with 2^40 - 1.", said(ADOPT, [LOG, 2**40, HEAD])
