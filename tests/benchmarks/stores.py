"""What each store of a relay takes and tells in a second, beside SQLite's; and a bucket beside a folder.

Several threads ask a store as the relay's threads do, without HTTP: puts of one blob each, every thread into a mailbox
of its own, and questions of who has read everything in a mailbox of many blobs. The "baseline" is the store in SQLite
(for mailboxes without a server: the folder). Object storage is in memory, so its own time is left out; PostgreSQL runs
on the same disk; beside bare inserts, too. CPU is this process's: what PostgreSQL needs comes on top.

Reach (first stage): none was set for a store; a relay on SQLite is held to a bare server elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from syncmem.relay.opening import open_store
from syncmem.relay.rows import RowStore
from syncmem.sync import open_mailbox
from syncmem.wire.mailbox import Exchange, Mailbox, Outcome, Put
from tests.benchmarks.measuring import Row, alternate, timed
from tests.benchmarks.workshop import Workshop
from tests.mailbox.postgres import cluster, programs
from tests.mailbox.serving import ask, new_key

ONE = b"stream 1"
THREADS = 8
SMALL, LARGE = 1_000, 100_000  # bytes


class Sizes(NamedTuple):
    puts: int  # of a thread in a round
    blobs: int  # in the mailbox that is asked about
    rounds: int


SIZES = {
    "small": Sizes(puts=2, blobs=50, rounds=1),
    "quick": Sizes(puts=50, blobs=10_000, rounds=5),
    "full": Sizes(puts=200, blobs=100_000, rounds=9),
}


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    with workshop.scratch() as folder, ExitStack() as open_now:
        return [*_stores(folder, sizes, open_now), *_mailboxes(folder, sizes, open_now)]


def _stores(folder: Path, sizes: Sizes, open_now: ExitStack) -> list[Row]:
    def opened(address: object, blobs: str | None = None) -> RowStore:
        return open_now.enter_context(closing(open_store(str(address), os.urandom, blobs=blobs)))

    baseline = opened(folder / "sqlite")
    stores = {"SQLite with objects": opened(folder / "more", "memory://benchmark/sqlite")}
    if programs() is not None:
        stores["PostgreSQL"] = opened(cluster().database())
        stores["PostgreSQL with objects"] = opened(cluster().database(), "memory://benchmark/postgres")
    rows = []
    for kind, store in stores.items():
        for size in (SMALL, LARGE):
            rows.append(_row(f"{kind}: put {size // 1000} KB", _puts(store, size), _puts(baseline, size), sizes))
        rows.append(_row(f"{kind}: nothing new", _polls(store, sizes), _polls(baseline, sizes), sizes))
    if programs() is not None:
        bare = _bare_inserts(cluster().database(), open_now)
        rows.append(_row("PostgreSQL beside bare inserts: put 1 KB", _puts(stores["PostgreSQL"], SMALL), bare, sizes))
    return rows


def _bare_inserts(address: str, open_now: ExitStack) -> Callable[[int], None]:
    """As many connections as there are threads elsewhere, each of which commits a row at a time."""
    import asyncpg

    loop = open_now.enter_context(asyncio.Runner())
    connections = [loop.run(asyncpg.connect(address)) for _ in range(THREADS)]
    loop.run(connections[0].execute("CREATE TABLE bare (id bigserial PRIMARY KEY, blob bytea)"))
    for connection in connections:
        open_now.callback(lambda connection=connection: loop.run(connection.close()))  # type: ignore[misc]

    async def insert(connection: Any, count: int) -> None:
        for _ in range(count):
            await connection.execute("INSERT INTO bare (blob) VALUES ($1)", os.urandom(SMALL))

    async def all_of_them(count: int) -> None:
        await asyncio.gather(*(insert(connection, count) for connection in connections))

    return lambda count: loop.run(all_of_them(count))


def _row(what: str, ours: Callable[[int], None], baseline: Callable[[int], None], sizes: Sizes) -> Row:
    found = alternate(
        sizes.rounds, lambda _: timed([lambda: ours(sizes.puts)]), lambda _: timed([lambda: baseline(sizes.puts)])
    )
    count = THREADS * sizes.puts
    ours_a_second, theirs = ([count / part.wall for part in side] for side in found)
    cpu = statistics.median(b.cpu / max(a.cpu, 1e-9) for a, b in zip(found.ours, found.baseline, strict=True))
    ratio = statistics.median(a / b for a, b in zip(ours_a_second, theirs, strict=True))
    return Row(what, statistics.median(ours_a_second), "1/s", statistics.median(theirs), ratio, max(cpu, 1e-9))


def _puts(store: RowStore, size: int) -> Callable[[int], None]:
    keys, counters = [new_key() for _ in range(THREADS)], [0] * THREADS

    def put(number: int, count: int) -> None:
        for _ in range(count):
            counters[number] += 1
            counter = counters[number]
            request = Exchange(keys[number].write_key, [Put(ONE, counter, os.urandom(size))], {ONE: counter - 1}, 0)
            assert store.exchange(request).results[0].outcome == Outcome.STORED

    return lambda count: _in_threads(put, count)


def _polls(store: RowStore, sizes: Sizes) -> Callable[[int], None]:
    key = new_key()
    for start in range(1, sizes.blobs + 1, 250):
        puts = [Put(ONE, n, b"%d" % n) for n in range(start, min(start + 250, sizes.blobs + 1))]
        store.exchange(Exchange(key.write_key, puts, {}, 0))
    request = Exchange(key.write_key, [], {ONE: sizes.blobs}, 0)

    def poll(number: int, count: int) -> None:
        for _ in range(count):
            assert not store.exchange(request).listed

    return lambda count: _in_threads(poll, count)


def _in_threads(work: Callable[[int, int], None], count: int) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(work, range(THREADS), [count] * THREADS))


def _mailboxes(folder: Path, sizes: Sizes, open_now: ExitStack) -> list[Row]:
    """One device, at a bucket and at a folder: puts of one blob each, and asking what is new."""
    (folder / "shared").mkdir()
    bucket = open_now.enter_context(closing(open_mailbox("memory://benchmark/mailboxes")))
    shared = open_now.enter_context(closing(open_mailbox(f"folder:{folder / 'shared'}")))
    return [
        _row("bucket beside folder: put 1 KB", _asks(bucket, SMALL), _asks(shared, SMALL), sizes),
        _row("bucket beside folder: nothing new", _asks(bucket, 0), _asks(shared, 0), sizes),
    ]


def _asks(box: Mailbox, size: int) -> Callable[[int], None]:
    key, counter = new_key(), 0
    ask(box, key, *(Put(ONE, n, b"x") for n in range(1, 200)))
    counter = 199

    def asked(count: int) -> None:
        nonlocal counter
        for _ in range(THREADS * count):
            counter += bool(size)
            puts = [Put(ONE, counter, os.urandom(size))] if size else []
            ask(box, key, *puts, cursors={ONE: counter - len(puts)}, inline_bytes_max=0)

    return asked
