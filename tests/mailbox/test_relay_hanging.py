"""What a relay leans on answers nothing, and breaks no connection: it says so, and ends when it is told to."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from syncmem.errors import Busy
from syncmem.relay import notices
from syncmem.wire.mailbox import Exchange, Put
from syncmem.wire.messages import exchange_bytes
from tests.mailbox.postgres import Cluster
from tests.mailbox.serving import ask_at, head, new_key, process, running

ONE = b"stream 1"
SECONDS_MAX = 30


@pytest.fixture
def address(postgres: Cluster) -> str:
    return postgres.database()


def until(condition: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < SECONDS_MAX
        time.sleep(0.01)


def test_a_database_that_hangs_is_not_called_there(
    address: str, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(notices, "SILENT_SECONDS", 0.2)
    with running(address) as relay:
        until(lambda: relay.store._notices.answered)  # type: ignore[attr-defined]
        relay.store.check()
        with postgres.hanging(), pytest.raises(Busy, match="does not answer"):
            until(lambda: relay.store.check() is not None)
        until(lambda: relay.store._notices.answered)  # type: ignore[attr-defined]
        relay.store.check()


def test_a_relay_whose_database_hangs_ends_when_it_is_told_to(
    address: str, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNCMEM_RELAY_LIMITS__ENDING_SECONDS", "1")
    key = new_key()
    with process(address) as relay:
        ask_at(relay.address, key, Put(ONE, 1, b"first"))
        with postgres.hanging(), socket.create_connection(("127.0.0.1", int(relay.address.rpartition(":")[2]))) as one:
            body = exchange_bytes(Exchange(key.write_key, [Put(ONE, 2, b"second")], {}, 0), key.write_seed)
            one.sendall(head(len(body)) + body)
            one.settimeout(0.5)
            with pytest.raises(TimeoutError):
                one.recv(1)
            assert relay.close()[0] == 0
