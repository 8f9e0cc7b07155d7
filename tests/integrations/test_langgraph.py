"""A store under a graph: what LangGraph promises of one, and what only this one keeps."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from syncmem import Environment, InvalidInput, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.integrations.langgraph import PREDICATE, SyncmemStore

NOON = 1_700_000_000_000_000
MINUTE = 60_000_000
ANA = ("users", "ana")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", environment=Environment(clock, seeded_randomness(1)), embedder=None, zone="UTC") as opened:
        yield opened


@pytest.fixture
def store(memory: Memory) -> SyncmemStore:
    return SyncmemStore(memory)


def letters(texts: Sequence[str]) -> list[list[float]]:
    """Vectors that count letters: alike texts have alike ones."""
    return [[float(text.lower().count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


# -- what LangGraph promises --------------------------------------------------------------------------------


def test_a_batch_answers_in_order_and_sees_what_was_before_it(store: SyncmemStore) -> None:
    store.put(ANA, "one", {"n": 1})
    found = store.batch(
        [
            GetOp(ANA, "one"),
            PutOp(ANA, "one", {"n": 2}),
            PutOp(ANA, "two", {"n": 3}),
            PutOp(ANA, "two", {"n": 4}),
            SearchOp(("users",)),
            GetOp(ANA, "two"),
            ListNamespacesOp((MatchCondition("prefix", ("users",)),)),
            PutOp(ANA, "gone", None),
        ]
    )
    assert (found[0].value, [item.value for item in found[4]], found[5]) == ({"n": 1}, [{"n": 1}], None)
    assert (found[6], found[1], found[7]) == ([ANA], None, None)
    assert [item.value for item in store.search(ANA)] == [{"n": 4}, {"n": 2}]


def test_times_tell_when_it_began_and_when_it_changed(store: SyncmemStore, clock: ManualClock) -> None:
    store.put(ANA, "prefs", {"theme": "dark"})
    first = store.get(ANA, "prefs")
    clock.time += MINUTE
    store.put(ANA, "prefs", {"theme": "dark"})
    assert store.get(ANA, "prefs") == first  # confirmed, not changed
    store.put(ANA, "prefs", {"theme": "light"})
    second = store.get(ANA, "prefs")
    assert first is not None and second is not None
    assert second.created_at == first.created_at == first.updated_at < second.updated_at
    store.delete(ANA, "prefs")
    store.delete(ANA, "prefs")  # nothing to delete is no error
    store.put(ANA, "prefs", {"theme": "light"})
    third = store.get(ANA, "prefs")
    assert third is not None and third.created_at == third.updated_at > second.updated_at


def test_prefixes_are_whole_labels(store: SyncmemStore) -> None:
    for namespace in [("a",), ("a", "b"), ("ab",), ("A",), ("a,", "b"), ("*",)]:
        store.put(namespace, "k", {})
    assert sorted(item.namespace for item in store.search(("a",))) == [("a",), ("a", "b")]
    assert [item.namespace for item in store.search(("*",))] == [("*",)]


def test_namespaces_by_prefix_suffix_wildcard_depth_and_page(store: SyncmemStore) -> None:
    for namespace in [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "c", "f"), ("b", "a", "f")]:
        store.put(namespace, "k", {})
    assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "c", "f")]
    assert store.list_namespaces(suffix=("*", "f")) == [("a", "c", "f"), ("b", "a", "f")]
    assert store.list_namespaces(prefix=("a",), max_depth=2) == [("a", "b"), ("a", "c")]
    assert store.list_namespaces(limit=2, offset=1) == [("a", "b", "d", "e"), ("a", "c", "f")]
    store.delete(("a", "c", "f"), "k")
    assert ("a", "c", "f") not in store.list_namespaces()


def test_wrong_namespaces_operators_and_pages_are_refused(store: SyncmemStore) -> None:
    for namespace in [(), ("a.b",), ("a", ""), ("langgraph", "a")]:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
    with pytest.raises(InvalidNamespaceError):  # also past the methods
        store.batch([GetOp(("a.b",), "k")])
    with pytest.raises(ValueError, match=r"\$in.*\$gte"):
        store.search((), filter={"n": {"$in": [1]}})
    with pytest.raises(InvalidInput, match="0 or more"):
        store.search((), limit=-1)


def test_a_narrow_way_reads_only_what_is_on_it(store: SyncmemStore, memory: Memory) -> None:
    store.batch([PutOp(("users", f"{n % 500}"), f"{n}", {"n": n, "even": n % 2 == 0}) for n in range(1_500)])
    steps = 0

    def counted() -> None:
        nonlocal steps
        steps += 1

    memory._replica.db.raw.set_progress_handler(counted, 100)
    for wanted in ({"n": {"$gte": 1_490}}, {"n": 7}, {"n": {"$lt": 5}, "even": True}, {"n": -1}):
        store.search((), filter=wanted)
    store.search(("users", "7"), filter={"even": False})
    memory._replica.db.raw.set_progress_handler(None, 100)
    assert steps * 100 < 100_000  # steps of SQLite's machine; reading all items for each of few takes millions


def test_what_cannot_be_compared_is_neither_greater_nor_less(store: SyncmemStore) -> None:
    store.batch([PutOp(ANA, str(n), {"n": n}) for n in (1, 5, "7", "x", None)] + [PutOp(ANA, "none", {})])
    assert {item.key for item in store.search(ANA, filter={"n": {"$gt": 2}})} == {"5", "7"}
    assert {item.key for item in store.search(ANA, filter={"n": {"$gte": "a"}})} == {"x"}


def test_what_is_put_with_a_ttl_lapses_unless_it_is_read(store: SyncmemStore, clock: ManualClock) -> None:
    for key in ("read", "searched", "left"):
        store.put(ANA, key, {"k": key}, ttl=10)
    store.put(ANA, "stays", {})
    for _ in range(5):
        clock.time += 6 * MINUTE
        assert store.get(ANA, "read") is not None
        assert store.search(ANA, filter={"k": "searched"})
    assert [item.key for item in store.search(ANA)] == ["stays", "searched", "read"]
    assert store.get(ANA, "left") is None
    clock.time += 6 * MINUTE
    assert store.get(ANA, "read", refresh_ttl=False) is not None
    clock.time += 6 * MINUTE
    assert store.get(ANA, "read") is None


def test_a_ttl_may_be_the_stores_and_a_put_without_one_ends_it(memory: Memory, clock: ManualClock) -> None:
    store = SyncmemStore(memory, ttl={"default_ttl": 10, "refresh_on_read": False})
    store.put(ANA, "default", {})
    store.put(ANA, "for good", {}, ttl=None)
    store.put(ANA, "twice", {})
    store.put(ANA, "twice", {}, ttl=None)
    clock.time += 9 * MINUTE
    assert store.get(ANA, "default") is not None
    clock.time += 2 * MINUTE
    assert sorted(item.key for item in store.search(ANA)) == ["for good", "twice"]


def test_reading_often_writes_seldom(store: SyncmemStore, memory: Memory, clock: ManualClock) -> None:
    store.put(ANA, "read", {}, ttl=60)
    for _ in range(120):
        clock.time += MINUTE // 4
        assert store.get(ANA, "read") is not None
    assert len(memory.history(store.entity(ANA, "read"), PREDICATE)) <= 12


def test_by_meaning_with_a_function(memory: Memory) -> None:
    store = SyncmemStore(memory, index={"dims": 26, "embed": letters, "fields": ["text", "more[*].text"]})
    beside = InMemoryStore(index={"dims": 26, "embed": letters, "fields": ["text", "more[*].text"]})
    for each in (store, beside):
        each.put(ANA, "bananas", {"text": "bananas"})
        each.put(ANA, "parts", {"more": [{"text": "qqq"}, {"text": "banana split"}], "kind": "x"})
        each.put(ANA, "other", {"text": "zzz"})
        each.put(ANA, "own fields", {"text": "bananas", "title": "vvv"}, index=["title"])
        each.put(ANA, "unseen", {"text": "bananas"}, index=False)
        each.put(ANA, "other", {"text": "xyz"})
    for asked in ({"query": "banana"}, {"query": "banana", "filter": {"kind": "x"}}, {"query": "vv", "limit": 2}):
        found, expected = (
            [(item.key, item.score and round(item.score, 5)) for item in each.search(ANA, **asked)]
            for each in (store, beside)
        )
        with_score = [pair for pair in expected if pair[1] not in (None, 0.0)]
        assert found[: len(with_score)] == with_score
        assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert [item.key for item in store.search(ANA, query="banana", limit=1, offset=1)] == ["parts"]


def test_by_meaning_with_a_coroutine_function_and_what_lacks_vectors(memory: Memory) -> None:
    calls: list[int] = []

    async def embed(texts: Sequence[str]) -> list[list[float]]:
        calls.append(len(texts))
        return letters(texts)

    async def talk() -> list[Any]:
        async with SyncmemStore(memory, index={"dims": 26, "embed": embed, "fields": ["text"]}) as store:
            await asyncio.gather(*(store.aput(ANA, f"{n}", {"text": "z" * n + "banana"}) for n in range(100)))
            first = await store.asearch(ANA, query="banana", limit=1)
            await store.aput(ANA, "new", {"text": "banana banana"})
            await store.asearch(ANA, query="zz")
            return first

    assert [item.key for item in asyncio.run(talk())] == ["0"]
    assert sum(calls) == 100 + 1 + 1 + 1  # each text once, and the questions


def test_by_meaning_with_the_librarys_embedders(memory: Memory) -> None:
    store = SyncmemStore(memory, index={"embed": "hashing", "fields": ["text"]})
    store.put(ANA, "1", {"text": "she likes green tea"})
    store.put(ANA, "2", {"text": "the car is in the garage"})
    assert [item.key for item in store.search(ANA, query="green teas")] == ["1", "2"]
    with pytest.raises(InvalidInput, match="syncmem\\[embed\\]"):
        SyncmemStore(memory, index={"fields": ["text"]})  # the memory has none
    assert [item.score for item in SyncmemStore(memory).search(ANA, query="tea")] == [None, None]


def test_from_an_event_loop(memory: Memory) -> None:
    async def talk() -> None:
        async with SyncmemStore(memory) as store:
            await asyncio.gather(*(store.aput(ANA, f"{n}", {"n": n}) for n in range(20)))
            assert (await store.aget(ANA, "7")).value == {"n": 7}
            assert len(await store.asearch(ANA, filter={"n": {"$lt": 5}})) == 5
            await store.adelete(ANA, "7")
            assert await store.aget(ANA, "7") is None
            assert await store.alist_namespaces() == [ANA]
            with pytest.raises(InvalidInput, match="48 KiB|49152"):
                await store.aput(ANA, "big", {"text": "x" * 50_000})

    asyncio.run(talk())
    assert memory.entities()  # still open: it is the caller's


def test_in_a_compiled_graph(store: SyncmemStore) -> None:
    class State(TypedDict):
        user: str
        said: str

    def remember(state: State, *, store: BaseStore) -> dict[str, str]:
        before = store.get(("users", state["user"]), "last")
        store.put(("users", state["user"]), "last", {"said": state["said"]})
        return {"said": before.value["said"] if before else "nothing"}

    builder = StateGraph(State)
    builder.add_node("remember", remember)
    builder.add_edge(START, "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=store)
    assert graph.invoke({"user": "ana", "said": "hello"})["said"] == "nothing"
    assert asyncio.run(graph.ainvoke({"user": "ana", "said": "again"}))["said"] == "hello"
    assert graph.invoke({"user": "bob", "said": "hi"})["said"] == "nothing"


def test_without_langgraph_it_says_what_to_install() -> None:
    code = "import sys, syncmem; assert 'langgraph' not in sys.modules; sys.modules['langgraph'] = None; "
    command = [sys.executable, "-c", code + "import syncmem.integrations.langgraph"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 1 and "pip install 'syncmem[langgraph]'" in outcome.stderr


# -- what only this one keeps -------------------------------------------------------------------------------


def test_nothing_is_overwritten(store: SyncmemStore, memory: Memory, clock: ManualClock) -> None:
    entity = store.entity(ANA, "prefs")
    store.put(ANA, "prefs", {"theme": "dark"})
    clock.time += 60 * MINUTE
    store.put(ANA, "prefs", {"theme": "light"})
    clock.time += 60 * MINUTE
    store.delete(ANA, "prefs")
    assert [belief.value for belief in memory.timeline(entity, PREDICATE)] == [{"theme": "dark"}, {"theme": "light"}]
    then = memory.believe(entity, PREDICATE, valid_at="2023-11-14T22:20Z")
    assert then is not None and then.value == {"theme": "dark"} and then.source.kind == "langgraph"
    assert [entry.verb for entry in memory.history(entity, PREDICATE)] == ["define", "remember", "remember", "end"]
    (ended,) = [change for change in memory.changes("2023-11-14T23:00Z") if change.entity == entity]
    assert [belief.value for belief in ended.before] == [{"theme": "dark"}] and not ended.now


def test_another_device_has_it_too_with_its_index(tmp_path: Path) -> None:
    index: Any = {"dims": 26, "embed": letters, "fields": ["text"]}
    with SyncmemStore.open(tmp_path / "a.db") as here, SyncmemStore.open(tmp_path / "b.db", index=index) as there:
        here.put(ANA, "1", {"text": "bananas"})
        here.put(ANA, "2", {"text": "bananas"}, index=False)
        there.memory.merge(here.memory)
        assert [(item.key, item.score is None) for item in there.search(ANA, query="banana")] == [
            ("1", False),
            ("2", True),
        ]
        there.put(ANA, "1", {"text": "cherries"})
        there.delete(ANA, "2")
        here.memory.merge(there.memory)
        assert [item.value for item in here.search(ANA)] == [{"text": "cherries"}]
        assert here.search(ANA) == there.search(ANA)


def test_the_later_put_counts_on_both_devices_and_the_other_is_told(tmp_path: Path) -> None:
    with SyncmemStore.open(tmp_path / "a.db") as here, SyncmemStore.open(tmp_path / "b.db") as there:
        here.put(ANA, "prefs", {"theme": "dark"})
        there.put(ANA, "prefs", {"theme": "light"})
        here.memory.merge(there.memory)
        there.memory.merge(here.memory)
        found = [store.get(ANA, "prefs") for store in (here, there)]
        assert found[0] == found[1] and found[0] is not None and found[0].value == {"theme": "light"}
        assert [belief.contested for belief in here.memory.contested()] == [True]


def test_items_are_recalled_like_any_belief(store: SyncmemStore, memory: Memory) -> None:
    store.put(ANA, "1", {"text": "likes green tea"})
    store.put(ANA, "1", {"text": "likes black tea"})
    assert [hit.belief.value for hit in memory.recall("Which tea?").hits] == [{"text": "likes black tea"}]


def test_erasing_an_item_leaves_no_trace_of_it(tmp_path: Path) -> None:
    with SyncmemStore.open(tmp_path / "a.db", index={"embed": "hashing"}) as store:
        store.put(("users", "zebulon"), "secret", {"text": "xylophone"})
        store.put(ANA, "other", {"text": "stays"})
        store.search((), query="xylophone")
        store.memory.erase(store.entity(("users", "zebulon"), "secret"))
        assert [item.value["text"] for item in store.search(())] == ["stays"]
        assert store.list_namespaces() == [ANA]
    for file in tmp_path.iterdir():
        assert b"xylophone" not in file.read_bytes() and b"zebulon" not in file.read_bytes()
    rows = sqlite3.connect(tmp_path / "a.db").execute("SELECT count(*) FROM item_vectors").fetchone()
    assert rows == (1,)


def test_erasing_a_person_erases_what_was_put_under_their_name_on_every_device(tmp_path: Path) -> None:
    with SyncmemStore.open(tmp_path / "a.db") as here, SyncmemStore.open(tmp_path / "b.db") as there:
        here.put(("users", "zebulon", "prefs"), "theme", {"text": "xylophone"})
        there.put(("users",), "zebulon", {"text": "xylophone, too"})  # never seen where they are erased
        here.put(ANA, "zebulon's friend", {"text": "stays"})
        there.memory.merge(here.memory)
        report = here.memory.erase("zebulon")
        assert (report.entities, report.events) == (("zebulon",), {"vault": 1})
        assert [item.value for item in here.search(())] == [{"text": "stays"}]
        there.put(("users", "zebulon", "prefs"), "late", {"text": "xylophone, written before it heard"})
        for one, other in ((here, there), (there, here), (here, there)):
            one.memory.merge(other.memory)
            assert [item.value for item in one.search(())] == [{"text": "stays"}]
        assert here.memory.event_digest() == there.memory.event_digest()
        assert here.memory.recall("xylophone", log=False).hits == ()
        there.put(("users", "zebulon", "prefs"), "new", {"text": "since"})  # it knows: this is somebody anew
        here.memory.merge(there.memory)
        assert [item.value["text"] for item in here.search(("users", "zebulon"))] == ["since"]
    for file in tmp_path.iterdir():
        assert b"xylophone" not in file.read_bytes()


def test_erasing_a_person_reaches_each_scope_that_names_them(memory: Memory) -> None:
    stores = [SyncmemStore(memory, scope=scope) for scope in ("vault", "device", "work")]
    for store in stores:
        store.put((*ANA, "prefs"), "1", {"n": 1})
        store.put(("users", "bob"), "1", {"n": 2})
    assert memory.erase("ana").events == {"vault": 1, "device": 1, "work": 1}
    assert [[item.value["n"] for item in store.search(())] for store in stores] == [[2]] * 3
    decomposed = "jose\u0301"  # as some systems write it
    stores[0].put(("users", decomposed), "1", {"n": 3})
    memory.erase("jos\u00e9")
    assert stores[0].get(("users", decomposed), "1") is None


def test_erasing_an_item_leaves_others_of_its_namespace(store: SyncmemStore, memory: Memory) -> None:
    store.put(ANA, "1", {"n": 1})
    store.put(ANA, "2", {"n": 2})
    store.put((*ANA, "2"), "1", {"n": 3})
    memory.erase(store.entity(ANA, "1"))
    assert [item.value["n"] for item in store.search(())] == [3, 2]


def test_what_is_too_large_or_no_json_is_refused_whole(store: SyncmemStore) -> None:
    store.put(ANA, "1", {"n": 1})
    for value, message in [
        ({"text": "x" * 70_000}, "users/ana/big: .*49152 bytes; keep the rest elsewhere"),
        ({"f": float("nan")}, "finite"),
        ({"b": b"x"}, "bytes"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            store.batch([PutOp(ANA, "1", {"n": 2}), PutOp(ANA, "big", value)])
    with pytest.raises(InvalidInput, match="at most 1024 fit"):
        store.put(ANA, "k" * 2_000, {})
    for minutes in (1e300, float("nan"), float("-inf"), "soon"):
        with pytest.raises(InvalidInput, match="ttl|duration"):
            store.put(ANA, "1", {}, ttl=minutes)  # type: ignore[arg-type]
    assert store.get(ANA, "k" * 2_000) is None
    assert [item.value for item in store.search(())] == [{"n": 1}]


def test_what_is_written_after_the_clock_went_back_is_there(store: SyncmemStore, clock: ManualClock) -> None:
    store.put(ANA, "1", {"n": 0})
    clock.time += 120 * MINUTE
    store.put(ANA, "1", {"n": 1})
    clock.time -= 60 * MINUTE
    assert [item.value for item in store.search(ANA)] == [{"n": 1}]
    store.put(ANA, "1", {"n": 2})
    store.put(ANA, "2", {"n": 3})
    assert [item.value for item in store.search(ANA)] == [{"n": 3}, {"n": 2}]
    store.delete(ANA, "1")
    assert store.get(ANA, "1") is None


def test_what_the_user_stated_stands_against_a_store_of_guesses(store: SyncmemStore, memory: Memory) -> None:
    memory.remember(store.entity(ANA, "prefs"), PREDICATE, {"theme": "dark"}, source="user")
    store.put(ANA, "prefs", {"theme": "light"})
    found = store.get(ANA, "prefs")
    assert found is not None and found.value == {"theme": "dark"}
    assert len(memory.contested()) == 1


def test_a_memory_that_had_items_before_and_other_beliefs(memory: Memory) -> None:
    memory.define(PREDICATE, cardinality="single")
    memory.remember(SyncmemStore.entity(ANA, "old"), PREDICATE, {"n": 1})
    memory.remember("no path", PREDICATE, {"n": 2})
    memory.remember(SyncmemStore.entity(ANA, "text"), PREDICATE, "no object")
    memory.remember("ana", "language", "English")
    assert [item.key for item in SyncmemStore(memory).search(())] == ["old"]


def test_two_scopes_are_two_stores(memory: Memory) -> None:
    shared, private = SyncmemStore(memory), SyncmemStore(memory, scope="device")
    private.put(ANA, "1", {"n": 1})
    shared.put(ANA, "1", {"n": 2})
    assert [store.get(ANA, "1").value for store in (shared, private)] == [{"n": 2}, {"n": 1}]
    assert [len(store.search(())) for store in (shared, private)] == [1, 1]


def test_two_openings_of_one_file_see_each_other(tmp_path: Path) -> None:
    with SyncmemStore.open(tmp_path / "a.db") as one, SyncmemStore.open(tmp_path / "a.db") as two:
        one.put(ANA, "1", {"n": 1})
        assert two.get(ANA, "1").value == {"n": 1}
        two.put(ANA, "1", {"n": 2})
        two.put(("users", "bob"), "1", {"n": 3})
        assert one.get(ANA, "1").value == {"n": 2}
        assert one.search((), filter={"n": {"$gt": 2}})[0].namespace == ("users", "bob")
