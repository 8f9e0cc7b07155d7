"""Tables: JSON lines and CSV, with a mapping file (TOML) that says what the columns mean.

    id = "{id}"                      # what tells rows apart; unsaid: all that they say
    [[claim]]                        # one or more for each row; a claim without entity or value is passed over
    entity = "{name}"
    predicate = "home_city"
    value = "{city}"
    since = "{from}"                 # also changed_on, until, valid_to, observed_at
    mentions = ["{boss}"]
    [turn]                           # or a turn of a conversation for each row
    text = "{message}"
    speaker = "{author}"             # also at, conversation, title
    [predicates.home_city]
    cardinality = "single"

Rules: ``{column}`` is replaced by what is there (``{a.b}``: in an object); alone it keeps its type; what is missing,
null or empty says nothing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from syncmem.errors import InvalidInput
from syncmem.importers.archive import Archive
from syncmem.importers.recognising import another
from syncmem.importers.records import Fact, Plain, Record, Skipped, Time, Turn
from syncmem.importers.times import either
from syncmem.judging.packs import PackPredicate

_STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True)
_COLUMN: Final = re.compile(r"\{([^{}]+)\}")
_TIMES: Final = ("since", "changed_on", "until", "valid_to", "observed_at")
_CELL_LETTERS_MAX: Final = 16 * 1024 * 1024


class ClaimColumns(BaseModel):
    """Of which columns a claim is made."""

    model_config = _STRICT
    entity: str
    predicate: str
    value: str
    since: str | None = None
    changed_on: str | None = None
    until: str | None = None
    valid_to: str | None = None
    observed_at: str | None = None
    mentions: list[str] = []


class TurnColumns(BaseModel):
    """Of which columns a turn is made."""

    model_config = _STRICT
    text: str
    speaker: str | None = None
    at: str | None = None
    conversation: str | None = None
    title: str | None = None


class Mapped(BaseModel):
    """A mapping file."""

    model_config = _STRICT
    id: str | None = None
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    claim: list[ClaimColumns] = []
    turn: TurnColumns | None = None
    predicates: dict[str, PackPredicate] = {}

    def columns(self) -> set[str]:
        """The columns of which it speaks."""
        return {name for template in self.templates() for name in _COLUMN.findall(template)}

    def templates(self) -> list[str]:
        """All templates of it."""
        parts = [part.model_dump().values() for part in (*self.claim, self.turn) if part is not None]
        said = [self.id, *(each for part in parts for one in part for each in (one if type(one) is list else [one]))]
        return [template for template in said if template is not None]


class Table(Plain):
    """Reads rows, and makes records of them as the mapping says."""

    kind: ClassVar[str]
    wants_mapping: ClassVar[bool] = True

    def predicates(self, archive: Archive) -> Mapping[str, Mapping[str, Any]]:
        return {name: each.model_dump(exclude_unset=True) for name, each in _mapped(archive).predicates.items()}

    def read(self, archive: Archive) -> Iterator[Record]:
        mapped, silent = _mapped(archive), True
        try:
            for record in self._rows_told(archive, mapped):
                silent = silent and isinstance(record, Skipped)
                yield record
        except InvalidInput as error:
            told = another(archive, self.kind) if silent else None
            raise InvalidInput(told) if told else error from error

    def _rows_told(self, archive: Archive, mapped: Mapped) -> Iterator[Record]:
        unseen, begun, silent = mapped.columns(), False, True
        for place, row in self.rows(archive, mapped):
            begun = True
            if row is None:
                yield Skipped(place, "it has not as many columns as the first line names")
                continue
            unseen = {name for name in unseen if name not in row and name.split(".")[0] not in row}
            for record in _records(row, mapped, archive.user):
                silent = False
                yield record
        if begun and silent and unseen:
            raise InvalidInput(f"no row has {_listed(unseen)}, which the mapping names; correct the mapping")

    def rows(self, archive: Archive, mapped: Mapped) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """The rows with the place where each stands; None for one that has not all columns."""
        raise NotImplementedError


class JsonLines(Table):
    """A JSON object a line."""

    kind: ClassVar[str] = "jsonl"

    def rows(self, archive: Archive, mapped: Mapped) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        return ((f"line {number}", row) for number, row in archive.objects())


class Csv(Table):
    """Comma-separated values, whose first line names the columns."""

    kind: ClassVar[str] = "csv"

    def rows(self, archive: Archive, mapped: Mapped) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        csv.field_size_limit(_CELL_LETTERS_MAX)
        reader = csv.reader((line for _, line in archive.lines(empty=True)), delimiter=mapped.delimiter, strict=True)
        try:
            columns = next(reader, None)
            if not columns or len(set(columns)) < len(columns):
                raise InvalidInput("the first line does not name each column once; name them there")
            if lacking := mapped.columns() - {*columns}:
                there = ", ".join(columns)
                raise InvalidInput(f"there is no column {_listed(lacking)}, only {there}; correct the mapping")
            for cells in filter(None, reader):
                whole = len(cells) == len(columns)
                yield f"line {reader.line_num}", dict(zip(columns, cells, strict=True)) if whole else None
        except csv.Error as error:
            raise InvalidInput(f"line {reader.line_num} is broken ({error}); nothing of it was imported") from error


def _mapped(archive: Archive) -> Mapped:
    try:
        mapped = Mapped.model_validate(dict(archive.mapping))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"the mapping is not right: {place}: {first['msg']}; correct it there") from error
    if not mapped.claim and mapped.turn is None:
        raise InvalidInput("the mapping says of no column what it means; give it a [[claim]] or a [turn]")
    if odd := next((template for template in mapped.templates() if set("{}") & set(_COLUMN.sub("", template))), None):
        raise InvalidInput(f"the mapping is not right: {odd!r} has a brace without its other; write '{{column}}'")
    return mapped


def _records(row: Mapping[str, Any], mapped: Mapped, user: str) -> Iterator[Record]:
    own = _filled(mapped.id, row)
    for columns in mapped.claim:
        entity, predicate, value = (_filled(each, row) for each in (columns.entity, columns.predicate, columns.value))
        if entity is None or predicate is None or value is None:
            continue
        times: dict[str, Time | None] = {name: either(_filled(getattr(columns, name), row)) for name in _TIMES}
        mentions = tuple(str(name) for each in columns.mentions if (name := _filled(each, row)) is not None)
        id = (str(own),) if own is not None else (str(entity), str(predicate), str(value))
        yield Fact(id, str(entity), str(predicate), value, mentions=mentions, **times)
    text = None if mapped.turn is None else _filled(mapped.turn.text, row)
    if mapped.turn is not None and text is not None:
        speaker, at, conversation, title = (
            _filled(each, row)
            for each in (mapped.turn.speaker, mapped.turn.at, mapped.turn.conversation, mapped.turn.title)
        )
        called = (str(own),) if own is not None else (str(conversation), str(at), str(text))
        told = (_text(conversation), _text(title))
        yield Turn(called, str(text), _text(speaker) or user, either(at), *told)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _filled(template: str | None, row: Mapping[str, Any]) -> Any:
    """A template with what a row has in its columns; None if one of them says nothing."""
    if template is None:
        return None
    alone = _COLUMN.fullmatch(template)
    if alone is not None:
        return _cell(row, alone[1])
    cells = {name: _cell(row, name) for name in _COLUMN.findall(template)}
    if any(cell is None for cell in cells.values()):
        return None
    return _COLUMN.sub(lambda found: str(cells[found[1]]), template)


def _cell(row: Mapping[str, Any], name: str) -> Any:
    found: Any = row
    for part in [name] if name in row else name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return None if found == "" or (isinstance(found, str) and not found.strip()) else found
