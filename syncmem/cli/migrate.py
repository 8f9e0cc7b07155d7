"""The verb that moves a relay from one store to another."""

from __future__ import annotations

import click

from syncmem.cli.session import Session, verb
from syncmem.environment import Environment
from syncmem.errors import InvalidInput


@verb("migrate")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--from-blobs", metavar="URL", help="The --blobs of the relay that moves.")
@click.option("--to-blobs", metavar="URL", help="The --blobs that it is to have.")
def migrate(session: Session, source: str, target: str, from_blobs: str | None, to_blobs: str | None) -> None:
    """Move a relay's mailboxes: FROM and TO are each DIR or postgres://...

    The relay must be stopped. Every mailbox is read back from TO and compared; FROM stays as it is.
    Run it again if it broke off.
    """
    try:
        from syncmem.relay.moving import move
    except ImportError as error:
        raise InvalidInput("the relay needs an extra; pip install 'syncmem[relay]'") from error
    moved = move(source, target, Environment().randomness, source_blobs=from_blobs, target_blobs=to_blobs)
    session.show(
        {"mailboxes": moved.mailboxes, "moved": moved.moved, "blobs": moved.blobs, "digest": moved.digest.hex()},
        lambda: (
            f"{moved.mailboxes} mailboxes are the same on both sides, verified: {moved.digest.hex()}\n"
            f"moved now: {moved.moved} mailboxes with {moved.blobs} blobs"
        ),
    )
