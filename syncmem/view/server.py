"""Running the viewer: one process on this machine, until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

import uvicorn

from syncmem.environment import Environment
from syncmem.errors import FileError
from syncmem.stopping import end_in_order
from syncmem.view.app import application
from syncmem.view.guard import Guard
from syncmem.view.pages import Pages
from syncmem.view.viewer import SECRET_FIELD, Viewer, device_names

if TYPE_CHECKING:
    from syncmem.memory import Memory

HOST: Final = "127.0.0.1"
_SECRET_BYTES: Final = 24
_SECONDS_TO_END: Final = 3


def guarded(
    memory: Memory, port: int, zone: tzinfo, environment: Environment, also: Mapping[str, Memory] | None = None
) -> Guard:
    """The pages of a memory behind their guard, which knows the address to be opened."""
    secret = environment.randomness(_SECRET_BYTES).hex()
    pages = Pages(zone, device_names(memory, also or {}), secret=secret, secret_field=SECRET_FIELD, path=memory.path)
    viewer = Viewer(memory, dict(also or {}), zone, pages, environment.clock.now)
    return Guard(application(viewer, secret), port, environment.randomness, secret)


def serve(
    memory: Memory, *, zone: tzinfo, also: Mapping[str, Memory] | None = None, port: int = 0,
    ready: Callable[[str], None] = print, environment: Environment | None = None,
) -> None:  # fmt: skip
    """Serve until the process is asked to end; ``ready`` is told the address to be opened.

    Raises:
        FileError: the port cannot be used.
    """
    listening = _listen(port)
    app = guarded(memory, listening.getsockname()[1], zone, environment or Environment(), also)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, ws="none", lifespan="off",
        timeout_graceful_shutdown=_SECONDS_TO_END,
    )  # fmt: skip
    end_in_order()
    with listening:
        _Server(config, lambda: ready(app.address)).run(sockets=[listening])


class _Server(uvicorn.Server):
    """Says that it is there once it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise FileError(f"port {port} cannot be used ({error}); leave --port out to take any that is free") from error
    return listening
