"""What is told of each request: what was asked and how it went, never by whom or of which mailbox.

Rule: a path that the relay knows, a status, milliseconds and bytes; anything else that a client could write
(addresses, other paths, headers, bodies) is left out.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from syncmem.environment import Clock

PATHS: Final = (
    "/v1/exchange",
    "/v1/get",
    "/v1/drop",
    "/v1/watch",
    "/v1/agree",
    "/healthz",
    "/health",
    "/ready",
    "/metrics",
    "/admin",
)


class Served(NamedTuple):
    """A request that was answered; ``status`` is "none" where nobody was left to answer."""

    path: str
    status: str
    milliseconds: int
    received: int
    sent: int

    def __str__(self) -> str:
        moved = f"{self.received} bytes in, {self.sent} bytes out"
        return f"{self.path}: status {self.status}, {self.milliseconds} ms, {moved}"


def watched(app: ASGIApp, tell: Sequence[Callable[[Served], None]], clock: Clock) -> ASGIApp:
    """The application, which tells of each request once it was answered."""

    async def watching(scope: Scope, receive: Receive, send: Send) -> None:
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
            path = scope["path"] if scope["path"] in PATHS else "another path"
            served = Served(path, status, round(1000 * (clock.elapsed() - begun)), received, sent)
            for each in tell:
                each(served)

    return watching


# -- logs -------------------------------------------------------------------------------------------------


def set_up_logs(kind: str) -> None:
    """One line for each thing that is told, on standard error: "text", or "json"."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Lines() if kind == "json" else logging.Formatter("%(levelname)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("syncmem.relay").setLevel(logging.INFO)


def log(served: Served) -> None:
    """A request as a line of the log."""
    logging.getLogger("syncmem.relay.access").info("%s", served, extra={"served": served._asdict()})


class _Lines(logging.Formatter):
    """JSON, one object a line."""

    def format(self, record: logging.LogRecord) -> str:
        told = {"time": self.formatTime(record), "level": record.levelname.lower(), "logger": record.name}
        served = getattr(record, "served", None)
        told |= {"message": record.getMessage()} if served is None else served
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told)
