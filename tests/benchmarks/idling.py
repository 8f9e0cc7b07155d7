"""An idle sync: nothing is new on either side; what it costs to find that out at a relay.

Two devices have come to rest.  The bytes are those on the socket, the headers of HTTP included, counted by a
door in front of the relay; the connection is new, as a sync's is.

Reach (first stage): one round trip, and under 2 KB both ways together.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from syncmem import Memory
from tests.benchmarks import devices
from tests.benchmarks.measuring import Row, at_most
from tests.benchmarks.workshop import Workshop

QUESTIONS_REACH, BYTES_REACH = 1.0, 2_000.0
ROUNDS_MAX = 8  # until two devices have come to rest


def run(workshop: Workshop) -> list[Row]:
    with workshop.scratch() as folder, ExitStack() as stack:
        address = stack.enter_context(devices.relay(folder / "relay"))
        door = stack.enter_context(counted(address))
        one = stack.enter_context(Memory(folder / "one.db"))
        one.create_vault("one")
        devices.joined(one, folder / "two.db", door.address)
        two = stack.enter_context(Memory(folder / "two.db"))
        one.remember("ana", "city", "Lisbon")
        _settle(one, two)
        before = door.passed
        (report,) = two.sync().mailboxes
        assert report.error is None
        return [
            Row("questions of an idle sync", float(report.questions), "", reach=at_most(QUESTIONS_REACH)),
            Row("bytes of an idle sync, both ways", float(door.passed - before), "bytes", reach=at_most(BYTES_REACH)),
        ]


def _settle(*memories: Memory) -> None:
    for _ in range(ROUNDS_MAX):
        reports = [one for memory in memories for one in memory.sync().mailboxes]
        if not any(one.sent or one.received for one in reports):
            return
    raise AssertionError("the devices do not come to rest")


@dataclass
class Door:
    """What stands before an address and counts what passes."""

    address: str
    passed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def carry(self, source: socket.socket, target: socket.socket) -> None:
        """Pass on until the source ends."""
        with suppress(OSError):
            while data := source.recv(65_536):
                with self._lock:
                    self.passed += len(data)
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def counted(address: str) -> Iterator[Door]:
    """A door before a server on this machine."""
    there = urlsplit(address)
    listening = socket.create_server(("127.0.0.1", 0))
    door = Door(f"http://127.0.0.1:{listening.getsockname()[1]}")
    threading.Thread(target=_serve, args=(door, listening, (there.hostname, there.port)), daemon=True).start()
    try:
        yield door
    finally:
        with suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def _serve(door: Door, listening: socket.socket, there: tuple[str | None, int | None]) -> None:
    with suppress(OSError):
        while True:
            near, _ = listening.accept()
            far = socket.create_connection(there)  # type: ignore[arg-type]
            for ends in ((near, far), (far, near)):
                threading.Thread(target=door.carry, args=ends, daemon=True).start()
