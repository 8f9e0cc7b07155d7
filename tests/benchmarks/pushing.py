"""Push: how soon who listens at a relay hears, beside a long poll, and what it costs the relay that many listen.

The relay is a process of its own on the same machine.  A time runs from before the put is asked to when the listener
has read that the mailbox moved; the long poll asks anew each time, as it must.  Memory is what the relay's process
holds more (resident) than before anybody listened.  Beneath, two devices of one vault in the background: from the
write of one to the belief of the other.

Reach (first stage): who listens hears no later than a long poll would, and costs at most 40 KiB.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

from syncmem import Memory
from syncmem.seal.envelope import EpochKey
from syncmem.sync.http import Http
from syncmem.wire.mailbox import Exchange, Position, Put, Watch
from syncmem.wire.messages import CONTENT_TYPE, moved_bytes, watch_bytes
from tests.benchmarks import devices
from tests.benchmarks.measuring import Action, Compared, Row, alternate, at_most, latency, ratio_at_most, timed
from tests.benchmarks.workshop import Workshop

STREAMS = {"small": 60, "quick": 2_000, "full": 2_000}
PUTS = {"small": 5, "quick": 50, "full": 200}
WRITES = {"small": 2, "quick": 10, "full": 20}
ROUNDS = 5
OF_ONE_MAILBOX = 50
KIB_REACH = 40.0
SECONDS_MAX = 30
STREAM = b"a stream"


def run(workshop: Workshop) -> list[Row]:
    with workshop.scratch() as folder, ExitStack() as stack:
        process = stack.enter_context(devices.relay_process(folder / "relay"))
        box = stack.enter_context(closing(Http(process.address)))
        rows = _heard(process.address, box, PUTS[workshop.scale])
        rows += _many(process, box, STREAMS[workshop.scale], PUTS[workshop.scale])
        return [*rows, _between_devices(folder, process.address, WRITES[workshop.scale])]


def _heard(address: str, box: Http, puts: int) -> list[Row]:
    key, counter = _key(1), iter(range(1, 1 << 30))
    with closing(_Listener(address, key, "text/event-stream")) as stream:

        def by_push() -> object:
            return stream.heard(_put(box, key, next(counter)))

        def by_poll() -> object:
            since = _ask(box, key)
            with closing(_Listener(address, key, CONTENT_TYPE, since)) as poll:
                return poll.answered(_put(box, key, next(counter)))

        compared = alternate(ROUNDS, lambda number: timed([by_push] * puts), lambda number: timed([by_poll] * puts))
    return [
        latency("from a put to who listens; baseline: to a long poll", compared, reach=ratio_at_most(1.0)),
        latency("the same, 99 of 100", compared, share=0.99),
    ]


def _many(process: devices.Relay, box: Http, streams: int, puts: int) -> list[Row]:
    key, counter = _key(2), iter(range(1, 1 << 30))
    putting: list[Action] = [lambda: _put(box, key, next(counter))] * puts
    timed(putting)
    before, empty = process.resident_kib, [timed(putting) for _ in range(ROUNDS)]
    with ExitStack() as open_ones:
        for number in range(streams):
            other = _key(10 + number // OF_ONE_MAILBOX)
            listener = open_ones.enter_context(closing(_Listener(process.address, other, "text/event-stream")))
            listener.until("retry:")
        each = (process.resident_kib - before) / streams
        full = [timed(putting) for _ in range(ROUNDS)]
    return [
        Row(f"memory of one of {streams:,} streams", each, "KiB", reach=at_most(KIB_REACH)),
        latency(f"a put while {streams:,} listen elsewhere; baseline: while nobody does", Compared(full, empty)),
    ]


def _between_devices(folder: Path, address: str, writes: int) -> Row:
    with ExitStack() as stack:
        one = stack.enter_context(Memory(folder / "one.db"))
        one.create_vault("one")
        devices.joined(one, folder / "two.db", address)
        two = stack.enter_context(Memory(folder / "two.db"))
        background = [stack.enter_context(memory.sync_in_background(every_seconds=3600)) for memory in (one, two)]
        _wait(lambda: all(each.listening for each in background))
        walls = []
        for number in range(writes):
            time.sleep(1.5)  # a quiet device
            begin = time.perf_counter()
            one.remember("ana", f"fact {number}", "x")
            _wait(lambda: bool(two.beliefs("ana", f"fact {number}")))  # noqa: B023
            walls.append(time.perf_counter() - begin)
    walls.sort()
    what = "from a write of one device to the belief of another"
    return Row(what, walls[len(walls) // 2], "s", more={"walls": walls})


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.005)


class _Listener:
    """Someone who listens, over a connection of its own."""

    def __init__(self, address: str, key: EpochKey, accept: str, since: Position | None = None) -> None:
        host, _, port = address.partition("://")[2].rpartition(":")
        body = watch_bytes(Watch(key.write_key, since), key.write_seed)
        head = f"POST /v1/watch HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\ncontent-length: {len(body)}\r\n\r\n"
        self._connection = socket.create_connection((host, int(port)), SECONDS_MAX)
        self._connection.sendall(head.encode() + body)
        self._said = b""

    def until(self, words: str) -> None:
        while words.encode() not in self._said:
            piece = self._connection.recv(4096)
            assert piece, self._said
            self._said = (self._said + piece)[-8192:]

    def heard(self, position: Position) -> None:
        self.until(f"data: {position}\n\n")

    def answered(self, position: Position) -> None:
        expected = b"\r\n\r\n" + moved_bytes(position)
        while not self._said.endswith(expected):
            piece = self._connection.recv(4096)
            assert piece, self._said
            self._said += piece

    def close(self) -> None:
        self._connection.close()


def _key(number: int) -> EpochKey:
    return EpochKey(bytes(16), "vault", bytes(16), number.to_bytes(32, "big"), bytes(32))


def _put(box: Http, key: EpochKey, counter: int) -> Position:
    return _ask(box, key, Put(STREAM, counter, b"x" * 1024))


def _ask(box: Http, key: EpochKey, *puts: Put) -> Position:
    return box.exchange(Exchange(key.write_key, puts, {STREAM: 10**11}, 0), key.write_seed).position
