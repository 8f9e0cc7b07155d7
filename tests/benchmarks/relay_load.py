"""A relay under load: puts beside an endpoint that stores nothing, many mailboxes, and one that is large.

The relay (SQLite) and the bare endpoint are processes of their own on the same machine, as is who asks: some
connections that are kept open, each of which sends the next request when it has the answer; requests are made
beforehand, and proved as by a device that asks often, with a code under what it agreed on with the relay; rows beside
tell of signatures, of few connections (which wait for the disk together), and of many blobs in a request, as a device
sends them that was offline: blobs a second, beside requests of the same bytes. "By CPU" is the processor time of the
server's process alone. In the large mailbox and among the many mailboxes the store is asked without HTTP; the baseline
is a store with a thousandth of it.

Reach (first stage): at least half the request rate of the bare endpoint; a listing behind a cursor and a put cost no
more than 1.5 times as much in a mailbox a thousand times as large, or beside a thousand times as many.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from syncmem.relay.opening import open_store
from syncmem.relay.rows import RowStore
from syncmem.seal.envelope import EpochKey
from syncmem.sync.http import library
from syncmem.wire.mailbox import Exchange, Outcome, Put
from syncmem.wire.messages import CONTENT_TYPE, agree_bytes, exchange_bytes, read_agreed
from syncmem.wire.proofs import Shared, shared_by_mailbox
from tests.benchmarks import devices
from tests.benchmarks.measuring import Row, alternate, latency, quantile, ratio_at_least, ratio_at_most, timed
from tests.benchmarks.workshop import ROOT, Workshop
from tests.mailbox.serving import new_key

ONE = b"stream 1"
BLOB_BYTES = 1000
PUTS_AT_ONCE = 250
TOGETHER = 25


class Sizes(NamedTuple):
    connections: int
    few: int  # connections
    puts: int  # of all connections in a round
    rounds: int
    blobs: int  # in the large mailbox
    mailboxes: int
    asked: int


SIZES = {
    "small": Sizes(connections=4, few=2, puts=12, rounds=1, blobs=2_000, mailboxes=2_000, asked=3),
    "quick": Sizes(connections=128, few=16, puts=1600, rounds=5, blobs=100_000, mailboxes=10_000, asked=50),
    "full": Sizes(connections=128, few=16, puts=4800, rounds=9, blobs=1_000_000, mailboxes=100_000, asked=200),
}
SMALLER = 1000  # times


def run(workshop: Workshop) -> list[Row]:
    sizes = SIZES[workshop.scale]
    with workshop.scratch() as folder, ExitStack() as stack:
        relay = stack.enter_context(devices.relay_process(folder / "relay"))
        bare = stack.enter_context(bare_process())
        rows = [
            *_under_load(relay, bare, sizes, Load(sizes.connections)),
            *_under_load(relay, bare, sizes, Load(sizes.connections, agreed=False))[:1],
            *_under_load(relay, bare, sizes, Load(sizes.few))[:1],
            *_under_load(relay, bare, sizes, Load(sizes.few, together=TOGETHER))[:1],
        ]
    for blobs in (sizes.blobs // 10, sizes.blobs):
        with workshop.scratch() as folder:
            rows.append(_listing(folder, sizes._replace(blobs=blobs), sizes.blobs // SMALLER))
    with workshop.scratch() as folder:
        rows.append(_among_many(folder, sizes))
    return rows


# -- puts over HTTP -----------------------------------------------------------------------------------------


class Load(NamedTuple):
    """Who puts: over how many connections, whether they have agreed with the relay, how many blobs in a request."""

    connections: int
    agreed: bool = True
    together: int = 1

    def __str__(self) -> str:
        signed = "" if self.agreed else ", each signed"
        many = "" if self.together == 1 else f", {self.together} in a request"
        return f"puts of 1 KB over {self.connections} connections{signed}{many}"


class Took(NamedTuple):
    """What came of a round: the seconds of each request, of the round, and of the server's processor."""

    each: list[float]
    wall: float
    cpu: float


def _under_load(relay: devices.Relay, bare: devices.Relay, sizes: Sizes, load: Load) -> list[Row]:
    clients = [Client(new_key(), load.together) for _ in range(load.connections)]
    for client in clients if load.agreed else ():
        client.agree(relay)
    sides: dict[str, list[Took]] = {"relay": [], "bare": []}
    each = sizes.puts // load.connections // load.together or 1
    for number in range(-1, sizes.rounds):  # the first warms up
        for name, server in (("relay", relay), ("bare", bare)):
            took = _loaded(server, clients, each)
            if number >= 0 or sizes.rounds == 1:
                sides[name].append(took)
    count = load.connections * each * load.together
    rates = {name: [count / took.wall for took in taken] for name, taken in sides.items()}
    slow = {name: [1000 * quantile(took.each, 0.99) for took in taken] for name, taken in sides.items()}
    cpu = _ratio([took.cpu for took in sides["bare"]], [took.cpu for took in sides["relay"]])
    reach = ratio_at_least(0.5) if load == Load(sizes.connections) else None
    return [
        Row(str(load), statistics.median(rates["relay"]), "1/s", statistics.median(rates["bare"]),
            _ratio(rates["relay"], rates["bare"]), cpu, reach),
        Row(f"{load}, 99 of 100 within", statistics.median(slow["relay"]), "ms", statistics.median(slow["bare"]),
            _ratio(slow["relay"], slow["bare"])),
    ]  # fmt: skip


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return statistics.median(a / max(b, 1e-9) for a, b in zip(ours, theirs, strict=True))


def _loaded(server: devices.Relay, clients: list[Client], puts: int) -> Took:
    requests = [client.requests(puts) for client in clients]
    host, _, port = server.address.partition("://")[2].rpartition(":")

    async def all_of_them() -> list[list[float]]:
        return await asyncio.gather(*(_ask_all(host, int(port), one) for one in requests))

    before, begun = _processor_seconds(server.process_id), time.perf_counter()
    each = asyncio.run(all_of_them())
    wall = time.perf_counter() - begun
    return Took([one for some in each for one in some], wall, _processor_seconds(server.process_id) - before)


async def _ask_all(host: str, port: int, requests: list[bytes]) -> list[float]:
    reader, writer = await asyncio.open_connection(host, port)
    walls = []
    for request in requests:
        begun = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        walls.append(time.perf_counter() - begun)
    writer.close()
    return walls


class Client:
    """One who puts into a mailbox of its own."""

    def __init__(self, key: EpochKey, together: int = 1) -> None:
        self._key = key
        self._together = together
        self._counter = 0
        self._shared: Shared | None = None

    def agree(self, relay: devices.Relay) -> None:
        """From now on requests are not signed any more."""
        said = agree_bytes(self._key.write_key, self._key.write_seed)
        answer = library().post(f"{relay.address}/v1/agree", content=said, headers={"content-type": CONTENT_TYPE})
        self._shared = shared_by_mailbox(self._key.write_seed, read_agreed(answer.content))

    def requests(self, count: int) -> list[bytes]:
        """The next puts, signed."""
        return [self._request() for _ in range(count)]

    def _request(self) -> bytes:
        before = self._counter
        self._counter += self._together
        puts = [Put(ONE, counter, os.urandom(BLOB_BYTES)) for counter in range(before + 1, self._counter + 1)]
        asked = Exchange(self._key.write_key, puts, {ONE: before}, 0)
        body = exchange_bytes(asked, self._key.write_seed, self._shared)
        return f"POST /v1/exchange HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


@contextmanager
def bare_process() -> Iterator[devices.Relay]:
    command = [sys.executable, "-m", "tests.benchmarks.bare_endpoint"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield devices.Relay(process.stdout.readline().split()[-1], process.pid)
    finally:
        process.terminate()
        process.wait(devices.SECONDS_MAX)
        if process.stdout is not None:
            process.stdout.close()


def _processor_seconds(process: int) -> float:
    """What a process has used, where the system tells (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# -- large stores -------------------------------------------------------------------------------------------


def _listing(folder: Path, sizes: Sizes, fewer: int) -> Row:
    """Who has read all but the last ten of a mailbox asks."""
    fewer = max(20, fewer)
    with ExitStack() as stack:
        large = _asking(stack, folder / "large", sizes.blobs)
        small = _asking(stack, folder / "small", fewer)
        compared = alternate(
            max(sizes.rounds, 3), lambda _: timed([large] * sizes.asked), lambda _: timed([small] * sizes.asked)
        )
    what = f"ten behind a cursor, of {sizes.blobs:,} blobs; baseline: of {fewer:,}"
    return latency(what, compared, reach=ratio_at_most(1.5))


def _asking(stack: ExitStack, folder: Path, blobs: int) -> Callable[[], object]:
    store, key = stack.enter_context(closing(open_store(str(folder), os.urandom))), new_key()
    for start in range(1, blobs + 1, PUTS_AT_ONCE):
        puts = [Put(ONE, n, b"%d" % n) for n in range(start, min(start + PUTS_AT_ONCE, blobs + 1))]
        store.exchange(Exchange(key.write_key, puts, {ONE: start + len(puts)}, 0))
    request = Exchange(key.write_key, [], {ONE: blobs - 10}, 1000)

    def ask() -> None:
        assert len(store.exchange(request).listed) == 10

    return ask


def _among_many(folder: Path, sizes: Sizes) -> Row:
    """A put into a mailbox, beside many others."""
    with ExitStack() as stack:
        many = _putting(stack, folder / "many", sizes.mailboxes)
        few = _putting(stack, folder / "few", max(2, sizes.mailboxes // SMALLER))
        compared = alternate(
            max(sizes.rounds, 3), lambda _: timed([many] * sizes.asked), lambda _: timed([few] * sizes.asked)
        )
    what = f"a put among {sizes.mailboxes:,} mailboxes; baseline: among {max(2, sizes.mailboxes // SMALLER):,}"
    return latency(what, compared, reach=ratio_at_most(1.5))


def _putting(stack: ExitStack, folder: Path, mailboxes: int) -> Callable[[], object]:
    store = stack.enter_context(closing(open_store(str(folder), os.urandom)))
    _found(store, mailboxes)
    keys, counters = [new_key() for _ in range(10)], iter(range(1, 1 << 40))

    def put() -> None:
        counter = next(counters)
        key = keys[counter % len(keys)]
        request = Exchange(key.write_key, [Put(ONE, counter, os.urandom(BLOB_BYTES))], {ONE: counter - 1}, 0)
        assert store.exchange(request).results[0].outcome == Outcome.STORED

    return put


def _found(store: RowStore, mailboxes: int) -> None:
    """Mailboxes that are there already, with a blob each; keys are made up, because nothing is signed here."""

    def one(number: int) -> None:
        store.exchange(Exchange(number.to_bytes(32, "big"), [Put(ONE, 1, b"x" * 100)], {ONE: 1}, 0))

    with ThreadPoolExecutor(32) as threads:  # many commits in one
        list(threads.map(one, range(mailboxes)))
