"""What the doctor tells of beliefs: slots that swing, who is often wrong, and names that may be one."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import NONE, Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime
from syncmem.replica.lookalikes import spelled
from syncmem.replica.tallies import Tally, tallies
from tests.test_erasure_properties import World
from tests.test_replicas_machine import NOON


def opened(number: int) -> Memory:
    clock = ManualClock(from_datetime(NOON) + number)
    return Memory(":memory:", zone="UTC", environment=Environment(clock, seeded_randomness(number + 1)))


@pytest.fixture
def memory() -> Iterator[Memory]:
    with opened(0) as memory:
        memory.define("home", cardinality="single")
        memory.define("language", cardinality="many")
        yield memory


def source_of(memory: Memory, kind: str | None) -> dict[str, Any]:
    """What is told of a source, without what is zero."""
    (row,) = [row for row in memory.doctor().facts["quality"]["sources"] if row["source_kind"] == kind]
    return {name: value for name, value in row.items() if value and not name.startswith("source")}


def told(memory: Memory, word: str) -> list[str]:
    return [problem for problem in memory.doctor().problems if word in problem]


# -- slots that swing ---------------------------------------------------------------------------------


def test_a_slot_that_two_devices_pull_to_and_fro_is_told_with_who_pulls_it(memory: Memory) -> None:
    with opened(1) as phone:
        for month in range(1, 9):
            writer, city, source = ((memory, "Lisbon", "user"), (phone, "Porto", "mail-import"))[month % 2]
            writer.remember("ana", "home", city, changed_on=f"2024-{month:02}", source=source)
        memory.merge(phone)
        (slot,) = memory.doctor().facts["oscillation"]
        assert (slot["entity"], slot["predicate"], slot["times"]) == ("ana", "home", 6)
        by = [(who["device"], who["source_kind"], who["swings"]) for who in slot["by"]]
        assert sorted(by) == sorted([(memory.device, "user", 3), (phone.device, "mail-import", 3)])
    (problem,) = told(memory, "went back")
    assert "mail-import on" in problem and problem.endswith("the matcher or the cardinality may be wrong")


def test_a_slot_that_went_back_once_is_no_swing(memory: Memory) -> None:
    for month, city in enumerate(("Lisbon", "Porto", "Lisbon"), 1):
        memory.remember("ana", "home", city, changed_on=f"2024-{month:02}")
    assert memory.doctor().facts["oscillation"] == []


# -- who is often wrong -------------------------------------------------------------------------------


def test_each_way_of_being_wrong_is_counted_once(memory: Memory) -> None:
    said: dict[str, Any] = {"source": "mail-import", "affirm": False}
    languages = ("Latin", "Greek", "Dutch", "Welsh", "Irish", "Czech")
    ids = [memory.remember("ana", "language", name, **said).event for name in languages]
    memory.retract(ids[0])
    memory.undo(ids[1])
    memory.correct(ids[2], "German", source="user")
    memory.deny("ana", "language", "Welsh")
    memory.remember("ana", "language", "Norse", **said, batch="import-7")
    memory.retract(batch="import-7")
    memory.remember("ana", "home", "Lisbon", changed_on="2024-01", source="user")
    memory.remember("ana", "home", "Nowhere", trust="inference", **said)
    expected = dict.fromkeys(("retracted", "undone", "corrected", "denied", "withdrawn", "lost"), 1)
    assert source_of(memory, "mail-import") == {"made": 8, **expected, "error_rate": 0.75}
    assert source_of(memory, "user") == {"made": 2}
    (device,) = memory.doctor().facts["quality"]["devices"]
    assert (device["device"], device["made"], device["lost"]) == (memory.device, 10, 1)


def test_what_was_superseded_in_time_and_what_was_said_again_is_no_error(memory: Memory) -> None:
    memory.remember("ana", "home", "Lisbon", changed_on="2020")
    memory.remember("ana", "home", "Porto", changed_on="2022")
    memory.remember("ana", "home", "Porto")
    memory.remember("ana", "language", NONE, since="2019", expires_at="2020-06")
    memory.remember("ana", "language", "English", since="2021")
    assert source_of(memory, None) == {"made": 5}


def test_a_value_in_other_letters_is_not_lost_where_letters_do_not_matter(memory: Memory) -> None:
    memory.define("home", cardinality="single", equality="casefold")
    memory.remember("ana", "home", "LISBON", source="user")
    memory.remember("ana", "home", "Lisbon", trust="inference", source="model", affirm=False)
    assert source_of(memory, "model") == {"made": 1}


def test_a_source_that_is_often_wrong_is_told_with_what_to_do(memory: Memory) -> None:
    for number in range(20):
        memory.remember(f"person {number}", "language", "English", source="mail-import")
    assert told(memory, "were wrong") == []
    for number in range(6):
        memory.retract(memory.remember(f"person {number}", "language", "Latin", source="mail-import").event)
    assert told(memory, "were wrong") == [
        "mail-import: 6 of 26 claims were wrong (6 retracted); give it less trust, or take it back with withdraw()"
    ]


def test_a_device_that_is_often_wrong_is_told_beside_another_that_is_not(memory: Memory) -> None:
    memory.remember("ana", "language", "English")
    with opened(1) as phone:
        for number in range(20):
            phone.remember(f"person {number}", "language", "Latin", trust="inference")
        memory.merge(phone)
        for number in range(6):
            memory.deny(f"person {number}", "language", "Latin")
        (problem,) = told(memory, f"device {phone.device}")
    assert "6 of 20 claims were wrong (6 denied)" in problem


def test_an_extractor_is_judged_by_what_was_taken_back_of_it_and_not_for_being_replaced(memory: Memory) -> None:
    turn = memory.observe("I speak English. I speak Latin. I speak Greek.", speaker="ana")
    memory.extract(turn.episode, "english", version=1)
    memory.reextract("english", version=2)
    assert source_of(memory, "user") == {"made": 3}, "what version 1 derived was derived anew"
    for entry in memory.history("ana", "language"):
        if entry.value == "Latin" and entry.status == "live":
            memory.retract(entry.event)
    (path,) = memory.doctor().facts["quality"]["extractors"]
    assert (path["extractor"], path["version"], path["made"], path["retracted"]) == ("english", "2", 3, 1)
    assert source_of(memory, "user") == {"made": 3, "retracted": 1, "error_rate": 0.333}


def test_an_extractor_that_is_often_wrong_is_told_with_what_to_do(memory: Memory) -> None:
    languages = ["Latin", "Greek", "Dutch", "Welsh", "Irish", "Czech", "Norse", "Basque", "Thai", "Hindi"]
    for speaker in ("ana", "bob"):
        turn = memory.observe(" ".join(f"I speak {name}." for name in languages), speaker=speaker)
        memory.extract(turn.episode, "english", version=1)
        for name in languages[:3]:
            memory.deny(speaker, "language", name)
    (problem,) = told(memory, "extractor")
    assert problem.startswith("extractor english, version 1: 6 of 20 claims were wrong (6 denied); ")
    assert problem.endswith("reextract() with a later version")


@given(st.integers(0, 10**9))
def test_the_tallies_are_those_of_the_claims_looked_at_one_by_one(seed: int) -> None:
    world = World(Random(seed), devices=3, vault=False)
    for _ in range(40):
        world.step()
    memory = world.memories[0]
    found = tallies(memory._replica)
    for device in memory.devices():
        expected = Tally()
        for outcome in outcomes(memory, device.id):
            expected.add(outcome)
        assert _summed(found.devices[memory._device_key(device.id)]) == _summed(expected)
    assert sum(tally.made for tally in found.sources.values()) == sum(tally.made for tally in found.devices.values())


def outcomes(memory: Memory, device: str) -> Iterator[str | None]:
    """What became of every claim that a device made and that is held, asked one by one."""
    for scope, entity, predicate in memory._replica.db.execute("SELECT scope, entity, predicate FROM slots").fetchall():
        believed = [belief.value for belief in memory.timeline(entity, predicate, scope=scope)]
        for entry in memory.history(entity, predicate, scope=scope):
            if entry.verb in ("remember", "affirm") and entry.device == device:
                kept = None if entry.value in believed else "lost"
                yield kept if entry.status == "live" else entry.status


def _summed(tally: Tally) -> tuple[int, ...]:
    taken_back = tally.retracted + tally.corrected  # one word for both in a history
    return (tally.made, tally.undone, tally.withdrawn, taken_back, tally.denied, tally.lost)


# -- names that may be one ----------------------------------------------------------------------------


def test_predicates_that_are_spelled_alike_are_told_with_what_they_share(memory: Memory) -> None:
    memory.remember("ana", "home_city", "Lisbon")
    memory.remember("ana", "HomeCity", "Lisbon")
    memory.remember("bob", "home-cities", "Porto")
    memory.remember("bob", "home_city", "Braga")
    memory.remember("bob", "hometown", "Braga")
    (row,) = memory.doctor().facts["lookalikes"]["predicates"]
    assert row == {
        "names": ["HomeCity", "home-cities", "home_city"],
        "alike": "spelling",
        "shared_entities": 2,
        "shared_values": 1,
    }
    (problem,) = told(memory, "may be one")
    assert problem.startswith("predicates 'HomeCity', 'home-cities', 'home_city' may be one (2 entities have several")
    assert problem.endswith("1 the same value); write one from now on, and mend the others with correct()")


def test_predicates_that_say_the_same_of_many_entities_are_told(memory: Memory) -> None:
    for number in range(12):
        memory.remember(f"person {number}", "employer", f"company {number % 6}")
        memory.remember(f"person {number}", "works_at", f"company {number % 6}")
        memory.remember(f"person {number}", "alive", "yes")
        memory.remember(f"person {number}", "adult", "yes")
    (row,) = memory.doctor().facts["lookalikes"]["predicates"]
    assert (row["names"], row["alike"], row["shared_entities"], row["shared_values"]) == (
        ["employer", "works_at"],
        "values",
        12,
        12,
    )


def test_predicates_that_often_differ_are_two(memory: Memory) -> None:
    for number in range(20):
        memory.remember(f"person {number}", "home", f"city {number % 7}")
        memory.remember(f"person {number}", "born_in", f"city {number % 7 if number < 14 else 99}")
    assert memory.doctor().facts["lookalikes"]["predicates"] == []


def test_entities_of_one_scope_that_are_spelled_alike_are_told(memory: Memory) -> None:
    memory.remember("person:Ana", "home", "Lisbon")
    memory.remember("person:ana", "home", "Lisbon")
    memory.remember("person_ana", "language", "Greek", scope="work")
    (row,) = memory.doctor().facts["lookalikes"]["entities"]
    assert row == {"scope": "vault", "names": ["person:Ana", "person:ana"], "shared_predicates": 1, "shared_values": 1}
    assert told(memory, "entities")[0].endswith("say which they are: same() or different()")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("home_city", "homeCity", True),
        ("e-mail", "email", True),
        ("hobby", "hobbies", True),
        ("box", "boxes", True),
        ("Straße", "STRASSE", True),
        ("ﬁle", "file", True),
        ("room 1-2", "room 12", False),
        ("bus", "bu", False),
        ("addres", "address", False),
        ("!!", "??", False),
        ("猫", "犬", False),
    ],
)
def test_names_are_alike_without_case_separators_and_plural(one: str, other: str, same: bool) -> None:
    assert (spelled(one) == spelled(other)) is same


@given(st.lists(st.text("abcdefghij", min_size=1), min_size=1), st.sampled_from("_-. /:"))
def test_words_are_alike_however_they_are_joined(words: list[str], separator: str) -> None:
    joined = separator.join(words)
    assert spelled(joined) == spelled(joined.upper()) == spelled("".join(word.title() for word in words))
