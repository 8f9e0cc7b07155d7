"""Requests to mailboxes and their answers, as bytes.

Rules: one value, one encoding; a request proves that who asks has the mailbox's key, and is refused if anything in it
was changed; blobs stand behind the head, which holds their sizes, so that what is in them is never looked at.

    message = length of the head (4 bytes, big endian) || head || blobs, one after the other
    request = message || proof (64 bytes; see :mod:`syncmem.wire.proofs`)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from syncmem.codec import is_canonical, pack_flat, unpack_outer
from syncmem.errors import NotCanonical, Unreadable
from syncmem.seal.keys import SIGNATURE_BYTES
from syncmem.wire.mailbox import (
    COUNTER_MAX,
    DIGEST_BYTES,
    EPOCH_BYTES,
    KEY_BYTES,
    LISTED_MAX,
    POSITION_MAX,
    PUTS_MAX,
    STREAM_BYTES,
    STREAMS_MAX,
    Answer,
    BlobName,
    Drop,
    Exchange,
    Listed,
    Outcome,
    Position,
    Put,
    PutResult,
    Watch,
)
from syncmem.wire.proofs import AGREEMENT_BYTES, Proved, Shared, of_mailbox, proof, signed

CONTENT_TYPE: Final = "application/vnd.syncmem"  # of requests and answers over HTTP
HEAD_BYTES_MAX: Final = 512 * 1024  # of what stands before the blobs of a request or an answer
HEAD_CONTAINERS_MAX: Final = 8 + PUTS_MAX + LISTED_MAX + STREAMS_MAX  # the most that a head holds, and its lists
REQUEST_BYTES_MAX: Final = 16 * 1024 * 1024
DROP_SIGNATURES_MAX: Final = 2  # what it takes to compact
NOT_THERE: Final = 0xFFFFFFFF  # the length that stands for a blob that is not there, in answers to get
LENGTH_BYTES: Final = 4
_VERSION: Final = 1
_KEY_AT: Final = LENGTH_BYTES + 4  # behind the head's length, its beginning as an array, the version, and:
_KEY_HEAD: Final = bytes([_VERSION, 0xC4, KEY_BYTES])  # the beginning of bytes of this length

Fits: TypeAlias = Callable[[object], bool]


def claimed_key(start: bytes) -> bytes | None:
    """The write key that a request says it is signed with, from its first bytes; None: these are too few, or none.

    It is for who has to share out room before a request is whole, and proves nothing.
    """
    key = start[_KEY_AT : _KEY_AT + KEY_BYTES]
    return bytes(key) if start[_KEY_AT - 3 : _KEY_AT] == _KEY_HEAD and len(key) == KEY_BYTES else None


def exchange_bytes(request: Exchange, write_seed: bytes, shared: Shared | None = None) -> bytes:
    """A request with its proof; ``shared``: what was agreed on with the relay."""
    puts = [[put.stream, put.counter, len(put.blob)] for put in request.puts]
    cursors = [list(pair) for pair in sorted(request.cursors.items())]
    head = [_VERSION, request.key, puts, cursors, request.inline_bytes_max, request.drop_key, request.making_room]
    return _proved(_with_blobs(head, [put.blob for put in request.puts]), write_seed, shared)


def read_exchange(data: bytes, proved: Proved = signed) -> Exchange:
    """The request of bytes, if it is proved.

    Raises:
        NotCanonical: it is malformed or too large.
        Unreadable: the proof is wrong.
    """
    body, said = _split_proof(data)
    head, blobs = _head_and_blobs(body)
    key, puts, cursors, inline, drop_key, making_room = _fields(head, 6)
    rows = _rows(puts, PUTS_MAX, _is_stream, _is_number, _is_number)
    _check(_is_key(key) and (drop_key is None or _is_key(drop_key)) and _is_number(inline) and _is_bool(making_room))
    _check_proof(proved(key, body, said))
    content = _cut(blobs, [size for _, _, size in rows])
    made = [Put(stream, counter, blob) for (stream, counter, _), blob in zip(rows, content, strict=True)]
    return Exchange(key, made, _pairs(cursors), inline, drop_key, making_room)


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
    told = _rows(results, PUTS_MAX, _is_number, _is_text)
    rows = _rows(listed, LISTED_MAX, *_NAME, _is_number, _is_bool)
    _check(_is_epoch(epoch) and _is_bool(more))
    content = iter(_cut(blobs, [size for *_, size, inline in rows if inline]))
    entries = [Listed(BlobName(*name), size, next(content) if inline else None) for *name, size, inline in rows]
    return Answer(epoch, [_result(*row) for row in told], _pairs(ends), entries, more)


def get_bytes(key: bytes, names: Sequence[BlobName], write_seed: bytes, shared: Shared | None = None) -> bytes:
    """A request for blobs, with its proof."""
    return _proved(_with_blobs([_VERSION, key, [list(name) for name in names]], []), write_seed, shared)


def read_get(data: bytes, proved: Proved = signed) -> tuple[bytes, list[BlobName]]:
    """The public key and the names of a request for blobs. Raises as :func:`read_exchange`."""
    body, said = _split_proof(data)
    key, names = _fields(_head_alone(body), 2)
    _check(_is_key(key))
    _check_proof(proved(key, body, said))
    return key, _names(names)


def drop_bytes(request: Drop, write_seed: bytes, shared: Shared | None = None) -> bytes:
    """A request to forget blobs, with its proof."""
    names = [list(name) for name in request.names]
    signatures = [list(pair) for pair in request.signatures]
    return _proved(_with_blobs([_VERSION, request.key, names, request.reason, signatures], []), write_seed, shared)


def read_drop(data: bytes, proved: Proved = signed) -> Drop:
    """The request of bytes. Raises as :func:`read_exchange`."""
    body, said = _split_proof(data)
    key, names, reason, signatures = _fields(_head_alone(body), 4)
    pairs = _rows(signatures, DROP_SIGNATURES_MAX, _is_key, _is_bytes(SIGNATURE_BYTES))
    _check(_is_key(key) and _is_text(reason))
    _check_proof(proved(key, body, said))
    return Drop(key, _names(names), reason, [(signer, signature) for signer, signature in pairs])


def dropped_bytes(dropped: Sequence[bool]) -> bytes:
    """Which of the blobs named in a drop are gone."""
    return _with_blobs([_VERSION, list(dropped)], [])


def read_dropped(data: bytes) -> list[bool]:
    """The answer to a drop. Raises as :func:`read_answer`."""
    (dropped,) = _fields(_head_alone(data), 1)
    _check(type(dropped) is list and len(dropped) <= LISTED_MAX and all(map(_is_bool, dropped)))
    return list(dropped)


def watch_bytes(request: Watch, write_seed: bytes, shared: Shared | None = None) -> bytes:
    """A request to be told when a mailbox moves, with its proof."""
    return _proved(_with_blobs([_VERSION, request.key, _position_row(request.since)], []), write_seed, shared)


def read_watch(data: bytes, proved: Proved = signed) -> Watch:
    """The request of bytes. Raises as :func:`read_exchange`."""
    body, said = _split_proof(data)
    key, since = _fields(_head_alone(body), 2)
    _check(_is_key(key))
    _check_proof(proved(key, body, said))
    return Watch(key, _position(since))


def moved_bytes(position: Position | None) -> bytes:
    """Where a mailbox is, as the answer to one who watches; None: there is none yet."""
    return _with_blobs([_VERSION, _position_row(position)], [])


def read_moved(data: bytes) -> Position | None:
    """The answer of bytes. Raises as :func:`read_answer`."""
    (position,) = _fields(_head_alone(data), 1)
    return _position(position)


def agree_bytes(key: bytes, write_seed: bytes) -> bytes:
    """A signed request to agree on what proves later ones."""
    return _proved(_with_blobs([_VERSION, key, of_mailbox(write_seed)], []), write_seed, None)


def read_agree(data: bytes) -> tuple[bytes, bytes]:
    """The public key and the agreement key of a request to agree. Raises as :func:`read_exchange`."""
    body, said = _split_proof(data)
    key, agreement = _fields(_head_alone(body), 2)
    _check(_is_key(key) and _is_agreement(agreement))
    _check_proof(signed(key, body, said))
    return key, agreement


def agreed_bytes(relay_key: bytes) -> bytes:
    """The answer to a request to agree."""
    return _with_blobs([_VERSION, relay_key], [])


def read_agreed(data: bytes) -> bytes:
    """The relay's key in an answer. Raises as :func:`read_answer`."""
    (relay_key,) = _fields(_head_alone(data), 1)
    _check(_is_agreement(relay_key))
    return bytes(relay_key)


# -- pieces ---------------------------------------------------------------------------------------------


def _proved(body: bytes, write_seed: bytes, shared: Shared | None) -> bytes:
    return body + proof(body, write_seed, shared)


def _split_proof(data: bytes) -> tuple[bytes, bytes]:
    if len(data) > REQUEST_BYTES_MAX:
        raise NotCanonical(f"a request has at most {REQUEST_BYTES_MAX} bytes; send less at a time")
    return data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:]


def _check_proof(holds: bool) -> None:
    if not holds:
        raise Unreadable("the request is not signed with the mailbox's key; join the vault again")


def _with_blobs(head: list[Any], blobs: Sequence[bytes]) -> bytes:
    packed = pack_flat(head)
    return b"".join((len(packed).to_bytes(LENGTH_BYTES, "big"), packed, *blobs))


def _head_and_blobs(data: bytes) -> tuple[list[Any], memoryview]:
    size = int.from_bytes(data[:LENGTH_BYTES], "big")
    _check(LENGTH_BYTES + size <= len(data) and size <= HEAD_BYTES_MAX)
    head = unpack_outer(data[LENGTH_BYTES : LENGTH_BYTES + size], containers_max=HEAD_CONTAINERS_MAX)
    _check(is_canonical(head))
    _check(type(head) is list and len(head) >= 1 and type(head[0]) is int and head[0] == _VERSION)
    return head, memoryview(data)[LENGTH_BYTES + size :]


def _head_alone(data: bytes) -> list[Any]:
    head, blobs = _head_and_blobs(data)
    _check(not blobs)
    return head


def _fields(head: list[Any], count: int) -> list[Any]:
    _check(len(head) > count)
    return head[1 : count + 1]


def _cut(blobs: memoryview, sizes: Sequence[int]) -> list[bytes]:
    _check(sum(sizes) == len(blobs))
    result = []
    place = 0
    for size in sizes:
        result.append(bytes(blobs[place : place + size]))
        place += size
    return result


def _check(fits: bool) -> None:
    if not fits:
        raise NotCanonical("a message of the mailbox protocol is malformed; check the address, or upgrade syncmem")


def _is_bytes(length: int) -> Fits:
    return lambda value: type(value) is bytes and len(value) == length


def _is_number(value: object) -> bool:
    return type(value) is int and 0 <= value <= COUNTER_MAX


def _rows(items: object, count_max: int, *fits: Fits) -> list[list[Any]]:
    """A list of rows, each of whose fields fits."""
    _check(type(items) is list and len(items) <= count_max)
    assert isinstance(items, list)
    for item in items:
        _check(type(item) is list and len(item) == len(fits))
        for fit, value in zip(fits, item, strict=True):
            _check(fit(value))
    return items


def _pairs(items: object) -> dict[bytes, int]:
    """A number for each stream, ascending by stream."""
    rows = _rows(items, STREAMS_MAX, _is_stream, _is_number)
    made: dict[bytes, int] = dict(map(tuple, rows))
    _check(list(made) == sorted(made) and len(made) == len(rows))
    return made


def _position_row(position: Position | None) -> list[Any] | None:
    return None if position is None else list(position)


def _position(row: object) -> Position | None:
    if row is None:
        return None
    (pair,) = _rows([row], 1, _is_epoch, lambda value: type(value) is int and 0 <= value <= POSITION_MAX)
    return Position(*pair)


def _names(items: object) -> list[BlobName]:
    return [BlobName(*row) for row in _rows(items, LISTED_MAX, *_NAME)]


def _result(outcome: int, reason: str) -> PutResult:
    try:
        return PutResult(Outcome(outcome), reason)
    except ValueError:
        return PutResult(Outcome.MALFORMED, f"an answer of a later version ({outcome}); upgrade syncmem")


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_bool(value: object) -> bool:
    return type(value) is bool


_is_stream, _is_key, _is_epoch = _is_bytes(STREAM_BYTES), _is_bytes(KEY_BYTES), _is_bytes(EPOCH_BYTES)
_is_agreement = _is_bytes(AGREEMENT_BYTES)
_NAME: Final = (_is_stream, _is_number, _is_bytes(DIGEST_BYTES))
