"""Writes ``protocol/examples.md``: one message of each kind, taken apart; the bytes are those of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from protocol.vectors.generate.vector import FOLDER, Vector
from syncmem.codec import pack_flat, unpack_outer

PATH = FOLDER.parent / "examples.md"
WIDTH = 24  # bytes on a line
Part = tuple[bytes, str]

STATEMENT = (
    "entity", "predicate", "value", "form: state", "observed at", "start", "latest start: nil", "stop: nil",
    "then: open", "trust", "source kind", "source id", "batch", "refs", "extra",
)  # fmt: skip
HEADER = ("log id", "place", "kind: claim", "clock", "commitment", "length of the payload")
FRAME = (
    "the log: device key, incarnation, scope", "first place", "kinds, mode 1", "clocks, mode 1", "shapes, mode 1",
    "groups: one of arity -1, the payloads as they are", "cover: the whole tree", "erased events: none",
    "head after the last event", "signature of log id, last place and head",
)  # fmt: skip
CONTENT = ("kind: genesis", "vault: none yet", "parents: none", "signer", "time", "body")
REQUEST = (
    *("version", "write key", "puts: stream, counter, size", "cursors: none", "inline bytes", "drop key: none"),
    "making room: no",
)
ANSWER = (
    "version", "epoch of the mailbox", "results: none", "ends: how far each stream goes",
    "listed: stream, counter, digest, size, whether it comes along", "more",
)  # fmt: skip
DROP = ("version", "write key", "names: stream, counter, digest", "reason", "signatures: drop key, signature")
INTRODUCTION = """# Messages, byte by byte

One of each kind. Written by `python -m protocol.vectors.generate`, which takes them from `vectors/`; the names are
those of README.md, beliefs.md and mailbox.md. An array's line is its head; what is in it follows.
"""


def text(vectors: Sequence[Vector]) -> str:
    found = {f"{vector.area}/{vector.name}": vector for vector in vectors}
    return INTRODUCTION + "".join(_section(title, name, found[name], parts) for title, name, parts in EXAMPLES)


def _section(title: str, name: str, vector: Vector, parts: Callable[[Vector], Iterator[Part]]) -> str:
    lines = [line for part in parts(vector) for line in _lines(*part)]
    return f"\n## {title}\n\n`vectors/{name}.json`: {vector.says}\n\n" + "".join(f"    {line}\n" for line in lines)


def _lines(data: bytes, what: str) -> Iterator[str]:
    rows = [data[place : place + WIDTH].hex() for place in range(0, len(data), WIDTH)] or [""]
    yield f"{rows[0]:<{2 * WIDTH}}  {what}".rstrip()
    yield from rows[1:]


def array(data: bytes, what: str, names: Sequence[str]) -> Iterator[Part]:
    """An array: its head, then each entry."""
    entries = [pack_flat(entry) for entry in unpack_outer(data)]
    assert len(entries) == len(names), what
    yield data[: len(data) - sum(map(len, entries))], what
    yield from zip(entries, names, strict=True)


def cut(data: bytes, *sizes: tuple[int, str]) -> Iterator[Part]:
    """Bytes in pieces of these sizes; the last takes the rest."""
    for size, what in sizes[:-1]:
        yield data[:size], what
        data = data[size:]
    yield data, sizes[-1][1]


def asked(vector: Vector, field: str) -> bytes:
    return bytes.fromhex(vector.ask[field])


# -- the messages ---------------------------------------------------------------------------------------


def _payload(vector: Vector) -> Iterator[Part]:
    yield from array(asked(vector, "payload"), "payload: an array of 15", STATEMENT)


def _header(vector: Vector) -> Iterator[Part]:
    yield asked(vector, "salt"), "salt of place 1 (not part of the header)"
    yield from array(bytes.fromhex(vector.answer["header"]), "header: an array of 6", HEADER)
    yield bytes.fromhex(vector.answer["hash"]), "H, of which the first 16 bytes are the event id"
    yield bytes.fromhex(vector.answer["head"]), "head after the event, which is the first of its log"


def _frame(vector: Vector) -> Iterator[Part]:
    data = asked(vector, "frame")
    yield data[:1], "codec: as it is"
    yield from array(data[1:], "body: an array of 10", FRAME)


def _bundle(vector: Vector) -> Iterator[Part]:
    data = asked(vector, "bundle")
    size = int.from_bytes(data[17:21], "big")
    yield from cut(
        data, (17, "magic"), (4, "length"), (size, "a frame"), (4, "length"),
        (0, "the end: number of frames, digest of all of them"),
    )  # fmt: skip


def _statement(vector: Vector) -> Iterator[Part]:
    content, signature = unpack_outer(asked(vector, "statement"))
    yield b"\x92", "statement: an array of 2"
    packed = pack_flat(content)
    yield packed[: len(packed) - len(content)], "content: bytes, which are"
    yield from array(content, "an array of 6", CONTENT)
    yield pack_flat(signature), "signature of the content"


def _wrap(vector: Vector) -> Iterator[Part]:
    sealed = "ciphertext of epoch key and subject key, with tag"
    yield from cut(asked(vector, "wrap"), (32, "encapsulated key"), (0, sealed))


def _envelope(vector: Vector) -> Iterator[Part]:
    yield from cut(
        asked(vector, "envelope"), (4, "magic"), (1, "suite"), (8, "start of the epoch id"), (24, "salt"),
        (32, "proof"), (0, "ciphertext of length, plaintext and zeros, with tag"),
    )  # fmt: skip


def _blob(vector: Vector) -> Iterator[Part]:
    data = asked(vector, "blob")
    names = ["the head: format, device key, incarnation, counter, state", "kind 3: wants", "signature"]
    while data:
        size = int.from_bytes(data[:4], "big")
        yield data[:4], "length"
        yield data[4 : 4 + size], names.pop(0)
        data = data[4 + size :]


def _message(names: Sequence[str], rest: Sequence[tuple[int, str]]) -> Callable[[Vector], Iterator[Part]]:
    """The length of a head, the head, and what follows it."""

    def parts(vector: Vector) -> Iterator[Part]:
        data = asked(vector, "bytes")
        size = int.from_bytes(data[:4], "big")
        yield data[:4], "length of the head"
        yield from array(data[4 : 4 + size], f"head: an array of {len(names)}", names)
        yield from cut(data[4 + size :], *rest)

    return parts


EXAMPLES: tuple[tuple[str, str, Any], ...] = (
    ("Payload", "event/claim", _payload),
    ("Event", "event/claim", _header),
    ("Frame", "frame/plain", _frame),
    ("Bundle", "bundle/one-frame", _bundle),
    ("Wrap", "keys/unwrap", _wrap),
    ("Statement", "statement/genesis", _statement),
    ("Envelope", "envelope/open", _envelope),
    ("Blob", "blob/wants", _blob),
    ("Request to a mailbox", "mailbox/exchange-puts",
     _message(REQUEST, [(6, "the first blob"), (3, "the second blob"), (0, "signature with the write key")])),
    ("Answer of a mailbox", "mailbox/answer-listed", _message(ANSWER, [(0, "the blob that comes along")])),
    ("Request to drop", "mailbox/drop-erase-by-one", _message(DROP, [(0, "signature with the write key")])),
)  # fmt: skip
