"""What is still to be scrubbed is never forgotten, and does not leave with a backup."""

from __future__ import annotations

from pathlib import Path
from random import Random

from syncmem import Memory


def test_what_another_process_erases_while_one_scrubs_is_scrubbed_too(tmp_path: Path) -> None:
    one, other = Memory(tmp_path / "a.db"), Memory(tmp_path / "a.db")
    one.remember("ana", "home", "Lisbon")
    one.remember("bob", "home", "Rome")
    rewrite, rewritten = one._replica.db.rewrite, 0

    def meanwhile() -> None:
        nonlocal rewritten
        rewrite()
        rewritten += 1
        if rewritten == 1:
            other._replica.scrubber.scrub = lambda: False  # type: ignore[method-assign]  # it dies before it does
            other.erase("bob")

    one._replica.db.rewrite = meanwhile  # type: ignore[method-assign]
    assert one.erase("ana").scrubbed
    assert rewritten == 2
    assert one._replica.db.execute("SELECT * FROM chores").fetchall() == []
    one.close()
    other.close()


def test_status_tells_while_a_reader_holds_up_the_scrubbing(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory, Memory(tmp_path / "a.db") as reader:
        memory.remember("ana", "home", "Lisbon")
        reader._replica.db.raw.execute("BEGIN")
        reader._replica.db.raw.execute("SELECT * FROM slots").fetchall()
        assert not memory.erase("ana").scrubbed
        assert memory.status().scrub_pending
        reader._replica.db.raw.execute("COMMIT")
        assert memory.scrub()
        assert not memory.status().scrub_pending


def test_a_backup_taken_before_the_file_is_scrubbed_holds_no_trace(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "home", "Lisbon")
        memory._replica.scrubber.scrub = lambda: False  # type: ignore[method-assign]
        assert not memory.erase("ana").scrubbed
        leave_traces(memory)
        memory.backup(tmp_path / "copy.db")
        assert b"CANARY" in (tmp_path / "a.db").read_bytes()
        assert b"CANARY" not in (tmp_path / "copy.db").read_bytes()


def leave_traces(memory: Memory) -> None:
    """Rows that are moved between pages leave copies behind, which a deletion does not reach."""
    execute = memory._replica.db.raw.execute
    random = Random(1)
    execute("CREATE TABLE moved (k TEXT PRIMARY KEY, n INT) WITHOUT ROWID")
    numbers = list(range(8_000))
    random.shuffle(numbers)
    for start in range(0, len(numbers), 100):
        execute("BEGIN")
        for number in numbers[start : start + 100]:
            text = f"{number}{'plain' if number % 3 else 'CANARY'}" + "x" * random.randrange(60)
            execute("INSERT INTO moved VALUES (?, ?)", (text, number))
        execute("COMMIT")
    execute("BEGIN")
    execute("DELETE FROM moved WHERE k LIKE '%CANARY%'")
    execute("COMMIT")
    execute("PRAGMA wal_checkpoint(TRUNCATE)")
