"""Every limit has a name and a clear error that ends with the next step, and nothing is changed by it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
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
from syncmem.model.event import ClockNote, Define, Frontier, Kind, Ref, Retract, Statement, Undo
from syncmem.model.instant import LATEST
from syncmem.replica.bundle import MAGIC
from syncmem.replica.driver import dbapi
from tests.world import ENTITY, ORIGIN, PREDICATE, Writer, sorted_keys

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
    "a predicate's description that is too long": lambda m: m.define(
        "p", cardinality="single", description="x" * 70_000
    ),
    "a predicate's description with half a surrogate pair": lambda m: m.define(
        "p", cardinality="single", description="\ud800"
    ),
    "a predicate that is sensitive in words": lambda m: m.define("p", cardinality="single", sensitive="yes"),  # type: ignore[arg-type]
    "names after half a surrogate pair": lambda m: m.names(after="\ud800"),
    "the read log before a number over 64 bits": lambda m: m.read_log(before=2**64),
    "what is contested in half a surrogate pair": lambda m: m.contested(scope="\ud800"),
    "a reason over 8 KiB": remembering(reason="x" * 9_000),
    "more events than one retraction can name": lambda m: m.retract(*[m.history("ana", "home_city")[-1].event] * 2_500),
    "an offset that is no duration": lambda m: m.correct_clock(m.history("ana", "home_city")[-1].event, 5),  # type: ignore[arg-type]
    "an offset beyond all calendars": lambda m: m.correct_clock(
        m.history("ana", "home_city")[-1].event, timedelta(days=999_999_999)
    ),
    "an offset beyond the year 9999": lambda m: m.correct_clock(
        m.history("ana", "home_city")[-1].event, timedelta(days=365 * 8_500)
    ),
    "a ttl beyond the year 9999": remembering(ttl="P3000000D"),
    "a correction in another scope": lambda m: m.correct(m.history("ana", "home_city")[-1].event, "x", scope="work"),
    "one scope where several are listed": lambda m: m.export_bundle("never-written.bundle", scopes="vault"),
    "retract without anything": lambda m: m.retract(),
    "known_at and asserted_by": lambda m: m.believe("ana", "home_city", known_at=1, asserted_by="2025-01-01T00:00Z"),
    "why of an entity alone": lambda m: m.why("ana"),
}
UNKNOWN: dict[str, Write] = {
    "an event that never was": lambda m: m.undo("5f3a9c01b2d4-42"),
    "an id that is none": lambda m: m.retract("hello"),
    "an event beyond the log": lambda m: m.undo(m.history("ana", "home_city")[-1].event.split("-")[0] + "-999"),
    "a batch that never was": lambda m: m.retract(batch="import-9"),
    "a device that never was": lambda m: m.believe("ana", "home_city", device="ffffff"),
}


ODD: dict[str, Write] = {  # refused or not, but never an error of another kind
    "a transaction over 64 bits": lambda m: m.believe("ana", "home_city", known_at=2**70),
    "a negative transaction": lambda m: m.believe("ana", "home_city", known_at=-1),
    "a device that is a number": lambda m: m.believe("ana", "home_city", device=5),  # type: ignore[arg-type]
    "an id with a number that is too large": lambda m: m.undo("5f3a9c01b2d4-" + "9" * 40),
    "an id that is a number": lambda m: m.undo(7),  # type: ignore[arg-type]
    "a list of ids": lambda m: m.retract([m.history("ana", "home_city")[-1].event]),  # type: ignore[arg-type]
    "a folder as bundle": lambda m: m.import_bundle(Path(__file__).parent),
    "a bundle into nowhere": lambda m: m.export_bundle(Path(__file__) / "nowhere"),
    "a backup into nowhere": lambda m: m.backup(Path(__file__) / "nowhere"),
    "a merge with a path": lambda m: m.merge("a.db"),  # type: ignore[arg-type]
    "why of nothing": lambda m: m.why(None),  # type: ignore[arg-type]
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


@pytest.mark.parametrize("case", ODD)
def test_odd_input_never_raises_an_error_of_another_kind(memory: Memory, case: str) -> None:
    before = state(memory)
    try:
        ODD[case](memory)
    except SyncmemError as error:
        assert ";" in str(error)
        assert state(memory) == before


def test_an_event_that_no_device_could_read_is_never_written(memory: Memory) -> None:
    before = state(memory)
    beyond = Statement("ana", "home_city", "x", 0, None, LATEST + 1, None, None, 0, 90, None, None, None, None, None)
    with pytest.raises(InvalidInput, match="no device could read this event"), memory.transaction():
        memory._replica.append("vault", [(Kind.CLAIM, beyond)])
    assert state(memory) == before


@pytest.mark.parametrize("last", ["9999-12-31", "9999", "9999-12-31T23:59Z", date.max])
def test_a_date_that_ends_with_the_year_9999_reaches_every_device(memory: Memory, last: str | date) -> None:
    memory.define("employer", cardinality="single")
    memory.remember("ana", "home_city", "Porto", changed_on=last, zone="UTC")
    memory.remember("ana", "employer", "Acme", since="2021", until=last, then="vacate", zone="UTC")
    with Memory(":memory:") as other:
        other.merge(memory)
        assert other.belief_digest() == memory.belief_digest()
        assert [belief.value for belief in other.timeline("ana", "home_city")] == ["Lisbon", "Porto"]
        (belief,) = other.timeline("ana", "employer")
        assert (belief.value, belief.valid_to) == ("Acme", None), "it has no end"
        assert other.history("ana", "employer")[-1].value == "Acme"


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


def test_what_another_process_locks_can_be_read_and_is_busy_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "language", "English")
    code = (
        "import sys\nfrom syncmem.replica.driver import dbapi\n"
        "holder = dbapi.connect(sys.argv[1], isolation_level=None)\nholder.execute('BEGIN IMMEDIATE')\n"
        "print('locked', flush=True)\nsys.stdin.read()\nholder.execute('ROLLBACK')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-c", code, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as holder:  # type: ignore[call-overload]
        assert holder.stdout.readline() == "locked\n"
        with Memory(path, wait_seconds=0.1) as memory:
            before = state(memory)
            with pytest.raises(Busy, match=";"):
                memory.remember("ana", "language", "Portuguese")
            assert state(memory) == before
            assert [belief.value for belief in memory.beliefs("ana", "language")] == ["English"]
            holder.communicate("", timeout=30)
            memory.remember("ana", "language", "Portuguese")


def newer(path: Path) -> None:
    Memory(path).close()
    with dbapi.connect(str(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


def foreign(path: Path) -> None:
    with dbapi.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()


def cut_short(path: Path) -> None:
    with Memory(path) as memory, memory.transaction():
        for number in range(200):
            memory.remember(f"person {number}", "language", "English")
    path.write_bytes(path.read_bytes()[: 3 * 4096])


UNUSABLE: dict[str, Callable[[Path], Any]] = {
    "a newer file": newer,
    "a database of something else": foreign,
    "a text": lambda path: path.write_text("Dear diary, " * 100),
    "a short text": lambda path: path.write_text("Hi"),
    "a folder": lambda path: path.mkdir(),
    "a file that was cut short": cut_short,
    "a file whose first page is gone": lambda path: (cut_short(path), path.write_bytes(bytes(4096) + b"x" * 8192)),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_file_that_cannot_be_used_is_named_and_left_as_it_is(tmp_path: Path, case: str) -> None:
    path = tmp_path / "a.db"
    UNUSABLE[case](path)
    before = None if path.is_dir() else path.read_bytes()
    with pytest.raises(FileError, match=";"), Memory(path) as memory:
        memory.beliefs("person 150")
        memory.remember("person 150", "language", "French")
    assert before is None or path.read_bytes() == before


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


def test_a_page_that_is_damaged_is_told_in_words_wherever_it_is_met(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "language", "English")
    whole = path.read_bytes()
    refused = 0
    for page in range(1, len(whole) // 4096):
        path.write_bytes(whole[: 4096 * page] + b"\xff" * 4096 + whole[4096 * (page + 1) :])
        try:
            with Memory(path) as memory:
                memory.beliefs("ana")
                memory.remember("ana", "language", "French")
        except SyncmemError as error:
            assert ";" in str(error)
            refused += 1
    assert refused > 5


def test_a_memory_behind_a_link_is_the_same_device(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "disk" / "real.db")
    devices = set()
    for path in (tmp_path / "disk" / "real.db", tmp_path / "link.db") * 2:
        with Memory(path) as memory:
            memory.remember("ana", "language", "English")
            devices.add(memory.device)
    assert len(devices) == 1
    assert [path.name for path in tmp_path.iterdir() if path.name != "disk"] == ["link.db"]


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


# -- what a peer may send ------------------------------------------------------------------------------


def said(**differently: Any) -> Statement:
    statement = Statement(ENTITY, PREDICATE, "A", 0, None, None, None, None, 0, 50, None, None, None, None, None)
    return statement._replace(**differently)


NOWHERE = bytes(16)
POINTER: Any = [NOWHERE, 1, NOWHERE]
HOSTILE: dict[str, tuple[Kind, Any, int]] = {
    "a start after all calendars": (Kind.CLAIM, said(start=2**61), ORIGIN),
    "a start before all calendars": (Kind.CLAIM, said(start=-(2**61)), ORIGIN),
    "a stop after all calendars": (Kind.CLAIM, said(start=ORIGIN, stop=2**61, then=2), ORIGIN),
    "an observation before all calendars": (Kind.CLAIM, said(observed_at=-(2**61)), ORIGIN),
    "a clock after all calendars": (Kind.CLAIM, said(), 2**61),
    "a clock at its limit": (Kind.CLAIM, said(), 2**62 - 1),
    "a ttl after all calendars": (Kind.CLAIM, said(extra={"ttl": 2**60}), ORIGIN),
    "settings of wrong types": (
        Kind.CLAIM,
        said(extra={"ttl": "x", "stale_after": [], "stale_trust": "y", "span": 7, "episode": 7, "reason": 7}),
        ORIGIN,
    ),
    "bytes as value": (Kind.CLAIM, said(value=b"x"), ORIGIN),
    "a value nested too deep": (Kind.CLAIM, said(value=[[[[[[[[[[[[[[1]]]]]]]]]]]]]]), ORIGIN),
    "a value that is too long": (Kind.CLAIM, said(value="x" * 60_000), ORIGIN),
    "infinity": (Kind.CLAIM, said(value=float("inf")), ORIGIN),
    "an unknown form": (Kind.CLAIM, said(form=7, then=9), ORIGIN),
    "a reference beyond 64 bits": (Kind.CLAIM, said(refs=[Ref(NOWHERE, 2**63, NOWHERE)]), ORIGIN),
    "a reference before the first place": (Kind.CLAIM, said(refs=[Ref(NOWHERE, -5, NOWHERE)]), ORIGIN),
    "a reference into another log": (Kind.UNDO, Undo([Ref(NOWHERE, 2**41 + 1, NOWHERE)], 50, None, None, None), ORIGIN),
    "an undo with a pointer instead of a list of them": (Kind.UNDO, Undo(POINTER, 50, None, None, None), ORIGIN),
    "a retraction with a pointer instead of a list": (Kind.RETRACT, Retract(POINTER, 50, *[None] * 4), ORIGIN),
    "a claim that corrects a pointer, not a list": (Kind.CLAIM, said(refs=POINTER), ORIGIN),
    "an undo of nothing": (Kind.UNDO, Undo([], 50, None, None, None), ORIGIN),
    "a retraction of nothing": (Kind.RETRACT, Retract([], 50, None, None, None, None), ORIGIN),
    "a clock note over 64 bits": (Kind.CLOCK_NOTE, ClockNote(NOWHERE, 1, 9, 2**64 - 1, 95, None, None, None), ORIGIN),
    "a definition of odd things": (
        Kind.DEFINE,
        Define(PREDICATE, {"cardinality": 5, "equality": {"a": 1}, "ttl": "x", "then": []}, 95, None, None, None, None),
        ORIGIN,
    ),
    "a note of a device that is ahead of everything": (
        Kind.FRONTIER,
        Frontier(2**63, -1, [[b"x", -5, b"y"]], None),
        ORIGIN,
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_one_odd_event_of_a_peer_spoils_nothing_else(case: str) -> None:
    kind, payload, clock = HOSTILE[case]
    writer = Writer(sorted_keys(1)[0])
    writer.write(Kind.CLAIM, said(value="before"), ORIGIN)
    writer.write(kind, payload, clock)
    writer.write(Kind.CLAIM, said(value="after", predicate="other"), ORIGIN)
    with Memory(":memory:") as memory, Memory(":memory:") as third:
        list(memory._replica.receive(writer.frames()))
        assert memory.beliefs(ENTITY, "other")[0].value == "after"
        for read in (memory.timeline, memory.beliefs, memory.history, memory.why):
            read(ENTITY, PREDICATE)
        memory.timeline(ENTITY, PREDICATE, asserted_by="2030-01-01T00:00Z")
        memory.timeline(ENTITY, PREDICATE, device=memory.devices()[-1].id)
        assert memory.doctor(full=True).facts["logs"][0]["continuous"]
        memory.remember(ENTITY, PREDICATE, "ours")
        third.merge(memory)
        memory.merge(third)
        assert third.event_digest() == memory.event_digest()
        before = memory.belief_digest()
        memory.rebuild()
        assert memory.belief_digest() == before == third.belief_digest()


@pytest.mark.parametrize("offset", [2**62, -(2**62), 2**50])
def test_a_clock_note_that_leads_out_of_all_calendars_spoils_no_reading(offset: int) -> None:
    writer = Writer(sorted_keys(1)[0])
    writer.write(Kind.CLAIM, said(value="before"), ORIGIN)
    writer.write(Kind.CLOCK_NOTE, ClockNote(writer.key.id, 1, 2**50, offset, 95, None, None, None), ORIGIN)
    with Memory(":memory:") as memory:
        list(memory._replica.receive(writer.frames()))
        memory.timeline(ENTITY, PREDICATE)
        memory.history(ENTITY, PREDICATE)
        memory.devices()


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
