"""Running the relay: one process over one store, until it is told to stop."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Collection
from types import FrameType

import uvicorn

from syncmem.environment import Environment
from syncmem.errors import FileError
from syncmem.relay.access import logged
from syncmem.relay.app import relay
from syncmem.relay.gate import Gate
from syncmem.relay.limits import Limits
from syncmem.relay.opening import open_store
from syncmem.relay.pacing import paced
from syncmem.relay.pushing import Listeners
from syncmem.relay.stores import Store


def serve(
    address: str | os.PathLike[str],
    *,
    blobs: str | None = None,
    host: str,
    port: int,
    certificate: str | None = None,
    key: str | None = None,
    limits: Limits | None = None,
    access: Callable[[str], None] | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until the process is asked to end.

    ``address``: the store, and ``blobs`` where its larger blobs go (see :func:`syncmem.relay.opening.open_store`).
    ``ready`` is told the address (port 0 takes any that is free), ``access`` a line for each request.

    Raises:
        FileError: the store or the port cannot be used.
    """
    limits = limits or Limits()
    store = open_store(os.fspath(address), Environment().randomness, limits, blobs=blobs)
    try:
        _end_in_order()
        listening = _listen(host, port)
        scheme = "https" if certificate else "http"
        ready(f"{scheme}://{host}:{listening.getsockname()[1]}")
        server(store, limits, certificate=certificate, key=key, access=access).run(sockets=[listening])
    finally:
        store.close()


def server(
    store: Store,
    limits: Limits,
    *,
    certificate: str | None = None,
    key: str | None = None,
    access: Callable[[str], None] | None = None,
    tokens: Collection[str] = (),
) -> uvicorn.Server:
    """The server over a store, which stays the caller's to close."""
    listeners = Listeners(limits, store)
    app = relay(store, limits, listeners, Gate(store, limits, Environment().clock, tokens))
    config = uvicorn.Config(
        app if access is None else logged(app, access, Environment().clock),
        http=paced(limits, listeners),
        ws="none",
        log_level="warning",
        access_log=False,  # it shows addresses
        proxy_headers=False,
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_keep_alive=int(limits.silent_seconds),
        timeout_graceful_shutdown=limits.ending_seconds,
    )
    return _Server(config, listeners)


class _Server(uvicorn.Server):
    """Tells those who listen when it stops, so that they come again and hold nothing up."""

    def __init__(self, config: uvicorn.Config, listeners: Listeners) -> None:
        super().__init__(config)
        self._listeners = listeners

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._listeners.begin()
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._listeners.end()
        await super().shutdown(sockets)


def _end_in_order() -> None:
    """When the server has ended because of a signal, it sends itself the same again: then the store is closed."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise FileError(f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port") from error
