"""Relays for tests: as a process that can be killed, or in a thread with limits of one's own; and raw connections."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from syncmem import labels
from syncmem.relay.access import Served
from syncmem.relay.limits import Limits
from syncmem.relay.opening import open_store
from syncmem.relay.pushing import Listeners
from syncmem.relay.rows import INLINE_BYTES
from syncmem.relay.server import server
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key, sign
from syncmem.sync import open_mailbox
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Mailbox, Put, dropping

SECONDS_MAX = 30


class RelayProcess:
    """A relay as its own process, over a folder or the address of a database."""

    def __init__(self, folder: Path | str, *options: str, command: Sequence[str] | None = None, **process: Any) -> None:
        self.folder = folder
        self._command = command
        self._options = options
        self._process_options = process
        self.start()

    def start(self) -> None:
        usual = [sys.executable, "-m", "syncmem", "relay", *self._where(), "--port", "0", *self._options]
        command = self._command or usual
        options = {"stderr": subprocess.PIPE} | self._process_options
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]

    def _where(self) -> list[str]:
        return ["--data", str(self.folder)] if isinstance(self.folder, Path) else ["--store", self.folder]

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=SECONDS_MAX)

    def close(self) -> tuple[int, str]:
        """Ask it to end; its exit code and what it said."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=SECONDS_MAX)
        return self.process.returncode, said


class RelayThread:
    """A relay in this process: over a real socket and a real store, with limits that a test can wait for."""

    def __init__(
        self,
        folder: Path | str,
        limits: Limits | None = None,
        blobs: str | None = None,
        inline_bytes: int = INLINE_BYTES,
        **more: Any,
    ) -> None:
        self.folder = folder
        self.blobs = blobs
        self.inline_bytes = inline_bytes
        self.limits = limits or Limits()
        self._more = more
        self.start()

    def start(self) -> None:
        self.store = open_store(str(self.folder), os.urandom, self.limits, blobs=self.blobs)
        self.store.inline_bytes = self.inline_bytes
        self.said: list[str] = []
        self._server = server(self.store, self.limits, access=self._note, **self._more)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})
        self._thread.start()

    @property
    def listeners(self) -> Listeners:
        """Who listens there now."""
        found = self._server._listeners  # type: ignore[attr-defined]
        assert isinstance(found, Listeners)
        return found

    def sockets(self) -> list[Any]:
        """The relay's ends of the connections that are open."""
        transports = [each.transport for each in self._server.server_state.connections]  # type: ignore[union-attr]
        return [transport.get_extra_info("socket") for transport in transports]

    def _note(self, served: Served) -> None:
        self.said.append(str(served))

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(SECONDS_MAX)
        self._listening.close()
        self.store.close()


@contextlib.contextmanager
def running(
    folder: Path | str, limits: Limits | None = None, *, blobs: str | None = None, **more: Any
) -> Iterator[RelayThread]:
    relay = RelayThread(folder, limits, blobs, **more)
    try:
        yield relay
    finally:
        relay.close()


@contextlib.contextmanager
def process(folder: Path | str, *options: str, **more: Any) -> Iterator[RelayProcess]:
    relay = RelayProcess(folder, *options, **more)
    try:
        yield relay
    finally:
        if relay.process.poll() is None:
            relay.kill()


# -- asking ---------------------------------------------------------------------------------------------


def new_key() -> EpochKey:
    """The key of a mailbox that nobody else has."""
    return EpochKey(bytes(16), "vault", bytes(16), os.urandom(32), bytes(32))


def ask(box: Mailbox, key: EpochKey, *puts: Put, cursors: dict[bytes, int] | None = None, **more: Any) -> Answer:
    question = {"inline_bytes_max": 1000, "drop_key": None} | more
    return box.exchange(Exchange(key.write_key, list(puts), cursors or {}, **question), key.write_seed)


def ask_at(address: str, key: EpochKey, *puts: Put, **more: Any) -> Answer:
    with contextlib.closing(open_mailbox(address)) as box:
        return ask(box, key, *puts, **more)


def drop(box: Mailbox, key: EpochKey, names: list[BlobName], reason: str, *seeds: bytes) -> list[bool]:
    return box.drop(signed_drop(key, names, reason, *seeds), key.write_seed)


def signed_drop(key: EpochKey, names: list[BlobName], reason: str, *seeds: bytes) -> Drop:
    said = dropping(key.mailbox, names, reason)
    signatures = [(public_key(seed), sign(seed, labels.DROPPING, said)) for seed in seeds]
    return Drop(key.write_key, names, reason, signatures)


# -- raw connections --------------------------------------------------------------------------------------


def connected(relay: RelayThread) -> socket.socket:
    return socket.create_connection(("127.0.0.1", relay.port), SECONDS_MAX)


def head(length: int, path: str = "/v1/exchange") -> bytes:
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n".encode()


def said_until_closed(connection: socket.socket) -> bytes:
    """All that comes before the other side closes (or resets) the connection."""
    pieces = []
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(1 << 16):
            pieces.append(piece)
    return b"".join(pieces)


def status_of(answer: bytes) -> int:
    found = re.match(rb"HTTP/1\.1 (\d+)", answer)
    assert found is not None, answer
    return int(found[1])
