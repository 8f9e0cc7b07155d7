"""Blobs: what an envelope holds. Pieces with a head before them and the sender's signature after them.

Rules: a piece is a length and bytes, so a reader never decodes more than one small piece at a time, and not
many of them; the signature covers vault, mailbox and every piece before it, so nothing can be moved, cut or
mixed; items of kinds that are not known are skipped.  Nothing here knows what the items mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple

from syncmem import labels
from syncmem.codec import pack, unpack
from syncmem.errors import BrokenChain, NotCanonical, Unreadable
from syncmem.model.event import SEQ_MAX
from syncmem.model.frontier import LOG_START_BYTES, Noted
from syncmem.seal.keys import SIGNATURE_BYTES, sign, verify
from syncmem.wire.mailbox import COUNTER_MAX, DIGEST_BYTES, KEY_BYTES, STREAM_BYTES, BlobName

FORMAT: Final = 1
PIECE_BYTES_MAX: Final = 256 * 1024  # above the largest frame
PIECES_MAX: Final = 4096  # in one blob: three times what a writer ever puts into one
BLOB_PAYLOAD_MAX: Final = 8 * 1024 * 1024  # of events in one blob: frames inflate, so it bounds what opening one costs
INCARNATION_BYTES: Final = 16
LOG_BYTES: Final = 16
CLOCK_END: Final = 2**62
_UNNAMED: Final = "a blob does not name its writer, and nothing of that device is here yet; sync again"
_LENGTH_BYTES: Final = 4


class ItemKind(IntEnum):
    """What an item is. Numbers are for ever; unknown ones are skipped."""

    FRAME = 1
    STATEMENT = 2
    WANTS = 3
    REPLACED = 4
    OFFER = 5
    MISSING = 6
    LACKS = 7
    NOTED = 8


class Item(NamedTuple):
    kind: int
    body: bytes


class Places(NamedTuple):
    """Consecutive places of a stream."""

    stream: bytes
    first: int
    last: int


class Offer(NamedTuple):
    """Blobs that may be dropped as soon as a second member signs it too.

    Attributes:
        key: the drop key of who offers; ``signature``: its signature of the drop (see the protocol, Mailbox).
    """

    key: bytes
    signature: bytes
    names: Sequence[BlobName]


class State(NamedTuple):
    """What the sender held and believed: digests of 16 bytes, and the number of events (see the protocol)."""

    events: bytes
    beliefs: bytes
    held: int


@dataclass(frozen=True, slots=True)
class Blob:
    """A blob as it was written: who sent it, the place in its stream, what the sender held, and the items."""

    device: bytes
    incarnation: bytes
    counter: int
    state: State | None
    items: Sequence[Item]


def write_blob(blob: Blob, vault: bytes, mailbox: bytes, seed: bytes, *, named: bool = True) -> bytes:
    """The bytes of a blob for one mailbox, signed by the device whose seed it is.

    Not ``named``: its readers know by its stream who writes it.
    """
    state = None if blob.state is None else list(blob.state)
    writer = (blob.device, blob.incarnation) if named else (None, None)
    pieces = [pack([FORMAT, *writer, blob.counter, state])]
    pieces += [bytes([item.kind]) + item.body for item in blob.items]
    assert len(pieces) < PIECES_MAX, "how much goes into a blob is bounded where it is filled"
    body = b"".join(_piece(piece) for piece in pieces)
    return body + _piece(sign(seed, labels.BLOB, _signed(vault, mailbox, body)))


def read_blob(data: bytes, vault: bytes, mailbox: bytes, writer: tuple[bytes, bytes] | None = None) -> Blob:
    """The blob of bytes that were written for this vault and mailbox.

    ``writer``: device and incarnation that are known to write its stream.

    Raises:
        NotCanonical: the pieces are malformed.
        BrokenChain: it does not say who wrote it, and nothing of that device's log is here yet.
        Unreadable: the signature is not the sender's.
    """
    pieces = list(pieces_of(data))
    if len(pieces) < 2 or len(pieces[-1]) != SIGNATURE_BYTES:
        raise NotCanonical("a blob has a head and a signature; ask the sender for it again")
    head = _read_head(pieces[0], writer)
    body = data[: -SIGNATURE_BYTES - _LENGTH_BYTES]
    if not verify(head.device, labels.BLOB, _signed(vault, mailbox, body), pieces[-1]):
        raise Unreadable("the blob is not signed by the device it names; ask that device to send it again")
    if not all(pieces[1:-1]):
        raise NotCanonical("an item without a kind; ask the sender for it again")
    items = [Item(piece[0], piece[1:]) for piece in pieces[1:-1]]
    return Blob(head.device, head.incarnation, head.counter, head.state, items)


def wants_bytes(wants: Sequence[tuple[bytes, int]]) -> bytes:
    """``(log id, last place held)`` pairs: what follows there is asked for."""
    return pack([list(want) for want in wants])


def read_wants(body: bytes) -> list[tuple[bytes, int]]:
    return [(log, after) for log, after in _rows(body, [LOG_BYTES, None])]


def lacks_bytes(lacks: Sequence[tuple[bytes, int]]) -> bytes:
    """``(event id, chunk)`` pairs: parts of the content of episodes that the sender does not find."""
    return wants_bytes(lacks)


def read_lacks(body: bytes) -> list[tuple[bytes, int]]:
    return read_wants(body)


def noted_bytes(notes: Sequence[Noted]) -> bytes:
    """What some frontier notes say that are not sent yet."""
    return pack([[note.place, note.clock, [list(entry) for entry in note.changed]] for note in notes])


def read_noted(body: bytes) -> list[Noted]:
    rows = unpack(body, bytes_max=PIECE_BYTES_MAX)
    if type(rows) is not list or not all(_is_note(row) for row in rows):
        raise NotCanonical("a list of notes is malformed; ask the sender for it again")
    return [_note(*row) for row in rows]


def _note(place: int, clock: int, changed: object) -> Noted:
    return Noted(place, clock, [(log, last) for log, last in _checked(changed, [LOG_START_BYTES, None])])


def _is_note(row: object) -> bool:
    return (
        type(row) is list
        and [type(part) for part in row] == [int, int, list]
        and 1 <= row[0] <= SEQ_MAX
        and 0 <= row[1] < CLOCK_END
    )


def replaced_bytes(places: Sequence[Places]) -> bytes:
    """The places of blobs that are no longer needed."""
    return pack([list(one) for one in places])


def missing_bytes(places: Sequence[Places]) -> bytes:
    """The places at which the sender finds nothing."""
    return replaced_bytes(places)


def read_missing(body: bytes) -> list[Places]:
    return read_replaced(body)


def read_replaced(body: bytes) -> list[Places]:
    return [Places(*row) for row in _rows(body, [STREAM_BYTES, None, None])]


def offer_bytes(offer: Offer) -> bytes:
    return pack([offer.key, offer.signature, [list(name) for name in offer.names]])


def read_offer(body: bytes) -> Offer:
    offer = unpack(body, bytes_max=PIECE_BYTES_MAX)
    if type(offer) is not list or len(offer) < 3:
        raise NotCanonical("an offer is malformed; ask the sender for it again")
    ((key, signature),) = _checked([offer[:2]], [KEY_BYTES, SIGNATURE_BYTES])
    names = _checked(offer[2], [STREAM_BYTES, None, DIGEST_BYTES])
    return Offer(key, signature, [BlobName(*name) for name in names])


def _rows(body: bytes, sizes: Sequence[int | None]) -> list[list[Any]]:
    return _checked(unpack(body, bytes_max=PIECE_BYTES_MAX), sizes)


def _checked(rows: object, sizes: Sequence[int | None]) -> list[list[Any]]:
    """Rows of byte strings of given sizes, and of numbers (None)."""
    if type(rows) is not list or not all(type(row) is list and _fits(row, sizes) for row in rows):
        raise NotCanonical("a list of ids and numbers is malformed; ask the sender for it again")
    return rows


def _fits(row: list[object], sizes: Sequence[int | None]) -> bool:
    return len(row) == len(sizes) and all(
        (type(part) is int and 0 <= part <= COUNTER_MAX)
        if size is None
        else (type(part) is bytes and len(part) == size)
        for part, size in zip(row, sizes, strict=True)
    )


def _read_head(piece: bytes, writer: tuple[bytes, bytes] | None) -> Blob:
    head = unpack(piece)
    if type(head) is not list or len(head) < 5 or type(head[3]) is not int or head[0] != FORMAT:
        raise NotCanonical(
            "the head of a blob is malformed or of a later version; upgrade syncmem, or ask for it again"
        )
    device, incarnation, counter, state = head[1:5]
    if device is None and incarnation is None:
        if writer is None:
            raise BrokenChain(_UNNAMED, 0)
        device, incarnation = writer
    if type(device) is not bytes or type(incarnation) is not bytes:
        raise NotCanonical("the head of a blob does not say who wrote it; ask the sender for it again")
    sized = (len(device), len(incarnation)) == (KEY_BYTES, INCARNATION_BYTES) and 1 <= counter <= COUNTER_MAX
    if not sized or not (state is None or _is_state(state)):
        raise NotCanonical("the head of a blob breaks a rule of its format; ask the sender for it again")
    return Blob(device, incarnation, counter, None if state is None else State(*state[:3]), ())


def _is_state(state: object) -> bool:
    if type(state) is not list or [type(part) for part in state[:3]] != [bytes, bytes, int]:
        return False
    events, beliefs, held = state[:3]
    return (len(events), len(beliefs)) == (DIGEST_BYTES, DIGEST_BYTES) and 0 <= held < 2**62


def _signed(vault: bytes, mailbox: bytes, body: bytes) -> bytes:
    return vault + mailbox + sha256(body).digest()


def _piece(data: bytes) -> bytes:
    assert len(data) <= PIECE_BYTES_MAX, "what goes into a piece is bounded where it is made"
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def pieces_of(data: bytes) -> Iterator[bytes]:
    place = count = 0
    while place < len(data):
        count += 1
        size = int.from_bytes(data[place : place + _LENGTH_BYTES], "big")
        place += _LENGTH_BYTES
        piece = data[place : place + size]
        if len(piece) != size or size > PIECE_BYTES_MAX or count > PIECES_MAX:
            raise NotCanonical("a blob was cut off, has wrong lengths or too many pieces; ask the sender for it again")
        yield piece
        place += size
