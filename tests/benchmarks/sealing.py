"""What sealing costs an event: 256 events sealed and opened again, and a whole log verified.

To seal is to write frame, blob and envelope; to open is to read them back, down to events whose log's
signature and chain were checked.  Verifying reads a bundle file of a history and checks each frame's
signature and chain; nothing is stored.  Here the "baseline" is the bare hashing of as many events of the
same lengths: commitment, header, chain, and the two nodes of the salt tree that each salt takes.

Reach (first stage): none was set; a log of 1,000,000 events is said to take seconds, not minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from syncmem import labels
from syncmem.environment import seeded_randomness
from syncmem.model.event import CHAIN_START, Event, head_words, header
from syncmem.model.frame import Frame
from syncmem.model.salt import BLOCK_EVENTS
from syncmem.replica.bundle import read_bundle
from syncmem.replica.chain import Log, chain_after
from syncmem.seal.envelope import EpochKey, seal, unseal
from syncmem.seal.keys import verify
from syncmem.wire.blob import Blob, Item, ItemKind, State, read_blob, write_blob
from syncmem.wire.frames import frame_bytes, read_frame
from tests.benchmarks import material, memory_use
from tests.benchmarks.measuring import Row, alternate, in_unit, latency, quantile, throughput, timed
from tests.benchmarks.workshop import Workshop
from tests.world import SEEDS

KEY = EpochKey(bytes(range(16)), "vault", bytes(range(16, 32)), b"s" * 32, b"t" * 32)
STATE = State(bytes(16), bytes(16), 0)


class Sizes(NamedTuple):
    batches: int  # sealed and opened in a round
    events: int  # verified
    rounds: int


SIZES = {
    "small": Sizes(batches=2, events=2_000, rounds=1),
    "quick": Sizes(batches=40, events=100_000, rounds=3),
    "full": Sizes(batches=200, events=1_000_000, rounds=3),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    shape = material.Shape(4 * BLOCK_EVENTS, 200, devices=1)
    _, before, frame, *_ = material.frames(shape)  # the definitions, a block without place 0, a whole block
    assert len(frame.events) == BLOCK_EVENTS
    pieces = _hashed(frame)
    bundle = memory_use.bundle(workshop, sizes.events, max(sizes.events // 50, 1))
    return [
        *_sealing(before.head, frame, pieces, sizes),
        _verifying(bundle, pieces, sizes),
    ]


def _sealing(before: bytes, frame: Frame, pieces: Sequence[bytes], sizes: Sizes) -> list[Row]:
    randomness = seeded_randomness(1)
    sealed = _seal(frame, randomness)
    rows = []
    for what, action in (("seal", lambda: _seal(frame, randomness)), ("open", lambda: _open(sealed, before))):
        found = alternate(
            sizes.rounds,
            lambda _, action=action: timed([action] * sizes.batches),
            lambda _: timed([lambda: _hash(pieces)] * sizes.batches),
        )
        row = latency(f"{what} an event at batch {BLOCK_EVENTS}", found, unit="µs", bytes_in_all=len(sealed))
        each = [part.cpu / sizes.batches / BLOCK_EVENTS for part in found.ours]
        row.more["cpu_microseconds"] = in_unit(quantile(each, 0.5), "µs")
        row.ours, row.baseline = row.ours / BLOCK_EVENTS, (row.baseline or 0) / BLOCK_EVENTS
        rows.append(row)
    return rows


def _seal(frame: Frame, randomness: object) -> bytes:
    blob = Blob(frame.key.device, frame.key.incarnation, 1, STATE, [Item(ItemKind.FRAME, frame_bytes(frame))])
    plain = write_blob(blob, KEY.vault, KEY.mailbox, SEEDS[frame.key.device])
    return seal(KEY, plain, randomness)  # type: ignore[arg-type]


def _open(sealed: bytes, before: bytes) -> None:
    for item in read_blob(unseal(KEY, sealed), KEY.vault, KEY.mailbox).items:
        _prove(read_frame(item.body), before)


def _verifying(bundle: Path, pieces: Sequence[bytes], sizes: Sizes) -> Row:
    found = alternate(
        sizes.rounds,
        lambda _: timed([lambda: verified(bundle)]),
        lambda _: timed([lambda: _hash(pieces)] * (sizes.events // BLOCK_EVENTS)),
    )
    return throughput(f"verify a history of {sizes.events:,} events", found, sizes.events)


def verified(bundle: Path) -> int:
    """How many events of a bundle are proven by signature and chain."""
    count, heads = 0, dict[bytes, bytes]()
    with bundle.open("rb") as file:
        for frame in read_bundle(file):
            _prove(frame, heads.get(frame.key.id, CHAIN_START))
            heads[frame.key.id] = frame.head
            count += len(frame.events)
    return count


def _prove(frame: Frame, before: bytes) -> None:
    """Check a frame's signature, and the chain from the head before it."""
    words = head_words(frame.key.id, frame.last, frame.head)
    assert verify(frame.key.device, labels.HEAD, words, frame.signature)
    log = Log(0, frame.key.id, frame.key, 0, before, 0, False)
    assert chain_after(log, frame.first, frame.events, dict(frame.cover)) == frame.head


# -- the bare hashing ---------------------------------------------------------------------------------


def _hashed(frame: Frame) -> list[bytes]:
    """What is hashed to prove a frame's events."""
    pieces = []
    for event in frame.events:
        assert isinstance(event, Event)
        pieces += [
            labels.PAYLOAD + bytes(32) + event.payload,
            labels.HEADER + header(frame.key.id, frame.first, event, bytes(32)),
            labels.CHAIN + bytes(64),
            *[labels.SALT + bytes(33)] * 2,
        ]
    return pieces


def _hash(pieces: Sequence[bytes]) -> None:
    for piece in pieces:
        sha256(piece).digest()
