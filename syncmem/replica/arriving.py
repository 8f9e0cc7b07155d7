"""Arrivals: events that have just been stored, as the fold takes them in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from syncmem.model.episode import Episode
from syncmem.model.event import Define, Erased, Event, Payload, Retract, Statement, readable
from syncmem.model.imported import batch_of_episode
from syncmem.model.link import Link


class Arrival(NamedTuple):
    """An event that arrived: where it is, and what it is."""

    position: int
    event: Event | Erased
    payload: Payload | None = None  # where it was at hand anyway


class Read(NamedTuple):
    """An arrival that could be read."""

    position: int
    event: Event
    payload: Payload


def read(arrivals: Sequence[Arrival]) -> Iterator[Read]:
    """The arrivals that this version can read, with their payloads."""
    for position, event, known in arrivals:
        payload = known or readable(event)
        if payload is not None and not isinstance(event, Erased):
            yield Read(position, event, payload)


def batch_of(payload: Payload) -> str | None:
    """The batch that an event belongs to (a withdrawal only names one)."""
    if isinstance(payload, Episode):
        return batch_of_episode(payload)
    return payload.batch if isinstance(payload, (Statement, Retract, Define, Link)) else None


def stretches(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Consecutive positions as (first, count)."""
    first = previous = None
    for position in sorted(positions):
        if previous is not None and position == previous + 1:
            previous = position
            continue
        if first is not None and previous is not None:
            yield first, previous - first + 1
        first = previous = position
    if first is not None and previous is not None:
        yield first, previous - first + 1
