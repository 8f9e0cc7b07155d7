"""Values and names as they are shown: on one line, and with nothing in them that acts on who shows them.

Rule: a value may come from any device, so what is not printable (control sequences, marks that turn the direction of
writing) is written out.
"""

from __future__ import annotations

import json
import unicodedata
from datetime import datetime, tzinfo
from typing import Any, Final, Protocol

from syncmem.model.instant import local_text
from syncmem.model.value import NONE

JOINERS: Final = {"\u200c", "\u200d"}  # hold scripts and emoji together; not printable to Python, yet harmless
SHOWN_CHARACTERS_MAX: Final = 300  # of a value in a picture's hints; its table shows all of it
CUT: Final = "…"
LEGIBLE_MIN: Final = 3  # fewer letters of a text say nothing


class Sourced(Protocol):
    """What a picture reads of a source."""

    @property
    def kind(self) -> str | None: ...
    @property
    def id(self) -> str | None: ...


def value_text(value: Any) -> str:
    """A value on one line: text as it is, the rest as JSON.

    >>> value_text("Lisbon"), value_text(NONE), value_text([1, "a"]), value_text("a\\nb")
    ('Lisbon', '(none)', '[1, "a"]', 'a\\\\nb')
    """
    if value is NONE:
        return "(none)"
    return escaped(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def escaped(text: str) -> str:
    """Text with everything that is not printable written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text)


def period_text(start: datetime | None, end: datetime | None, zone: tzinfo) -> str:
    """From when to when, end excluded."""
    first, last = local_text(start, zone), local_text(end, zone)
    return " ".join(part for part in (first and f"from {first}", last and f"to {last}") if part) or "always"


def presumed_text(since: datetime | None, zone: tzinfo) -> str:
    """From when on something is only presumed; nothing for None."""
    if since is None:
        return ""
    return "throughout" if since.year == 1 else f"since {local_text(since, zone)}"


def source_text(source: Sourced) -> str:
    """Who says so, such as "user" or "document:notes.txt"; nothing where no source is named."""
    return escaped(":".join(part for part in (source.kind, source.id) if part))


def shortened(text: str, characters_max: int = SHOWN_CHARACTERS_MAX) -> str:
    """
    >>> shortened("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= characters_max else text[: characters_max - 1] + CUT


def width_of(text: str, size: float) -> float:
    """About how wide a text is in a usual typeface of that size: enough to lay out, too little to clip by."""
    return sum(map(_ems, text)) * size


def fitted(text: str, room: float, size: float) -> str:
    """As much of a text as fits, with a mark where it was cut; nothing where not even that would say something."""
    if width_of(text[: SHOWN_CHARACTERS_MAX + 1], size) <= room and len(text) <= SHOWN_CHARACTERS_MAX:
        return text
    kept, taken = 0, width_of(CUT, size)
    for character in text[:SHOWN_CHARACTERS_MAX]:
        taken += _ems(character) * size
        if taken > room:
            break
        kept += 1
    return text[:kept].rstrip() + CUT if kept >= LEGIBLE_MIN else ""


def _ems(character: str) -> float:
    """The width of a character, as a part of the size of its typeface."""
    if unicodedata.combining(character) or character in JOINERS:
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in "mwMW@%&":
        return 0.88
    return 0.33 if character in "iljtfrI.,:;'|!()[] " else 0.6
