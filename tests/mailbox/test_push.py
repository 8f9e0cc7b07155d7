"""A relay tells those who listen that a mailbox has moved, and nothing else; who listens badly holds up nobody."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from syncmem.relay.limits import Limits
from syncmem.seal.envelope import EpochKey
from syncmem.sync import open_mailbox
from syncmem.wire.mailbox import Position, Put, Watch
from syncmem.wire.messages import CONTENT_TYPE, read_moved, watch_bytes
from tests.mailbox.postgres import Cluster
from tests.mailbox.scripted import RESET
from tests.mailbox.serving import (
    RelayThread,
    ask,
    ask_at,
    connected,
    new_key,
    process,
    running,
    said_until_closed,
    status_of,
)

ONE, TWO = b"stream 1", b"stream 2"
PATIENCE_SECONDS = 30
BRISK = Limits(beat_seconds=0.2, silent_seconds=1, ending_seconds=2)


class Stream:
    """Someone who listens to a relay, over a raw connection."""

    def __init__(
        self, port: int, key: EpochKey, since: Position | None = None, *, seed: bytes | None = None,
        last_event: str | None = None, accept: str = "text/event-stream",
    ) -> None:  # fmt: skip
        body = watch_bytes(Watch(key.write_key, since), seed or key.write_seed)
        last = f"last-event-id: {last_event}\r\n" if last_event else ""
        head = f"POST /v1/watch HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\n{last}content-length: {len(body)}\r\n\r\n"
        self.connection = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        self.connection.sendall(head.encode() + body)
        self.said = b""

    def until(self, what: str) -> bytes:
        """All that was said until something is."""
        while what.encode() not in self.said:
            piece = self.connection.recv(4096)
            assert piece, f"closed after {self.said!r}"
            self.said += piece
        return self.said

    def told(self, *positions: Position) -> bool:
        for position in positions:
            self.until(f"data: {position}\n\n")
        return True

    def close(self) -> None:
        self.connection.close()


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[RelayThread]:
    with running(tmp_path, BRISK) as made:
        yield made


def listening(
    relay: RelayThread, key: EpochKey, since: Position | None = None, **more: Any
) -> contextlib.closing[Stream]:
    return contextlib.closing(Stream(relay.port, key, since, **more))


def test_who_listens_is_told_where_the_mailbox_is_and_nothing_of_what_came(relay: RelayThread) -> None:
    key = new_key()
    with listening(relay, key) as stream:
        stream.until("retry:")
        first = ask_at(relay.address, key, Put(ONE, 1, b"sealed and secret")).position
        assert stream.told(first)
        second = ask_at(relay.address, key, Put(TWO, 1, b"more"), Put(TWO, 2, b"and more")).position
        assert stream.told(second)
    assert (first.ends, second.ends) == (1, 3)
    head, _, events = stream.said.partition(b"\r\n\r\n")
    assert b"text/event-stream" in head
    assert b"x-accel-buffering: no" in head
    assert b"no-transform" in head
    for secret in (b"secret", ONE, ONE.hex().encode(), key.mailbox.hex().encode(), key.write_key.hex().encode()):
        assert secret not in events


def test_what_moved_while_nobody_listened_is_told_at_once_to_who_comes_again(relay: RelayThread) -> None:
    key = new_key()
    before = ask_at(relay.address, key, Put(ONE, 1, b"x")).position
    with listening(relay, key, before) as stream:
        stream.until(":\n\n")
        assert b"data:" not in stream.said  # nothing has moved since
    after = ask_at(relay.address, key, Put(ONE, 2, b"y")).position
    with listening(relay, key, before) as stream:
        assert stream.told(after)
    with listening(relay, key, before, last_event=str(after)) as stream:  # what a browser would say counts
        stream.until(":\n\n")
        assert b"data:" not in stream.said


def test_a_put_that_was_known_moves_nothing_and_other_mailboxes_hear_nothing(relay: RelayThread) -> None:
    key, other = new_key(), new_key()
    at = ask_at(relay.address, key, Put(ONE, 1, b"x")).position
    with listening(relay, key, at) as stream, listening(relay, other) as foreign:
        stream.until("retry:")
        foreign.until("retry:")
        ask_at(relay.address, key, Put(ONE, 1, b"x"))
        ask_at(relay.address, key)
        moved = ask_at(relay.address, key, Put(ONE, 2, b"y")).position
        assert stream.told(moved)
        assert stream.said.count(b"data:") == 1
        foreign.until(":\n\n")
        assert b"data:" not in foreign.said


def test_only_who_may_write_may_listen(relay: RelayThread) -> None:
    key, stranger = new_key(), new_key()
    with listening(relay, key, seed=stranger.write_seed) as stream:
        assert status_of(stream.until("not signed")) == 403


def test_a_long_poll_is_answered_after_a_while_in_any_case(relay: RelayThread) -> None:
    key = new_key()
    at = ask_at(relay.address, key, Put(ONE, 1, b"x")).position
    with listening(relay, key, at, accept=CONTENT_TYPE) as poll:
        assert polled(poll) == at
    with listening(relay, new_key(), accept=CONTENT_TYPE) as poll:
        assert polled(poll) is None


def test_a_long_poll_is_answered_as_soon_as_something_came(tmp_path: Path) -> None:
    key = new_key()
    with running(tmp_path, replace(BRISK, beat_seconds=10 * PATIENCE_SECONDS)) as relay:
        at = ask_at(relay.address, key, Put(ONE, 1, b"x")).position
        with listening(relay, key, at, accept=CONTENT_TYPE) as poll:
            after = ask_at(relay.address, key, Put(ONE, 2, b"y")).position
            assert polled(poll) == after
        with listening(relay, key, at, accept=CONTENT_TYPE) as poll:
            assert polled(poll) == after


def polled(poll: Stream) -> Position | None:
    head, _, body = poll.until("\r\n\r\n").partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += poll.connection.recv(4096)
    return read_moved(body)


def test_a_listener_that_reads_nothing_is_told_the_latest_and_costs_no_memory(relay: RelayThread) -> None:
    key = new_key()
    with listening(relay, key) as lazy, listening(relay, key) as awake:
        awake.until("retry:")
        with contextlib.closing(open_mailbox(relay.address)) as box:
            for n in range(1, 60):
                last = ask(box, key, Put(ONE, n, b"x")).position
        assert awake.told(last)
        assert lazy.told(last)


@pytest.mark.parametrize(
    ("limits", "key"),
    [
        (replace(BRISK, streams_max=3), None),
        (replace(BRISK, mailbox_streams_max=3), new_key()),
    ],
    ids=["of the relay", "of a mailbox"],
)
def test_beyond_the_limit_a_listener_is_told_when_to_try_again_and_a_place_that_is_left_is_free(
    tmp_path: Path, limits: Limits, key: EpochKey | None
) -> None:
    with running(tmp_path, limits) as relay, contextlib.ExitStack() as open_ones:
        streams = [open_ones.enter_context(listening(relay, key or new_key())) for _ in range(3)]
        for stream in streams:
            stream.until("retry:")
        with listening(relay, key or new_key()) as late:
            refused = late.until("listen already")
            assert status_of(refused) == 429
            assert b"retry-after: 60" in refused
        assert ask_at(relay.address, new_key(), Put(ONE, 1, b"x")).results[0].outcome == 0
        streams[0].close()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            with listening(relay, key or new_key()) as late:
                if status_of(late.until("\r\n\r\n")) == 200:
                    break
            assert time.monotonic() < deadline


def test_those_who_listen_take_no_place_from_those_who_ask(tmp_path: Path) -> None:
    with running(tmp_path, replace(BRISK, connections_max=2)) as relay, contextlib.ExitStack() as open_ones:
        key = new_key()
        streams = []
        for _ in range(8):
            streams.append(open_ones.enter_context(listening(relay, key)))
            streams[-1].until("retry:")  # from then on it listens
        silent = open_ones.enter_context(connected(relay))
        position = ask_at(relay.address, key, Put(ONE, 1, b"x")).position
        assert all(stream.told(position) for stream in streams)
        assert said_until_closed(silent) == b""


def test_a_relay_that_stops_tells_those_who_listen_and_they_go_on_at_the_next(tmp_path: Path) -> None:
    key = new_key()
    with process(tmp_path) as relay:
        port = int(relay.address.rpartition(":")[2])
        at = ask_at(relay.address, key, Put(ONE, 1, b"x")).position
        stream = Stream(port, key, at)
        stream.until("retry:")
        code, said = relay.close()
        assert (code, said) == (0, "")
        stream.until("event: end\ndata:\n\n")
        assert stream.said.endswith(b"0\r\n\r\n")  # a whole answer
        relay.start()
        moved = ask_at(relay.address, key, Put(ONE, 2, b"y")).position
        again = Stream(int(relay.address.rpartition(":")[2]), key, at)
        assert again.told(moved)


def test_listeners_that_come_and_go_leave_nothing_behind(relay: RelayThread) -> None:
    """Closed, reset and half-closed, before and after they are told anything."""
    random, key = Random(5), new_key()
    for turn in range(120):
        stream = Stream(relay.port, key)
        if random.random() < 0.5:
            stream.until("retry:")
        if random.random() < 0.3:
            stream.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        elif random.random() < 0.3:
            stream.connection.shutdown(socket.SHUT_WR)
        if turn % 10 == 0:
            ask_at(relay.address, key, Put(ONE, turn + 1, b"x"))
        stream.close()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while relay.listeners.count or len(relay.listeners._of) or len(relay.listeners._at):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with listening(relay, key) as stream:
        stream.until("data:")


def test_who_listens_at_one_relay_hears_what_another_over_the_same_database_stored(postgres: Cluster) -> None:
    key, address = new_key(), postgres.database()
    with running(address, BRISK) as relay, running(address, BRISK) as other, listening(relay, key) as stream:
        stream.until("retry:")
        for counter in range(1, 4):
            assert stream.told(ask_at(other.address, key, Put(ONE, counter, b"x")).position)
