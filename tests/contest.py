"""The plain reference for what is contested, and for timelines of whole slots (see tests/reference.py)."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]
TIE_WINDOW = 5 * 60 * 1_000_000  # microseconds; two devices that speak so close contradict each other


def writer(event: Event) -> Any:
    """Who wrote an event: a device may write several logs, one after the other (cases name logs by their devices)."""
    return event.get("writer", event["device"])


def tied(a: Event, b: Event) -> bool:
    return bool(a["trust"] == b["trust"] and writer(a) != writer(b) and abs(a["obs"] - b["obs"]) <= TIE_WINDOW)


def tied_out(c: Event, t: Any, rays: list[Event], ends: list[Event]) -> bool:
    """Whether only claims that it is tied with keep ``c`` from covering ``t``."""
    from tests.reference import closes, effective_end

    if c["overlay"] or c.get("mute") or not c["from"] <= t < effective_end(c, [], ends):
        return False
    closing = [d for d in rays if d["id"] != c["id"] and d["start"] <= t and closes(d, c)]
    before = sorted((d for d in closing if d["start"] <= c["start"]), key=lambda d: (d["trust"], *d["strength"]))
    return all(tied(d, c) for d in [*[d for d in closing if d["start"] > c["start"]], *before[-1:]])


def contested(
    w: Event, t: Any, covering: list[Event], counted: list[Event], rays: list[Event], ends: list[Event]
) -> bool:
    """Whether the winner ``w`` at ``t`` is contradicted by something that lost by trust, by layer or by a tie."""
    from tests.reference import hits

    rivals = [c for c in covering if c["value"] != w["value"]]
    ignored = [e for e in ends if e["trust"] < w["trust"] and e["start"] <= t and hits(e, w)]
    outranked = [c for c in rivals if c["obs"] > w["obs"] and (c["trust"], c["overlay"]) < (w["trust"], w["overlay"])]
    contenders = [*rivals, *(c for c in counted if c["value"] != w["value"] and tied_out(c, t, rays, ends))]
    return bool(w.get("disputed") or ignored or outranked or any(tied(c, w) for c in contenders))


def timeline(events: list[Event], many: bool = False) -> list[list[Any]]:
    """The believed timeline ``[from, to or None, value]`` of one slot, coalesced by value, in order."""
    from tests.reference import CLAIMS, NONE, folded, live_events, prepared, segments

    if not many:
        return coalesced([(a, b, v) for a, b, v, _ in segments(events)])
    live = live_events([prepared(e) for e in events])
    values = sorted({e["value"] for e in live if e["op"] in CLAIMS} - {NONE})
    lanes = {v: folded([e for e in live if e.get("value") in (v, NONE)]) for v in values}
    present = [row for v in values for row in coalesced([(a, b, x) for a, b, x, _ in lanes[v] if x == v])]
    return sorted(present, key=lambda row: (row[0], str(row[2])))


def coalesced(rows: list[tuple[Any, Any, Any]]) -> list[list[Any]]:
    result: list[list[Any]] = []
    for start, end, value in rows:
        if result and result[-1][1] == start and result[-1][2] == value:
            result[-1][1] = end
        else:
            result.append([start, end, value])
    return [[a, None if b == float("inf") else b, v] for a, b, v in result]
