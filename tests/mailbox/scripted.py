"""Servers that are no relays: one that says what it is told to, and one that cuts off what a relay says."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

SECONDS_MAX = 30
RESET = struct.pack("ii", 1, 0)


class _Serving:
    """Accepts one connection after the other until it is left."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(SECONDS_MAX)

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                connection.settimeout(SECONDS_MAX)
                with contextlib.suppress(OSError), connection:
                    self.answer(connection)

    def answer(self, connection: socket.socket) -> None:
        raise NotImplementedError


class Scripted(_Serving):
    """Reads a request, says the next of its answers (the last one again and again), and closes.

    An answer may be bytes, or pieces that come one after the other with a pause between.
    """

    def __init__(self, *answers: bytes | Iterator[bytes], reset: bool = False, tls: ssl.SSLContext | None = None):
        super().__init__()
        self._answers = list(answers)
        self._reset = reset
        self._tls = tls
        self.requests: list[bytes] = []

    def answer(self, connection: socket.socket) -> None:
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            self.requests.append(request_of(connection))
            told = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
            for piece in [told] if isinstance(told, bytes) else told:
                connection.sendall(piece)
            if self._reset:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


class Cutting(_Serving):
    """Passes requests on to a relay, and of its answers only so many bytes; once the cuts are used up, all."""

    def __init__(self, relay_port: int, *cuts: int) -> None:
        super().__init__()
        self._relay_port = relay_port
        self.cuts = list(cuts)

    def answer(self, connection: socket.socket) -> None:
        connection.sendall(self._cut(self._relayed(request_of(connection))))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET if self.cuts else struct.pack("ii", 0, 0))

    def _relayed(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self._relay_port), SECONDS_MAX) as relay:
            relay.sendall(request.replace(b"\r\n", b"\r\nconnection: close\r\n", 1))
            pieces = []
            while piece := relay.recv(1 << 16):
                pieces.append(piece)
        return b"".join(pieces)

    def _cut(self, answer: bytes) -> bytes:
        return answer[: self.cuts.pop(0)] if self.cuts else answer


def request_of(connection: socket.socket) -> bytes:
    """A whole request: its head, and the body whose length the head tells."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += some(connection)
    found = re.search(rb"content-length: (\d+)", data, re.IGNORECASE)
    length = data.index(b"\r\n\r\n") + 4 + (int(found[1]) if found else 0)
    while len(data) < length:
        data += some(connection)
    return data


def some(connection: socket.socket) -> bytes:
    piece = connection.recv(1 << 16)
    if not piece:
        raise ConnectionError("the client has gone")
    return piece


def slowly(pieces: Iterator[bytes], seconds: float) -> Iterator[bytes]:
    for piece in pieces:
        yield piece
        time.sleep(seconds)
