"""Questions: what only the user can say, each with both sides, their dates and their sources.

Rules: a question follows from what is believed and defined, so every device has it and none has it once it was
answered on any; only a name in doubt is known to one device alone, and what settles it (a definition) travels;
its id names its options, so an answer never meets a question that has changed; texts take no side.

The most valuable ones come first: sensitive predicates before all others, then in the order of this table, then by
the weight of what was said against a belief (:mod:`syncmem.judging.weighing`).

===========  ===================================================================================
kind         asked when
===========  ===================================================================================
contested    something contradicts what is believed now
sensitive    a value of a sensitive predicate is believed now, and no user has confirmed it
guess        where one value holds, a guess took another guess's place, and nobody has said which
name         a candidate was filed under a name that may mean another predicate
===========  ===================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from syncmem.codec import pack, unpack
from syncmem.judging.consolidating import stands
from syncmem.judging.matching import by_names
from syncmem.judging.queue import Entry
from syncmem.judging.weighing import GUESS, Weighed, weighed
from syncmem.model.value import NONE, encode
from syncmem.results import Belief, HistoryEntry, Source, as_dict
from syncmem.statements import at_least

if TYPE_CHECKING:
    from syncmem.judging.verbs import Judging

_ID_LETTERS: Final = 12


class Answer(StrEnum):
    """Answers that are no value."""

    KEEP = "keep"  # what is believed is right; of a name: it is a predicate of its own
    BOTH = "both"  # both hold
    NEITHER = "neither"  # none of it holds


@dataclass(frozen=True, slots=True)
class Option:
    """One side of a question.

    Attributes:
        value: what was said; ``over``: that it holds no longer, or never did.
        said_at: when it was said.
        event: who says so.
    """

    value: Any
    said_at: datetime | None
    source: Source
    trust: int
    event: str
    over: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask the user.

    Attributes:
        kind: "contested", "sensitive", "guess" or "name".
        text: the question in a sentence.
        options: what was said; the first one is believed.
        since: from when on it is open what holds.
        proposals: of a name: the predicates that may be meant.
    """

    id: str
    kind: str
    text: str
    scope: str
    entity: str
    predicate: str
    options: tuple[Option, ...]
    since: datetime | None = None
    proposals: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which questions are wanted: of a scope, about what another question was about, and how many at most."""

    scope: str | None = None
    about: Question | None = None
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.limit is not None:
            at_least("limit", self.limit)


def questions(memory: Judging, asked: Asked) -> tuple[Question, ...]:
    """The open questions, the most valuable ones first."""
    with memory._looking():
        return tuple(islice(_questions(memory, asked), asked.limit))


def _questions(memory: Judging, asked: Asked) -> Iterator[Question]:
    now, about = memory._now(), asked.about
    slot = None if about is None else memory._replica.catalog.find(about.scope, about.entity, about.predicate)
    if about is None or slot is not None:
        for each in weighed(memory, now, asked.scope, slot, asked.limit):
            question = _about_value(memory, each)
            if question.kind != "guess" or len(question.options) > 1:
                yield question
    yield from _names(memory, asked.scope)


def _about_value(memory: Judging, each: Weighed) -> Question:
    """The question about a belief: what else was said, and by whom."""
    belief = memory._telling.belief(each.slot, each.belief)
    winner = memory._telling.entry(each.winner)
    positions = [*each.rivals, *(each.guesses if belief.trust <= GUESS else ())]
    options = _different(map(_option, (winner, *map(memory._telling.entry, positions))))
    if belief.contested and (belief.trust <= GUESS or len(options) == 1):
        options = _different([*options, *(_option(entry, over=True) for entry in _against(memory, belief, winner))])
    kind = "contested" if belief.contested else "sensitive" if each.sensitive else "guess"
    return _question(kind, _text(memory, kind, belief, options), belief, options, belief.valid_from)


def _text(memory: Judging, kind: str, belief: Belief, options: tuple[Option, ...]) -> str:
    first, *others = (_side(memory, option) for option in options)
    what = f"{_spelled(belief.predicate)} of {belief.entity}"
    if kind == "sensitive":
        before = f" Said before: {', '.join(others)}." if others else ""
        return f"Is this right for {what}: {first}?{before}"
    asked = "What holds now for" if kind == "contested" else "Nobody has confirmed"
    return f"{asked} {what}: {' or '.join((first, *others))}?"


# -- what contradicts a belief -----------------------------------------------------------------------------


def _against(memory: Judging, belief: Belief, winner: HistoryEntry) -> list[HistoryEntry]:
    """The ends, denials and retractions that had not the trust to act on what is believed."""
    history = memory.history(belief.entity, belief.predicate, scope=belief.scope)
    acting = [entry for entry in history if entry.status == "live" and entry.trust < winner.trust]
    said = [entry for entry in acting if entry.verb in ("end", "deny") and entry.value == belief.value]
    return said + [entry for entry in acting if entry.verb == "retract" and winner.event in entry.names]


def _different(options: Iterable[Option]) -> tuple[Option, ...]:
    """One option for each value: of several that say the same, the one that was said last."""
    found: dict[tuple[bytes, bool], Option] = {}
    for option in options:
        place = (encode(option.value) if option.value is not None else b"", option.over)
        other = found.get(place)
        later = (
            other is not None
            and option.said_at is not None
            and (other.said_at is None or option.said_at > other.said_at)
        )
        if other is None or (later and other is not next(iter(found.values()))):
            found[place] = option
    return tuple(found.values())


# -- names in doubt --------------------------------------------------------------------------------------


def _names(memory: Judging, scope: str | None) -> Iterator[Question]:
    """One question for each name in doubt, with what was filed under it."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in memory._in_doubt():
        defined = memory._defined(entry.candidate.scope)
        open_still = by_names(entry.candidate, defined).predicate not in defined and stands(memory, entry)
        if scope in (None, entry.candidate.scope) and open_still:
            assert entry.doubt is not None
            groups.setdefault((entry.candidate.scope, entry.doubt.predicate), []).append(entry)
    for (where, name), entries in groups.items():
        yield _name(memory, where, name, entries)


def _name(memory: Judging, scope: str, name: str, entries: list[Entry]) -> Question:
    doubts = [entry.doubt for entry in entries if entry.doubt is not None]
    proposals = tuple(sorted({proposal for doubt in doubts for proposal in doubt.proposals}))
    options = tuple(_option(memory.event(doubt.events[-1])) for doubt in doubts)
    entity = entries[0].candidate.entity
    sides = ", ".join(_side(memory, option) for option in options)
    text = f"Does {name!r} of {entity}, {sides}, mean {' or '.join(map(_spelled, proposals))}?"
    identity = _id("name", scope, name, list(proposals))
    return Question(identity, "name", text, scope, entity, name, options, None, proposals)


def in_doubt_about(memory: Judging, question: Question) -> list[Entry]:
    """The candidates that a question about a name is about."""
    entries = [entry for entry in memory._in_doubt() if entry.candidate.scope == question.scope]
    return [entry for entry in entries if entry.doubt and entry.doubt.predicate == question.predicate]


# -- the words ---------------------------------------------------------------------------------------------


def _question(kind: str, text: str, about: Belief, options: tuple[Option, ...], since: datetime | None) -> Question:
    sides = [[unpack(encode(NONE if o.value is None else o.value)), o.over] for o in options]
    identity = _id(kind, about.scope, about.entity, about.predicate, sides)
    return Question(identity, kind, text, about.scope, about.entity, about.predicate, options, since)


def _id(*parts: Any) -> str:
    return sha256(pack(list(parts))).hexdigest()[:_ID_LETTERS]


def _option(entry: HistoryEntry, *, over: bool = False) -> Option:
    said_at = entry.observed_at or entry.asserted_at
    return Option(entry.value, said_at, entry.source, entry.trust, entry.event, over)


def _side(memory: Judging, option: Option) -> str:
    """One side in words: the value, who said it, and when."""
    value = "none" if option.value is NONE else "" if option.value is None else repr(option.value)
    shown = f"no longer {value}".strip() if option.over else value
    day = "" if option.said_at is None else f", {option.said_at.astimezone(memory._shown_in()):%Y-%m-%d}"
    return f"{shown} ({_who(option)}{day})"


def _who(option: Option) -> str:
    """Whose word it is, as the user is told: what was taken from the user's words is not what the user said."""
    if option.source.kind == "user":
        return "you" if option.trust > GUESS else "from your words"
    if option.source.kind == "model":
        return "a guess"
    return " ".join(part for part in (option.source.kind, option.source.id) if part) or "source not named"


def _spelled(predicate: str) -> str:
    return predicate.replace("_", " ")
