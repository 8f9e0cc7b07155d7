"""The order in which frames are taken in: erasures first, and what only lacks something before it again after that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from syncmem.errors import BrokenChain, PeerError
from syncmem.model.event import Event, Kind
from syncmem.model.frame import Frame

Taken = TypeVar("Taken")


def take_in_all(
    batch: Sequence[Frame], take: Callable[[Frame], list[Taken]], refused: dict[bytes, PeerError]
) -> list[Taken]:
    """Take in frames in any order; why those of a log were not is noted in ``refused`` (log id -> error)."""
    arrivals: list[Taken] = []
    waiting = erasing_first(batch)
    while waiting:
        tried, waiting, gaps = waiting, [], dict[bytes, BrokenChain]()
        for frame in tried:
            try:
                if frame.key.id not in refused:
                    arrivals += take(frame)
            except BrokenChain as error:
                if error.missing_after is None:
                    refused[frame.key.id] = error
                else:
                    waiting.append(frame)
                    gaps[frame.key.id] = _widest(gaps.get(frame.key.id, error), error)
            except PeerError as error:
                refused[frame.key.id] = error
        if len(waiting) == len(tried):
            refused |= gaps
            break
    return arrivals


def _widest(*gaps: BrokenChain) -> BrokenChain:
    """The gap that begins first."""
    return min(gaps, key=lambda gap: gap.missing_after or 0)


def erasing_first(batch: Sequence[Frame]) -> list[Frame]:
    """Frames in the order in which the fewest payloads are stored that an erasure among them forbids.

    Each log's are in the order of their places: in any other, each would be tried again after each that came in.
    """
    erasing = {f.key.id for f in batch for e in f.events if isinstance(e, Event) and e.kind == Kind.ERASE}
    return sorted(batch, key=lambda frame: (frame.key.id not in erasing, frame.key.id, frame.first))
