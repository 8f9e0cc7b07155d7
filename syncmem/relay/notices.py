"""Which mailboxes moved, told from each relay process to all the others through PostgreSQL.

Rules: a notice is sent after the commit that it tells of, and what was put is answered after its notice was sent, so
who was answered is heard of everywhere (a relay that dies between leaves a client that asks again, here or at another
process, and then the notice is sent); many notices share one transaction, because the server commits those one after
the other, and nothing in it needs to be on a disk; who was not listening for a moment is told that anything may have
moved. A notice holds a mailbox's id, and where it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from syncmem.errors import Busy
from syncmem.relay.postgres_pool import Pool
from syncmem.relay.stores import Position, Told

SENT_SECONDS_MAX: Final = 10.0  # how long an answer waits for its notice
AGAIN_SECONDS: Final = 0.2
QUIET_SECONDS: Final = 10.0  # after which a silent connection is asked whether it is still one
SILENT_SECONDS: Final = 5.0  # without an answer, after which the database is not called there any more
_PARTED: Final = "the relay's database does not answer; sync again in a moment"
_log = logging.getLogger("syncmem.relay")


class Notices:
    """One connection that listens and tells. Its coroutines run on the pool's loop.

    ``enter``: what a new connection must do before it counts (it may refuse).
    """

    def __init__(self, pool: Pool, channel: str, enter: Callable[[Any], Any]) -> None:
        self._pool = pool
        self._channel = channel
        self._enter = enter
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._work = asyncio.Event()
        self.told: Told = lambda mailbox, position: None
        self.connected = False
        self._asked_at: float | None = None  # since when a question has had no answer

    @property
    def answered(self) -> bool:
        """Whether there is a connection that was answered, and not left waiting since."""
        asked_at = self._asked_at
        return self.connected and (asked_at is None or self._pool.time() - asked_at < SILENT_SECONDS)

    async def _ask(self, connection: Any, sql: str, *values: object) -> None:
        self._asked_at = self._pool.time()
        try:
            await connection.execute(sql, *values)
        finally:
            self._asked_at = None

    async def send(self, mailbox: bytes, position: Position) -> None:
        """Tell all processes. Raises Busy where that is not possible now."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(_text(mailbox, position), []).append(future)
        self._work.set()
        try:
            await asyncio.wait_for(future, SENT_SECONDS_MAX)
        except TimeoutError as error:
            raise Busy(_PARTED) from error

    async def run(self) -> None:
        """Keep a connection until cancelled."""
        while True:
            connection = None
            try:
                connection = await self._pool.connect(synchronous_commit="off", application_name="syncmem notices")
                await self._serve(connection)
            except Exception as error:  # whatever it is, the next connection may do better
                _log.warning("notices are interrupted (%s)", type(error).__name__)
            finally:
                self.connected = False
                if connection is not None:
                    connection.terminate()
            await asyncio.sleep(AGAIN_SECONDS)

    async def _serve(self, connection: Any) -> None:
        await self._enter(connection)
        connection.add_termination_listener(lambda _: self._work.set())
        await connection.add_listener(self._channel, self._heard)
        self.connected = True
        self.told(None, None)
        while not connection.is_closed():
            if not self._waiting:
                self._work.clear()
                try:
                    await asyncio.wait_for(self._work.wait(), QUIET_SECONDS)
                except TimeoutError:
                    await self._ask(connection, "SELECT 1")
                continue
            await self._tell(connection)

    async def _tell(self, connection: Any) -> None:
        """Send all that waits in one transaction; where that fails, it goes on waiting."""
        sending, self._waiting = self._waiting, {}
        try:
            sql = "SELECT pg_notify($1, text) FROM unnest($2::text[]) text"
            await self._ask(connection, sql, self._channel, [*sending])
        except BaseException:
            for text, futures in sending.items():
                self._waiting.setdefault(text, []).extend(futures)
            raise
        for futures in sending.values():
            for future in futures:
                if not future.done():
                    future.set_result(None)

    def _heard(self, connection: Any, process: int, channel: str, payload: str) -> None:
        mailbox, epoch, ends = payload.split()
        self.told(bytes.fromhex(mailbox), (bytes.fromhex(epoch), int(ends)))


def _text(mailbox: bytes, position: Position) -> str:
    epoch, ends = position
    return f"{mailbox.hex()} {epoch.hex()} {ends}"
