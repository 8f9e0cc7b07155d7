"""Writing a verdict down: from a judged candidate to the verbs of a memory.

Rules: everything goes through the public verbs; a claim is never written as a mere affirmation, because what is
an affirmation depends on what had been written before; a date that was not said is not made up.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from syncmem.errors import InvalidInput
from syncmem.judging.candidate import Candidate, Verb
from syncmem.judging.deciding import DOUBT_TRUST, Action, Verdict
from syncmem.model.instant import EARLIEST, to_datetime
from syncmem.results import Belief, HistoryEntry, Receipt
from syncmem.statements import UNDATED

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging


def write(memory: Judging, candidate: Candidate, predicate: str, verdict: Verdict, observed: int) -> list[Receipt]:
    """Write what was decided; inside a transaction. The receipts; none where it was set aside."""
    said = _said(candidate, verdict, observed)
    slot = (candidate.entity, predicate)
    if verdict.action == Action.REMEMBER:
        claimed = _remember(memory, candidate, predicate, said)
        doubted = [candidate.value, *(belief.value for belief in verdict.beside)] if verdict.doubtful else []
        return [claimed, *(memory.end(*slot, value, **(said | {"trust": DOUBT_TRUST})) for value in doubted)]
    if verdict.action == Action.CORRECT:
        assert verdict.target is not None
        return _correct(memory, candidate, verdict.target, said)
    if verdict.action == Action.END:
        return [memory.end(*slot, candidate.value, **(said | _ended(candidate)))]
    if verdict.action == Action.DENY:
        return [memory.deny(*slot, candidate.value, **said)]
    return []


def _ended(candidate: Candidate) -> dict[str, Any]:
    """When it ended: "left in July", "not since July", or "I did not move there in July", which says no end."""
    if candidate.verb == Verb.END:
        at = candidate.since or candidate.until
        return {"at": at, "changed": at is not None}
    return {"at": None if candidate.verb == Verb.CHANGE else candidate.since}


def _said(candidate: Candidate, verdict: Verdict, observed: int) -> dict[str, Any]:
    """Who speaks and when, as all verbs take it."""
    return {
        "scope": candidate.scope,
        "trust": verdict.tier,
        "source": candidate.source,
        "observed_at": _observed(candidate, observed),
        "reason": verdict.because,
        "batch": candidate.batch,
        "zone": candidate.zone,
    }


def _observed(candidate: Candidate, observed: int) -> datetime | str | None:
    """When it was observed; what is derived and does not say, when the last of its claims was."""
    if candidate.derived_from and candidate.observed_at is None:
        return None
    return UNDATED if observed == EARLIEST else to_datetime(observed)


def _remember(memory: Judging, candidate: Candidate, predicate: str, said: dict[str, Any]) -> Receipt:
    bounds: dict[str, Any] = {"until": candidate.until}
    if candidate.since is not None:
        bounds["changed_on" if candidate.verb == Verb.CHANGE else "since"] = candidate.since
    if candidate.verb == Verb.TEMPORARY:
        bounds["then"] = "resume"
    about: dict[str, Any] = {"mentions": candidate.mentions, "derived_from": candidate.derived_from, "affirm": False}
    return memory.remember(candidate.entity, predicate, candidate.value, **bounds, **about, **said)


def _correct(memory: Judging, candidate: Candidate, target: Belief, said: dict[str, Any]) -> list[Receipt]:
    """Put the right value in the place of the wrong one: of the claim that wins, and of all that support it."""
    told = memory.why(target)
    if told.winner is None:
        raise InvalidInput("what was to be corrected is no longer believed; say what holds instead")
    bounds = {name: when for name, when in (("since", candidate.since), ("until", candidate.until)) if when is not None}
    supports = [entry.event for entry in told.supports if _overlaps(entry, target)]
    spoken = {name: said[name] for name in ("trust", "source", "reason", "batch")}
    receipts = [memory.retract(*supports, **spoken)] if supports else []
    mentions = {"mentions": candidate.mentions} if candidate.mentions else {}
    return [*receipts, memory.correct(told.winner.event, candidate.value, **bounds, **mentions, **said)]


def _overlaps(entry: HistoryEntry, belief: Belief) -> bool:
    """Whether a claim speaks about some of the time over which a belief holds."""
    return _before(entry.valid_from, belief.valid_to) and _before(belief.valid_from, entry.valid_to)


def _before(start: datetime | None, end: datetime | None) -> bool:
    return start is None or end is None or start < end
