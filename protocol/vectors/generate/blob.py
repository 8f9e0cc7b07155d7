"""Blobs: what an envelope holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from protocol.vectors.generate.chain import written
from protocol.vectors.generate.envelope import mailbox
from protocol.vectors.generate.keys import EPOCH_KEY, VAULT
from protocol.vectors.generate.making import Device, expand, flipped, runs, secret
from protocol.vectors.generate.vector import Vector
from syncmem import labels
from syncmem.codec import pack
from syncmem.seal.keys import public_key, sign

ANA, BO = Device("ana"), Device("bo")
BORN, BOX, LOG, STREAM = secret("life 1 of ana", 16), mailbox(EPOCH_KEY), secret("a log", 16), secret("a stream", 8)
FRAME, STATEMENT, WANTS, REPLACED, OFFER = range(1, 6)
LACKS, NOTED = 7, 8
Item = tuple[int, bytes]


def piece(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def head(counter: Any = 1, state: Any = None, **other: Any) -> bytes:
    return pack([other.get("format", 1), other.get("device", ANA.key), other.get("born", BORN), counter, state])


def pieces(first: bytes, items: Sequence[Item]) -> bytes:
    return b"".join(map(piece, [first, *(bytes([kind]) + body for kind, body in items)]))


def signed(body: bytes, signer: Device = ANA, vault: bytes = VAULT, box: bytes = BOX) -> bytes:
    said = vault + box + sha256(body).digest()
    return body + piece(sign(signer.seed, labels.BLOB, said))


def blob(first: bytes | None = None, items: Sequence[Item] = (), **other: Any) -> bytes:
    return signed(pieces(first or head(), items), **other)


def asked(name: str, says: str, data: bytes, answer: dict[str, Any]) -> Vector:
    return Vector(
        "blob", name, says, {"word": "blob", "blob": runs(data), "vault": VAULT.hex(), "mailbox": BOX.hex()}, answer
    )


def told(name: str, says: str, data: bytes, counter: int = 1, state: Any = None, items: Any = ()) -> Vector:
    answer = {
        "outcome": "accepted", "device": ANA.key.hex(), "incarnation": BORN.hex(), "counter": counter, "state": state,
        "items": list(items),
    }  # fmt: skip
    return asked(name, says, data, answer)


def vectors() -> Iterator[Vector]:
    yield told("empty", "A blob may hold nothing but who sends it.", blob())
    yield told("last-counter", "Counters end with 10^12 - 1.", blob(head(10**12 - 1)), 10**12 - 1)
    state = [secret("events", 16), secret("beliefs", 16), 77]
    written_state = [{"bytes": state[0].hex()}, {"bytes": state[1].hex()}, {"int": "77"}]
    yield told(
        "state", "A blob may tell what its sender holds and believes.", blob(head(state=state)), 1, written_state
    )
    frame = written(2).frame()
    yield told("frame", "An item of kind 1 is a frame.", blob(items=[(FRAME, frame)]), items=[[1, frame.hex()]])
    wants = [(WANTS, pack([[LOG, 5]]))]
    yield told("wants", "An item of kind 3 asks for what follows in some logs.", blob(items=wants),
               items=[[3, [[LOG.hex(), 5]]]])  # fmt: skip
    gone = [(REPLACED, pack([[STREAM, 4, 4], [STREAM, 7, 90]]))]
    yield told("replaced", "An item of kind 4 names places whose blobs are not needed any more.", blob(items=gone),
               items=[[4, [[STREAM.hex(), 4, 4], [STREAM.hex(), 7, 90]]]])  # fmt: skip
    key, said, names = offer()
    written_names = [[stream.hex(), number, digest.hex()] for stream, number, digest in names]
    says = "An item of kind 5 offers blobs that may go as soon as a second member agrees."
    yield told("offer", says, blob(items=[(OFFER, pack([key, said, names]))]),
               items=[[5, [key.hex(), said.hex(), written_names]]])  # fmt: skip
    lacks = [(LACKS, pack([[LOG, 1], [LOG, 3]]))]
    yield told("lacks", "An item of kind 7 asks for parts of the content of episodes.", blob(items=lacks),
               items=[[7, [[LOG.hex(), 1], [LOG.hex(), 3]]]])  # fmt: skip
    notes = [(NOTED, pack([[9, 1_750_000_000_000_000, [[LOG[:8], 4]]], [10, 1_750_000_000_000_001, []]]))]
    written_notes = [[9, 1_750_000_000_000_000, [[LOG[:8].hex(), 4]]], [10, 1_750_000_000_000_001, []]]
    says = "An item of kind 8 says what notes say that are still to come."
    yield told("noted", says, blob(items=notes), items=[[8, written_notes]])
    yield from unnamed()
    mixed = [(200, b"new"), (FRAME, frame), (2, b"")]
    yield told("unknown-item", "Items of later kinds are passed over; the others keep their order.", blob(items=mixed),
               items=[[200, b"new".hex()], [1, frame.hex()], [2, ""]])  # fmt: skip
    most = [(200, b"")] * 4094
    yield asked("pieces-4096", "A blob has up to 4,096 pieces, head and signature included.", blob(items=most),
                {"outcome": "accepted", "counter": 1})  # fmt: skip
    for name, says, data in malformed(frame):
        yield asked(name, says, data, {"outcome": "not-canonical"})
    for name, says, data in unsigned(frame):
        yield asked(name, says, data, {"outcome": "unreadable"})


def unnamed() -> Iterator[Vector]:
    """Blobs whose first piece has nil in the places of device and incarnation."""
    report = blob(head(device=None, born=None))
    known = told("unnamed", "A blob that names nobody is of who is known to write its stream.", report)
    known.ask.update(device=ANA.key.hex(), incarnation=BORN.hex())
    yield known
    yield asked("unnamed-unknown", "Where nobody is known to, it is kept back.", report, {"outcome": "gap"})
    half = blob(head(born=None))
    yield asked("unnamed-half", "Both are named, or neither.", half, {"outcome": "not-canonical"})
    other = asked("unnamed-other", "It is signed by who writes there.", report, {"outcome": "unreadable"})
    other.ask.update(device=BO.key.hex(), incarnation=BORN.hex())
    yield other


def malformed(frame: bytes) -> Iterator[tuple[str, str, bytes]]:
    yield "nothing", "No bytes are no blob.", b""
    yield "no-signature", "A blob ends with a signature.", piece(head())
    yield "signature-short", "A signature has 64 bytes.", piece(head()) + piece(bytes(63))
    yield "cut-off", "A blob that was cut off is refused.", blob(items=[(FRAME, frame)])[:-1]
    yield (
        "piece-too-long",
        "A piece has at most 256 KiB.",
        piece(head()) + (256 * 1024 + 1).to_bytes(4, "big") + bytes(9),
    )
    yield "pieces-4097", "More than 4,096 pieces are refused.", blob(items=[(200, b"")] * 4095)
    yield "head-no-array", "The head is an array.", blob(pack("head"))
    yield "head-short", "The head has five parts.", blob(pack([1, ANA.key, BORN, 1]))
    yield "format-2", "Another format is not read.", blob(head(format=2))
    yield "device-short", "A device's key has 32 bytes.", blob(head(device=ANA.key[:31]))
    yield "incarnation-short", "An incarnation has 16 bytes.", blob(head(born=BORN[:15]))
    yield "counter-0", "Counters begin with 1.", blob(head(0))
    yield "counter-too-high", "Counters end with 10^12 - 1.", blob(head(10**12))
    yield "state-short", "A state has three parts.", blob(head(state=[bytes(16), bytes(16)]))
    yield "state-short-digest", "The digests of a state have 16 bytes.", blob(head(state=[bytes(15), bytes(16), 1]))
    yield "state-negative", "Nobody holds less than nothing.", blob(head(state=[bytes(16), bytes(16), -1]))
    yield "item-without-kind", "An item begins with its kind.", signed(piece(head()) + piece(b""))
    yield "wants-no-pairs", "Wants are pairs.", blob(items=[(WANTS, pack([LOG, 5]))])
    yield "wants-short-log", "Wants name a log by its 16 bytes.", blob(items=[(WANTS, pack([[LOG[:15], 5]]))])
    yield "lacks-short-event", "What is lacking names an event.", blob(items=[(LACKS, pack([[LOG[:15], 1]]))])
    for name, says, note in (
        ("noted-place-0", "A note stands at a place of a log.", [0, 5, []]),
        ("noted-clock-negative", "Clocks are not negative.", [1, -1, []]),
        ("noted-whole-log", "A log is named by the first 8 bytes of its id.", [1, 5, [[LOG, 4]]]),
        ("noted-without-logs", "A note has a place, a clock and what was held.", [1, 5]),
    ):
        yield name, says, blob(items=[(NOTED, pack([note]))])
    for name, says, row in (
        ("replaced-negative", "Counters are not negative.", [STREAM, -1, 4]),
        ("replaced-without-last", "Places have a first and a last one.", [STREAM, 4]),
        ("replaced-too-far", "Places end with 10^12 - 1.", [STREAM, 4, 10**12]),
        ("replaced-short-stream", "A stream has 8 bytes.", [STREAM[:7], 4, 4]),
    ):
        yield name, says, blob(items=[(REPLACED, pack([row]))])
    for name, says, parts in bad_offers():
        yield name, says, blob(items=[(OFFER, pack(parts))])


def offer() -> list[Any]:
    """The offer of two blobs, signed with Ana's drop key for the mailbox."""
    names = [[STREAM, number, sha256(bytes([number])).digest()[:16]] for number in (4, 5)]
    seed = expand(ANA.seed, labels.DROP + BOX, 32)
    return [public_key(seed), sign(seed, labels.DROPPING, BOX + pack(["compact", names])), names]


def bad_offers() -> Iterator[tuple[str, str, Any]]:
    key, said, names = offer()
    stream, number, digest = names[0]
    yield "offer-no-array", "An offer is an array.", "offer"
    yield "offer-without-names", "An offer names blobs.", [key, said]
    yield "offer-short-key", "A drop key has 32 bytes.", [key[:31], said, names]
    yield "offer-short-signature", "A signature has 64 bytes.", [key, said[:63], names]
    yield "offer-short-digest", "A blob is offered by its whole name.", [key, said, [[stream, number, digest[:15]]]]
    yield "offer-negative", "Nobody offers a blob before the first.", [key, said, [[stream, -1, digest]]]


def unsigned(frame: bytes) -> Iterator[tuple[str, str, bytes]]:
    items = [(FRAME, frame), (WANTS, pack([[LOG, 5]]))]
    yield "signature-changed", "One bit of the signature is enough.", flipped(blob(), -1)
    yield "signature-of-other", "A blob is signed by the device that it names.", blob(signer=BO)
    yield "other-vault", "A blob is signed for its vault.", blob(vault=bytes(16))
    yield "other-mailbox", "A blob is signed for its mailbox.", blob(box=bytes(16))
    signature = blob(items=items)[-68:]
    yield "items-swapped", "Items cannot change places.", pieces(head(), items[::-1]) + signature
    yield "item-dropped", "No item can be left out.", pieces(head(), items[:1]) + signature
    yield "item-added", "No item can be added.", pieces(head(), [*items, items[0]]) + signature
    yield "counter-changed", "The counter is signed.", pieces(head(2), items) + signature
    yield "pieces-joined", "Where one piece ends and the next begins is signed.", joined(items) + signature


def joined(items: Sequence[Item]) -> bytes:
    return pieces(head(), [(FRAME, b"".join(body for _, body in items))])
