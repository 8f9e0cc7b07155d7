"""The verb that serves: the relay."""

from __future__ import annotations

from typing import Final

import click

from syncmem.cli.session import Session, verb
from syncmem.errors import InvalidInput

DEFAULT_PORT: Final = 8750


@verb("relay")
@click.option("--data", "folder", required=True, metavar="DIR", help="Where the relay keeps its blobs.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: any free one.")
@click.option("--tls-cert", "certificate", metavar="FILE", help="Serve TLS with this certificate (PEM).")
@click.option("--tls-key", "key", metavar="FILE", help="Its private key (PEM).")
def relay(session: Session, folder: str, host: str, port: int, certificate: str | None, key: str | None) -> None:
    """Run a relay: devices meet there, and it can read nothing of what it keeps.

    Behind a proxy that ends TLS nothing else is needed; sync with its address:
    syncmem sync https://relay.example.org
    """
    try:
        from syncmem.relay.server import serve
    except ImportError as error:
        raise InvalidInput("the relay needs an extra; pip install 'syncmem[relay]'") from error
    serve(
        folder, host=host, port=port, certificate=certificate, key=key, ready=lambda url: click.echo(f"relay at {url}")
    )
