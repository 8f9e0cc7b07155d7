"""What is believed, as Markdown with dates: one heading an entity, one line a belief, what was before below it.

Rule: a value is text from anywhere, so that nothing in it can become markup or begin a line of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from typing import IO, Any, Final

from syncmem.model.instant import local_text
from syncmem.model.value import NONE
from syncmem.results import Belief, Source, Timeline

_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&:=$^@/])")


def write_document(file: IO[str], timelines: Iterable[Timeline], now: datetime, zone: tzinfo) -> int:
    """Write the document, in the order of the timelines (those of an entity stand together); how many beliefs."""
    file.write(f"# What is believed, {local_text(now, zone)}\n")
    entity, beliefs = None, 0
    for timeline in filter(len, timelines):
        if timeline.entity != entity:
            entity = timeline.entity
            file.write(f"\n## {literal(entity)}\n\n")
        file.writelines(f"{line}\n" for line in _slot(timeline, now, zone))
        beliefs += len(timeline)
    return beliefs


def _slot(timeline: Timeline, now: datetime, zone: tzinfo) -> Iterator[str]:
    """The present values of a slot, then its past and its future ones."""
    present = timeline.at(now)
    name = literal(timeline.predicate)
    if not present:
        yield f"- **{name}**: not known now"
    for belief in present:
        yield f"- **{name}**: {_belief(belief, zone)}"
    for belief in _others(timeline, present):
        tense = "later" if belief.valid_from is not None and belief.valid_from > now else "before"
        yield f"  - {tense}: {_belief(belief, zone)}"


def _others(timeline: Timeline, present: Sequence[Belief]) -> list[Belief]:
    return [belief for belief in timeline if belief not in present]


def _belief(belief: Belief, zone: tzinfo) -> str:
    since, until = local_text(belief.valid_from, zone), local_text(belief.valid_to, zone)
    notes = [since and f"since {since}", until and f"until {until}", _source(belief.source)]
    notes += ["contested"] if belief.contested else []
    told = ", ".join(note for note in notes if note)
    return f"{value(belief.value)} ({told})" if told else value(belief.value)


def value(given: Any) -> str:
    """A value on one line, without markup.

    >>> value("a *b*\\n# c"), value(NONE)
    ('a \\\\*b\\\\* \\\\# c', 'none')
    """
    if given is NONE:
        return "none"
    return literal(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str))


def literal(text: str) -> str:
    """Text as it is, on one line: what would be markup is escaped, what cannot be printed is a space."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return _MARKUP.sub(r"\\\1", " ".join(printable.split()))


def _source(source: Source) -> str:
    return literal(" ".join(part for part in (source.kind, source.id) if part))
