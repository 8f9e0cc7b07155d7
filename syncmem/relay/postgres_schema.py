"""The tables of a store in PostgreSQL, and how they come about.

Rules: every key leads with the mailbox and no table refers to another, so that the tables can be spread over machines
by that column; what is sealed does not compress, so nobody tries; all steps up to the newest version are done in one
transaction, by one process while the others wait, and a newer version is never touched.

Nothing is partitioned by time: a blob is found by its place, and old ones are read as new ones are.
"""

from __future__ import annotations

from typing import Any, Final

from syncmem.errors import FileError, NewerFile

LOCK: Final = (
    0x73796E636D656D  # of advisory locks: relays share it, who moves a store or changes its tables holds it alone
)
_MIGRATING: Final = LOCK + 1

REGISTER: Final = (  # a drop key, unless there are so many
    "INSERT INTO drop_keys SELECT $1, $2 WHERE (SELECT count(*) FROM drop_keys WHERE mailbox = $1) < $3 "
    "ON CONFLICT DO NOTHING"
)

STEPS: Final[tuple[str, ...]] = (
    """
    CREATE TABLE mailboxes (mailbox bytea PRIMARY KEY, epoch bytea NOT NULL, bytes bigint NOT NULL DEFAULT 0,
        lent bigint NOT NULL DEFAULT 0, quota bigint, made integer NOT NULL, used integer NOT NULL);
    CREATE TABLE drop_keys (mailbox bytea, key bytea, PRIMARY KEY (mailbox, key));
    CREATE TABLE streams (mailbox bytea, stream bytea, last bigint NOT NULL, PRIMARY KEY (mailbox, stream));
    CREATE TABLE blobs (
        mailbox bytea, stream bytea, counter bigint, digest bytea NOT NULL, size integer NOT NULL, blob bytea,
        object text, PRIMARY KEY (mailbox, stream, counter));
    ALTER TABLE blobs ALTER COLUMN blob SET STORAGE EXTERNAL;
    CREATE TABLE loose (object text PRIMARY KEY, since timestamptz NOT NULL, condemned boolean NOT NULL DEFAULT false);
    """,
)


async def migrate(connection: Any, randomness_id: bytes) -> None:
    """Bring the tables to the newest version; ``randomness_id`` becomes the store's id where there was none.

    Raises:
        NewerFile: a newer relay has been here. FileError: the server does not keep what it acknowledges.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATING)
        if await connection.fetchval("SHOW fsync") != "on":
            raise FileError("the database acknowledges what it has not written; set fsync = on there, then start again")
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS store (version integer NOT NULL, id bytea NOT NULL, prefix text)"
        )
        version = await connection.fetchval("SELECT version FROM store")
        if version is None:
            await connection.execute("INSERT INTO store (version, id) VALUES (0, $1)", randomness_id)
        elif version > len(STEPS):
            raise NewerFile("the database was written by a newer relay; upgrade syncmem")
        for step in STEPS[version or 0 :]:
            await connection.execute(step)
        await connection.execute("UPDATE store SET version = $1 WHERE version <> $1", len(STEPS))


def lock_of(id: bytes) -> int:
    """The advisory lock of a store: relays share it, who moves the store holds it alone."""
    return int.from_bytes(id[:8], "big", signed=True)
