"""What a claim weighs on the wire, at 1, 3, 16 and 256 claims a sync.

A device writes real claims and syncs after so many of them.  Counted are sealed blobs as a mailbox keeps
them: signature, tag and padding included, and the state that each sync tells.  Beside them, as the
"baseline", stand the same claims as compact JSON.  The claims are those of shared data sets, which lie
beside the checkout; those of lettabench are remembered with their episode and span.

Reach (first stage): at most 25 bytes a claim of ourairports at 256 claims a sync.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from syncmem import Environment, ManualClock, Memory, Source
from syncmem.environment import seeded_randomness
from syncmem.sync.in_memory import InMemoryServer
from tests import histories, shared
from tests.benchmarks.measuring import Row, at_most
from tests.benchmarks.workshop import Workshop
from tests.histories import History

REACH = 25.0
PER_SYNC = (1, 3, 16, 256)
REACHED_AT = 256
FOLDERS = {"ourairports": REACH, "lettabench": None}


class Sizes(NamedTuple):
    syncs: int
    claims: int  # at most, however many syncs


SIZES = {
    "small": Sizes(syncs=2, claims=300),
    "quick": Sizes(syncs=40, claims=6_000),
    "full": Sizes(syncs=200, claims=30_000),
}


def run(workshop: Workshop) -> list[Row]:
    rows = []
    for name, reach in FOLDERS.items():
        folder = shared.ROOT / "data" / name
        if not folder.exists():
            print(f"wire: {name} is not beside the checkout; set SYNCMEM_SHARED")
            continue
        history = History.read(folder)
        claims = [edit for edit in history.edits if edit["op"] == "assert"]
        write = _with_episode(claims) if name == "lettabench" else _plainly
        for count in PER_SYNC:
            row = _row(f"{name}, {count} a sync", history, claims, count, write, SIZES[workshop.scale])
            row.reach = at_most(reach) if reach and count == REACHED_AT else None
            rows.append(row)
    return rows


Edit = dict[str, Any]
Write = Callable[[Memory, Edit], object]


def _row(what: str, history: History, claims: Sequence[Edit], count: int, write: Write, sizes: Sizes) -> Row:
    """Bytes a claim over some syncs of ``count`` claims each."""
    used = claims[: min(sizes.claims, sizes.syncs * count, len(claims) // count * count)]
    plain = sum(len(json.dumps(_said(edit), ensure_ascii=False, separators=(",", ":")).encode()) for edit in used)
    clock = ManualClock(histories._micros(used[0]["recorded_at"]))
    world = Environment(clock=clock, randomness=seeded_randomness(count), open_mailbox=InMemoryServer().mailbox)
    with Memory(":memory:", environment=world) as memory:
        _settled(memory, history, used)
        syncs = [_sent(memory, part, write) for part in _parts(used, count)]
    sent = sum(syncs)
    more = {"claims": len(used), "syncs": len(syncs), "smallest": min(syncs), "largest": max(syncs)}
    return Row(f"bytes a claim, {what}", sent / len(used), "bytes", plain / len(used), sent / plain, more=more)


def _settled(memory: Memory, history: History, claims: Sequence[Edit]) -> None:
    """A vault that knows all predicates, with nothing left to send."""
    memory.create_vault("writer")
    for predicate in sorted({edit["predicate"] for edit in claims}):
        memory.define(predicate, cardinality=history.cardinality(predicate))
    memory.add_mailbox("memory:")
    memory.sync()
    assert not memory.sync().mailboxes[0].sent


def _sent(memory: Memory, part: Sequence[Edit], write: Write) -> int:
    """The bytes of the blobs that a sync sends after some claims."""
    histories._set_clock(memory, histories._micros(part[-1]["recorded_at"]))
    with memory.transaction():
        for edit in part:
            write(memory, edit)
    (report,) = memory.sync().mailboxes
    assert report.error is None
    return report.sent_bytes


def _plainly(memory: Memory, edit: Edit) -> None:
    histories._write(memory, edit, {})


def _with_episode(claims: Sequence[Edit]) -> Write:
    """Remembers a claim with the episode it is of, and its place there as if claims stood one after the other."""
    places: dict[str, tuple[int, int]] = {}
    ends: dict[str, int] = {}
    for edit in claims:
        begin = ends.get(edit["batch"], 0)
        ends[edit["batch"]] = begin + len(edit["value"]) + 1
        places[edit["id"]] = (begin, begin + len(edit["value"]))

    def write(memory: Memory, edit: Edit) -> None:
        source = Source("model", edit["source"], edit["batch"], places[edit["id"]])
        memory.remember(edit["entity"], edit["predicate"], edit["value"], trust=edit["trust"], source=source)

    return write


def _said(edit: Edit) -> list[Any]:
    names = ("entity", "predicate", "value", "valid_from", "valid_to", "source", "batch", "trust")
    return [edit[name] for name in names]


def _parts(claims: Sequence[Edit], count: int) -> Iterator[list[Edit]]:
    rest = iter(claims)
    while part := list(islice(rest, count)):
        yield part
