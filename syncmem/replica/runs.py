"""Runs: the rows that hold consecutive events which arrived together.

Rule: every row carries a checksum of all that it says, so that what a disk changed is noticed when it is read: a log's
chain tells that something in it is wrong, this tells where, and it covers the time of arrival, which no chain does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final
from zlib import crc32

from syncmem.codec import unpack_own
from syncmem.errors import Damaged
from syncmem.model import salt
from syncmem.model.frame import Stored
from syncmem.replica.chain import body_of, cover_bytes, read_cover, read_events
from syncmem.replica.connection import Database

COLUMNS: Final = "position, count, tx, body, crc"  # as :func:`row_of` writes and :func:`events_of` reads them
_ROTTEN: Final = "an event is not as it was stored: the file is damaged; run 'syncmem repair'"


def row_of(position: int, tx: int, events: Sequence[Stored]) -> tuple[int, int, int, bytes, int]:
    """Consecutive events as a row."""
    body = body_of(events)
    return position, len(events), tx, body, checksum(position, len(events), tx, body)


def events_of(position: int, count: int, tx: int, body: bytes, crc: int) -> list[Stored]:
    """The events of a row.

    Raises:
        Damaged: the row is not as it was written.
    """
    if checksum(position, count, tx, body) != crc:
        raise Damaged(_ROTTEN)
    return read_events(body)


def checksum(position: int, count: int, tx: int, body: bytes) -> int:
    """Of a row: not against people, whom the chain and its signatures keep off, but against disks."""
    return crc32(body, crc32(b"%d %d %d" % (position, count, tx)))


def cover_of(log: int, block: int, body: bytes, crc: int) -> salt.Cover:
    """The salt tree of a block, as its row has it.

    Raises:
        Damaged: the row is not as it was written.
    """
    if _cover_checksum(log, block, body) != crc:
        raise Damaged(_ROTTEN)
    return read_cover(unpack_own(body))


def cover_row(log: int, block: int, cover: salt.Cover) -> tuple[bytes, int]:
    """A salt tree as its row has it: its bytes, their checksum."""
    body = cover_bytes(cover)
    return body, _cover_checksum(log, block, body)


def _cover_checksum(log: int, block: int, body: bytes) -> int:
    return crc32(body, crc32(b"%d %d" % (log, block)))


def rewrite(database: Database, first: int, events: Sequence[Stored], arrived: Sequence[int]) -> None:
    """Store the run that begins at a position with these events and arrivals instead."""
    database.execute("DELETE FROM runs WHERE position = ?", (first,))
    for tx, members in groupby(range(len(events)), key=arrived.__getitem__):
        numbers = list(members)
        part = events[numbers[0] : numbers[-1] + 1]
        database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", row_of(first + numbers[0], tx, part))
