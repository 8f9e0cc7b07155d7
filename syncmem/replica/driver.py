"""The one door to SQLite: which library this process uses, and how a replica's file is opened.

Rules:

* One SQLite library per process: two of them on one file drop each other's POSIX locks.  It is chosen
  once, on import; everything else takes :data:`dbapi` and :data:`Connection` from here.  So where SQLCipher is
  installed it opens plain files as well, and no process ever has two libraries on one file.
* What the library can do is found by its version and by trying, never by the package's name.
* Write-ahead logging is used only where it is sound (:func:`wal_is_safe`); elsewhere a rollback
  journal with the strictest synchronisation gives the same promises at about three times the price.
* A file that is refused (no database, or the key does not fit) is not changed, whatever write-ahead log was left
  beside it.  A rollback journal that a crash left is played back, as every opening does: that needs no key.
* Nothing waits here: a lock that another process holds is an error at once, and the caller's to retry.

A process whose library is *not* safe follows into write-ahead logging when a safe one turns the file
to it later; no setting prevents that, so all programs on one file should have a safe library.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote

from syncmem.errors import InvalidInput, NotAReplica, WrongKey
from syncmem.private import make_file
from syncmem.replica.cipher import FileKey

__all__ = ["MEMORY", "Connection", "Driver", "admit_any", "connect", "dbapi", "driver", "refused", "wal_is_safe"]

VersionInfo: TypeAlias = tuple[int, ...]

LIBRARIES: Final = ("sqlcipher3", "pysqlite3", "sqlite3")  # the first that is there and whose write-ahead log is sound
MEMORY: Final = ":memory:"  # the path of a replica without a file, for tests and trials
CACHED_STATEMENTS: Final = 512  # above the number of distinct statements, so that none is prepared twice
CACHE_KIB: Final = 16 * 1024  # page cache of one connection
WAL_PAGES: Final = 4_000  # 16 MiB; a merge writes 500 pages a commit, and what is written twice is moved once
PAGE_BYTES: Final = 4096  # SQLite's default and the page of most file systems

# The WAL-reset bug: two connections that write and checkpoint at once may corrupt the file.
# Each row: the first version with it, the first without.
WAL_RESET_BUG: Final[tuple[tuple[VersionInfo, VersionInfo], ...]] = (
    ((3, 7, 0), (3, 44, 6)),
    ((3, 45, 0), (3, 50, 7)),
    ((3, 51, 0), (3, 51, 3)),
)


def wal_is_safe(version: VersionInfo) -> bool:
    """Whether SQLite ``version`` is free of the WAL-reset bug.

    >>> wal_is_safe((3, 51, 2)), wal_is_safe((3, 51, 3))
    (False, True)
    """
    return not any(first <= version < fixed for first, fixed in WAL_RESET_BUG)


if TYPE_CHECKING:
    import sqlite3 as dbapi  # noqa: TID251  the shape of all three
else:

    def _library():
        """The library of this process: a sound one if there is any."""
        found = []
        for name in LIBRARIES:
            with contextlib.suppress(ImportError):
                found.append(import_module(f"{name}.dbapi2"))
                if wal_is_safe(found[-1].sqlite_version_info):
                    return found[-1]
        return found[0]

    dbapi = _library()

Connection: TypeAlias = dbapi.Connection

_BUSY: Final = 5  # SQLITE_BUSY; the upper bits of an extended code say why
_NOT_A_DATABASE: Final = 26  # SQLITE_NOTADB

_PRAGMAS: Final = (
    f"page_size = {PAGE_BYTES}",  # before the journal: write-ahead logging fixes it
    f"cache_size = -{CACHE_KIB}",
    "foreign_keys = ON",
    "fullfsync = ON",  # reaches the platter on macOS; no effect elsewhere
    "secure_delete = ON",  # what is erased is overwritten
    "temp_store = MEMORY",  # nothing of a replica lands in another folder
    f"wal_autocheckpoint = {WAL_PAGES}",
    "trusted_schema = OFF",  # a schema from elsewhere runs no function with side effects
)


@dataclass(frozen=True, slots=True)
class Driver:
    """The SQLite library of this process.

    Attributes:
        name: the package that brought it: ``pysqlite3``, ``sqlcipher3`` or ``sqlite3``.
        version: SQLite's own version, as ``"3.53.4"``.
        version_info: the same as numbers, to compare.
        wal_safe: write-ahead logging is sound in this version.
        extensions: loadable extensions (sqlite-vec) are possible.
        fts5: full-text search is there.
        fts5_secure_delete: full-text search can forget a text without a trace.
        cipher: SQLCipher's version, where the library can encrypt files; else None.
    """

    name: str
    version: str
    version_info: VersionInfo
    wal_safe: bool
    extensions: bool
    fts5: bool
    fts5_secure_delete: bool
    cipher: str | None


@cache
def driver() -> Driver:
    """What this process's SQLite library is and can do; found out once."""
    probe = dbapi.connect(MEMORY, isolation_level=None)
    try:
        fts5 = _runs(probe, "CREATE VIRTUAL TABLE probe USING fts5(text)")
        return Driver(
            name=dbapi.__name__.partition(".")[0],
            version=dbapi.sqlite_version,
            version_info=dbapi.sqlite_version_info,
            wal_safe=wal_is_safe(dbapi.sqlite_version_info),
            extensions=_can_load_extensions(probe),
            fts5=fts5,
            fts5_secure_delete=fts5 and _runs(probe, "INSERT INTO probe(probe, rank) VALUES ('secure-delete', 1)"),
            cipher=next((row[0] for row in probe.execute("PRAGMA cipher_version")), None),
        )
    finally:
        probe.close()


def admit_any(connection: Connection) -> None:
    """Admits every file: the default of :func:`connect`."""


def connect(
    path: str,
    *,
    key: FileKey | None = None,
    read_only: bool = False,
    cut_off: bool = False,
    admit: Callable[[Connection], None] = admit_any,
) -> Connection:
    """Open the file at ``path`` with every setting a replica needs; it is created unless ``read_only``.

    The connection commits by itself (begin transactions by hand), may move between threads but not be
    used by two at once, and never waits for a lock.  A file already in write-ahead logging opens while
    another process writes.  A file that cannot be turned to it just now, or whose file system has no
    shared memory, opens with a rollback journal; the next opening tries again.

    Args:
        path: any file name, relative or not; ``":memory:"`` for none.
        key: what the file is, or will be, encrypted with.
        read_only: fail on every write; the journal stays as it is.
        cut_off: read also a file that is shorter than it says.
        admit: looks at the open connection before anything can change the file, and raises to refuse it.

    Raises:
        InvalidInput: the path holds a NUL character, or there is a key and no library to use it.
        dbapi.OperationalError: no such file or folder, or another process holds the lock that is needed
            (``sqlite_errorcode`` 5); the caller may try again, nothing was changed.
        dbapi.DatabaseError: the file is not a database, or the key does not fit (:func:`refused` tells which).
    """
    if key is not None and driver().cipher is None:
        raise InvalidInput(
            f"{driver().name} {driver().version} cannot encrypt; install SQLCipher 4.19 (sqlcipher3 0.6.4) or later: "
            "pip install 'syncmem[cipher]'"
        )
    address = _uri(path, "ro" if read_only else "rwc")
    if not read_only and _left_behind(path):
        _look_first(path, key)
    if not read_only and path != MEMORY:
        make_file(path)  # the files that SQLite puts beside it get its mode
    connection = dbapi.connect(
        address,
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        if cut_off:
            connection.execute("PRAGMA writable_schema = ON")  # so SQLite goes by what is there
        if key is not None:
            _unlock(connection, key)
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        admit(connection)
        if not read_only:
            _set_journal(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def refused(path: str, key: FileKey | None) -> Exception:
    """Why a file is no database to this key, and what to do."""
    if key is None:
        size = os.path.getsize(path) if os.path.isfile(path) else 0
        if (
            size and size % PAGE_BYTES == 0
        ):  # as every database is; its first bytes must not be read past SQLite's locks
            return WrongKey(f"{path} is encrypted, or no syncmem replica; open it with key=, or choose another path")
        return NotAReplica(f"{path} is not a syncmem replica; choose another path")
    if not _is_plain(path):
        return WrongKey(f"the key does not open {path}; pass the right key=, or another path if it is no replica")
    return WrongKey(
        f"{path} is not encrypted; open it without key=, or make an encrypted copy with 'syncmem backup --encrypt'"
    )


def _is_plain(path: str) -> bool:
    """Whether the file is a database to everybody; nothing is made or locked to find that out."""
    connection = dbapi.connect(_uri(path, "ro&immutable=1"), uri=True)
    try:
        _read(connection)
    except dbapi.Error:
        return False
    finally:
        connection.close()
    return True


def encrypt(connection: Connection, path: str, key: FileKey) -> None:
    """Write what a plain database holds into an empty file as an encrypted one."""
    marks = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")}
    connection.execute(f"ATTACH DATABASE ? AS encrypted KEY {key.pragma}", (path,))
    try:
        connection.execute("SELECT sqlcipher_export('encrypted')").fetchall()
        for name, number in marks.items():
            connection.execute(f"PRAGMA encrypted.{name} = {number}")
    finally:
        connection.execute("DETACH DATABASE encrypted")


def _left_behind(path: str) -> bool:
    """Whether something beside the file is to be recovered, which the last to close the file would write into it."""
    real = os.path.realpath(path)
    return path != MEMORY and any(os.path.exists(f"{real}{suffix}") for suffix in ("-wal", "-journal"))


def _look_first(path: str, key: FileKey | None) -> None:
    """Refuse a file by a connection that can change nothing; whatever else may be wrong is for the real one to say."""
    try:
        connect(path, key=key, read_only=True, admit=_read).close()
    except dbapi.DatabaseError as error:
        if error.sqlite_errorcode == _NOT_A_DATABASE:
            raise


def _read(connection: Connection) -> None:
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _unlock(connection: Connection, key: FileKey) -> None:
    """Give the connection its key, before anything else; the library says nothing on standard error of its own."""
    connection.execute("PRAGMA cipher_log_level = NONE")
    connection.execute(f"PRAGMA key = {key.pragma}")
    _read(connection)


def _set_journal(connection: Connection) -> None:
    """The fastest journal that keeps a commit through a loss of power."""
    if driver().wal_safe and _turned_to_wal(connection):
        connection.execute("PRAGMA synchronous = FULL")
    else:
        connection.execute("PRAGMA journal_mode = TRUNCATE")
        connection.execute("PRAGMA synchronous = EXTRA")


def _turned_to_wal(connection: Connection) -> bool:
    """Whether the file is in write-ahead logging now; a rollback journal is as safe where it is not."""
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except dbapi.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == _BUSY:
            return False
        raise
    return bool(mode == "wal")


def _uri(path: str, mode: str) -> str:
    """``path`` as SQLite's URI, so that no character of a file's name has a meaning of its own."""
    if "\0" in path:
        raise InvalidInput("a path cannot hold a NUL character; give the file another name")
    name = path if path == MEMORY else Path(path).absolute().as_posix()
    root = "//" if name.startswith("/") else "///" if name != MEMORY else ""
    return f"file:{root}{quote(os.fsencode(name))}?mode={mode}"


def _can_load_extensions(connection: Connection) -> bool:
    """Many builds leave this out, some the method and some the code behind it."""
    try:
        connection.enable_load_extension(True)
        connection.enable_load_extension(False)
    except (AttributeError, dbapi.Error):
        return False
    return True


def _runs(connection: Connection, statement: str) -> bool:
    try:
        connection.execute(statement)
    except dbapi.Error:
        return False
    return True
