"""What a blob holds, as far as it matters where the blob lies: places of logs, statements, what it replaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import islice
from typing import Final, NamedTuple

from syncmem.codec import pack_flat, unpack_own
from syncmem.model.event import Erased
from syncmem.model.frame import Frame
from syncmem.wire.blob import Places


class BlobState(IntEnum):
    """How a blob stands with this device."""

    WAITING = 0  # ours, not acknowledged yet
    TAKEN = 1  # there, and what it holds is known
    HELD = 2  # read, but something it builds on has not arrived
    REFUSED = 3  # cannot be used; the reason is kept
    REPLACED = 4  # what it held stands in others; it may be dropped
    BLOCKED = 5  # ours, and the mailbox does not take it; the reason is kept
    DUE = 6  # it holds what was erased: to be written anew
    DROPPING = 7  # what it held was written anew: to be dropped
    STRAY = 8  # no writer put it there under this name, or nobody can tell; forgotten once it is not listed any more
    DROPPED = 9  # it is gone from the mailbox; its place stays taken


class Stretch(NamedTuple):
    """Consecutive places of a log, and those of them of which only the header hash is there."""

    log: bytes
    first: int
    last: int
    erased: tuple[int, ...] = ()


class Contents(NamedTuple):
    """What a blob holds."""

    logs: list[Stretch]
    statements: list[bytes]  # ids
    replaced: list[Places]  # the blobs whose place it takes

    def stored(self) -> bytes:
        logs = [[*stretch[:3], list(stretch.erased)] for stretch in self.logs]
        return pack_flat([logs, self.statements, [list(places) for places in self.replaced]])

    @classmethod
    def read(cls, data: bytes) -> Contents:
        logs, statements, replaced = unpack_own(data)
        stretches = [Stretch(log, first, last, tuple(erased)) for log, first, last, erased in logs]
        return cls(stretches, statements, [Places(*places) for places in replaced])

    @property
    def events(self) -> int:
        """How many events it holds, erased ones included."""
        return sum(stretch.last - stretch.first + 1 for stretch in self.logs)

    def cut_back(self, log: bytes, last: int) -> Contents:
        """The same, of a log no more than up to a place."""
        kept = [one if one.log != log else one._replace(last=min(one.last, last)) for one in self.logs]
        return self._replace(logs=[one for one in kept if one.first <= one.last])

    def added_to(self, held: dict[bytes, int]) -> None:
        """Add to what is held (log id -> last place, statement id -> 0); a log only as far as there is no gap."""
        held |= dict.fromkeys(self.statements, 0)
        for log, first, last, _ in self.logs:
            if first <= held.get(log, 0) + 1:
                held[log] = max(held.get(log, 0), last)


NOTHING: Final = Contents([], [], [])
LOOKED_AT_ONCE: Final = 64  # blobs


def stretch(frame: Frame) -> Stretch:
    """The places of a log that a frame holds."""
    erased = tuple(place for place, event in enumerate(frame.events, frame.first) if isinstance(event, Erased))
    return Stretch(frame.key.id, frame.first, frame.last, erased)


def without(stretch: Stretch, places: Iterable[int]) -> Iterator[Stretch]:
    """The parts of a stretch between some places of it."""
    first = stretch.first
    for place in (*sorted(places), stretch.last + 1):
        if place > first:
            yield Stretch(stretch.log, first, place - 1)
        first = place + 1


def joined(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """Stretches put together where they meet or overlap, log by log, in order; without what is erased in them."""
    return (Stretch(*run) for run in runs((log, first, last) for log, first, last, _ in stretches))


def standing(blobs: Iterable[Contents], wanted: Sequence[Contents]) -> Callable[[Contents], bool]:
    """What tells whether contents stand in some blobs, of which no more are looked at than it takes for ``wanted``."""
    statements: set[bytes] = set()
    whole: dict[bytes, list[Stretch]] = {}

    def stands(contents: Contents) -> bool:
        parts = ((part, whole.get(part.log, ())) for part in contents.logs)
        return statements.issuperset(contents.statements) and all(any(_within(p, o) for o in of) for p, of in parts)

    left = iter(blobs)
    while not all(map(stands, wanted)) and (some := list(islice(left, LOOKED_AT_ONCE))):
        statements.update(id for contents in some for id in contents.statements)
        found = [part for contents in some for part in contents.logs]
        parts = list(joined([*found, *(part for of in whole.values() for part in of)]))
        whole.clear()
        for part in parts:
            whole.setdefault(part.log, []).append(part)
    return stands


def _within(part: Stretch, whole: Stretch) -> bool:
    return whole.first <= part.first and part.last <= whole.last


def runs(places: Iterable[tuple[bytes, int, int]]) -> Iterator[tuple[bytes, int, int]]:
    """Consecutive places (of what, first, last) in as few runs as there can be, in order."""
    run: tuple[bytes, int, int] | None = None
    for of, first, last in sorted(places):
        if run is not None and run[0] == of and first <= run[2] + 1:
            run = (of, run[1], max(run[2], last))
            continue
        if run is not None:
            yield run
        run = (of, first, last)
    if run is not None:
        yield run


def between(all: Places, known: Iterable[tuple[int, int]]) -> list[Places]:
    """The places of a stretch that are in none of some others, which ascend."""
    found, place = [], all.first
    for begins, ends in [*known, (all.last + 1, all.last + 1)]:
        if begins > place and place <= all.last:
            found.append(Places(all.stream, place, min(begins - 1, all.last)))
        place = max(place, ends + 1)
    return found
