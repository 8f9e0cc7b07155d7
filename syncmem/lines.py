"""Verbs as JSON lines: many writes from a file or another program, checked at the door.

One line is one verb: ``{"verb": "remember", "entity": "ana", "predicate": "home_city", "value": "Lisbon",
"since": "2025-04", "source": {"kind": "user"}}``.  Fields are the arguments of the methods of
:class:`syncmem.Memory`; ``null`` as a value is ``NONE``.  Rules: every line is checked before the first is
written, and all are written in one durable transaction or none is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from syncmem.errors import InvalidInput, SyncmemError
from syncmem.memory import Memory
from syncmem.model.value import NONE
from syncmem.observed import Observation
from syncmem.results import Receipt, Source

_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True)


class SourceFields(BaseModel):
    """Where a statement comes from."""

    model_config = _STRICT
    kind: str | None = None
    id: str | None = None
    episode: str | None = None
    span: list[int] | None = Field(default=None, min_length=2, max_length=2)


class Words(BaseModel):
    """What every verb may say about who speaks."""

    model_config = _STRICT
    trust: int | str | None = None
    source: SourceFields | str | None = None
    reason: str | None = None


class Said(Words):
    """What statements may say beside that."""

    entity: str
    predicate: str
    value: Any
    scope: str = "vault"
    observed_at: str | None = None
    batch: str | None = None
    zone: str | None = None


class Bounds(BaseModel):
    """When a claim holds."""

    model_config = _STRICT
    since: str | None = None
    changed_on: str | None = None
    until: str | None = None
    valid_to: str | None = None
    then: str | None = None
    expires_at: str | None = None
    ttl: str | None = None
    stale_after: str | None = None
    stale_trust: int | str | None = None


class RememberLine(Said, Bounds):
    verb: Literal["remember"]
    affirm: bool | None = None
    mentions: list[str] = []
    derived_from: list[str] = []


class EndLine(Said):
    verb: Literal["end"]
    at: str | None = None
    changed: bool = False
    event: str | None = None


class DenyLine(Said):
    verb: Literal["deny"]


class RetractLine(Words):
    verb: Literal["retract"]
    events: list[str] = []
    batch: str | None = None
    scope: str | None = None


class CorrectLine(Words, Bounds):
    verb: Literal["correct"]
    event: str
    value: Any
    observed_at: str | None = None
    batch: str | None = None
    zone: str | None = None


class UndoLine(Words):
    verb: Literal["undo"]
    event: str


class ObserveLine(BaseModel):
    model_config = _STRICT
    verb: Literal["observe"]
    content: str
    speaker: str | None = None
    at: str | None = None
    kind: str = "turn"
    conversation: str | None = None
    title: str | None = None
    media_type: str | None = None
    mentions: list[str] = []
    source: SourceFields | str | None = None
    scope: str = "vault"
    batch: str | None = None
    zone: str | None = None
    beside: dict[str, Any] | None = None


class DefineLine(Words):
    verb: Literal["define"]
    predicate: str
    cardinality: Literal["single", "many"]
    equality: str | None = None
    ttl: str | None = None
    stale_after: str | None = None
    stale_trust: int | str | None = None
    then: str | None = None
    sensitive: bool | None = None
    description: str | None = None
    aliases: list[str] = []
    corroborated_by: int | None = None
    scope: str = "vault"


class LinkLine(Words):
    verb: Literal["same", "different"]
    entity: str
    other: str
    scope: str = "vault"
    batch: str | None = None


Line = Annotated[
    RememberLine | EndLine | DenyLine | RetractLine | CorrectLine | UndoLine | DefineLine | LinkLine | ObserveLine,
    Field(discriminator="verb"),
]
_LINE: TypeAdapter[Any] = TypeAdapter(Line)


def apply(memory: Memory, lines: Iterable[str]) -> list[Receipt | Observation]:
    """Write JSON lines in one durable transaction; a receipt for each (of an episode its observation).

    Raises:
        InvalidInput: a line is not right; it is named, and nothing was written.
    """
    try:
        read = [(number, parse(number, line)) for number, line in enumerate(lines, 1) if line.strip()]
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the lines are not UTF-8 ({error.reason}); convert the file first") from error
    receipts: list[Receipt | Observation] = []
    with memory.transaction():
        for number, line in read:
            try:
                receipts.append(_VERBS[line.verb](memory, _arguments(line)))
            except SyncmemError as error:
                raise InvalidInput(f"line {number}: {error}") from error
    return receipts


def parse(number: int, text: str) -> Any:
    """One line as a model; ``number`` is for the message."""
    try:
        return _LINE.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the line"
        raise InvalidInput(f"line {number}: {place}: {first['msg']}; correct it, nothing was written") from error


def _arguments(line: BaseModel) -> dict[str, Any]:
    """The arguments of a line's verb, without what was not said."""
    given = line.model_dump(exclude_unset=True, exclude={"verb", "source"})
    source = getattr(line, "source", None)
    if isinstance(source, SourceFields):
        fields = source.model_dump(exclude_unset=True)
        span = fields.pop("span", None)
        source = Source(**fields, span=None if span is None else (span[0], span[1]))
    if source is not None:
        given["source"] = source
    if "value" in given and given["value"] is None:
        given["value"] = NONE
    return given


def _retract(memory: Memory, given: dict[str, Any]) -> Receipt:
    return memory.retract(*given.pop("events", ()), **given)


def _correct(memory: Memory, given: dict[str, Any]) -> Receipt:
    return memory.correct(given.pop("event"), given.pop("value"), **given)


_VERBS: dict[str, Callable[[Memory, dict[str, Any]], Receipt | Observation]] = {
    "remember": lambda memory, given: memory.remember(**given),
    "end": lambda memory, given: memory.end(**given),
    "deny": lambda memory, given: memory.deny(**given),
    "retract": _retract,
    "correct": _correct,
    "undo": lambda memory, given: memory.undo(given.pop("event"), **given),
    "define": lambda memory, given: memory.define(**given),
    "same": lambda memory, given: memory.same(**given),
    "different": lambda memory, given: memory.different(**given),
    "observe": lambda memory, given: memory.observe(given.pop("content"), **given),
}
