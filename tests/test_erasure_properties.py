"""Erasures by several devices, in any order, partition and duplication: all end as if it had never been.

The plain reference here decides from the logs alone which events are admitted; what is believed of those is
decided by the reference of the belief rule.
"""

from __future__ import annotations

import itertools
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem import Environment, InvalidInput, ManualClock, Memory, NotFound
from syncmem.environment import seeded_randomness
from syncmem.model.event import STATEMENTS, Erase, Erased, Event, Frontier, Kind, Statement, readable
from syncmem.model.instant import from_datetime
from syncmem.model.link import Link
from syncmem.model.subjects import names_of, subject_name
from tests.strategies import rectangles
from tests.test_replicas_machine import NOON, assert_as_the_reference

DAY = timedelta(days=1)
ENTITIES = ("ana", "bob", "eva", '["users","ana","prefs"]', "/people/bob.md")
Place = tuple[bytes, int]  # log id, place


class World:
    """A few devices that say, take back, erase and meet; and everything that was ever written."""

    def __init__(self, random: Random, devices: int, vault: bool, linked: bool = False) -> None:
        self.random = random
        self.linked = linked
        self.written: dict[Place, Event] = {}
        self.erased: set[Place] = set()
        self.ids: list[str] = []
        self.memories = []
        for number in range(devices):
            clock = ManualClock(from_datetime(NOON) + number)
            memory = Memory(":memory:", zone="UTC", environment=Environment(clock, seeded_randomness(number + 1)))
            if vault:
                memory._replica.subjects_named_by(lambda scope: b"k" * 32)
            self.memories.append(memory)

    def step(self) -> None:
        memory = self.random.choice(self.memories)
        verb = self.random.choices(
            (self.say, self.name, self.erase, self.merge, self.logs_in_any_order, self.define, self.link),
            weights=(10, 5, 2, 4, 4, 1, 4 if self.linked else 0),
        )[0]
        try:
            verb(memory)
        except (InvalidInput, NotFound):
            pass
        memory._environment.clock.time += self.random.choice((1, 60_000_000, 86_400_000_000))  # type: ignore[attr-defined]
        self.remember(memory)

    def remember(self, memory: Memory) -> None:
        """Keep what was written, as it was before anybody erased it."""
        for place, event in stored(memory).items():
            if isinstance(event, Event):
                self.written.setdefault(place, event)

    def about(self) -> dict[str, Any]:
        return {
            "trust": self.random.choice((90, 90, 50, 30)),
            "batch": self.random.choice((None, None, "import")),
            "source": self.random.choice((None, "mail", "chat")),
            "observed_at": self.random.choice((None, None, "2024-06-10", "2024-06-14")),
        }

    def say(self, memory: Memory) -> None:
        entity, predicate = self.random.choice(ENTITIES), self.random.choice(("city", "language"))
        value, about = self.random.choice(("A", "B", "C")), self.about()
        verb = self.random.choices(("remember", "end", "deny"), weights=(8, 2, 2))[0]
        if verb == "remember":
            mentions = [self.random.choice(ENTITIES)] if self.random.random() < 0.3 else []
            start = self.random.choice(({}, {}, {"since": NOON - 14 * DAY}, {"changed_on": NOON - 3 * DAY}))
            scope = "work" if self.linked and self.random.random() < 0.2 else "vault"
            receipt = memory.remember(entity, predicate, value, mentions=mentions, scope=scope, **start, **about)
        else:
            receipt = getattr(memory, verb)(entity, predicate, value, **about)
        self.ids.append(receipt.event)

    def name(self, memory: Memory) -> None:
        """A verb that names another event."""
        if self.ids:
            event = self.random.choice(self.ids[-12:])
            verb = self.random.choice(("retract", "undo", "correct", "end", "withdraw"))
            if verb == "correct":
                self.ids.append(memory.correct(event, self.random.choice(("A", "B", "D"))).event)
            elif verb == "end":
                found = memory._replica.fold.record_at(memory._telling.position(event))
                if found is not None:
                    value = memory.event(event).value
                    self.ids.append(memory.end(found[0].entity, found[0].predicate, value, event=event).event)
            elif verb == "withdraw":
                self.ids.append(memory.retract(batch="import", scope="vault").event)
            else:
                self.ids.append(getattr(memory, verb)(event).event)

    def link(self, memory: Memory) -> None:
        one, other = self.random.sample(ENTITIES, 2)
        about = {name: value for name, value in self.about().items() if name != "observed_at"}
        verb = self.random.choice((memory.same, memory.same, memory.different))
        scope = self.random.choice(("vault", "vault", "work")) if self.linked else "vault"
        self.ids.append(verb(one, other, scope=scope, **about).event)

    def erase(self, memory: Memory) -> None:
        memory.erase(self.random.choice(ENTITIES), aliases=self.random.random() < 0.4)

    def define(self, memory: Memory) -> None:
        cardinality = self.random.choice(("single", "single", "many"))
        memory.define(self.random.choice(("city", "language")), cardinality=cardinality)

    def merge(self, memory: Memory) -> None:
        other = self.random.choice(self.memories)
        if other is not memory:
            self.remember(other)
            memory.merge(other)

    def logs_in_any_order(self, memory: Memory) -> None:
        """As a merge, but in transactions of any size, logs in any order, some of them not at all, some twice."""
        other = self.random.choice(self.memories)
        if other is memory:
            return
        self.remember(other)
        known = memory._replica.version_vector() if self.random.random() < 0.7 else {}
        logs = [list(log) for _, log in itertools.groupby(other._offer(known), lambda frame: frame.key)]
        self.random.shuffle(logs)
        logs = logs[: self.random.randint(1, len(logs))] if logs else []
        frames = [frame for log in logs for frame in log]
        memory._receive(iter(frames), events_max=self.random.choice((1, 4, 256)), progress=None)


def stored(memory: Memory) -> dict[Place, Any]:
    """What is held, place by place."""
    logs = memory._replica.logs
    return {
        (log.id, seq): event
        for log in logs.by_no.values()
        for first, run in logs.runs(log.no)
        for seq, event in enumerate(run, first)
    }


def admitted(memory: Memory, written: dict[Place, Event]) -> dict[Place, bool]:
    """The rule, plainly: which of the places that a replica holds may have their payload."""
    held = {place: written[place] for place in stored(memory)}
    scopes = {log.id: log.key.scope for log in memory._replica.logs.by_no.values() if log.key is not None}
    said = {place: readable(event) for place, event in held.items()}
    result = {}
    for place, payload in said.items():
        allowed = True
        for erasure, order in said.items():
            if isinstance(order, Erase) and scopes[erasure[0]] == scopes[place[0]] and names(order, payload):
                allowed = allowed and saw(place, erasure, said)
        result[place] = allowed
    return result


def names(order: Erase, payload: Any) -> bool:
    if isinstance(payload, Link):
        entities = [payload.one, payload.other]
    elif isinstance(payload, Statement):
        entities = [payload.entity, *(payload.extra or {}).get("mentions", ())]
    else:
        return False
    meant = {name for entity in entities for name in names_of(entity)}
    return any(subject_name(order.salt or b"k" * 32, name) in order.names for name in meant)


def saw(place: Place, erasure: Place, said: dict[Place, Any]) -> bool:
    """Whether the erasure, or a note that covers it, stands earlier in the log of a place."""
    log, seq = place
    for earlier in range(1, seq):
        payload = said[log, earlier]
        if (log, earlier) == erasure:
            return True
        seen = payload.changed if isinstance(payload, Frontier) else ()
        if any(other == erasure[0] and last >= erasure[1] for other, last, _ in seen):
            return True
    return False


def check(memory: Memory, written: dict[Place, Event], *, all_met: bool = False) -> None:
    """A replica holds the payloads that the rule admits, and believes what they make.

    Before all have met it may lack some: others gave it tombstones, and the erasure is still on its way.
    """
    allowed = admitted(memory, written)
    for place, event in stored(memory).items():
        held = isinstance(event, Event)
        assert held == allowed[place] if all_met else allowed[place] or not held, (place[0].hex()[:6], place[1])
    assert_as_the_reference(memory)
    before = derived(memory)
    memory.rebuild()
    assert derived(memory) == before
    problems = memory.doctor(full=True).problems
    assert not [p for p in problems if p.startswith(("log ", "the file", "traces"))]


def derived(memory: Memory) -> list[Any]:
    """The derived tables, with names instead of numbers that a rebuild gives anew."""
    execute = memory._replica.db.execute
    batches = "SELECT scope, name, position, count FROM batches LEFT JOIN members ON batch = id ORDER BY 1, 2, 3"
    denials = "SELECT scope, entity, predicate, position FROM denials ORDER BY 1, 2, 3, 4"
    return [
        rectangles(memory._replica),
        sorted(pages(memory)),
        *(
            execute(sql).fetchall()
            for sql in (
                "SELECT scope, entity, predicate FROM slots WHERE id IN (SELECT slot FROM beliefs) ORDER BY 1, 2, 3",
                "SELECT * FROM entity_links ORDER BY 1",
                "SELECT * FROM aliases ORDER BY 1, 2, 3",
                "SELECT kind, name, uses FROM sources ORDER BY 1, 2",
                batches,
                denials,
                "SELECT * FROM links ORDER BY 1, 2, 3",
                "SELECT * FROM mentions ORDER BY 1, 2",
                "SELECT scope, name, position, applied FROM erasures ORDER BY 1, 2, 3",
                "SELECT * FROM sightings ORDER BY 1, 2, 3",
            )
        ),
    ]


def pages(memory: Memory) -> list[tuple[Any, ...]]:
    """The statements of every lane with their status, and how they are folded."""
    replica = memory._replica
    found = []
    for slot, lane in replica.db.execute("SELECT DISTINCT slot, lane FROM pages").fetchall():
        known = replica.catalog.known(slot)
        assert known is not None, "a page of a slot that is gone"
        equality = replica.catalog.predicate(known.scope, known.predicate).equality
        for record in replica.fold.pages.records(slot, equality, lane):
            plain = record._replace(source=0)
            found.append(
                (known.entity, known.predicate, lane, plain[:11], replica.catalog.source(record.source).kind or "")
            )
    return found


def played(seed: int, vault: bool, linked: bool = False, steps: int = 45) -> World:
    random = Random(seed)
    world = World(random, random.randint(2, 4), vault, linked)
    try:
        for _ in range(steps):
            world.step()
        for memory in world.memories:
            world.remember(memory)
        for memory in world.memories:
            check(memory, world.written)
        for _ in range(3):
            for one, other in itertools.permutations(world.memories, 2):
                one.merge(other)
        for memory in world.memories:
            world.remember(memory)
        world.erased = {place for place, held in stored(world.memories[0]).items() if isinstance(held, Erased)}
        for memory in world.memories:
            check(memory, world.written, all_met=True)
        assert len({memory.event_digest() for memory in world.memories}) == 1
        assert len({memory.belief_digest() for memory in world.memories}) == 1
        assert len({tuple(sorted(stored(memory).items(), key=lambda item: item[0])) for memory in world.memories}) == 1
    finally:
        for memory in world.memories:
            memory.close()
    return world


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), vault=st.booleans(), linked=st.booleans())
def test_replicas_agree_with_the_plain_rule_whatever_was_erased_where(seed: int, vault: bool, linked: bool) -> None:
    played(seed, vault, linked)


@pytest.mark.parametrize("seed", range(6))
def test_histories_hold_what_they_are_to_try(seed: int) -> None:
    """The random histories do erase things, and keep others."""
    world = played(seed, vault=bool(seed % 2))
    said = {place for place, event in world.written.items() if event.kind in STATEMENTS}
    assert any(event.kind == Kind.ERASE for event in world.written.values())
    assert 0 < len(said & world.erased) < len(said)
