"""Every limit has a name and a clear error that ends with the next step, and nothing is changed by it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from syncmem import (
    BrokenChain,
    Busy,
    Closed,
    Damaged,
    FileError,
    InvalidInput,
    Memory,
    NewerFile,
    NotAReplica,
    NotCanonical,
    NotFound,
    Source,
    SyncmemError,
    restore,
)
from syncmem.codec import pack
from syncmem.replica.bundle import MAGIC
from syncmem.replica.driver import dbapi

LONG = "x" * 50_000
Write = Callable[[Memory], Any]


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:") as memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Lisbon", changed_on="2024-03-01T00:00Z")
        yield memory


def remembering(*, value: object = "x", **said: Any) -> Write:
    return lambda memory: memory.remember("ana", "home_city", value, **said)


REFUSED: dict[str, Write] = {
    "a text over 48 KiB": remembering(value=LONG),
    "a map that is too long": remembering(value={f"key {n}": "x" * 500 for n in range(200)}),
    "a value nested too deep": remembering(value=[[[[[[[[[[[[[[1]]]]]]]]]]]]]]),
    "NaN": remembering(value=float("nan")),
    "infinity": remembering(value=float("inf")),
    "None": remembering(value=None),
    "bytes": remembering(value=b"raw"),
    "a set": remembering(value={1, 2}),
    "an integer over 64 bits": remembering(value=2**70),
    "half a surrogate pair": remembering(value="\ud800"),
    "half a surrogate pair in a name": lambda m: m.remember("a\udfff", "p", 1),
    "an empty entity": lambda m: m.remember("", "p", 1),
    "a blank predicate": lambda m: m.remember("a", "  ", 1),
    "an entity that is a text": lambda m: m.remember("a" * 2000, "p", 1),
    "an entity that is no text": lambda m: m.remember(7, "p", 1),  # type: ignore[arg-type]
    "a naive datetime": remembering(since=datetime(2025, 3, 1)),
    "a naive time as text": remembering(since="2025-03-01T09:00"),
    "a date without a zone": remembering(since=date(2025, 3, 1)),
    "a month without a zone": remembering(since="2025-03"),
    "an unknown zone": remembering(since="2025-03", zone="Europe/Atlantis"),
    "no date at all": remembering(since="last spring"),
    "a year out of range": remembering(since="99999-01-01T00:00Z"),
    "a float as a date": remembering(since=1.5),
    "a reversed interval": remembering(since="2025-03-01T00:00Z", valid_to="2025-02-01T00:00Z"),
    "an empty interval": remembering(since="2025-03-01T00:00Z", valid_to="2025-03-01T00:00Z"),
    "an end before now, without a start": remembering(until="2020-01-01T00:00Z", then="resume"),
    "a period without a start": remembering(valid_to="2090-01-01T00:00Z", then="vacate"),
    "since and changed_on": remembering(since="2025-03-01T00:00Z", changed_on="2025-03-01T00:00Z"),
    "until and valid_to": remembering(until="2095-03-01T00:00Z", valid_to="2095-03-01T00:00Z"),
    "then without an end": remembering(then="resume"),
    "an unknown then": remembering(until="2095-03-01T00:00Z", then="explode"),
    "an unknown tier": remembering(trust="gossip"),
    "a trust over 100": remembering(trust=101),
    "a trust that is true": remembering(trust=True),
    "a document without its date": remembering(source="document"),
    "a source of a wrong type": remembering(source=7),
    "a reversed span": remembering(source=Source(kind="user", span=(9, 3))),
    "an empty scope": remembering(scope=""),
    "an empty batch": remembering(batch=""),
    "a negative ttl": remembering(ttl="-3d"),
    "a ttl in months": remembering(ttl="P3M"),
    "an end by a change without its date": lambda m: m.end("ana", "home_city", "Lisbon", changed=True),
    "an unknown cardinality": lambda m: m.define("p", cardinality="several"),
    "an unknown equality": lambda m: m.define("p", cardinality="single", equality="roughly"),
    "stale_after without stale_trust": lambda m: m.define("p", cardinality="single", stale_after="30d"),
    "retract without anything": lambda m: m.retract(),
    "known_at and asserted_by": lambda m: m.believe("ana", "home_city", known_at=1, asserted_by="2025-01-01T00:00Z"),
    "a transaction of another device": lambda m: m.believe("ana", "home_city", known_at=1, device=m.device),
    "why of an entity alone": lambda m: m.why("ana"),
}
UNKNOWN: dict[str, Write] = {
    "an event that never was": lambda m: m.undo("5f3a9c01b2d4-42"),
    "an id that is none": lambda m: m.retract("hello"),
    "an event beyond the log": lambda m: m.undo(m.history("ana", "home_city")[-1].event.split("-")[0] + "-999"),
    "a batch that never was": lambda m: m.retract(batch="import-9"),
    "a device that never was": lambda m: m.believe("ana", "home_city", device="ffffff"),
}


def state(memory: Memory) -> tuple[Any, ...]:
    return memory.event_digest(), memory.belief_digest(), memory._replica.last_transaction, memory.entities()


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_the_next_step(memory: Memory, case: str) -> None:
    before = state(memory)
    with pytest.raises(InvalidInput) as refused:
        REFUSED[case](memory)
    assert ";" in str(refused.value)
    assert state(memory) == before


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_is_not_known_is_named(memory: Memory, case: str) -> None:
    before = state(memory)
    with pytest.raises(NotFound) as refused:
        UNKNOWN[case](memory)
    assert ";" in str(refused.value)
    assert state(memory) == before


def test_a_step_that_fails_in_a_transaction_fails_alone(memory: Memory) -> None:
    with memory.transaction():
        memory.remember("rui", "language", "Portuguese")
        with pytest.raises(InvalidInput):
            memory.remember("rui", "language", float("nan"))
        with pytest.raises(NotFound):
            memory.undo("5f3a9c01b2d4-42")
        memory.remember("rui", "language", "English")
    assert sorted(belief.value for belief in memory.beliefs("rui", "language")) == ["English", "Portuguese"]
    assert all(log["continuous"] for log in memory.doctor(full=True).facts["logs"])


def test_a_transaction_that_fails_leaves_nothing(memory: Memory) -> None:
    before = state(memory)
    with pytest.raises(ZeroDivisionError), memory.transaction():
        memory.remember("rui", "language", "Portuguese")
        memory.define("language", cardinality="many")
        _ = 1 / 0
    assert state(memory) == before
    memory.remember("rui", "language", "Portuguese")
    assert memory.doctor(full=True).facts["logs"][0]["continuous"]


def test_nothing_leaves_before_it_is_durable(memory: Memory, tmp_path: Path) -> None:
    with Memory(":memory:") as other:
        with memory.transaction():
            memory.remember("rui", "language", "Portuguese")
            for leave in (
                lambda: other.merge(memory),
                lambda: memory.export_bundle(tmp_path / "a.bundle"),
                lambda: memory.backup(tmp_path / "backup.db"),
            ):
                with pytest.raises(InvalidInput, match="after the transaction"):
                    leave()
        assert list(tmp_path.iterdir()) == []
        other.merge(memory)
        assert other.entities() == ["ana", "rui"]


# -- files ---------------------------------------------------------------------------------------------


def test_a_newer_file_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    Memory(path).close()
    with dbapi.connect(str(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NewerFile, match="upgrade syncmem"):
        Memory(path)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(NotAReplica, match="choose another path"):
        Memory(path)
    assert path.read_bytes() == before


def test_a_text_file_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 100)
    with pytest.raises(NotAReplica, match=";|:"):
        Memory(path)
    assert path.read_text() == "Dear diary, " * 100


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="check that its folder exists"):
        Memory(tmp_path / "nowhere" / "a.db")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_read_only_folder_is_an_error_and_no_empty_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "language", "English")
    tmp_path.chmod(0o500)
    path.chmod(0o400)
    try:
        with pytest.raises(FileError), Memory(path) as memory:
            memory.remember("ana", "language", "Portuguese")
    finally:
        tmp_path.chmod(0o700)


def test_a_locked_file_is_busy_after_the_waiting_time(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, wait_seconds=0.05) as memory:
        memory.remember("ana", "language", "English")
        holder = dbapi.connect(str(path), isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        before = memory.event_digest()
        with pytest.raises(Busy, match="try again"):
            memory.remember("ana", "language", "Portuguese")
        holder.execute("ROLLBACK")
        holder.close()
        assert memory.event_digest() == before
        memory.remember("ana", "language", "Portuguese")


def test_a_closed_memory_says_so(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "a.db")
    memory.close()
    memory.close()
    for use in (lambda: memory.remember("a", "p", 1), lambda: memory.believe("a", "p"), memory.entities):
        with pytest.raises(Closed, match="open it again"):
            use()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_memory_that_was_opened_before_a_fork_is_refused_in_the_child(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom syncmem import Closed, Memory\n"
        "memory = Memory(sys.argv[1])\nmemory.remember('a', 'p', 1)\nchild = os.fork()\n"
        "if child == 0:\n"
        "    try:\n        memory.remember('a', 'p', 2)\n"
        "    except Closed:\n        os._exit(7)\n"
        "    os._exit(0)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
        "memory.remember('a', 'p', 3)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr


def test_a_truncated_file_is_damaged_and_never_an_empty_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory, memory.transaction():
        for number in range(200):
            memory.remember(f"person {number}", "language", "English")
    path.write_bytes(path.read_bytes()[: 3 * 4096])
    with pytest.raises((Damaged, NotAReplica, FileError)) as refused, Memory(path) as memory:
        memory.beliefs("person 150")
        memory.remember("person 150", "language", "French")
    assert isinstance(refused.value, SyncmemError)


def test_a_file_replaced_while_it_is_open_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "language", "English")
        memory.backup(tmp_path / "backup.db")
        restore(tmp_path / "backup.db", path, overwrite=True)
        with pytest.raises(Closed, match="replaced"):
            memory.remember("ana", "language", "Portuguese")


# -- bundles -------------------------------------------------------------------------------------------


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    with Memory(tmp_path / "giver.db") as giver, giver.transaction():
        for number in range(600):
            giver.remember(f"person {number}", "language", "English")
    with Memory(tmp_path / "giver.db") as giver:
        assert giver.export_bundle(tmp_path / "a.bundle") == 600
    return tmp_path / "a.bundle"


@pytest.mark.parametrize("kept", [0, 5, len(MAGIC), len(MAGIC) + 2, 1000, -1, -40])
def test_a_bundle_that_was_cut_off_is_refused_whole(memory: Memory, bundle: Path, kept: int) -> None:
    bundle.write_bytes(bundle.read_bytes()[:kept])
    before = state(memory)
    with pytest.raises(NotCanonical, match="bundle"):
        memory.import_bundle(bundle)
    assert state(memory) == before


def test_one_changed_bit_anywhere_in_a_bundle_is_refused(memory: Memory, bundle: Path) -> None:
    whole = bundle.read_bytes()
    before = state(memory)
    for place in range(len(MAGIC), len(whole), len(whole) // 60):
        bundle.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(SyncmemError):
            memory.import_bundle(bundle)
        assert state(memory) == before


def test_a_bundle_of_another_kind_is_refused(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\3\4" * 100)
    with pytest.raises(NotCanonical, match="syncmem export"):
        memory.import_bundle(tmp_path / "a.zip")
    with pytest.raises(FileError, match="check the path"):
        memory.import_bundle(tmp_path / "missing.bundle")


def test_a_gap_names_what_is_missing(tmp_path: Path) -> None:
    with Memory(tmp_path / "giver.db") as giver, Memory(tmp_path / "taker.db") as taker:
        with giver.transaction():
            for number in range(600):
                giver.remember("ana", "language", f"language {number}")
        frames = list(giver._replica.frames({}))
        with pytest.raises(BrokenChain, match="events 1 to"):
            list(taker._replica.receive(frames[1:]))
        assert taker.entities() == []
        list(taker._replica.receive(frames))
        assert taker.belief_digest() == giver.belief_digest()


def test_hostile_frames_are_refused() -> None:
    from syncmem.replica.bundle import read_frame

    good_key = [bytes(32), bytes(16), "vault"]
    event = [1, 5, b"\x90"]
    hostile = [
        [],
        [1, 2, 3, 4, 5],
        [good_key, 1, [], [[1, bytes(32)]], bytes(32)],
        [good_key, 0, [event], [[1, bytes(32)]], bytes(32)],
        [good_key, 1, [[1, "5", b""]], [[1, bytes(32)]], bytes(32)],
        [good_key, 1, [event], [[1, bytes(32)]], b"short"],
        [[bytes(32), bytes(16), "device"], 1, [event], [[1, bytes(32)]], bytes(32)],
        [good_key, 250, [event] * 10, [[1, bytes(32)]], bytes(32)],
        [good_key, 1, [[1, 2**63, b""]], [[1, bytes(32)]], bytes(32)],
    ]
    for fields in hostile:
        with pytest.raises(NotCanonical):
            read_frame(pack(fields))
    for data in (b"", b"\xc1", b"\x90" * 2000, b"\xdf\xff\xff\xff\xff", b"\xc7\x01\x05\x00"):
        with pytest.raises(NotCanonical):
            read_frame(data)


def test_a_restore_never_overwrites_silently(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "language", "English")
        memory.backup(tmp_path / "backup.db")
        with pytest.raises(InvalidInput, match="exists already"):
            memory.backup(tmp_path / "backup.db")
    with pytest.raises(InvalidInput, match="overwrite"):
        restore(tmp_path / "backup.db", tmp_path / "a.db")
    with pytest.raises(FileError, match="no backup"):
        restore(tmp_path / "missing.db", tmp_path / "b.db")
    (tmp_path / "text.db").write_text("not a database" * 100)
    with pytest.raises(NotAReplica):
        restore(tmp_path / "text.db", tmp_path / "b.db")
    assert not (tmp_path / "b.db").exists()


def test_long_names_at_the_limit_are_kept(memory: Memory) -> None:
    name = "é" * 512
    memory.remember(name, name, "x" * 48_000)
    assert [belief.value for belief in memory.beliefs(name)] == ["x" * 48_000]
