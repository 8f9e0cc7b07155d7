"""Event bundles: the events of a replica as one stream of frames, and as a file.

Rules: frames end where the log's device has signed, so every one proves itself, whoever passes it on; chunks of
the content of episodes follow them, and are proven by their episodes.  The last piece of a file counts the others,
so a file that was cut off is refused before anything of its tail is believed.  Nothing of the scope "device" ever
enters a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from hashlib import sha256
from typing import IO, Any, Final, NamedTuple

from syncmem.codec import pack, unpack
from syncmem.errors import NotCanonical
from syncmem.model.episode import CHUNK_BYTES, EPISODE_ID_BYTES
from syncmem.model.event import LogKey
from syncmem.model.frame import DEVICE_SCOPE, Frame, Stored
from syncmem.replica.chain import Log
from syncmem.replica.logs import Logs
from syncmem.wire.frames import FRAME_BYTES_MAX, frame_bytes, read_frame

MAGIC: Final = b"syncmem bundle 1\n"
_LENGTH_BYTES: Final = 4
_END: Final = "end"
_CHUNK: Final = 2  # the first byte of a chunk's piece; a frame's is its codec, 0 or 1
_ENDS: Final = pack([_END, 0, b""])[0]  # and that of the last piece


class Chunk(NamedTuple):
    """A part of the content of an episode (its id), numbered from 1."""

    episode: bytes
    number: int
    body: bytes


def frames(
    logs: Logs, known: Mapping[bytes, int], scopes: frozenset[str] | None = None, only: Set[bytes] | None = None
) -> Iterator[Frame]:
    """What a peer that holds ``known`` (log id -> last place) lacks, log by log, in order.

    ``scopes`` limits what may leave, None: everything but the scope "device"; ``only`` these logs, None: all.
    """
    for log in logs.held():
        if log.key is None or log.key.scope == DEVICE_SCOPE or (scopes is not None and log.key.scope not in scopes):
            continue
        if only is None or log.id in only:
            # Where all seems known, the last event shows whether it is the same log.
            yield from _frames_of(logs, log, log.key, min(known.get(log.id, 0) + 1, log.seq))


def _frames_of(logs: Logs, log: Log, key: LogKey, first: int) -> Iterator[Frame]:
    """The events of one log from a place on, cut where its device has signed."""
    pending: list[Stored] = []
    runs = logs.runs(log.no, first - 1)
    for last, signature in logs.heads.signed(log, first):
        count = last - first + 1
        while len(pending) < count:
            pending += next(runs)[1]
        cover = logs.cover(log.no, first)
        assert cover is not None, "every stored event has its block"
        yield Frame(key, first, pending[:count], cover, logs.head_at(log, last), signature)
        del pending[:count]
        first = last + 1


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


def write_bundle(file: IO[bytes], content: Iterable[Frame], chunks: Iterable[Chunk] = ()) -> int:
    """Write frames and chunks as a bundle file; how many events it holds."""
    digest, events, count = sha256(), 0, 0
    file.write(MAGIC)
    for frame in content:
        _write_counted(file, frame_bytes(frame), digest)
        events += len(frame.events)
        count += 1
    for chunk in chunks:
        _write_counted(file, bytes([_CHUNK]) + pack([*chunk]), digest)
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
        if data[0] not in (_CHUNK, _ENDS):
            yield read_frame(data)


def read_chunks(file: IO[bytes]) -> Iterator[Chunk]:
    """The chunks of a bundle file that was found whole. Raises as :func:`read_bundle`."""
    for data in _pieces(file):
        if data[0] == _CHUNK:
            yield checked_chunk(unpack(data[1:]))


def checked_chunk(parts: Any) -> Chunk:
    """A part of an episode's content as it was told: (episode, number, body)."""
    if type(parts) is not list or [*map(type, parts[:3])] != [bytes, int, bytes]:
        raise NotCanonical("a part of an episode in the bundle is malformed; ask for a new copy")
    chunk = Chunk(*parts[:3])
    if len(chunk.episode) != EPISODE_ID_BYTES or not 1 <= len(chunk.body) <= CHUNK_BYTES:
        raise NotCanonical("a part of an episode in the bundle has a wrong size; ask for a new copy")
    return chunk


def _check_whole(file: IO[bytes]) -> None:
    digest, count = sha256(), 0
    end: bytes | None = None
    for data in _pieces(file):
        if end is not None:
            raise NotCanonical("the bundle goes on after its end; ask for a new copy")
        if data[0] == _ENDS:
            end = data
            continue
        if data[0] == _CHUNK:
            checked_chunk(unpack(data[1:]))
        digest.update(data)
        count += 1
    if end != pack([_END, count, digest.digest()]):
        raise NotCanonical("the bundle was cut off or changed on its way; ask for a new copy")


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    if file.read(len(MAGIC)) != MAGIC:
        raise NotCanonical("the file is no syncmem bundle; export one with 'syncmem export'")
    while length := file.read(_LENGTH_BYTES):
        size = int.from_bytes(length, "big")
        data = file.read(size) if 1 <= size <= FRAME_BYTES_MAX else b""
        if len(data) != size or not data:
            raise NotCanonical("the bundle was cut off on its way; ask for a new copy")
        yield data


def _write_counted(file: IO[bytes], data: bytes, digest: Any) -> None:
    digest.update(data)
    _write_piece(file, data)


def _write_piece(file: IO[bytes], data: bytes) -> None:
    file.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    file.write(data)
