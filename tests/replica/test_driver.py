"""The SQLite library is chosen by what it can do, and every file opens with the settings a replica needs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from syncmem.errors import InvalidInput, NewerFile
from syncmem.replica import driver as sqlite
from syncmem.replica.driver import Connection, connect, dbapi, driver, wal_is_safe

Opening = Callable[..., Connection]

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="Windows has no such file names")
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="other file systems take only Unicode names")
WAL_ONLY = pytest.mark.skipif(not driver().wal_safe, reason="this SQLite library has the WAL-reset bug")


@pytest.fixture
def opened() -> Iterator[Opening]:
    """Opens connections and closes them all at the end."""
    connections: list[Connection] = []

    def opening(path: Path | str, **options: object) -> Connection:
        connections.append(connect(str(path), **options))  # type: ignore[arg-type]
        return connections[-1]

    yield opening
    for connection in connections:
        connection.close()


@pytest.fixture
def unsafe_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the library had the WAL-reset bug."""
    affected = replace(driver(), wal_safe=False)
    monkeypatch.setattr(sqlite, "driver", lambda: affected)


def value(connection: Connection, pragma: str) -> object:
    return connection.execute(f"PRAGMA {pragma}").fetchone()[0]


# -- which library, and what it can do ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 6, 23), True),  # before write-ahead logging
        ((3, 7, 0), False),
        ((3, 37, 2), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 44, 7), True),
        ((3, 45, 0), False),
        ((3, 46, 1), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 50, 8), True),
        ((3, 51, 0), False),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((3, 53, 4), True),
        ((4, 0, 0), True),
    ],
)
def test_each_version_is_judged_by_the_table_of_the_wal_reset_bug(version: tuple[int, ...], safe: bool) -> None:
    assert wal_is_safe(version) is safe


def test_the_driver_tells_the_version_that_really_runs() -> None:
    connection = dbapi.connect(":memory:")
    running = connection.execute("SELECT sqlite_version()").fetchone()[0]
    connection.close()

    assert driver().version == running
    assert driver().version_info == tuple(int(part) for part in running.split("."))
    assert driver().wal_safe is wal_is_safe(driver().version_info)


def test_what_the_driver_says_it_can_do_works(opened: Opening) -> None:
    connection = opened(":memory:")
    if driver().extensions:
        connection.enable_load_extension(True)
        connection.enable_load_extension(False)
    if driver().fts5:
        connection.execute("CREATE VIRTUAL TABLE text USING fts5(body)")
    if driver().fts5_secure_delete:
        connection.execute("INSERT INTO text(text, rank) VALUES ('secure-delete', 1)")


@pytest.mark.parametrize(
    ("missing", "expected"),
    [((), driver().name), (("pysqlite3", "sqlcipher3"), "sqlite3")],
    ids=["as installed", "only the standard library"],
)
def test_the_first_library_that_is_there_is_taken_and_keeps_its_promises(
    missing: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    program = f"""
import sys
for name in {missing!r}:
    sys.modules[name] = None
from syncmem.replica.driver import connect, driver
connection = connect(sys.argv[1])
journal = connection.execute("PRAGMA journal_mode").fetchone()[0]
synchronous = connection.execute("PRAGMA synchronous").fetchone()[0]
print(driver().name, driver().wal_safe, journal, synchronous)
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "replica.db")],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    name, safe, journal, synchronous = run.stdout.split()
    assert name == expected
    assert (journal, synchronous) == (("wal", "2") if safe == "True" else ("truncate", "3"))


def test_a_library_with_the_wal_reset_bug_is_passed_over_for_a_sound_one() -> None:
    pytest.importorskip("sqlcipher3")
    pytest.importorskip("pysqlite3")
    program = (
        "import sqlcipher3.dbapi2\nsqlcipher3.dbapi2.sqlite_version_info = (3, 45, 0)\n"
        "from syncmem.replica.driver import driver\nprint(driver().name, driver().wal_safe, driver().cipher)"
    )
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert run.stdout.split() == ["pysqlite3", "True", "None"]


# -- settings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pragma", "expected"),
    [
        ("page_size", 4096),
        ("cache_size", -16384),
        ("foreign_keys", 1),
        ("fullfsync", 1),
        ("secure_delete", 1),
        ("temp_store", 2),
        ("trusted_schema", 0),
        ("busy_timeout", 0),
        ("wal_autocheckpoint", 4000),
        ("locking_mode", "normal"),
    ],
)
def test_a_new_file_has_the_setting_in_force(pragma: str, expected: object, opened: Opening, tmp_path: Path) -> None:
    connection = opened(tmp_path / "replica.db")
    connection.execute("CREATE TABLE events (id)")
    assert value(connection, pragma) == expected


@WAL_ONLY
def test_a_sound_library_writes_ahead_and_syncs_each_commit(opened: Opening, tmp_path: Path) -> None:
    connection = opened(tmp_path / "replica.db")
    assert (value(connection, "journal_mode"), value(connection, "synchronous")) == ("wal", 2)


@pytest.mark.usefixtures("unsafe_library")
def test_an_affected_library_keeps_a_rollback_journal_and_syncs_the_folder_too(opened: Opening, tmp_path: Path) -> None:
    connection = opened(tmp_path / "replica.db")
    assert (value(connection, "journal_mode"), value(connection, "synchronous")) == ("truncate", 3)


def test_transactions_begin_only_by_hand(opened: Opening, tmp_path: Path) -> None:
    connection = opened(tmp_path / "replica.db")
    connection.execute("CREATE TABLE events (id)")
    connection.execute("INSERT INTO events VALUES (1)")
    assert not connection.in_transaction


# -- names of files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "plain.db",
        "two words.db",
        "50%.db",
        "%41.db",
        "hash#tag.db",
        "a&mode=memory.db",
        "it's;here.db",
        "память-記憶.db",
        "-dash.db",
        pytest.param("what?mode=memory.db", marks=POSIX_ONLY),
        pytest.param("file:other.db", marks=POSIX_ONLY),
        pytest.param('"quoted".db', marks=POSIX_ONLY),
        pytest.param("back\\slash.db", marks=POSIX_ONLY),
        pytest.param("two\nlines.db", marks=POSIX_ONLY),
        pytest.param(os.fsdecode(b"not-utf8-\xff.db") if os.name == "posix" else "", marks=LINUX_ONLY),
    ],
)
def test_an_odd_name_opens_exactly_that_file(name: str, opened: Opening, tmp_path: Path) -> None:
    path = tmp_path / name
    opened(path).execute("CREATE TABLE events (id)")

    files = {entry for entry in os.listdir(tmp_path) if not entry.endswith(("-wal", "-shm", "-journal"))}
    assert files == {name}
    assert opened(path, read_only=True).execute("SELECT count(*) FROM events").fetchone() == (0,)


def test_a_relative_name_is_taken_from_the_current_folder(
    opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened("replica.db")
    assert (tmp_path / "replica.db").exists()


def test_memory_has_no_file(opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    connection = opened(sqlite.MEMORY)
    connection.execute("CREATE TABLE events (id)")
    assert value(connection, "journal_mode") == "memory"
    assert os.listdir(tmp_path) == []


def test_a_nul_character_is_refused_before_it_shortens_the_name(opened: Opening, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        opened(f"{tmp_path}/replica\0.db")
    assert os.listdir(tmp_path) == []


# -- other processes, other files ---------------------------------------------------------------------


def test_a_file_opens_while_another_connection_writes(opened: Opening, tmp_path: Path) -> None:
    writer = opened(tmp_path / "replica.db")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("CREATE TABLE events (id)")

    newcomer = opened(tmp_path / "replica.db")
    with pytest.raises(dbapi.OperationalError, match="locked"):
        newcomer.execute("BEGIN IMMEDIATE")
    writer.execute("COMMIT")
    newcomer.execute("BEGIN IMMEDIATE")


@WAL_ONLY
def test_a_rollback_file_with_a_writer_opens_as_it_is_and_writes_ahead_next_time(
    opened: Opening, tmp_path: Path
) -> None:
    path = tmp_path / "replica.db"
    writer = dbapi.connect(str(path), isolation_level=None)
    writer.execute("CREATE TABLE events (id)")
    writer.execute("BEGIN IMMEDIATE")

    during = opened(path)
    assert (value(during, "journal_mode"), value(during, "synchronous")) == ("truncate", 3)
    writer.execute("COMMIT")
    writer.close()
    assert value(opened(path), "journal_mode") == "wal"


@WAL_ONLY
def test_an_affected_library_stays_out_of_a_file_that_others_write_ahead(
    opened: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "replica.db"
    sound = connect(str(path))
    sound.execute("CREATE TABLE events (id)")
    affected = replace(driver(), wal_safe=False)
    monkeypatch.setattr(sqlite, "driver", lambda: affected)

    with pytest.raises(dbapi.OperationalError, match="locked"):
        opened(path)
    sound.close()
    assert value(opened(path), "journal_mode") == "truncate"


def test_a_refused_file_keeps_every_byte(opened: Opening, tmp_path: Path) -> None:
    path = tmp_path / "somebody-elses.db"
    other = dbapi.connect(str(path), isolation_level=None)
    other.execute("CREATE TABLE notes (body)")
    other.execute("PRAGMA user_version = 99")
    other.close()
    before = path.read_bytes()

    def refuse_newer(connection: Connection) -> None:
        if connection.execute("PRAGMA user_version").fetchone()[0] > 1:
            raise NewerFile("written by a newer version; update syncmem")

    with pytest.raises(NewerFile):
        opened(path, admit=refuse_newer)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_that_is_no_database_is_refused_and_keeps_every_byte(opened: Opening, tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(b"Dear reader, " * 1000)
    with pytest.raises(dbapi.DatabaseError, match="not a database"):
        opened(path)
    assert path.read_bytes() == b"Dear reader, " * 1000


def test_reading_only_neither_creates_nor_changes(opened: Opening, tmp_path: Path) -> None:
    with pytest.raises(dbapi.OperationalError):
        opened(tmp_path / "missing.db", read_only=True)
    assert os.listdir(tmp_path) == []

    opened(tmp_path / "replica.db").execute("CREATE TABLE events (id)")
    reader = opened(tmp_path / "replica.db", read_only=True)
    with pytest.raises(dbapi.OperationalError, match="readonly"):
        reader.execute("INSERT INTO events VALUES (1)")
