"""Frontier notes: what a device holds of which log, in the words of its own log.

Rule: an entry is ``[log id, last place, start of the chain value there]``, so that it is known of which branch
it speaks where the log was forked.
"""

from __future__ import annotations

from collections.abc import Iterable

from syncmem.model.event import HEAD_BYTES, Erased, Frontier, Kind, Payload
from syncmem.model.sweep import FOLD_VERSION
from syncmem.replica.arriving import Arrival
from syncmem.replica.chain import Log
from syncmem.replica.logs import Logs

Entries = list[list[object]]


def held_in(logs: Logs, scope: str) -> Entries:
    """All that is held of a scope."""
    return [_entry(log) for log in logs.held(scope=scope)]


def news(logs: Logs, arrivals: Iterable[Arrival]) -> dict[str, Entries]:
    """What a merge brought, by scope; nothing of a scope where it brought frontier notes alone."""
    changed: dict[str, dict[bytes, Log]] = {}
    worth: set[str] = set()
    for position, event, _ in arrivals:
        log, scope = logs.log_of(position), logs.key_of(position).scope
        changed.setdefault(scope, {})[log.id] = log
        if isinstance(event, Erased) or event.kind != Kind.FRONTIER:
            worth.add(scope)
    return {scope: [_entry(log) for _, log in sorted(changed[scope].items())] for scope in sorted(worth)}


def _entry(log: Log) -> list[object]:
    return [log.id, log.seq, log.head[:HEAD_BYTES]]


def opening_note(logs: Logs, log: Log, n: int) -> list[tuple[Kind, Payload]]:
    """What a new log begins with where the device already holds others of its scope."""
    held = held_in(logs, logs.key_of(log.position(1)).scope) if not log.seq else []
    return [(Kind.FRONTIER, Frontier(n, FOLD_VERSION, held, None))] if held else []
