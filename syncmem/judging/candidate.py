"""Candidates: what somebody seems to have said, before it is judged.

Rules: a candidate is a proposal and changes nothing by itself; its dates stay text, so their precision stays;
``confidence`` is kept for people to look at and decides nothing; what makes no sense is refused when it is made.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from syncmem import statements
from syncmem.arguments import checked
from syncmem.errors import InvalidInput
from syncmem.model.instant import parse
from syncmem.model.value import NONE
from syncmem.results import Source, as_dict

WORDS_BYTES_MAX: Final = 8 * 1024  # a paragraph: who sends more has not looked for the sentence
NOW: Final = "now"  # observed_at of what is being said while it is submitted
CANDIDATES_MAX: Final = 1_000  # of one text: more is a model that repeats itself

_UNNAMED: Final = Source()


class Verb(StrEnum):
    """How it speaks about time, and what it wants; the verbs and forms of a :class:`syncmem.Memory`."""

    STATE = "state"
    CHANGE = "change"
    PERIOD = "period"
    TEMPORARY = "temporary"
    END = "end"
    DENY = "deny"
    CORRECT = "correct"


class Manner(StrEnum):
    """How it was meant."""

    STATED = "stated"
    NEGATED = "negated"  # the speaker says that it is not so
    INFERRED = "inferred"  # nobody said it; what was said or done suggests it
    QUOTED = "quoted"  # the speaker tells what somebody else said
    HYPOTHETICAL = "hypothetical"  # wishes, plans that are not settled, examples, jokes


@checked
@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing that may have been said: ``entity``'s ``predicate`` is ``value``.

    Attributes:
        predicate: the name of a predicate, or what the speaker called it.
        value: as :meth:`syncmem.Memory.remember` takes it.
        verb: state, change, period, temporary, end, deny or correct.
        kind: stated, negated, inferred, quoted or hypothetical.
        since, until: dates as text, as precise as they were said; of a change or an end, ``since`` is its day.
        observed_at: when it was said or written, or "now": live, as it is submitted. Documents need it. Unsaid: when
            it is submitted, and what names no ``episode`` either counts as a guess, for nobody vouches for it.
        source: who says so; ``episode`` and ``span`` are the passage. "assistant": the agent itself.
        instead_of: what a correction replaces; unsaid: what is believed.
        mentions: other entities that it speaks of.
        derived_from: ids of the claims from which it follows, or which it retells.
        confidence: what the extractor thinks of it.
        words: the sentence that says it, as it stands in what was said; where they say more than the candidate (an
            end, a time, a doubt), it is written as a guess, contested, and the user is asked. They are kept only until
            it is judged. Of the user's own word with no ``episode``, they have to name the value.
        batch: what it is to be withdrawn with.
    """

    entity: str
    predicate: str
    value: Any
    verb: str = Verb.STATE
    kind: str = Manner.STATED
    since: str | None = None
    until: str | None = None
    observed_at: str | None = None
    source: Source = _UNNAMED
    instead_of: Any = None
    mentions: tuple[str, ...] = ()
    confidence: float | None = None
    scope: str = "vault"
    zone: str | None = None
    derived_from: tuple[str, ...] = ()
    words: str | None = None
    batch: str | None = None

    def __post_init__(self) -> None:
        verb, kind = _one_of(Verb, "verb", self.verb), _one_of(Manner, "kind", self.kind)
        object.__setattr__(self, "verb", verb)
        object.__setattr__(self, "kind", kind)
        for name in ("entity", "predicate", "scope"):
            object.__setattr__(self, name, statements.name(name, getattr(self, name)))
        for name, what in (("mentions", "mentioned entity"), ("derived_from", "event")):
            object.__setattr__(self, name, tuple(statements.name(what, each) for each in getattr(self, name)))
        object.__setattr__(self, "source", statements.source_of(self.source))
        if self.words is not None:
            object.__setattr__(self, "words", statements.text("words", self.words, WORDS_BYTES_MAX))
        if verb == Verb.PERIOD and (self.since is None or self.until is None):
            raise InvalidInput("a period has since and until; give both, or use 'end' for what is over")
        if verb == Verb.TEMPORARY and self.until is None:
            raise InvalidInput("what is temporary has an end; give until, or use 'state'")
        if self.source.kind == "document" and self.observed_at is None:
            raise InvalidInput("a document's statement needs the document's date; give observed_at (or 'undated')")

    def check(self, zone: Any) -> None:
        """Refuse values and dates that no event could hold, and whatever could not be read again when it is judged.

        Raises:
            InvalidInput: with the reason; a date without a zone is one.
        """
        statements.value_of(self.value)
        if self.instead_of is not None:
            statements.value_of(self.instead_of)
        dates = [self.since, self.until, None if self.observed_at in (statements.UNDATED, NOW) else self.observed_at]
        for date in dates:
            if date is not None:
                parse(date, zone=self.zone or zone)
        from_json(to_json(self))

    def to_dict(self) -> dict[str, Any]:
        """As JSON types, without what was not said; NONE as None."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        told = {name: item for name, item in as_dict(self).items() if given[name] is not None}
        return told | {name: _json(given[name]) for name in ("value", "instead_of") if given[name] is not None}


def _json(value: Any) -> Any:
    return None if value is NONE else statements.value_of(value)


def _one_of(kinds: type[StrEnum], what: str, given: str) -> Any:
    try:
        return kinds(given)
    except ValueError as error:
        raise InvalidInput(f"{what} cannot be {given!r}; use one of {', '.join(kinds)}") from error


# -- JSON, from the queue or from a model --------------------------------------------------------------


class _SourceFields(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    kind: str | None = None
    id: str | None = None
    episode: str | None = None
    span: tuple[int, int] | None = None


class CandidateFields(BaseModel):
    """A candidate as JSON; what else a model may have written is passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    entity: str
    predicate: str
    value: Any
    verb: Verb = Verb.STATE
    kind: Manner = Manner.STATED
    since: str | None = None
    until: str | None = None
    observed_at: str | None = None
    source: _SourceFields | None = None
    instead_of: Any = None
    mentions: tuple[str, ...] = ()
    confidence: float | None = Field(default=None, ge=0, le=1)
    scope: str = "vault"
    zone: str | None = None
    derived_from: tuple[str, ...] = ()
    words: str | None = None
    batch: str | None = None

    def candidate(self) -> Candidate:
        given = {name: getattr(self, name) for name in self.model_fields_set - {"source", "value", "instead_of"}}
        source = Source() if self.source is None else Source(**self.source.model_dump())
        value = NONE if self.value is None else self.value
        replaced = NONE if self.instead_of is None and "instead_of" in self.model_fields_set else self.instead_of
        return Candidate(**given, value=value, source=source, instead_of=replaced)


_LIST: Final[TypeAdapter[list[Any]]] = TypeAdapter(list[Any])


def to_json(candidate: Candidate) -> str:
    """A candidate as one line of JSON."""
    return json.dumps(candidate.to_dict(), ensure_ascii=False)


def from_json(text: str) -> Candidate:
    """The candidate of one line.

    Raises:
        InvalidInput: it is none; the message says where.
    """
    try:
        return CandidateFields.model_validate_json(text).candidate()
    except ValidationError as error:
        raise InvalidInput(f"no candidate: {_first(error)}; correct it") from error


def read_candidates(text: str, defaults: Mapping[str, Any]) -> tuple[list[Candidate], list[str]]:
    """The candidates in a JSON list, and why some of its items are none. ``defaults``: what an item does not say.

    A null is taken for "there is none" only where the item says that it is negated: models write null for unknown.

    Raises:
        InvalidInput: the text is no JSON list, or a very long one.
    """
    try:
        items = _LIST.validate_json(text)
    except ValidationError as error:
        raise InvalidInput(f"the answer is no JSON list ({_first(error)}); ask the model for a list alone") from error
    if len(items) > CANDIDATES_MAX:
        raise InvalidInput(f"{len(items)} candidates of one text are too many; split the text")
    found, problems = [], []
    for number, item in enumerate(items, 1):
        try:
            given = {**defaults, **item} if isinstance(item, dict) else item
            candidate = CandidateFields.model_validate(given).candidate()
            if candidate.value is NONE and candidate.kind != Manner.NEGATED:
                raise InvalidInput("value: null is no value; say kind negated if it is known that there is none")
            found.append(candidate)
        except ValidationError as error:
            problems.append(f"item {number}: {_first(error)}")
        except InvalidInput as error:
            problems.append(f"item {number}: {error}")
    return found, problems


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])
