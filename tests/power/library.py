"""``apsw`` in the place of the library's SQLite: what of the standard's interface the library uses, and no more.

:func:`install` must run before ``syncmem`` is imported; from then on this process has one SQLite library.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import apsw
import apsw.ext

from tests.power.disk import DISKS, VFS, PowerVFS


class Error(Exception):
    sqlite_errorcode = 0
    sqlite_errorname = ""


class DatabaseError(Error):
    pass


class OperationalError(DatabaseError):
    pass


class IntegrityError(DatabaseError):
    pass


class ProgrammingError(DatabaseError):
    pass


_INTEGRITY = (apsw.SQLITE_CONSTRAINT, apsw.SQLITE_MISMATCH)
_MISUSE = (apsw.SQLITE_MISUSE, apsw.SQLITE_RANGE)
_NO_OPERATION = (apsw.SQLITE_CORRUPT, apsw.SQLITE_NOTADB)


@contextmanager
def _as_the_standard_says() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        code = getattr(error, "extendedresult", 0) or getattr(error, "result", 0) or apsw.SQLITE_MISUSE
        kind: type[Error] = OperationalError
        for codes, other in ((_INTEGRITY, IntegrityError), (_MISUSE, ProgrammingError), (_NO_OPERATION, DatabaseError)):
            if code & 0xFF in codes:
                kind = other
        told = kind(str(error))
        told.sqlite_errorcode = code
        names = apsw.mapping_extended_result_codes, apsw.mapping_result_codes
        told.sqlite_errorname = str(names[0].get(code) or names[1].get(code & 0xFF))
        raise told from error


class Cursor:
    def __init__(self, inner: apsw.Cursor, connection: apsw.Connection, sql: str = "") -> None:
        self._inner, self._connection, self._sql = inner, connection, sql
        self.rowcount = connection.changes()
        self.lastrowid = connection.last_insert_rowid()

    def fetchone(self) -> Any:
        with _as_the_standard_says():
            return self._inner.fetchone()

    def fetchall(self) -> list[Any]:
        with _as_the_standard_says():
            return list(self._inner.fetchall())

    def __iter__(self) -> Iterator[Any]:
        with _as_the_standard_says():
            yield from self._inner

    @property
    def description(self) -> Any:
        """Also where there are no rows, or no more."""
        return apsw.ext.query_info(self._connection, self._sql).description


@dataclass
class Settings:
    """How files are opened: ``wal`` as by one process alone; what the library asks for, where it is overruled."""

    wal: bool = True
    synchronous: str | None = None
    checkpoint_pages: int | None = None


settings = Settings()


class Connection:
    def __init__(self, address: str, **options: Any) -> None:
        parts = urlsplit(address)
        path = unquote(parts.path)
        flags = apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self._powered = bool(DISKS) and path.startswith(str(DISKS[-1].root))
        with _as_the_standard_says():
            name = {"vfs": VFS} if self._powered else {}
            self.inner = apsw.Connection(address, flags=flags, statementcachesize=512, **name)
            if self._powered and settings.wal:
                self.inner.execute("PRAGMA locking_mode = EXCLUSIVE")

    def execute(self, sql: str, parameters: Any = ()) -> Cursor:
        if sql.startswith("PRAGMA") and self._powered:
            sql = _overruled(sql)
        with _as_the_standard_says():
            return Cursor(self.inner.execute(sql, parameters), self.inner, sql)

    def cursor(self) -> Connection:
        """What executes one statement after the other: the connection itself."""
        return self

    def executemany(self, sql: str, rows: Iterable[Any]) -> Cursor:
        with _as_the_standard_says():
            return Cursor(self.inner.executemany(sql, rows), self.inner)

    def backup(self, target: Connection) -> None:
        with _as_the_standard_says():
            copying = target.inner.backup("main", self.inner, "main")
            try:
                copying.step()
            finally:
                with suppress(apsw.Error, SystemError):  # what step() has told already
                    copying.close(True)

    def enable_load_extension(self, enable: bool) -> None:
        raise AttributeError("none here")

    @property
    def in_transaction(self) -> bool:
        return self.inner.in_transaction

    def close(self) -> None:
        """SQLite closes whatever the disk says: what could not be tidied up is there for the next opening."""
        with suppress(apsw.Error):
            self.inner.close(True)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *about: object) -> None:
        """The library begins and ends its transactions itself."""


def _overruled(sql: str) -> str:
    if settings.synchronous is not None and "synchronous" in sql:
        return f"PRAGMA synchronous = {settings.synchronous}"
    if settings.checkpoint_pages is not None and "wal_autocheckpoint" in sql:
        return f"PRAGMA wal_autocheckpoint = {settings.checkpoint_pages}"
    return sql


def install() -> None:
    """Make this the first library that the library looks for."""
    assert not any(name.startswith("syncmem.replica") for name in sys.modules), "too late: it has chosen another"
    PowerDoor.append(PowerVFS())
    module = ModuleType("sqlcipher3.dbapi2")
    module.__dict__.update(
        sqlite_version=apsw.sqlite_lib_version(),
        sqlite_version_info=tuple(int(part) for part in apsw.sqlite_lib_version().split(".")),
        connect=Connection,
        Connection=Connection,
        Error=Error,
        DatabaseError=DatabaseError,
        OperationalError=OperationalError,
        IntegrityError=IntegrityError,
        ProgrammingError=ProgrammingError,
    )
    sys.modules["sqlcipher3"] = ModuleType("sqlcipher3")
    sys.modules["sqlcipher3.dbapi2"] = module


PowerDoor: list[PowerVFS] = []  # it must stay for as long as SQLite may use it
