"""The relay over HTTP: five questions and a sign of life.

Rules: requests prove themselves by the mailbox's key, there are no accounts; nothing that identifies
anybody is logged; one request that is refused says nothing about the others; every refusal says why in words
that end with the next step, and never shows what the relay holds or where.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from syncmem.environment import Environment
from syncmem.errors import Busy, DiskFull, FileError, NotCanonical, PeerError
from syncmem.relay.agreeing import Agreements
from syncmem.relay.backlog import Backlog
from syncmem.relay.bodies import RETRY_SECONDS, Bodies, Body, Refused
from syncmem.relay.exchanges import Exchanges
from syncmem.relay.gate import Gate, address_of
from syncmem.relay.limits import Limits
from syncmem.relay.pushing import STREAM_TYPE, Listener, Listeners, Stream
from syncmem.relay.stores import Store
from syncmem.wire.mailbox import Position, PutResult, mailbox_id
from syncmem.wire.messages import (
    CONTENT_TYPE,
    LENGTH_BYTES,
    NOT_THERE,
    agreed_bytes,
    dropped_bytes,
    moved_bytes,
    read_agree,
    read_drop,
    read_exchange,
    read_get,
    read_watch,
)
from syncmem.wire.proofs import Proved

Asked = TypeVar("Asked")
SMALL_BYTES: Final = 64 * 1024  # of a request that is read at once: a thread for it would take longer
FULL_RETRY_SECONDS: Final = 600  # a disk is not emptied sooner
_log = logging.getLogger("syncmem.relay")


def relay(
    store: Store, limits: Limits, listeners: Listeners, gate: Gate, backlog: Backlog, *,
    count_puts: Callable[[Sequence[PutResult]], None] | None = None, more: Sequence[Route] = (),
) -> Starlette:  # fmt: skip
    """The application over a store; ``more``: what else is answered there."""
    answering = _Answering(store, limits, listeners, gate, backlog, count_puts)
    return Starlette(
        routes=[
            Route("/v1/exchange", answering.exchange, methods=["POST"]),
            Route("/v1/get", answering.get, methods=["POST"]),
            Route("/v1/drop", answering.drop, methods=["POST"]),
            Route("/v1/watch", answering.watch, methods=["POST"]),
            Route("/v1/agree", answering.agree, methods=["POST"]),
            Route("/health", answering.health, methods=["GET"]),
            Route("/healthz", answering.ready, methods=["GET"]),
            Route("/ready", answering.ready, methods=["GET"]),
            *more,
        ],
        exception_handlers={
            ClientDisconnect: _nobody_listens,
            Refused: _refused,
            PeerError: _not_understood,
            FileError: _store_failed,
            Exception: _failed,
        },
    )


class _Answering:
    """The answers."""

    def __init__(
        self, store: Store, limits: Limits, listeners: Listeners, gate: Gate, backlog: Backlog,
        count_puts: Callable[[Sequence[PutResult]], None] | None,
    ) -> None:  # fmt: skip
        self._exchanges = Exchanges(store, count_puts)
        self._store = store
        self._limits = limits
        self._listeners = listeners
        self._gate = gate
        self._backlog = backlog
        self._bodies = Bodies(limits)
        self._agreements = Agreements(Environment().randomness)

    async def exchange(self, request: Request) -> Response:
        address = address_of(request)
        with self._bodies.room() as body:
            asked = await self._asked(request, body, read_exchange)
            mailbox = asked.mailbox
            await self._gate.admit(request, mailbox)
            async with self._gate.turn(mailbox):
                asked = replace(asked, inline_bytes_max=0) if self._backlog.is_long else asked
                answer = await self._exchanges.answer(asked)
        self._gate.moved(address, mailbox, body.size + len(answer))
        return Response(answer, media_type=CONTENT_TYPE)

    async def drop(self, request: Request) -> Response:
        with self._bodies.room() as body:
            asked = await self._asked(request, body, read_drop)
            async with self._gate.turn(asked.mailbox):
                answer = await run_in_threadpool(lambda: dropped_bytes(self._store.drop(asked)))
        self._gate.moved(address_of(request), asked.mailbox, body.size + len(answer))
        return Response(answer, media_type=CONTENT_TYPE)

    async def get(self, request: Request) -> Response:
        with self._bodies.room() as body:
            key, names = await self._asked(request, body, read_get)
            mailbox = mailbox_id(key)
            if self._backlog.is_long:
                raise Refused(503, "the relay is busy; sync again in a moment", RETRY_SECONDS)
            async with self._gate.turn(mailbox):
                pieces = (_piece(blob) for _, blob in self._store.get(key, names))
                first = await run_in_threadpool(next, pieces, b"")  # where the store fails, it mostly does so at once
        count = partial(self._gate.moved, address_of(request), mailbox)
        count(body.size)
        return StreamingResponse(_streamed(chain([first], pieces), count), media_type=CONTENT_TYPE)

    async def watch(self, request: Request) -> Response:
        address = address_of(request)
        with self._bodies.room() as body:
            asked = await self._asked(request, body, read_watch)
            async with self._gate.turn(asked.mailbox):
                pass
        since = Position.parse(request.headers.get("last-event-id", "")) or asked.since
        listener = self._listeners.add(asked.mailbox, address)  # first: what comes between is not missed
        try:
            found = await run_in_threadpool(self._store.position, asked.mailbox)
            position = None if found is None else Position(*found)
            if position is not None and position != since:
                listener.tell(position)
            if STREAM_TYPE in request.headers.get("accept", ""):
                return Stream(listener, self._limits.beat_seconds)
            return await _once(listener, position, self._limits.beat_seconds)
        except BaseException:
            listener.close()
            raise

    async def agree(self, request: Request) -> Response:
        with self._bodies.room() as body:
            key, agreement = await self._asked(request, body, lambda said, _: read_agree(said))
            async with self._gate.turn(mailbox_id(key)):
                self._agreements.agree(key, agreement)
        return Response(agreed_bytes(self._agreements.key), media_type=CONTENT_TYPE)

    async def health(self, request: Request) -> Response:
        """The process answers."""
        return PlainTextResponse("ok\n")

    async def ready(self, request: Request) -> Response:
        """The store is there, and the relay is not about to stop."""
        if self._listeners.ending:
            raise Refused(503, "the relay is stopping; sync again in a moment", RETRY_SECONDS)
        await run_in_threadpool(self._store.check)
        return PlainTextResponse("ok\n")

    async def _asked(self, request: Request, body: Body, read: Callable[[bytes, Proved], Asked]) -> Asked:
        """What is asked, by whoever has the mailbox's key."""
        self._gate.come(address_of(request))
        data, proved = await body.read(request), self._agreements.proved
        return read(data, proved) if len(data) <= SMALL_BYTES else await run_in_threadpool(read, data, proved)


async def _once(listener: Listener, position: Position | None, seconds: float) -> Response:
    """A long poll: answered when there is news, and after some time in any case."""
    try:
        news = await listener.news(seconds)
    finally:
        listener.close()
    return Response(moved_bytes(news or position), media_type=CONTENT_TYPE)


async def _streamed(pieces: Iterator[bytes], count: Callable[[int], None]) -> AsyncIterator[bytes]:
    """An answer that the store cannot go on with ends early: the client sees that it was cut off."""
    try:
        async for piece in iterate_in_threadpool(pieces):
            count(len(piece))
            yield piece
    except FileError as error:
        _log.error("%s", error)


def _piece(blob: bytes | None) -> bytes:
    if blob is None:
        return NOT_THERE.to_bytes(LENGTH_BYTES, "big")
    return len(blob).to_bytes(LENGTH_BYTES, "big") + blob


# -- refusals -------------------------------------------------------------------------------------------


async def _nobody_listens(request: Request, error: Exception) -> Response:
    return Response(status_code=400)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    told = _said(error.status, str(error), error.retry_seconds)
    if error.status == 401:
        told.headers["www-authenticate"] = f'Basic realm="{error.realm}"'
    return told


async def _not_understood(request: Request, error: Exception) -> Response:
    return _said(400 if isinstance(error, NotCanonical) else 403, str(error))


async def _store_failed(request: Request, error: Exception) -> Response:
    _log.error("%s", error)
    if isinstance(error, DiskFull):
        return _said(507, str(error), FULL_RETRY_SECONDS)
    return _said(503, str(error), RETRY_SECONDS if isinstance(error, Busy) else None)


async def _failed(request: Request, error: Exception) -> Response:
    return _said(500, "the relay failed; sync again later, and tell its operator")


def _said(status: int, why: str, retry_seconds: int | None = None) -> Response:
    headers = {} if retry_seconds is None else {"retry-after": str(retry_seconds)}
    return Response(why.encode(), status_code=status, media_type=CONTENT_TYPE, headers=headers)
