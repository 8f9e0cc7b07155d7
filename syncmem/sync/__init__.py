"""Sync: what a device does about its vault, and the ways to its mailboxes."""

from __future__ import annotations

from syncmem.errors import InvalidInput
from syncmem.objects import is_address
from syncmem.wire.mailbox import Mailbox


def open_mailbox(address: str) -> Mailbox:
    """The way to the mailboxes at an address.

    Raises:
        InvalidInput: the address is of no known kind.
        Unreachable: there is nothing at the address now.
    """
    if address.startswith("folder:"):
        from syncmem.sync.folder import Folder

        return Folder(address)
    if address.startswith(("https://", "http://")):
        from syncmem.sync.http import Http

        return Http(address)
    if address.startswith("lan:"):
        from syncmem.sync.http import Http
        from syncmem.sync.lan import find

        return Http(find(address))
    if is_address(address):
        from syncmem.sync.bucket import Bucket

        return Bucket(address)
    raise InvalidInput(f"{address!r} is no address of a mailbox; use folder:PATH, https://HOST or s3://BUCKET/PREFIX")
