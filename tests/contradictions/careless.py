"""The careless run: every case once more, as a model tells it that takes no care.

What it sends of each statement is the entity, the predicate, the value and the sentence that it read; the verb is
always "state" and the manner always "stated", no date is given, not even when a document was written, and the tier is
wrong: it is called a model's, which is what a tool that a model calls says of it ("model"), or the user's own
("user").  For comparison also through a host that knows who spoke and when, as ``ModelExtractor`` does ("host").
What users do to records themselves (retract, undo, erase, define) stays as it is; batches are unknown.

An answer is *right*; or *asked*: wrong, but contested, or in a question that is open; or *unknown*: nothing is
believed; else it is *wrong* in silence.  Every current answer counts, unknown ones as wrong.  An answer about the
past counts if it can be carried without dates: if, told with care, it followed at its time from what had been said
by then.  The others (somebody moved before it was told, a correction reaches back) need the dates that were dropped
and are told of apart.  Where values are many, each wrong or missing one must be asked about; a question counts for
the past only as far back as it reaches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from syncmem import NONE, Memory, NotFound, Question, Source
from tests.contradictions.cases import SINGLE, Case
from tests.field_reports.orders import LATE, Devices, Named, Step, in_memory

TIERS = ("model", "host", "user")
SAID = ("remember", "submit", "end", "deny", "correct")


@dataclass(frozen=True)
class Answered:
    """One answer of a case: what was right, what is believed, and what that counts as."""

    asked: str
    right: list[Any]
    found: list[Any]
    counts: str  # right, asked, unknown, wrong
    carried: bool  # whether it can be known without the dates that were dropped


def careless(case: Case, tier: str) -> Iterator[Answered]:
    """The answers after a case was told without care."""
    careful, memory = told(case.steps, case.single), told(_carelessly(case, tier), case.single)
    for expected in case.expect:
        entity, predicate = expected["of"]
        scope = expected.get("scope", "vault")
        for when, right in {LATE: expected["now"], **expected.get("at", {})}.items():
            carried = when == LATE or _values(careful, (scope, entity, predicate), when, asserted_by=when) == right
            counts, found = _counted(memory, (scope, entity, predicate), when, right)
            counts = "wrong" if carried and counts == "unknown" else counts
            yield Answered(f"{entity} {predicate} at {when}", right, found, counts, carried)
    memory.close()
    careful.close()


def told(steps: Iterable[Step], single: Sequence[str] = SINGLE) -> Memory:
    """A device to which all was told, at the time of asking."""
    devices = Devices(single, in_memory(itertools.count(1)))
    memory = devices.device("laptop")
    for step in steps:
        try:
            devices.say(step, "laptop")
        except NotFound:
            assert step.words.get("batch") is not None, step
    devices.wake()
    return memory


def _carelessly(case: Case, tier: str) -> Iterator[Step]:
    slots: dict[str, tuple[Any, ...]] = {}  # name of a step -> entity and predicate
    for step, words in zip(case.steps, case.words, strict=True):
        if step.verb not in SAID:
            yield step
            continue
        named = step.arguments[0]
        slot = slots[named.step] if isinstance(named, Named) else step.arguments[:2]
        if step.name is not None:
            slots[step.name] = slot
        given: dict[str, Any] = {name: step.words[name] for name in ("scope", "mentions") if name in step.words}
        if "mentions" in given:
            given["mentions"] = tuple(given["mentions"])
        heard = _known_to_the_host(step) if tier == "host" else {"source": Source(tier)}
        about: dict[str, Any] = {**given, "words": words, **heard}
        yield Step(step.when, "submit", (*slot, step.arguments[-1]), about, step.name)


def _known_to_the_host(step: Step) -> dict[str, Any]:
    """Who said it and when, which no model is asked for."""
    trust, source = step.words.get("trust"), step.words.get("source", "user")
    kind = source.kind if isinstance(source, Source) else source
    if not isinstance(source, Source) and trust is not None:
        kind = "model" if trust == "inference" else trust
    return {"source": Source(kind), "observed_at": step.words.get("observed_at", step.when)}


# -- what an answer counts as --------------------------------------------------------------------------------


def _counted(memory: Memory, slot: tuple[str, str, str], when: str, right: list[Any]) -> tuple[str, list[Any]]:
    """What an answer counts as, and what is believed."""
    scope, entity, predicate = slot
    found = _values(memory, slot, when)
    different = [value for value in found + right if (value in found) != (value in right)]
    if not different:
        return "right", found
    open_now = [q for q in memory.questions(scope=scope) if (q.entity, q.predicate) == (entity, predicate)]
    asked = [q for q in open_now if when == LATE or _reaches(q, when)]
    beliefs = memory.beliefs(entity, predicate, scope=scope, valid_at=when)
    flagged = [_shown(belief.value) for belief in beliefs if belief.contested]
    flagged += [_shown(option.value) for question in asked for option in question.options]
    many = memory.predicates(scope=scope)[predicate].many
    touched = flagged and (not many or all(value in flagged for value in different))
    return "asked" if touched else "unknown" if not found else "wrong", found


def _values(memory: Memory, slot: tuple[str, str, str], when: str, **asked: Any) -> list[Any]:
    scope, entity, predicate = slot
    beliefs = memory.beliefs(entity, predicate, scope=scope, valid_at=when, **asked)
    return sorted((_shown(belief.value) for belief in beliefs), key=str)


def _reaches(question: Question, when: str) -> bool:
    moment = when if "T" in when else f"{when}T00:00Z"
    return question.since is None or question.since <= datetime.fromisoformat(moment)


def _shown(value: Any) -> Any:
    return "(none)" if value is NONE else value
