"""Episodes: what they are called, whom they are about, and which chunks are theirs."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from protocol.vectors.generate.making import T0, flipped, runs
from protocol.vectors.generate.vector import Vector
from syncmem import labels
from syncmem.codec import pack

CHUNK = 48 * 1024
CONTENT = bytes([1]) * CHUNK + bytes([2]) * 100  # two chunks
PARTS = [CONTENT[:CHUNK], CONTENT[CHUNK:]]
TURN = b"I moved to Lisbon in May."


def episode(**given: Any) -> list[Any]:
    """The payload of a turn, but for what is given."""
    fields: dict[str, Any] = {
        "kind": "turn", "speaker": "person:ana", "at": T0, "conversation": None, "title": None,
        "media_type": "text/plain", "mentions": None, "text": True, "size": len(TURN), "content": TURN, "chunks": None,
        "source_kind": "user", "source_id": None, "extra": None,
    }  # fmt: skip
    return list((fields | given).values())


def document(**given: Any) -> list[Any]:
    """The payload of a longer one: the hashes of its chunks in the place of its content."""
    hashes = b"".join(sha256(labels.CHUNK + part).digest() for part in PARTS)
    large = {"kind": "document", "text": False, "media_type": "application/pdf", "size": len(CONTENT), "content": None}
    return episode(**{**large, "chunks": hashes, **given})


# name, what it shows, payload
READABLE: tuple[tuple[str, str, list[Any]], ...] = (
    ("turn", "Kind 15 is what was said: a small one carries it.", episode()),
    ("of-nobody", "Of an episode it need not be known who spoke.", episode(speaker=None)),
    ("of-everything", "Every field may be stated.",
     episode(conversation="chat 7", title="Moving", mentions=["person:bo"], source_id="m 1", extra={"zone": "UTC"})),
    ("empty", "An episode of no bytes is one.", episode(size=0, content=b"")),
    ("document", "A longer one names the hashes of its chunks, which lie elsewhere.", document()),
    ("later-fields", "Fields that a later version appends are not read, and make another id.", [*episode(), 5]),
)  # fmt: skip

# name, what is wrong, payload
KEPT: tuple[tuple[str, str, list[Any]], ...] = (
    ("kind-empty", "A kind is not empty.", episode(kind="")),
    ("kind-long", "A kind has at most 64 bytes.", episode(kind="k" * 65)),
    ("speaker-empty", "A speaker is not empty.", episode(speaker="")),
    ("time-after-9999", "An episode is of the years 1 to 9999.", episode(at=253_402_300_800_000_000)),
    ("time-missing", "An episode has a time.", episode(at=None)),
    ("mentions-no-text", "It mentions entities.", episode(mentions=[5])),
    ("media-type-empty", "A media type is not empty.", episode(media_type="")),
    ("text-an-integer", "Whether it is text is true or false.", episode(text=1)),
    ("size-wrong", "The size is that of the content.", episode(size=len(TURN) + 1)),
    ("text-not-utf-8", "What is called text is UTF-8.", episode(content=b"\xff", size=1)),
    ("content-and-chunks", "It holds its content or hashes of chunks, not both.", document(content=CONTENT[:9])),
    ("neither", "It holds one of them.", episode(content=None)),
    ("hash-missing", "There is a hash for each chunk.", document(chunks=bytes(32))),
    ("hash-cut-off", "A hash has 32 bytes.", document(chunks=bytes(63))),
    ("hash-too-many", "There is no hash more.", document(chunks=bytes(96))),
    ("chunks-of-nothing", "What has chunks is not empty.", document(size=0, chunks=b"")),
    ("too-long", "An episode has at most 64 MiB.", document(size=2**26 + 1, chunks=bytes(32 * 1366))),
)  # fmt: skip


def vectors() -> Iterator[Vector]:
    for name, says, payload in READABLE:
        yield asked(name, says, payload)
    for name, says, payload in KEPT:
        yield Vector("episode", name, says, question(payload), {"outcome": "kept"})
    yield asked("other-scope", "In another scope it is another episode.", episode(), "work")
    yield asked("other-time", "Said at another time it is another episode.", episode(at=T0 + 1))
    for number, part in enumerate(PARTS, 1):
        says = "A chunk has the hash that the episode names: 48 KiB of its content, or what is left of it."
        yield asked(f"chunk-{number}", says, document(), chunk=part, number=number)
    for name, says, part, number in (
        ("chunk-changed", "A chunk with another bit is none of the episode.", flipped(PARTS[1], 0), 2),
        ("chunk-elsewhere", "A chunk has its place.", PARTS[1], 1),
        ("chunk-beyond", "There is no chunk behind the last.", PARTS[1], 3),
        ("chunk-cut-off", "A chunk that was cut off is none.", PARTS[1][:-1], 2),
    ):
        yield asked(name, says, document(), chunk=part, number=number, outcome="refused")


def question(payload: list[Any], scope: str = "vault") -> dict[str, Any]:
    return {"word": "episode", "scope": scope, "payload": runs(pack(payload))}


def asked(
    name: str, says: str, payload: list[Any], scope: str = "vault", outcome: str = "accepted",
    chunk: bytes | None = None, number: int = 0,
) -> Vector:  # fmt: skip
    id = sha256(labels.EPISODE + pack(scope) + pack(payload)).digest()[:16].hex()
    speaker, mentions, chunks = payload[1], payload[6] or [], payload[10] or b""
    entities = [f"episode:{id}", *([speaker] if speaker else []), *mentions]
    ask = question(payload, scope) | ({} if chunk is None else {"chunk": runs(chunk), "number": number})
    answer = {"outcome": outcome, "id": id, "entities": entities, "chunks": len(chunks) // 32}
    return Vector("episode", name, says, ask, answer)
