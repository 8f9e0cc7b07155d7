"""What fuzzing found, one test a kind: events that stopped every memory, messages that cost too much to refuse."""

from __future__ import annotations

from typing import Any

import pytest

from syncmem.codec import ELEMENTS_MAX, EVENT_BYTES_MAX, is_canonical, pack, pack_flat, unpack, unpack_each, unpack_own
from syncmem.errors import BrokenChain, NotCanonical, PeerError
from syncmem.model.event import Frontier, Kind, Payload, encode
from syncmem.model.frame import Frame
from syncmem.replica.intake import take_in_all
from syncmem.replica.replica import BULK_EVENTS
from syncmem.seal.keys import verify
from syncmem.wire.blob import PIECES_MAX
from tests.fuzz import valid
from tests.fuzz.costly import peak_of_reading
from tests.fuzz.targets import TARGETS, taken_in
from tests.world import ORIGIN, Writer

IDS = (bytes(16), 1, bytes(16))


def said(kind: Kind, place: int, value: object) -> bytes:
    """An event of a kind, one of whose fields is another."""
    payload: Payload = next(payload for known, payload in valid.PAYLOADS if known == kind)
    fields = unpack_own(encode(payload))
    fields[place] = value
    return bytes([kind]) + pack_flat(fields)


# -- events that every member takes in, and that none could fold ------------------------------------------


@pytest.mark.parametrize("kind", [Kind.CLAIM, Kind.END, Kind.RETRACT])
def test_a_reference_among_others_that_is_a_number_stops_nothing(kind: Kind) -> None:
    place = 0 if kind == Kind.RETRACT else 13
    taken_in(said(kind, place, [list(IDS), 5]), said(kind, place, [list(IDS), None]), said(kind, place, [[], True]))


def test_a_definition_whose_settings_hold_bytes_stops_nothing() -> None:
    for settings in ({"cardinality": b"single"}, {"description": [{"a": b""}]}, {"ttl": float("inf")}):
        data = said(Kind.DEFINE, 1, settings)
        assert not TARGETS["payload"].accepts(data)
        taken_in(data)


@pytest.mark.parametrize(
    "note",
    [
        Frontier(3, 1, [[bytes(16), 2**64 - 1, bytes(8)]], None),
        Frontier(3, 1, [[bytes(16), -1, bytes(8)]], None),
        Frontier(3, 1, [[bytes(15), 1, bytes(8)]], None),
        Frontier(2**64 - 1, 1, [[bytes(16), 1, bytes(8)]], None),
        Frontier(3, -(2**63), [[bytes(16), 1, bytes(8)]], None),
    ],
)
def test_a_frontier_note_with_places_that_no_log_has_stops_nothing(note: Frontier) -> None:
    data = bytes([Kind.FRONTIER]) + pack_flat(unpack_own(encode(note)))
    assert not TARGETS["payload"].accepts(data)
    taken_in(data)


@pytest.mark.parametrize("extra", [{b"a": 1}, {b"a": 1, b"b": 2}, {b"a": 1, "b": 2}, {"a": {b"b": []}}])
def test_a_map_whose_keys_are_bytes_is_not_canonical(extra: dict[object, object]) -> None:
    packed = pack_flat([extra])
    with pytest.raises(NotCanonical, match="second encoding"):
        unpack(packed)
    assert unpack_each([packed, packed]) is None
    assert not is_canonical(extra)
    taken_in(said(Kind.CLAIM, 14, extra))


@pytest.mark.parametrize("time", [b"\xd6\xff\x00\x00\x00\x05", b"\xd7\xff" + bytes(8), b"\xc7\x0c\xff" + bytes(12)])
def test_a_timestamp_is_refused_like_any_extension(time: bytes) -> None:
    for packed in (time, b"\x91" + time, b"\x81\xa1a" + time, b"\x91\x91" + time):
        with pytest.raises(NotCanonical):
            unpack(packed)
        assert unpack_each([packed]) is None


# -- what would be tried again and again ----------------------------------------------------------------


def test_frames_that_come_backwards_are_tried_once_each() -> None:
    """Each was tried again after each that came in: 255 frames of one event took 4.5 s of checking signatures."""
    writer = Writer(valid.LOG)
    for number in range(60):
        writer.write(Kind.CLAIM, valid.PAYLOADS[0][1], ORIGIN + number)
    frames = [writer.frame(place, 1) for place in range(60, 0, -1)]
    held, tried = 0, 0

    def take(frame: Frame) -> list[int]:
        nonlocal held, tried
        tried += 1
        if frame.first != held + 1:
            raise BrokenChain("something is missing before it", held)
        held = frame.last
        return [frame.first]

    refused: dict[bytes, PeerError] = {}
    assert take_in_all(frames, take, refused) == list(range(1, 61))
    assert (tried, refused) == (60, {})


# -- statements ---------------------------------------------------------------------------------------


def test_where_a_statement_has_an_array_nothing_else_passes_for_one() -> None:
    """An empty map was taken for an empty list of grants; elsewhere a map was an error of its own kind."""
    found = [unpack(content) for content in valid.contents()]
    for content in found:
        body = content[5]
        for place, part in enumerate(body):
            for other in ({}, {"abc": 1}, "abc", b"abc") if type(part) is list else ():
                wrong = [*content[:5], [*body[:place], other, *body[place + 1 :]]]
                assert not TARGETS["statement"].accepts(pack(wrong)), (content[0], place, other)


@pytest.mark.parametrize("part", [None, 5, "x", [], {}, [b"x"], b"", bytes(31), bytes(32)])
def test_a_signature_is_right_or_wrong_and_never_an_error(part: Any) -> None:
    """Who asks to be let in says key and signature in any form: it ended the waiting of who had invited."""
    assert not verify(part, b"label", b"message", bytes(64))
    assert not verify(valid.KEY.write_key, b"label", b"message", part)


def test_a_suite_that_is_true_is_not_suite_one() -> None:
    genesis = unpack(valid.contents()[0])
    genesis[5][0] = True
    assert not TARGETS["statement"].accepts(pack(genesis))


# -- what promises more than it brings ------------------------------------------------------------------


def test_arrays_that_promise_elements_are_refused_before_room_is_made_for_them() -> None:
    for first in (b"\xdc\xff\xff", b"\xdd\x00\x00\xff\xff", b"\xdf\x00\x00\x7f\xff"):
        data = (first * 1_000).ljust(EVENT_BYTES_MAX, b"\x01")
        assert peak_of_reading("codec", data) < 2**20
        assert unpack_each([data]) is None


def test_a_long_message_has_few_elements_and_a_long_list_of_our_own_many() -> None:
    assert unpack(pack([1] * ELEMENTS_MAX), bytes_max=2**20) == [1] * ELEMENTS_MAX
    with pytest.raises(NotCanonical, match="more arrays"):
        unpack(pack([1] * (ELEMENTS_MAX + 1)), bytes_max=2**20)
    touched = list(range(ELEMENTS_MAX + BULK_EVENTS))  # slots of one transaction
    assert unpack_own(pack_flat(touched)) == touched


def test_a_blob_of_very_many_pieces_is_refused() -> None:
    head, piece = TARGETS["blob"].samples[0][:4], b"\0\0\0\1\x63"
    first = TARGETS["blob"].samples[0][: 4 + int.from_bytes(head, "big")]
    assert TARGETS["blob"].accepts(first + piece * (PIECES_MAX - 2))
    assert not TARGETS["blob"].accepts(first + piece * (PIECES_MAX - 1))
