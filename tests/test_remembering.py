"""Many claims at once are what they would be one by one: the same events, beliefs and receipts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import NONE, AsyncMemory, Environment, InvalidInput, ManualClock, Memory, NotFound, Receipt
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime

Claim = dict[str, Any]
ENTITIES, PREDICATES = ("ana", "bob", "robert"), ("home", "language", "weight")
LONG = [f"{number:>04}" * 250 for number in range(70)]  # names that no event can hold
VALUES = ("Lisbon", "LISBON", "Berlin", 7, 7.0, ["a", "b"], NONE)
TIMES: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {}),
    *({"since": "2024-05"}, {"changed_on": "2023-02-01"}, {"since": "2020", "until": "2021"}, {"until": "2031"}),
    *({"expires_at": "2030-01-01"}, {"observed_at": "2022-06"}, {"ttl": "30d"}),
)
OTHERS: tuple[dict[str, Any], ...] = (
    *({}, {}, {}, {}),
    *({"trust": "inference"}, {"source": "mail:1"}, {"batch": "gone"}, {"batch": "kept"}, {"affirm": True}),
    *({"mentions": ["robert"]}, {"scope": "work"}, {"source": "document", "observed_at": "2021"}, {"reason": "why"}),
)


def opened(path: str = ":memory:") -> Memory:
    """A memory in which links, definitions, denials and a withdrawn batch wait for claims."""
    clock = ManualClock(from_datetime(datetime(2025, 1, 1, 12, tzinfo=UTC)))
    memory = Memory(path, zone="UTC", environment=Environment(clock, seeded_randomness(7)))
    memory.define("home", cardinality="single", equality="casefold")
    memory.define("weight", cardinality="single", equality="number", ttl="900d")
    memory.same("bob", "robert")
    memory.remember("ana", "home", "Lisbon", since="2019", batch="gone")
    memory.remember("bob", "language", "Berlin", expires_at="2027")
    memory.deny("ana", "weight", 7)
    memory.retract(batch="gone")
    clock.time += 60_000_000
    return memory


def claims_by(chance: Random) -> list[Claim]:
    def claim() -> Claim:
        names = {"entity": chance.choice(ENTITIES), "predicate": chance.choice(PREDICATES)}
        return {**names, "value": chance.choice(VALUES), **chance.choice(TIMES), **chance.choice(OTHERS)}

    return [claim() for _ in range(chance.randrange(1, 14))]


@given(st.randoms(use_true_random=False))
def test_claims_at_once_are_what_they_would_be_one_by_one(chance: Random) -> None:
    claims = claims_by(chance)
    with opened() as alone, opened() as together:
        with alone.transaction():
            each = [alone.remember(**claim) for claim in claims]
        at_once = together.remember_all(claims)
        assert unnumbered(at_once) == unnumbered(each)
        assert together.event_digest() == alone.event_digest()
        assert together.belief_digest() == alone.belief_digest()
        for entity, predicate in ((entity, predicate) for entity in ENTITIES for predicate in PREDICATES):
            for scope in ("vault", "work"):
                told = (memory.timeline(entity, predicate, scope=scope) for memory in (alone, together))
                assert next(told) == next(told)
        folded = together.belief_digest()
        together.rebuild()
        assert together.belief_digest() == folded


def unnumbered(receipts: list[Receipt]) -> list[Receipt]:
    return [replace(receipt, known=0) for receipt in receipts]


def test_claims_about_different_things_are_one_moment_of_known_time() -> None:
    with opened() as memory:
        said = [{"entity": f"thing:{n}", "predicate": "home", "value": "Lisbon"} for n in range(9)]
        numbers = {receipt.known for receipt in memory.remember_all(said)}
        assert len(numbers) == 1
        again = memory.remember_all([*said[:2], {**said[0], "value": "Porto"}])
        assert [str(receipt.decision) for receipt in again] == ["NOOP", "NOOP", "UPDATE"]
        assert memory.believe("thing:0", "home", known_at=numbers.pop()) is not None


def test_what_all_have_in_common_is_said_once_and_each_may_say_otherwise() -> None:
    with opened() as memory:
        said = [
            {"entity": "ana", "predicate": "language", "value": "Greek"},
            {"entity": "ana", "predicate": "language", "value": "Latin", "trust": 20, "source": "model"},
        ]
        memory.remember_all(said, source="document:letter", observed_at="2021-03", batch="letters")
        greek, latin = memory.beliefs("ana", "language")
        assert (greek.source.id, greek.trust, latin.source.kind, latin.trust) == ("letter", 50, "model", 20)
        assert greek.valid_from == latin.valid_from == datetime(2021, 3, 1, tzinfo=UTC)
        memory.retract(batch="letters")
        assert memory.beliefs("ana", "language") == []


def test_a_claim_that_is_derived_from_another_counts_only_while_that_one_does() -> None:
    with opened() as memory:
        root = memory.remember("ana", "home", "Porto", trust="document", source="mail")
        zone = {"entity": "ana", "predicate": "zone", "value": "Europe/Lisbon", "derived_from": [root.event]}
        plain = {"entity": "ana", "predicate": "language", "value": "Greek"}
        receipts = memory.remember_all([plain, zone, {**plain, "value": "Latin"}])
        assert len({receipt.event for receipt in receipts}) == 3
        belief = memory.believe("ana", "zone")
        assert belief is not None and belief.trust == 50
        memory.retract(root.event)
        assert memory.believe("ana", "zone") is None


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"entity": "ana", "predicate": "home", "value": b"x"}, "claims[2]: a claim cannot hold"),
        ({"entity": "ana", "predicate": "", "value": 1}, "claims[2]: predicate is empty"),
        ({"entity": "ana", "predicate": "home"}, "name all three"),
        ({"entity": "ana", "predicate": "home", "value": 1, "vaule": 2}, "claims[2]: vaule= is not taken here"),
        ({"entity": "ana", "predicate": "home", "value": 1, "trust": 1.5}, "claims[2]: trust= takes"),
        ({"entity": "ana", "predicate": "home", "value": 1, "scope": None}, "claims[2]: scope= takes text"),
        ({"entity": "ana", "predicate": "home", "value": 1, "derived_from": ["0-1"]}, "claims[2]: '0-1' is no event"),
        ({"entity": "ana", "predicate": "home", "value": 1, "mentions": LONG}, "claims[2]: the event takes"),
        ("ana home Lisbon", "claims[2]: a claim is a dict"),
    ],
)
def test_one_wrong_claim_is_named_and_none_is_stored(wrong: Any, told: str) -> None:
    with opened() as memory:
        before, good = memory.event_digest(), {"entity": "ana", "predicate": "home", "value": "Porto"}
        with pytest.raises((InvalidInput, NotFound)) as refused:
            memory.remember_all([good, {**good, "entity": "bob"}, wrong, {**good, "value": "Faro"}])
        assert told in str(refused.value)
        assert memory.event_digest() == before
        assert memory.remember_all([]) == []


def test_claims_that_come_one_by_one_and_then_fail_leave_nothing(tmp_path: Path) -> None:
    def coming() -> Iterator[Claim]:
        for number in range(600):
            yield {"entity": f"thing:{number}", "predicate": "home", "value": number}
        raise OSError("the line is dead")

    with opened(str(tmp_path / "a.db")) as memory:
        before = memory.event_digest()
        with pytest.raises(OSError, match="dead"):
            memory.remember_all(coming())
        assert (memory.event_digest(), memory.beliefs("thing:3")) == (before, [])


def test_it_is_awaited_as_well() -> None:
    async def story() -> list[Receipt]:
        async with AsyncMemory(":memory:") as memory:
            return await memory.remember_all([{"entity": "ana", "predicate": "home", "value": "Porto"}])

    assert [str(receipt.decision) for receipt in asyncio.run(story())] == ["ADD"]
