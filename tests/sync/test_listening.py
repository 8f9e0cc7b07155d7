"""Devices in the background at a relay hear of each other at once, whatever lies between; nobody asks all the time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from syncmem import Memory
from syncmem.background import BackgroundSync
from syncmem.relay.limits import Limits
from syncmem.sync import listening
from tests.mailbox.scripted import request_of
from tests.mailbox.serving import RelayProcess, RelayThread, process, running
from tests.sync.test_background import eventually

NEVER = 3600.0  # seconds: what arrives, arrives because somebody told
BRISK = Limits(beat_seconds=0.2, ending_seconds=2)


@contextmanager
def devices(folder: Path, address: str, *names: str) -> Iterator[list[Memory]]:
    """Devices of one vault, at one relay."""
    with ExitStack() as opened:
        first = opened.enter_context(Memory(folder / f"{names[0]}.db", zone="UTC"))
        first.create_vault(names[0])
        first.add_mailbox(address)
        found = [first]
        for name in names[1:]:
            invitation = first.invite()
            accepting = threading.Thread(target=invitation.wait, args=(lambda asking: True, 30.0))
            accepting.start()
            joined = Memory.join(folder / f"{name}.db", invitation.code, name=name, wait_seconds=30)
            found.append(opened.enter_context(joined))
            accepting.join()
        yield found


@contextmanager
def in_background(*memories: Memory) -> Iterator[list[BackgroundSync]]:
    with ExitStack() as started:
        yield [started.enter_context(memory.sync_in_background(every_seconds=NEVER)) for memory in memories]


def believes(memory: Memory, predicate: str) -> Callable[[], bool]:
    return lambda: memory.believe("ana", predicate) is not None


def test_what_one_device_writes_is_on_the_others_because_the_relay_told(tmp_path: Path) -> None:
    names = ("laptop", "phone", "tablet")
    with running(tmp_path / "relay") as relay, devices(tmp_path, relay.address, *names) as memories:
        laptop, phone, tablet = memories
        with in_background(*memories) as syncing:
            eventually(lambda: all(one.listening for one in syncing))
            laptop.remember("ana", "city", "Lisbon")
            eventually(believes(phone, "city"))
            eventually(believes(tablet, "city"))
            phone.remember("ana", "language", "Portuguese")
            eventually(believes(laptop, "language"))
            eventually(lambda: all(memory.status().in_sync for memory in memories))


def test_a_device_comes_to_rest_and_is_not_woken_by_what_it_sent_itself(tmp_path: Path) -> None:
    with running(tmp_path / "relay") as relay, devices(tmp_path, relay.address, "laptop") as (laptop,):
        reports = []
        with laptop.sync_in_background(every_seconds=NEVER, on_report=reports.append) as syncing:
            eventually(lambda: syncing.listening)
            for number in range(3):
                before = len(reports)
                laptop.remember("ana", f"fact {number}", "x")
                eventually(lambda: len(reports) > before and laptop.status().pending == 0)  # noqa: B023
            heard = syncing._listening
            assert heard is not None
            eventually(lambda: set(heard._heard.values()) == set(syncing._ears.values()))
            assert not heard.news
            assert sum(one.sent for report in reports for one in report.mailboxes if one.scope == "vault") >= 3


def test_a_relay_that_starts_again_is_listened_to_again(tmp_path: Path) -> None:
    with process(tmp_path / "relay") as relay:
        port = relay.address.rpartition(":")[2]
        with (
            devices(tmp_path, relay.address, "laptop", "phone") as (laptop, phone),
            in_background(laptop, phone) as both,
        ):
            eventually(lambda: all(one.listening for one in both))
            relay.close()
            eventually(lambda: not any(one.listening for one in both))
            laptop.remember("ana", "city", "Lisbon")
            again(relay, port)
            eventually(lambda: all(one.listening for one in both))
            eventually(believes(phone, "city"))


def again(relay: RelayProcess, port: str) -> None:
    relay._options = ("--port", port)
    relay.start()


class Buffering:
    """A proxy that passes an answer on once it is whole, as many do: events never come through."""

    def __init__(self, relay: RelayThread) -> None:
        self._relay = relay
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(connection,), daemon=True).start()

    def _pass_on(self, connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", self._relay.port)) as relay:
            relay.sendall(request_of(connection).replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
            whole = b""
            while piece := relay.recv(1 << 16):
                whole += piece
            connection.sendall(whole)

    def close(self) -> None:
        self._listening.close()


def test_where_a_proxy_holds_events_back_a_long_poll_hears_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "FIRST_SECONDS", 0.5)
    with (
        running(tmp_path / "relay", BRISK) as relay,
        closing(Buffering(relay)) as proxy,
        devices(tmp_path, proxy.address, "laptop", "phone") as (laptop, phone),
        in_background(laptop, phone) as both,
    ):
        eventually(lambda: all(one.listening for one in both))
        laptop.remember("ana", "city", "Lisbon")
        eventually(believes(phone, "city"))


def test_where_no_stream_is_free_devices_ask_from_time_to_time(tmp_path: Path) -> None:
    with (
        running(tmp_path / "relay", Limits(streams_max=0)) as relay,
        devices(tmp_path, relay.address, "laptop", "phone") as (laptop, phone),
        laptop.sync_in_background(every_seconds=NEVER) as mine,
        phone.sync_in_background(every_seconds=0.1),
    ):
        laptop.remember("ana", "city", "Lisbon")
        eventually(believes(phone, "city"))
        assert not mine.listening
