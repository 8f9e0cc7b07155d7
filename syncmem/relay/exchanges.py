"""Exchanges on their way from the event loop to the store: those that come at one time go there together.

Rules: nobody has an answer before what it tells of is durable; each is answered or fails for itself; what a store can
do at the same time (one that is a database elsewhere) is not held up by this. One thread for many exchanges costs less
than one for each: the loop and the threads wait for each other at every change between them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeAlias

from starlette.concurrency import run_in_threadpool

from syncmem.relay.stores import Store
from syncmem.wire.mailbox import INLINE_BYTES_MAX, Answer, Exchange, PutResult
from syncmem.wire.messages import answer_bytes

TOGETHER_MAX: Final = 256  # in one commit of the store
ANSWERS_BYTES_MAX: Final = 128 * 1024 * 1024  # of blobs that may come along with all of them, in memory at once

_Asked: TypeAlias = tuple[Exchange, asyncio.Future[bytes]]


class Exchanges:
    """Asks a store. Belongs to the thread of the event loop."""

    def __init__(self, store: Store, count_puts: Callable[[Sequence[PutResult]], None] | None) -> None:
        self._store = store
        self._count_puts = count_puts
        self._waiting: deque[_Asked] = deque()
        self._asking = False
        self._thread = ThreadPoolExecutor(1, "syncmem-exchanges")  # it goes when nobody has this object any more

    async def answer(self, request: Exchange) -> bytes:
        """The answer to one. Raises what the store raises."""
        if not self._store.together:
            return await run_in_threadpool(lambda: self._told(self._store.exchange(request)))
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        self._waiting.append((request, future))
        if not self._asking:
            self._asking = True
            loop.call_soon(self._ask, loop)  # with those that come in the same turn
        return await future

    def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        """For all that wait."""
        some: list[_Asked] = []
        room = ANSWERS_BYTES_MAX
        while self._waiting and len(some) < TOGETHER_MAX and room >= 0:
            some.append(self._waiting.popleft())
            room -= min(some[-1][0].inline_bytes_max, INLINE_BYTES_MAX)
        self._asking = bool(some)
        if some:
            self._thread.submit(self._work, some, loop)

    def _deliver(self, some: Sequence[_Asked], found: Sequence[bytes | BaseException]) -> None:
        for (_, future), one in zip(some, found, strict=True):
            if future.done():  # nobody listens any more
                continue
            if isinstance(one, bytes):
                future.set_result(one)
            else:
                future.set_exception(one)
        self._ask(asyncio.get_running_loop())

    # -- on the thread ------------------------------------------------------------------------------

    def _work(self, some: Sequence[_Asked], loop: asyncio.AbstractEventLoop) -> None:
        try:
            found = self._answers([request for request, _ in some])
        except BaseException as error:
            found = [error] * len(some)
        with suppress(RuntimeError):  # the loop has ended, and nobody waits
            loop.call_soon_threadsafe(self._deliver, some, found)

    def _answers(self, requests: Sequence[Exchange]) -> list[bytes | BaseException]:
        found = self._store.exchange_all(requests)
        return [self._told(one) if isinstance(one, Answer) else one for one in found]

    def _told(self, answer: Answer) -> bytes:
        if self._count_puts is not None and answer.results:
            self._count_puts(answer.results)
        return answer_bytes(answer)
