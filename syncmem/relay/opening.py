"""The store of an address: a folder, or a PostgreSQL database; its larger blobs, if wanted, in object storage."""

from __future__ import annotations

from collections.abc import Callable

from syncmem.environment import Clock
from syncmem.objects import Objects
from syncmem.relay.limits import Limits
from syncmem.relay.rows import RowStore


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


def is_database(address: str) -> bool:
    return address.startswith(("postgres://", "postgresql://"))
