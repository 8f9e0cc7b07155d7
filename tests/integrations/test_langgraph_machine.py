"""The store beside LangGraph's own InMemoryStore: the same operations have the same results, whatever they are."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from syncmem import Environment, ManualClock, Memory
from syncmem.environment import seeded_randomness
from syncmem.integrations.langgraph import PREDICATE, SyncmemStore
from syncmem.replica import lookup

ALL = 1_000
LONG = "so long that it is cut where it is looked up, and longer still, and "
MINUTE = 60_000_000

labels = st.sampled_from(["a", "b", "ab", "é", "e\u0301", '"', "[", "a,", "\U0010ffff"])
namespaces = st.lists(labels, min_size=1, max_size=3).map(tuple)
prefixes = st.lists(labels, max_size=2).map(tuple)
keys = st.sampled_from(["k", "l", "a", '"],', "", "é", "e\u0301", "x.y"])
plain = st.sampled_from(
    [0, 1, 1.0, 2, -1, 1.5, True, False, None, "", "1", "2.5", "a", "b", LONG + "1", LONG + "2", 2**53 + 1, 2.0**53]
)
names = st.sampled_from(["n", "t", "é", 'q"', "$x"])
flat = st.dictionaries(st.sampled_from(["n", "t"]), plain, max_size=2)
values = st.dictionaries(names, st.one_of(plain, flat, st.lists(plain, max_size=2)), max_size=3)
signs = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
operators = st.dictionaries(signs, plain, min_size=1, max_size=2)
filters = st.one_of(
    st.none(),
    st.dictionaries(names, st.one_of(plain, operators, flat, st.lists(plain, max_size=2)), max_size=2),
)
conditions = st.builds(
    lambda *parts: MatchCondition(*parts),
    st.sampled_from(["prefix", "suffix"]),
    st.lists(st.one_of(labels, st.just("*")), min_size=1, max_size=3).map(tuple),
)
depths = st.sampled_from([None, 1, 2])
operations = st.one_of(
    st.builds(lambda *op: PutOp(*op), namespaces, keys, st.one_of(values, values, st.none())),
    st.builds(lambda *op: GetOp(*op), namespaces, keys),
    st.builds(lambda *op: SearchOp(*op, limit=ALL), prefixes, filters),
    st.builds(lambda *op: ListNamespacesOp(*op), st.lists(conditions, max_size=2).map(tuple), depths),
)


class Beside(RuleBasedStateMachine):
    few, narrow = lookup.FEW, 0  # always by the narrowest way

    def __init__(self) -> None:
        super().__init__()
        self.before = lookup.FEW, lookup.NARROW
        lookup.FEW, lookup.NARROW = self.few, self.narrow
        self.clock = ManualClock(1_700_000_000_000_000)
        self.memory = Memory(":memory:", environment=Environment(self.clock, seeded_randomness(1)), embedder=None)
        self.other = Memory(":memory:", environment=Environment(self.clock, seeded_randomness(2)), embedder=None)
        self.store = SyncmemStore(self.memory)
        self.oracle = InMemoryStore()
        self.leased: set[tuple[tuple[str, ...], str]] = set()

    def teardown(self) -> None:
        lookup.FEW, lookup.NARROW = self.before
        self.memory.close()
        self.other.close()

    @rule(batch=st.lists(operations, min_size=1, max_size=5))
    def do(self, batch: list[Op]) -> None:
        expected = self.answers(batch)
        found = self.store.batch(batch)
        if expected is not None:
            assert [facts(each) for each in found] == expected
        self.leased -= {(op.namespace, op.key) for op in batch if isinstance(op, PutOp)}

    @rule(namespace=namespaces, key=keys, value=values)
    def lease(self, namespace: tuple[str, ...], key: str, value: dict[str, Any]) -> None:
        self.store.put(namespace, key, value, ttl=10)
        self.oracle.put(namespace, key, value)
        self.leased.add((namespace, key))

    @rule()
    def wait(self) -> None:
        self.clock.time += 11 * MINUTE
        for namespace, key in self.leased:
            self.oracle.delete(namespace, key)
        self.leased.clear()

    @rule(prefix=prefixes, wanted=filters, limit=st.integers(1, 3))
    def leaf_through(self, prefix: tuple[str, ...], wanted: dict[str, Any] | None, limit: int) -> None:
        whole = self.store.search(prefix, filter=wanted, limit=ALL, refresh_ttl=False)
        pages = [
            self.store.search(prefix, filter=wanted, limit=limit, offset=offset, refresh_ttl=False)
            for offset in range(0, len(whole) + 1, limit)
        ]
        assert [item for page in pages for item in page] == whole
        times = [item.updated_at for item in whole]
        assert times == sorted(times, reverse=True)
        assert all(item.created_at <= item.updated_at for item in whole)

    @rule(namespace=namespaces, key=keys)
    def erase(self, namespace: tuple[str, ...], key: str) -> None:
        self.memory.erase(self.store.entity(namespace, key))
        self.oracle.delete(namespace, key)

    @rule(data=st.data())
    def take_back_a_put(self, data: st.DataObject) -> None:
        there = self.store.search((), limit=ALL, refresh_ttl=False)
        if there:
            item = data.draw(st.sampled_from(there))
            entity = self.store.entity(item.namespace, item.key)
            latest = [each for each in self.memory.history(entity, PREDICATE) if each.verb == "remember"][-1]
            self.memory.retract(latest.event)
            left = self.store.get(item.namespace, item.key, refresh_ttl=False)
            if left is None:
                self.oracle.delete(item.namespace, item.key)
            else:
                self.oracle.put(item.namespace, item.key, left.value)
            believed = self.memory.believe(entity, PREDICATE)
            assert (believed and believed.value) == (left and left.value)
            path = (item.namespace, item.key)
            self.leased.discard(path)
            if believed is not None and believed.valid_to is not None:
                self.leased.add(path)

    @rule()
    def rebuild(self) -> None:
        self.memory.rebuild()

    @rule()
    def meet_another_device(self) -> None:
        self.other.merge(self.memory)
        self.memory.merge(self.other)
        there = SyncmemStore(self.other).search((), limit=ALL, refresh_ttl=False)
        assert there == self.store.search((), limit=ALL, refresh_ttl=False)

    @invariant()
    def the_same_is_there(self) -> None:
        found = self.store.search((), limit=ALL, refresh_ttl=False)
        assert facts(found) == facts(self.oracle.search((), limit=ALL))
        assert all(self.store.get(item.namespace, item.key, refresh_ttl=False) for item in found)

    def answers(self, batch: list[Op]) -> list[Any] | None:
        """What the other store answers; None where it fails at a comparison, which must change nothing here either."""
        found = [each for op in batch for each in self.asked(op)]
        for op in {(op.namespace, op.key): op for op in batch if isinstance(op, PutOp)}.values():
            self.oracle.batch([op])
        return None if "fails" in found else found

    def asked(self, op: Op) -> list[Any]:
        if isinstance(op, PutOp):
            return [None]
        oracle = self.oracle
        if isinstance(op, ListNamespacesOp):  # the other one also lists namespaces that were only asked about
            oracle = InMemoryStore()
            for item in self.oracle.search((), limit=ALL):
                oracle.put(item.namespace, item.key, item.value)
        try:
            return [facts(each) for each in oracle.batch([op])]
        except (TypeError, ValueError):
            return ["fails"]


def facts(result: Any) -> Any:
    """What a result says, without times, which differ, and the order of items, which is this store's own."""
    if isinstance(result, list) and result and isinstance(result[0], SearchItem):
        return sorted(map(facts, result), key=repr)
    if result is None or isinstance(result, list):
        return result
    return result.namespace, result.key, sorted(result.value.items(), key=repr)


class WalkingBeside(Beside):
    """The same where there are more items than are sorted: they are walked from the newest on."""

    few, narrow = 2, 2


TestBeside = Beside.TestCase
TestBeside.settings = settings(max_examples=40, stateful_step_count=20)
TestWalkingBeside = WalkingBeside.TestCase
TestWalkingBeside.settings = settings(max_examples=40, stateful_step_count=20)
