"""The belief rule, written down plainly: what every replica must believe.

The engine is checked against this. It follows the rule's formulas one by one, is quadratic, keeps
nothing between calls and shares no code with the package. An event is a dict in the form of the worked
cases (see tests/scenarios.py); times are integers; NONE is the value "known to have none".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.contest import contested, writer
from tests.contest import timeline as timeline
from tests.evidence import CLAIMS, founded, reached

Event = dict[str, Any]
NONE = "(none)"
FOREVER = float("inf")


def prepared(event: Event) -> Event:
    """The event with its defaults: clamped observation, start, anchor, stop, overlay and orders."""
    e = {"trust": 2, "mode": "state", **event}
    e["obs"] = min(e["observed_at"], e["hlc"]) if e.get("observed_at") is not None else e["hlc"]
    given = e.get("at") if e["op"] == "end" else e.get("valid_from")
    e["start"] = e["obs"] if given is None else given
    bounds = [e[name] for name in ("valid_to", "expires_at") if e.get(name) is not None]
    e["bounded"] = bool(bounds) and e["op"] in CLAIMS
    e["overlay"] = int(e["bounded"] and (e.get("on_end") or ("resume" if min(bounds) > e["obs"] else "")) == "resume")
    e["period"] = e["bounded"] and not e["overlay"]
    change = e["mode"] == "change" and not e["bounded"]
    e["anchor"] = e["obs"] if e["overlay"] else e["start"] if change else max(e["start"], e["obs"])
    e["stop"] = min(bounds, default=FOREVER)
    if not e["bounded"] and e.get("ttl") is not None:
        e["stop"] = e["anchor"] + e["ttl"]
    return ordered(e)


def ordered(e: Event) -> Event:
    """Set the three orders of an event: spoken, rank, and the strength of its ray."""
    e["spoken"] = (e["obs"], e["start"], e["hlc"], e["device"], e["seq"])
    e["rank"] = (e["anchor"], *e["spoken"])
    e["strength"] = (e["start"], *e["spoken"]) if e["period"] else e["rank"]
    return e


def hit(actor: Event, target: Event) -> bool:
    """Whether the actor may take the target back: enough trust, or the same source and device; else a dispute."""
    own = actor.get("source") is not None and actor.get("source") == target.get("source")
    allowed = bool(actor["trust"] >= target["trust"] or (own and writer(actor) == writer(target)))
    target["disputed"] = target.get("disputed", False) or not allowed
    return allowed


def live_events(events: list[Event]) -> list[Event]:
    """The events that count, in the rule's order: undo, batches, retractions and corrections, denials."""

    def standing(e: Event) -> bool:
        naming = [u for u in events if u["op"] == "undo" and e["id"] in u.get("targets", [u.get("target")])]
        return not any(hit(u, e) for u in naming if standing(u))

    known, stand = {e["id"]: e for e in events}, [e for e in events if standing(e)]
    drawn = [e for e in stand if e["op"] == "retract_batch"]
    kept = [
        e
        for e in stand
        if e["op"] in ("undo", "retract_batch")
        or e.get("batch") is None
        or not any(hit(r, e) for r in drawn if r["batch"] == e["batch"])
    ]
    taking = [(r, t) for r in kept for t in [*r.get("corrects", ()), *[r.get("target")] * (r["op"] == "retract")]]
    named = [(r, known[t]) for r, t in taking if t in known and known[t]["op"] in (*CLAIMS, "end", "deny")]
    gone = {t["id"] for r, e in named for t in reached(r, e, events) if hit(r, t)}
    kept = [e for e in kept if e["id"] not in gone]
    for n in [e for e in kept if e["op"] == "deny"]:
        for c in [e for e in kept if e["op"] in CLAIMS and e["value"] == n["value"] and n["spoken"] > e["spoken"]]:
            gone |= {c["id"]} if n["trust"] >= c["trust"] else set()
            c["disputed"] = c.get("disputed", False) or n["trust"] < c["trust"]
    kept = founded([e for e in kept if e["id"] not in gone])
    alive, claims = {e["id"] for e in kept}, {i for i, e in known.items() if e["op"] in CLAIMS}
    return [e for e in kept if e["op"] != "end" or e.get("target") not in claims - alive]


def pieces(claims: list[Event]) -> list[Event]:
    """Claims as they count: restatements during a temporary claim absorbed, ageing claims in two pieces."""
    result: list[Event] = []
    for c in claims:
        holding = [b for b in claims if b["overlay"] and b["value"] == c["value"] and b["trust"] >= c["trust"]]
        during = [b["stop"] for b in holding if b["start"] <= c["obs"] < b["stop"]]
        if during and not c["bounded"] and c["mode"] == "state" and c.get("valid_from") is None:
            c = ordered({**c, "overlay": 1, "op": "affirm", "anchor": c["obs"], "stop": max(during), "mute": True})
        elif not c["bounded"] and c.get("stale_after") is not None:
            aged, trust = c["anchor"] + c["stale_after"], min(c["trust"], c["stale_trust"])
            result.append({**c, "trust": trust, "from": aged, "mute": True})
            c = {**c, "until": aged}
        result.append(c)
    return result


def effective_end(c: Event, rays: list[Event], ends: list[Event]) -> Any:
    """Where a piece stops, by its own stop, the rays that close it and the ends that hit it."""
    limits = [c["stop"], c.get("until", FOREVER), *(d["start"] for d in rays if d["id"] != c["id"] and closes(d, c))]
    return min(limits + [e["start"] for e in ends if e["trust"] >= c["trust"] and hits(e, c)])


def closes(d: Event, c: Event) -> bool:
    if c["overlay"]:
        return bool(
            d["trust"] >= c["trust"] and d["op"] == "assert" and (d["start"] > c["start"] and d["spoken"] > c["spoken"])
        )
    return bool(d["trust"] >= c["trust"] and d["strength"] > c["rank"])


def hits(e: Event, c: Event) -> bool:
    """Whether an end speaks about a claim, trust aside."""
    reach = c["start"] <= e["obs"] if e["mode"] == "state" else c["start"] < e["start"]
    later = e["spoken"] > c["spoken"] if c["overlay"] else e["rank"] > c["rank"]
    return bool(e["value"] == c["value"] and reach and later)


def segments(events: list[Event]) -> list[tuple[Any, Any, Any, bool]]:
    """The single-valued timeline of one slot's events: (from, to, value, contested), uncoalesced."""
    return folded(live_events([prepared(e) for e in events]))


def folded(live: list[Event]) -> list[tuple[Any, Any, Any, bool]]:
    """The timeline of live events that all compete for one place."""
    return [(t, until, w["value"], contest) for t, until, w, contest in winners(live)]


def winners(live: list[Event]) -> Iterator[tuple[Any, Any, Event, bool]]:
    """Who wins when, of live events that all compete for one place."""
    claims = [e for e in live if e["op"] in CLAIMS and e["start"] < e["stop"]]
    at_stop = [{**p, "mode": "change", "start": p["stop"], "anchor": p["stop"], "period": False} for p in claims]
    ends = [e for e in live if e["op"] == "end"] + [
        ordered(e) for p, e in zip(claims, at_stop, strict=True) if p["period"]
    ]
    counted = pieces(claims)
    rays = [d for d in counted if not d["overlay"] and not d.get("mute")]
    for c in counted:
        c["from"], c["end"] = c.get("from", c["start"]), effective_end(c, rays, ends)
    marks = {m for c in counted for m in (c["from"], c["end"], c["stop"]) if m < FOREVER}
    times = sorted(marks | {e["start"] for e in [*ends, *rays]})
    for t, until in zip(times, [*times[1:], FOREVER], strict=False):
        covering = [c for c in counted if c["from"] <= t < c["end"]]
        if covering:
            w = max(covering, key=lambda c: (c["trust"], c["overlay"], *c["rank"]))
            yield t, until, w, contested(w, t, covering, counted, rays, ends)
