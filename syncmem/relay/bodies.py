"""Reading requests: no longer, no slower and no more of them at once than the relay bears.

Rules: what is announced as too long is refused before it is read; who is slow is told and let go; the room
that a request takes is given back when it was answered, however that ended; no mailbox has more of it than a share.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from starlette.requests import ClientDisconnect, Request

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

    def room(self) -> Body:
        """For one request: a context; what it took is given back at the end."""
        return Body(self, self._limits)

    def hold(self, key: bytes, size: int) -> None:
        """So much more (or less) is held, of who claims this key."""
        self._held += size
        held = self._held_of[key] + size
        if held:
            self._held_of[key] = held
        else:
            del self._held_of[key]

    def check_length(self, size: int) -> None:
        if size > REQUEST_BYTES_MAX:
            raise Refused(413, f"a request has at most {REQUEST_BYTES_MAX} bytes; send less at a time")
        if self._held > self._limits.bodies_bytes_max:
            raise Refused(503, "the relay is busy; sync again in a moment", RETRY_SECONDS)

    def check_share(self, key: bytes, size: int, announced: int) -> None:
        """A mailbox that sends a lot at once waits, so that there is room for the others."""
        to_come = max(0, announced - size)
        held = self._held_of[key] + to_come
        if held > max(self._limits.bodies_bytes_max // SHARES, announced, size):
            raise Refused(429, "this mailbox sends much at once; sync again in a moment", RETRY_SECONDS)


class Body:
    """The body of one request, as it comes."""

    __slots__ = ("_all", "_key", "_limits", "_pieces", "size")

    def __init__(self, all_of_them: Bodies, limits: Limits) -> None:
        self._all = all_of_them
        self._limits = limits
        self._pieces: list[bytes] = []
        self._key = b""  # none is known yet
        self.size = 0

    def __enter__(self) -> Body:
        return self

    def __exit__(self, *failure: object) -> None:
        self._all.hold(self._key, -self.size)

    async def read(self, request: Request) -> bytes:
        """The whole of it.

        Raises:
            Refused: it is too long or too slow, or there is no room for it now.
            ClientDisconnect: the client has gone.
        """
        announced = int(request.headers.get("content-length", 0))
        self._all.check_length(announced)
        now = asyncio.get_running_loop().time
        begun = now()
        try:
            async with asyncio.timeout(self._limits.seconds_for(0)) as limit:
                while await self._take(request):
                    self._check(announced)
                    if not limit.expired():
                        limit.reschedule(begun + self._limits.seconds_for(self.size))
        except TimeoutError as error:
            raise Refused(408, "the request came too slowly; sync again over a better connection") from error
        self._check(announced)
        return b"".join(self._pieces)

    async def _take(self, request: Request) -> bool:
        """The next piece; whether there is more."""
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        piece = message.get("body", b"")
        self._pieces.append(piece)
        if not self._key and self.size < CLAIM_BYTES_MAX and (key := claimed_key(b"".join(self._pieces))) is not None:
            if self.size:
                self._all.hold(b"", -self.size)
                self._all.hold(key, self.size)
            self._key = key
        self.size += len(piece)
        self._all.hold(self._key, len(piece))
        return bool(message.get("more_body", False))

    def _check(self, announced: int) -> None:
        self._all.check_length(self.size)
        self._all.check_share(self._key, self.size, announced)
