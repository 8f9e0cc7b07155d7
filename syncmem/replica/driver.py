"""The one door to SQLite: which library this process uses, and how a replica's file is opened.

Rules:

* One SQLite library per process: two of them on one file drop each other's POSIX locks.  It is chosen
  once, on import; everything else takes :data:`dbapi` and :data:`Connection` from here.
* What the library can do is found by its version and by trying, never by the package's name.
* Write-ahead logging is used only where it is sound (:func:`wal_is_safe`); elsewhere a rollback
  journal with the strictest synchronisation gives the same promises at about three times the price.
* Nothing waits here: a lock that another process holds is an error at once, and the caller's to retry.

A process whose library is *not* safe follows into write-ahead logging when a safe one turns the file
to it later; no setting prevents that, so all programs on one file should have a safe library.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote

from syncmem.errors import InvalidInput

if TYPE_CHECKING:
    import sqlite3 as dbapi  # noqa: TID251  the shape of all three
else:
    try:
        import pysqlite3.dbapi2 as dbapi  # noqa: TID251
    except ImportError:
        try:
            import sqlcipher3.dbapi2 as dbapi  # noqa: TID251
        except ImportError:
            import sqlite3 as dbapi  # noqa: TID251

__all__ = ["MEMORY", "Connection", "Driver", "admit_any", "connect", "dbapi", "driver", "wal_is_safe"]

Connection: TypeAlias = dbapi.Connection
VersionInfo: TypeAlias = tuple[int, ...]

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

_BUSY: Final = 5  # SQLITE_BUSY; the upper bits of an extended code say why

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
    """

    name: str
    version: str
    version_info: VersionInfo
    wal_safe: bool
    extensions: bool
    fts5: bool
    fts5_secure_delete: bool


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
        )
    finally:
        probe.close()


def wal_is_safe(version: VersionInfo) -> bool:
    """Whether SQLite ``version`` is free of the WAL-reset bug.

    >>> wal_is_safe((3, 51, 2)), wal_is_safe((3, 51, 3))
    (False, True)
    """
    return not any(first <= version < fixed for first, fixed in WAL_RESET_BUG)


def admit_any(connection: Connection) -> None:
    """Admits every file: the default of :func:`connect`."""


def connect(path: str, *, read_only: bool = False, admit: Callable[[Connection], None] = admit_any) -> Connection:
    """Open the file at ``path`` with every setting a replica needs; it is created unless ``read_only``.

    The connection commits by itself (begin transactions by hand), may move between threads but not be
    used by two at once, and never waits for a lock.  A file already in write-ahead logging opens while
    another process writes.  A file that cannot be turned to it just now, or whose file system has no
    shared memory, opens with a rollback journal; the next opening tries again.

    Args:
        path: any file name, relative or not; ``":memory:"`` for none.
        read_only: fail on every write; the journal stays as it is.
        admit: looks at the open connection before anything can change the file, and raises to refuse it.

    Raises:
        InvalidInput: the path holds a NUL character.
        dbapi.OperationalError: no such file or folder, or another process holds the lock that is needed
            (``sqlite_errorcode`` 5); the caller may try again, nothing was changed.
        dbapi.DatabaseError: the file is not a database.
    """
    connection = dbapi.connect(
        _uri(path, read_only=read_only),
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS,
    )
    try:
        for pragma in _PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
        admit(connection)
        if not read_only:
            _set_journal(connection)
    except BaseException:
        connection.close()
        raise
    return connection


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


def _uri(path: str, *, read_only: bool) -> str:
    """``path`` as SQLite's URI, so that no character of a file's name has a meaning of its own."""
    if "\0" in path:
        raise InvalidInput("a path cannot hold a NUL character; give the file another name")
    name = path if path == MEMORY else Path(path).absolute().as_posix()
    root = "//" if name.startswith("/") else "///" if name != MEMORY else ""
    return f"file:{root}{quote(os.fsencode(name))}?mode={'ro' if read_only else 'rwc'}"


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
