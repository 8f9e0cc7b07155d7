"""Consolidating: judging what waits, one candidate after the other, off the response path.

Rules: one transaction a candidate, in which it is written and leaves the queue, so that a crash repeats nothing
and loses nothing; a model is asked outside of all locks, so that what arrives meanwhile is stored and judged later;
a candidate that cannot be written is reported and leaves the queue; nobody is asked anything here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from syncmem.errors import InvalidInput, NotFound
from syncmem.judging.candidate import Candidate, Verb
from syncmem.judging.corroborating import KIND, Corroborated, corroborate
from syncmem.judging.deciding import DOUBT_TRUST, Action, Verdict, decide, is_agent, same
from syncmem.judging.matching import Match, Matcher, by_names
from syncmem.judging.queue import Doubt, Entry
from syncmem.judging.writing import write
from syncmem.model.derivation import read_batch
from syncmem.results import HistoryEntry, Receipt, Source

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of a candidate.

    Attributes:
        predicate: the predicate under which it was judged.
        outcome: of what was written, the receipt's decision (ADD, UPDATE, DELETE, NOOP, CONTESTED), NOOP for what
            retells what is known, else "SET ASIDE", or "REFUSED" for what no event can say.
        because: why, in a few words; where it counts for less than its source would, also what to send next time.
        receipts: of the events that were written.
        proposals: predicates that may have been meant as well; the user is asked.
        retold: ids of the claims that the candidate only says again (its outcome is NOOP).
    """

    candidate: Candidate
    predicate: str
    outcome: str
    because: str
    receipts: tuple[Receipt, ...] = ()
    proposals: tuple[str, ...] = ()
    retold: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        told = [receipt.to_dict() for receipt in self.receipts]
        return {
            "candidate": self.candidate.to_dict(),
            "predicate": self.predicate,
            "outcome": self.outcome,
            "because": self.because,
            "receipts": told,
            "proposals": list(self.proposals),
            "retold": list(self.retold),
        }


def consolidate(memory: Judging, matcher: Matcher) -> Iterator[Judgement]:
    """Judge what waits, what comes meanwhile included; and file what is no longer in doubt."""
    settle_doubts(memory)
    last = 0
    while (entry := memory._first_waiting(last)) is not None:
        last = entry.id
        judged = judge(memory, entry, matcher(entry.candidate, memory._defined(entry.candidate.scope)))
        if judged is not None:
            yield judged
    for done in corroborate(memory):
        yield _corroborated(done)


def judge(memory: Judging, entry: Entry, match: Match) -> Judgement | None:
    """Judge one candidate in one transaction; None if another process did."""
    with memory.transaction():
        queue = memory._queue()
        if queue.waiting(entry.id) is None:
            return None
        queue.drop(entry.id)
        try:
            with memory.transaction():
                judged = _judged(memory, entry, match)
        except (InvalidInput, NotFound) as error:
            return Judgement(entry.candidate, match.predicate, "REFUSED", str(error))
        if match.proposals and judged.receipts:
            queue.keep(entry, Doubt(match.predicate, match.proposals, _events(judged)))
        return judged


def _judged(memory: Judging, entry: Entry, match: Match) -> Judgement:
    verdict = _verdict(memory, entry.candidate, match.predicate)
    receipts = write(memory, entry.candidate, match.predicate, verdict, entry.observed)
    outcome = str(receipts[-1].decision) if receipts else "NOOP" if verdict.retold else "SET ASIDE"
    because = verdict.because
    if verdict.next_step is not None:
        because = f"{because}; {verdict.next_step}"
        receipts = [replace(each, why=f"{each.why} {because[0].upper()}{because[1:]}.") for each in receipts]
    told = (outcome, because, tuple(receipts), match.proposals, verdict.retold)
    return Judgement(entry.candidate, match.predicate, *told)


def _corroborated(done: Corroborated) -> Judgement:
    """The judgement of what several sources said, as a candidate that is derived from what they said."""
    _, scope, entity, predicate = done.slot
    said: dict[str, Any] = {"kind": "inferred", "source": Source(KIND), "scope": scope, "derived_from": done.roots}
    candidate = Candidate(entity, predicate, done.value, **said)
    because = f"{len(done.roots)} independent sources say so"
    return Judgement(candidate, predicate, str(done.receipt.decision), because, (done.receipt,))


def _verdict(memory: Judging, candidate: Candidate, predicate: str) -> Verdict:
    scope = candidate.scope
    heard = _from_same_passage(memory, candidate, predicate)
    looked_at = candidate.verb == Verb.CORRECT or candidate.words is not None
    present = memory.beliefs(candidate.entity, predicate, scope=scope) if looked_at else []
    retold = _retold(memory, candidate, predicate)
    spoken_by = memory._spoken_by(candidate.source.episode)
    return decide(candidate, memory._definition(scope, predicate), present, heard, retold, spoken_by)


def _retold(memory: Judging, candidate: Candidate, predicate: str) -> Sequence[str]:
    """The claims that a candidate only says again: of those it is derived from, or, of the agent's words, any."""
    if is_agent(candidate) and candidate.derived_from:
        return candidate.derived_from
    slot, equality = (candidate.entity, predicate), memory._definition(candidate.scope, predicate).equality
    if is_agent(candidate):
        found = memory.beliefs(*slot, scope=candidate.scope)
        return [belief.event for belief in found if same(belief.value, candidate.value, equality)]
    said = (
        {entry.event: entry for entry in memory.history(*slot, scope=candidate.scope)} if candidate.derived_from else {}
    )
    roots = [said[event] for event in candidate.derived_from if event in said]
    claims = [entry for entry in roots if entry.verb in ("remember", "affirm")]
    return [entry.event for entry in claims if same(entry.value, candidate.value, equality)]


def _from_same_passage(memory: Judging, candidate: Candidate, predicate: str) -> Sequence[HistoryEntry]:
    """What was written before from the very passage that a candidate comes from; not what is derived anew now."""
    source = candidate.source
    if source.episode is None:
        return []
    about = (candidate.entity, predicate, candidate.scope)
    found = memory._told_where(*about, lambda position: memory._telling.episode_of(position) == source.episode)
    said = [entry for entry in found if entry.source == source and entry.trust > DOUBT_TRUST]
    return [entry for entry in said if not _is_derived_anew(entry, candidate)]


def _is_derived_anew(entry: HistoryEntry, candidate: Candidate) -> bool:
    """Whether an event was withdrawn only because a later version of its extractor takes its place."""
    extractor = _extractor_of(candidate.batch)
    return entry.status == "withdrawn" and extractor is not None and _extractor_of(entry.batch) == extractor


def _extractor_of(batch: str | None) -> str | None:
    """Of a batch that was derived from an episode, the name of the extractor."""
    read = read_batch(batch)
    return None if read is None else read.extractor


def _events(judged: Judgement) -> tuple[str, ...]:
    return tuple(receipt.event for receipt in judged.receipts)


# -- doubts ----------------------------------------------------------------------------------------------


def settle_doubts(memory: Judging) -> None:
    """File what names settle by now, here or on another device, and drop what was taken back meanwhile."""
    for entry in memory._in_doubt():
        if not stands(memory, entry):
            with memory.transaction():
                memory._queue().drop(entry.id)
            continue
        match = by_names(entry.candidate, memory._defined(entry.candidate.scope))
        if match.predicate in memory._defined(entry.candidate.scope):
            refile(memory, entry, match.predicate)


def stands(memory: Judging, entry: Entry) -> bool:
    """Whether what was written of a candidate in doubt was not taken back."""
    assert entry.doubt is not None
    return all(memory.event(event).status == "live" for event in entry.doubt.events)


def refile(memory: Judging, entry: Entry, predicate: str) -> None:
    """Move a candidate from the predicate under which it was written to the right one."""
    assert entry.doubt is not None
    with memory.transaction():
        if predicate != entry.doubt.predicate:
            memory.retract(*entry.doubt.events, trust="user", reason=f"it belongs to {predicate}")
            candidate = replace(entry.candidate, predicate=predicate)
            verdict = _verdict(memory, candidate, predicate)
            if verdict.action != Action.SET_ASIDE:
                write(memory, candidate, predicate, verdict, entry.observed)
        memory._queue().drop(entry.id)
