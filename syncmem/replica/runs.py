"""Runs: the rows that hold consecutive events which arrived together, written anew where that changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from syncmem.model.frame import Stored
from syncmem.replica.chain import body_of
from syncmem.replica.connection import Database


def rewrite(database: Database, first: int, events: Sequence[Stored], arrived: Sequence[int]) -> None:
    """Store the run that begins at a position with these events and arrivals instead."""
    database.execute("DELETE FROM runs WHERE position = ?", (first,))
    for tx, members in groupby(range(len(events)), key=arrived.__getitem__):
        numbers = list(members)
        part = events[numbers[0] : numbers[-1] + 1]
        sql = "INSERT INTO runs VALUES (?, ?, ?, ?)"
        database.execute(sql, (first + numbers[0], len(part), tx, body_of(part)))
