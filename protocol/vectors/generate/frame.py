"""Frames: every way in which columns may hold events, and every check of the section "Frames"."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from protocol.vectors.generate.making import T0, Device, Log, deflated, flipped, framed, leaf, node, runs, said
from protocol.vectors.generate.vector import Vector
from syncmem.codec import pack, unpack

KEY, FIRST, KINDS, CLOCKS, SHAPES, GROUPS, COVER, ERASED, HEAD, SIGNATURE = range(10)
CITIES = ("Lisbon", "Porto", "Faro")
Parts = list[Any]


def three() -> Log:
    """A log of three claims."""
    log = Device("ana").log()
    for number, city in enumerate(CITIES):
        log.write(1, T0 + 5 * number, said(city, observed_at=T0 + 5 * number))
    return log


def with_part(*changes: tuple[int, Any]) -> bytes:
    """The frame of three claims with other parts."""
    parts = three().parts()
    for place, value in changes:
        parts[place] = value
    return framed(parts)


def columns(log: Log, **named: Any) -> list[Any]:
    """The claims of a log as a group of 15 columns, some of them written in another mode."""
    rows = [unpack(payload) for _, _, payload in log.events]
    made: list[Any] = [[1, list(values)] for values in zip(*rows, strict=True)]
    for name, column in named.items():
        made[int(name.removeprefix("c"))] = column
    return [15, made]


# -- accepted -------------------------------------------------------------------------------------------


def read(name: str, says: str, log: Log, data: bytes, first: int = 1, erased: tuple[int, ...] = ()) -> Vector:
    """A frame of the last events of a log, and what is in it."""
    events = [told(log, place, place in erased) for place in range(first, len(log.events) + 1)]
    ask: dict[str, Any] = {"word": "frame", "frame": data.hex()}
    ask |= {"previous": log.heads[first - 1].hex()} if first > 1 else {}
    answer = {
        "outcome": "accepted", "log": log.id.hex(), "device": log.device.key.hex(),
        "incarnation": log.incarnation.hex(), "scope": log.scope, "first": first, "head": log.heads[-1].hex(),
        "events": events,
    }  # fmt: skip
    return Vector("frame", name, says, ask, answer)


def told(log: Log, place: int, erased: bool) -> list[Any]:
    id = log.hashes[place - 1][:16].hex()
    kind, clock, payload = log.events[place - 1]
    return [place, id] if erased else [place, id, kind, clock, payload.hex()]


def accepted() -> Iterator[Vector]:
    log = three()
    yield read("plain", "Payloads may stand as they are, in a group of arity -1.", log, log.frame())
    yield read("deflated", "After the codec byte 1 the body is a zlib stream.", log, deflated(log.parts()))
    yield in_mode("mode-plain", "In mode 1 a column lists its entries.", c2=[1, list(CITIES)])
    yield in_mode("mode-same", "In mode 0 a column says one value once for all.", c0=[0, 3, "person:ana"])
    yield in_mode("mode-indexed", "In mode 2 a column lists values and numbers them.",
                  c2=[2, ["Faro", "Lisbon", "Porto"], [1, 2, 0]])  # fmt: skip
    yield in_mode("mode-steps", "In mode 3 a column says by how much each entry exceeds the one before.",
                  c4=[3, T0, [5, 5]])  # fmt: skip
    yield in_mode("mode-from-clock", "In mode 4 a column says by how much each entry exceeds the event's clock.",
                  c4=[4, [0, 0, 0]])  # fmt: skip
    yield with_nil()
    yield all_modes()
    yield indexed_kinds()
    yield two_groups()
    yield no_fields()
    yield later_field()
    yield from with_erased()
    yield from at_places()


def in_mode(name: str, says: str, **named: Any) -> Vector:
    parts = three().parts()
    parts[GROUPS] = [columns(three(), **named)]
    return read(name, says, three(), framed(parts))


def with_nil() -> Vector:
    log = Device("ana").log()
    log.write(1, T0, said("Lisbon", observed_at=T0 - 7))
    log.write(1, T0 + 9, said("Porto"))
    parts = log.parts()
    parts[GROUPS] = [columns(log, c4=[4, [-7, None]])]
    return read("mode-from-clock-nil", "In mode 4 nil stays nil, and a step may be negative.", log, framed(parts))


def all_modes() -> Vector:
    log, parts = three(), three().parts()
    parts[KINDS], parts[CLOCKS], parts[SHAPES] = [0, 3, 1], [3, T0, [5, 5]], [0, 3, 0]
    parts[GROUPS] = [columns(log, c0=[0, 3, "person:ana"], c2=[2, list(CITIES), [0, 1, 2]], c4=[4, [0, 0, 0]])]
    return read("every-mode-at-once", "Each column has a mode of its own.", log, deflated(parts))


def indexed_kinds() -> Vector:
    log = Device("ana").log()
    for kind in (1, 2, 1):
        log.write(kind, T0, said("Lisbon"))
    parts = log.parts()
    parts[KINDS] = [2, [1, 2], [0, 1, 0]]
    return read("kinds-indexed", "Kinds, clocks and shapes are columns like any other.", log, framed(parts))


def two_groups() -> Vector:
    log = Device("ana").log()
    log.write(1, T0, said("Lisbon"))
    log.write(6, T0 + 1, ["batch", 90, None, None, None])
    log.write(1, T0 + 2, said("Porto"))
    claims = Log(log.device, log.scope, log.incarnation, [log.events[0], log.events[2]])
    parts = log.parts()
    parts[SHAPES] = [1, [1, 0, 1]]
    parts[GROUPS] = [[5, [[1, ["batch"]], [1, [90]], [1, [None]], [1, [None]], [1, [None]]]], columns(claims)]
    return read("two-groups", "Payloads of each kind and arity have columns of their own.", log, framed(parts))


def no_fields() -> Vector:
    log = Device("ana").log()
    log.write(100, T0, [])
    log.write(100, T0, [])
    parts = log.parts()
    parts[GROUPS] = [[0, []]]
    return read("arity-0", "A payload without fields needs no columns.", log, framed(parts))


def later_field() -> Vector:
    log = Device("ana").log()
    log.write(1, T0, [*said("Lisbon"), "new"])
    parts = log.parts()
    parts[GROUPS] = [[16, columns(log)[1]]]
    return read("later-field", "A field of a later version is a column more.", log, framed(parts))


def with_erased() -> Iterator[Vector]:
    for name, places in (("first", (1,)), ("middle", (2,)), ("last", (3,)), ("all", (1, 2, 3))):
        says = f"Of erased events only the header hash is left, and the chain still holds: {name}."
        yield read(f"erased-{name}", says, three(), three().frame(erased=places), erased=places)


def at_places() -> Iterator[Vector]:
    log = Device("ana").log()
    for _ in range(256):
        log.write(200, T0, b"")
    yield read("new-block", "Place 256 begins a block with a seed of its own.", log, log.frame(256), first=256)
    ahead = three()
    yield read("continued", "A frame may begin anywhere in a block.", ahead, ahead.frame(2), first=2)


# -- refused --------------------------------------------------------------------------------------------


def refused() -> Iterator[tuple[str, str, bytes]]:
    """Name, what is wrong, the frame: all are not canonical."""
    parts, body = three().parts(), pack(three().parts())
    stream = zlib.compress(body, 0)
    yield "empty", "A frame has a codec byte and a body.", b""
    yield "codec-only", "A codec byte alone is no frame.", b"\0"
    yield "codec-unknown", "Codecs are 0 and 1.", b"\2" + body
    yield "stream-damaged", "The zlib stream has a checksum.", b"\1" + flipped(stream, -1)
    yield "stream-cut-off", "The zlib stream ends with its checksum.", b"\1" + stream[:-4]
    yield "stream-followed", "Nothing follows the zlib stream.", b"\1" + stream + b"\0"
    yield "stream-too-much", "What inflates to more than 192 KiB is not inflated further.", bomb()
    yield "too-long", "A frame has at most 192 KiB and the codec byte.", b"\0" + pack(bytes(192 * 1024))
    yield "followed", "Nothing follows the body.", b"\0" + body + b"\0"
    yield "body-no-array", "The body is an array.", framed({"a": 1})
    yield "part-missing", "The body has ten parts.", framed(parts[:-1])
    yield "part-too-many", "The body has ten parts and no more.", framed([*parts, None])
    yield "second-encoding", "The body is canonical.", b"\0" + body.replace(b"vault\1", b"vault\xcc\1")
    yield "containers-too-many", "The body holds at most 16,384 arrays and maps.", crowded()
    yield from refused_heads(parts)
    yield from refused_columns(parts)
    yield from refused_groups(parts)
    yield from refused_lists(parts)


def bomb() -> bytes:
    return b"\1" + zlib.compress(bytes(200 * 1024), 9)


def crowded() -> bytes:
    many = [[1, [[[] for _ in range(80)] for _ in range(205)]]]
    return with_part((KINDS, [0, 205, 1]), (CLOCKS, [0, 205, T0]), (SHAPES, [0, 205, 0]), (GROUPS, [[1, many]]))


def refused_heads(parts: Parts) -> Iterator[tuple[str, str, bytes]]:
    device, incarnation, scope = parts[KEY]
    yield "device-short", "A device's key has 32 bytes.", with_part((KEY, [device[:31], incarnation, scope]))
    yield "incarnation-short", "An incarnation has 16 bytes.", with_part((KEY, [device, incarnation[:15], scope]))
    yield "scope-no-text", "A scope is text.", with_part((KEY, [device, incarnation, b"vault"]))
    yield (
        "scope-device",
        "What is in the scope device never travels.",
        with_part((KEY, [device, incarnation, "device"])),
    )
    yield "key-of-two", "A log's key has three parts.", with_part((KEY, [device, incarnation]))
    yield "place-0", "Places begin with 1.", with_part((FIRST, 0))
    yield "place-too-high", "Places end with 2^40 - 1.", with_part((FIRST, 2**40))
    yield "place-last-too-high", "The last place too is at most 2^40 - 1.", with_part((FIRST, 2**40 - 2))
    yield "place-a-float", "A place is an integer.", with_part((FIRST, 1.0))
    yield "place-true", "True is not the integer 1.", with_part((FIRST, True))
    yield "head-short", "A head has 32 bytes.", with_part((HEAD, parts[HEAD][:31]))
    yield "signature-short", "A signature has 64 bytes.", with_part((SIGNATURE, parts[SIGNATURE][:63]))
    yield "across-a-block", "A frame lies inside one block.", with_part((FIRST, 254))
    nothing = ((KINDS, [1, []]), (CLOCKS, [1, []]), (SHAPES, [1, []]), (GROUPS, []))
    yield "no-events", "A frame holds at least one event.", with_part(*nothing)


def refused_columns(parts: Parts) -> Iterator[tuple[str, str, bytes]]:
    yield "kind-negative", "Kinds begin with 0.", with_part((KINDS, [1, [1, 1, -1]]))
    yield "kind-too-high", "Kinds end with 2^63 - 1.", with_part((KINDS, [1, [1, 1, 2**63]]))
    yield "kind-text", "Kinds are integers.", with_part((KINDS, [1, [1, 1, "1"]]))
    yield "clock-negative", "Clocks begin with 0.", with_part((CLOCKS, [1, [T0, T0, -1]]))
    yield "clock-too-high", "Clocks end with 2^62 - 1.", with_part((CLOCKS, [1, [T0, T0, 2**62]]))
    yield "kinds-too-few", "Kinds, clocks and shapes have an entry for each event.", with_part((KINDS, [1, [1, 1]]))
    yield "mode-unknown", "Modes are 0 to 4.", with_part((KINDS, [5, [1, 1, 1]]))
    yield "mode-missing", "A column begins with its mode.", with_part((KINDS, []))
    yield "mode-a-float", "A mode is an integer.", with_part((KINDS, [1.0, [1, 1, 1]]))
    yield "column-no-array", "A column is an array.", with_part((KINDS, 1))
    yield "column-too-long", "A column has the parts of its mode and no more.", with_part((KINDS, [1, [1, 1, 1], 1]))
    yield "same-no-times", "Mode 0 says its value at least once.", with_part((KINDS, [0, 0, 1]))
    yield "same-257-times", "Mode 0 says its value at most 256 times.", with_part((KINDS, [0, 257, 1]))
    yield "same-a-billion-times", "A count that is far too high costs nothing.", with_part((KINDS, [0, 2**40, 1]))
    yield "plain-257-entries", "A column has at most 256 entries.", with_part((KINDS, [1, [1] * 257]))
    yield "indexed-unnamed", "In mode 2 every value is named.", with_part((KINDS, [2, [1, 2], [0, 0, 0]]))
    yield "indexed-beyond", "In mode 2 a number names a value.", with_part((KINDS, [2, [1], [0, 0, 1]]))
    yield "indexed-negative", "In mode 2 numbers count from the front.", with_part((KINDS, [2, [1, 2], [0, 1, -1]]))
    yield "indexed-text", "In mode 2 numbers are integers.", with_part((KINDS, [2, [1], [0, 0, "0"]]))
    yield "steps-of-text", "In mode 3 all are integers.", with_part((CLOCKS, [3, "0", [5, 5]]))
    yield "steps-of-nil", "In mode 3 nil has no place.", with_part((CLOCKS, [3, T0, [5, None]]))
    yield "steps-beyond", "Mode 3 stays within the bounds of its column.", with_part((CLOCKS, [3, 2**62 - 1, [0, 1]]))
    yield "clocks-from-clock", "Mode 4 needs clocks and stands only within groups.", with_part((CLOCKS, [4, [0, 0, 0]]))


def refused_groups(parts: Parts) -> Iterator[tuple[str, str, bytes]]:
    raw, log = parts[GROUPS][0], three()
    yield "shape-beyond", "A shape is the number of a group.", with_part((SHAPES, [1, [0, 0, 1]]))
    yield "shape-negative", "Shapes count from 0.", with_part((SHAPES, [1, [0, 0, -1]]))
    yield "group-without-events", "Each group has an event.", with_part((GROUPS, [raw, [0, []]]))
    yield "group-of-three", "A group is [arity, columns].", with_part((GROUPS, [[*raw, None]]))
    yield "arity-minus-2", "Arities begin with -1.", with_part((GROUPS, [[-2, [raw[1][0], raw[1][0]]]]))
    yield "arity-33", "At most 32 fields go in columns.", with_part((GROUPS, [[33, [[0, 3, None]] * 33]]))
    yield (
        "arity-other-than-columns",
        "A group has a column for each field.",
        with_part((GROUPS, [[14, columns(log)[1]]])),
    )
    yield (
        "group-column-short",
        "A group's columns have an entry for each of its events.",
        field(2, [1, ["Lisbon", "Porto"]]),
    )
    yield (
        "raw-no-bytes",
        "In a group of arity -1 payloads are bytes.",
        with_part((GROUPS, [[-1, [[1, ["a", "b", "c"]]]]])),
    )
    yield "steps-beyond-64-bits", "What is rebuilt has 64 bits.", field(4, [3, 2**64 - 1, [1, 1]])
    yield "from-clock-short", "Mode 4 has an entry for each event of the group.", field(4, [4, [0, 0]])
    yield "from-clock-text", "In mode 4 entries are integers or nil.", field(4, [4, [0, 0, "0"]])
    yield "field-keys-out-of-order", "A field is canonical: its keys are in order.", field(2, [0, 3, {"b": 2, "a": 1}])
    yield "field-not-a-number", "A field is canonical: not a number has no place in it.", field(2, [0, 3, float("nan")])
    yield "field-not-a-number-inside", "Also inside an array.", field(2, [0, 3, [float("nan")]])
    yield (
        "field-too-deep",
        "A field may be nested as deep as its payload allows, and no deeper.",
        field(2, [0, 3, deep(16)]),
    )
    yield (
        "rebuilt-too-long",
        "What few bytes rebuild to is bounded: 64 KiB of payloads.",
        field(2, [0, 3, "a" * 30_000]),
    )
    yield (
        "payloads-too-long",
        "Payloads have at most 64 KiB together.",
        with_part((GROUPS, [[-1, [[0, 3, bytes(30_000)]]]])),
    )


def field(number: int, column: Any) -> bytes:
    return with_part((GROUPS, [columns(three(), **{f"c{number}": column})]))


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else None


def refused_lists(parts: Parts) -> Iterator[tuple[str, str, bytes]]:
    seed, hashed = parts[COVER][0][1], three().hashes[0]
    two, three_ = [2, node(seed, 2)], [3, node(seed, 3)]
    yield "cover-descending", "Nodes of a cover ascend.", with_part((COVER, [three_, two]))
    yield "cover-node-twice", "A node stands once in a cover.", with_part((COVER, [two, two]))
    yield "cover-node-0", "The first node is 1.", with_part((COVER, [[0, seed]]))
    yield "cover-node-512", "The last node is 511.", with_part((COVER, [[512, seed]]))
    yield "cover-value-short", "A node has 32 bytes.", with_part((COVER, [[1, seed[:31]]]))
    yield "cover-no-pairs", "A cover lists pairs.", with_part((COVER, [1, seed]))
    yield (
        "erased-outside",
        "An erased event lies between the first and the last place.",
        with_part((ERASED, [[9, hashed]])),
    )
    yield (
        "erased-before",
        "An erased event does not lie before the frame.",
        with_part((FIRST, 5), (ERASED, [[4, hashed]])),
    )
    yield "erased-twice", "An erased place stands once.", with_part((ERASED, [[2, hashed], [2, hashed]]))
    yield "erased-descending", "Erased places ascend.", with_part((ERASED, [[3, hashed], [2, hashed]]))
    yield "erased-hash-short", "A header hash has 32 bytes.", with_part((ERASED, [[2, hashed[:31]]]))


# -- unproven -------------------------------------------------------------------------------------------


def unproven() -> Iterator[tuple[str, str, str, bytes]]:
    """Name, what is wrong, outcome, frame: well-formed, and not what the device signed."""
    log, parts = three(), three().parts()
    seed, other = parts[COVER][0][1], flipped(parts[COVER][0][1], 0)
    yield "signature-wrong", "The head is signed by the log's device.", "wrong-signature", with_part(
        (SIGNATURE, flipped(parts[SIGNATURE], 0)))  # fmt: skip
    yield (
        "head-changed",
        "The signature covers the head.",
        "wrong-signature",
        with_part((HEAD, flipped(parts[HEAD], 9))),
    )
    yield "places-moved", "The signature covers the last place.", "wrong-signature", with_part((FIRST, 2))
    moved = [parts[KEY][0], flipped(parts[KEY][1], 0), "vault"]
    yield "log-moved", "The signature covers the log: no other incarnation.", "wrong-signature", with_part((KEY, moved))
    scoped = [*parts[KEY][:2], "work"]
    yield "scope-moved", "The signature covers the log: no other scope.", "wrong-signature", with_part((KEY, scoped))
    yield "seed-wrong", "Other salts do not lead to the head.", "broken-chain", with_part((COVER, [[1, other]]))
    yield "salt-missing", "Each event has its salt.", "broken-chain", with_part((COVER, [[256 + 1, leaf(seed, 1)]]))
    yield "cover-empty", "Without a cover no event is proven.", "broken-chain", with_part((COVER, []))
    swapped = list(reversed(parts[CLOCKS][1]))
    yield "clocks-swapped", "Clocks lead to the head.", "broken-chain", with_part((CLOCKS, [1, swapped]))
    yield "erased-hash-wrong", "The hash of an erased event leads to the head.", "broken-chain", wrong_hash(log)


def wrong_hash(log: Log) -> bytes:
    parts = log.parts(erased=(2,))
    parts[ERASED] = [[2, flipped(log.hashes[1], 0)]]
    return framed(parts)


def vectors() -> Iterator[Vector]:
    yield from accepted()
    for name, says, data in refused():
        yield asked(name, says, data, "not-canonical")
    for name, says, outcome, data in unproven():
        yield asked(name, says, data, outcome)


def asked(name: str, says: str, data: bytes, outcome: str) -> Vector:
    return Vector("frame", name, says, {"word": "frame", "frame": runs(data)}, {"outcome": outcome})
