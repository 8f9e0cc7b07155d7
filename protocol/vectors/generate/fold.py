"""Beliefs: the worked and the random cases of the belief rule, and what they do not touch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from protocol.vectors.generate import fold_more, fold_names
from protocol.vectors.generate.believing import Row, believed, day, define, logs
from protocol.vectors.generate.making import DAY, Log, said
from protocol.vectors.generate.vector import LINES, Vector
from tests.contest import coalesced
from tests.reference import FOREVER, NONE, live_events, prepared, winners

CASES = Path(__file__).parent / "cases"
KINDS = {"assert": 1, "affirm": 2, "end": 3, "deny": 4}
TIMES = ("hlc", "observed_at", "valid_from", "valid_to", "expires_at", "at")
LENGTHS = ("ttl", "stale_after")
NOWHERE = [bytes(16), 1, bytes(16)]  # a reference to what was never written
Case = dict[str, Any]


def vectors() -> Iterator[Vector]:
    for batch in LINES:
        for line in (CASES / f"{batch}.jsonl").read_text(encoding="utf-8").splitlines():
            yield of_case(batch, json.loads(line))
    yield from fold_more.vectors()
    yield from fold_names.vectors()


def of_case(batch: str, case: Case) -> Vector:
    """A case as bytes; what is right is what the case says, and for trust and contest the plain reference."""
    events = [scaled(event) for event in case["events"]]
    rows = rectangles(events)
    assert coalesced([(a, b or FOREVER, v) for a, b, v, *_ in rows]) == [
        [day(a), None if b is None else day(b), None if v == NONE else v] for a, b, v in case["expect"]
    ], case["n"]
    return believed("fold", f"{batch}-{case['n']}", f"{case['title']}.", written(events), rows)


def scaled(event: Case) -> Case:
    """An event with instants for ticks, lengths for numbers of ticks, and its place."""
    made = {**event, "seq": int("".join(filter(str.isdigit, event["id"])))}
    made |= {name: day(event[name]) for name in TIMES if event.get(name) is not None}
    return made | {name: event[name] * DAY for name in LENGTHS if event.get(name) is not None}


def rectangles(events: Sequence[Case]) -> list[Row]:
    """The believed timeline by the plain reference, neighbours alike in value, trust and contest as one."""
    rows: list[Row] = []
    for start, end, winner, contested in winners(live_events([prepared(event) for event in events])):
        value = None if winner["value"] == NONE else winner["value"]
        row = (start, None if end == FOREVER else end, value, winner["trust"], contested)
        if rows and rows[-1][1] == start and rows[-1][2:] == row[2:]:
            row = (rows.pop()[0], *row[1:])
        rows.append(row)
    return rows


def written(events: Sequence[Case]) -> list[Log]:
    """The logs of a case; names of devices sort like the ids of their logs."""
    names = sorted({event["device"] for event in events})
    definitions, *others = logs(len(names) + 1)
    define(definitions, {"cardinality": "single"})
    of, refs = dict(zip(names, others, strict=True)), dict[str, Any]()
    pending = sorted(events, key=lambda event: (event["device"], event["seq"]))
    while pending:  # a reference needs its target's bytes first
        event = next(e for e in pending if writable(e, pending))
        pending.remove(event)
        refs[event["id"]] = of[event["device"]].write(*as_event(event, refs))
    return [definitions, *others]


def writable(event: Case, pending: Sequence[Case]) -> bool:
    """Whether an event is the next of its device, and everything that it names is written."""
    first = next(e for e in pending if e["device"] == event["device"])
    named = {*event.get("corrects", ()), event.get("target")}
    return first is event and not named & {e["id"] for e in pending}


def as_event(event: Case, refs: dict[str, Any]) -> tuple[int, int, list[Any]]:
    """Kind, clock and payload."""
    trust, source, batch = event.get("trust", 2), event.get("source"), event.get("batch")
    by = [trust, source, source]
    target = refs.get(event.get("target", ""), NOWHERE)
    if event["op"] == "retract":
        return 5, event["hlc"], [[target], *by, batch, None]
    if event["op"] == "retract_batch":
        return 6, event["hlc"], [batch, *by, None]
    if event["op"] == "undo":
        return 7, event["hlc"], [[target], *by, None]
    return KINDS[event["op"]], event["hlc"], statement(event, refs, by)


def statement(event: Case, refs: dict[str, Any], by: list[Any]) -> list[Any]:
    stop = min((event[name] for name in ("valid_to", "expires_at") if event.get(name) is not None), default=None)
    named = [refs.get(name, NOWHERE) for name in event.get("corrects", ())]
    if event["op"] == "end" and event.get("target"):
        named.append(refs.get(event["target"], NOWHERE))
    extra = {name: event[name] for name in (*LENGTHS, "stale_trust") if event.get(name) is not None}
    return said(
        None if event["value"] == NONE else event["value"],
        form=int(event.get("mode") == "change"),
        observed_at=event.get("observed_at"),
        start=event.get("at") if event["op"] == "end" else event.get("valid_from"),
        stop=stop, then=then(event, stop), trust=by[0], source_kind=by[1], source_id=by[2],
        batch=event.get("batch"), refs=named or None, extra=extra or None,
    )  # fmt: skip


def then(event: Case, stop: int | None) -> int:
    """0 open, 1 resume, 2 vacate: a writer settles this, a reader finds it settled."""
    if stop is None:
        return 0
    seen = event["hlc"] if event.get("observed_at") is None else min(event["observed_at"], event["hlc"])
    return 1 if (event.get("on_end") or ("resume" if stop > seen else "vacate")) == "resume" else 2
