"""Deciding: what becomes of a candidate. One function, the whole judgement.

Rules: only what was stated supersedes what was stated; trust comes from who said it and how, never from
``confidence``; what is decided depends on the candidate and the definition, and on what is believed only where
something is to be corrected, so that candidates may be judged in any order.  The first line that fits decides:

=====================================================  =========================================================
the candidate                                          decision
=====================================================  =========================================================
retells a claim that is known                          set aside, linked to that claim: no new evidence
is the agent's own word                                set aside: no evidence
repeats what was recalled (carries a receipt)          set aside: no evidence, whoever passed it on
is quoted or hypothetical                              set aside: not said as a fact by its speaker
says that something did not hold for some time         set aside: no statement says that of a time alone
comes from a passage whose same claim stands           set aside: known from there already
comes from a passage whose same claim was taken back   set aside: only a new statement brings it again
is about a sensitive predicate                         tier "inference": it overrules nobody, and is asked about
has words that say more than it does                   tier "inference", and in doubt: what it says is contested
is inferred                                            tier "inference": a guess replaces guesses; against a
                                                       statement it is evidence, and the slot is contested
is stated or negated                                   the tier of its source: user, integration, document; any
                                                       other kind of source "inference"
=====================================================  =========================================================

What is written in that tier:

=================================================  =============================================================
deny                                               a denial
end; a negated state or change, of some value      an end ("left in July", if it says when)
correct, and something else is believed            a correction of that, if it is stated and not sensitive
all else                                           a claim: state, change, period or temporary
=================================================  =============================================================

A claim in doubt comes with an end of less trust than a guess has: it ends nothing, and it contests what is claimed
(and the same value, where a better word has it), on every device, until somebody says so without a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from syncmem.judging.candidate import Candidate, Manner, Verb
from syncmem.judging.wording import unsaid
from syncmem.model.equality import Equality
from syncmem.model.evidence import is_agent as is_agent_kind
from syncmem.model.predicate import Predicate
from syncmem.model.value import NONE, encode, key
from syncmem.model.words import texts_in
from syncmem.recall.receipts import echoes
from syncmem.results import Belief, HistoryEntry

DOUBT_TRUST: Final = 20  # less than a guess has
_SOURCE_TIERS: Final = frozenset({"user", "integration", "document"})
_SAYS: Final = {"remember": Verb.STATE, "affirm": Verb.STATE, "end": Verb.END, "deny": Verb.DENY}


class Action(StrEnum):
    """What is to be done."""

    SET_ASIDE = "set aside"
    REMEMBER = "remember"
    CORRECT = "correct"
    END = "end"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be done with a candidate, in which tier of trust, and why.

    Attributes:
        target: the belief to correct.
        retold: the claims that it only retells.
        doubtful: the words that it was taken from say more than it does.
    """

    action: Action
    tier: str
    because: str
    target: Belief | None = None
    retold: tuple[str, ...] = ()
    doubtful: bool = False


def decide(
    candidate: Candidate,
    definition: Predicate,
    present: Sequence[Belief],
    heard: Sequence[HistoryEntry],
    retold: Sequence[str] = (),
) -> Verdict:
    """The judgement.

    ``present``: what the slot believes now; ``heard``: events from the candidate's passage; ``retold``: claims that
    the candidate says again, and from which it is.
    """
    if retold:
        return Verdict(Action.SET_ASIDE, "inference", "it retells what is known", retold=tuple(retold))
    aside = _set_aside(candidate, definition, heard)
    if aside is not None:
        return Verdict(Action.SET_ASIDE, "inference", aside)
    doubt = unsaid(candidate)
    tier, because = _tier(candidate, definition) if doubt is None else ("inference", doubt)
    verb = _verb(candidate)
    if verb in (Verb.DENY, Verb.END):
        return Verdict(Action.DENY if verb == Verb.DENY else Action.END, tier, because)
    target = _corrected(candidate, definition, present) if verb == Verb.CORRECT else None
    if target is not None and tier != "inference":
        return Verdict(Action.CORRECT, tier, because, target)
    return Verdict(Action.REMEMBER, tier, because, doubtful=doubt is not None)


def _set_aside(candidate: Candidate, definition: Predicate, heard: Sequence[HistoryEntry]) -> str | None:
    """Why a candidate is no evidence, if it is none."""
    if is_agent(candidate):
        return "the agent's own words are no evidence"
    if _repeats(candidate):
        return "it repeats what was recalled, which is no new evidence"
    if candidate.kind in (Manner.QUOTED, Manner.HYPOTHETICAL):
        return f"it was {candidate.kind}, not said as a fact by its speaker"
    if candidate.kind == Manner.NEGATED and candidate.verb in (Verb.PERIOD, Verb.TEMPORARY):
        return "no statement says that something did not hold for some time alone"
    wanted = Verb.STATE if _verb(candidate) not in (Verb.END, Verb.DENY) else _verb(candidate)
    for entry in heard:
        if _SAYS.get(entry.verb) == wanted and same(entry.value, candidate.value, definition.equality):
            if entry.status == "live":
                return "it is known from this passage already"
            return f"it was {entry.status}; the same passage cannot bring it back, a new statement can"
    return None


def _tier(candidate: Candidate, definition: Predicate) -> tuple[str, str]:
    if definition.sensitive:
        return "inference", "it is sensitive, so it overrules nothing and the user is asked"
    if candidate.kind == Manner.INFERRED:
        return "inference", "nobody said it, so it overrules nothing that was said"
    kind = candidate.source.kind or ""
    tier = kind if kind in _SOURCE_TIERS else "inference"
    return tier, f"it was stated, and counts as its source does ({tier})"


def _verb(candidate: Candidate) -> Verb:
    """The verb that is meant: what is negated ends, unless it says that there is none, or what is so instead."""
    negated = candidate.kind == Manner.NEGATED and candidate.verb not in (Verb.DENY, Verb.CORRECT)
    if negated and candidate.value is not NONE:
        return Verb.END
    return Verb(candidate.verb)


def _corrected(candidate: Candidate, definition: Predicate, present: Sequence[Belief]) -> Belief | None:
    """The belief that a correction is about: the one it names, else the only one; none if it says the same.

    What is only derived corrects nothing.
    """
    if candidate.derived_from:
        return None
    equality = definition.equality
    named = [b for b in present if candidate.instead_of is None or same(b.value, candidate.instead_of, equality)]
    target = named[0] if len(named) == 1 else None
    return None if target is None or same(target.value, candidate.value, equality) else target


def _repeats(candidate: Candidate) -> bool:
    """Whether a candidate carries a receipt or a block of a recall, in its source or in what it says."""
    source = candidate.source
    said = [source.kind, source.id, source.episode, candidate.entity, candidate.predicate]
    return any(map(echoes, [*said, *texts_in(candidate.value)]))


def is_agent(candidate: Candidate) -> bool:
    """Whether a candidate is derived from what the agent itself said ("assistant", "assistant:name")."""
    return is_agent_kind((candidate.source.kind or "").casefold())


def same(one: Any, other: Any, equality: Equality) -> bool:
    """Whether two values are the same value."""
    return key(encode(one), equality) == key(encode(other), equality)
