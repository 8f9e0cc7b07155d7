"""What the bytes of sealed blobs are, part by part.

A blob is of one of three kinds: "claims" (it tells of events that are no notes), "reports" (it tells what its device
holds: digests, frontier notes), "written anew" (it takes the places of others).  Notes and claims share a frame; what
is a note's of it is its share of the payloads and of what each event takes beside them.
"""

from __future__ import annotations

from collections import Counter

from syncmem.codec import unpack
from syncmem.model.event import Event, Kind
from syncmem.model.frame import Frame
from syncmem.seal.envelope import OVERHEAD_BYTES, EpochKey, unseal
from syncmem.wire.blob import ItemKind, pieces_of
from syncmem.wire.frames import read_frame

LENGTH_BYTES = 4
EVENT_BYTES = 12  # of an event beside its payload, in columns: mostly its clock
NAMES = {
    ItemKind.STATEMENT: "the roster",
    ItemKind.NOTED: "notes told of",
    ItemKind.OFFER: "offers",
    ItemKind.REPLACED: "places replaced",
}


def parts_of(key: EpochKey, sealed: bytes) -> tuple[str, Counter[str]]:
    """The kind of a blob, and the bytes of its parts."""
    plain = unseal(key, sealed)
    first, *items, signature = pieces_of(plain)
    parts = Counter({"envelope": OVERHEAD_BYTES + LENGTH_BYTES, "signature": len(signature)})
    parts["padding"] = len(sealed) - OVERHEAD_BYTES - LENGTH_BYTES - len(plain)
    parts["lengths and kinds"] = LENGTH_BYTES * (len(items) + 2) + len(items)
    parts["writer and state"] = len(first)
    said = 0
    for item in items:
        kind, body = item[0], item[1:]
        if kind != ItemKind.FRAME:
            parts[NAMES.get(ItemKind(kind), "other items")] += len(body)
            continue
        frame = read_frame(body)
        share, others = _notes(frame)
        said += others
        parts["frames: notes"] += round(share * len(body))
        parts["frames: claims"] += len(body) - round(share * len(body))
    assert parts.total() == len(sealed) and unpack(first)
    if parts["offers"] or parts["places replaced"]:
        return "written anew", parts
    return "claims" if said or parts["the roster"] else "reports", parts


def _notes(frame: Frame) -> tuple[float, int]:
    """The share of notes in a frame's bytes, and how many other events it has."""
    sizes = [(e.kind == Kind.FRONTIER, len(e.payload) + EVENT_BYTES) for e in frame.events if isinstance(e, Event)]
    notes = sum(size for is_note, size in sizes if is_note)
    return notes / max(sum(size for _, size in sizes), 1), sum(not is_note for is_note, _ in sizes)
