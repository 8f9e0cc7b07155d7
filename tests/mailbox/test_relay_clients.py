"""Whatever a client does on its connection, it is told or let go, and the others are served."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from syncmem.relay.limits import MIB, Limits
from syncmem.wire.mailbox import INLINE_BYTES_MAX, Exchange, Outcome, Put
from syncmem.wire.messages import CONTENT_TYPE, REQUEST_BYTES_MAX, exchange_bytes
from tests.mailbox.serving import (
    RelayThread,
    ask_at,
    connected,
    head,
    new_key,
    running,
    said_until_closed,
    status_of,
)

ONE = b"stream 1"
IMPATIENT = Limits(silent_seconds=0.5, bytes_second_min=MIB, ending_seconds=1)


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[RelayThread]:
    with running(tmp_path, IMPATIENT) as made:
        yield made


def test_a_connection_that_stays_silent_is_closed_and_others_are_served_meanwhile(relay: RelayThread) -> None:
    with connected(relay) as silent:
        assert ask_at(relay.address, new_key(), Put(ONE, 1, b"x")).results[0].outcome == Outcome.STORED
        assert said_until_closed(silent) == b""


def test_a_head_that_comes_letter_by_letter_is_not_waited_for(relay: RelayThread) -> None:
    with connected(relay) as slow:
        assert dripped(slow, b"POST /v1/exchange HTTP/1.1\r\nx-" + b"a" * 2000)
    with connected(relay) as slow:  # nor the head of a second request on a connection that was good
        slow.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert slow.recv(1000).startswith(b"HTTP/1.1 200")
        assert dripped(slow, b"GET /" + b"a" * 2000)


def dripped(connection: object, data: bytes) -> bool:
    """Whether the other side hung up while bytes came one by one."""
    assert hasattr(connection, "sendall")
    try:
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)
    except ConnectionError:
        return True
    return False


def test_a_body_that_comes_too_slowly_is_told_so(relay: RelayThread) -> None:
    with connected(relay) as slow:
        slow.sendall(head(1000) + b"some")
        answer = said_until_closed(slow)
    assert status_of(answer) == 408
    assert CONTENT_TYPE.encode() in answer
    assert b"too slowly; sync again" in answer


def test_a_request_that_breaks_off_leaves_nothing(relay: RelayThread) -> None:
    key = new_key()
    whole = exchange_bytes(Exchange(key.write_key, [Put(ONE, 1, b"half")], {}, 0), key.write_seed)
    for sent in (b"", b"POST", head(len(whole))[:-2], head(len(whole)) + whole[:-1], head(len(whole) - 1) + whole[:-1]):
        with connected(relay) as leaving:
            leaving.sendall(sent)
    answer = ask_at(relay.address, key)
    assert (answer.ends, answer.listed) == ({}, [])
    assert "Traceback" not in "".join(relay.said)


@pytest.mark.parametrize(
    "sent",
    [
        head(REQUEST_BYTES_MAX + 1),
        b"POST /v1/get HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
        + (b"100000\r\n" + bytes(MIB) + b"\r\n") * (REQUEST_BYTES_MAX // MIB + 1),
    ],
    ids=["announced", "in chunks without end"],
)
def test_a_body_above_the_limit_is_refused_before_it_was_read(relay: RelayThread, sent: bytes) -> None:
    with connected(relay) as sender:
        sender.sendall(sent)
        answer = said_until_closed(sender)
    assert status_of(answer) == 413
    assert b"send less at a time" in answer


def test_who_waits_for_longest_gives_way_when_all_places_are_taken(tmp_path: Path) -> None:
    with running(tmp_path, Limits(connections_max=5, ending_seconds=1)) as relay:
        silent = [connected(relay) for _ in range(8)]
        assert ask_at(relay.address, new_key(), Put(ONE, 1, b"x")).results[0].outcome == Outcome.STORED
        assert [said_until_closed(connection) for connection in silent[:4]] == [b""] * 4
        for connection in silent:
            connection.close()


def test_who_comes_while_every_place_is_at_work_is_told_to_come_again(tmp_path: Path) -> None:
    with running(tmp_path, Limits(connections_max=2, ending_seconds=1)) as relay:
        busy = [connected(relay) for _ in range(2)]
        for connection in busy:
            connection.sendall(head(1000) + b"begun")
        time.sleep(0.2)
        with connected(relay) as late:
            late.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            assert status_of(said_until_closed(late)) == 503
        for connection in busy:
            connection.close()


def test_requests_that_do_not_fit_into_memory_together_wait_their_turn(tmp_path: Path) -> None:
    with running(tmp_path, replace(IMPATIENT, bodies_bytes_max=MIB, silent_seconds=2)) as relay:
        with connected(relay) as large:
            large.sendall(head(2 * MIB) + bytes(MIB + 1000))
            answer = said_until_closed(large)
        assert status_of(answer) == 503
        assert b"retry-after: 5" in answer
        assert ask_at(relay.address, new_key(), Put(ONE, 1, b"x")).results[0].outcome == Outcome.STORED


def test_who_does_not_take_the_answer_is_let_go(relay: RelayThread) -> None:
    key = new_key()
    for n in range(1, 5):
        ask_at(relay.address, key, Put(ONE, n, bytes([n]) * MIB))
    question = exchange_bytes(Exchange(key.write_key, [], {}, INLINE_BYTES_MAX), key.write_seed)
    with connected(relay) as deaf:
        deaf.sendall(head(len(question)) + question)
        time.sleep(5.5 + 2 * IMPATIENT.silent_seconds)  # four MiB at a MiB a second, and what goes before
        assert len(said_until_closed(deaf)) < INLINE_BYTES_MAX
    assert ask_at(relay.address, key).ends == {ONE: 4}


def test_no_answer_waits_for_its_head_to_be_confirmed(tmp_path: Path) -> None:
    """Else each costs 40 ms more, on every connection that is used again."""
    with running(tmp_path) as relay, connected(relay) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        (serving,) = relay.sockets()
        assert serving.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_line_of_the_access_log_names_nobody(relay: RelayThread) -> None:
    key = new_key()
    ask_at(relay.address, key, Put(ONE, 1, b"x"))
    with connected(relay) as curious:
        path = f"/mailbox/{key.mailbox.hex()}?key={key.write_key.hex()}"
        curious.sendall(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        assert status_of(said_until_closed(curious)) == 404
    exchanged, other = relay.said
    assert exchanged.startswith("/v1/exchange: status 200")
    assert other.startswith("another path: status 404")
    assert all(secret not in exchanged + other for secret in (key.mailbox.hex(), key.write_key.hex(), "127.0.0.1"))
