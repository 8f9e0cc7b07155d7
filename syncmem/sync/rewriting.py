"""Writing blobs anew: those that hold what was erased, and many small ones as few.

Rules: what a blob held stands in new ones before it may go: events as they are held here now, statements,
and the places that it had taken itself; a blob of which not everything is held here is left alone; only own
blobs are put together, so that no two devices do it to the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from syncmem.model.frame import Frame
from syncmem.replica.replica import Replica
from syncmem.seal.envelope import EpochKey
from syncmem.sync.contents import BlobState, Contents, joined, runs
from syncmem.sync.ledger import Ledger
from syncmem.sync.mailboxes import Known
from syncmem.wire.blob import Places
from syncmem.wire.mailbox import BlobName

REWRITTEN_AT_ONCE: Final = 256  # blobs: bounds the names in one offer
EVENTS_AT_ONCE: Final = 20_000  # in them: bounds the memory of composing
SMALL_BLOBS_FULL: Final = 8  # those that are put together where a mailbox has no room
SMALL_BLOBS_MAX: Final = 64  # own small ones that may lie about: a newcomer reads few, and few are written twice


class Rewrite(NamedTuple):
    """Blobs that are to be written anew, and all that they hold together."""

    names: list[BlobName]
    contents: Contents
    to: BlobState  # what becomes of them: DROPPING, or REPLACED where a second member must agree


def due(
    replica: Replica, ledger: Ledger, known: Known, key: EpochKey, *, full: bool = False, most: int = REWRITTEN_AT_ONCE
) -> Rewrite | None:
    """What is to be written anew now in one mailbox, ``most`` at once; None: nothing. ``full``: it has no room."""
    erased = _held_whole(replica, ledger.known(known.no, BlobState.DUE))
    found = list(_some(erased, most))
    if found:
        return _together(found, BlobState.DROPPING)
    own = {key.stream(log.id) for log in replica.logs.held(scope=key.scope) if log.device == replica.device}
    small = list(_some(_held_whole(replica, ledger.small(known.no, own)), most))
    least = SMALL_BLOBS_FULL if full else SMALL_BLOBS_MAX
    return _together(small, BlobState.REPLACED) if len(small) >= least else None


def _some(blobs: Iterable[tuple[BlobName, Contents]], most: int) -> Iterator[tuple[BlobName, Contents]]:
    """As many as are written anew together."""
    events = 0
    for name, contents in islice(blobs, most):
        yield name, contents
        events += contents.events
        if events >= EVENTS_AT_ONCE:
            return


def _held_whole(replica: Replica, blobs: Iterable[tuple[BlobName, Contents]]) -> Iterator[tuple[BlobName, Contents]]:
    held = {log.id: log.seq for log in replica.logs.held()}
    for name, contents in blobs:
        if all(stretch.last <= held.get(stretch.log, 0) for stretch in contents.logs):
            yield name, contents


def _together(blobs: list[tuple[BlobName, Contents]], to: BlobState) -> Rewrite:
    logs = list(joined(stretch for _, contents in blobs for stretch in contents.logs))
    statements = list(dict.fromkeys(id for _, contents in blobs for id in contents.statements))
    taken = [places for _, contents in blobs for places in contents.replaced]
    own = [Places(name.stream, name.counter, name.counter) for name, _ in blobs]
    replaced = [Places(*run) for run in runs([*taken, *own])]
    return Rewrite([name for name, _ in blobs], Contents(logs, statements, replaced), to)


def frames_of(replica: Replica, scope: str, contents: Contents) -> Iterator[Frame]:
    """The events of some contents as they are held here now."""
    for log, first, last, _ in contents.logs:
        for frame in replica.frames({log: first - 1}, frozenset({scope}), {log}):
            yield frame
            if frame.last >= last:
                break
