"""Events as lines of JSON: all that a bundle holds, signed, and legible with any tool.

::

    {"syncmem": "events", "version": 1}
    {"log": {"device": "...", "incarnation": "...", "scope": "vault"}, "first": 1, "cover": {"1": "..."}, "head": ...}
    {"seq": 1, "kind": 1, "hlc": 1750000000000000, "payload": "base64", "says": {"kind": "claim", "entity": "ana", ...}}
    {"seq": 2, "erased": "the hash of its header"}
    {"chunk": {"episode": "...", "number": 1, "body": "base64"}}
    {"end": {"frames": 1, "events": 2, "sha256": "of the lines between"}}

Rules: ``payload`` holds the canonical bytes, and they alone are read; ``says`` repeats them for people.  What is read
becomes the bytes of a frame, and is judged where all frames are.  A file that was cut off or changed is refused
before anything of it is believed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import chain
from typing import IO, Any, Final

from syncmem.errors import NotCanonical
from syncmem.model.event import Erased, Event, Kind, LogKey, readable
from syncmem.model.frame import FRAME_PAYLOAD_MAX, Frame, Stored, payload_bytes
from syncmem.model.salt import BLOCK_EVENTS
from syncmem.replica.bundle import Chunk, checked_chunk
from syncmem.wire.frames import CLOCK_END, KIND_END, frame_bytes, read_frame

MAGIC: Final = b'{"syncmem": "events", "version": 1}\n'
HEAD_BYTES: Final = len(MAGIC) + 4  # with what editors put before it, and at the end of a line
LINE_BYTES_MAX: Final = 1024 * 1024  # 64 KiB of payload take 86 KiB, and up to 400 more where they are told


def is_legible(head: bytes) -> bool:
    """Whether a file that begins so is one of lines, even if an editor has changed its line ends."""
    return MAGIC.strip() in head[:HEAD_BYTES]


def write_lines(file: IO[bytes], content: Iterable[Frame], chunks: Iterable[Chunk] = ()) -> int:
    """Write frames and the content of episodes as lines; how many events."""
    digest, events, count = sha256(), 0, 0
    file.write(MAGIC)
    for line in chain(_lines(content), map(_chunk_line, chunks)):
        file.write(line)
        digest.update(line)
        count += line.startswith(b'{"log"')
        events += line.startswith(b'{"seq"')
    file.write(_line({"end": {"frames": count, "events": events, "sha256": digest.hexdigest()}}))
    return events


def _lines(content: Iterable[Frame]) -> Iterator[bytes]:
    for frame in content:
        yield _line(_heading(frame))
        for seq, event in enumerate(frame.events, frame.first):
            yield _line({"seq": seq} | _told(event))


def _heading(frame: Frame) -> dict[str, Any]:
    key = frame.key
    return {
        "log": {"device": key.device.hex(), "incarnation": key.incarnation.hex(), "scope": key.scope},
        "first": frame.first,
        "cover": {str(node): value.hex() for node, value in sorted(frame.cover.items())},
        "head": frame.head.hex(),
        "signature": frame.signature.hex(),
    }


def _told(event: Stored) -> dict[str, Any]:
    if isinstance(event, Erased):
        return {"erased": event.header_hash.hex()}
    payload = readable(event)
    told = {"kind": event.kind, "hlc": event.hlc, "payload": base64.b64encode(event.payload).decode()}
    if payload is None:
        return told
    says = {name: item for name, item in payload._asdict().items() if item is not None}
    return told | {"says": {"kind": Kind(event.kind).name.lower()} | _plain(says)}


def _plain(item: Any) -> Any:
    """A payload's field as JSON writes it."""
    if isinstance(item, bytes):
        return item.hex()
    if isinstance(item, dict):
        return {str(name): _plain(each) for name, each in item.items()}
    return [_plain(each) for each in item] if isinstance(item, list | tuple) else item


def _chunk_line(chunk: Chunk) -> bytes:
    body = base64.b64encode(chunk.body).decode()
    return _line({"chunk": {"episode": chunk.episode.hex(), "number": chunk.number, "body": body}})


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


# -- reading -------------------------------------------------------------------------------------------


def read_lines(file: IO[bytes]) -> Iterator[Frame]:
    """The frames of a file of lines, one at a time; a first pass has checked that it is whole.

    Raises:
        NotCanonical: it is none, or was cut off or changed.
    """
    _check_whole(file)
    heading: dict[str, Any] | None = None
    events: list[Stored] = []
    for record in map(_record, _read(file)):
        if "seq" in record:
            _add(events, record)
            continue
        if "chunk" in record:
            continue
        if heading is not None:
            yield _frame(heading, events)
        heading, events = record, []


def read_chunk_lines(file: IO[bytes]) -> Iterator[Chunk]:
    """The content of episodes in a file that was found whole. Raises as :func:`read_lines`."""
    for record in map(_record, _read(file)):
        if "chunk" in record:
            yield _chunk(record["chunk"])


def _chunk(told: Any) -> Chunk:
    try:
        body = base64.b64decode(told["body"], validate=True)
        return checked_chunk([bytes.fromhex(told["episode"]), told["number"], body])
    except (KeyError, TypeError, ValueError) as error:
        raise _wrong(f"a part of an episode is told wrongly, {error!r}") from error


def _check_whole(file: IO[bytes]) -> None:
    digest, end, events, frames = sha256(), b"", 0, 0
    for line in _read(file):
        if line.startswith(b'{"chunk"'):
            _chunk(_record(line).get("chunk"))
        digest.update(end)
        frames += end.startswith(b'{"log"')
        events += end.startswith(b'{"seq"')
        end = line
    if end != _line({"end": {"frames": frames, "events": events, "sha256": digest.hexdigest()}}):
        raise _wrong("it was cut off or changed on its way")


def _read(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    if (first := file.readline(HEAD_BYTES)) != MAGIC:
        if is_legible(first):
            raise _wrong("its line ends or its beginning were changed on their way")
        raise NotCanonical("the file holds no events of syncmem; export some with 'syncmem export FILE.ndjson'")
    while line := file.readline(LINE_BYTES_MAX):
        if len(line) == LINE_BYTES_MAX:
            raise _wrong("a line is too long for an event")
        yield line


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"a line is no JSON, {error}") from error
    if not isinstance(record, dict):
        raise _wrong("a line is no object")
    return record


def _add(events: list[Stored], record: dict[str, Any]) -> None:
    """Take in the event of a line, as long as all of them fit one frame."""
    try:
        erased = record.get("erased")
        events.append(_event(record) if erased is None else Erased(bytes.fromhex(erased)))
    except (KeyError, TypeError, ValueError) as error:
        raise _wrong(f"an event is told wrongly, {error!r}") from error
    size = sum(map(payload_bytes, events))
    if len(events) > BLOCK_EVENTS or size > FRAME_PAYLOAD_MAX:
        raise _wrong("more events stand together than one signature covers")


def _event(record: dict[str, Any]) -> Event:
    kind, hlc = record["kind"], record["hlc"]
    if not (type(kind) is int and type(hlc) is int and 0 <= kind < KIND_END and 0 <= hlc < CLOCK_END):
        raise ValueError("its kind or its clock is no such number")
    return Event(kind, hlc, base64.b64decode(record["payload"], validate=True))


def _frame(heading: dict[str, Any], events: list[Stored]) -> Frame:
    """The frame of a heading and its events, looked at as if it had come over the wire."""
    try:
        log = heading["log"]
        key = LogKey(bytes.fromhex(log["device"]), bytes.fromhex(log["incarnation"]), str(log["scope"]))
        cover = {int(node): bytes.fromhex(value) for node, value in heading["cover"].items()}
        head, signature = bytes.fromhex(heading["head"]), bytes.fromhex(heading["signature"])
        frame = frame_bytes(Frame(key, int(heading["first"]), events, cover, head, signature))
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise _wrong(f"what proves some events is told wrongly, {error!r}") from error
    return read_frame(frame)


def _wrong(why: str) -> NotCanonical:
    return NotCanonical(f"the file of events is not as it was written: {why}; ask for a new copy")
