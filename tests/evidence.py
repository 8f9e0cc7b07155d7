"""The plain reference for what a statement rests on: twins, derived claims, corroboration (see tests/reference.py).

A statement may have an ``episode``, a claim ``derived_from`` (ids) and ``corroborated_by`` (a number).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]
CLAIMS = ("assert", "affirm")
AGENTS = ("assistant", "agent")


def passage(e: Event) -> Any:
    """What twins share: they say the same in the same way, out of the same place of the same text."""
    if e.get("episode") is None or "value" not in e:
        return None
    way = "assert" if e["op"] in CLAIMS else e["op"]
    return e.get("passage", (way, e["episode"], str(e.get("span")), e["value"]))


def reached(r: Event, named: Event, events: Iterable[Event]) -> list[Event]:
    """What a retraction or correction of a statement is about: the statement and its twins."""
    shared = passage(named)
    twins = [t for t in events if t is not named and shared is not None and passage(t) == shared]
    return [named, *(t for t in twins if r["op"] == "retract" or t["op"] == "end" or not t.get("corrects"))]


def founded(live: list[Event]) -> list[Event]:
    """The live events without the derived claims whose roots are not all live, or give them less trust."""
    claims = {e["id"]: e for e in live if e["op"] in CLAIMS}
    left = [e for e in live if e["op"] not in CLAIMS or e.get("derived_from") is None or stands(e, claims)]
    return left if len(left) == len(live) else founded(left)


def stands(e: Event, claims: dict[str, Event]) -> bool:
    roots = [claims.get(name) for name in e["derived_from"]]
    if not roots or None in roots:
        return False
    direct = [root for root in roots if root is not None]
    return bool(e["trust"] <= min(root["trust"] for root in direct)) or corroborated(e, direct, claims)


def corroborated(e: Event, roots: list[Event], claims: dict[str, Event]) -> bool:
    """Whether no two roots go back to one source, and they are as many as the claim says."""
    if (e.get("corroborated_by") or 0) < 2 or len(roots) < e["corroborated_by"]:
        return False
    told: list[Any] = []
    for root in roots:
        said = leaves(root, claims)
        sources = {leaf["source"] for leaf in said if leaf.get("source") is not None and not agent(leaf["source"])}
        if not sources or any(leaf.get("source") is None for leaf in said):
            return False
        told += sources
    least = min(each["trust"] for root in roots for each in [root, *leaves(root, claims)])
    return len(told) == len(set(told)) and e["trust"] <= next((t for t in (30, 50, 70, 90) if t > least), least)


def leaves(e: Event, claims: dict[str, Event]) -> list[Event]:
    """The claims derived from nothing on which a live claim rests."""
    if e.get("derived_from") is None:
        return [e]
    return [leaf for name in e["derived_from"] if name in claims for leaf in leaves(claims[name], claims)]


def agent(source: Any) -> bool:
    kind = source[0] if isinstance(source, tuple) else source
    return kind is not None and kind.split(":")[0] in AGENTS
