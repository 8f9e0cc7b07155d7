"""Frames as bytes: whatever goes in comes out, and whatever else comes in is refused at small cost."""

from __future__ import annotations

import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import Memory
from syncmem.codec import pack, pack_flat, unpack_own
from syncmem.errors import NotCanonical, PeerError
from syncmem.model.event import (
    ClockNote,
    Define,
    Erased,
    Event,
    Frontier,
    Kind,
    LogKey,
    Ref,
    Retract,
    Statement,
    Undo,
    Withdraw,
    encode,
    header,
    header_hash,
)
from syncmem.model.frame import FRAME_PAYLOAD_MAX, Frame, fitting
from syncmem.model.salt import forget, salt
from syncmem.replica.replica import Replica
from syncmem.wire.columns import Mode, column_of, entries
from syncmem.wire.frames import FRAME_BYTES_MAX, FRAME_INFLATED_MAX, frame_bytes, read_frame
from tests.world import ORIGIN, Writer, sorted_keys

KEY = LogKey(bytes(range(32)), bytes(16), "vault")
REF = Ref(bytes(16), 7, bytes(range(16)))
KNOWN = [
    (
        Kind.CLAIM,
        Statement("a", "p", [1, {"b": 2.5}], 0, None, 5, None, None, 0, 90, "chat", None, "b", [REF], {"k": 1}),
    ),
    (Kind.AFFIRM, Statement("a", "p", "v", 0, 7, None, None, None, 0, 90, None, None, None, None, None)),
    (Kind.END, Statement("a", "p", True, 1, 7, -5, 9, None, 0, 90, None, None, None, [REF], None)),
    (Kind.DENY, Statement("b", "q", 1, 0, None, None, None, 2**61, 2, 0, None, None, None, None, None)),
    (Kind.RETRACT, Retract([REF, REF], 50, None, "x", None, None)),
    (Kind.WITHDRAW, Withdraw("batch", 50, None, None, {"reason": "wrong"})),
    (Kind.UNDO, Undo([REF], 50, None, None, None)),
    (Kind.DEFINE, Define("p", {"cardinality": "single", "ttl": 5}, 90, None, None, None, None)),
    (Kind.CLOCK_NOTE, ClockNote(bytes(16), 1, 9, -77, 95, None, None, None)),
    (Kind.FRONTIER, Frontier(3, 1, [[bytes(16), 9, bytes(8)]], None)),
]
ODD = [
    b"",
    b"\x00",
    b"\x90",  # an array without fields
    b"\xc1 no msgpack",
    b"\x01\x02",  # two values
    pack({"a": 1}),
    pack(list(range(33))),  # more fields than go in columns
    b"\x91\xcd\x00\x01",  # a longer form of 1
    b"\x92\xcb\x7f\xf8" + bytes(6) + b"\x01",  # not a number
    b"\x91\x82\xa1b\x01\xa1a\x02",  # keys out of order
    b"\x92\x01\x01\x01",  # something behind it
    pack([[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]),  # as deep as an event may be
    b"\x91" * 17 + b"\x01",  # deeper
]

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(0, 3),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.binary(max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
)
PAYLOADS = st.one_of(
    st.sampled_from([encode(payload) for _, payload in KNOWN]),
    st.sampled_from([pack([*unpack_own(encode(payload)), "a later field", 1.5]) for _, payload in KNOWN]),
    st.sampled_from(ODD),
    st.lists(VALUES, max_size=5).map(pack),
    st.binary(max_size=20),
)
CLOCKS = st.one_of(st.integers(0, 2**62 - 1), st.integers(ORIGIN, ORIGIN + 300))
EVENTS = st.one_of(
    st.builds(Event, st.one_of(st.integers(0, 12), st.integers(0, 2**63 - 1)), CLOCKS, PAYLOADS),
    st.builds(Erased, st.binary(min_size=32, max_size=32)),
)
COVERS = st.dictionaries(st.integers(1, 511), st.binary(min_size=32, max_size=32), max_size=9).map(
    lambda nodes: {n: value for n, value in nodes.items() if not any(n >> step in nodes for step in range(1, 9))}
)


def framed(events: list[Event | Erased], first: int = 1, cover: dict[int, bytes] | None = None) -> Frame:
    return Frame(KEY, first, events, {1: bytes(32)} if cover is None else cover, sha256(b"head").digest(), bytes(64))


# -- what goes in comes out ----------------------------------------------------------------------------


@given(st.lists(EVENTS, min_size=1, max_size=40), st.one_of(st.integers(1, 200), st.just(2**40 - 60)), COVERS)
def test_any_events_survive_byte_for_byte(events: list[Event | Erased], first: int, cover: dict[int, bytes]) -> None:
    frame = framed(events, first, cover)
    assert read_frame(frame_bytes(frame)) == frame


@pytest.mark.parametrize("payload", ODD)
def test_an_odd_payload_survives_between_others(payload: bytes) -> None:
    events: list[Event | Erased] = [Event(int(kind), ORIGIN, encode(fields)) for kind, fields in KNOWN]
    events[3:3] = [Event(1, 0, payload), Erased(bytes(32)), Event(2**63 - 1, 2**62 - 1, payload)]
    assert read_frame(frame_bytes(framed(events))).events == events


def test_every_kind_goes_in_columns() -> None:
    events: list[Event | Erased] = [Event(int(kind), ORIGIN, encode(fields)) for kind, fields in KNOWN]
    parts = unpack_own(zlib.decompress(frame_bytes(framed(events))[1:]))
    assert -1 not in [arity for arity, _ in parts[5]]


@given(st.lists(VALUES, min_size=1, max_size=30), st.lists(CLOCKS, min_size=30, max_size=30))
def test_a_column_gives_what_went_in(values: list[Any], clocks: list[int]) -> None:
    column = unpack_own(pack_flat(column_of(values, clocks[: len(values)])))
    assert pack_flat(entries(column, clocks[: len(values)])) == pack_flat(values)


def test_equal_numbers_of_different_types_stay_apart() -> None:
    values = [1, 1.0, True, 1, 0.0, -0.0, False, 0] * 4
    assert list(map(repr, entries(column_of(values)))) == list(map(repr, values))


@pytest.mark.parametrize(
    ("mode", "values"),
    [
        (Mode.SAME, ["x"] * 9),
        (Mode.PLAIN, ["a", "b", "c"]),
        (Mode.INDEXED, ["long text", "other text"] * 5),
        (Mode.STEPS, [2**40 + n for n in range(9)]),
        (Mode.FROM_CLOCK, [None, *(7**n % 1_000_003 * 10**12 + 2 for n in range(8))]),
    ],
)
def test_the_shortest_mode_is_chosen(mode: Mode, values: list[Any]) -> None:
    clocks = [1, *(7**n % 1_000_003 * 10**12 for n in range(8))]
    column = column_of(values, clocks[: len(values)] if mode == Mode.FROM_CLOCK else None)
    assert column[0] == mode
    assert entries(column, clocks[: len(values)]) == values


# -- limits --------------------------------------------------------------------------------------------


def test_a_frame_holds_64_kib_of_payloads_or_a_block() -> None:
    small, large = Event(1, 0, b"x" * 100), Event(1, 0, b"x" * 20_000)
    assert list(fitting(256, [small] * 256)) == [256]
    assert list(fitting(1, [large] * 9)) == [3, 3, 3]
    assert list(fitting(1, [Event(1, 0, b"x" * FRAME_PAYLOAD_MAX), small])) == [1, 1]
    assert read_frame(frame_bytes(framed([large] * 3))).events == [large] * 3
    with pytest.raises(NotCanonical, match="too long"):
        read_frame(frame_bytes(framed([large] * 4)))


def test_a_payload_of_very_many_arrays_travels_as_it_is() -> None:
    frame = framed([Event(1, 0, pack([[[]] * 30_000])), Event(1, 1, encode(KNOWN[0][1]))])
    assert read_frame(frame_bytes(frame)) == frame
    assert [arity for arity, _ in parts_of(frame)[5]] == [-1]


def test_the_worst_frame_that_may_be_written_can_be_read() -> None:
    """Every event of a kind of its own with many small fields, every salt by itself, half of all erased."""
    rows = [Event(100 + n, n * 2**50, pack([(n * 31 + i) % 128 for i in range(32)])) for n in range(256)]
    cover = {node: sha256(b"%d" % node).digest() for node in range(256, 512)}
    half = [event if n % 2 else Erased(sha256(b"%d" % n).digest()) for n, event in enumerate(rows)]
    nested = [Event(n // 2, n, pack([[[]] * 60, *[[n]] * 30])) for n in range(256)]
    for events in (rows, half, nested, [Event(1, 2**61, pack([[n] * 80] * 3)) for n in range(256)]):
        frame = framed(events[: next(fitting(2**40 - 256, events))], 2**40 - 256, cover)
        assert len(frame_bytes(frame)) <= FRAME_BYTES_MAX
        assert read_frame(frame_bytes(frame)) == frame


# -- what is refused -----------------------------------------------------------------------------------


def parts_of(frame: Frame) -> list[Any]:
    data = frame_bytes(frame)
    return list(unpack_own(zlib.decompress(data[1:]) if data[0] else data[1:]))


GOOD = framed([Event(1, ORIGIN + n, encode(KNOWN[1][1])) for n in range(3)])
ONE = [0, 3, 1]
HOSTILE: dict[str, tuple[int, Any]] = {
    "a key of other size": (0, [bytes(31), bytes(16), "vault"]),
    "an incarnation of other size": (0, [bytes(32), bytes(15), "vault"]),
    "the scope that never leaves": (0, [bytes(32), bytes(16), "device"]),
    "a scope that is no text": (0, [bytes(32), bytes(16), b"vault"]),
    "place zero": (1, 0),
    "a place beyond all": (1, 2**40),
    "a place that is true": (1, True),
    "a frame across blocks": (1, 254),
    "a kind that is text": (2, [0, 3, "1"]),
    "a negative kind": (2, [0, 3, -1]),
    "a kind too many": (2, [0, 4, 1]),
    "more than a block": (2, [0, 257, 1]),
    "a column of no mode": (2, [5, [1, 1, 1]]),
    "a column whose mode is true": (2, [True, [1, 1, 1]]),
    "a column too long": (2, [0, 3, 1, 1]),
    "no column": (2, []),
    "an index out of range": (2, [2, [1], [0, 0, 1]]),
    "a negative index": (2, [2, [1, 1], [0, 1, -1]]),
    "a value that no entry names": (2, [2, [1, 9], [0, 0, 0]]),
    "steps that are true": (2, [3, 1, [True, False]]),
    "clocks from clocks": (3, [4, [0, 0, 0]]),
    "a clock beyond all": (3, [3, 2**62 - 1, [1, 1]]),
    "a group that is not there": (4, [0, 3, 1]),
    "a group without events": (5, [[0, []], [0, []]]),
    "groups that are no array": (5, {"a": 1}),
    "a group of many fields": (5, [[33, [ONE] * 33]]),
    "a group of arity -2": (5, [[-2, [ONE] * 2]]),
    "a group with a column missing": (5, [[2, [ONE]]]),
    "columns of different length": (5, [[2, [ONE, [0, 2, 1]]]]),
    "raw payloads that are text": (5, [[-1, [[0, 3, "x"]]]]),
    "a field beyond 64 bits": (5, [[1, [[3, 2**64 - 1, [1, 1]]]]]),
    "a field from a clock beyond 64 bits": (5, [[1, [[4, [2**64 - 1] * 3]]]]),
    "a field whose keys are out of order": (5, [[1, [[0, 3, {"b": 1, "a": 2}]]]]),
    "a field that is not a number": (5, [[1, [[0, 3, float("nan")]]]]),
    "a field nested too deep": (5, [[1, [[0, 3, [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]),
    "a salt node that is not there": (6, [[512, bytes(32)]]),
    "a salt below another": (6, [[2, bytes(32)], [5, bytes(32)]]),
    "a leaf below the root": (6, [[1, bytes(32)], [511, bytes(32)]]),
    "salts out of order": (6, [[3, bytes(32)], [2, bytes(32)]]),
    "a salt twice": (6, [[2, bytes(32)], [2, bytes(32)]]),
    "a short salt": (6, [[2, bytes(31)]]),
    "an erased event outside": (7, [[5, bytes(32)]]),
    "an erased event before": (7, [[0, bytes(32)]]),
    "a short head": (8, bytes(31)),
    "a short signature": (9, bytes(63)),
    "no signature": (9, None),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_wrong_part_is_refused(case: str) -> None:
    number, wrong = HOSTILE[case]
    parts = parts_of(GOOD)
    parts[number] = wrong
    with pytest.raises(NotCanonical, match=";"):
        read_frame(b"\0" + pack_flat(parts))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\1",
        b"\2" + pack([]),
        b"\0" + pack([]),
        b"\0" + pack({}),
        b"\0\xc1",
        b"\0" + b"\x91" * 2000,
        b"\0\xdf\xff\xff\xff\xff",
        b"\0\xc7\x01\x05\x00",
        b"\1" + zlib.compress(b"") + b"x",
        frame_bytes(GOOD) + b"\0",
        frame_bytes(GOOD)[:-1],
        b"\0" + pack_flat(parts_of(GOOD)[:-1]),
        b"\0" + pack_flat([*parts_of(GOOD), None]),
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    with pytest.raises(NotCanonical, match=";"):
        read_frame(data)


def test_a_second_encoding_of_a_frame_is_refused() -> None:
    body = pack_flat(parts_of(GOOD))
    assert read_frame(b"\0" + body) == GOOD
    with pytest.raises(NotCanonical, match="second encoding"):
        read_frame(b"\0" + body.replace(b"\xa5vault", b"\xd9\x05vault", 1))


def _bomb(body: bytes) -> Callable[[], bytes]:
    return lambda: b"\1" + zlib.compress(body, 9)


def _groups(groups: list[Any], count: int = 256) -> Callable[[], bytes]:
    def made() -> bytes:
        parts = parts_of(GOOD)
        shapes = [0, count, 0] if len(groups) == 1 else [1, list(range(count))]
        parts[1:6] = [256, [0, count, 1], [0, count, 5], shapes, groups]
        return _bomb(pack_flat(parts))()

    return made


ROOM = FRAME_INFLATED_MAX - 1000
COSTLY = {
    "a hundred megabytes of zeros": _bomb(bytes(100_000_000)),
    "empty maps": _bomb(b"\xdd" + ROOM.to_bytes(4, "big") + b"\x80" * ROOM),
    "empty arrays": _bomb(b"\xdd" + ROOM.to_bytes(4, "big") + b"\x90" * ROOM),
    "empty maps, as many as may be": _bomb(b"\xdd" + (16_000).to_bytes(4, "big") + b"\x80" * 16_000),
    "arrays in arrays, as many as may be": _groups([[1, [[0, 1, [[[1]]] * 8_000 + [float("nan")]]]]], 1),
    "maps in order, as many as may be": _groups([[1, [[0, 1, [{"a": 0, "b": 1}] * 9_000 + [float("nan")]]]]], 1),
    "deep arrays": _bomb(b"\xdd" + (ROOM // 2).to_bytes(4, "big") + b"\x91\x90" * (ROOM // 2)),
    "a long value for all events": _groups([[1, [[0, 256, "x" * ROOM]]]]),
    "many maps for all events": _groups([[1, [[0, 256, [{}] * ROOM]]]]),
    "a field of maps": _groups([[1, [[0, 1, [{}] * 65_000 + [float("nan")]]]]], 1),
    "a field of maps of maps": _groups([[1, [[0, 1, [{"": {"": {"": {}}}}] * 6_500 + [float("nan")]]]]], 1),
    "maps, the last out of order": _groups([[1, [[0, 1, [{"a": 0, "b": 1}] * 9_000 + [{"b": 0, "a": 1}]]]]], 1),
    "a field of floats": _groups([[1, [[0, 1, [1.5] * 7_000 + [float("nan")]]]]], 1),
    "a field of small arrays": _groups([[1, [[0, 1, [[[]]] * 21_000 + [float("nan")]]]]], 1),
    "a group for each event": _groups([[32, [[0, 1, 7]] * 32]] * 255 + [[1, [[0, 1, float("nan")]]]]),
    "large integers": _groups([[1, [[3, 2**64 - 1, [2**64 - 1] * 255]]]]),
}


@pytest.mark.parametrize("case", COSTLY)
def test_a_hostile_frame_costs_little_to_refuse(case: str) -> None:
    data = COSTLY[case]()
    began = time.perf_counter()
    with pytest.raises(NotCanonical):
        read_frame(data)
    seconds = time.perf_counter() - began
    tracemalloc.start()
    try:
        with pytest.raises(NotCanonical):
            read_frame(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    print(f"{case}: {len(data):,} bytes, {seconds * 1e3:.1f} ms, {peak / 2**20:.1f} MiB")
    assert peak < 32 * 2**20


# -- what a reader makes of changed bytes --------------------------------------------------------------


def test_no_changed_bit_lets_other_events_in() -> None:
    writer = Writer(sorted_keys(1)[0])
    for n in range(2):
        writer.write(Kind.CLAIM, KNOWN[1][1], ORIGIN + n)
    (frame,) = writer.frames()
    with Memory(":memory:") as memory:
        for data in (frame_bytes(frame), b"\0" + pack_flat(parts_of(frame))):
            assert _takes_in(memory._replica, data, frame)
            taken = sum(_takes_in(memory._replica, changed, frame) for changed in with_a_bit_changed(data))
            print(f"{taken} of {8 * len(data)} changed bits change nothing")
            assert taken < len(data) // 8


def with_a_bit_changed(data: bytes) -> Iterator[bytes]:
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def _takes_in(replica: Replica, data: bytes, frame: Frame) -> bool:
    """Whether a replica that holds nothing takes a frame in; then it must be the same events."""
    try:
        found = read_frame(data)
        with replica.transaction():
            assert len(list(replica.receive([found]))) == 1
            raise _TakenBack
    except PeerError:
        return False
    except _TakenBack:
        assert (found.key, found.first, found.events, found.head) == (frame.key, frame.first, frame.events, frame.head)
        return True


class _TakenBack(Exception):
    pass


# -- erased events -------------------------------------------------------------------------------------


def erased(frame: Frame, *places: int) -> Frame:
    """A frame as a device sends it that has erased some of its events."""
    events, cover = list(frame.events), dict(frame.cover)
    for place in places:
        value = salt(cover, place % 256)
        assert value is not None
        event = events[place - frame.first]
        assert isinstance(event, Event)
        events[place - frame.first] = Erased(header_hash(header(frame.key.id, place, event, value)))
        cover = forget(cover, place % 256)
    return Frame(frame.key, frame.first, events, cover, frame.head, frame.signature)


def test_erased_events_travel_as_their_hash_and_say_nothing() -> None:
    writer = Writer(sorted_keys(1)[0])
    for n in range(5):
        said = Statement("ana", f"p{n}", n, 0, None, None, None, None, 0, 90, None, None, None, None, None)
        writer.write(Kind.CLAIM, said, ORIGIN + n)
    sent = read_frame(frame_bytes(erased(writer.frames()[0], 2, 4)))
    with Memory(":memory:") as memory, Memory(":memory:") as third:
        list(memory._replica.receive([sent]))
        assert sorted(belief.predicate for belief in memory.beliefs("ana")) == ["p0", "p2", "p4"]
        third.merge(memory)
        memory.remember("ana", "p9", "ours")
        memory.merge(third)
        assert third._replica.logs.event(third._replica.logs.by_id[writer.key.id].position(2)) == sent.events[1]
        facts = third.doctor(full=True).facts
        assert all(log["continuous"] for log in facts["logs"]) and facts["unreadable_events"] == 0
        before = memory.belief_digest()
        memory.rebuild()
        memory.devices()
        memory.timeline("ana", "p0", asserted_by="2030-01-01T00:00Z")
        assert memory.belief_digest() == before


def test_what_one_peer_has_erased_still_arrives_from_another_before() -> None:
    """The first frame's salts have a hole where events are that the receiver does not hold yet."""
    writer = Writer(sorted_keys(1)[0])
    for n in range(9):
        writer.write(Kind.CLAIM, KNOWN[1][1], ORIGIN + n)
    start, rest = writer.frames(0, 4)[0], writer.frames(4)[0]
    holed = forget(start.cover, 6)
    with Memory(":memory:") as memory, Memory(":memory:") as third:
        list(memory._replica.receive([Frame(start.key, 1, start.events, holed, start.head, start.signature), rest]))
        third.merge(memory)
        memory.merge(third)
        assert third.event_digest() == memory.event_digest()
        assert memory.doctor(full=True).problems == third.doctor(full=True).problems


def test_salts_that_are_wrong_further_on_stop_nothing() -> None:
    writer = Writer(sorted_keys(1)[0])
    for n in range(9):
        writer.write(Kind.CLAIM, KNOWN[1][1], ORIGIN + n)
    start, rest = writer.frames(0, 4)[0], writer.frames(4)[0]
    poisoned = {256 + n: value for n in range(1, 5) if (value := salt(start.cover, n))} | {2: bytes(32), 3: bytes(32)}
    with Memory(":memory:") as memory, Memory(":memory:") as third:
        sent = Frame(start.key, 1, start.events, poisoned, start.head, start.signature)
        list(memory._replica.receive([sent, rest]))
        third.merge(memory)
        memory.merge(third)
        assert third.event_digest() == memory.event_digest()
        assert not [problem for problem in third.doctor(full=True).problems if "chain" in problem]
