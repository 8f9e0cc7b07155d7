"""Requests and answers as bytes: they survive the way, and whatever else comes is refused."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem.codec import pack
from syncmem.errors import NotCanonical, PeerError, Unreadable
from syncmem.seal.keys import public_key
from syncmem.wire.mailbox import (
    COUNTER_MAX,
    LISTED_MAX,
    POSITION_MAX,
    PUTS_MAX,
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
    digest,
)
from syncmem.wire.messages import (
    HEAD_BYTES_MAX,
    REQUEST_BYTES_MAX,
    answer_bytes,
    drop_bytes,
    dropped_bytes,
    exchange_bytes,
    get_bytes,
    moved_bytes,
    read_answer,
    read_drop,
    read_dropped,
    read_exchange,
    read_get,
    read_moved,
    read_watch,
    watch_bytes,
)

SEED = b"s" * 32
KEY = public_key(SEED)


def sized(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


COUNTERS = st.integers(0, COUNTER_MAX)
STREAMS, KEYS = sized(8), sized(32)
NAMES = st.builds(BlobName, STREAMS, COUNTERS, sized(16))
BY_STREAM = st.dictionaries(STREAMS, COUNTERS, max_size=4)
PUTS = st.lists(st.builds(Put, STREAMS, COUNTERS, st.binary(max_size=20)), max_size=4)
EXCHANGES = st.builds(Exchange, st.just(KEY), PUTS, BY_STREAM, COUNTERS, st.none() | KEYS)
GETS = st.tuples(st.just(KEY), st.lists(NAMES, max_size=4))
DROPS = st.builds(
    Drop,
    st.just(KEY),
    st.lists(NAMES, max_size=4),
    st.text(max_size=9),
    st.lists(st.tuples(KEYS, sized(64)), max_size=2),
)
RESULTS = st.lists(st.builds(PutResult, st.sampled_from(Outcome), st.text(max_size=9)), max_size=4)


@st.composite
def listed(draw: st.DrawFn) -> Listed:
    blob = draw(st.none() | st.binary(max_size=20))
    return Listed(draw(NAMES), draw(COUNTERS) if blob is None else len(blob), blob)


ANSWERS = st.builds(Answer, sized(16), RESULTS, BY_STREAM, st.lists(listed(), max_size=4), st.booleans())
POSITIONS = st.none() | st.builds(Position, sized(16), st.integers(0, POSITION_MAX))
DROPPED = st.lists(st.booleans(), max_size=9)

Write, Read = Callable[[Any], bytes], Callable[[bytes], Any]
REQUESTS: tuple[tuple[st.SearchStrategy[Any], Write, Read], ...] = (
    (EXCHANGES, lambda value: exchange_bytes(value, SEED), read_exchange),
    (GETS, lambda value: get_bytes(*value, SEED), read_get),
    (DROPS, lambda value: drop_bytes(value, SEED), read_drop),
    (st.builds(Watch, st.just(KEY), POSITIONS), lambda value: watch_bytes(value, SEED), read_watch),
)
ANSWERED: tuple[tuple[st.SearchStrategy[Any], Write, Read], ...] = (
    (ANSWERS, answer_bytes, read_answer),
    (DROPPED, dropped_bytes, read_dropped),
    (POSITIONS, moved_bytes, read_moved),
)


@pytest.mark.parametrize(("values", "write", "read"), REQUESTS + ANSWERED)
@given(data=st.data())
def test_what_is_written_reads_as_the_same(
    values: st.SearchStrategy[Any], write: Write, read: Read, data: st.DataObject
) -> None:
    value = data.draw(values)
    assert read(write(value)) == value
    assert write(read(write(value))) == write(value)


def changed(data: st.DataObject, whole: bytes) -> bytes:
    """Other bytes: a piece is missing, doubled, turned around, changed or new."""
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 8)))
    piece = whole[start:end]
    other = data.draw(st.sampled_from([b"", piece * 2, piece[::-1]]) | st.binary(max_size=8))
    return whole[:start] + other + whole[end:]


@pytest.mark.parametrize(("values", "write", "read"), REQUESTS)
@given(data=st.data())
def test_a_request_in_which_anything_was_changed_is_refused(
    values: st.SearchStrategy[Any], write: Write, read: Read, data: st.DataObject
) -> None:
    whole = write(data.draw(values))
    hostile = changed(data, whole)
    if hostile != whole:
        with pytest.raises((NotCanonical, Unreadable)):
            read(hostile)


@pytest.mark.parametrize(("values", "write", "read"), ANSWERED)
@given(data=st.data())
def test_an_answer_has_one_encoding_and_anything_else_is_refused(
    values: st.SearchStrategy[Any], write: Write, read: Read, data: st.DataObject
) -> None:
    hostile = changed(data, write(data.draw(values)))
    try:
        value = read(hostile)
    except NotCanonical:
        return
    later = isinstance(value, Answer) and any("later version" in result.reason for result in value.results)
    assert later or write(value) == hostile


@given(st.binary(max_size=300))
def test_rubbish_is_refused(data: bytes) -> None:
    for _, _, read in REQUESTS + ANSWERED:
        with pytest.raises(PeerError):
            read(data)


def message(*fields: Any, blobs: bytes = b"") -> bytes:
    head = pack(list(fields))
    return len(head).to_bytes(4, "big") + head + blobs


STREAM, EPOCH, MARK = b"stream 1", b"e" * 16, digest(b"x")
ENTRY = [STREAM, 1, MARK, 1]


@pytest.mark.parametrize(
    "hostile",
    [
        message(2, EPOCH, [], [], [], False),  # a version that is none
        message(True, EPOCH, [], [], [], False),  # equal to 1, and not 1
        message(1, EPOCH, [], [], []),
        message(1, EPOCH[1:], [], [], [], False),
        message(1, EPOCH, [], [[STREAM, 1], [STREAM, 2]], [], False),  # one stream, two ends
        message(1, EPOCH, [], [[b"stream 2", 1], [STREAM, 1]], [], False),  # not ascending
        message(1, EPOCH, [], [[STREAM, -1]], [], False),
        message(1, EPOCH, [], [[STREAM, COUNTER_MAX + 1]], [], False),
        message(1, EPOCH, [], [[n.to_bytes(8, "big"), 1] for n in range(STREAMS_MAX + 1)], [], False),
        message(1, EPOCH, [[0, ""]] * (PUTS_MAX + 1), [], [], False),
        message(1, EPOCH, [], [], [[*ENTRY, False]] * (LISTED_MAX + 1), False),
        message(1, EPOCH, [], [], [[*ENTRY, True]], False),  # a blob is announced and missing
        message(1, EPOCH, [], [], [[*ENTRY, True]], False, blobs=b"xy"),  # more than is announced
        message(1, EPOCH, [], [], [[*ENTRY, 1]], False, blobs=b"x"),
        message(1, EPOCH, [], [], [[STREAM, 1, MARK, -1, True], [*ENTRY[:3], 2, True]], False, blobs=b"x"),
        message(1, EPOCH, [[True, ""]], [], [], False),
        message(1, EPOCH, [], [], [], False, b"x" * HEAD_BYTES_MAX),
        b"\xff\xff\xff\xff" + message(1, EPOCH, [], [], [], False)[4:],
        (len(message(1)) + 100).to_bytes(4, "big") + message(1, EPOCH, [], [], [], False)[4:],
    ],
)
def test_an_answer_that_breaks_one_rule_is_refused(hostile: bytes) -> None:
    with pytest.raises(NotCanonical):
        read_answer(hostile)


def test_the_largest_head_is_read() -> None:
    results = [PutResult(Outcome.OVER_QUOTA, "a reason of some length; try again")] * PUTS_MAX
    ends = {n.to_bytes(8, "big"): COUNTER_MAX for n in range(STREAMS_MAX)}
    entries = [Listed(BlobName(STREAM, COUNTER_MAX, MARK), COUNTER_MAX, None)] * LISTED_MAX
    answer = Answer(EPOCH, results, ends, entries, True)
    assert read_answer(answer_bytes(answer)) == answer
    question = Exchange(KEY, [Put(STREAM, COUNTER_MAX, b"x")] * PUTS_MAX, ends, COUNTER_MAX, KEY)
    assert read_exchange(exchange_bytes(question, SEED)) == question


@pytest.mark.parametrize("piece", [b"\x90", b"\x80", b"\x92\x90\x90", b"\x91" * 15 + b"\xc0"])
def test_a_head_of_nothing_but_arrays_and_maps_is_refused_at_small_cost(piece: bytes) -> None:
    count = (HEAD_BYTES_MAX - 5) // len(piece)
    packed = b"\xdd" + count.to_bytes(4, "big") + piece * count
    hostile = len(packed).to_bytes(4, "big") + packed
    tracemalloc.start()
    try:
        for _, _, read in REQUESTS + ANSWERED:
            with pytest.raises(NotCanonical):
                read(hostile)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 32e6


def test_a_request_longer_than_any_is_refused_before_it_is_looked_at() -> None:
    with pytest.raises(NotCanonical, match="send less at a time"):
        read_exchange(bytes(REQUEST_BYTES_MAX + 1))


def test_what_a_later_version_appends_is_not_read() -> None:
    assert read_answer(message(1, EPOCH, [], [], [], False, "new")) == Answer(EPOCH, [], {}, [], False)
    (result,) = read_answer(message(1, EPOCH, [[99, "new"]], [], [], False)).results
    assert result.outcome == Outcome.MALFORMED
    assert "upgrade syncmem" in result.reason
