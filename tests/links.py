"""The plain reference for names: which of them are one, told from the links that act (see tests/reference.py)."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]
LINKS = ("same", "different")


def standing(live: list[Event]) -> dict[str, str]:
    """The name under which each linked name stands; ``live``: the events that act, in whatever order."""
    heeded: list[Event] = []
    links = [e for e in live if e["op"] in LINKS]
    for link in sorted(links, key=lambda e: (e["trust"], e["hlc"], e["device"], e["seq"]), reverse=True):
        tried = [*heeded, link]
        parted = [e for e in tried if e["op"] == "different"]
        if all(e["other"] not in joined(e["one"], tried) for e in parted):
            heeded = tried
    names = {name for link in links for name in (link["one"], link["other"])}
    return {name: min(joined(name, heeded)) for name in names}


def joined(name: str, links: list[Event]) -> set[str]:
    """All names to which links of the kind "same" lead from one."""
    found = {name}
    for _ in links:
        for link in links:
            if link["op"] == "same" and found & {link["one"], link["other"]}:
                found |= {link["one"], link["other"]}
    return found


def one_with(name: str, live: list[Event]) -> set[str]:
    """All names that are one with a name."""
    stands = standing(live)
    return {name} | {other for other, where in stands.items() if where == stands.get(name, name)}
