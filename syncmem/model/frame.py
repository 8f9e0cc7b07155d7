"""Frames: what travels. Consecutive events of one log inside one block, with what proves them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from syncmem.model.event import Erased, Event, LogKey
from syncmem.model.salt import BLOCK_EVENTS, Cover

Stored = Event | Erased

VAULT: Final = "vault"  # the scope that every device of a person holds
DEVICE_SCOPE: Final = "device"  # claims that never leave the device
FRAME_PAYLOAD_MAX: Final = 64 * 1024  # of the payloads of a frame together, unless it is one event


@dataclass(frozen=True, slots=True)
class Frame:
    """Consecutive events of one log.

    Attributes:
        first: the place of the first; ``cover``: the salt nodes from which the salts of those not erased follow.
        head: the chain value after the last event; ``signature``: of log, last place and head, by the log's device.
    """

    key: LogKey
    first: int
    events: Sequence[Stored]
    cover: Cover
    head: bytes
    signature: bytes

    @property
    def last(self) -> int:
        return self.first + len(self.events) - 1


def fitting(first: int, events: Sequence[Stored]) -> Iterator[int]:
    """Into how many events each the consecutive events from place ``first`` are cut to fit frames."""
    count = size = 0
    for place, event in enumerate(events, first):
        length = payload_bytes(event)
        if count and (place % BLOCK_EVENTS == 0 or size + length > FRAME_PAYLOAD_MAX):
            yield count
            count = size = 0
        count += 1
        size += length
    if count:
        yield count


def payload_bytes(event: Stored) -> int:
    return len(event.payload) if isinstance(event, Event) else 0
