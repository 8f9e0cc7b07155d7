"""Reading requests: no longer, no slower and no more of them at once than the relay bears.

Rules: what is announced as too long is refused before it is read; who is slow is told and let go; the room
that a request takes is given back when it was answered, however that ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.requests import Request

from syncmem.relay.limits import Limits
from syncmem.wire.messages import REQUEST_BYTES_MAX

RETRY_SECONDS: Final = 5  # told to who comes while there is no room


class Refused(Exception):
    """A request that is not answered: a status of HTTP, why, and when to come again."""

    def __init__(self, status: int, why: str, retry_seconds: int | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.retry_seconds = retry_seconds


class Bodies:
    """All requests that are being read or answered."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The body; its room is held until the block ends.

        Raises:
            Refused: it is too long or too slow, or there is no room for it now.
            ClientDisconnect: the client has gone.
        """
        pieces: list[bytes] = []
        try:
            await self._fill(pieces, request)
            yield b"".join(pieces)
        finally:
            self._held -= sum(map(len, pieces))

    async def _fill(self, pieces: list[bytes], request: Request) -> None:
        self._check_length(int(request.headers.get("content-length", 0)))
        now = asyncio.get_running_loop().time
        begun, size = now(), 0
        try:
            async with asyncio.timeout(self._limits.seconds_for(0)) as limit:
                async for piece in request.stream():
                    pieces.append(piece)
                    self._held += len(piece)
                    size += len(piece)
                    self._check_length(size)
                    if not limit.expired():
                        limit.reschedule(begun + self._limits.seconds_for(size))
        except TimeoutError as error:
            raise Refused(408, "the request came too slowly; sync again over a better connection") from error

    def _check_length(self, size: int) -> None:
        if size > REQUEST_BYTES_MAX:
            raise Refused(413, f"a request has at most {REQUEST_BYTES_MAX} bytes; send less at a time")
        if self._held > self._limits.bodies_bytes_max:
            raise Refused(503, "the relay is busy; sync again in a moment", RETRY_SECONDS)
