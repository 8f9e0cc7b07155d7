"""Deriving: what a claim takes over from the claims that it is derived from.

Rules: it has at most their least trust, as they count when it is observed; unsaid, it was observed when the last of
them was, and holds for the time that all of them cover together; it mentions whom they are about, so that it goes
when one of them is erased.  All this is settled here and stored; that it counts only while they do is for the fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from syncmem.errors import InvalidInput
from syncmem.model.event import Ref, Statement, readable
from syncmem.model.instant import EARLIEST, FOREVER, to_datetime
from syncmem.model.record import PLAIN, Record, Role
from syncmem.model.subjects import subjects
from syncmem.replica.replica import Replica
from syncmem.replica.telling import Telling
from syncmem.statements import Bounds, Words

ROOTS_MAX: Final = 256  # of one claim: a summary of more is made of summaries


def derive(
    replica: Replica, telling: Telling, events: Iterable[str], entity: str, said: Words, bounds: Bounds
) -> tuple[Words, Bounds]:
    """Words and bounds of a claim about an entity that is derived from ``events``.

    Raises:
        NotFound: one of them is not known here.
        InvalidInput: one of them is no live claim of the scope, or they are too many.
    """
    positions = _positions(telling, events)
    roots = [_root(replica, telling, position, said.scope) for position in positions]
    observed = max(root.observed_at for root in roots) if said.observed_at is None else said.observed_at
    trust = min(said.trust, *(_trust_at(root, observed) for root in roots))
    bounds = replace(bounds, **_cover(roots, observed)) if bounds.plain else bounds
    words = replace(said, trust=trust, observed_at=observed)
    return resting(replica, words, entity, positions), bounds


def resting(replica: Replica, said: Words, entity: str, positions: Sequence[int]) -> Words:
    """Words about an entity that name the claims at these positions, and all others whom those are about."""
    named = (name for position in positions for name in subjects(said.scope, replica.logs.event(position)))
    about = [name for name in named if name != entity]
    refs: tuple[Ref, ...] = tuple(replica.logs.ref(position) for position in positions)
    return replace(said, derived_from=refs, mentions=tuple(dict.fromkeys([*said.mentions, *about])))


def _positions(telling: Telling, events: Iterable[str]) -> list[int]:
    found = list(dict.fromkeys(telling.position(event) for event in events))
    if len(found) > ROOTS_MAX:
        raise InvalidInput(f"a claim names at most {ROOTS_MAX} others, not {len(found)}; derive it in steps")
    return found


def _root(replica: Replica, telling: Telling, position: int, scope: str) -> Record:
    """The record of a claim from which another may be derived."""
    found, name = replica.fold.record_at(position), telling.event_id(position)
    if found is None or found[1].role > Role.TEMPORARY:
        raise InvalidInput(f"event {name} is no claim; name the claims that it is derived from")
    if found[0].scope != scope:
        raise InvalidInput(f"event {name} is in scope {found[0].scope!r}; derive in one scope, pass scope=")
    payload = readable(replica.logs.event(position))
    assert isinstance(payload, Statement)
    status = telling.status(position, payload)
    if status != "live":
        raise InvalidInput(f"event {name} is {status}; derive from what is live")
    return found[1]


def _trust_at(root: Record, observed: int) -> int:
    """The trust with which a claim counts when another one that is derived from it is observed."""
    return root.aging[1] if root.aging is not None and root.aging[0] <= observed else root.trust


def _cover(roots: Sequence[Record], observed: int) -> dict[str, Any]:
    """The time that claims cover together, as bounds: what nobody dated is not made up."""
    start = min((root.start for root in roots if root.start > EARLIEST), default=None)
    stop = max(root.stop for root in roots)
    result: dict[str, Any] = {}
    if start is not None and not (start == observed and all(root.flags & PLAIN for root in roots)):
        result["since"] = to_datetime(start)
    if start is not None and start < stop < FOREVER:
        temporary = all(root.role == Role.TEMPORARY for root in roots)
        result |= {"since": to_datetime(start), "valid_to": to_datetime(stop)}
        result["then"] = "resume" if temporary else "vacate"
    return result
