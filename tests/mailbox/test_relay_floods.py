"""Many who misbehave at once: the relay's memory stays bounded, and others are served."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmem.relay.limits import MIB, Limits
from syncmem.seal.envelope import EpochKey
from syncmem.wire.mailbox import INLINE_BYTES_MAX, Exchange, Outcome, Position, Put, Watch
from syncmem.wire.messages import exchange_bytes, get_bytes, watch_bytes
from tests.mailbox.serving import (
    RelayProcess,
    ask_at,
    connected,
    head,
    new_key,
    process,
    running,
    said_until_closed,
    status_of,
)
from tests.sync.test_background import eventually

ONE = b"stream 1"
TCP_REPAIR = 19  # of Linux: a socket that is closed then says nothing to the other side
CONNECTS = 10_000
AT_ONCE = 100


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[RelayProcess]:
    with (tmp_path / "said").open("wb") as said, process(tmp_path / "relay", stderr=said) as made:
        yield made


def resident_mib(relay: RelayProcess) -> float:
    """What its process holds, where the system tells (Linux)."""
    told = Path(f"/proc/{relay.process.pid}/status")
    if not told.exists():
        pytest.skip("this system does not tell what a process holds")
    return next(int(line.split()[1]) for line in told.read_text().splitlines() if line.startswith("VmRSS")) / 1024


def opened(relay: RelayProcess) -> socket.socket:
    host, _, port = relay.address.partition("://")[2].rpartition(":")
    return socket.create_connection((host, int(port)), 30)


def ended_well(relay: RelayProcess) -> bool:
    assert isinstance(relay.folder, Path)
    return relay.close()[0] == 0 and "Traceback" not in (relay.folder.parent / "said").read_text(encoding="utf-8")


def is_served(relay: RelayProcess, key: EpochKey, counter: int) -> bool:
    return ask_at(relay.address, key, Put(ONE, counter, b"x")).results[0].outcome == Outcome.STORED


def test_ten_thousand_connections_that_come_and_go_leave_nothing_and_hold_up_nobody(relay: RelayProcess) -> None:
    """They say nothing, half a head, half a body, rubbish, or reset the connection."""
    says = [b"", b"POST /v1/ex", head(1000) + b"half", b"\x16\x03\x01\x02\x00" * 10, b"GET / HTTP/9.9\r\n\r\n"]
    key, counter = new_key(), 0
    assert is_served(relay, key, 1_000_000)
    settled = 0.0
    for begun in range(0, CONNECTS, AT_ONCE):
        connections = [opened(relay) for _ in range(AT_ONCE)]
        for number, connection in enumerate(connections):
            with contextlib.suppress(ConnectionError):
                connection.sendall(says[number % len(says)])
            if number % 3 == 0:  # a reset instead of an end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        if begun % 1000 == 0:
            counter += 1
            assert is_served(relay, key, counter)
        if begun == CONNECTS // 5:
            settled = resident_mib(relay)  # buffers and caches have their size
    assert is_served(relay, key, counter + 1)
    assert resident_mib(relay) - settled < 16
    assert ended_well(relay)


def test_readers_that_take_nothing_hold_a_bounded_memory_and_others_get_answers_without_blobs(tmp_path: Path) -> None:
    with running(tmp_path, Limits(unsent_bytes_max=8 * MIB, ending_seconds=1)) as relay:
        key = new_key()
        for counter in range(1, 5):
            ask_at(relay.address, key, Put(ONE, counter, os.urandom(MIB)))
        question = exchange_bytes(Exchange(key.write_key, [], {}, INLINE_BYTES_MAX), key.write_seed)
        deaf = []
        for _ in range(40):  # 160 MiB, if each were given what it asks for
            connection = connected(relay)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(head(len(question)) + question)
            connection.recv(1)
            deaf.append(connection)
        held = sum(one.transport.get_write_buffer_size() for one in relay._server.server_state.connections)
        assert held < 24 * MIB
        answer = ask_at(relay.address, key, inline_bytes_max=INLINE_BYTES_MAX)
        assert len(answer.listed) == 4
        assert {entry.blob for entry in answer.listed} == {None}
        fetching = get_bytes(key.write_key, [answer.listed[0].name], key.write_seed)
        with connected(relay) as one:
            one.sendall(head(len(fetching), "/v1/get") + fetching)
            told = one.recv(4096)
            assert status_of(told) == 503
            assert b"retry-after: 5" in told
        for connection in deaf:
            connection.close()
        eventually(lambda: ask_at(relay.address, key, inline_bytes_max=INLINE_BYTES_MAX).listed[0].blob is not None)


def test_listeners_that_vanished_without_a_word_lose_their_places(tmp_path: Path) -> None:
    """Half-open connections: the other end is not there any more, and nobody said so."""
    with running(tmp_path, Limits(beat_seconds=0.1, mailbox_streams_max=20)) as relay:
        key = new_key()
        question = watch_bytes(Watch(key.write_key, Position(bytes(16), 0)), key.write_seed)
        asking = (
            head(len(question), "/v1/watch").replace(b"host: x", b"host: x\r\naccept: text/event-stream") + question
        )
        for _ in range(20):
            connection = connected(relay)
            connection.sendall(asking)
            assert connection.recv(1000)
            try:
                connection.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
            except OSError:
                connection.close()
                pytest.skip("only root on Linux can leave a connection without saying so")
            connection.close()
        eventually(lambda: relay.listeners.count == 0)
        with connected(relay) as one:
            one.sendall(asking)
            assert status_of(one.recv(1000)) == 200


def test_heads_without_end_and_of_every_form_are_refused_and_nothing_stays(relay: RelayProcess) -> None:
    for says in (
        b"POST /v1/exchange HTTP/1.1\r\n" + b"a: " + b"b" * 200_000,
        b"POST /v1/exchange HTTP/1.1\r\n" + b"a: b\r\n" * 20_000,
        b"POST /v1/exchange HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"POST /v1/exchange HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/exchange HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"POST /v1/exchange HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        b"\0" * 100_000,
    ):
        with opened(relay) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(says)
                connection.shutdown(socket.SHUT_WR)
            said = said_until_closed(connection)
            assert said == b"" or status_of(said) in (400, 413, 431), said
    assert is_served(relay, new_key(), 1)
    assert ended_well(relay)
