"""What becomes of the blobs that are put, decided in one place for every kind of store.

Rules: every put is answered for itself; the same blob again is known; a place is given once, also where what had it
was dropped; what does not fit is refused and what comes after it may fit. What is put to make room may be lent some
beyond the quota until as much was dropped: so a full mailbox can be made smaller, and none ever exceeds its quota (or
what it held when that was lowered) by more than the loan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from syncmem.relay.limits import Limits
from syncmem.wire.mailbox import (
    CONFLICT,
    STREAMS_MAX,
    BlobName,
    Outcome,
    Put,
    PutResult,
    check_put,
    digest,
)

DROP_KEYS_MAX: Final = 4096  # of one mailbox: as many as streams; what a member says beyond is passed over
Place = tuple[bytes, int]  # a stream, and a counter there

_STORED: Final = PutResult(Outcome.STORED, "")
_KNOWN: Final = PutResult(Outcome.KNOWN, "")
_CONFLICT: Final = PutResult(Outcome.CONFLICT, CONFLICT)
_FULL: Final = PutResult(
    Outcome.OVER_QUOTA, "this mailbox is full; erase what nobody needs and sync again, or ask the relay's operator"
)
_STREAMS: Final = PutResult(Outcome.OVER_QUOTA, f"a mailbox has at most {STREAMS_MAX} streams; rotate the scope's key")


@dataclass(slots=True)
class Room:
    """What a mailbox holds, as far as it decides about puts; it is brought up to date with each that is stored.

    Attributes:
        taken: the digests of what has (or had) the places that are asked for.
        ends: how far each stream goes.
        size: bytes of all blobs.
        lent: of these, what was taken beyond the quota to make room.
        stored: the blobs that were, by name.
    """

    taken: dict[Place, bytes]
    ends: dict[bytes, int]
    size: int
    lent: int = 0
    stored: dict[BlobName, bytes] = field(default_factory=dict)

    def put(self, put: Put, limits: Limits, making_room: bool = False) -> PutResult:
        """What becomes of a blob; ``making_room``: it holds anew what is dropped next."""
        refused = check_put(put)
        if refused is not None:
            return refused
        place, mark = (put.stream, put.counter), digest(put.blob)
        if place in self.taken:
            return _KNOWN if self.taken[place] == mark else _CONFLICT
        beyond = self.size + len(put.blob) > limits.mailbox_bytes_max
        lent = min(self.lent, max(0, self.size - limits.mailbox_bytes_max))
        if beyond and not (making_room and lent + len(put.blob) <= limits.mailbox_loan_bytes_max):
            return _FULL
        if put.stream not in self.ends and len(self.ends) >= STREAMS_MAX:
            return _STREAMS
        self.taken[place] = mark
        self.stored[BlobName(put.stream, put.counter, mark)] = put.blob
        self.size += len(put.blob)
        self.lent = lent + (len(put.blob) if beyond else 0)
        self.ends[put.stream] = max(self.ends.get(put.stream, 0), put.counter)
        return _STORED


def places(puts: Sequence[Put]) -> list[Place]:
    """Where blobs are put that may be kept at all."""
    return list(dict.fromkeys((put.stream, put.counter) for put in puts if check_put(put) is None))


def named(puts: Sequence[Put]) -> dict[BlobName, bytes]:
    """The blobs that may be kept at all, by name."""
    return {BlobName(put.stream, put.counter, digest(put.blob)): put.blob for put in puts if check_put(put) is None}
