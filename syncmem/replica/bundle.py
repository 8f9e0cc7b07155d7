"""Event bundles: the events of a replica as one stream of frames, and as a file.

Rules: a frame holds consecutive events of one log inside one block of 256 (of erased ones their header
hashes), what proves them (salts and the chain value after them), and the key of the log.  The last frame
of a file counts the others, so a file that was cut off is refused before anything of its tail is believed.
Nothing of the scope "device" ever enters a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Any, Final

from syncmem.codec import EVENT_BYTES_MAX, FRAME_BYTES_MAX, pack, unpack
from syncmem.errors import NotCanonical
from syncmem.model.event import Erased, Event, LogKey
from syncmem.model.salt import BLOCK_EVENTS, Cover
from syncmem.replica.chain import Stored, blocks, event_of, event_row, read_cover
from syncmem.replica.logs import Logs

DEVICE_SCOPE: Final = "device"  # claims that never leave the device
MAGIC: Final = b"syncmem bundle 1\n"
FRAME_MAX: Final = BLOCK_EVENTS * EVENT_BYTES_MAX  # a whole block of the largest events
_LENGTH_BYTES: Final = 4
_END: Final = "end"


@dataclass(frozen=True, slots=True)
class Frame:
    """Consecutive events of one log, with what proves them."""

    key: LogKey
    first: int
    events: Sequence[Stored]
    cover: Cover
    head: bytes  # the chain value after the last event


def frames(
    logs: Logs, known: Mapping[bytes, int], scopes: frozenset[str] | None = None, only: Set[bytes] | None = None
) -> Iterator[Frame]:
    """What a peer that holds ``known`` (log id -> last place) lacks, log by log, in order.

    ``scopes`` limits what may leave, None: everything but the scope "device"; ``only`` these logs, None: all.
    """
    for log in sorted(logs.by_no.values(), key=lambda log: log.id):
        if log.key is None or log.key.scope == DEVICE_SCOPE or (scopes is not None and log.key.scope not in scopes):
            continue
        if only is not None and log.id not in only:
            continue
        last = log.seq
        pending: list[Stored] = []
        first = known.get(log.id, 0) + 1
        if not last:
            continue
        first = min(first, last)  # where all seems known, the last event shows whether it is the same log
        for _, events in logs.runs(log.no, first - 1):
            pending += events
            while pending and (first + len(pending) - 1 >= last or _fills_block(first, len(pending))):
                count = min(len(pending), BLOCK_EVENTS - first % BLOCK_EVENTS)
                cover = logs.cover(log.no, first)
                assert cover is not None, "every stored event has its block"
                head = logs.head_at(log, first + count - 1)
                yield Frame(log.key, first, pending[:count], cover, head)
                del pending[:count]
                first += count


def _fills_block(first: int, count: int) -> bool:
    return count >= BLOCK_EVENTS - first % BLOCK_EVENTS


def batches(incoming: Iterable[Frame], events_max: int) -> Iterator[list[Frame]]:
    """Frames for one transaction at a time: about ``events_max`` events."""
    batch: list[Frame] = []
    count = 0
    for frame in incoming:
        batch.append(frame)
        count += len(frame.events)
        if count >= events_max:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch


def frame_bytes(frame: Frame) -> bytes:
    """A frame as canonical bytes."""
    return pack(
        [
            [frame.key.device, frame.key.incarnation, frame.key.scope],
            frame.first,
            [event_row(event) for event in frame.events],
            [[node, value] for node, value in sorted(frame.cover.items())],
            frame.head,
        ]
    )


def read_frame(data: bytes) -> Frame:
    """The frame of canonical bytes.

    Raises:
        NotCanonical: the bytes are no well-formed frame.
    """
    try:
        (device, incarnation, scope), first, events, nodes, head = unpack(data, bytes_max=FRAME_MAX)
        frame = Frame(LogKey(device, incarnation, scope), first, [event_of(e) for e in events], read_cover(nodes), head)
    except (ValueError, TypeError) as error:
        raise NotCanonical(f"not a frame of events ({error}); ask the sender for it again") from error
    _check(frame)
    return frame


def _check(frame: Frame) -> None:
    """Refuse a frame whose parts have wrong types or sizes, or which crosses a block."""
    key = frame.key
    typed = [(key.device, bytes), (key.incarnation, bytes), (key.scope, str), (frame.first, int), (frame.head, bytes)]
    whole = [event for event in frame.events if isinstance(event, Event)]
    typed += [pair for e in whole for pair in ((e.kind, int), (e.hlc, int), (e.payload, bytes))]
    hashes = [event.header_hash for event in frame.events if isinstance(event, Erased)]
    if any(type(value) is not wanted for value, wanted in [*typed, *((h, bytes) for h in hashes)]):
        raise NotCanonical("a part of the frame has a wrong type; ask the sender for it again")
    inside = frame.first >= 1 and list(blocks(frame.first, frame.events))[1:] == []
    sized = all(len(event.payload) <= EVENT_BYTES_MAX and 0 <= event.hlc < 2**62 for event in whole)
    sized = sized and all(len(value) == 32 for value in hashes)
    if not frame.events or not inside or not sized or key.scope == DEVICE_SCOPE or len(frame.head) != 32:
        raise NotCanonical("the frame breaks a rule of its format; ask the sender for it again")


def write_bundle(file: IO[bytes], content: Iterable[Frame]) -> int:
    """Write frames as a bundle file; how many events it holds."""
    digest, events, count = sha256(), 0, 0
    file.write(MAGIC)
    for frame in content:
        data = frame_bytes(frame)
        digest.update(data)
        _write_piece(file, data)
        events += len(frame.events)
        count += 1
    _write_piece(file, pack([_END, count, digest.digest()]))
    return events


def read_bundle(file: IO[bytes]) -> Iterator[Frame]:
    """The frames of a bundle file, one at a time; a first pass has checked that it is whole.

    Raises:
        NotCanonical: it is no bundle, or was cut off or changed.
    """
    _check_whole(file)
    for data in _pieces(file):
        yield read_frame(data)


def _check_whole(file: IO[bytes]) -> None:
    digest, count = sha256(), 0
    end: Any = None
    for data in _pieces(file, with_end=True):
        if end is not None:
            raise NotCanonical("the bundle goes on after its end; ask for a new copy")
        if len(data) < 128 and data[1:5] == pack(_END):
            end = unpack(data)
            continue
        digest.update(data)
        count += 1
    if end != [_END, count, digest.digest()]:
        raise NotCanonical("the bundle was cut off or changed on its way; ask for a new copy")


def _pieces(file: IO[bytes], *, with_end: bool = False) -> Iterator[bytes]:
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        raise NotCanonical("the file is no syncmem bundle; export one with 'syncmem export'")
    while length := file.read(_LENGTH_BYTES):
        size = int.from_bytes(length, "big")
        data = file.read(size) if size <= FRAME_MAX + FRAME_BYTES_MAX else b""
        if len(data) != size:
            raise NotCanonical("the bundle was cut off on its way; ask for a new copy")
        if with_end or data[1:5] != pack(_END):
            yield data


def _write_piece(file: IO[bytes], data: bytes) -> None:
    file.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    file.write(data)
