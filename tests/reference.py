"""The belief rule, written down plainly: what every replica must believe.

This is the reference that the engine is checked against.  It follows the rule's own formulas one by
one, is quadratic, keeps nothing between calls and shares no code with the package.  An event is a
``dict`` in the form of the worked cases: ``id, device, seq, hlc, op, value, mode, observed_at,
valid_from, valid_to, on_end, at, target, corrects, batch, trust, source, ttl, stale_after, stale_trust``.
Times are integers; ``NONE`` is the value "known to have none".
"""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]
NONE = "(none)"
FOREVER = float("inf")
TIE_WINDOW = 5 * 60 * 1_000_000  # two devices that speak within five minutes contradict each other
CLAIMS = ("assert", "affirm")


def prepared(event: Event) -> Event:
    """The event with its defaults: clamped observation, start, anchor, stop, overlay and sort keys."""
    e = dict(event)
    e["trust"] = e.get("trust", 2)
    e["obs"] = min(e["observed_at"], e["hlc"]) if e.get("observed_at") is not None else e["hlc"]
    given = e.get("at") if e["op"] == "end" else e.get("valid_from")
    e["start"] = e["obs"] if given is None else given
    bounds = [e[name] for name in ("valid_to", "expires_at") if e.get(name) is not None]
    e["bounded"] = bool(bounds) and e["op"] in CLAIMS
    e["then"] = e.get("on_end") or ("resume" if bounds and min(bounds) > e["obs"] else "vacate")
    e["overlay"] = int(e["bounded"] and e["then"] == "resume")
    e["period"] = e["bounded"] and not e["overlay"]
    change = e.get("mode") == "change" and not e["bounded"]
    e["anchor"] = e["obs"] if e["overlay"] else e["start"] if change else max(e["start"], e["obs"])
    e["stop"] = min(bounds, default=FOREVER)
    if not e["bounded"] and e.get("ttl") is not None:
        e["stop"] = e["anchor"] + e["ttl"]
    settle(e)
    return e


def settle(e: Event) -> None:
    """Set the three orders of an event: spoken, rank, and the strength of its ray."""
    e["spoken"] = (e["obs"], e["start"], e["hlc"], e["device"], e["seq"])
    e["rank"] = (e["anchor"], *e["spoken"])
    e["strength"] = (e["start"], *e["spoken"]) if e["period"] else e["rank"]


def may_act(actor: Event, target: Event) -> bool:
    """Authority to retract, correct, undo or withdraw: enough trust, or the same source and device."""
    own = actor.get("source") is not None and actor.get("source") == target.get("source")
    return actor["trust"] >= target["trust"] or (own and actor["device"] == target["device"])


def live_events(events: list[Event]) -> list[Event]:
    """The events that count, in the rule's order: undo, batches, retractions and corrections, denials."""
    known = {e["id"]: e for e in events}
    undos = [e for e in events if e["op"] == "undo"]

    def standing(e: Event) -> bool:
        return not any(u["target"] == e["id"] and standing(u) and hit(u, e) for u in undos)

    def hit(actor: Event, e: Event) -> bool:
        if may_act(actor, e):
            return True
        e["disputed"] = True
        return False

    events = [e for e in events if standing(e)]
    drawn = [e for e in events if e["op"] == "retract_batch"]
    members = ("undo", "retract_batch")
    events = [
        e
        for e in events
        if e["op"] in members
        or e.get("batch") is None
        or not [1 for r in drawn if r["batch"] == e["batch"] and hit(r, e)]
    ]
    taking = [(r, t) for r in events for t in [*r.get("corrects", ()), *[r.get("target")] * (r["op"] == "retract")]]
    gone = {t for r, t in taking if t in known and known[t]["op"] in (*CLAIMS, "end", "deny") and hit(r, known[t])}
    events = [e for e in events if e["id"] not in gone]
    for c in [e for e in events if e["op"] in CLAIMS]:
        for n in [e for e in events if e["op"] == "deny"]:
            if n["value"] == c["value"] and n["spoken"] > c["spoken"]:
                if n["trust"] >= c["trust"]:
                    gone.add(c["id"])
                else:
                    c["disputed"] = True
    events = [e for e in events if e["id"] not in gone]
    alive = {e["id"] for e in events}
    return [e for e in events if e["op"] != "end" or e.get("target") not in known or e["target"] in alive]


def pieces(claims: list[Event]) -> list[Event]:
    """Claims as they count: restatements during a temporary claim absorbed, ageing claims in two pieces."""
    result: list[Event] = []
    for c in claims:
        during = [
            b["stop"]
            for b in claims
            if b["overlay"]
            and b["value"] == c["value"]
            and b["trust"] >= c["trust"]
            and b["start"] <= c["obs"] < b["stop"]
        ]
        plain = not c["bounded"] and c.get("mode", "state") == "state" and c.get("valid_from") is None
        if plain and during:
            c = {**c, "overlay": 1, "op": "affirm", "anchor": c["obs"], "stop": max(during), "mute": True}
            settle(c)
        elif not c["bounded"] and c.get("stale_after") is not None:
            aged = c["anchor"] + c["stale_after"]
            rest = {**c, "trust": min(c["trust"], c["stale_trust"]), "from": max(c["start"], aged), "mute": True}
            result.append(rest)
            c = {**c, "until": aged}
        result.append(c)
    return result


def effective_end(c: Event, rays: list[Event], ends: list[Event]) -> Any:
    """Where piece ``c`` stops, by its own stop, the rays that close it and the ends that hit it."""
    limits = [c["stop"], c.get("until", FOREVER)]
    limits += [d["start"] for d in rays if d["id"] != c["id"] and closes(d, c)]
    limits += [e["start"] for e in ends if e["trust"] >= c["trust"] and hits(e, c)]
    return min(limits)


def closes(d: Event, c: Event) -> bool:
    if d["trust"] < c["trust"]:
        return False
    if c["overlay"]:
        return d["op"] == "assert" and d["start"] > c["start"] and d["spoken"] > c["spoken"]
    return bool(d["strength"] > c["rank"])


def hits(e: Event, c: Event) -> bool:
    """Whether an end speaks about a claim, trust aside."""
    reach = c["start"] <= e["obs"] if e.get("mode", "state") == "state" else c["start"] < e["start"]
    later = e["spoken"] > c["spoken"] if c["overlay"] else e["rank"] > c["rank"]
    return bool(e["value"] == c["value"] and reach and later)


def segments(events: list[Event]) -> list[tuple[Any, Any, Any, bool]]:
    """The single-valued timeline of one slot's events: ``(from, to, value, contested)``, uncoalesced."""
    return folded(live_events([prepared(e) for e in events]))


def folded(live: list[Event]) -> list[tuple[Any, Any, Any, bool]]:
    """The timeline of live events that all compete for one place."""
    claims = [e for e in live if e["op"] in CLAIMS and e["start"] < e["stop"]]
    ends = [e for e in live if e["op"] == "end"]
    for p in [c for c in claims if c["period"]]:
        end = {**p, "mode": "change", "start": p["stop"], "anchor": p["stop"], "period": False}
        settle(end)
        ends.append(end)
    counted = pieces(claims)
    rays = [d for d in counted if not d["overlay"] and not d.get("mute")]
    for c in counted:
        c["from"] = c.get("from", c["start"])
        c["end"] = effective_end(c, rays, ends)
    marks = sorted(
        {m for c in counted for m in (c["from"], c["end"], c["stop"]) if m != FOREVER}
        | {e["start"] for e in [*ends, *rays]}
    )
    result = []
    for t, until in zip(marks, [*marks[1:], FOREVER], strict=False):
        covering = [c for c in counted if c["from"] <= t < c["end"]]
        if covering:
            w = max(covering, key=lambda c: (c["trust"], c["overlay"], *c["rank"]))
            result.append((t, until, w["value"], contested(w, t, covering, counted, rays, ends)))
    return result


def contested(
    w: Event, t: Any, covering: list[Event], counted: list[Event], rays: list[Event], ends: list[Event]
) -> bool:
    def tied(a: Event, b: Event) -> bool:
        return bool(a["trust"] == b["trust"] and a["device"] != b["device"] and abs(a["obs"] - b["obs"]) <= TIE_WINDOW)

    def tied_out(c: Event) -> bool:
        """Whether only tied claims keep ``c`` from covering ``t``."""
        if c["overlay"] or not c["from"] <= t < effective_end(c, [], ends):
            return False
        closing = [d for d in rays if d["id"] != c["id"] and d["start"] <= t and closes(d, c)]
        before = [d for d in closing if d["start"] <= c["start"]]
        return all(
            tied(d, c)
            for d in [
                *[d for d in closing if d["start"] > c["start"]],
                *sorted(before, key=lambda d: (d["trust"], *d["strength"]))[-1:],
            ]
        )

    rivals = [c for c in covering if c["value"] != w["value"]]
    ignored = [e for e in ends if e["trust"] < w["trust"] and e["start"] <= t and hits(e, w)]
    return (
        bool(w.get("disputed") or ignored)
        or any(c["obs"] > w["obs"] and (c["trust"], c["overlay"]) < (w["trust"], w["overlay"]) for c in rivals)
        or any(tied(c, w) and c["value"] != w["value"] for c in [*rivals, *filter(tied_out, counted)])
    )


def timeline(events: list[Event], many: bool = False) -> list[list[Any]]:
    """The believed timeline ``[from, to or None, value]`` of one slot, coalesced by value, in order."""
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
    return [[a, None if b == FOREVER else b, v] for a, b, v in result]
