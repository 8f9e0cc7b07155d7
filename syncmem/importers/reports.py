"""What an import came to, and which imports there are. Plain frozen objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from syncmem.results import as_dict


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import came to (of a dry run: what it would come to).

    Attributes:
        batch: what was written belongs to it: ``memory.retract(batch=report.batch)`` withdraws all of it.
        turns, claims, ends: how many were new, and are here now.
        known: how many records were here already; ``repeated``: stand in the archive more than once.
        skipped: how many could not be taken in; ``problems``: where the first of them stand, and why.
        erased: how many name an entity that was erased, and were left out.
        lacking: how many records of earlier archives that share any with this one are not in it; ``refused``: why it
            is not imported for that, unless it is forced.
        derived: how many candidates of the extractor became statements.
    """

    kind: str
    batch: str
    turns: int
    claims: int
    ends: int
    known: int
    repeated: int
    skipped: int
    erased: int
    lacking: int
    problems: tuple[str, ...]
    refused: str | None
    derived: int
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class ImportedBatch:
    """A batch that came out of an archive: how many events it has, and whether it stands withdrawn."""

    scope: str
    batch: str
    events: int
    withdrawn: bool

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)
