"""Running the relay: one process over one store, until it is told to stop."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType

import uvicorn

from syncmem.environment import Environment
from syncmem.errors import FileError
from syncmem.relay.access import logged
from syncmem.relay.app import relay
from syncmem.relay.limits import Limits
from syncmem.relay.opening import open_store
from syncmem.relay.pacing import paced
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
) -> uvicorn.Server:
    """The server over a store, which stays the caller's to close."""
    app = relay(store, limits)
    config = uvicorn.Config(
        app if access is None else logged(app, access, Environment().clock),
        http=paced(limits),
        ws="none",
        log_level="warning",
        access_log=False,  # it shows addresses
        server_header=False,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        limit_concurrency=limits.connections_max + 1,  # uvicorn counts the newcomer
        timeout_keep_alive=int(limits.silent_seconds),
        timeout_graceful_shutdown=limits.ending_seconds,
    )
    return uvicorn.Server(config)


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
