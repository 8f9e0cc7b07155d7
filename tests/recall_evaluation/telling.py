"""What was said, as it lies in claims/*.toml, and a Memory that has heard all of it.

A file holds a table for each entity, with a list of rows for each predicate: the day on which it was said (at noon,
UTC), the value, and the words that went with it, which are arguments of the verb: ``remember``, or what ``verb``
names.  ``(none)`` is NONE; ``of`` names the value that a correction corrects; a retraction takes back the newest
claim of its value.  Rules: everything is said on one device, in the order of the days and, on one day, of the files;
the clock then stands at ``ASKED``.
"""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from syncmem import NONE, Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime

FOLDER = Path(__file__).parent
BEGUN = "2018-01-01T12:00Z"  # when predicates are defined
ASKED = "2026-06-01T12:00Z"  # when questions are asked
CLAIMS = ("remember", "correct")  # the verbs that bring a value


@dataclass(frozen=True)
class Said:
    """One verb about one slot."""

    day: str
    verb: str
    entity: str
    predicate: str
    value: Any
    words: dict[str, Any]


@functools.cache
def everything_said() -> tuple[Said, ...]:
    """All rows of all files, in the order in which they are told."""
    return tuple(sorted(_rows(), key=lambda said: said.day))


def _rows() -> Iterator[Said]:
    for path in sorted((FOLDER / "claims").glob("*.toml")):
        for entity, slots in tomllib.loads(path.read_text(encoding="utf-8")).items():
            for predicate, rows in slots.items():
                for day, value, *words in rows:
                    given = dict(*words)
                    yield Said(day, given.pop("verb", "remember"), entity, predicate, meant(value), given)


def meant(value: Any) -> Any:
    """A value as it stands in the files, as a Memory knows it."""
    return NONE if value == "(none)" else value


def told(path: str | os.PathLike[str] = ":memory:", **opening: Any) -> Memory:
    """A Memory that has heard everything and is asked at ``ASKED``; ``opening`` is for :class:`syncmem.Memory`."""
    clock = ManualClock(_instant(BEGUN))
    memory = Memory(path, zone="UTC", environment=Environment(clock, seeded_randomness(5)), **opening)
    memory.define_pack("personal")
    memory.define_pack(str(FOLDER / "predicates.toml"))
    events: dict[tuple[str, str, Any], str] = {}
    for said in everything_said():
        clock.time = _instant(f"{said.day}T12:00Z")
        events[said.entity, said.predicate, said.value] = _say(memory, said, events)
    clock.time = _instant(ASKED)
    return memory


def _say(memory: Memory, said: Said, events: dict[tuple[str, str, Any], str]) -> str:
    """The id of the event that was written."""
    slot, words = (said.entity, said.predicate), dict(said.words)
    if said.verb == "retract":
        return memory.retract(events[*slot, said.value], **words).event
    if said.verb == "correct":
        return memory.correct(events[*slot, meant(words.pop("of"))], said.value, **words).event
    return getattr(memory, said.verb)(*slot, said.value, **words).event


def _instant(when: str) -> int:
    return from_datetime(datetime.fromisoformat(when))
