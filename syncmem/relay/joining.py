"""What is written to a connection in one turn of the loop goes out at once: the head of an answer and its body.

Rule: nothing waits longer than until the turn ends, or for more than a few pieces; a connection that is closed has
sent what was written before.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

JOINED_BYTES: Final = 64 * 1024  # what waits for the end of the turn


class Joining:
    """A transport, seen by a protocol that writes in pieces: each call to the system costs more than to join them."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= JOINED_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size() + self._size

    def _flush(self) -> None:
        pieces, self._pieces, self._size = self._pieces, [], 0
        if pieces and not self._transport.is_closing():
            self._transport.write(b"".join(pieces))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
