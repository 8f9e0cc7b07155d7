"""What a mailbox is asked and what it answers: as values, and as bytes.

Rules: a mailbox holds sealed blobs in streams and knows nothing of what is in them; its id is the hash of
the key that signs requests to it, so a request proves itself; every put is answered for itself; nothing
is ever taken for deleted because it is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol

from syncmem import labels
from syncmem.codec import pack, unpack
from syncmem.errors import NotCanonical, Unreadable
from syncmem.seal.keys import SIGNATURE_BYTES, sign, verify

STREAM_BYTES, DIGEST_BYTES, MAILBOX_BYTES, EPOCH_BYTES, KEY_BYTES = 8, 16, 16, 16, 32
COUNTER_MAX: Final = 10**12 - 1  # the digits of a name
BLOB_BYTES_MAX: Final = 1024 * 1024  # of the envelope format
STREAMS_MAX: Final = 4096  # of one mailbox: 50 devices that are restored once a year for decades
LISTED_MAX: Final = 2048  # blobs listed in one answer: about 100 KiB
PUTS_MAX: Final = 256  # in one request
HEAD_BYTES_MAX: Final = 512 * 1024  # of what stands before the blobs of a request or an answer
REQUEST_BYTES_MAX: Final = 16 * 1024 * 1024
_VERSION: Final = 1
_LENGTH_BYTES: Final = 4
_NAME: Final = re.compile(r"([0-9a-f]{16})/([0-9]{12})-([0-9a-f]{32})")


class BlobName(NamedTuple):
    """The name of a blob: its stream, its place there, and what it holds (a digest)."""

    stream: bytes
    counter: int
    digest: bytes

    def __str__(self) -> str:
        return f"{self.stream.hex()}/{self.counter:012d}-{self.digest.hex()}"

    @classmethod
    def parse(cls, text: str) -> BlobName | None:
        """The name of a text, or None where it is none."""
        found = _NAME.fullmatch(text)
        return None if found is None else cls(bytes.fromhex(found[1]), int(found[2]), bytes.fromhex(found[3]))


def digest(blob: bytes) -> bytes:
    """The digest in a blob's name (16 bytes)."""
    return sha256(blob).digest()[:DIGEST_BYTES]


def mailbox_id(key: bytes) -> bytes:
    """The id of the mailbox that a public write key opens (16 bytes)."""
    return sha256(labels.MAILBOX + key).digest()[:MAILBOX_BYTES]


class Put(NamedTuple):
    """A blob to be kept."""

    stream: bytes
    counter: int
    blob: bytes


class Outcome(IntEnum):
    """What became of a put."""

    STORED = 0
    KNOWN = 1
    CONFLICT = 2  # another blob has that place in the stream
    TOO_LARGE = 3
    OVER_QUOTA = 4
    MALFORMED = 5


class PutResult(NamedTuple):
    outcome: Outcome
    reason: str


class Listed(NamedTuple):
    """A blob that is there; small ones come along while the asker's budget lasts."""

    name: BlobName
    size: int
    blob: bytes | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """Here are mine, what is new?

    Attributes:
        key: the public write key; ``cursors``: stream -> last place up to which the asker has everything.
        inline_bytes_max: how many bytes of blobs may come with the answer.
        drop_key: a public key that this member registers, to authorise drops later.
    """

    key: bytes
    puts: Sequence[Put]
    cursors: Mapping[bytes, int]
    inline_bytes_max: int
    drop_key: bytes | None = None

    @property
    def mailbox(self) -> bytes:
        return mailbox_id(self.key)


@dataclass(frozen=True, slots=True)
class Answer:
    """The mailbox's epoch, one result a put, how far each stream goes, and what lies behind the cursors."""

    epoch: bytes
    results: Sequence[PutResult]
    ends: Mapping[bytes, int]
    listed: Sequence[Listed]
    more: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """Forget these blobs: "erase" is authorised by one member's drop key, "compact" by two.

    ``signatures``: (drop public key, its signature over :func:`dropping`).
    """

    key: bytes
    names: Sequence[BlobName]
    reason: str
    signatures: Sequence[tuple[bytes, bytes]]

    @property
    def mailbox(self) -> bytes:
        return mailbox_id(self.key)


CONFLICT: Final = "another blob has this place in the stream; write under a new incarnation"
CONTENT_TYPE: Final = "application/vnd.syncmem"  # of requests and answers over HTTP
NOT_THERE: Final = 0xFFFFFFFF  # the length that stands for a blob that is not there, in answers to get


class Mailbox(Protocol):
    """One way to mailboxes: a folder, a relay. All of them keep the same promises."""

    address: str

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer: ...

    def get(
        self, key: bytes, write_seed: bytes, names: Sequence[BlobName]
    ) -> Iterator[tuple[BlobName, bytes | None]]: ...

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]: ...

    def close(self) -> None: ...


def check_put(put: Put) -> PutResult | None:
    """Why a put cannot be kept, whatever the mailbox holds; None where it can."""
    if len(put.stream) != STREAM_BYTES or not 1 <= put.counter <= COUNTER_MAX or not put.blob:
        return PutResult(Outcome.MALFORMED, "a blob has a stream, a place from 1 and content; upgrade syncmem")
    if len(put.blob) > BLOB_BYTES_MAX:
        return PutResult(Outcome.TOO_LARGE, f"a blob has at most {BLOB_BYTES_MAX} bytes; send it in parts")
    return None


def dropping(mailbox: bytes, names: Sequence[BlobName], reason: str) -> bytes:
    """What a drop key signs."""
    return mailbox + pack([reason, [list(name) for name in names]])


def may_drop(request: Drop, registered: set[bytes]) -> bool:
    """Whether enough registered keys have signed a drop: one to erase; to compact two, or one where it is alone."""
    said = dropping(request.mailbox, request.names, request.reason)
    signers = {
        k for k, signature in request.signatures if k in registered and verify(k, labels.DROPPING, said, signature)
    }
    needed = 1 if request.reason == "erase" else min(2, max(len(registered), 1))
    return request.reason in ("erase", "compact") and len(signers) >= needed


# -- requests as bytes ----------------------------------------------------------------------------------
#
# head and blobs: the length of the head, the head, then the blobs one after the other; the head holds their sizes.


def exchange_bytes(request: Exchange, write_seed: bytes) -> bytes:
    """A signed request."""
    puts = [[put.stream, put.counter, len(put.blob)] for put in request.puts]
    cursors = [list(pair) for pair in sorted(request.cursors.items())]
    head = [_VERSION, request.key, puts, cursors, request.inline_bytes_max, request.drop_key]
    return _signed(_with_blobs(head, [put.blob for put in request.puts]), write_seed)


def read_exchange(data: bytes) -> Exchange:
    """The request of bytes, if its key has signed it.

    Raises:
        NotCanonical: it is malformed or too large.
        Unreadable: the signature is wrong.
    """
    body, signature = _split_signature(data)
    head, blobs = _head_and_blobs(body)
    key, puts, cursors, inline, drop_key = _fields(head, 5)
    _check(_are_triples(puts, STREAM_BYTES) and len(puts) <= PUTS_MAX and type(inline) is int and inline >= 0)
    _check(_is_bytes(key, KEY_BYTES) and (drop_key is None or _is_bytes(drop_key, KEY_BYTES)))
    _check_signature(key, body, signature)
    sizes = [size for _, _, size in puts]
    content = _cut(blobs, sizes)
    made = [Put(stream, counter, blob) for (stream, counter, _), blob in zip(puts, content, strict=True)]
    return Exchange(key, made, _pairs(cursors), inline, drop_key)


def answer_bytes(answer: Answer) -> bytes:
    """An answer."""
    results = [[int(result.outcome), result.reason] for result in answer.results]
    ends = [list(pair) for pair in sorted(answer.ends.items())]
    listed = [[*entry.name, entry.size, entry.blob is not None] for entry in answer.listed]
    head = [_VERSION, answer.epoch, results, ends, listed, answer.more]
    return _with_blobs(head, [entry.blob for entry in answer.listed if entry.blob is not None])


def read_answer(data: bytes) -> Answer:
    """The answer of bytes.

    Raises:
        NotCanonical: they are none.
    """
    head, blobs = _head_and_blobs(data)
    epoch, results, ends, listed, more = _fields(head, 5)
    _check(_is_bytes(epoch, EPOCH_BYTES) and type(more) is bool and type(results) is list and type(listed) is list)
    _check(len(listed) <= LISTED_MAX and all(_is_listed(entry) for entry in listed))
    content = iter(_cut(blobs, [size for *_, size, inline in listed if inline]))
    entries = [
        Listed(BlobName(stream, counter, mark), size, next(content) if inline else None)
        for stream, counter, mark, size, inline in listed
    ]
    return Answer(epoch, [_result(result) for result in results], _pairs(ends), entries, more)


def get_bytes(key: bytes, names: Sequence[BlobName], write_seed: bytes) -> bytes:
    """A signed request for blobs."""
    return _signed(_with_blobs([_VERSION, key, [list(name) for name in names]], []), write_seed)


def read_get(data: bytes) -> tuple[bytes, list[BlobName]]:
    """The public key and the names of a request for blobs. Raises as :func:`read_exchange`."""
    body, signature = _split_signature(data)
    head, _ = _head_and_blobs(body)
    key, names = _fields(head, 2)
    _check(_is_bytes(key, KEY_BYTES))
    _check_signature(key, body, signature)
    return key, _names(names)


def drop_bytes(request: Drop, write_seed: bytes) -> bytes:
    """A signed request to forget blobs."""
    names = [list(name) for name in request.names]
    signatures = [list(pair) for pair in request.signatures]
    return _signed(_with_blobs([_VERSION, request.key, names, request.reason, signatures], []), write_seed)


def read_drop(data: bytes) -> Drop:
    """The request of bytes. Raises as :func:`read_exchange`."""
    body, signature = _split_signature(data)
    head, _ = _head_and_blobs(body)
    key, names, reason, signatures = _fields(head, 4)
    _check(_is_bytes(key, KEY_BYTES) and type(reason) is str and type(signatures) is list and len(signatures) <= 2)
    _check(all(type(pair) is list and [type(part) for part in pair] == [bytes, bytes] for pair in signatures))
    _check_signature(key, body, signature)
    return Drop(key, _names(names), reason, [(pair[0], pair[1]) for pair in signatures])


def dropped_bytes(dropped: Sequence[bool]) -> bytes:
    """Which of the blobs named in a drop are gone because of it."""
    return _with_blobs([_VERSION, list(dropped)], [])


def read_dropped(data: bytes) -> list[bool]:
    head, _ = _head_and_blobs(data)
    (dropped,) = _fields(head, 1)
    _check(type(dropped) is list and len(dropped) <= LISTED_MAX and all(type(one) is bool for one in dropped))
    return list(dropped)


# -- pieces ---------------------------------------------------------------------------------------------


def _signed(body: bytes, write_seed: bytes) -> bytes:
    return body + sign(write_seed, labels.REQUEST, sha256(body).digest())


def _split_signature(data: bytes) -> tuple[bytes, bytes]:
    if len(data) > REQUEST_BYTES_MAX:
        raise NotCanonical(f"a request has at most {REQUEST_BYTES_MAX} bytes; send less at a time")
    return data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:]


def _check_signature(key: bytes, body: bytes, signature: bytes) -> None:
    if not verify(key, labels.REQUEST, sha256(body).digest(), signature):
        raise Unreadable("the request is not signed with the mailbox's key; join the vault again")


def _with_blobs(head: list[Any], blobs: Sequence[bytes]) -> bytes:
    packed = pack(head)
    return b"".join((len(packed).to_bytes(_LENGTH_BYTES, "big"), packed, *blobs))


def _head_and_blobs(data: bytes) -> tuple[list[Any], memoryview]:
    size = int.from_bytes(data[:_LENGTH_BYTES], "big")
    head = unpack(data[_LENGTH_BYTES : _LENGTH_BYTES + size], bytes_max=HEAD_BYTES_MAX)
    _check(type(head) is list and len(head) >= 1 and head[0] == _VERSION)
    return head, memoryview(data)[_LENGTH_BYTES + size :]


def _fields(head: list[Any], count: int) -> list[Any]:
    _check(len(head) > count)
    return head[1 : count + 1]


def _cut(blobs: memoryview, sizes: Sequence[int]) -> list[bytes]:
    _check(all(type(size) is int and size >= 0 for size in sizes) and sum(sizes) == len(blobs))
    result = []
    place = 0
    for size in sizes:
        result.append(bytes(blobs[place : place + size]))
        place += size
    return result


def _check(fits: bool) -> None:
    if not fits:
        raise NotCanonical("a message of the mailbox protocol is malformed; check the address, or upgrade syncmem")


def _is_bytes(value: object, length: int) -> bool:
    return type(value) is bytes and len(value) == length


def _is_counter(value: object) -> bool:
    return type(value) is int and 0 <= value <= COUNTER_MAX


def _are_triples(items: object, length: int) -> bool:
    return type(items) is list and all(
        type(item) is list and len(item) == 3 and _is_bytes(item[0], length) and all(map(_is_counter, item[1:]))
        for item in items
    )


def _pairs(items: object) -> dict[bytes, int]:
    _check(type(items) is list and len(items) <= STREAMS_MAX)
    assert isinstance(items, list)
    _check(all(type(p) is list and len(p) == 2 and _is_bytes(p[0], STREAM_BYTES) and _is_counter(p[1]) for p in items))
    return dict(items)


def _names(items: object) -> list[BlobName]:
    _check(type(items) is list and len(items) <= LISTED_MAX)
    assert isinstance(items, list)
    _check(all(type(item) is list and len(item) == 3 and _is_name(*item) for item in items))
    return [BlobName(*item) for item in items]


def _is_name(stream: object, counter: object, mark: object) -> bool:
    return _is_bytes(stream, STREAM_BYTES) and _is_counter(counter) and _is_bytes(mark, DIGEST_BYTES)


def _is_listed(entry: object) -> bool:
    return (
        type(entry) is list
        and len(entry) == 5
        and _is_name(*entry[:3])
        and _is_counter(entry[3])
        and type(entry[4]) is bool
    )


def _result(item: object) -> PutResult:
    _check(type(item) is list and [type(part) for part in item] == [int, str])
    assert isinstance(item, list)
    try:
        return PutResult(Outcome(item[0]), item[1])
    except ValueError:
        return PutResult(Outcome.MALFORMED, f"an answer of a later version ({item[0]}); upgrade syncmem")
