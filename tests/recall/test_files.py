"""The index is part of the file: it goes with backups, plain or encrypted, and serves other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from syncmem import Memory, restore
from syncmem.replica.driver import driver
from tests.recall.checking import check_index


def told(path: Path) -> None:
    with Memory(path, embedder="hashing") as memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Berlin", changed_on="2019-05-01T00:00Z")
        memory.remember("ana", "home_city", "Lisbon", changed_on="2024-03-01T00:00Z")
        memory.index()


def still_kept(memory: Memory) -> None:
    assert memory._replica.index.whole
    check_index(memory)
    memory.remember("ana", "home_city", "Porto", changed_on="2025-03-01T00:00Z")
    check_index(memory)
    found = memory.recall("What is Ana's home city?", log=False)
    assert found.hits[0].belief.value == "Porto" and "vector" in found.hits[0].why


def test_a_backup_has_the_index(tmp_path: Path) -> None:
    told(tmp_path / "a.db")
    with Memory(tmp_path / "a.db") as memory:
        memory.backup(tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "b.db")
    with Memory(tmp_path / "b.db", embedder="hashing") as memory:
        still_kept(memory)


def test_the_doctor_says_how_far_recall_is_made(tmp_path: Path) -> None:
    told(tmp_path / "a.db")
    with Memory(tmp_path / "a.db", embedder="hashing") as memory:
        memory.remember("bob", "home_city", "Rome")
        memory.recall("Rome?", log=True)
        facts = memory.doctor().facts["recall"]
    assert facts == {"indexed": True, "texts": 3, "vectors": {"hashing-256-v1": 3}, "read_log": 1}


@pytest.mark.skipif(driver().cipher is None, reason="needs SQLCipher: pip install 'syncmem[cipher]'")
def test_an_encrypted_copy_has_the_index(tmp_path: Path) -> None:
    told(tmp_path / "a.db")
    key = b"k" * 32
    with Memory(tmp_path / "a.db") as memory:
        memory.backup(tmp_path / "copy.db", key=key)
    restore(tmp_path / "copy.db", tmp_path / "b.db", key=key)
    with Memory(tmp_path / "b.db", key=key, embedder="hashing") as memory:
        still_kept(memory)
    assert b"isbon" not in b"".join(path.read_bytes() for path in tmp_path.glob("b.db*"))


def test_a_memory_that_never_recalled_has_no_index(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "home_city", "Berlin")
        execute = memory._replica.db.execute
        assert execute("SELECT count(*) FROM documents").fetchone() == (0,)
        assert execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'text_%'").fetchone() == (0,)
