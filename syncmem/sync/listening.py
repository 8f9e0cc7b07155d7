"""Listening to relays: a thread that hears when a mailbox has moved, so that nobody has to ask all the time.

Rules: what is heard is only ever a reason to sync; what this device's own syncs did is no news; a way that brings
nothing (a proxy that holds back events) is left for a long poll, and while neither works the mailbox counts as
unheard, so that it is asked from time to time; who is told to come again later does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from syncmem.environment import Environment
from syncmem.errors import NotCanonical
from syncmem.sync.http import connection, library
from syncmem.sync.http_answers import retry_seconds
from syncmem.sync.session import Synced
from syncmem.wire.mailbox import Position, Watch
from syncmem.wire.messages import CONTENT_TYPE, read_moved, watch_bytes

STREAM_TYPE: Final = "text/event-stream"
FIRST_SECONDS: Final = 10.0  # in which a stream has said something, else it is held back on its way
BEAT_SECONDS_MAX: Final = 75.0  # between two signs of life; a relay gives one every 25
RETRY_SECONDS_MIN: Final = 1.0  # between one stream and the next
RETRY_SECONDS_MAX: Final = 60.0  # between tries, where nothing answers
POLL_PAUSE_SECONDS: Final = 0.5
REFUSED_SECONDS: Final = 600.0  # after which one that does not know how, or does not want to, is asked again
LINE_BYTES_MAX: Final = 1024


@dataclass(frozen=True, slots=True)
class Ear:
    """One mailbox to listen to: the relay's address, and the key that opens it."""

    address: str
    key: bytes
    write_seed: bytes = field(repr=False)


def ears(results: Sequence[Synced], before: Mapping[Ear, Position | None]) -> dict[Ear, Position | None]:
    """Where to listen after a sync, and where each was read to its end; ``before``: the same of the sync before."""
    found = {}
    for one in results:
        if one.push is not None and one.key is not None:
            ear = Ear(one.push, one.key.write_key, one.key.write_seed)
            found[ear] = one.outcomes.position if one.error is None else before.get(ear)
    return found


class Listening:
    """Listens until it is closed. ``moved`` is called, on its thread, when one of the mailboxes may have news."""

    def __init__(self, environment: Environment, moved: Callable[[], None]) -> None:
        self._environment = environment
        self._moved = moved
        self._lock = threading.Lock()  # of the four below
        self._seen: dict[Ear, Position | None] = {}  # as of the last sync
        self._heard: dict[Ear, Position] = {}
        self._news: set[Ear] = set()
        self._live: set[Ear] = set()
        self._tasks: dict[Ear, asyncio.Task[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="syncmem-listen", daemon=True)
        self._thread.start()

    @property
    def news(self) -> bool:
        """Whether something was heard of that no sync has looked for yet."""
        with self._lock:
            return bool(self._news)

    @property
    def live(self) -> bool:
        """Whether every mailbox is being listened to."""
        with self._lock:
            return bool(self._seen) and self._live >= self._seen.keys()

    def sync_begins(self) -> None:
        """What was heard of until now is looked for."""
        with self._lock:
            self._news.clear()

    def attend(self, seen: dict[Ear, Position | None]) -> None:
        """Listen to these from now on, and to no others; where each was when it was just synced."""
        with self._lock:
            self._seen = dict(seen)
            self._news = {ear for ear in self._news & seen.keys() if self._is_news(ear)}
        self._loop.call_soon_threadsafe(self._attend, list(seen))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    # -- on the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            for task in self._tasks.values():
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*self._tasks.values(), return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def _attend(self, ears: Iterable[Ear]) -> None:
        for ear in self._tasks.keys() - set(ears):
            self._tasks.pop(ear).cancel()
            with self._lock:
                self._heard.pop(ear, None)
        for ear in ears:
            if ear not in self._tasks:
                self._tasks[ear] = self._loop.create_task(self._listen(ear))

    async def _listen(self, ear: Ear) -> None:
        """Hear of one mailbox, whatever happens on the way."""
        polls, failures = False, 0
        while True:
            pause = 0.0
            try:
                async with connection(ear.address, BEAT_SECONDS_MAX, library().AsyncClient) as client:
                    way = _Way(client, ear, self._environment)
                    since = self._seen.get(ear)
                    async for position in way.polled(since) if polls else way.streamed(since):
                        failures = 0
                        self._hear(ear, position)
            except _HeldBack:
                polls = True
            except _Later as told:
                pause = told.seconds
            except (library().HTTPError, library().InvalidURL, NotCanonical, OSError):
                polls = False  # who comes over another network may find events let through
                failures += 1
                pause = min(2.0**failures, RETRY_SECONDS_MAX)
            finally:
                with self._lock:
                    self._live.discard(ear)
            await asyncio.sleep(pause * (0.5 + self._environment.randomness(1)[0] / 256))

    def _hear(self, ear: Ear, position: Position | None) -> None:
        with self._lock:
            self._live.add(ear)
            if position is None or position == self._heard.get(ear):
                return
            self._heard[ear] = position
            if not self._is_news(ear):
                return
            self._news.add(ear)
        self._moved()

    def _is_news(self, ear: Ear) -> bool:
        heard, seen = self._heard.get(ear), self._seen.get(ear)
        return heard is not None and (seen is None or heard.epoch != seen.epoch or heard.ends > seen.ends)


class _HeldBack(Exception):
    """Something on the way lets no events through."""


class _Later(Exception):
    """The other side ends this for now."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"in {seconds} s")
        self.seconds = seconds


@dataclass(slots=True)
class _Way:
    """The ways in which a relay tells. Both give positions, and None for a sign of life."""

    client: Any
    ear: Ear
    environment: Environment

    async def streamed(self, since: Position | None) -> AsyncIterator[Position | None]:
        """Hear events as they come.

        Raises:
            _HeldBack: nothing comes. _Later: the stream was refused, or has ended.
        """
        retry = RETRY_SECONDS_MIN
        try:
            async with asyncio.timeout(FIRST_SECONDS) as first, self._asked(STREAM_TYPE, since) as answer:
                self._check(answer, STREAM_TYPE)
                async for line in _lines(answer.aiter_raw()):
                    first.reschedule(None)
                    name, _, value = line.partition(": ")
                    if name == "retry" and value.isascii() and value.isdigit():
                        retry = max(retry, min(int(value) / 1000, RETRY_SECONDS_MAX))
                    yield Position.parse(value) if name == "data" else None
        except TimeoutError as error:
            raise _HeldBack from error
        raise _Later(retry)

    async def polled(self, since: Position | None) -> AsyncIterator[Position | None]:
        """Ask, and be answered when there is news, or after a while."""
        while True:
            async with self._asked(CONTENT_TYPE, since) as answer:
                self._check(answer, CONTENT_TYPE)
                data = b""
                async for piece in answer.aiter_raw():
                    data = (data + piece)[:LINE_BYTES_MAX]
            since = read_moved(data) or since
            yield since
            await asyncio.sleep(POLL_PAUSE_SECONDS)

    def _asked(self, accept: str, since: Position | None) -> Any:
        body = watch_bytes(Watch(self.ear.key, since), self.ear.write_seed)
        return self.client.stream("POST", "/v1/watch", content=body, headers={"accept": accept})

    def _check(self, answer: Any, kind: str) -> None:
        headers = answer.headers
        if answer.status_code == 200 and headers.get("content-type", "").partition(";")[0].strip() == kind:
            return
        seconds = retry_seconds(headers.get("retry-after", ""), self.environment.clock)
        if seconds is None and answer.status_code in (200, 408, 500, 502, 503, 504):
            seconds = RETRY_SECONDS_MAX
        raise _Later(REFUSED_SECONDS if seconds is None else max(RETRY_SECONDS_MIN, min(seconds, REFUSED_SECONDS)))


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The lines of a stream of events, one after the other; a longer one than any event has ends it."""
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
        if len(rest) > LINE_BYTES_MAX:
            return
