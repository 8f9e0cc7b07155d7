"""The engine against the reference, on seeded random histories: ``python -m tests.differential --seeds 0-150``.

Exits with 1 at the first disagreement and prints the history that shows it.  ``--cases`` names JSON files of
worked cases; each of them must come out as written, in several orders of arrival.  ``--long`` tries histories
of a few hundred events, which reach over many pages.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

from syncmem.model.instant import FOREVER
from syncmem.replica.frontiers import asserted_by
from syncmem.replica.reading import Reading
from syncmem.replica.replica import Replica
from tests.reference import Event
from tests.strategies import (
    ENTITIES,
    TRICKY,
    Held,
    History,
    answered,
    as_answer,
    closed,
    deliver,
    expected,
    held_after,
    history,
    living_in,
    logs_of,
    observed,
    overlaps,
    parcels,
    rectangles,
)
from tests.world import ENTITY, PREDICATE, believed, fresh_replica, instant, writers_of

ORDERS_OF_A_CASE = 5
LINKED_EVERY = 3  # of so many seeds one also gives a history of entities that may be one


def main() -> int:
    reading = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    reading.add_argument("--seeds", default="0-150", help="first-last; the last is left out")
    reading.add_argument("--cases", nargs="*", type=Path, default=[], help="JSON files of worked cases")
    reading.add_argument("--long", action="store_true", help="a few hundred events each")
    given = reading.parse_args()
    first, last = map(int, given.seeds.split("-"))
    for case in (case for path in given.cases for case in json.loads(path.read_text(encoding="utf-8"))):
        if told_wrong := wrong_case(case):
            return _fail(f"case {case['n']}", told_wrong)
    for name, tricky in TRICKY.items():
        for seed in range(ORDERS_OF_A_CASE):
            if told_wrong := wrong_history(tricky, Random(seed)):
                return _fail(name, told_wrong)
    for seed in range(first, last):
        for linked in (False, True) if seed % LINKED_EVERY == 0 else (False,):
            if told_wrong := wrong_seed(seed, events_max=300 if given.long else 14, linked=linked):
                return _fail(f"seed {seed}", told_wrong)
    print(f"seeds {first} to {last}: the engine and the reference agree")
    return 0


def _fail(which: str, lines: list[str]) -> int:
    print(f"{which}: the engine and the reference disagree", *lines, sep="\n  ")
    return 1


def wrong_case(case: dict[str, object]) -> list[str]:
    """What differs from the worked case, in lines; empty where nothing does."""
    given: list[Event] = case["events"]  # type: ignore[assignment]
    events = [{**e, "seq": int("".join(filter(str.isdigit, e["id"])))} for e in given]
    for seed in range(ORDERS_OF_A_CASE):
        replica = fresh_replica(seed)
        logs = writers_of(events)
        for parcel in parcels(Random(seed), logs):
            deliver(replica, logs, parcel)
        found = believed(replica)
        replica.close()
        if found != case["expect"]:
            return [f"expected {case['expect']}", f"engine   {found}"]
    return []


def wrong_seed(seed: int, events_max: int = 14, linked: bool = False) -> list[str]:
    """What is wrong with the history of a seed, in lines; empty where nothing is."""
    random = Random(seed)
    made = history(random, events_max=events_max, linked=linked)
    return wrong_history(made, random, every=1 if events_max < 50 else 10)


def wrong_history(tried: History, random: Random, every: int = 1) -> list[str]:
    """What is wrong with a history that arrives in some way, in lines; empty where nothing is."""
    with living_in(tried):
        replica = fresh_replica()
        try:
            trouble = next(faults(replica, tried, random, every), None)
        except Exception as error:
            trouble = f"{type(error).__name__}: {error}"
        replica.close()
    return [] if trouble is None else [trouble, *map(str, [tried.cardinalities, tried.offsets, *tried.events])]


def faults(replica: Replica, tried: History, random: Random, every: int = 1) -> Iterator[str]:
    """Everything in which the engine departs from the reference while a history arrives."""
    logs = logs_of(tried)
    sent = parcels(random, logs)
    then: dict[int, Held] = {}
    for number, parcel in enumerate(sent):
        earlier = closed(replica)
        deliver(replica, logs, parcel)
        then[replica.last_transaction] = held_after(sent[: number + 1])
        if not earlier <= closed(replica):
            yield f"after {parcel} a closed rectangle changed"
        if number % every == 0 or number == len(sent) - 1:
            held = then[replica.last_transaction]
            for entity in about(tried):
                wanted, found = expected(tried, held, entity), observed(replica, tried, None, entity)
                yield from _compared(f"{entity} after {sent[: number + 1]}", wanted, found)
            yield from astray(replica)
    for n, held in sorted(then.items())[::every]:
        for entity in about(tried):
            wanted = expected(tried, held, entity)
            yield from _compared(f"{entity} as known at {n}", wanted, observed(replica, tried, n, entity))
    yield from (f"overlap {pair}" for pair in overlaps(replica))
    yield from _asserted(replica, tried, random)
    before = rectangles(replica)
    replica.rebuild()
    if before != rectangles(replica):
        yield "a rebuild gives other rectangles"


def _asserted(replica: Replica, tried: History, random: Random) -> Iterator[str]:
    """What differs when one asks for what had been asserted by some clock value."""
    if tried.offsets:
        return
    tick = random.choice(tried.events)["hlc"]
    by_then = History([e for e in tried.events if e["hlc"] <= tick], tried.cardinalities, {}, tried.unit)
    reading = Reading(replica)
    visible = asserted_by(replica, instant(tick) or 0)
    for entity in about(tried):
        slots = reading.names.slots("vault", entity, PREDICATE, visible)
        placed = [row for slot in slots for row in reading.folded(slot, visible)]
        wanted = as_answer(expected(by_then, None, entity))
        yield from _compared(f"{entity} as asserted by {tick}", wanted, answered(replica, tried, placed))


def about(tried: History) -> list[str]:
    """The entities of which a history may speak."""
    return [*ENTITIES] if any("entity" in e for e in tried.events) else [ENTITY]


def astray(replica: Replica) -> Iterator[str]:
    """Beliefs in the slot of a name that stands under another one."""
    sql = f"SELECT DISTINCT scope, entity FROM slots JOIN beliefs ON slot = id WHERE known_to = {FOREVER}"
    for scope, entity in replica.db.execute(sql).fetchall():
        if replica.aliases.standing(scope, entity) != entity:
            yield f"beliefs of {entity} lie under its own name"


def _compared(what: str, wanted: object, found: object) -> Iterator[str]:
    if wanted != found:
        yield f"{what}\n    reference {wanted}\n    engine    {found}"


if __name__ == "__main__":
    sys.exit(main())
