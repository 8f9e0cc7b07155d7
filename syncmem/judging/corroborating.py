"""Corroborating: what independent sources of one tier say alike is said once more, with a tier more of trust.

Rules: only of predicates that are defined with ``corroborated_by``; what is written is a claim derived from so many
others, of which no two go back to one source, and the fold looks at that again; it holds where all of them hold.
Which claims are named follows from what is held, so that two devices write the same; what rests on the same claims
is written once, whatever became of it: so nobody has to take it back twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from syncmem.codec import pack
from syncmem.deriving import resting
from syncmem.model.evidence import TIERS, a_tier_more
from syncmem.model.instant import EARLIEST, FOREVER, to_datetime
from syncmem.model.predicate import Predicate
from syncmem.model.record import CLAIM_ROLES, PLAIN, Record, Role
from syncmem.model.sweep import sweep
from syncmem.replica.catalog import Slot
from syncmem.replica.timelines import spread_over_lanes
from syncmem.results import Receipt, Source
from syncmem.statements import Bounds

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging

KIND = "corroboration"  # the kind of source of what is written here; its episode names the claims


class Corroborated(NamedTuple):
    """What was written: of which slot, from which claims."""

    slot: Slot
    value: Any
    roots: tuple[str, ...]
    receipt: Receipt


def corroborate(memory: Judging) -> Iterator[Corroborated]:
    """Write what is corroborated and was not written yet, one transaction for each slot."""
    for slot in _slots(memory):
        with memory.transaction():
            yield from list(_in_slot(memory, slot))


def _slots(memory: Judging) -> list[Slot]:
    """The slots whose predicates ask for it."""
    with memory._looking():
        catalog = memory._replica.catalog
        names = sorted({name for name, _, each in catalog.defined() if each.corroborated_by is not None})
        slots = [slot for name in names for slot in catalog.slots_of(name)]
        return [slot for slot in slots if catalog.predicate(slot.scope, slot.predicate).corroborated_by is not None]


def _in_slot(memory: Judging, slot: Slot) -> Iterator[Corroborated]:
    definition = memory._replica.catalog.predicate(slot.scope, slot.predicate)
    records = list(memory._replica.fold.pages.records(slot.id, definition.equality))
    for lane in spread_over_lanes(records, definition.many).values():
        counting = [record for record in lane if record.counts]
        for tier in (0, *TIERS[:-1]):
            said = [record for record in counting if tier <= record.trust < a_tier_more(tier)]
            for run in _runs(said):
                roots = _independent(memory, run, definition)
                if roots:
                    yield from _written(memory, slot, definition, roots)


def _runs(said: Sequence[Record]) -> list[list[Record]]:
    """The claims of one tier by the spans over which they would hold one value, had nobody else spoken."""
    segments, _ = sweep(said)
    runs: list[tuple[int, bytes | None]] = []
    for segment in segments:
        key = None if segment.winner is None else segment.winner.key
        if not runs or runs[-1][1] != key:
            runs.append((segment.start, key))
    ends = [*(start for start, _ in runs), FOREVER][1:]
    claims = [record for record in said if record.role in CLAIM_ROLES]
    spans = [(start, end, key) for (start, key), end in zip(runs, ends, strict=True) if key is not None]
    return [[c for c in claims if c.key == key and start <= c.start < end] for start, end, key in spans]


def _independent(memory: Judging, claims: Sequence[Record], definition: Predicate) -> list[Record]:
    """As many claims as the predicate asks for, no two of them from one source; none if there are not so many."""
    wanted = definition.corroborated_by
    assert wanted is not None
    told = [(memory._replica.fold.liveness.grounds.testimony(claim.position), claim) for claim in claims]
    listed = [(said, claim) for said, claim in told if said is not None and a_tier_more(said.trust) > claim.trust]
    seen, found = set[Any](), list[Record]()
    for said, claim in sorted(listed, key=lambda item: (len(item[0].sources), item[1].spoken)):
        if len(found) < wanted and not said.sources & seen:
            seen |= said.sources
            found.append(claim)
    return found if len(found) == wanted else []


def _written(memory: Judging, slot: Slot, definition: Predicate, roots: Sequence[Record]) -> Iterator[Corroborated]:
    """The claim that rests on these, if it is not written already."""
    events = sorted(memory._telling.event_id(root.position) for root in roots)
    source = Source(KIND, episode=sha256(pack(events)).hexdigest())
    if any(entry.source == source for entry in memory.history(slot.entity, slot.predicate, scope=slot.scope)):
        return
    bounds = _shared(roots)
    if bounds is None:
        return
    latest = max(root.observed_at for root in roots)
    said = memory._words(
        scope=slot.scope,
        trust=a_tier_more(min(root.trust for root in roots)),
        source=source,
        observed_at=to_datetime(latest) if latest > EARLIEST else "undated",
        batch=None,
        reason=f"{len(roots)} independent sources say so",
        zone=None,
    )
    words = resting(memory._replica, said, slot.entity, [root.position for root in roots])
    words = replace(words, corroborated_by=definition.corroborated_by)
    value = memory._telling.value(min(roots, key=lambda root: root.spoken))
    yield Corroborated(
        slot, value, tuple(events), memory._claim(slot.entity, slot.predicate, value, words, bounds, False)
    )


def _shared(roots: Sequence[Record]) -> Bounds | None:
    """The time over which all of the claims hold, as bounds; None where there is none."""
    start = max(root.start for root in roots)
    stop = min(root.stop if root.role != Role.OPEN else FOREVER for root in roots)
    if stop <= start:
        return None
    given: dict[str, Any] = {}
    if start > EARLIEST and not all(root.flags & PLAIN for root in roots):
        given["since"] = to_datetime(start)
    if stop < FOREVER:
        temporary = any(root.role == Role.TEMPORARY for root in roots)
        given |= {"since": to_datetime(start), "valid_to": to_datetime(stop)}
        given["then"] = "resume" if temporary else "vacate"
    return Bounds(**given)
