"""A value has one encoding, comes back as it was, and has one key under each equality."""

from __future__ import annotations

import copy
import doctest
import json
import math
import pickle
import sys
import unicodedata
from collections import OrderedDict
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from syncmem.codec import pack
from syncmem.errors import InvalidInput, NotCanonical
from syncmem.model import equality, value
from syncmem.model.value import (
    DEPTH_MAX,
    NONE,
    TEXT_BYTES_MAX,
    Equality,
    NoValue,
    decode,
    encode,
    from_json,
    key,
    to_json,
)

E_ACUTE, E_THEN_ACUTE = "\u00e9", "e\u0301"  # one letter, composed and decomposed

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
leaves = texts | numbers | st.booleans()
parts = st.recursive(
    leaves | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
values = leaves | st.lists(parts, max_size=4) | st.dictionaries(texts, parts, max_size=4) | st.just(NONE)
equalities = st.sampled_from(Equality)
EVERY = set(map(str, Equality))


class Colour(str, Enum):  # noqa: UP042  (a str subclass whose str() is not its text)
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class Place(NamedTuple):
    city: str
    since: int


def nested(depth: int) -> object:
    held: object = 1
    for _ in range(depth):
        held = [held]
    return held


def same(one: object, other: object, under: Equality) -> bool:
    return key(encode(one), under) == key(encode(other), under)


# What a claim may hold


@pytest.mark.parametrize(
    ("held", "data"),
    [
        ("", "a0"),
        ("Lisbon", "a64c6973626f6e"),
        (E_ACUTE, "a2c3a9"),
        (True, "c3"),
        (False, "c2"),
        (0, "00"),
        (-1, "ff"),
        (2**64 - 1, "cfffffffffffffffff"),
        (-(2**63), "d38000000000000000"),
        (1.0, "cb3ff0000000000000"),
        (-0.0, "cb8000000000000000"),
        (NONE, "c0"),
        ([], "90"),
        ((1, None), "9201c0"),
        ({}, "80"),
        ({"a": None}, "81a161c0"),
        (date(2025, 3, 14), "aa" + b"2025-03-14".hex()),
        (datetime(2025, 3, 14, 10, tzinfo=timezone(timedelta(hours=1))), "b4" + b"2025-03-14T09:00:00Z".hex()),
    ],
)
def test_each_kind_of_value_has_its_bytes(held: object, data: str) -> None:
    assert encode(held).hex() == data


def test_map_keys_are_ordered_by_their_encoded_bytes_so_shorter_ones_come_first() -> None:
    keys = ["b", "aa", "\u00e9", "z", "\U0001f600", "\uffff", "", "a" * 32]
    held = decode(encode(dict.fromkeys(keys, 0)))
    assert isinstance(held, dict)
    assert list(held) == ["", "b", "z", "aa", "\u00e9", "\uffff", "\U0001f600", "a" * 32]
    assert list(held) == sorted(keys, key=pack) == sorted(keys, key=lambda name: (len(name.encode()), name.encode()))


def test_subclasses_are_stored_as_what_they_hold() -> None:
    assert encode(Colour.RED) == encode("red")
    assert encode(Size.LARGE) == encode(3)
    assert encode(Place("Lisbon", 2015)) == encode(["Lisbon", 2015])
    assert encode(OrderedDict({Colour.RED: Size.LARGE})) == encode({"red": 3})


@given(values)
def test_a_value_comes_back_and_is_encoded_as_before(held: object) -> None:
    data = encode(held)
    assert decode(data) == held
    assert encode(decode(data)) == data


@given(st.dictionaries(texts, parts, max_size=6), st.randoms())
def test_the_order_of_insertion_does_not_show(held: dict[str, object], random: object) -> None:
    pairs = list(held.items())
    random.shuffle(pairs)  # type: ignore[attr-defined]
    assert encode(dict(pairs)) == encode(held)


@given(st.tuples(parts, parts))
def test_a_tuple_is_a_list(held: tuple[object, object]) -> None:
    assert encode(held) == encode(list(held))


@given(values)
def test_json_is_compact_and_comes_back(held: object) -> None:
    text = to_json(encode(held))
    assert encode(from_json(text)) == encode(held)
    assert text == json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))


def test_json_keeps_letters_and_calls_none_null() -> None:
    assert to_json(encode("Zürich")) == '"Zürich"'
    assert to_json(encode(NONE)) == "null"
    assert from_json("null") is NONE
    assert from_json(' {"a": [null, 1.0, -0.0]} ') == {"a": [None, 1.0, -0.0]}


# The explicit no-value


def test_none_is_one_object_that_is_falsy_and_survives_copies() -> None:
    assert repr(NONE) == "NONE"
    assert not NONE
    assert NoValue() is NONE
    assert copy.copy(NONE) is NONE
    assert copy.deepcopy([NONE])[0] is NONE
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(NONE, protocol)) is NONE
    assert decode(encode(NONE)) is NONE


@pytest.mark.parametrize("under", Equality)
@pytest.mark.parametrize("other", ["", "none", "null", "NONE", 0, False, 0.0, [], {}, [None]])
def test_none_is_never_the_same_as_anything_else(other: object, under: Equality) -> None:
    assert key(encode(NONE), under) == encode(NONE)
    assert not same(NONE, other, under)


# What is refused


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (None, "pass NONE for 'known to have none', or call end"),
        ([NONE], "use None inside lists and dicts"),
        ({"a": NONE}, "use None inside lists and dicts"),
        (math.nan, "not a finite number; pass"),
        ([math.inf], "not a finite number; pass"),
        (-math.inf, "not a finite number; pass"),
        (2**64, "more than 64 bits; pass it as text"),
        (-(2**63) - 1, "more than 64 bits; pass it as text"),
        (datetime(2025, 3, 14), "has no zone; pass an aware datetime"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "outside the years 1 to 9999"),
        ("\ud800", "lone surrogate"),
        (["a\udfff"], "lone surrogate"),
        ({"\ud800": 1}, "lone surrogate"),
        ({"\ud800": 1, "b": 2}, "lone surrogate"),
        ({1: 2}, "a dict key is a int; convert"),
        ({None: 2}, "a dict key is a NoneType; convert"),
        ([{NONE: 2}], "a dict key is a NoValue; convert"),
        (b"bytes", "cannot hold a bytes; keep the bytes elsewhere"),
        (bytearray(b""), "cannot hold a bytearray; pass text"),
        ({1, 2}, "cannot hold a set; pass a sorted list"),
        (frozenset(), "cannot hold a frozenset; pass a sorted list"),
        (Decimal(1), "cannot hold a Decimal; pass str"),
        (1j, "cannot hold a complex; pass"),
        (time(10), "cannot hold a time; pass"),
        (timedelta(1), "cannot hold a timedelta; pass"),
        ([object()], "cannot hold a object; pass"),
        (str, "cannot hold a type; pass"),
        (nested(DEPTH_MAX + 1), "nested deeper than 12; flatten"),
        ("a" * (TEXT_BYTES_MAX + 1), "at most 49152 bytes; keep"),
        (E_ACUTE * (TEXT_BYTES_MAX // 2 + 1), "at most 49152 bytes; keep"),
        ([0] * (TEXT_BYTES_MAX + 1), "at most 49152 bytes; keep"),
    ],
)
def test_what_a_claim_cannot_hold_is_refused_with_the_next_step(held: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        encode(held)


def test_a_list_that_holds_itself_is_refused() -> None:
    held: list[object] = []
    held.append(held)
    with pytest.raises(InvalidInput, match="nested deeper"):
        encode(held)


@pytest.mark.parametrize("held", ["a" * TEXT_BYTES_MAX, E_ACUTE * (TEXT_BYTES_MAX // 2), [0] * TEXT_BYTES_MAX])
def test_the_largest_value_fits(held: object) -> None:
    assert decode(encode(held)) == held


def test_twelve_containers_fit_and_come_back() -> None:
    assert decode(encode(nested(DEPTH_MAX))) == nested(DEPTH_MAX)


@pytest.mark.parametrize(
    "data",
    [
        *[b"", b"\xa1", b"\xc1", b"\xd9\x01a", b"\x01\x01", b"\xcc\x01", b"\xa1\xff", b"\xa3\xed\xa0\x80"],  # malformed
        *[b"\xc4\x01a", b"\xcb\x7f\xf0" + bytes(6), b"\xcb\x7f\xf8" + bytes(6), b"\xca" + bytes(4)],  # bytes, inf, nan
        *[b"\x82\xa1b\x01\xa1a\x02", b"\x82\xa1a\x01\xa1a\x02"],
        *[b"\x81\x01\x02", b"\x91\xc4\x01a"],  # order, twice, keys
        *[b"\x91" * (DEPTH_MAX + 1) + b"\x01", b"\x91" * 5000 + b"\x01"],
        *[b"\xd4\x01\x00", pack("a" * (TEXT_BYTES_MAX + 1))],
    ],
)
def test_bytes_that_encode_would_not_write_are_refused(data: bytes) -> None:
    with pytest.raises(NotCanonical):
        decode(data)


@given(st.binary(max_size=24))
def test_any_bytes_are_a_value_or_are_refused(data: bytes) -> None:
    try:
        held = decode(data)
    except NotCanonical:
        return
    assert encode(held) == data


@pytest.mark.parametrize(
    "text",
    [
        *["", "{", "nul", "'a'", "[1,]", "NaN", "[Infinity]", "-Infinity", "1e999", "18446744073709551616", "9" * 5000],
        *['{"a":1,"a":2}', '[{"a":1,"a":1}]', '"\\ud800"', "[" * 100_000],
        *["[" * 13 + "]" * 13, '"' + "a" * 50_000 + '"'],
    ],
)
def test_json_that_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        from_json(text)


# When two values are the same


@pytest.mark.parametrize(
    ("one", "other", "under"),
    [
        ("", "", EVERY),
        (E_ACUTE, E_THEN_ACUTE, EVERY),
        ([E_ACUTE], [E_THEN_ACUTE], EVERY),
        ({E_ACUTE: 1}, {E_THEN_ACUTE: 1}, EVERY),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, EVERY),
        ("a" * 200 + E_ACUTE, "a" * 200 + E_THEN_ACUTE, EVERY),
        ("\ufb01", "fi", {"casefold"}),  # a ligature folds as letters do; NFC keeps it
        ("\u2460", "1", set()),
        ("Lisbon", "lisbon", {"casefold"}),
        ("  New\tYork\n", "new york", {"casefold"}),
        ("\u00a0a\u2003\u2003b", "A B", {"casefold"}),
        ("newyork", "new york", set()),
        ("Straße", "STRASSE", {"casefold"}),
        ("ΌΣΟΣ", "όσος", {"casefold"}),
        ("İ", "i̇", {"casefold"}),
        ("É", E_THEN_ACUTE, {"casefold"}),
        (["A"], ["a"], set()),
        (" ", "", {"casefold"}),
        (1, 1.0, {"number"}),
        (1, "1", {"number"}),
        (1.0, "1.00", {"number"}),
        ("+1", "001.0", {"number"}),
        ("-0", 0, {"number"}),
        (0.0, -0.0, {"number"}),
        (0.1, "0.10", {"number"}),
        (19.99, "19.99", {"number"}),
        (1e22, "1" + "0" * 22, {"number"}),
        (5e-324, "0." + "0" * 323 + "5", {"number"}),
        (2**53 + 1, 2.0**53, set()),
        (2**53 + 1, str(2**53 + 1), {"number"}),
        ("0.1000000000000000055", 0.1, set()),
        ("9" * 5000, "9" * 5000 + ".0", {"number"}),
        (100, "1e2", set()),
        (1, " 1", set()),
        (1, "1.", set()),
        ("0.5", ".5", set()),
        (1000, "1,000", set()),
        (1, "\u0661", set()),
        (1, True, set()),
        (0, False, set()),
        ("1", True, set()),
        ([1], [1.0], set()),
        (True, "true", set()),
        ("2025-03-14T10:15:00+01:00", "2025-03-14T09:15:00Z", {"date"}),
        ("2025-03-14T10:15+01:00", "2025-03-14 09:15:00.000Z", {"date"}),
        ("2025-03-14T09:15:00Z", datetime(2025, 3, 14, 9, 15, tzinfo=UTC), EVERY),
        ("2025-03-14T09:15:00Z", "2025-03-14T09:15:00.000001Z", set()),
        ("2025-03-14T00:00Z", "2025-03-14", set()),
        ("2025-03-14T00:00", "2025-03-14", set()),
        ("2025-03-14T10:15", "2025-03-14 10:15:00", {"date"}),
        ("2025-03-14T10:15", "2025-03-14T10:15Z", set()),
        ("2025-03-07", "2025-W10-5", {"date"}),
        ("2025-03-07", date(2025, 3, 7), EVERY),
        ("2025-Q1", "2025-33", {"date"}),
        ("2025-Q4~", "2025-36~", {"date"}),
        ("2025-Q2", "2025-Q3", set()),
        ("2025-03~", "2025-03", set()),
        ("2025-03-07?", "2025-W10-5?", {"date"}),
        ("2025-03", "2025-03-01", set()),
        ("2025-01", "2025", set()),
        ("2025-W10", "2025-03-03", set()),
        ("2025", 2025, {"number"}),
        ("2025-02-30", "2025-03-02", set()),
        (["2025-03-14T10:15+01:00"], ["2025-03-14T09:15Z"], set()),
    ],
)
def test_two_values_are_the_same_under_these_equalities(one: object, other: object, under: set[str]) -> None:
    assert {str(each) for each in Equality if same(one, other, each)} == under


def test_a_map_whose_keys_differ_only_in_normalisation_loses_no_entry() -> None:
    both = {E_ACUTE: 1, E_THEN_ACUTE: 2}
    assert key(encode(both), Equality.EXACT) == encode(both)
    assert not same(both, {E_ACUTE: 2}, Equality.EXACT)


@given(values, equalities)
@example("\u0345\u0301", Equality.CASEFOLD)
@example("\u0149 \u01f0\u0390", Equality.CASEFOLD)
def test_a_key_is_canonical_and_its_own_key(held: object, under: Equality) -> None:
    found = key(encode(held), under)
    assert pack(decode(found) if held is not NONE else None) == found
    assert key(found, under) == found


@given(texts | st.sampled_from(["1", "-0.50", "2025-03-14", "2025-W10-5", "2025-03-14T10:15Z"]), equalities)
def test_a_stated_equality_never_tells_apart_what_exact_holds_the_same(text: str, under: Equality) -> None:
    assert same(text, unicodedata.normalize("NFD", text), under)
    assert same(text, unicodedata.normalize("NFC", text), under)


@given(values, values, equalities)
def test_values_that_are_the_same_exactly_are_the_same_under_every_equality(
    one: object, other: object, under: Equality
) -> None:
    if same(one, other, Equality.EXACT):
        assert same(one, other, under)


@given(texts)
def test_casefold_ignores_case_and_space_around(text: str) -> None:
    for variant in (text.casefold(), f" {text}\n", text.replace(" ", "  ")):
        assert same(unicodedata.normalize("NFD", text), unicodedata.normalize("NFD", variant), Equality.CASEFOLD)


def test_casefold_keys_are_stable_for_every_letter() -> None:
    for code in range(sys.maxunicode + 1):
        if not 0xD800 <= code <= 0xDFFF and unicodedata.normalize("NFD", chr(code)).casefold() != chr(code):
            for text in (chr(code), f"a{chr(code)}\u0301", f"\u0345{chr(code)}"):
                found = key(pack(text), Equality.CASEFOLD)
                assert key(found, Equality.CASEFOLD) == found, hex(code)


def amount(number: int | float | str) -> Fraction:
    return Fraction(repr(number) if isinstance(number, float) else number)


decimals = st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda number: format(number, "f"))


@given(numbers | decimals, numbers | decimals)
@example(0.1, "0.1000")
@example(2**64 - 1, "18446744073709551615.0")
def test_numbers_are_the_same_exactly_if_their_amounts_are(one: int | float | str, other: int | float | str) -> None:
    assert same(one, other, Equality.NUMBER) == (amount(one) == amount(other))


@given(numbers)
def test_a_number_is_the_same_as_its_decimal_text(number: int | float) -> None:
    text = format(Decimal(repr(number)), "f")
    assert same(number, text, Equality.NUMBER)
    assert same(number, text + ("0" if "." in text else ".0"), Equality.NUMBER)


@given(st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29)), st.integers(-1439, 1439), st.integers(-1439, 1439))
def test_an_instant_is_the_same_in_every_offset(naive: datetime, one: int, other: int) -> None:
    first, second = (timezone(timedelta(minutes=minutes)) for minutes in (one, other))
    when = naive.replace(tzinfo=first)
    assert same(when.isoformat(), when.astimezone(second).isoformat(), Equality.DATE)
    assert key(encode(when.isoformat()), Equality.DATE) == encode(when)


@pytest.mark.parametrize("module", [value, equality])
def test_the_examples_run(module: object) -> None:
    failed, attempted = doctest.testmod(module)  # type: ignore[arg-type]
    assert attempted > 0
    assert failed == 0
