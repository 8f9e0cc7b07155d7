"""A log's events as they are stored and chained: rows, salt covers, chain values. Nothing here reads or writes a file.

Rule: of an erased event only its header hash is left, and the chain goes over it as over the event itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from syncmem.codec import pack, pack_flat, unpack_own
from syncmem.errors import BrokenChain
from syncmem.model import salt
from syncmem.model.event import LOG_PREFIX_BYTES, Erased, Event, LogKey, chained, header, header_hash, new_event
from syncmem.model.frame import Stored
from syncmem.model.record import LOG_SHIFT


@dataclass(slots=True)
class Log:
    """A log as this replica holds it: ``seq`` events, chain value ``head``."""

    no: int
    id: bytes
    key: LogKey | None  # None while only references to it have arrived
    seq: int
    head: bytes
    clock: int
    own: bool
    signature: bytes = b""  # of the head, by the log's device
    open_bytes: int = 0  # of payloads since the last place whose signature was kept
    name: str = ""  # the start of its id, in the public names of its events
    written_here: bool = False  # what it holds was written into this file, by this incarnation or an earlier one

    device: bytes = b""  # the key of the device that writes it (the log's own id while that is not known)

    def __post_init__(self) -> None:
        self.name = self.id[:LOG_PREFIX_BYTES].hex()
        self.be(self.key)

    def be(self, key: LogKey | None) -> None:
        """Whose it is has become known."""
        self.key = key
        self.device = self.id if key is None else key.device

    def position(self, seq: int) -> int:
        return self.no << LOG_SHIFT | seq


def erased_form(log: Log, seq: int, event: Event, value: bytes) -> Erased:
    return Erased(header_hash(header(log.id, seq, event, value)))


def body_of(events: Sequence[Stored]) -> bytes:
    return pack_flat([event_row(event) for event in events])


def event_row(event: Stored) -> list[Any]:
    """An event as a row: three fields, or of an erased one its header hash."""
    return [event.header_hash] if isinstance(event, Erased) else [event.kind, event.hlc, event.payload]


def event_of(row: Sequence[Any]) -> Stored:
    return Erased(*row) if len(row) == 1 else new_event(*row)


def cover_bytes(cover: salt.Cover) -> bytes:
    return pack([[node, value] for node, value in sorted(cover.items())])


def read_cover(nodes: Any) -> salt.Cover:
    """A salt tree from its ``[node, value]`` pairs."""
    return {int(node): bytes(value) for node, value in nodes}


def read_events(body: bytes) -> list[Stored]:
    return [event_of(row) for row in unpack_own(body)]


def blocks(first: int, events: Sequence[Any]) -> Iterator[tuple[int, Sequence[Any]]]:
    """Cut consecutive events at the borders of blocks of 256: (first place, events)."""
    done = 0
    while done < len(events):
        room = salt.BLOCK_EVENTS - (first + done) % salt.BLOCK_EVENTS
        yield first + done, events[done : done + room]
        done += room


def chain_after(log: Log, first: int, events: Sequence[Stored], cover: salt.Cover) -> bytes:
    """The chain value of a log after ``events``, which start at place ``first`` within one block.

    Nodes of the salt tree that are computed on the way are noted in ``cover``.
    """
    head = log.head
    salts = salt.salts_noting(cover, first % salt.BLOCK_EVENTS, len(events))
    for seq, (event, value) in enumerate(zip(events, salts, strict=True), first):
        if isinstance(event, Event):
            if value is None:
                raise BrokenChain("the salt of an event is missing; ask the sender for the events again")
            head = chained(head, header_hash(header(log.id, seq, event, value)))
        else:
            head = chained(head, event.header_hash)
    return head


def hashes_of(log: Log, first: int, events: Sequence[Stored], cover: salt.Cover) -> list[bytes]:
    """The header hashes of consecutive events within one block."""
    hashes = []
    salts = salt.salts(cover, first % salt.BLOCK_EVENTS, len(events))
    for seq, (event, value) in enumerate(zip(events, salts, strict=True), first):
        if isinstance(event, Event):
            if value is None:
                raise BrokenChain("the salt of an event is missing; ask the sender for the events again")
            event = erased_form(log, seq, event, value)
        hashes.append(event.header_hash)
    return hashes
