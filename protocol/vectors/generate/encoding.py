"""Canonical bytes: one value, one encoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from protocol.vectors.generate.vector import Vector


def integer(value: int) -> dict[str, str]:
    return {"int": str(value)}


DEEP: Any = None
for _ in range(16):
    DEEP = [DEEP]

# name, what it shows, the value, its one encoding
VALUES: tuple[tuple[str, str, Any, str], ...] = (
    ("nil", "Nil is one byte.", None, "c0"),
    ("false", "False is one byte.", False, "c2"),
    ("true", "True is one byte.", True, "c3"),
    ("zero", "Zero is the byte 00.", integer(0), "00"),
    ("integer-127", "127 is the largest integer of one byte.", integer(127), "7f"),
    ("integer-128", "128 takes the form of 8 bits.", integer(128), "cc80"),
    ("integer-256", "256 takes the form of 16 bits.", integer(256), "cd0100"),
    ("integer-65536", "65536 takes the form of 32 bits.", integer(65536), "ce00010000"),
    ("integer-2-to-32", "2^32 takes the form of 64 bits.", integer(2**32), "cf0000000100000000"),
    ("integer-greatest", "2^64 - 1 is the greatest integer.", integer(2**64 - 1), "cfffffffffffffffff"),
    ("integer-minus-32", "-32 is the least integer of one byte.", integer(-32), "e0"),
    ("integer-minus-33", "-33 takes the form of 8 bits.", integer(-33), "d0df"),
    ("integer-minus-129", "-129 takes the form of 16 bits.", integer(-129), "d1ff7f"),
    ("integer-minus-32769", "-32769 takes the form of 32 bits.", integer(-32769), "d2ffff7fff"),
    ("integer-least", "-2^63 is the least integer.", integer(-(2**63)), "d38000000000000000"),
    ("float", "A float has 64 bits, also where 32 would do.", {"float": "3ff8000000000000"}, "cb3ff8000000000000"),
    ("float-of-whole", "1.0 stays a float: it is not 1.", {"float": "3ff0000000000000"}, "cb3ff0000000000000"),
    ("float-minus-zero", "-0.0 is another value than 0.0.", {"float": "8000000000000000"}, "cb8000000000000000"),
    ("text-empty", "Empty text is one byte.", "", "a0"),
    ("text-31-bytes", "Text of 31 bytes has the short head.", "a" * 31, "bf(61*31)"),
    ("text-32-bytes", "Text of 32 bytes has the head of 8 bits.", "a" * 32, "d920(61*32)"),
    ("text-256-bytes", "Text of 256 bytes has the head of 16 bits.", "a" * 256, "da0100(61*256)"),
    ("text-beyond-the-basic-plane", "Text is UTF-8: four bytes for one character.", "\U0001f600", "a4f09f9880"),
    ("text-not-normalised", "Text is kept as it is written; normalising is the writer's.", "e\u0301", "a365cc81"),
    ("bytes", "Bytes are no text.", {"bytes": "00ff"}, "c40200ff"),
    ("bytes-256", "256 bytes have the head of 16 bits.", {"bytes": "00" * 256}, "c50100(00*256)"),
    ("array-15", "15 entries have the short head.", [None] * 15, "9f(c0*15)"),
    ("array-16", "16 entries have the head of 16 bits.", [None] * 16, "dc0010(c0*16)"),
    ("map-empty", "An empty map is one byte.", {"map": []}, "80"),
    ("map-shorter-keys-first", "Shorter keys stand first: b before aa.",
     {"map": [["b", integer(1)], ["aa", integer(2)]]}, "82a16201a2616102"),
    ("map-keys-by-their-bytes", "Keys of one length stand in the order of their UTF-8 bytes.",
     {"map": [["zz", None], ["é", None]]}, "82a27a7ac0a2c3a9c0"),
    ("depth-16", "Sixteen arrays inside one another are the deepest.", DEEP, "(91*16)c0"),
)  # fmt: skip

# name, what is wrong, the bytes
REFUSED: tuple[tuple[str, str, str], ...] = (
    ("no-bytes", "No bytes are no value.", ""),
    ("two-values", "Nothing may follow the value.", "0101"),
    ("reserved-byte", "The byte c1 begins nothing.", "c1"),
    ("integer-in-8-bits-too-many", "127 in the form of 8 bits has a shorter one.", "cc7f"),
    ("integer-in-16-bits-too-many", "255 in the form of 16 bits has a shorter one.", "cd00ff"),
    ("integer-in-32-bits-too-many", "1 in the form of 32 bits has a shorter one.", "ce00000001"),
    ("integer-in-64-bits-too-many", "1 in the form of 64 bits has a shorter one.", "cf0000000000000001"),
    ("positive-in-signed-form", "1 in the signed form has a shorter one.", "d001"),
    ("negative-too-long", "-1 in the form of 8 bits has a shorter one.", "d0ff"),
    ("negative-in-64-bits-too-many", "-1 in the form of 64 bits has a shorter one.", "d3ffffffffffffffff"),
    ("float-of-32-bits", "Every float is written with 64 bits.", "ca3fc00000"),
    ("not-a-number", "Not a number is never written.", "cb7ff8000000000000"),
    ("not-a-number-with-payload", "Another not a number is not written either.", "cb7ff8000000000001"),
    ("text-head-too-long", "Short text with the head of 8 bits has a shorter one.", "d90161"),
    ("text-head-of-16-bits-too-long", "Short text with the head of 16 bits has a shorter one.", "da000161"),
    ("bytes-head-too-long", "One byte with the head of 16 bits has a shorter one.", "c50001ff"),
    ("array-head-too-long", "One entry with the head of 16 bits has a shorter one.", "dc0001c0"),
    ("array-head-of-32-bits", "One entry with the head of 32 bits has a shorter one.", "dd00000001c0"),
    ("map-head-too-long", "One key with the head of 16 bits has a shorter one.", "de0001a161c0"),
    ("longer-form-inside", "A longer form inside an array is a second encoding too.", "91cc01"),
    ("map-keys-descending", "Keys stand in ascending order.", "82a162c0a161c0"),
    ("map-longer-key-first", "Shorter keys stand before longer ones.", "82a26161c0a162c0"),
    ("map-key-twice", "A key stands once.", "82a161c0a161c3"),
    ("map-keys-descending-inside", "Also maps inside arrays have their keys in order.", "9182a162c0a161c0"),
    ("map-key-integer", "Keys are text, not integers.", "8101c0"),
    ("map-key-bytes", "Keys are text, not bytes.", "81c40161c0"),
    ("map-key-nil", "Keys are text, not nil.", "81c0c0"),
    ("extension", "Extension types are not used.", "d40100"),
    ("extension-of-some-bytes", "Extension types of any length are not used.", "c70101ff"),
    ("timestamp", "The timestamp extension is not used either.", "d6ff00000000"),
    ("array-cut-off", "An array ends before its last entry.", "92c0"),
    ("text-cut-off", "A text ends before its last byte.", "a361"),
    ("array-of-four-billion", "A head that promises more than there is costs nothing.", "ddffffffff"),
    ("promises-in-promises", "Nor do heads in heads that promise the same.", "(dd7fffffff*15)"),
    ("promises-by-the-thousand", "However many there are.", "(dc8fff*1600)"),
    ("text-not-utf-8", "Text is UTF-8.", "a1ff"),
    ("text-overlong-utf-8", "A character has one UTF-8 form.", "a2c080"),
    ("text-surrogate", "A surrogate has no UTF-8.", "a3eda080"),
    ("depth-17", "Seventeen arrays inside one another are too deep.", "(91*17)c0"),
    ("depth-beyond-any-stack", "Ten thousand arrays inside one another cost nothing.", "(91*10000)c0"),
    ("too-long", "65,537 bytes are too long, whatever they hold.", "c5fffe(00*65534)"),
)  # fmt: skip

# name, what it shows, what no encoding exists for
UNWRITABLE: tuple[tuple[str, str, Any], ...] = (
    ("write-not-a-number", "Not a number has no encoding.", {"float": "7ff8000000000000"}),
    ("write-beyond-64-bits", "2^64 has no encoding.", integer(2**64)),
    ("write-too-deep", "Seventeen arrays inside one another have no encoding.", [DEEP]),
)


def vectors() -> Iterator[Vector]:
    for name, says, value, data in VALUES:
        yield Vector("encoding", name, says, {"word": "decode", "bytes": data}, {"outcome": "accepted", "value": value})
    longest = {"word": "decode", "bytes": "c5fffd(00*65533)"}
    yield Vector(
        "encoding", "longest", "65,536 bytes are the longest that is decoded.", longest, {"outcome": "accepted"}
    )
    for name, says, data in REFUSED:
        yield Vector("encoding", name, says, {"word": "decode", "bytes": data}, {"outcome": "not-canonical"})
    for name, says, value in UNWRITABLE:
        yield Vector("encoding", name, says, {"word": "encode", "value": value}, {"outcome": "invalid"})
    yield Vector(
        "encoding", "write-map", "A writer puts the keys in order, whatever order it was given.",
        {"word": "encode", "value": {"map": [["aa", integer(300)], ["b", {"float": "3ff8000000000000"}]]}},
        {"outcome": "accepted", "bytes": "82a162cb3ff8000000000000a26161cd012c"},
    )  # fmt: skip
    yield Vector(
        "encoding", "write-every-type", "A writer takes the shortest form of everything.",
        {"word": "encode", "value": [None, True, integer(-33), "é", {"bytes": "00"}, []]},
        {"outcome": "accepted", "bytes": "96c0c3d0dfa2c3a9c4010090"},
    )  # fmt: skip
