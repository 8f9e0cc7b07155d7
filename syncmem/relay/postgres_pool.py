"""Connections to PostgreSQL, on an event loop of their own, for callers in any thread.

Rules: what fails for a moment (a lost connection, a restart, a conflict of transactions) is tried again from its
beginning, which is safe because every question may be asked again; then it is ``Busy``; no word of a failure tells
where the database is or what it holds; every commit that is waited for is on the disk.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from syncmem.errors import Busy, DiskFull, FileError, InvalidInput

CONNECTIONS_MAX: Final = 10
CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 30.0
TRIES_MAX, TRIES_SECONDS = 4, 10.0
WAIT_SECONDS: Final = 0.1  # before a second try, twice as long before the third
DURABLE: Final = {"synchronous_commit": "on", "application_name": "syncmem relay"}
_BUSY: Final = "the relay's database does not answer; sync again in a moment"
_FULL: Final = "the relay has no room left; sync again later, or tell its operator"
_FAILS: Final = "the relay's database fails; sync again later, and tell its operator"
_log = logging.getLogger("syncmem.relay")

Value = TypeVar("Value")


class Pool:
    """Connections that are kept open.

    Raises:
        FileError: the database cannot be used. InvalidInput: the address is none, or the extra is not installed.
    """

    def __init__(self, address: str, prepare: Callable[[Any], Awaitable[None]]) -> None:
        self.address = address
        self.asyncpg = _library()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres", daemon=True)
        self._thread.start()
        try:
            self._pool: Any = self.run(self._open(prepare))
        except BaseException:
            self._end()
            raise

    async def _open(self, prepare: Callable[[Any], Awaitable[None]]) -> Any:
        try:
            connection = await self.connect()
            try:
                await prepare(connection)
            finally:
                await connection.close(timeout=CONNECT_SECONDS)
            return await self.asyncpg.create_pool(
                self.address, connection_class=_unchanged(self.asyncpg), min_size=0, max_size=CONNECTIONS_MAX,
                timeout=CONNECT_SECONDS, command_timeout=ANSWER_SECONDS, server_settings=DURABLE,
            )  # fmt: skip
        except FileError:
            raise
        except (ValueError, self.asyncpg.ClientConfigurationError) as error:
            raise InvalidInput("this is no address of a database; use postgres://USER@HOST/NAME") from error
        except (self.asyncpg.PostgresError, self.asyncpg.InterfaceError, OSError, TimeoutError) as error:
            raise FileError(f"the database cannot be used ({_kind(error)}); check --store") from error

    async def connect(self, **settings: str) -> Any:
        """A connection of the caller's own."""
        return await self.asyncpg.connect(
            self.address, timeout=CONNECT_SECONDS, command_timeout=ANSWER_SECONDS, server_settings=DURABLE | settings
        )

    def time(self) -> float:
        """The clock of the loop, in seconds."""
        return self._loop.time()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something on the loop, until the pool is closed."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Do something on the loop, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def ask(self, question: Callable[[Any], Awaitable[Value]]) -> Value:
        """Ask the database something through a connection, again where it failed for a moment.

        Raises:
            FileError: one of its kinds, in words that a client may be told.
        """
        return self.run(self._ask(question))

    async def _ask(self, question: Callable[[Any], Awaitable[Value]]) -> Value:
        until = self._loop.time() + TRIES_SECONDS
        for tried in range(TRIES_MAX):
            try:
                async with self._pool.acquire(timeout=CONNECT_SECONDS) as connection:
                    return await question(connection)
            except (self.asyncpg.PostgresError, self.asyncpg.InterfaceError, OSError, TimeoutError) as error:
                if not self._passes(error):
                    raise self._in_words(error) from error
                if tried == TRIES_MAX - 1 or self._loop.time() > until:
                    _log.error("%s", _kind(error))
                    raise Busy(_BUSY) from error
            await asyncio.sleep(WAIT_SECONDS * 2**tried)
        raise AssertionError("unreachable")

    def _passes(self, error: BaseException) -> bool:
        """Whether it may go well a moment later: connections, conflicts, operators who restart it, too many of
        something, a server that is not the first one yet, tables that have just been changed."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            return True  # of the connection, not of the database
        return state[:2] in ("08", "40", "57") or state in ("53200", "53300", "55P03", "25006", "0A000")

    def _in_words(self, error: BaseException) -> FileError:
        _log.error("%s", _kind(error))
        state = getattr(error, "sqlstate", "") or ""
        return DiskFull(_FULL) if state == "53100" else FileError(_FAILS)

    def close(self) -> None:
        if self._loop.is_closed():
            return
        try:
            self.run(self._close())
        finally:
            self._end()

    async def _close(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        try:
            await asyncio.wait_for(self._pool.close(), CONNECT_SECONDS)
        except TimeoutError:
            self._pool.terminate()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _kind(error: BaseException) -> str:
    """What failed, without what it is about: messages of the server may quote values."""
    return f"{type(error).__name__} {getattr(error, 'sqlstate', None) or ''}".strip()


def _unchanged(asyncpg: Any) -> Any:
    """Connections that nobody sets anything on: they need not be reset, which would cost each question another."""

    class Connection(asyncpg.Connection):  # type: ignore[misc]
        def get_reset_query(self) -> str:
            return ""

    return Connection


def _library() -> Any:
    try:
        import asyncpg
    except ImportError as error:
        raise InvalidInput("a store in PostgreSQL needs an extra; pip install 'syncmem[postgres]'") from error
    return asyncpg
