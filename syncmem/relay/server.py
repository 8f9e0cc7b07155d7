"""Running the relay: one process over one store, until it is told to stop.

Rules: what it needs is checked before it says that it is there; when it is told to stop, those who listen are told,
requests in flight come to their end, and only then is the store closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

import uvicorn
from starlette.routing import Route
from starlette.types import ASGIApp

from syncmem.environment import Environment
from syncmem.errors import InvalidInput
from syncmem.relay.access import Served, log, set_up_logs, watched
from syncmem.relay.admin import Admin
from syncmem.relay.app import relay
from syncmem.relay.backlog import Backlog
from syncmem.relay.care import Care
from syncmem.relay.config import Settings, where
from syncmem.relay.control import controlled, new_secret, publish
from syncmem.relay.gate import Gate
from syncmem.relay.limits import Limits
from syncmem.relay.metrics import Metrics
from syncmem.relay.opening import open_store
from syncmem.relay.pacing import paced
from syncmem.relay.pushing import Listeners
from syncmem.relay.rows import RowStore
from syncmem.relay.store import SqliteStore
from syncmem.relay.stores import Store
from syncmem.relay.waking import Waking
from syncmem.sockets import listen
from syncmem.stopping import end_in_order

FILES_BESIDE: Final = 64  # open beside connections
COLLECTED_AFTER: Final = 10_000  # objects more than before: above what all requests at work are made of


def serve(settings: Settings, ready: Callable[[str], None] = print, *, environment: Environment | None = None) -> None:
    """Serve until the process is asked to end. ``ready`` is told the address (port 0 takes any that is free).

    Raises:
        FileError: the store, the certificate or a port cannot be used. InvalidInput: an extra is not installed.
    """
    set_up_logs(settings.log)
    limits = settings.limit_values
    _raise_open_files(limits)
    environment = environment or Environment()
    randomness = environment.randomness
    with contextlib.ExitStack() as opened:
        store = open_store(settings.place, randomness, limits, blobs=settings.blobs, clock=environment.clock)
        opened.callback(store.close)
        end_in_order()
        listening = listen(settings.host, settings.port)
        metrics = None if settings.metrics == "off" and settings.admin_token is None else Metrics()
        beside: list[tuple[ASGIApp, socket.socket]] = []
        if metrics is not None and settings.metrics not in ("off", "main"):
            beside.append((metrics.alone(), listen(*where(settings.metrics))))
        if isinstance(store, SqliteStore) and settings.data is not None:
            beside.append(opened.enter_context(_controlled(store, settings.data, randomness)))
        made = server(
            store, limits, environment=environment,
            tokens=settings.token_values, trusted_proxies=settings.trusted_proxies,
            certificate=settings.tls_cert, key=settings.tls_key, wake_url=settings.wake_url,
            wake_secret=settings.wake_secret.get_secret_value() if settings.wake_secret else None,
            access=log if settings.access_log else None, beside=beside, ended=store.close,
            metrics=metrics, shown=settings.metrics == "main",
            admin_token=settings.admin_token.get_secret_value() if settings.admin_token else None,
        )  # fmt: skip
        scheme = "https" if settings.tls_cert else "http"
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        ready(f"{scheme}://{host}:{listening.getsockname()[1]}")
        gc.collect()
        gc.freeze()  # what is there by now stays, and need not be looked through again every few thousand requests
        gc.set_threshold(COLLECTED_AFTER)
        made.run(sockets=[listening])


@contextlib.contextmanager
def _controlled(
    store: SqliteStore, folder: Path, drawn: Callable[[int], bytes]
) -> Iterator[tuple[ASGIApp, socket.socket]]:
    """What answers the operator of a store, while its address stands in the folder."""
    secret = new_secret(drawn)
    own = listen("127.0.0.1", 0)
    published = publish(folder, own.getsockname()[1], secret)
    try:
        yield controlled(Care(store, drawn), folder, secret, drawn), own
    finally:
        published.unlink(missing_ok=True)


def server(
    store: Store, limits: Limits, *, environment: Environment | None = None,
    tokens: Collection[str] = (), trusted_proxies: Sequence[str] = (),
    certificate: Path | None = None, key: Path | None = None, wake_url: str | None = None,
    wake_secret: str | None = None, access: Callable[[Served], None] | None = None, metrics: Metrics | None = None,
    shown: bool = False, admin_token: str | None = None,
    beside: Sequence[tuple[ASGIApp, socket.socket]] = (), ended: Callable[[], None] = lambda: None,
) -> uvicorn.Server:  # fmt: skip
    """The server over a store, which stays the caller's to close.

    ``shown``: metrics are shown beside the rest; ``admin_token``: so is the operator's page, to who has it; ``beside``:
    other applications, each on a socket of its own; ``ended`` is called once nobody is answered any more: what still
    waits for the store waits in vain.
    """
    clock = (environment or Environment()).clock
    count_wake = metrics.count_wake if metrics is not None else lambda outcome: None
    waking = Waking(wake_url, wake_secret, count_wake) if wake_url is not None else None
    listeners = Listeners(limits, store, waking.moved if waking is not None else None)
    gate = Gate(store, limits, clock, tokens)
    backlog = Backlog(limits.unsent_bytes_max)
    if metrics is not None:
        free = store.file if isinstance(store, SqliteStore) else None
        metrics.watch(lambda: listeners.count, None if free is None else lambda: free.free_bytes)
    more = [Route("/metrics", metrics.show, methods=["GET"])] if metrics is not None and shown else []
    if admin_token is not None and metrics is not None:
        assert isinstance(store, RowStore), "a relay's store has rows"
        more += Admin(store, metrics, gate, clock, admin_token).routes
    app: ASGIApp = relay(
        store,
        limits,
        listeners,
        gate,
        backlog,
        count_puts=metrics.count_puts if metrics is not None else None,
        more=more,
    )
    told = [each for each in (access, metrics.count if metrics is not None else None) if each is not None]
    config = uvicorn.Config(
        watched(app, told, clock) if told else app,
        http=paced(limits, listeners, backlog),
        ws="none",
        log_config=None,
        log_level="warning",
        access_log=False,  # it shows addresses
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_keep_alive=int(limits.silent_seconds),
        timeout_graceful_shutdown=limits.ending_seconds,
    )
    if certificate is not None:
        _check_certificate(config, certificate)
    return _Server(config, listeners, waking, beside, ended)


class _Server(uvicorn.Server):
    """Tells those who listen when it stops, so that they come again and hold nothing up."""

    def __init__(
        self, config: uvicorn.Config, listeners: Listeners, waking: Waking | None,
        beside: Sequence[tuple[ASGIApp, socket.socket]], ended: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(config)
        self._ended = ended
        self._listeners = listeners
        self._waking = waking
        self._beside = [(uvicorn.Server(_quiet(app)), socket) for app, socket in beside]
        self._running: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._listeners.begin()
        for server, own in self._beside:
            self._running.append(asyncio.create_task(server._serve([own])))
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._listeners.end()
        if self._waking is not None:
            await self._waking.end()
        for server, _ in self._beside:
            server.should_exit = True
        await super().shutdown(sockets)
        await asyncio.gather(*self._running)
        await asyncio.to_thread(self._ended)


def _quiet(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app, ws="none", log_config=None, log_level="warning", access_log=False, proxy_headers=False,
        timeout_graceful_shutdown=1,
    )  # fmt: skip


def _check_certificate(config: uvicorn.Config, certificate: Path) -> None:
    try:
        config.load()
    except OSError as error:  # ssl.SSLError is one
        why = error.strerror or str(error)
        raise InvalidInput(f"{certificate} and its key cannot be used ({why}); check tls_cert and tls_key") from error


def _raise_open_files(limits: Limits) -> None:
    """Each connection is an open file, and many systems begin with 1,024."""
    try:
        import resource
    except ImportError:  # no POSIX
        return
    wanted = limits.connections_max + limits.streams_max + FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
