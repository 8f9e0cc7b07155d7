"""What recall finds, situation by situation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from syncmem import NONE, AsyncMemory, Environment, InvalidInput, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.recall import searching
from syncmem.recall.results import Recalled

DAY = 86_400_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_750_000_000_000_000)


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    environment = Environment(clock, seeded_randomness(1))
    with Memory(":memory:", zone="UTC", embedder=None, environment=environment) as opened:
        opened.define_pack("personal")
        yield opened


def values(found: Recalled) -> list[object]:
    return [hit.belief.value for hit in found.hits]


def test_a_question_finds_a_slot_by_an_alias_of_its_predicate(memory: Memory) -> None:
    memory.remember("ana", "home_city", "Lisbon")
    memory.remember("ana", "employer", "Lives Insurance")
    memory.remember("clara", "home_city", "Porto")
    first = memory.recall("Where does Ana live?").hits[0]
    assert first.belief.value == "Lisbon" and "slot" in first.why
    assert memory.recall("¿Dónde está la RESIDENCE de Ána?").hits[0].belief.value == "Lisbon"


def test_what_lapses_is_gone_without_a_write(memory: Memory, clock: ManualClock) -> None:
    memory.remember("ana", "location", "Madeira", ttl="7d")
    memory.remember("ana", "diet", "vegan", expires_at="2025-07-01")
    assert values(memory.recall("Ana Madeira")) == ["Madeira", "vegan"]
    changes = memory._replica.db.raw.total_changes
    clock.time += 8 * DAY
    assert values(memory.recall("Ana Madeira", log=False)) == ["vegan"]
    clock.time += 30 * DAY
    assert memory.recall("Ana vegan", log=False).hits == ()
    assert memory._replica.db.raw.total_changes == changes
    past = memory.recall("Ana vegan", include_history=True, log=False).hits
    assert [(hit.belief.value, hit.past) for hit in past] == [("vegan", True), ("Madeira", True)]


def test_filters_are_kept_to(memory: Memory) -> None:
    memory.remember("ana", "language", "Greek", trust="user")
    memory.remember("bob", "language", "Greek", trust="inference")
    memory.remember("ana", "likes", "Greek wine")
    memory.remember("ana", "language", "Greek", scope="work")
    where = [(hit.belief.entity, hit.belief.predicate) for hit in memory.recall("Greek", scope=None).hits]
    assert len(where) == 4
    assert {hit.belief.scope for hit in memory.recall("Greek").hits} == {"vault"}
    assert {hit.belief.scope for hit in memory.recall("Greek", scope="work").hits} == {"work"}
    assert {hit.belief.entity for hit in memory.recall("Greek", entity="ana").hits} == {"ana"}
    assert {hit.belief.predicate for hit in memory.recall("Greek", predicates=["likes"]).hits} == {"likes"}
    assert {hit.belief.entity for hit in memory.recall("Greek", min_trust="document").hits} == {"ana"}
    assert memory.recall("Greek", predicates=[]).hits == ()
    assert memory.recall("Greek", entity="nobody").hits == ()


def test_ten_thousand_past_values_of_a_slot_hide_neither_it_nor_others(memory: Memory, clock: ManualClock) -> None:
    memory.define("price", cardinality="single")
    memory.remember("gold", "colour", "yellow price")
    with memory.transaction():
        for number in range(1_500):
            clock.time += 60_000_000
            memory.remember("gold", "price", f"price {number}")
    assert values(memory.recall("What is the price of gold?", log=False)) == ["price 1499", "yellow price"]
    assert values(memory.recall("yellow", log=False))[0] == "yellow price"


def test_scripts_without_blanks_accents_and_numbers_are_found(memory: Memory) -> None:
    memory.remember("恵美", "home_city", "東京都杉並区")
    memory.remember("zoë", "address", "Rua das Flôres 30")
    memory.remember("zoë", "shoe_size", 38.5)
    assert values(memory.recall("恵美はどこに住んでいますか"))[0] == "東京都杉並区"
    assert values(memory.recall("杉並"))[0] == "東京都杉並区"
    assert values(memory.recall("ZOE flores"))[0] == "Rua das Flôres 30"
    assert values(memory.recall("38.5"))[0] == 38.5
    assert [belief.value for belief in memory.search("zoe 30")] == ["Rua das Flôres 30"]


def test_a_briefing_has_what_the_user_said_first(memory: Memory) -> None:
    memory.remember("ana", "likes", "tea", trust="inference")
    memory.remember("ana", "home_city", "Lisbon", trust="user")
    memory.remember("bob", "home_city", "Rome", trust="user")
    found = memory.briefing("ana")
    assert values(found) == ["Lisbon", "tea"] and {hit.why for hit in found.hits} == {("briefing",)}
    again = memory.why_said(found.receipt or "")
    assert not again.different and [claim.since for claim in again.claims] == ["holds", "holds"]
    assert memory.briefing("nobody").hits == ()


def test_a_question_without_words_or_a_senseless_limit(memory: Memory) -> None:
    memory.remember("ana", "likes", "tea")
    assert memory.recall("?!").hits == memory.recall("").hits == ()
    assert memory.recall('") OR "@ana" NEAR(').hits != ()
    for wrong in ({"k": 0}, {"k": 1_001}, {"token_budget": -1}, {"predicates": "likes"}, {"min_trust": 101}):
        with pytest.raises(InvalidInput):
            memory.recall("tea", **wrong)
    with pytest.raises(InvalidInput, match="pass a word"):
        memory.search("?!")


def test_the_same_for_asyncio() -> None:
    async def main() -> None:
        async with AsyncMemory(":memory:", embedder=None) as memory:
            await memory.remember("ana", "likes", "tea")
            found = await memory.recall("tea")
            assert values(found) == values(await memory.briefing("ana")) == ["tea"]
            assert not (await memory.why_said(found.receipt or "")).different
            assert [belief.value for belief in await memory.search("tea")] == ["tea"]
            await memory.index()

    asyncio.run(main())


@pytest.mark.parametrize("read_whole_max", [0, 100])
def test_a_search_that_looks_at_few_values_of_a_slot_tells_of_none_as_the_timeline_does(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, read_whole_max: int
) -> None:
    monkeypatch.setattr(searching, "READ_WHOLE_MAX", read_whole_max)
    memory.define("car", cardinality="many")
    memory.remember("ana", "car", NONE, since="2020-01-01", until="2023-12-31")
    memory.remember("ana", "car", "Fiat", since="2021-01-01", until="2021-12-31")
    memory.remember("ana", "car", "Fiat Uno", since="2022-06-01")
    everything = list(memory.timeline("ana", "car"))
    assert memory.search("none") == [belief for belief in everything if belief.is_none] != []
    assert memory.search("fiat") == [belief for belief in everything if not belief.is_none]
    assert memory.search("ana uno") == [belief for belief in everything if belief.value == "Fiat Uno"]
