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
from typing import Final, NamedTuple

from syncmem import labels
from syncmem.codec import pack, unpack
from syncmem.errors import NotCanonical, Unreadable
from syncmem.seal.keys import SIGNATURE_BYTES, sign, verify
from syncmem.wire.mailbox import COUNTER_MAX, DIGEST_BYTES, KEY_BYTES

FORMAT: Final = 1
PIECE_BYTES_MAX: Final = 256 * 1024  # above the largest frame
PIECES_MAX: Final = 4096  # in one blob: three times what a writer ever puts into one
INCARNATION_BYTES: Final = 16
_LENGTH_BYTES: Final = 4


class ItemKind(IntEnum):
    """What an item is. Numbers are for ever; unknown ones are skipped."""

    FRAME = 1
    STATEMENT = 2
    WANTS = 3
    REPLACED = 4


class Item(NamedTuple):
    kind: int
    body: bytes


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


def write_blob(blob: Blob, vault: bytes, mailbox: bytes, seed: bytes) -> bytes:
    """The bytes of a blob for one mailbox, signed by the device whose seed it is."""
    state = None if blob.state is None else list(blob.state)
    pieces = [pack([FORMAT, blob.device, blob.incarnation, blob.counter, state])]
    pieces += [bytes([item.kind]) + item.body for item in blob.items]
    assert len(pieces) < PIECES_MAX, "how much goes into a blob is bounded where it is filled"
    body = b"".join(_piece(piece) for piece in pieces)
    return body + _piece(sign(seed, labels.BLOB, _signed(vault, mailbox, body)))


def read_blob(data: bytes, vault: bytes, mailbox: bytes) -> Blob:
    """The blob of bytes that were written for this vault and mailbox.

    Raises:
        NotCanonical: the pieces are malformed.
        Unreadable: the signature is not the sender's.
    """
    pieces = list(_pieces(data))
    if len(pieces) < 2 or len(pieces[-1]) != SIGNATURE_BYTES:
        raise NotCanonical("a blob has a head and a signature; ask the sender for it again")
    head = _read_head(pieces[0])
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
    return _pairs(body, 16)


def replaced_bytes(names: Sequence[tuple[bytes, int]]) -> bytes:
    """``(stream, counter)`` pairs of blobs that are no longer needed."""
    return pack([list(name) for name in names])


def read_replaced(body: bytes) -> list[tuple[bytes, int]]:
    return _pairs(body, 8)


def _pairs(body: bytes, size: int) -> list[tuple[bytes, int]]:
    pairs = unpack(body, bytes_max=PIECE_BYTES_MAX)
    if type(pairs) is not list or not all(_is_pair(pair, size) for pair in pairs):
        raise NotCanonical("a list of (id, number) pairs is malformed; ask the sender for it again")
    return [(pair[0], pair[1]) for pair in pairs]


def _is_pair(pair: object, size: int) -> bool:
    return (
        type(pair) is list
        and [type(part) for part in pair] == [bytes, int]
        and len(pair[0]) == size
        and 0 <= pair[1] <= COUNTER_MAX
    )


def _read_head(piece: bytes) -> Blob:
    head = unpack(piece)
    wanted = [int, bytes, bytes, int]
    if type(head) is not list or len(head) < 5 or [type(part) for part in head[:4]] != wanted or head[0] != FORMAT:
        raise NotCanonical(
            "the head of a blob is malformed or of a later version; upgrade syncmem, or ask for it again"
        )
    device, incarnation, counter, state = head[1:5]
    sized = (len(device), len(incarnation)) == (KEY_BYTES, INCARNATION_BYTES) and 1 <= counter <= COUNTER_MAX
    if not sized or not (state is None or _is_state(state)):
        raise NotCanonical("the head of a blob breaks a rule of its format; ask the sender for it again")
    return Blob(device, incarnation, counter, None if state is None else State(*state), ())


def _is_state(state: object) -> bool:
    if type(state) is not list or [type(part) for part in state] != [bytes, bytes, int]:
        return False
    events, beliefs, held = state
    return (len(events), len(beliefs)) == (DIGEST_BYTES, DIGEST_BYTES) and 0 <= held < 2**62


def _signed(vault: bytes, mailbox: bytes, body: bytes) -> bytes:
    return vault + mailbox + sha256(body).digest()


def _piece(data: bytes) -> bytes:
    assert len(data) <= PIECE_BYTES_MAX, "what goes into a piece is bounded where it is made"
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


def _pieces(data: bytes) -> Iterator[bytes]:
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
