"""What must be true of the index at any moment, by reading the tables themselves."""

from __future__ import annotations

from syncmem import Memory
from syncmem.model.instant import FOREVER
from syncmem.replica.index import digest


def check_index(memory: Memory) -> None:
    """The documents are what the rectangles say, and the full-text tables hold exactly their terms."""
    execute = memory._replica.db.execute
    rows = execute(
        f"SELECT slot, lane, value, sum(known_to = {FOREVER}) FROM beliefs GROUP BY slot, lane, value"
    ).fetchall()
    documents = execute("SELECT slot, lane, value, live FROM documents").fetchall()
    assert sorted(documents) == sorted(rows)
    assert all(row[0] == digest(*row[1:]) for row in execute("SELECT digest, lane, value FROM documents"))
    expected = {slot: 0 for slot, _, _, _ in rows}
    for slot, _, _, live in rows:
        expected[slot] += live > 0
    assert dict(execute("SELECT slot, live FROM shelves").fetchall()) == expected
    for table in ("text_live", "text_past"):
        execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
        entries = {row[0] for row in execute(f"SELECT rowid FROM {table}").fetchall()}
        live = table == "text_live"
        wanted = {number * 2 for number, count in execute("SELECT id, live FROM documents") if (count > 0) == live}
        assert entries == wanted | {slot * 2 + 1 for slot, count in expected.items() if (count > 0) == live}
    orphans = "SELECT count(*) FROM vectors WHERE document NOT IN (SELECT id FROM documents)"
    assert execute(orphans).fetchone()[0] == 0
