"""What is fuzzed: one target for each reader of foreign bytes.

Rules: a target returns, or raises what its reader documents, and nothing else, whatever it is given; where
there is a seal or a signature in front of a reader, the target also makes a right one over the given bytes,
as a hostile member would.  What was read is looked at again: it can be written, and is the same then.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from syncmem import Environment, ManualClock, Memory, labels
from syncmem.codec import FRAME_BYTES_MAX, pack, unpack, unpack_own
from syncmem.environment import seeded_randomness
from syncmem.errors import InvalidInput, NotCanonical, Unreadable
from syncmem.model.event import Event, decode, readable
from syncmem.model.event import Statement as Said
from syncmem.replica import event_lines
from syncmem.replica.bundle import read_bundle, read_chunks
from syncmem.replica.event_lines import read_lines
from syncmem.seal.envelope import PLAINTEXT_BYTES_MAX, unseal
from syncmem.seal.keys import SIGNATURE_BYTES, sign
from syncmem.seal.statements import Statement, read_statement
from syncmem.sync.pairing import Code
from syncmem.wire.blob import ItemKind, read_blob, read_offer, read_replaced, read_wants
from syncmem.wire.frames import frame_bytes, read_frame
from syncmem.wire.messages import (
    read_answer,
    read_drop,
    read_dropped,
    read_exchange,
    read_get,
    read_moved,
    read_watch,
)
from tests.fuzz import valid
from tests.world import ORIGIN, Writer

Read = Callable[[bytes], object]
Wrap = Callable[[bytes], bytes]
_LENGTH_BYTES: Final = 4


@dataclass(frozen=True)
class Target:
    """A reader.

    Attributes:
        read: gives bytes to the reader; ``refuses``: the errors it documents; ``again``: writes what was read and
            reads it once more.
        samples: what it accepts.
        inside: canonical bytes inside of what it accepts, each with what makes of such bytes what ``read`` takes:
            so a value can be changed where changed bytes would only break.
    """

    read: Read
    refuses: tuple[type[Exception], ...]
    samples: Sequence[bytes]
    inside: Sequence[tuple[bytes, Wrap]] = ()
    again: Callable[[Any], object] = lambda found: found

    def accepts(self, data: bytes) -> bool:
        """Whether the reader takes the bytes; raises what it does not document."""
        try:
            found = self.read(data)
        except self.refuses:
            return False
        assert self.again(found) == found
        return True


# -- readers ------------------------------------------------------------------------------------------


def envelope(data: bytes) -> None:
    """An envelope, or else what a member has sealed."""
    if data[:4] == b"SMv1":
        unseal(valid.KEY, data)
    else:
        plain = data[:PLAINTEXT_BYTES_MAX]
        assert unseal(valid.KEY, valid.envelope(plain)) == plain


def blob(data: bytes) -> None:
    """Pieces that a member has signed, and the items in them."""
    signature = sign(valid.SEED, labels.BLOB, valid.VAULT + valid.KEY.mailbox + sha256(data).digest())
    signed = data + SIGNATURE_BYTES.to_bytes(_LENGTH_BYTES, "big") + signature
    readers: dict[int, Read] = {
        ItemKind.FRAME: read_frame,
        ItemKind.STATEMENT: read_statement,
        ItemKind.WANTS: read_wants,
        ItemKind.REPLACED: read_replaced,
        ItemKind.OFFER: read_offer,
    }
    for item in read_blob(signed, valid.VAULT, valid.KEY.mailbox).items:
        readers.get(item.kind, bytes)(item.body)


def statement(data: bytes) -> Statement:
    """A content that a member has signed."""
    return read_statement(valid.statement(data))


def payload(data: bytes) -> None:
    """A kind and a payload."""
    decode(data[0] if data else 0, data[1:])


def taken_in(*written: bytes) -> None:
    """Kinds and payloads of events that a member wrote, taken in after others, and asked about."""
    writer = Writer(valid.LOG)
    for number, data in enumerate([*valid.payloads(), *written]):
        writer.write_event(Event(data[0] if data else 0, ORIGIN + number, data[1:]))
    world = Environment(clock=ManualClock(ORIGIN + 10**9), randomness=seeded_randomness(1))
    with Memory(":memory:", environment=world) as memory:
        memory.remember("ana", "city", "Rome")
        for result in memory._replica.receive(writer.frames()):
            assert not result.refused, result.refused
        _ask(memory, writer.events)


def _ask(memory: Memory, events: Sequence[Event]) -> None:
    """What a memory answers from whatever it holds."""
    said = [fields for fields in map(readable, events) if isinstance(fields, Said)]
    for entity, predicate in {(fields.entity, fields.predicate) for fields in said}:
        memory.timeline(entity, predicate)
        memory.why(entity, predicate)
    memory.contested()
    memory.predicates()
    before = memory.belief_digest()
    memory.rebuild()
    assert memory.belief_digest() == before
    assert all(log["continuous"] for log in memory.doctor(full=True).facts["logs"])


def request(data: bytes) -> None:
    """The body of a request, signed as by a member; the first byte says of which kind."""
    readers = (read_exchange, read_get, read_drop, read_watch)
    body = data[1:]
    signed = body + sign(valid.KEY.write_seed, labels.REQUEST, sha256(body).digest())
    readers[(data[0] if data else 0) % len(readers)](signed)


def answer(data: bytes) -> None:
    """An answer; the first byte says of which kind."""
    readers = (read_answer, read_dropped, read_moved)
    readers[(data[0] if data else 0) % len(readers)](data[1:])


def lines(data: bytes) -> None:
    """Lines of events, with an end that fits them: else nothing behind the checksum would be reached."""
    body, _, _ = data.removeprefix(event_lines.MAGIC).rpartition(b'{"end"')
    for _ in read_lines(io.BytesIO(ended(body) if data.startswith(event_lines.MAGIC) else data)):
        pass


def ended(body: bytes) -> bytes:
    """A file of these lines."""
    starts = [line[:6] for line in body.splitlines(keepends=True)]
    counts = {"frames": starts.count(b'{"log"'), "events": starts.count(b'{"seq"')}
    end = json.dumps({"end": {**counts, "sha256": sha256(body).hexdigest()}})
    return event_lines.MAGIC + body + end.encode() + b"\n"


def bundle(data: bytes) -> None:
    for reader in (read_bundle, read_chunks):
        for _ in reader(io.BytesIO(data)):
            pass


def code(data: bytes) -> Code:
    return Code.parse(data.decode("utf-8", errors="replace"))


# -- all of them --------------------------------------------------------------------------------------


def _numbered(messages: Sequence[bytes]) -> list[bytes]:
    """Each with its number in front."""
    return [bytes([number]) + message for number, message in enumerate(messages)]


def _after_first(samples: Sequence[bytes]) -> list[tuple[bytes, Wrap]]:
    """What follows the first byte is canonical."""
    return [(sample[1:], lambda body, first=sample[:1]: first + body) for sample in samples]


def _headed(samples: Sequence[bytes]) -> list[tuple[bytes, Wrap]]:
    """A number, a head after its length, and blobs."""
    found: list[tuple[bytes, Wrap]] = []
    for sample in samples:
        size = int.from_bytes(sample[1 : 1 + _LENGTH_BYTES], "big")
        head, rest = sample[1 + _LENGTH_BYTES :][:size], sample[1 + _LENGTH_BYTES + size :]

        def wrap(body: bytes, first: bytes = sample[:1], rest: bytes = rest) -> bytes:
            return first + len(body).to_bytes(_LENGTH_BYTES, "big") + body + rest

        found.append((head, wrap))
    return found


def _body(data: bytes) -> bytes:
    return zlib.decompress(data[1:]) if data[0] else data[1:]


def body_of(data: bytes) -> list[Any]:
    """The parts of a frame's bytes."""
    parts: list[Any] = unpack_own(_body(data))
    return parts


_REFUSED = (NotCanonical, Unreadable)
_BLOB = valid.blob()[: -SIGNATURE_BYTES - _LENGTH_BYTES]
_FRAMES = [frame_bytes(found) for found in valid.frames()]
_VALUES = [pack(value) for value in valid.values()]
_PAYLOADS = valid.payloads()
_CONTENTS = valid.contents()
_REQUESTS = _numbered([made[:-SIGNATURE_BYTES] for made in valid.requests()])
_ANSWERS = _numbered(valid.answers())

TARGETS: Final[dict[str, Target]] = {
    "codec": Target(
        read=lambda data: unpack(data, bytes_max=FRAME_BYTES_MAX),
        refuses=(NotCanonical,),
        samples=_VALUES,
        inside=[(value, bytes) for value in _VALUES],
        again=lambda value: unpack(pack(value), bytes_max=FRAME_BYTES_MAX),
    ),
    "frame": Target(
        read=read_frame,
        refuses=(NotCanonical,),
        samples=_FRAMES,
        inside=[(_body(data), lambda body: b"\0" + body) for data in _FRAMES],
        again=lambda frame: read_frame(frame_bytes(frame)),
    ),
    "envelope": Target(envelope, _REFUSED, [valid.envelope(_BLOB), b"plain"]),
    "blob": Target(blob, _REFUSED, [_BLOB]),
    "statement": Target(
        read=statement,
        refuses=_REFUSED,
        samples=_CONTENTS,
        inside=[(content, bytes) for content in _CONTENTS],
        again=lambda found: read_statement(found.wire),
    ),
    "payload": Target(payload, (NotCanonical,), _PAYLOADS, _after_first(_PAYLOADS)),
    "event": Target(taken_in, (), _PAYLOADS, _after_first(_PAYLOADS)),
    "request": Target(request, _REFUSED, _REQUESTS, _headed(_REQUESTS)),
    "answer": Target(answer, (NotCanonical,), _ANSWERS, _headed(_ANSWERS)),
    "bundle": Target(bundle, (NotCanonical,), [valid.bundle()]),
    "lines": Target(lines, (NotCanonical,), [valid.lines()]),
    "code": Target(
        code,
        (InvalidInput,),
        [str(Code(bytes(16), "folder:shared")).encode()],
        again=lambda found: Code.parse(str(found)),
    ),
}
