"""Valid messages of every kind, always the same bytes: what mutations and long runs begin with."""

from __future__ import annotations

import io
from hashlib import sha256
from typing import Any, Final

from syncmem import labels
from syncmem.codec import pack
from syncmem.environment import seeded_randomness
from syncmem.model.episode import Episode
from syncmem.model.event import ClockNote, Define, Erase, Frontier, Kind, LogKey, Payload, Ref, Retract, Undo, Withdraw
from syncmem.model.event import Statement as Said
from syncmem.model.event import encode as payload_bytes
from syncmem.model.frame import Frame
from syncmem.model.link import Link
from syncmem.model.moved import Moved
from syncmem.replica.bundle import Chunk, write_bundle
from syncmem.replica.event_lines import write_lines
from syncmem.seal import bodies
from syncmem.seal.bodies import StatementKind, new_member
from syncmem.seal.envelope import EpochKey, seal
from syncmem.seal.keys import public_key, sign
from syncmem.seal.statements import NO_VAULT, write_statement
from syncmem.wire import messages as wire
from syncmem.wire.blob import (
    Blob,
    Item,
    ItemKind,
    Offer,
    Places,
    State,
    lacks_bytes,
    offer_bytes,
    replaced_bytes,
    wants_bytes,
    write_blob,
)
from syncmem.wire.frames import frame_bytes
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Listed, Outcome, Put, PutResult
from tests.world import ORIGIN, Writer, sorted_keys

VAULT: Final = bytes(range(16))
KEY: Final = EpochKey(VAULT, "vault", bytes(range(16, 32)), b"e" * 32, b"s" * 32)
LOG: Final[LogKey] = sorted_keys(1)[0]
SEED: Final = sha256(b"device 0").digest()
OTHER: Final = b"o" * 32
REF: Final = Ref(bytes(16), 7, bytes(range(16)))
STREAM: Final = b"a stream"

# -- events -------------------------------------------------------------------------------------------

_EXTRA = {"ttl": 10**12, "stale_after": 10**11, "stale_trust": 20, "episode": "talk", "span": [3, 9]}
PAYLOADS: Final[list[tuple[Kind, Payload]]] = [
    (Kind.CLAIM, Said("ana", "city", "Lisbon", 0, None, None, None, None, 0, 90, "user", "u", "b", None, None)),
    (
        Kind.CLAIM,
        Said("ana", "age", [1, {"b": 2.5}], 1, 5, ORIGIN, ORIGIN + 9, None, 0, 90, *[None] * 3, [REF], _EXTRA),
    ),
    (Kind.CLAIM, Said("ana", "trip", "Rome", 0, ORIGIN, ORIGIN, None, ORIGIN + 10**12, 1, 30, *[None] * 4, None)),
    (Kind.AFFIRM, Said("ana", "city", "Lisbon", 0, 7, None, None, None, 0, 90, None, None, None, None, None)),
    (Kind.END, Said("ana", "city", "Lisbon", 1, 7, ORIGIN, None, None, 0, 90, None, None, None, [REF], None)),
    (Kind.DENY, Said("ana", "city", "Porto", 0, None, None, None, ORIGIN, 2, 0, *[None] * 4, {"mentions": ["bob"]})),
    (Kind.RETRACT, Retract([REF, REF], 90, None, "x", None, None)),
    (Kind.WITHDRAW, Withdraw("b", 90, None, None, {"reason": "wrong"})),
    (Kind.UNDO, Undo([REF], 90, None, None, None)),
    (Kind.DEFINE, Define("city", {"cardinality": "single", "ttl": 5, "equality": "casefold"}, 90, *[None] * 4)),
    (Kind.CLOCK_NOTE, ClockNote(LOG.id, 1, 9, -77, 95, None, None, None)),
    (Kind.FRONTIER, Frontier(3, 1, [[bytes(16), 9, bytes(8)]], None)),
    (Kind.MOVED, Moved(bytes(16), 5, bytes(32), bytes(64), [bytes(32)], None)),
    (Kind.ERASE, Erase([bytes(16)], bytes(32), 90, None, None, None)),
    (Kind.SAME, Link("ana", "anna", 90, "user", None, "b", None)),
    (Kind.DIFFERENT, Link("anna", "bob", 30, None, None, None, {"reason": "two"})),
    (
        Kind.EPISODE,
        Episode("turn", "ana", 5, "c", None, "text/plain", ["bob"], True, 2, b"hi", None, "user", None, None),
    ),
    (
        Kind.EPISODE,
        Episode("document", None, 5, None, "t", "a/b", None, False, 9, None, bytes(32), *[None] * 2, {"zone": "UTC"}),
    ),
]


def frames() -> list[Frame]:
    """One of every kind of event, then some alike."""
    writer = Writer(LOG)
    for number, (kind, payload) in enumerate(PAYLOADS):
        writer.write(kind, payload, ORIGIN + number)
    for number in range(20):
        said = Said("ana", f"p{number % 3}", number, 0, *[None] * 4, 0, 90, *[None] * 5)
        writer.write(Kind.CLAIM, said, ORIGIN + 100 + number)
    return [*writer.frames(until=len(PAYLOADS)), *writer.frames(after=len(PAYLOADS))]


def payloads() -> list[bytes]:
    """Kind and payload of events."""
    return [bytes([kind]) + payload_bytes(payload) for kind, payload in PAYLOADS]


def lines() -> bytes:
    file = io.BytesIO()
    write_lines(file, frames())
    return file.getvalue()


def bundle() -> bytes:
    file = io.BytesIO()
    write_bundle(file, frames(), [Chunk(bytes(16), 1, b"part"), Chunk(bytes(16), 2, bytes(500))])
    return file.getvalue()


# -- the roster ---------------------------------------------------------------------------------------


def contents() -> list[bytes]:
    """What statements of every kind say, to be signed by SEED."""
    member, other = new_member(SEED, "laptop"), new_member(OTHER, "phone")
    paper = new_member(OTHER, "recovery phrase", founder=member.device)
    wrapped = bytes(112)
    wraps = sorted((device, wrapped) for device in (member.device, other.device))
    grants = [bodies.Grant(scope, KEY.epoch, wrapped) for scope in ("vault", "work")]
    place = (LOG.id, 9, bytes(32))
    said: list[tuple[StatementKind, bodies.Body]] = [
        (StatementKind.GENESIS, bodies.Genesis(1, bytes(16), member, paper, bytes(32))),
        (StatementKind.ADD, bodies.Add(other, grants[:1])),
        (StatementKind.REVOKE, bodies.Revoke(other.device, [place], True, "lost")),
        (StatementKind.EPOCH, bodies.Epoch("vault", wraps, KEY.key_mark, KEY.subject_mark)),
        (StatementKind.NAME, bodies.Name(other.device, "tablet")),
        (StatementKind.GRANT, bodies.Granted(other.device, grants)),
        (StatementKind.ADOPT, bodies.Adopt(*place)),
    ]
    return [_content(kind, body) for kind, body in said]


def _content(kind: StatementKind, body: bodies.Body) -> bytes:
    genesis = kind == StatementKind.GENESIS
    vault, parents = (NO_VAULT, []) if genesis else (VAULT, [bytes(16), bytes(range(16))])
    data = write_statement(kind, vault, parents, SEED, ORIGIN, body).wire
    length = int.from_bytes(data[2:4], "big") if data[1] == 0xC5 else data[2]
    return data[3 + (data[1] == 0xC5) :][:length]


def statement(content: bytes) -> bytes:
    return pack([content, sign(SEED, labels.STATEMENT, content)])


# -- blobs --------------------------------------------------------------------------------------------


def blob() -> bytes:
    items = [
        *(Item(ItemKind.FRAME, frame_bytes(frame)) for frame in frames()),
        Item(ItemKind.STATEMENT, statement(contents()[1])),
        Item(ItemKind.WANTS, wants_bytes([(LOG.id, 3)])),
        Item(ItemKind.LACKS, lacks_bytes([(LOG.id, 3)])),
        Item(ItemKind.REPLACED, replaced_bytes([Places(STREAM, 5, 9)])),
        Item(ItemKind.OFFER, offer_bytes(Offer(bytes(32), bytes(64), _NAMES))),
        Item(99, b"of a later version"),
    ]
    made = Blob(public_key(SEED), LOG.incarnation, 1, State(bytes(16), bytes(16), 33), items)
    return write_blob(made, VAULT, KEY.mailbox, SEED)


def envelope(plain: bytes) -> bytes:
    return seal(KEY, plain, seeded_randomness(1))


# -- mailboxes ----------------------------------------------------------------------------------------

_NAMES = [BlobName(STREAM, 5, bytes(16)), BlobName(STREAM, 6, bytes(range(16)))]


def requests() -> list[bytes]:
    """Signed requests: to exchange, to get, to drop."""
    puts = [Put(STREAM, 1, b"sealed"), Put(STREAM, 2, b"also sealed")]
    signatures = [(public_key(OTHER), bytes(64)), (public_key(SEED), bytes(64))]
    return [
        wire.exchange_bytes(Exchange(KEY.write_key, puts, {STREAM: 3}, 1000, bytes(32)), KEY.write_seed),
        wire.get_bytes(KEY.write_key, _NAMES, KEY.write_seed),
        wire.drop_bytes(Drop(KEY.write_key, _NAMES, "erase", signatures), KEY.write_seed),
    ]


def answers() -> list[bytes]:
    """Answers: to an exchange, to a drop."""
    listed = [Listed(_NAMES[0], 6, b"sealed"), Listed(_NAMES[1], 70_000, None)]
    results = [PutResult(Outcome.STORED, ""), PutResult(Outcome.OVER_QUOTA, "full")]
    return [
        wire.answer_bytes(Answer(bytes(16), results, {STREAM: 6}, listed, False)),
        wire.dropped_bytes([True, False]),
    ]


def values() -> list[Any]:
    """Values of every type and length of header."""
    return [
        [None, True, False, 0, 127, 128, 2**16, 2**32, 2**64 - 1, -1, -32, -33, -(2**15), -(2**63)],
        [1.5, -0.0, float("inf"), "", "é", "x" * 40, b"", bytes(300)],
        {"": 1, "a": [], "b": {}, "aa": {"k": [1, [2, [3]]]}},
        list(range(20)),
        {f"{number:02}": number for number in range(17)},
    ]
