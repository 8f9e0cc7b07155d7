"""The store of an address: a folder, or a PostgreSQL database; its larger blobs, if wanted, in object storage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from syncmem.environment import Clock
from syncmem.errors import InvalidInput
from syncmem.objects import Objects
from syncmem.relay.file import FILE_NAME
from syncmem.relay.limits import Limits
from syncmem.relay.rows import RowStore
from syncmem.relay.stores import DATABASES


def open_store(
    address: str,
    randomness: Callable[[int], bytes],
    limits: Limits | None = None,
    *,
    blobs: str | None = None,
    serving: bool = True,
    clock: Clock | None = None,
) -> RowStore:
    """Open ``DIR`` or ``postgres://...``; ``blobs``: ``s3://BUCKET/PREFIX`` or another address of object storage.

    ``serving``: as a relay does, who hears of what others store; not as one who wants to move the store.

    Raises:
        InvalidInput: an address is none, or an extra is not installed.
        FileError: the store cannot be opened; see its kinds.
    """
    if "://" in address and not is_database(address):
        raise InvalidInput(f"{shown(address)} is no place for a relay's store; use postgres://..., or a folder")
    objects = None if blobs is None else Objects(blobs)
    try:
        if is_database(address):
            from syncmem.relay.postgres import PostgresStore

            store: RowStore = PostgresStore(address, randomness, limits, objects=objects, serving=serving, clock=clock)
        else:
            from syncmem.relay.store import SqliteStore

            store = SqliteStore(address, randomness, limits, objects=objects, clock=clock)
    except BaseException:
        if objects is not None:
            objects.close()
        raise
    if serving:
        store.collect()
    return store


def check_is_there(address: str) -> None:
    """Refuse a folder in which there is no store: a mistyped name makes none.

    Raises:
        InvalidInput: there is none.
    """
    if not is_database(address) and "://" not in address and not (Path(address) / FILE_NAME).exists():
        raise InvalidInput(f"there is no store in {address}; name the folder (--data) of a relay")


def shown(address: str) -> str:
    """The kind of an address alone: what follows may hold a password."""
    return f"{address.partition('://')[0]}://..."


def is_database(address: str) -> bool:
    return address.startswith(DATABASES)
