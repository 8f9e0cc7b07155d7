"""Records: what an importer reads out of an archive, and what an importer is.

Rules: a record holds the archive's own words, times as the archive writes them (text or aware datetimes) or None for
what nobody dated; what the record is called in the archive is its ``id``; nothing here is of the day of the import.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from syncmem.importers.archive import Archive

Time: TypeAlias = datetime | date | str
Names: TypeAlias = tuple[str, ...]

USER: Final = "user"
ASSISTANT: Final = "assistant"
SPOKEN: Final = "turn"
ABANDONED: Final = "abandoned turn"  # on a branch that the conversation did not go on with
DOCUMENT: Final = "document"


@dataclass(frozen=True, slots=True)
class Turn:
    """Something said or written, which becomes an episode.

    Attributes:
        by: USER, ASSISTANT, or the name of somebody else.
        form: SPOKEN, ABANDONED or DOCUMENT.
    """

    id: Names
    text: str
    by: str
    at: Time | None
    conversation: str | None = None
    title: str | None = None
    form: str = SPOKEN

    @property
    def content(self) -> object:
        """What makes it another record than the one of the same id before it."""
        return [self.text, self.by]


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim, with times as :meth:`syncmem.Memory.remember` takes them; where it has an end, nothing follows."""

    id: Names
    entity: str
    predicate: str
    value: Any
    observed_at: Time | None
    since: Time | None = None
    changed_on: Time | None = None
    until: Time | None = None
    valid_to: Time | None = None
    mentions: Names = ()

    @property
    def content(self) -> object:
        return ["fact", asdict(self)]


@dataclass(frozen=True, slots=True)
class End:
    """A value holds no longer, since ``at``, as far as it was seen."""

    id: Names
    entity: str
    predicate: str
    value: Any
    at: Time | None
    observed_at: Time | None
    mentions: Names = ()

    @property
    def content(self) -> object:
        return ["end", asdict(self)]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that cannot be taken in, where it stands, and why."""

    place: str
    why: str


Record: TypeAlias = Turn | Fact | End | Skipped


def named(found: object) -> str | None:
    """What an archive calls something: a text, or a number as one; None for whatever else stands in its place."""
    return str(found) if type(found) in (str, int) and found != "" else None


class Importer(Protocol):
    """Reads one form of archive.

    Attributes:
        kind: its name, and the kind of source of its facts.
        trust: the tier of its facts: "integration", "document" or "inference".
        wants_mapping: it can only read with a mapping file.
    """

    kind: ClassVar[str]
    trust: ClassVar[str]
    wants_mapping: ClassVar[bool]

    def read(self, archive: Archive) -> Iterator[Record]:
        """The records in the order of the archive; called twice for one import, and both times the same.

        Raises:
            InvalidInput: the file is broken or something else; the message names the place.
        """
        ...

    def predicates(self, archive: Archive) -> Mapping[str, Mapping[str, Any]]:
        """What its predicates are like, for those that nobody defined (arguments of ``Memory.define``)."""
        ...


class Plain:
    """What most importers have in common."""

    trust: ClassVar[str] = "document"
    wants_mapping: ClassVar[bool] = False

    def predicates(self, archive: Archive) -> Mapping[str, Mapping[str, Any]]:
        return {}
