"""Waking phones: whoever can (the operator's gateway to Apple, Google, UnifiedPush) is told that a mailbox has moved.

Rules: told is the mailbox and where it is, nothing of what is there; no request waits for it, and what cannot be told
now is told later, the latest position only; a gateway that is away costs a bounded memory, and then calls.

    POST wake_url    {"mailbox": "<32 hex digits>", "position": "<as events of a stream>"}
    syncmem-signature: sha256=<HMAC-SHA256 of the body with wake_secret, hex>
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from hashlib import sha256
from hmac import digest as hmac_digest
from typing import Any, Final

from syncmem.errors import InvalidInput
from syncmem.wire.mailbox import Position

PENDING_MAX: Final = 10_000  # mailboxes to tell of; beyond, the oldest is not told of
AT_ONCE: Final = 8
QUIET_SECONDS: Final = 2.0  # in which what happens in one mailbox is told once
TRIES_MAX: Final = 6
RETRY_SECONDS: Final = 2.0  # before the second try, twice as long before each one after
ANSWER_SECONDS: Final = 10.0
_log = logging.getLogger("syncmem.relay")


class Waking:
    """Calls an address. Belongs to the thread of the event loop."""

    def __init__(self, url: str, secret: str | None, count: Callable[[str], None]) -> None:
        self._url = url
        self._secret = secret
        self._count = count
        self._pending: dict[bytes, Position] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._free = asyncio.Semaphore(AT_ONCE)
        self._http = _library()
        self._client: Any = None

    def moved(self, mailbox: bytes, position: Position) -> None:
        """A mailbox is there now; returns at once."""
        told_of = mailbox in self._pending
        self._pending[mailbox] = position
        if told_of:
            return
        if len(self._pending) > PENDING_MAX:
            del self._pending[next(iter(self._pending))]
            self._count("dropped")
        task = asyncio.create_task(self._tell(mailbox))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """What was not told yet is not told any more: devices look when they are opened."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _tell(self, mailbox: bytes) -> None:
        await asyncio.sleep(QUIET_SECONDS)
        for number in range(TRIES_MAX):
            async with self._free:
                position = self._pending.pop(mailbox, None)
                if position is None:
                    return
                if await self._called(mailbox, position):
                    self._count("told")
                    return
            self._pending.setdefault(mailbox, position)
            await asyncio.sleep(RETRY_SECONDS * 2**number)
        self._pending.pop(mailbox, None)
        self._count("given up")
        _log.warning("wake_url does not answer; phones are not woken, and find what is new when they are opened")

    async def _called(self, mailbox: bytes, position: Position) -> bool:
        body = json.dumps({"mailbox": mailbox.hex(), "position": str(position)}).encode()
        headers = {"content-type": "application/json", "user-agent": "syncmem-relay"}
        if self._secret:
            signature = hmac_digest(self._secret.encode(), body, sha256).hex()
            headers["syncmem-signature"] = f"sha256={signature}"
        if self._client is None:
            self._client = self._http.AsyncClient(timeout=ANSWER_SECONDS)
        try:
            answer = await self._client.post(self._url, content=body, headers=headers)
        except self._http.HTTPError:
            return False
        return bool(answer.status_code < 300)


def _library() -> Any:
    try:
        import httpx2
    except ImportError as error:
        raise InvalidInput("wake_url needs an extra; pip install 'syncmem[http,relay]'") from error
    return httpx2
