"""One connection to the replica's file: transactions, waiting, and errors that say what to do.

Rules: every write is one ``BEGIN IMMEDIATE`` transaction that either happens whole or not at all;
waiting for another process is bounded; a driver error never reaches the caller as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from syncmem.environment import Environment
from syncmem.errors import (
    Busy,
    Closed,
    Damaged,
    DiskFull,
    FileError,
    InvalidInput,
    NotAReplica,
    ReadOnlyFile,
    SyncmemError,
)
from syncmem.replica import driver
from syncmem.replica.cipher import FileKey

WAIT_SECONDS: Final = 30.0  # how long a write waits for other processes
_PAUSE_SECONDS: Final = (0.001, 0.002, 0.004)  # who pauses longer than the others hardly ever gets its turn

_ADVICE: Final[dict[str, tuple[type[FileError], str]]] = {
    "SQLITE_BUSY": (Busy, "another process is writing; try again"),
    "SQLITE_LOCKED": (Busy, "another connection is writing; try again"),
    "SQLITE_FULL": (DiskFull, "the disk is full, nothing was written; free some space and try again"),
    "SQLITE_READONLY": (ReadOnlyFile, "the file or its folder is read-only; change its permissions or open another"),
    "SQLITE_CANTOPEN": (FileError, "the file cannot be opened; check that its folder exists and may be written"),
    "SQLITE_NOTADB": (NotAReplica, "the file is not a syncmem replica; choose another path"),
    "SQLITE_CORRUPT": (Damaged, "the file is damaged; run 'syncmem repair', or restore a backup"),
    "SQLITE_IOERR": (FileError, "the disk reported an error; check it, then open the replica again"),
}

# What the driver raises: where its message quotes damaged text, not even an error of its own.
FAILURES: Final = (driver.dbapi.Error, UnicodeDecodeError)


def translated(error: Exception) -> Exception:
    """The library's error for a driver's error, or the error itself where it is not one."""
    name = getattr(error, "sqlite_errorname", None) or ""
    for prefix, (kind, advice) in _ADVICE.items():
        if name.startswith(prefix):
            return kind(f"{error}; {advice}")
    if isinstance(error, (driver.dbapi.DatabaseError, UnicodeDecodeError)) and not isinstance(error, _OUR_FAULT):
        return Damaged(f"{error}; the file is not as it was left: run 'syncmem repair', or restore a backup")
    return error


def opened(
    path: str,
    key: FileKey | None,
    *,
    read_only: bool = False,
    admit: Callable[[driver.Connection], None] = driver.admit_any,
) -> driver.Connection:
    """A connection; where the file is none to this key, the error that says why."""
    try:
        return driver.connect(path, key=key, read_only=read_only, admit=admit)
    except driver.dbapi.DatabaseError as error:
        if isinstance(translated(error), NotAReplica):
            raise driver.refused(path, key) from error
        raise


def _unaskable(error: Exception) -> InvalidInput:
    """What no file can hold, none needs to be asked for."""
    return InvalidInput(f"{error}; pass text without half surrogate pairs, and numbers of 64 bits")


_OUR_FAULT: Final = (driver.dbapi.IntegrityError, driver.dbapi.ProgrammingError)


class Database:
    """A connection with bounded waiting. Not safe for threads by itself: its owner holds a lock."""

    def __init__(
        self,
        path: str,
        environment: Environment,
        *,
        key: FileKey | None = None,
        wait_seconds: float = WAIT_SECONDS,
        admit: Callable[[driver.Connection], None] = driver.admit_any,
    ) -> None:
        self.path = path
        self.key = key
        self._environment = environment
        self.disk = environment.disk
        self._wait_seconds = wait_seconds
        self._process = environment.process_id()
        self._closed = False
        self.in_transaction = False
        self._in_snapshot = False
        self._files = ("", "")
        self._log = ""
        self._connection: driver.Connection = self._patiently(lambda: opened(path, key, admit=admit))
        self._reader = self._connection.cursor()  # one for all that is read whole: to make one takes as long as a step

    def execute(self, sql: str, parameters: tuple[Any, ...] | dict[str, Any] = ()) -> Any:
        """Run one statement; the cursor. Raises the library's errors."""
        try:
            return self._connection.execute(sql, parameters)
        except FAILURES as error:
            raise self._refusal(error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise _unaskable(error) from error

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        """All rows of one statement: the short way of what is read often."""
        try:
            found: list[Any] = self._reader.execute(sql, parameters).fetchall()
            return found
        except FAILURES as error:
            raise self._refusal(error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise _unaskable(error) from error

    def executemany(self, sql: str, rows: Iterable[tuple[Any, ...]]) -> None:
        try:
            self._connection.executemany(sql, rows)
        except FAILURES as error:
            raise self._refusal(error) from error

    @property
    def raw(self) -> driver.Connection:
        """The driver's connection, for the migrations and the online backup."""
        self.check_usable()
        return self._connection

    def data_version(self) -> int:
        """Changes whenever another connection has committed."""
        return int(self.execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One write transaction: committed (durably) at the end, rolled back on any exception."""
        self.check_usable()
        if self._in_snapshot:
            self.execute("COMMIT")
            self._in_snapshot = False
        self._patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"))
        self.in_transaction = True
        try:
            yield
            self.check_whole()
            self._patiently(lambda: self._connection.execute("COMMIT"))
        except FAILURES as error:  # met while rows were fetched
            self._roll_back()
            raise self._refusal(error) from error
        except BaseException:
            self._roll_back()
            raise
        finally:
            self.in_transaction = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Several readings of one state of the file, whatever other processes write meanwhile.

        A transaction in between ends it: who writes has the latest state, and reads on in what comes of it.
        """
        if self.in_transaction or self._in_snapshot:
            yield
            return
        self.execute("BEGIN")
        self._in_snapshot = True
        try:
            yield
            if self._in_snapshot:
                self.execute("COMMIT")  # nothing was written but perhaps temporary tables
        except FAILURES as error:
            self._roll_back()
            raise self._refusal(error) from error
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._in_snapshot = False

    def rewrite(self) -> None:
        """Write the whole file anew, so that nothing of what was deleted is left between its rows.

        Raises:
            Busy: another process is writing, or (without write-ahead logging) reading.
        """
        self.check_usable()
        self.execute("VACUUM")

    def empty_log(self) -> bool:
        """Move the write-ahead log into the file and cut it to nothing; whether no reader held that up."""
        self.check_usable()
        held_up = self.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not held_up

    def note_files(self) -> None:
        """The file and its write-ahead log, as they are now, are those that this connection has open."""
        self._log = f"{os.path.realpath(self.path)}-wal"
        self._files = self._identities()

    def check_same_files(self) -> None:
        """Refuse to write into files that are no longer those under their names.

        A write-ahead log goes from under a connection when its locks are gone: a second SQLite library in this
        process that opens and closes the file drops them, and then another process tidies up.
        """
        files = self._identities()
        if files[0] != self._files[0] or self._files[1] not in ("", files[1]):
            raise Closed("the file was replaced or removed while it was open, nothing was written; open it again")
        self._files = files

    def _identities(self) -> tuple[str, str]:
        return self.disk.identity(self.path), self.disk.identity(self._log)

    def check_whole(self) -> None:
        """After some failures SQLite ends a transaction by itself; what would follow must not stand alone.

        Raises:
            FileError: it has done so.
        """
        if self.is_rolled_back:
            raise FileError(
                "the transaction ended when a write in it failed, and nothing of it was written; see to what that "
                "error said, then begin the transaction again"
            )

    @property
    def is_rolled_back(self) -> bool:
        """Whether SQLite has ended the transaction that is under way here."""
        return self.in_transaction and not self._connection.in_transaction

    @contextmanager
    def taken_up(self) -> Iterator[None]:
        """The first readings of a file; where they fail, it is closed, and the error says what is wrong with it."""
        try:
            yield
        except Exception as error:
            why = self._explained(error)
            self.close()
            if why is error:
                raise
            raise why from error
        except BaseException:
            self.close()
            raise

    def _explained(self, error: Exception) -> Exception:
        """A driver's error in our words; damage, where rows misled us."""
        known = translated(error)
        if known is not error or isinstance(error, SyncmemError):
            return known
        try:
            damage = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except FAILURES as worse:
            return translated(worse)
        return error if damage == "ok" else translated(driver.dbapi.DatabaseError(damage))

    def check_usable(self) -> None:
        if self._closed:
            raise Closed("the replica is closed; open it again")
        if self._environment.process_id() != self._process:
            raise Closed("the replica was opened before a fork; open it again in this process")

    def close(self) -> None:
        if not self._closed and self._environment.process_id() == self._process:
            self._connection.close()
        self._closed = True

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except FAILURES as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> Exception:
        if self._closed:
            return Closed("the replica is closed; open it again")
        return translated(error)

    def _patiently(self, action: Callable[[], Any]) -> Any:
        """Repeat ``action`` while another process holds the lock, with growing, uneven pauses."""
        clock = self._environment.clock
        deadline = clock.elapsed() + self._wait_seconds
        tries = 0
        while True:
            try:
                return action()
            except FAILURES as error:
                refusal = translated(error)
                if not isinstance(refusal, Busy) or clock.elapsed() >= deadline:
                    raise refusal from error
            pause = _PAUSE_SECONDS[min(tries, len(_PAUSE_SECONDS) - 1)]
            clock.sleep(pause * (0.5 + self._environment.randomness(1)[0] / 255))
            tries += 1
