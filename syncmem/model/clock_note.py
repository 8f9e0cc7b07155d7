"""Clock notes: that the clock of a log was wrong for some of its events, and by how much."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from syncmem.errors import NotCanonical
from syncmem.model.instant import LATEST

_LOG_BYTES: Final = 16


class ClockNote(NamedTuple):
    """Payload: the clock of a log was wrong by ``-offset`` microseconds from ``first`` to ``last``."""

    log: bytes
    first: int
    last: int
    offset: int
    trust: int
    source_kind: str | None
    source_id: str | None
    extra: dict[str, Any] | None


def check_clock_note(note: ClockNote, *, place_max: int) -> None:
    """Refuse what no log, place or offset can be.

    Raises:
        NotCanonical: with the reason.
    """
    placed = all(0 <= place <= place_max for place in (note.first, note.last))
    if len(note.log) != _LOG_BYTES or not placed or abs(note.offset) > LATEST:
        raise NotCanonical("a clock note names a log, places and an offset; ask the sender to check it")
