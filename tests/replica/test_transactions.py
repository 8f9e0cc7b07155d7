"""Transactions that SQLite ends by itself, and files whose rows are not as they were left."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncmem import FileError, Memory
from syncmem.errors import Damaged
from syncmem.replica import driver


def test_what_follows_in_a_transaction_that_sqlite_ended_is_not_written(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "home", "Lisbon")
        with pytest.raises(FileError, match="begin the transaction again"), memory.transaction():
            memory.remember("ana", "home", "Porto")
            memory._replica.db.raw.execute("ROLLBACK")  # as SQLite does where the disk is full or fails
            memory.remember("ana", "home", "Faro")
        assert [belief.value for belief in memory.beliefs("ana", "home")] == ["Lisbon"]


def test_a_caller_who_passes_over_the_failure_inside_a_transaction_is_told_at_its_end(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        with pytest.raises(FileError, match="nothing of it was written"), memory.transaction():
            memory.remember("ana", "home", "Porto")
            memory._replica.db.raw.execute("ROLLBACK")
        assert memory.beliefs("ana", "home") == []


def test_a_file_whose_pages_are_not_its_own_is_called_damaged_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "home", "Lisbon")
        db = memory._replica.db.raw
        root, other = (
            db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
            for name in ("logs", "transactions")
        )
    data = bytearray(path.read_bytes())
    page = driver.PAGE_BYTES
    data[(root - 1) * page : root * page] = data[(other - 1) * page : other * page]  # as a lost write leaves it
    data[page * (other - 1) : page * other] = bytes(page)
    path.write_bytes(data)
    with pytest.raises(Damaged):
        Memory(path)
