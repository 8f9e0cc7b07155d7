"""The verb that serves: the relay."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import click

from syncmem.cli.session import Session, verb
from syncmem.errors import InvalidInput

DEFAULT_PORT: Final = 8750


@verb("relay")
@click.option("--data", "folder", metavar="DIR", help="Where the relay keeps its blobs.")
@click.option("--store", metavar="URL", help="Instead: postgres://..., for any number of relays.")
@click.option("--blobs", metavar="URL", help="Where blobs of more than 64 KiB go: s3://BUCKET/PREFIX.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=DEFAULT_PORT, show_default=True, type=click.IntRange(0, 65535), help="0: any free one.")
@click.option("--tls-cert", "certificate", metavar="FILE", help="Serve TLS with this certificate (PEM).")
@click.option("--tls-key", "key", metavar="FILE", help="Its private key (PEM).")
@click.option("--store-mib", type=click.IntRange(min=1), help="How large the store may grow.  [default: the disk]")
@click.option("--mailbox-mib", type=click.IntRange(min=1), help="How much one mailbox may hold.  [default: 4096]")
@click.option("--connections", type=click.IntRange(min=1), help="How many may be open at once.  [default: 256]")
@click.option("--access-log", is_flag=True, help="Tell of each request: no address, no mailbox.")
def relay(
    session: Session, folder: str | None, store: str | None, blobs: str | None, host: str, port: int,
    certificate: str | None, key: str | None,
    store_mib: int | None, mailbox_mib: int | None, connections: int | None, access_log: bool,
) -> None:  # fmt: skip
    """Run a relay: devices meet there, and it can read nothing of what it keeps.

    Behind a proxy that ends TLS nothing else is needed; sync with its address:
    syncmem sync https://relay.example.org
    """
    try:
        from syncmem.relay.limits import MIB, Limits
        from syncmem.relay.server import serve
    except ImportError as error:
        raise InvalidInput("the relay needs an extra; pip install 'syncmem[relay]'") from error
    address = store or folder
    if address is None or (store and folder):
        raise InvalidInput("the relay keeps its blobs in one place; name --data DIR or --store postgres://...")
    usual = Limits()
    limits = replace(
        usual,
        store_bytes_max=store_mib * MIB if store_mib else None,
        mailbox_bytes_max=mailbox_mib * MIB if mailbox_mib else usual.mailbox_bytes_max,
        connections_max=connections or usual.connections_max,
    )
    access = partial(click.echo, err=True) if access_log else None
    serve(
        address, blobs=blobs, host=host, port=port, certificate=certificate, key=key, limits=limits, access=access,
        ready=lambda url: click.echo(f"relay at {url}"),
    )  # fmt: skip
