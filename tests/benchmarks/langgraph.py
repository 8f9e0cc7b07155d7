"""LangGraph's store: put, get and search beside its SqliteStore, which keeps no history.

Items of five fields in 1,000 namespaces.  SqliteStore stands beside it twice: as ``from_conn_string`` opens it (a
rollback journal, ``synchronous = FULL``), and over a connection in write-ahead mode with ``synchronous = FULL``, which
is what this library does; all three are durable when a put returns.  Ours keeps every version and signs what leaves the
device.  A search gives ten items.

Reach (first stage): at least equal to SqliteStore as it is opened on put and get, and faster on filtered search at
100,000 items.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from langgraph.store.base import BaseStore, PutOp
from langgraph.store.sqlite import SqliteStore

from syncmem.integrations.langgraph import SyncmemStore
from tests.benchmarks.measuring import Reach, Row, alternate, latency, ratio_at_most, timed
from tests.benchmarks.workshop import Workshop

NAMESPACES = 1_000
KINDS = ("note", "task", "fact", "plan")
RARE = 1_000  # items to each value of "batch"
BATCH = 100
Do = Callable[[BaseStore, int], object]


class Sizes(NamedTuple):
    items: tuple[int, ...]
    actions: int  # puts and gets of a round
    searches: int
    rounds: int


SIZES = {
    "small": Sizes((200,), actions=5, searches=3, rounds=2),
    "quick": Sizes((10_000,), actions=100, searches=20, rounds=3),
    "full": Sizes((10_000, 100_000), actions=200, searches=10, rounds=3),
}


def namespace(number: int) -> tuple[str, str]:
    return ("users", f"{number * 7 % NAMESPACES}")


def value(number: int, version: int = 0) -> dict[str, Any]:
    text = f"What was said in turn {number}, version {version}, about this and that"
    kind, batch = KINDS[number % len(KINDS)], number // RARE
    return {"text": text, "kind": kind, "batch": batch, "score": number * 37 % 1_000, "done": number % 2 == 0}


ACTIONS: dict[str, tuple[Do, Reach | None]] = {
    "put of a new item": (lambda s, n: s.put(namespace(n), f"new {n}", value(n)), ratio_at_most(1)),
    "put that supersedes": (lambda s, n: s.put(namespace(n), f"{n}", value(n, 1)), ratio_at_most(1)),
    f"put of {BATCH} items at once": (
        lambda s, n: s.batch([PutOp(namespace(n), f"batch {n} {i}", value(i)) for i in range(BATCH)]),
        ratio_at_most(1),
    ),
    "get": (lambda s, n: s.get(namespace(n), f"{n}"), ratio_at_most(1)),
    "search of a field that few items have": (
        lambda s, n: s.search(("users",), filter={"batch": 0, "kind": KINDS[n % 4]}),
        ratio_at_most(1),
    ),
    "search of a field that many items have": (
        lambda s, n: s.search(("users",), filter={"kind": KINDS[n % 4]}),
        ratio_at_most(1),
    ),
    "search by a range": (
        lambda s, n: s.search(("users",), filter={"score": {"$gte": 990}, "done": False}),
        ratio_at_most(1),
    ),
    "search in one namespace": (lambda s, n: s.search(namespace(n), filter={"done": True}), ratio_at_most(1)),
    "search that finds nothing": (lambda s, n: s.search(("users",), filter={"kind": f"no {n}"}), ratio_at_most(1)),
    "the ten newest": (lambda s, n: s.search(("users",)), None),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    rows = []
    for items in sizes.items:
        with workshop.scratch() as folder, stores(folder) as (ours, shipped, tuned):
            for first in range(0, items, RARE):
                ops = [PutOp(namespace(n), f"{n}", value(n)) for n in range(first, min(first + RARE, items))]
                for store in (ours, shipped, tuned):
                    store.batch(ops)
            for what, (do, reach) in ACTIONS.items():
                for beside, name in ((shipped, "as opened"), (tuned, "write-ahead")):
                    rows.append(compared(f"{what}, {items:,} ({name})", ours, beside, do, sizes, items, reach))
                    reach = None
    return rows


def compared(
    what: str, ours: BaseStore, beside: BaseStore, do: Do, sizes: Sizes, items: int, reach: Reach | None
) -> Row:
    actions = sizes.searches if "search" in what or "ten newest" in what or "at once" in what else sizes.actions

    def round_of(store: BaseStore, number: int) -> Any:
        numbers = [(number * actions + n) * 101 % items for n in range(actions)]
        return timed([lambda n=n: do(store, n) for n in numbers])

    sides = alternate(sizes.rounds, lambda n: round_of(ours, n), lambda n: round_of(beside, n))
    return latency(what, sides, reach=reach)


@contextmanager
def stores(folder: Path) -> Iterator[tuple[BaseStore, BaseStore, BaseStore]]:
    """Ours, SqliteStore as it is opened, and over a connection as ours."""
    with SyncmemStore.open(folder / "ours.db") as ours, SqliteStore.from_conn_string(f"{folder}/shipped.db") as shipped:
        connection = sqlite3.connect(folder / "tuned.db", isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        tuned = SqliteStore(connection)
        shipped.setup()
        tuned.setup()
        try:
            yield ours, shipped, tuned
        finally:
            connection.close()
