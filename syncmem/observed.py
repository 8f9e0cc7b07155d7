"""What observing returns: receipts of episodes, and what is known of them. Plain frozen objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from syncmem.results import Source, as_dict


@dataclass(frozen=True, slots=True)
class Observation:
    """What observing an episode came to.

    Attributes:
        episode: its id, the same wherever the same is observed.
        new: it was not known here; if it was, nothing was written.
        event: the id of the event that holds it.
        size: in bytes; ``chunks``: how many parts of its content lie beside the log (0: the event holds all of it).
        known: this device's transaction number.
    """

    episode: str
    new: bool
    event: str
    size: int
    chunks: int
    known: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class EpisodeInfo:
    """A conversation turn or a document that claims may come from.

    Attributes:
        kind: "turn", "document" or what else the observer called it; ``speaker``: the entity that spoke or wrote.
        at: when; None where nobody knows.
        text: whether the content is text; ``size``: in bytes.
        source: whose word it is: kind and id, as claims drawn from it name them.
        device, event: who observed it, and the event that holds it.
        chunks, chunks_here: of how many parts its content consists, and how many are on this device; the others are
            fetched when it is read (0: the event holds all of it).
        beside: what the program that observed it keeps with it.
    """

    id: str
    kind: str
    speaker: str | None
    at: datetime | None
    conversation: str | None
    title: str | None
    media_type: str
    text: bool
    size: int
    mentions: tuple[str, ...]
    source: Source
    scope: str
    zone: str | None
    device: str
    event: str
    chunks: int
    chunks_here: int
    beside: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)
