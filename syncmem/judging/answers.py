"""Answers: the user's word on a question, written as statements of the user.

Rules: an answer is said now, with the user's trust (or that of what is believed, if that is more), so it closes its
question wherever it arrives; where a stretch of time was in question, it speaks about all of it, and where only a
visit was, about no more than now; an answer about a name is a definition, so that it holds for the next time.

=========  ========================================  ========================  ===============================
answer     contested, guess                          sensitive                 name
=========  ========================================  ========================  ===============================
a value    it holds                                  it holds                  the predicate that was meant
KEEP       what is believed holds                    it is right               a predicate of its own
BOTH       both hold: the predicate is many-valued   refused                   filed under both
NEITHER    none of it holds any longer               it does not hold          what was filed is retracted
=========  ========================================  ========================  ===============================
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from syncmem.errors import InvalidInput, NotFound
from syncmem.judging.consolidating import refile
from syncmem.judging.deciding import decide, same
from syncmem.judging.questions import Answer, Asked, Question, in_doubt_about, questions
from syncmem.judging.writing import write
from syncmem.model.names import normal
from syncmem.results import Receipt, Source
from syncmem.statements import TRUST_TIERS

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging

_FIRST: Final = 20  # questions among which an answered one is looked for before all are
_USER: Final = Source(kind="user")


def answered(memory: Judging, question: Question | str, answer: object) -> tuple[Receipt, ...]:
    """Write an answer in one transaction; its receipts."""
    with memory.transaction():
        name, about = (question.id, question) if isinstance(question, Question) else (question, None)
        asked = _open(memory, name, about)
        if asked is None:
            raise NotFound(f"no question {name!r} is open: it was answered, or more was said; see questions()")
        if asked.kind == "name":
            return tuple(_about_name(memory, asked, answer))
        return tuple(_about_values(memory, asked, answer))


def _open(memory: Judging, name: str, about: Question | None) -> Question | None:
    """The open question of an id: most likely one of those that come first."""
    for limit in (_FIRST, None):
        for each in questions(memory, Asked(about=about, limit=limit)):
            if each.id == name:
                return each
    return None


# -- values ------------------------------------------------------------------------------------------------


def _about_values(memory: Judging, asked: Question, answer: object) -> list[Receipt]:
    values = [option.value for option in asked.options if not option.over]
    if answer is Answer.NEITHER:
        return [_end(memory, asked, value) for value in values]
    if answer is Answer.KEEP:
        return [_hold(memory, asked, values[0])]
    if answer is Answer.BOTH:
        if len(values) < 2:
            raise InvalidInput("the question has one value; answer with it, Answer.KEEP or Answer.NEITHER")
        receipts = [redefine(memory, asked.scope, asked.predicate, cardinality="many")]
        return receipts + [_hold(memory, asked, value) for value in values]
    if not offered(memory, asked, answer) and answer in list(Answer):
        raise InvalidInput(f"{answer!r} would be a value; pass Answer.{str(answer).upper()}, or remember() the value")
    return [_hold(memory, asked, answer)]


def offered(memory: Judging, asked: Question, value: object) -> bool:
    """Whether a value is one of the options."""
    equality = memory._definition(asked.scope, asked.predicate).equality
    return any(same(value, option.value, equality) for option in asked.options if not option.over)


def _hold(memory: Judging, asked: Question, value: object) -> Receipt:
    """The user says that a value holds: all along, if it was among what was in question."""
    visit = memory.event(asked.options[0].event).form == "temporary"
    since = asked.since if offered(memory, asked, value) and not visit else None
    return memory.remember(asked.entity, asked.predicate, value, since=since, affirm=False, **_word(asked))


def _end(memory: Judging, asked: Question, value: object) -> Receipt:
    return memory.end(asked.entity, asked.predicate, value, at=asked.since, **_word(asked))


def _word(asked: Question) -> dict[str, Any]:
    """Who speaks: the user, never with less trust than what is believed."""
    trust = max(TRUST_TIERS["user"], asked.options[0].trust)
    return {"scope": asked.scope, "trust": trust, "source": _USER, "reason": "the user was asked"}


# -- names -------------------------------------------------------------------------------------------------


def _about_name(memory: Judging, asked: Question, answer: object) -> list[Receipt]:
    entries = in_doubt_about(memory, asked)
    if answer is Answer.NEITHER:
        events = [event for entry in entries if entry.doubt for event in entry.doubt.events]
        for entry in entries:
            memory._queue().drop(entry.id)
        return [memory.retract(*events, trust="user", source=_USER, reason="the user was asked")]
    if answer is Answer.KEEP or answer is Answer.BOTH:
        receipts = [memory.define(asked.predicate, cardinality="many", scope=asked.scope, source=_USER)]
        for entry in entries:
            memory._queue().drop(entry.id)
            for proposal in asked.proposals if answer is Answer.BOTH else ():
                receipts += _also(memory, entry, proposal)
        return receipts
    return _meant(memory, asked, answer)


def _meant(memory: Judging, asked: Question, answer: object) -> list[Receipt]:
    """The name becomes an alias of one predicate and of no other, and what was filed under it moves there."""
    defined = memory._defined(asked.scope)
    if not isinstance(answer, str) or answer not in defined:
        raise InvalidInput(f"{answer!r} is no predicate that is defined; answer with one, or define it first")
    receipts = []
    for name in sorted({answer, *asked.proposals} & set(defined)):
        others = [alias for alias in defined[name].aliases if normal(alias) != normal(asked.predicate)]
        aliases = [*others, asked.predicate] if name == answer else others
        if tuple(aliases) != defined[name].aliases:
            receipts.append(redefine(memory, asked.scope, name, aliases=aliases))
    for entry in in_doubt_about(memory, asked):
        refile(memory, entry, answer)
    return receipts


def _also(memory: Judging, entry: Any, predicate: str) -> list[Receipt]:
    candidate = replace(entry.candidate, predicate=predicate)
    verdict = decide(candidate, memory._definition(candidate.scope, predicate), (), ())
    return write(memory, candidate, predicate, verdict, entry.observed)


def redefine(memory: Judging, scope: str, predicate: str, **changed: Any) -> Receipt:
    """Define a predicate as it is, but for what changed, by the user's word."""
    known = memory._definition(scope, predicate)
    settings: dict[str, Any] = {
        "cardinality": "many" if known.many else "single",
        "equality": str(known.equality),
        "ttl": None if known.ttl is None else timedelta(microseconds=known.ttl),
        "then": known.then,
        "sensitive": known.sensitive or None,
        "description": known.description or None,
        "aliases": known.aliases,
        "corroborated_by": known.corroborated_by,
    }
    if known.stale_after is not None:
        settings["stale_after"] = timedelta(microseconds=known.stale_after)
        settings["stale_trust"] = known.stale_trust
    return memory.define(predicate, scope=scope, source=_USER, **{**settings, **changed})
