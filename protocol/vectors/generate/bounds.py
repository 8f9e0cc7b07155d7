"""Statements once more: who is proven to be a member, and the one form and the bounds of what is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocol.vectors.generate.making import Device, secret
from protocol.vectors.generate.statement import (
    ADD,
    ANA,
    BO,
    EPOCH,
    GENESIS,
    GRANT,
    HEAD,
    LOG,
    NAME,
    PAPER,
    REVOKE,
    ROOT,
    WRAP,
    accepted,
    asked,
    content,
    epoch_body,
    genesis_body,
    member,
    said,
    signed,
)
from protocol.vectors.generate.vector import Vector
from syncmem import labels

CY = Device("cy")
FAR_LOG, EARLY, LATE = b"\xff" * 16, *sorted([secret("epoch 1", 16), secret("epoch 2", 16)])
ORDERED = sorted(secret(f"statement {number}", 16) for number in range(257))
EMPTY_WRAP = bytes(112)  # so that many of them are short when written down


def vectors() -> Iterator[Vector]:
    yield from at_the_bounds()
    for name, says, data in unproven():
        yield asked(name, says, data, {"outcome": "unreadable"})
    for name, says, data in malformed():
        yield asked(name, says, data, {"outcome": "not-canonical"})


def at_the_bounds() -> Iterator[Vector]:
    yield accepted("parents-256", "A statement names up to 256 others.", NAME, [BO.key, "kitchen"], ORDERED[:256])
    yield accepted("name-256-bytes", "A name has up to 256 bytes.", NAME, [BO.key, "k" * 256])
    yield accepted("reason-1024-bytes", "A reason has up to 1,024 bytes.", REVOKE, [BO.key, [], False, "r" * 1024])
    yield accepted("grants-128", "A statement gives up to 128 scopes.", GRANT, [BO.key, many_grants(128)])
    crowd = [Device(f"device {number}") for number in range(51)]
    yield accepted("epoch-51-wraps", "A key is wrapped for up to 51 members.", EPOCH, epoch_body("vault", *crowd))
    says = "Grants ascend by the bytes of the scope, whatever its length, then by epoch."
    rows = [["aa", EARLY, WRAP], ["aa", LATE, WRAP], ["b", EARLY, WRAP]]
    yield accepted("grants-ascending", says, GRANT, [BO.key, rows])


def unproven() -> Iterator[tuple[str, str, bytes]]:
    def added(**other: Any) -> bytes:
        return said(ADD, [member(BO, **other), []])

    foreign = member(CY)[1]
    yield "proof-of-other-device", "Nobody but the device itself proves its transport key.", added(signer=ANA)
    yield "proof-of-other-key", "A proof is of the transport key that is listed.", added(said=[foreign, None])
    yield "proof-for-other-purpose", "A proof under another label is none.", added(label=labels.STATEMENT)
    yield "proof-with-founder", "Only the paper member names a founder.", added(founder=ANA.key)
    yield (
        "member-with-key-of-other",
        "A proof made for another device proves nothing.",
        said(ADD, [[BO.key, foreign, "bo", member(CY)[3]], []]),
    )
    for name, says, paper in (
        ("paper-without-founder", "The paper member names who founds its vault.", member(PAPER)),
        (
            "paper-of-other-founder",
            "Nobody founds a vault with somebody else's phrase.",
            member(PAPER, founder=BO.key),
        ),
    ):
        yield name, says, founded([*genesis_body()[:3], paper, None])


def founded(body: Any, signer: Device = ANA) -> bytes:
    return signed(content(GENESIS, body, signer, ROOT), signer)


def malformed() -> Iterator[tuple[str, str, bytes]]:
    yield "parents-none", "Whatever is no genesis names a parent.", said(NAME, [BO.key, "kitchen"], parents=[])
    yield "parents-257", "More than 256 parents are refused.", said(NAME, [BO.key, "kitchen"], parents=ORDERED)
    yield "genesis-of-other", "The signer of a genesis is its member.", founded(genesis_body(), BO)
    yield (
        "genesis-on-paper-alone",
        "The paper member is another than the first one.",
        founded([*genesis_body()[:3], member(ANA, founder=ANA.key), None]),
    )
    yield "member-without-proof", "A member has a proof.", said(ADD, [member(BO)[:3], []])
    yield (
        "member-weak-key",
        "Nothing can be sealed to a key of small order.",
        said(ADD, [member(BO, key=bytes(32)), []]),
    )
    yield "member-weak-key-1", "Nor to another one of them.", said(ADD, [member(BO, key=b"\1" + bytes(31)), []])
    yield "reason-too-long", "A reason has at most 1,024 bytes.", said(REVOKE, [BO.key, [], False, "r" * 1025])
    yield "scope-too-long", "A scope has at most 256 bytes.", said(EPOCH, epoch_body("s" * 257, BO))
    yield "wrap-short", "A wrap has 112 bytes.", said(GRANT, [BO.key, [["vault", EARLY, WRAP[:111]]]])
    yield "grants-129", "More than 128 grants are refused.", said(GRANT, [BO.key, many_grants(129)])
    yield from unordered()
    scope, wraps, mark, subjects = epoch_body("vault", BO)
    yield "epoch-without-marks", "An epoch binds its keys by their marks.", said(EPOCH, [scope, wraps])
    yield "epoch-with-one-mark", "It binds both of them.", said(EPOCH, [scope, wraps, mark])
    yield "epoch-short-mark", "A mark has 32 bytes.", said(EPOCH, [scope, wraps, mark[:31], subjects])


def unordered() -> Iterator[tuple[str, str, bytes]]:
    cuts = [[LOG, 5, HEAD], [FAR_LOG, 7, HEAD]]
    yield "cuts-descending", "Cuts ascend by log.", said(REVOKE, [BO.key, cuts[::-1], False, None])
    yield "cut-twice", "A log is cut once.", said(REVOKE, [BO.key, [cuts[0], [LOG, 6, HEAD]], False, None])
    scope, wraps, *marks = epoch_body("vault", ANA, BO)
    yield "wraps-descending", "Wraps ascend by device.", said(EPOCH, [scope, wraps[::-1], *marks])
    yield "wrap-twice", "A device is given a key once.", said(EPOCH, [scope, wraps[:1] * 2, *marks])
    rows = [["b", EARLY, WRAP], ["aa", EARLY, WRAP]]
    yield "grants-descending", "Grants do not ascend by the length of the scope.", said(GRANT, [BO.key, rows])
    rows = [["aa", LATE, WRAP], ["aa", EARLY, WRAP]]
    yield "grant-epochs-descending", "Grants of one scope ascend by epoch.", said(GRANT, [BO.key, rows])
    yield "grant-twice", "An epoch is granted once.", said(GRANT, [BO.key, rows[:1] * 2])


def many_grants(count: int) -> list[Any]:
    return [[f"scope {number:03d}", EARLY, EMPTY_WRAP] for number in range(count)]
