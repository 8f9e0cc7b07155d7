"""Reading requests: no longer, no slower and no more of them at once than the relay bears.

Rules: what is announced as too long is refused before it is read; who is slow is told and let go; the room
that a request takes is given back when it was answered, however that ended; no mailbox has more of it than a share.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.requests import Request

from syncmem.relay.limits import Limits
from syncmem.wire.messages import REQUEST_BYTES_MAX, claimed_key

RETRY_SECONDS: Final = 5  # told to who comes while there is no room

CLAIM_BYTES_MAX: Final = 64  # in which a request has said whose it is
SHARES: Final = 4  # of all that is held, one of which a mailbox may take


class Refused(Exception):
    """A request that is not answered: a status of HTTP, why, and when to come again; 401: ``realm`` wants a token."""

    def __init__(
        self, status: int, why: str, retry_seconds: int | None = None, *, realm: str = "syncmem relay"
    ) -> None:
        super().__init__(why)
        self.realm = realm
        self.status = status
        self.retry_seconds = retry_seconds


class Bodies:
    """All requests that are being read or answered."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._held = 0
        self._held_of: Counter[bytes] = Counter()  # by the key that a request claims

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The body; its room is held until the block ends.

        Raises:
            Refused: it is too long or too slow, or there is no room for it now.
            ClientDisconnect: the client has gone.
        """
        body = _Body()
        try:
            await self._fill(body, request)
            yield b"".join(body.pieces)
        finally:
            self._hold(body, -body.size)

    async def _fill(self, body: _Body, request: Request) -> None:
        announced = int(request.headers.get("content-length", 0))
        self._check_length(announced)
        now = asyncio.get_running_loop().time
        begun = now()
        try:
            async with asyncio.timeout(self._limits.seconds_for(0)) as limit:
                async for piece in request.stream():
                    self._take(body, piece)
                    self._check_length(body.size)
                    self._check_share(body, announced)
                    if body.size != announced and not limit.expired():
                        limit.reschedule(begun + self._limits.seconds_for(body.size))
        except TimeoutError as error:
            raise Refused(408, "the request came too slowly; sync again over a better connection") from error

    def _take(self, body: _Body, piece: bytes) -> None:
        body.pieces.append(piece)
        if not body.key and body.size < CLAIM_BYTES_MAX and (key := claimed_key(b"".join(body.pieces))) is not None:
            held = body.size
            self._hold(body, -held)
            body.key = key
            self._hold(body, held)
        self._hold(body, len(piece))

    def _hold(self, body: _Body, size: int) -> None:
        body.size += size
        self._held += size
        self._held_of[body.key] += size
        if not self._held_of[body.key]:
            del self._held_of[body.key]

    def _check_length(self, size: int) -> None:
        if size > REQUEST_BYTES_MAX:
            raise Refused(413, f"a request has at most {REQUEST_BYTES_MAX} bytes; send less at a time")
        if self._held > self._limits.bodies_bytes_max:
            raise Refused(503, "the relay is busy; sync again in a moment", RETRY_SECONDS)

    def _check_share(self, body: _Body, announced: int) -> None:
        """A mailbox that sends a lot at once waits, so that there is room for the others."""
        to_come = max(0, announced - body.size)
        held = self._held_of[body.key] + to_come
        if held > max(self._limits.bodies_bytes_max // SHARES, announced, body.size):
            raise Refused(429, "this mailbox sends much at once; sync again in a moment", RETRY_SECONDS)


class _Body:
    """What has come of a request."""

    __slots__ = ("key", "pieces", "size")

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0
        self.key = b""  # none is known yet
