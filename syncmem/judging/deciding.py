"""Deciding: what becomes of a candidate. One function, the whole judgement.

Rules: only what was stated supersedes what was stated; trust comes from who said it and how, never from
``confidence``; what is decided depends on the candidate and the definition, and on what is believed only where
something is to be corrected, or doubtful words name it, so that candidates may be judged in any order.  The first line
that fits decides:

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
is vouched for by nobody                               tier "inference": a word is somebody's where it is named
                                                       in which episode, or when, they said it
is stated or negated                                   the tier of its source: user, integration, document; any
                                                       other kind of source "inference"; never more than the
                                                       episode it names, if that is held here
=====================================================  =========================================================

What is written in that tier:

=================================================  =============================================================
deny                                               a denial
end; a negated state or change, of some value      an end ("left in July", if it says when)
correct, and something else is believed            a correction of that, if it is stated and not sensitive
all else                                           a claim: state, change, period or temporary
=================================================  =============================================================

A claim in doubt comes with an end of less trust than a guess has: it ends nothing, and it contests what is claimed
(and the same value, where a better word has it), on every device, until somebody says so without a doubt.  So is
what else its words name of many values: "not Dutch but Danish".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from syncmem.judging.candidate import Candidate, Manner, Verb
from syncmem.judging.wording import names_whole, unsaid
from syncmem.model.equality import Equality
from syncmem.model.evidence import is_agent as is_agent_kind
from syncmem.model.predicate import Predicate
from syncmem.model.value import NONE, encode, key
from syncmem.model.words import texts_in
from syncmem.recall.receipts import echoes
from syncmem.results import Belief, HistoryEntry
from syncmem.statements import TRUST_TIERS

DOUBT_TRUST: Final = 20  # less than a guess has
_SOURCE_TIERS: Final = frozenset({"user", "integration", "document"})
_VOUCH: Final = "name the episode in its source, or give observed_at ('now' for what is being said)"
_PASSAGE: Final = "name the episode in which it was said"
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
        next_step: what to send for it to count for more, if that is in the sender's hand.
        target: the belief to correct.
        retold: the claims that it only retells.
        doubtful: the words that it was taken from say more than it does.
        beside: what else is believed that its doubtful words name ("not Dutch but Danish").
    """

    action: Action
    tier: str
    because: str
    next_step: str | None = None
    target: Belief | None = None
    retold: tuple[str, ...] = ()
    doubtful: bool = False
    beside: tuple[Belief, ...] = ()


def decide(
    candidate: Candidate,
    definition: Predicate,
    present: Sequence[Belief],
    heard: Sequence[HistoryEntry],
    retold: Sequence[str] = (),
    spoken_by: str | None = None,
) -> Verdict:
    """The judgement.

    ``present``: what the slot believes now; ``heard``: events from the candidate's passage; ``retold``: claims that
    the candidate says again, and from which it is; ``spoken_by``: whose word the episode is that it names, if that is
    held here.
    """
    if retold:
        return Verdict(Action.SET_ASIDE, "inference", "it retells what is known", retold=tuple(retold))
    aside = _set_aside(candidate, definition, heard)
    if aside is not None:
        return Verdict(Action.SET_ASIDE, "inference", aside)
    doubt = unsaid(candidate)
    tier = _tier(candidate, definition, spoken_by) if doubt is None else _Tier("inference", doubt)
    verb = _verb(candidate)
    if verb in (Verb.DENY, Verb.END):
        return Verdict(Action.DENY if verb == Verb.DENY else Action.END, *tier)
    target = _corrected(candidate, definition, present) if verb == Verb.CORRECT else None
    if target is not None and tier.name != "inference":
        return Verdict(Action.CORRECT, *tier, target)
    if doubt is None:
        return Verdict(Action.REMEMBER, *tier)
    return Verdict(Action.REMEMBER, *tier, doubtful=True, beside=_beside(candidate, definition, present))


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


class _Tier(NamedTuple):
    """How much something counts, why, and what to send for it to count for more."""

    name: str
    because: str
    next_step: str | None = None


def _tier(candidate: Candidate, definition: Predicate, spoken_by: str | None) -> _Tier:
    if definition.sensitive:
        return _Tier("inference", "it is sensitive, so it overrules nothing and the user is asked")
    if candidate.kind == Manner.INFERRED:
        return _Tier("inference", "nobody said it, so it overrules nothing that was said")
    kind = candidate.source.kind or ""
    tier = kind if kind in _SOURCE_TIERS else "inference"
    if tier != "inference" and candidate.source.episode is None and candidate.observed_at is None:
        return _Tier("inference", f"nobody says where or when the {kind} said it, so it counts as a guess", _VOUCH)
    whose = tier if spoken_by is None else spoken_by if spoken_by in _SOURCE_TIERS else "inference"
    if TRUST_TIERS[whose] < TRUST_TIERS[tier]:
        return _Tier(whose, f"it is from an episode of {spoken_by!r}, and counts as that does ({whose})", _PASSAGE)
    return _Tier(tier, f"it was stated, and counts as its source does ({tier})")


def _verb(candidate: Candidate) -> Verb:
    """The verb that is meant: what is negated ends, unless it says that there is none, or what is so instead."""
    negated = candidate.kind == Manner.NEGATED and candidate.verb not in (Verb.DENY, Verb.CORRECT)
    if negated and candidate.value is not NONE:
        return Verb.END
    return Verb(candidate.verb)


def _corrected(candidate: Candidate, definition: Predicate, present: Sequence[Belief]) -> Belief | None:
    """The belief that a correction is about: the one that it or its words name, else the only one; none if it says
    the same.

    What is only derived corrects nothing.
    """
    if candidate.derived_from:
        return None
    equality = definition.equality
    named = [b for b in present if candidate.instead_of is None or same(b.value, candidate.instead_of, equality)]
    if candidate.instead_of is None and len(named) > 1:
        named = _others_named(candidate, definition, present)
    target = named[0] if len(named) == 1 else None
    return None if target is None or same(target.value, candidate.value, equality) else target


def _beside(candidate: Candidate, definition: Predicate, present: Sequence[Belief]) -> tuple[Belief, ...]:
    """What else the words of a doubtful claim speak of; where one value alone holds, the claim itself contests it."""
    return tuple(_others_named(candidate, definition, present)) if definition.many else ()


def _others_named(candidate: Candidate, definition: Predicate, present: Sequence[Belief]) -> list[Belief]:
    """What is believed of other values that the words of a candidate name."""
    others = [belief for belief in present if not same(belief.value, candidate.value, definition.equality)]
    return [belief for belief in others if names_whole(candidate.words or "", belief.value)]


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
