"""Limits: what the parts of the work cost by themselves, without what makes a memory of them.

``merge`` reports for each how long it takes over all writes of both replicas: rows in SQLite (two indices, each part
a transaction with FULL), packing and unpacking with msgpack, one SHA-256 each, and the latest value of each key by
numpy.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from hashlib import sha256
from pathlib import Path

import msgpack
import numpy
from harness import PART, Write, spent


def main() -> None:
    writes: list[Write] = [write for part in json.loads(Path(sys.argv[2]).read_text())["writes"] for write in part]
    packed = [msgpack.packb(write) for write in writes]
    keys, starts = numpy.array([key for key, _, _ in writes]), numpy.array([start for _, _, start in writes])
    actions = {
        "bare SQLite": lambda: in_sqlite(Path(sys.argv[3]) / "bare.db", writes),
        "msgpack": lambda: [msgpack.unpackb(msgpack.packb(write)) for write in writes] and None,
        "SHA-256": lambda: [sha256(each).digest() for each in packed] and None,
        "numpy": lambda: latest(keys, starts),
    }
    print(json.dumps({name: spent(action) for name, action in actions.items()}))


def in_sqlite(path: Path, writes: list[Write]) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("CREATE TABLE claims (id BLOB, key TEXT, value TEXT, start INTEGER)")
    connection.execute("CREATE UNIQUE INDEX claims_id ON claims (id)")
    connection.execute("CREATE INDEX claims_key ON claims (key, start)")
    rows = [(sha256(b"%d" % number).digest()[:16], *write) for number, write in enumerate(writes)]
    for start in range(0, len(rows), PART):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO claims VALUES (?, ?, ?, ?)", rows[start : start + PART])
        connection.execute("COMMIT")
    connection.close()


def latest(keys: numpy.ndarray, starts: numpy.ndarray) -> None:
    order = numpy.lexsort((starts, keys))
    ordered = keys[order]
    last = numpy.append(ordered[1:] != ordered[:-1], [True])
    assert len(order[last]) == len(numpy.unique(keys))


if __name__ == "__main__":
    main()
