"""Whatever was said and taken back: what is contested now is asked about, and nothing else that is believed firmly."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem import NONE, InvalidInput, Memory, NotFound
from syncmem.statements import TRUST_TIERS
from tests.judging.desk import Desk, meet

PREDICATES = ("home_city", "language", "email")
TOWNS = ("Bonn", "bonn", "Rome", NONE)
TIERS = ("user", "document", "inference", "inference", 20)
BOUNDS = ({}, {}, {"since": "2024-12"}, {"until": "2025-01-20"}, {"until": "2025-03"}, {"since": "2025-01-03"})


def say(memory: Memory, chance: Random, said: list[str]) -> None:
    """One verb of any kind, if it can be said."""
    slot, value, trust = ("ana", chance.choice(PREDICATES)), chance.choice(TOWNS), chance.choice(TIERS)
    verb = chance.choice(("remember", "remember", "remember", "end", "deny", "retract", "undo", "define"))
    try:
        if verb == "remember":
            said.append(memory.remember(*slot, value, trust=trust, **chance.choice(BOUNDS)).event)
        elif verb == "end" or verb == "deny":
            said.append(getattr(memory, verb)(*slot, value, trust=trust).event)
        elif verb == "define":
            memory.define(slot[1], cardinality=chance.choice(("single", "many")), equality="casefold")
        elif said:
            said.append(getattr(memory, verb)(chance.choice(said), trust=trust).event)
    except (InvalidInput, NotFound):
        pass


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_every_contested_belief_has_its_question_on_both_devices(seed: int) -> None:
    chance = Random(seed)
    laptop, phone = Desk(1), Desk(2)
    said: dict[Desk, list[str]] = {laptop: [], phone: []}
    for day in range(1, 10):
        for desk in (laptop, phone):
            desk.on(f"2025-01-{day:02}")
            say(desk.memory, chance, said[desk])
    meet(laptop.on("2025-01-11"), phone.on("2025-01-11"))
    asked = laptop.memory.questions()
    assert [each.id for each in asked] == [each.id for each in phone.memory.questions()]
    contested = {(b.predicate, repr(b.value)) for b in laptop.memory.contested(valid_at="2025-01-11T12:00Z")}
    assert {(q.predicate, repr(q.options[0].value)) for q in asked if q.kind == "contested"} == contested
    for question in asked:
        believed = laptop.memory.beliefs("ana", question.predicate)
        trust = max(belief.trust for belief in believed if repr(belief.value) == repr(question.options[0].value))
        assert question.kind == "contested" or trust <= TRUST_TIERS["inference"]
    assert laptop.memory.questions(limit=1) == asked[:1]


@pytest.mark.parametrize("limit", [1, 3, 300])
def test_a_limit_takes_from_the_front(limit: int) -> None:
    desk = Desk().on("2025-02-01")
    with desk.memory.transaction():
        for number in range(300):
            desk.memory.remember(f"person {number}", "employer", "Acme")
    desk.on("2025-02-02")
    with desk.memory.transaction():
        for number in range(300):
            desk.memory.remember(f"person {number}", "employer", "Bolt", trust="inference")
    assert desk.memory.questions(limit=limit) == desk.memory.questions()[:limit]
