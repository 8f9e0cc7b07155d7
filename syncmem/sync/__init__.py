"""Sync: what a device does about its vault, and the ways to its mailboxes."""

from __future__ import annotations

from typing import Final

from syncmem.errors import InvalidInput
from syncmem.objects import SCHEMES
from syncmem.provided import Provided
from syncmem.wire.mailbox import Mailbox

MAILBOXES: Final = Provided(
    "syncmem.mailboxes",
    "mailbox",
    {
        "folder": "syncmem.sync.folder:Folder",
        "http": "syncmem.sync.http:Http",
        "https": "syncmem.sync.http:Http",
        "lan": "syncmem.sync.lan:open_found",
        **dict.fromkeys(SCHEMES, "syncmem.sync.bucket:Bucket"),
    },
    ("address", "push", "exchange", "get", "drop", "close"),
)


def open_mailbox(address: str) -> Mailbox:
    """The way to the mailboxes at an address; what stands before its first colon tells which one.

    Raises:
        InvalidInput: the address is of no known kind.
        Unreachable: there is nothing at the address now.
    """
    scheme, colon, _ = address.partition(":")
    if not colon or not MAILBOXES.has(scheme):
        raise InvalidInput(
            f"{address!r} is no address of a mailbox; use folder:PATH, https://HOST or s3://BUCKET/PREFIX, or install "
            "the package that provides such addresses"
        )
    mailbox: Mailbox = MAILBOXES.made(scheme, address)
    return mailbox


def shown(address: str) -> str:
    """The address without what stands before its @: a token opens mailboxes, and is in nobody's logs."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"
