"""Push: who is to be told that a mailbox has moved, and telling them.

Rules: what is told is where the mailbox is (its position), never what is there; who listens slowly is told the latest
position and none between; a listener that has gone costs nothing from then on; each mailbox and each address has so
many listeners at most, and all together too.

A stream is server-sent events, one position each: ``id`` and ``data`` are the same text. Comments keep proxies from
closing it; the event ``end`` says that the relay stops, and when to come again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from syncmem.errors import FileError
from syncmem.relay.bodies import Refused
from syncmem.relay.limits import Limits
from syncmem.relay.stores import Store
from syncmem.wire.mailbox import Position

STREAM_TYPE: Final = "text/event-stream"
FULL_SECONDS: Final = 60  # when to try again where all streams are taken
COME_AGAIN_MILLISECONDS: Final = 2000  # after a stream has ended
APART_MILLISECONDS: Final = 5  # of those who come again when the relay does, so that it is not overrun
_log = logging.getLogger("syncmem.relay")
_HEADERS: Final = {
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",  # nginx passes each event on at once
}


class Listener:
    """One who waits to hear of one mailbox."""

    __slots__ = ("_listeners", "_turn", "address", "ended", "mailbox", "position")

    def __init__(self, listeners: Listeners, mailbox: bytes, address: str) -> None:
        self._listeners = listeners
        self._turn = asyncio.Event()
        self.mailbox = mailbox
        self.address = address
        self.position: Position | None = None  # to be told; None: nothing new
        self.ended = False

    def tell(self, position: Position) -> None:
        """The mailbox is there; what is older than what waits to be told is not news."""
        waiting = self.position
        if waiting is None or waiting.epoch != position.epoch or waiting.ends < position.ends:
            self.position = position
        self._turn.set()

    def end(self) -> None:
        """The relay stops, or the client has gone."""
        self.ended = True
        self._turn.set()

    async def news(self, seconds: float) -> Position | None:
        """The position, once there is news; None after so many seconds, or at the end."""
        if not self._turn.is_set():
            beat = asyncio.get_running_loop().call_later(seconds, self._turn.set)
            try:
                await self._turn.wait()
            finally:
                beat.cancel()
        self._turn.clear()
        position, self.position = self.position, None
        return position

    @property
    def come_again_milliseconds(self) -> int:
        """When to come again after the end."""
        return self._listeners.come_again_milliseconds

    def close(self) -> None:
        self._listeners.remove(self)


class Listeners:
    """All that listen. Belongs to the thread of the event loop."""

    def __init__(self, limits: Limits, store: Store, wake: Callable[[bytes, Position], None] | None = None) -> None:
        self._wake = wake
        self._limits = limits
        self._store = store
        self._of: defaultdict[bytes, set[Listener]] = defaultdict(set)
        self._at: Counter[str] = Counter()
        self._looking: asyncio.Task[None] | None = None
        self.ending = False
        self.come_again_milliseconds = COME_AGAIN_MILLISECONDS
        self.count = 0

    def begin(self) -> None:
        """From now on the store tells, on threads of its own."""
        loop = asyncio.get_running_loop()

        def told(mailbox: bytes | None, position: tuple[bytes, int] | None) -> None:
            if mailbox is not None and mailbox not in self._of and self._wake is None:
                return  # who comes to listen now looks where the mailbox is
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._told, mailbox, position)

        self._store.listen(told)

    def add(self, mailbox: bytes, address: str) -> Listener:
        """Listen to a mailbox; ``address`` is where from ("": nobody counts).

        Raises:
            Refused: there is no room for another.
        """
        full = (
            self.count >= self._limits.streams_max
            or len(self._of.get(mailbox, ())) >= self._limits.mailbox_streams_max
            or (address and self._at[address] >= self._limits.address_streams_max)
        )
        if full or self.ending:
            why = "the relay is stopping" if self.ending else "too many listen already"
            raise Refused(429 if full else 503, f"{why}; ask from time to time, or try again later", FULL_SECONDS)
        listener = Listener(self, mailbox, address)
        self._of[mailbox].add(listener)
        self._at[address] += 1
        self.count += 1
        return listener

    def remove(self, listener: Listener) -> None:
        """It listens no more; safe to say twice."""
        there = self._of.get(listener.mailbox, set())
        if listener not in there:
            return
        there.remove(listener)
        if not there:
            del self._of[listener.mailbox]
        self._at[listener.address] -= 1
        if not self._at[listener.address]:
            del self._at[listener.address]
        self.count -= 1

    def _told(self, mailbox: bytes | None, position: tuple[bytes, int] | None) -> None:
        if mailbox is not None and position is not None:
            self._moved(mailbox, Position(*position))
        elif self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    def _moved(self, mailbox: bytes, position: Position) -> None:
        if self._wake is not None and not self.ending:
            self._wake(mailbox, position)
        for listener in self._of.get(mailbox, ()):
            listener.tell(position)

    async def _look(self) -> None:
        """Something was missed: look where each mailbox is that somebody listens to."""
        try:
            for mailbox in list(self._of):
                found = await run_in_threadpool(self._store.position, mailbox)
                if found is not None:
                    self._moved(mailbox, Position(*found))
        except FileError as error:
            _log.error("%s", error)

    def end(self) -> None:
        """Tell everybody that the relay stops; nobody is taken in any more."""
        self.ending = True
        self.come_again_milliseconds = max(COME_AGAIN_MILLISECONDS, self.count * APART_MILLISECONDS)
        for there in self._of.values():
            for listener in there:
                listener.end()


class Stream(Response):
    """The answer to a listener, event by event until it or the relay ends."""

    media_type = STREAM_TYPE

    def __init__(self, listener: Listener, beat_seconds: float) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._listener = listener
        self._beat_seconds = beat_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        leaving = asyncio.ensure_future(_left(receive, self._listener))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            await _say(send, f"retry: {COME_AGAIN_MILLISECONDS}\n\n")
            while not self._listener.ended:
                position = await self._listener.news(self._beat_seconds)
                if position is not None:
                    await _say(send, f"id: {position}\ndata: {position}\n\n")
                elif not self._listener.ended:
                    await _say(send, ":\n\n")
            again = f"retry: {self._listener.come_again_milliseconds}\nevent: end\ndata:\n\n"
            await send({"type": "http.response.body", "body": again.encode(), "more_body": False})
        finally:
            leaving.cancel()
            self._listener.close()


async def _left(receive: Receive, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.end()


async def _say(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
