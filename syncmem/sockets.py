"""Sockets on which this package's servers listen."""

from __future__ import annotations

import socket

from syncmem.errors import FileError


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        FileError: nobody can listen there.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, dualstack_ipv6=host == "::", backlog=1024)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise FileError(f"{host}:{port} cannot be listened on ({why}); choose another --host or --port") from error
