"""The access log: what was asked and how it went, never by whom or of which mailbox.

Rule: a line holds a path that the relay knows, a status, milliseconds and bytes; anything else that a client
could write (addresses, other paths, headers, bodies) is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from syncmem.environment import Clock

_PATHS: Final = ("/v1/exchange", "/v1/get", "/v1/drop", "/v1/watch", "/healthz")


def logged(app: ASGIApp, tell: Callable[[str], None], clock: Clock) -> ASGIApp:
    """The application, which tells a line for each request once it was answered."""

    async def watched(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        begun, status, received, sent = clock.elapsed(), "none", 0, 0

        async def counted_receive() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            return message

        async def counted_send(message: Message) -> None:
            nonlocal status, sent
            status = str(message.get("status", status))
            sent += len(message.get("body", b""))
            await send(message)

        try:
            await app(scope, counted_receive, counted_send)
        finally:
            path = scope["path"] if scope["path"] in _PATHS else "another path"
            milliseconds = round(1000 * (clock.elapsed() - begun))
            tell(f"{path}: status {status}, {milliseconds} ms, {received} bytes in, {sent} bytes out")

    return watched
