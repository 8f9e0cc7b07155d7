"""The contradictions: cases as they lie in the TOML files, how they are told, and what is wrong with an answer.

Rules: a case says in plain English what was said, gives it as steps (a verb with its arguments; ``@name`` is the
event of an earlier step, ``(none)`` is NONE; ``submit`` is a candidate that is consolidated at once), and states
what is believed now, at other times, and how many beliefs a slot's timeline has.  ``decision`` of a step is what one
device that hears all in order decides; beliefs must be the same in every way of telling.  ``words`` of a step are
the speaker's own; unsaid: the sentence of the case at its place, what stands in brackets being told by nobody.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from syncmem import NONE, Judgement, Memory, Source
from tests.field_reports.orders import WAYS, Devices, Named, Step, Way, in_memory, readers, said, values

FOLDER = Path(__file__).parent
HELD_OUT = FOLDER / "held_out"
SINGLE = ("home_city", "employer", "favourite", "car", "partner", "phone", "diet", "likes_coffee")
TOLD_AS = ("in order on one device", "on a device each, shuffled", "split over three devices")
CASE_WAYS = tuple(way for way in WAYS if way.name in TOLD_AS)
SENTENCE, BRACKETS = re.compile(r"[^.?!;]+[.?!;]?"), re.compile(r"\([^)]*\)")
VERBS = ("remember", "end", "deny", "correct", "retract", "undo", "erase", "define", "submit")


@dataclass(frozen=True)
class Case:
    """One sequence of statements; ``kind`` is the file it lies in."""

    kind: str
    said: str
    steps: tuple[Step, ...]
    decisions: tuple[str | None, ...]
    words: tuple[str | None, ...]
    expect: tuple[dict[str, Any], ...]
    single: tuple[str, ...] = SINGLE  # the predicates that are declared single-valued

    def __str__(self) -> str:
        return f"{self.kind}: {self.said}"


def cases(folder: Path = FOLDER) -> list[Case]:
    """All cases that lie in a folder; a file may name ``single`` predicates beside the usual ones."""
    read = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.toml"))}
    return [
        _case(kind, entry, (*SINGLE, *content.get("single", ())))
        for kind, content in read.items()
        for entry in content["case"]
    ]


def _case(kind: str, entry: dict[str, Any], single: tuple[str, ...]) -> Case:
    steps = [dict(step) for step in entry["steps"]]
    decisions = tuple(step.pop("decision", None) for step in steps)
    words = [step.pop("words", None) for step in steps]
    spoken = [sentence for sentence in SENTENCE.findall(BRACKETS.sub("", entry["said"])) if sentence.strip()]
    if len(spoken) == len(steps):
        words = [given or sentence.strip() for given, sentence in zip(words, spoken, strict=True)]
    return Case(kind, entry["said"], tuple(map(_step, steps)), decisions, tuple(words), tuple(entry["expect"]), single)


def _step(step: dict[str, Any]) -> Step:
    (verb,) = [name for name in VERBS if name in step]
    arguments = [_argument(argument) for argument in step.pop(verb)]
    if verb == "submit":
        step["source"] = Source(*step.pop("source", "user").split(":"))
        step.setdefault("observed_at", "now")
    return said(step.pop("on"), verb, *arguments, **step)


def _argument(argument: Any) -> Any:
    if argument == "(none)":
        return NONE
    return Named(argument[1:]) if isinstance(argument, str) and argument.startswith("@") else argument


def faults(case: Case, way: Way, folder: Path) -> Iterator[str]:
    """What is wrong with a case told in one way: nothing, if all is right."""
    if way.name == TOLD_AS[0]:
        yield from _wrong_decisions(case)
    for memory in readers(way, case.steps, case.single, folder):
        for expected in case.expect:
            yield from (f"{way}: {fault}" for fault in _wrong_beliefs(memory, expected))


def _wrong_decisions(case: Case) -> Iterator[str]:
    devices = Devices(case.single, in_memory(itertools.count(1)))
    for step, expected in zip(case.steps, case.decisions, strict=True):
        done = devices.say(step, "laptop")
        decided = done.outcome if isinstance(done, Judgement) else getattr(done, "decision", None)
        if expected is not None and decided != expected:
            yield f"{step.verb} {step.arguments}: {expected} was expected, {decided} was decided"
    devices.device("laptop").close()


def _wrong_beliefs(memory: Memory, expected: dict[str, Any]) -> Iterator[str]:
    entity, predicate = expected["of"]
    scope = {"scope": expected.get("scope", "vault")}
    wanted = {None: expected["now"], **expected.get("at", {})}
    for when, right in wanted.items():
        asked = scope if when is None else {**scope, "valid_at": when}
        found = ["(none)" if value is NONE else value for value in values(memory, entity, predicate, **asked)]
        if found != right:
            yield f"{entity} {predicate} at {when or 'the end'}: {right} was expected, {found} is believed"
    count = len(memory.timeline(entity, predicate, **scope))
    if expected.get("count", count) != count:
        yield f"{entity} {predicate}: {expected['count']} beliefs were expected, there are {count}"
    contested = any(belief.contested for belief in memory.beliefs(entity, predicate, **scope))
    if expected.get("contested", contested) != contested:
        yield f"{entity} {predicate}: contested is {contested}"
