"""Running the relay: one process, one folder, until it is told to stop."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from syncmem.environment import Environment
from syncmem.errors import FileError
from syncmem.relay.app import relay
from syncmem.relay.store import SqliteStore


def serve(
    folder: str | os.PathLike[str],
    *,
    host: str,
    port: int,
    certificate: str | None = None,
    key: str | None = None,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve until the process is asked to end; ``ready`` is told the address (port 0 takes any that is free)."""
    store = SqliteStore(Path(folder), Environment().randomness)
    try:
        listening = _listen(host, port)
        config = uvicorn.Config(
            relay(store),
            log_level="warning",
            access_log=False,  # addresses and mailboxes are nobody's business
            server_header=False,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            timeout_graceful_shutdown=10,
        )
        scheme = "https" if certificate else "http"
        ready(f"{scheme}://{host}:{listening.getsockname()[1]}")
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        store.close()


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise FileError(f"{host}:{port} cannot be listened on ({error.strerror}); choose another --port") from error
