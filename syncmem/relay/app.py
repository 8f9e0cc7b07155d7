"""The relay over HTTP: three questions and a sign of life.

Rules: requests prove themselves by the mailbox's key, there are no accounts; nothing that identifies
anybody is logged; one request that is refused says nothing about the others.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeVar

from starlette.applications import Starlette
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from syncmem.errors import NotCanonical, PeerError
from syncmem.relay.store import SqliteStore
from syncmem.wire.messages import (
    CONTENT_TYPE,
    LENGTH_BYTES,
    NOT_THERE,
    REQUEST_BYTES_MAX,
    answer_bytes,
    dropped_bytes,
    read_drop,
    read_exchange,
    read_get,
)

Asked = TypeVar("Asked")


def relay(store: SqliteStore) -> Starlette:
    """The application over a store."""

    async def exchange(request: Request) -> Response:
        return await answered(request, read_exchange, lambda asked: answer_bytes(store.exchange(asked)))

    async def drop(request: Request) -> Response:
        return await answered(request, read_drop, lambda asked: dropped_bytes(store.drop(asked)))

    async def get(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            return _refused(413, f"a request has at most {REQUEST_BYTES_MAX} bytes; send less at a time")
        try:
            key, names = read_get(body)
        except PeerError as error:
            return _refused(_status(error), str(error))
        pieces = (_piece(blob) for _, blob in store.get(key, names))
        return StreamingResponse(_streamed(pieces), media_type=CONTENT_TYPE)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/exchange", exchange, methods=["POST"]),
            Route("/v1/get", get, methods=["POST"]),
            Route("/v1/drop", drop, methods=["POST"]),
            Route("/v1/health", health, methods=["GET"]),
        ]
    )


async def answered(request: Request, read: Callable[[bytes], Asked], answer: Callable[[Asked], bytes]) -> Response:
    """One question and its answer; the store works on a thread."""
    body = await _body(request)
    if body is None:
        return _refused(413, f"a request has at most {REQUEST_BYTES_MAX} bytes; send less at a time")
    try:
        asked = read(body)
    except PeerError as error:
        return _refused(_status(error), str(error))
    return Response(await run_in_threadpool(answer, asked), media_type=CONTENT_TYPE)


async def _body(request: Request) -> bytes | None:
    """The body, or None where it is longer than any request."""
    pieces: list[bytes] = []
    size = 0
    async for piece in request.stream():
        size += len(piece)
        if size > REQUEST_BYTES_MAX:
            return None
        pieces.append(piece)
    return b"".join(pieces)


async def _streamed(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    async for piece in iterate_in_threadpool(pieces):
        yield piece


def _piece(blob: bytes | None) -> bytes:
    if blob is None:
        return NOT_THERE.to_bytes(LENGTH_BYTES, "big")
    return len(blob).to_bytes(LENGTH_BYTES, "big") + blob


def _status(error: PeerError) -> int:
    return 400 if isinstance(error, NotCanonical) else 403


def _refused(status: int, why: str) -> Response:
    return Response(why.encode(), status_code=status, media_type=CONTENT_TYPE)
