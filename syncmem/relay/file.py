"""The relay's file: one process has it, what is committed is on the disk, and its failures have words.

Rules: a second relay on the same folder is refused, and the lock goes with the process however it ends; what
an earlier process left in the journal is flushed before anything is said to be known; what the words of a
failure tell may be shown to anybody: no path, no content, no mailbox.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from syncmem.errors import Busy, Damaged, DiskFull, FileError, NewerFile, ReadOnlyFile
from syncmem.private import make_folder, open_new
from syncmem.replica.driver import PAGE_BYTES, Connection, connect, dbapi

FILE_NAME: Final = "relay.db"
VERSION: Final = 1  # of the tables
COPIED_PAGES: Final = 256  # at a time: a megabyte, then others have their turn

# SQLite's primary result codes
_PERM, _BUSY, _LOCKED, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 3, 5, 6, 8, 10, 11, 13, 14, 26
_WORDS: Final[dict[int, tuple[type[FileError], str]]] = {
    _FULL: (DiskFull, "the relay has no room left; sync again later, or tell its operator"),
    _BUSY: (Busy, "another program holds the relay's store; sync again in a moment"),
    _LOCKED: (Busy, "another program holds the relay's store; sync again in a moment"),
    _CORRUPT: (Damaged, "the relay's store is damaged; tell its operator"),
    _NOTADB: (Damaged, "the relay's store is damaged; tell its operator"),
    _READONLY: (ReadOnlyFile, "the relay cannot write to its store; tell its operator"),
    _PERM: (ReadOnlyFile, "the relay cannot write to its store; tell its operator"),
}
_FAILS: Final = "the relay's disk fails; sync again later, and tell its operator"
_AT_START: Final[dict[type[FileError], str]] = {
    Busy: "another relay serves it; stop that one, or choose another --data",
    Damaged: "it is damaged or no store of a relay; move it away and start again: devices bring what is missing",
    ReadOnlyFile: "it cannot be written; change its permissions, or choose another --data",
    DiskFull: "the disk is full; free some space, then start again",
}


_UNUSABLE: Final = "it cannot be used ({}); check that the folder is one, and that it can be written, or choose another"


class StoreFile:
    """The open file. Safe from several threads: one at a time holds it."""

    def __init__(self, folder: Path, schema: str, *, bytes_max: int | None = None) -> None:
        self._path = folder / FILE_NAME
        self._folder = str(folder)
        self._lock = threading.Lock()
        try:
            make_folder(folder)
            with in_words():
                self.db = connect(str(self._path), admit=_alone)
                self._prepare(schema, bytes_max)
        except FileError as error:
            why = _AT_START.get(type(error), f"{_UNUSABLE.format(error.__cause__ or error)}")
            raise type(error)(f"{self._path}: {why}") from error
        except OSError as error:
            raise FileError(f"{folder} cannot be used ({error.strerror}); choose another --data") from error
        self._identity = self._found()

    def _prepare(self, schema: str, bytes_max: int | None) -> None:
        try:
            (version,) = self.db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise NewerFile("it was written by a newer relay; upgrade syncmem")
            if bytes_max is not None:
                self.db.execute(f"PRAGMA max_page_count = {max(1, bytes_max // PAGE_BYTES)}")
            self.db.executescript(f"BEGIN EXCLUSIVE; {schema} PRAGMA user_version = {VERSION}; COMMIT;")
            self.empty_journal()
        except BaseException:
            self.db.close()
            raise

    def close(self) -> None:
        with self._lock:
            self.db.close()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Only this thread uses the file.

        Raises:
            FileError: one of its kinds, in words that a client may be told.
        """
        with self._lock, in_words():
            self.check()
            yield

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; on the disk once it is over. Raises as :meth:`held`."""
        with in_words():
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.db.execute("COMMIT")
            except BaseException:
                if self.db.in_transaction:  # SQLite has ended it by itself where the disk failed
                    self.db.execute("ROLLBACK")
                raise

    def check(self) -> None:
        """The file is where it was: what is written to one that was deleted would be lost with the process."""
        if self._found() != self._identity:
            raise FileError("the relay's store was moved away; tell its operator to start it again")

    def empty_journal(self) -> None:
        """Everything is in the file itself, flushed; nothing of what was overwritten there is left beside it."""
        (held_up, *_) = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if held_up:
            raise Busy(_WORDS[_BUSY][1])

    def copy_to(self, path: str | os.PathLike[str]) -> None:
        """A copy as of one moment, in a new file, on the disk; others use the store meanwhile.

        Raises:
            FileError: it cannot be written there, or the store fails.
        """

        def let_others_in(status: int, remaining: int, total: int) -> None:
            self._lock.release()
            self._lock.acquire()

        os.close(open_new(path))
        with in_words(), closing(connect(os.fspath(path))) as copy, self._lock:
            self.db.backup(copy, pages=COPIED_PAGES, progress=let_others_in)
            copy.execute("PRAGMA journal_mode = DELETE")
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @property
    def free_bytes(self) -> int:
        """What is left on the disk."""
        return shutil.disk_usage(self._folder).free

    def _found(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_dev, status.st_ino


@contextmanager
def for_the_operator() -> Iterator[None]:
    """The words of a failure as its operator is told, who cannot tell the operator."""
    try:
        yield
    except Damaged as error:
        raise Damaged(f"the store: {_AT_START[Damaged]}") from error


@contextmanager
def in_words() -> Iterator[None]:
    """Failures of SQLite as errors of files."""
    try:
        yield
    except UnicodeDecodeError as error:  # words that SQLite quotes from a damaged file
        raise Damaged(_WORDS[_CORRUPT][1]) from error
    except dbapi.Error as error:
        code = getattr(error, "sqlite_errorcode", _IOERR) & 0xFF
        kind, words = _WORDS.get(code, (FileError, _FAILS))
        raise kind(words) from error


def _alone(connection: Connection) -> None:
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
