"""mem0's Memory over ours: the same program gets the same answers, and what mem0 has not is there besides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import syncmem
from syncmem import Candidate, InvalidInput, ManualClock, Source, Utterance
from syncmem.integrations.mem0 import Memory
from tests.integrations.mem0_script import script, told

ANSWERS = Path(__file__).with_name("mem0_answers.json")
ALICE = {"user_id": "alice"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_750_000_000_000_000)


@pytest.fixture
def native(clock: ManualClock) -> Any:
    environment = syncmem.Environment(clock=clock)
    with syncmem.Memory(":memory:", embedder=None, environment=environment) as memory:
        yield memory


def texts(answer: dict[str, Any]) -> list[str]:
    return [each["memory"] for each in answer["results"]]


def test_a_program_written_for_mem0_gets_the_answers_that_mem0_gives(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", embedder=None) as m:
        answers = told(script(m))
    for number, (ours, theirs) in enumerate(zip(answers, json.loads(ANSWERS.read_text()), strict=True)):
        assert ours == theirs, f"answer {number}"


def test_programs_of_the_first_version_name_the_user_beside_the_question(native: syncmem.Memory) -> None:
    m = Memory(native)
    for text in ("Likes tennis", "Likes cheese", "Lives by the sea"):
        m.add(text, user_id="alice", infer=False)
    assert texts(m.search("tennis", user_id="alice", limit=1)) == ["Likes tennis"]
    assert len(texts(m.get_all(user_id="alice", limit=2))) == 2


def test_what_was_updated_and_deleted_stays_in_the_history_of_the_memory(
    native: syncmem.Memory, clock: ManualClock
) -> None:
    m = Memory(native)
    id = m.add("Likes tennis", user_id="alice", infer=False)["results"][0]["id"]
    clock.time += 3_600_000_000
    known = m.memory.believe("alice", "memory")
    m.update(id, "Likes squash")
    clock.time += 3_600_000_000
    m.delete(id)
    assert m.get(id) is None
    assert known is not None and known.valid_from is not None
    held = [each.value["memory"] for each in native.timeline("alice", "memory")]
    assert sorted(held) == ["Likes squash", "Likes tennis"]
    (then,) = native.beliefs("alice", "memory", valid_at=known.valid_from)
    assert then.value["memory"] == "Likes tennis"
    assert [row["event"] for row in m.history(id)] == ["ADD", "UPDATE", "DELETE"]


def test_two_devices_that_updated_one_memory_apart_agree_on_the_later_text(clock: ManualClock) -> None:
    environments = [syncmem.Environment(clock=clock) for _ in range(2)]
    opened = [syncmem.Memory(":memory:", embedder=None, environment=each) for each in environments]
    laptop, phone = opened
    id = Memory(laptop).add("Likes tennis", user_id="alice", infer=False)["results"][0]["id"]
    phone.merge(laptop)
    for memory, text in ((phone, "Likes padel"), (laptop, "Likes squash")):
        clock.time += 3_600_000_000
        Memory(memory).update(id, text)
    laptop.merge(phone)
    phone.merge(laptop)
    assert [Memory(each).get(id)["memory"] for each in opened] == ["Likes squash"] * 2
    assert [texts(Memory(each).get_all(filters=ALICE)) for each in opened] == [["Likes squash"]] * 2
    Memory(phone).delete(id)
    laptop.merge(phone)
    assert [texts(Memory(each).get_all(filters=ALICE)) for each in opened] == [[], []]
    assert [row["event"] for row in Memory(laptop).history(id)] == ["ADD", "UPDATE", "UPDATE", "DELETE"]
    for memory in opened:
        memory.close()


def test_facts_are_found_in_what_the_user_says_and_supersede_each_other(native: syncmem.Memory) -> None:
    m = Memory(native)
    added = m.add("I live in Lisbon. I speak Greek.", user_id="alice")
    assert [(each["memory"], each["event"]) for each in added["results"]] == [
        ("home_city: Lisbon", "ADD"),
        ("language: Greek", "ADD"),
    ]
    moved = m.add([{"role": "user", "content": "I live in Porto."}], user_id="alice")
    assert [(each["memory"], each["event"]) for each in moved["results"]] == [("home_city: Porto", "UPDATE")]
    assert m.add([{"role": "assistant", "content": "I live in Rome."}], user_id="alice") == {"results": []}
    assert sorted(texts(m.get_all(filters=ALICE))) == ["home_city: Porto", "language: Greek"]
    assert [row["new_memory"] for row in m.history(moved["results"][0]["id"])] == [
        "home_city: Lisbon",
        "home_city: Porto",
    ]


def test_facts_have_the_metadata_and_the_owners_of_their_message(native: syncmem.Memory, clock: ManualClock) -> None:
    m = Memory(native)
    about: dict[str, Any] = {"user_id": "alice", "run_id": "run-7"}
    city, tongue = m.add("I live in Lisbon. I speak Greek.", **about, metadata={"topic": "home", "level": 2})["results"]
    m.add("I speak Latin.", user_id="alice", run_id="run-8", expiration_date="2025-06-20")
    told = m.get(tongue["id"])
    assert (told["metadata"], told["user_id"], told["run_id"]) == ({"topic": "home", "level": 2}, "alice", "run-7")
    both = ["home_city: Lisbon", "language: Greek"]
    assert sorted(texts(m.get_all(filters={**ALICE, "topic": "home", "level": {"gte": 2}}))) == both
    assert sorted(texts(m.get_all(filters={"run_id": "run-7"}))) == both
    assert texts(m.search("Lisbon", filters={**ALICE, "topic": "home"}))[0] == "home_city: Lisbon"
    assert texts(m.search("Lisbon", filters={**ALICE, "topic": "work"})) == []
    assert texts(m.get_all(filters={"run_id": "run-8"})) == ["language: Latin"]
    for id, text in ((city["id"], None), (tongue["id"], "language: Modern Greek")):
        clock.time += 3_600_000_000
        m.update(id, text, metadata={"level": 3})
        assert m.get(id)["metadata"] == {"topic": "home", "level": 3} and m.get(id)["run_id"] == "run-7"
    assert [(row["event"], row["new_memory"]) for row in m.history(tongue["id"])] == [
        ("ADD", "language: Greek"),
        ("UPDATE", "language: Modern Greek"),
    ]
    clock.time += 10 * 86_400_000_000
    assert texts(m.get_all(filters={"run_id": "run-8"})) == []  # it has expired
    assert texts(m.get_all(filters={"run_id": "run-8"}, show_expired=True)) == ["language: Latin"]


def test_what_was_added_here_is_changed_and_deleted_here_on_any_device(
    native: syncmem.Memory, clock: ManualClock
) -> None:
    m = Memory(native)
    city, _ = m.add("I live in Lisbon. I speak Greek.", user_id="alice", agent_id="coach")["results"]
    m.add("Likes tennis", user_id="alice", infer=False)
    m.add("I live in Rome.", user_id="bob")
    assert native.believe("alice", "home_city").trust == 90  # type: ignore[union-attr]
    with syncmem.Memory(":memory:", embedder=None, environment=syncmem.Environment(clock=clock)) as other:
        clock.time += 3_600_000_000
        other.merge(native)
        there = Memory(other)
        there.update(city["id"], "home_city: Porto")
        assert there.get(city["id"])["memory"] == "home_city: Porto"
        there.delete_all(agent_id="coach")
        assert texts(there.get_all(filters=ALICE)) == ["Likes tennis"]
        native.merge(other)
    assert texts(m.get_all(filters=ALICE)) == ["Likes tennis"]
    m.delete_all(user_id="alice")
    assert m.get_all(filters=ALICE) == {"results": []}
    assert texts(m.get_all(filters={"user_id": "bob"})) == ["home_city: Rome"]
    assert [row["event"] for row in m.history(city["id"])] == ["ADD", "UPDATE", "DELETE"]


def test_what_the_user_also_stated_elsewhere_is_not_deleted_here(native: syncmem.Memory) -> None:
    m = Memory(native)
    (city,) = m.add("I live in Lisbon.", user_id="alice")["results"]
    native.remember("alice", "home_city", "Lisbon")
    with pytest.raises(InvalidInput, match="stated with trust 90"):
        m.delete(city["id"])
    other = Memory(native, agent="another program")
    (tongue,) = m.add("I speak Greek.", user_id="alice")["results"]
    with pytest.raises(InvalidInput, match="stated with trust 90"):
        other.delete(tongue["id"])
    assert sorted(texts(m.get_all(filters=ALICE))) == ["home_city: Lisbon", "language: Greek"]


def test_any_callable_extracts(native: syncmem.Memory) -> None:
    def extractor(said: Utterance) -> list[Candidate]:
        start = said.text.index("boat")
        return [Candidate(said.speaker, "owns", "boat", source=said.passage(start, start + 4))]

    m = Memory(native, extractor=extractor)
    assert texts(m.add("My boat leaks", user_id="alice")) == ["owns: boat"]


def test_what_the_user_stated_is_not_ended_by_what_counts_as_inferred(native: syncmem.Memory) -> None:
    native.define("home_city", cardinality="single")
    native.remember("alice", "home_city", "Lisbon", source="user")
    m = Memory(native)
    m.add("Likes tennis", user_id="alice", infer=False)
    (city,) = (each for each in m.get_all(filters=ALICE)["results"] if each["memory"] == "home_city: Lisbon")
    before = native.event_digest()
    for refused in (
        lambda: m.delete(city["id"]),
        lambda: m.update(city["id"], "Porto"),
        lambda: m.delete_all(user_id="alice"),
    ):
        with pytest.raises(InvalidInput, match="trust='user'"):
            refused()
    assert native.event_digest() == before
    owner = Memory(native, trust="user")
    owner.update(city["id"], "home_city: Porto")
    assert native.believe("alice", "home_city").value == "Porto"  # type: ignore[union-attr]
    assert owner.get(city["id"])["memory"] == "home_city: Porto"
    owner.delete_all(user_id="alice")
    assert m.get_all(filters=ALICE) == {"results": []}


def test_what_was_imported_or_remembered_elsewhere_is_found_and_can_be_changed(native: syncmem.Memory) -> None:
    native.remember("alice", "memory", "Likes tennis", trust="inference", source=Source("integration", "mem0"))
    m = Memory(native)
    (kept,) = m.search("tennis", filters=ALICE)["results"]
    m.update(kept["id"], "Likes squash", metadata={"topic": "sport"})
    assert m.get(kept["id"])["memory"] == "Likes squash"
    assert [(row["old_memory"], row["new_memory"]) for row in m.history(kept["id"])] == [
        (None, "Likes tennis"),
        ("Likes tennis", "Likes squash"),
    ]


def test_a_memory_expires_after_its_last_day_and_can_still_be_shown(native: syncmem.Memory, clock: ManualClock) -> None:
    m = Memory(native)
    m.add("Is in Paris", user_id="alice", infer=False, expiration_date="2025-06-20")
    m.add("Was in Rome", user_id="alice", infer=False, expiration_date="2025-06-01")
    gone = m.add("Likes tennis", user_id="alice", infer=False, expiration_date="2025-06-20")["results"][0]["id"]
    m.delete(gone)
    assert texts(m.get_all(filters=ALICE)) == ["Is in Paris"]
    clock.time += 10 * 86_400_000_000
    assert texts(m.get_all(filters=ALICE)) == []
    assert native.beliefs("alice", "memory", valid_at="2025-06-20T12:00Z") != []
    assert sorted(texts(m.get_all(filters=ALICE, show_expired=True))) == ["Is in Paris", "Was in Rome"]


def test_erasing_the_user_or_the_agent_erases_the_memory(native: syncmem.Memory) -> None:
    m = Memory(native)
    id = m.add("Likes tennis", user_id="alice", agent_id="coach", infer=False)["results"][0]["id"]
    other = m.add("Likes rain", user_id="bob", infer=False)["results"][0]["id"]
    native.erase("coach")
    assert m.get(id) is None and m.history(id) == []
    assert m.get(other)["memory"] == "Likes rain"


def test_erasing_a_user_reaches_their_memories_on_every_device(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=None) as here, Memory(tmp_path / "b.db", embedder=None) as there:
        here.add("Likes the xylophone", user_id="zebulon", infer=False)
        there.add("Met zebulon", user_id="bob", agent_id="zebulon", infer=False)
        there.add([{"role": "user", "content": "I live in Xylopolis."}], user_id="zebulon")
        there.memory.merge(here.memory)
        here.memory.erase("zebulon")
        there.add("Plays the xylophone", user_id="zebulon", infer=False)  # it has not heard of it
        for one, other in ((here, there), (there, here)):
            one.memory.merge(other.memory)
            for owner in ("zebulon", "bob"):
                assert one.get_all(filters={"user_id": owner}) == {"results": []}
        there.add("Is somebody else", user_id="zebulon", infer=False)
        here.memory.merge(there.memory)
        assert texts(here.get_all(filters={"user_id": "zebulon"})) == ["Is somebody else"]
    for file in tmp_path.iterdir():
        found = file.read_bytes().lower()
        assert b"xylop" not in found


def test_reset_ends_what_was_added_here_alone(native: syncmem.Memory) -> None:
    native.remember("alice", "home_city", "Lisbon")
    m = Memory.from_config({"path": ":memory:", "embedder": None, "llm": {"provider": "openai"}})
    m.close()
    m = Memory(native)
    id = m.add("Likes tennis", user_id="alice", infer=False)["results"][0]["id"]
    m.add("I live in Rome. I speak Greek.", user_id="bob")
    m.reset()
    assert m.get(id) is None
    assert m.get_all(filters={"user_id": "bob"}) == {"results": []}
    assert [row["event"] for row in m.history(id)] == ["ADD", "DELETE"]
    assert native.believe("alice", "home_city").value == "Lisbon"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({"topic": "*"}, True),
        ({"topic": ["diet", "sport"]}, True),
        ({"topic": {"nin": ["sport"]}}, False),
        ({"topic": {"ne": "sport"}}, False),
        ({"topic": {"icontains": "SPO"}}, True),
        ({"topic": {"contains": "SPO"}}, False),
        ({"level": {"gt": 2, "lte": 3}}, True),
        ({"level": {"lt": "three"}}, False),
        ({"missing": {"gte": 1}}, False),
        ({"NOT": [{"level": 3}]}, False),
        ({"AND": [{"level": 3}, {"OR": [{"topic": "diet"}, {"topic": "sport"}]}]}, True),
    ],
)
def test_filters_select(native: syncmem.Memory, filters: dict[str, Any], passes: bool) -> None:
    m = Memory(native)
    m.add("Likes tennis", user_id="alice", metadata={"topic": "sport", "level": 3}, infer=False)
    assert texts(m.get_all(filters={**ALICE, **filters})) == ["Likes tennis"] * passes
    assert texts(m.search("tennis", filters={**ALICE, **filters})) == ["Likes tennis"] * passes


def test_an_unknown_operator_is_refused(native: syncmem.Memory) -> None:
    m = Memory(native)
    m.add("Likes tennis", user_id="alice", infer=False)
    with pytest.raises(InvalidInput, match="no operator 'near'"):
        m.get_all(filters={**ALICE, "topic": {"near": 1}})
