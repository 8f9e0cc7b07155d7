"""The relay over HTTP: four questions and a sign of life.

Rules: requests prove themselves by the mailbox's key, there are no accounts; nothing that identifies
anybody is logged; one request that is refused says nothing about the others; every refusal says why in words
that end with the next step, and never shows what the relay holds or where.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import chain
from typing import Final, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from syncmem.errors import Busy, DiskFull, FileError, NotCanonical, PeerError
from syncmem.relay.bodies import RETRY_SECONDS, Bodies, Refused
from syncmem.relay.limits import Limits
from syncmem.relay.pushing import STREAM_TYPE, Listener, Listeners, Stream
from syncmem.relay.stores import Store
from syncmem.wire.mailbox import Position
from syncmem.wire.messages import (
    CONTENT_TYPE,
    LENGTH_BYTES,
    NOT_THERE,
    answer_bytes,
    dropped_bytes,
    moved_bytes,
    read_drop,
    read_exchange,
    read_get,
    read_watch,
)

Asked = TypeVar("Asked")
FULL_RETRY_SECONDS: Final = 600  # a disk is not emptied sooner
_log = logging.getLogger("syncmem.relay")


def relay(store: Store, limits: Limits, listeners: Listeners) -> Starlette:
    """The application over a store."""
    bodies = Bodies(limits)

    async def answered(request: Request, read: Callable[[bytes], Asked], answer: Callable[[Asked], bytes]) -> Response:
        async with bodies.read(request) as body:
            return Response(await run_in_threadpool(lambda: answer(read(body))), media_type=CONTENT_TYPE)

    async def exchange(request: Request) -> Response:
        return await answered(request, read_exchange, lambda asked: answer_bytes(store.exchange(asked)))

    async def drop(request: Request) -> Response:
        return await answered(request, read_drop, lambda asked: dropped_bytes(store.drop(asked)))

    async def get(request: Request) -> Response:
        async with bodies.read(request) as body:
            key, names = await run_in_threadpool(read_get, body)
        pieces = (_piece(blob) for _, blob in store.get(key, names))
        first = await run_in_threadpool(next, pieces, b"")  # where the store fails, it mostly does so at once
        return StreamingResponse(_streamed(chain([first], pieces)), media_type=CONTENT_TYPE)

    async def watch(request: Request) -> Response:
        async with bodies.read(request) as body:
            asked = await run_in_threadpool(read_watch, body)
        since = Position.parse(request.headers.get("last-event-id", "")) or asked.since
        listener = listeners.add(asked.mailbox, address_of(request))  # first: what comes between is not missed
        try:
            found = await run_in_threadpool(store.position, asked.mailbox)
            position = None if found is None else Position(*found)
            if position is not None and position != since:
                listener.tell(position)
            if STREAM_TYPE in request.headers.get("accept", ""):
                return Stream(listener, limits.beat_seconds)
            return await _once(listener, position, limits.beat_seconds)
        except BaseException:
            listener.close()
            raise

    async def health(request: Request) -> Response:
        store.check()
        return PlainTextResponse("ok\n")

    return Starlette(
        routes=[
            Route("/v1/exchange", exchange, methods=["POST"]),
            Route("/v1/get", get, methods=["POST"]),
            Route("/v1/drop", drop, methods=["POST"]),
            Route("/v1/watch", watch, methods=["POST"]),
            Route("/healthz", health, methods=["GET"]),
        ],
        exception_handlers={
            ClientDisconnect: _nobody_listens,
            Refused: _refused,
            PeerError: _not_understood,
            FileError: _store_failed,
            Exception: _failed,
        },
    )


async def _once(listener: Listener, position: Position | None, seconds: float) -> Response:
    """A long poll: answered when there is news, and after some time in any case."""
    try:
        news = await listener.news(seconds)
    finally:
        listener.close()
    return Response(moved_bytes(news or position), media_type=CONTENT_TYPE)


def address_of(request: Request) -> str:
    """Where a request comes from, as far as it is counted: not of what runs on this machine, proxies among it."""
    host = request.client.host if request.client else ""
    return "" if host in ("127.0.0.1", "::1", "testclient") else host


async def _streamed(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """An answer that the store cannot go on with ends early: the client sees that it was cut off."""
    try:
        async for piece in iterate_in_threadpool(pieces):
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
    return _said(error.status, str(error), error.retry_seconds)


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
