"""Whole files: bundles, backups, restores. A reader sees the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeVar

from syncmem import private
from syncmem.arguments import guarded
from syncmem.environment import Environment
from syncmem.errors import FileError, InvalidInput, NotAReplica, SyncmemError
from syncmem.private import open_new
from syncmem.replica import driver, schema
from syncmem.replica.cipher import FileKey, file_key
from syncmem.replica.connection import FAILURES, opened, translated
from syncmem.replica.scrubbing import DAMAGED_SUFFIX, REPLACED_SUFFIX
from syncmem.replica.side import SUFFIX, resealing

T = TypeVar("T")
LOCK_SUFFIX: Final = ".sync"  # of the file by which one process of a device syncs at a time
_BESIDE: Final = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder of the owner's, and those above it, where they are missing.

    Raises:
        FileError: it cannot be made there.
    """
    try:
        private.make_folder(path)
    except OSError as error:
        raise FileError(f"the folder {path} cannot be made ({error.strerror}); choose another place") from error


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], T], *, magic: bytes) -> T:
    """Write a file through a temporary one beside it: flushed, then renamed.

    Raises:
        InvalidInput: something is there that does not begin with ``magic``; it is not replaced.
    """
    target = Path(path)
    if target.exists():
        with open_for_reading(target) as file:
            if file.read(len(magic)) != magic:
                raise InvalidInput(f"{target} exists and is something else; choose another name")

    def make(temporary: Path) -> T:
        with os.fdopen(open_new(temporary), "wb") as file:
            result = write(file)
            file.flush()
            os.fsync(file.fileno())
            return result

    return _put_in_place(target, make)


def write_new(path: str | os.PathLike[str], write: Callable[[Path], T]) -> T:
    """Have a new file made under a temporary name beside it, then renamed.

    Raises:
        InvalidInput: something is there already.
    """
    target = Path(path)
    if target.exists():
        raise InvalidInput(f"{target} exists already; choose another name")

    def make(temporary: Path) -> T:
        os.close(open_new(temporary))
        return write(temporary)

    return _put_in_place(target, make)


def _put_in_place(target: Path, make: Callable[[Path], T]) -> T:
    """Have a file made under a temporary name beside its target, then renamed; where that fails nothing is left."""
    temporary = temporary_for(target)
    _remove_leftovers(target)
    try:
        result = make(temporary)
        os.replace(temporary, target)
        Environment().disk.flush(str(target))  # its name, too, outlives a loss of power
        return result
    except OSError as error:
        raise FileError(f"{target} cannot be written ({error.strerror}); check the folder and the space") from error
    finally:
        remove(temporary)


@contextmanager
def open_for_reading(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """An existing file, or an error that names it."""
    try:
        file = open(path, "rb")  # noqa: SIM115  closed below
    except OSError as error:
        raise FileError(f"{os.fspath(path)} cannot be read ({error.strerror}); check the path") from error
    with file:
        yield file


def text_of(path: str | os.PathLike[str]) -> str:
    """A small file of text.

    Raises:
        FileError: it cannot be read. InvalidInput: it is no UTF-8.
    """
    with open_for_reading(path) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{os.fspath(path)} is no text in UTF-8 ({error.reason}); correct it") from error


def backup(
    connection: driver.Connection, path: str | os.PathLike[str], *, key: FileKey | None, own: FileKey | None
) -> None:
    """Copy an open database, whose key is ``own``, into a new file while it is in use; encrypted if there is a key."""
    target = Path(path)
    if target.exists():
        raise InvalidInput(f"{target} exists already; choose another name for the backup")
    traces = connection.execute("SELECT EXISTS (SELECT 1 FROM chores)").fetchone()[0] == 1
    _put_in_place(target, lambda temporary: _copy(connection, temporary, key, own, rewritten=traces))


@guarded
def restore(
    backup_path: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    key: bytes | str | None = None,
    old_key: bytes | str | None = None,
) -> None:
    """Make a replica from a backup.

    The restored replica writes as a new incarnation, so nothing that the old one wrote is written over
    anywhere; what it had written since the backup returns from its other devices.  An encrypted backup is
    opened with its ``key``, and the replica has the same.  Where a memory is replaced that had another key, its
    ``old_key`` lets it go on as the same device (a plain one needs none).

    Raises:
        InvalidInput: ``path`` exists and ``overwrite`` is not set (the old file is then kept as ``<path>.replaced``).
        NotAReplica: the backup is not one. WrongKey: it does not open with this key, or is not encrypted.
        KeyUnreadable: the replaced device's key cannot be read.
    """
    source, target = Path(backup_path), Path(path)
    if not source.is_file():
        raise FileError(f"there is no backup at {source}; check the path")
    if target.exists() and not overwrite:
        raise InvalidInput(f"{target} exists already; choose another path, or pass overwrite=True")
    temporary = temporary_for(target)
    seal_anew = resealing(str(target), Environment(), old=file_key(old_key), new=file_key(key))
    try:
        _copy_checked(str(source), temporary, file_key(key))
        settle(target, (file_key(old_key), file_key(key), None))
        put_in_place(temporary, target, Path(f"{target}{REPLACED_SUFFIX}"))
        seal_anew()
    except OSError as error:
        raise FileError(f"{target} cannot be written ({error.strerror}); check the folder and the space") from error
    finally:
        remove(temporary)


@dataclass(frozen=True, slots=True)
class Wipe:
    """What a wipe deleted, and what it could not (each with the reason)."""

    deleted: tuple[str, ...]
    left: tuple[str, ...]


def wipe(path: str) -> Wipe:
    """Delete a replica and every file beside it that is ours by its name, backups too.

    The content is overwritten first, as far as the disk obeys.  One file that resists keeps no other.
    """
    deleted, left = [], []
    found = [*ours(path), *ours(os.path.realpath(path))]  # SQLite puts its own beside the target of a link
    for file in {(os.path.realpath(file.parent), file.name): file for file in found}.values():
        try:
            _overwrite(file)
            file.unlink()
            deleted.append(str(file))
        except OSError as error:
            left.append(f"{file} ({error.strerror})")
    return Wipe(tuple(deleted), tuple(left))


def ours(path: str) -> list[Path]:
    """The files of a replica, itself first: what is named after it as this package names files."""
    target = Path(path)
    beside = f"({'|'.join(_BESIDE)})?"
    name = re.escape(target.name)
    damaged = rf"{re.escape(DAMAGED_SUFFIX)}(\.\d+)?"
    wanted = re.compile(
        rf"{name}(\.replaced|{damaged})?{beside}|\.{name}\.\d+\.tmp{beside}|{name}{re.escape(LOCK_SUFFIX)}"
        rf"|{name}{re.escape(SUFFIX)}(\.[\d-]+\.tmp)?|{name}\.backup.*",
        re.DOTALL,
    )
    found = [entry for entry in target.parent.iterdir() if wanted.fullmatch(entry.name) and not entry.is_dir()]
    return sorted(found, key=lambda entry: (entry.name != target.name, entry.name))


def _overwrite(file: Path) -> None:
    with open(file, "r+b") as content:
        content.write(bytes(os.fstat(content.fileno()).st_size))
        content.flush()
        os.fsync(content.fileno())


def _copy_checked(source: str, target: Path, key: FileKey | None) -> None:
    try:
        connection = opened(source, key, read_only=True)
        try:
            if schema.version(connection) == 0:
                raise NotAReplica(f"{source} is empty; choose another backup")
            _copy(connection, target, key, key)
        finally:
            connection.close()
    except FAILURES as error:
        raise translated(error) from error


def _copy(
    connection: driver.Connection, path: Path, key: FileKey | None, own: FileKey | None, *, rewritten: bool = False
) -> None:
    """Copy a database page by page; ``rewritten``: without what may be left between its rows."""
    try:
        target = driver.connect(str(path), key=key)
        try:
            target.execute("PRAGMA journal_mode = DELETE")  # one file, and reading it leaves none beside it
            if key is not None and own is None:
                driver.encrypt(connection, str(path), key)
            else:
                connection.backup(target)
            if rewritten:
                target.execute("VACUUM")
            target.execute("PRAGMA journal_mode = DELETE")  # it came with the pages
            damage = target.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            target.close()
    except FAILURES as error:
        raise translated(error) from error
    if damage != "ok":
        raise FileError(f"the copy is damaged ({damage}); check the disk, then try again")


def settle(target: Path, keys: tuple[FileKey | None, ...]) -> None:
    """Have what lies beside a memory written into it, if one of the keys opens it: then one file is all there is."""
    for key in dict.fromkeys(keys):
        if target.exists():
            with contextlib.suppress(driver.dbapi.Error, SyncmemError):
                opened(str(target), key).close()


def put_in_place(temporary: Path, target: Path, kept: Path) -> None:
    """Give a new file its name, and what had it, with all that belongs to it, another; one of both always has it."""
    if target.exists():
        if not (kept.exists() and os.path.samefile(kept, target)):  # else an earlier try died here
            remove(kept)
            _second_name(target, kept)
        for suffix in _BESIDE:
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{target}{suffix}", f"{kept}{suffix}")
    os.replace(temporary, target)
    Environment().disk.flush(str(target))


def _second_name(file: Path, name: Path) -> None:
    """Give a file another name beside its own; where the file system knows no such thing, in its stead."""
    try:
        os.link(file, name)
    except OSError:
        os.replace(file, name)


def temporary_for(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")


def _remove_leftovers(target: Path) -> None:
    """What processes that died while they made this file have left; nobody else makes it now."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.(\d+)\.tmp")
    for entry in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        found = pattern.fullmatch(entry.name)
        if found and not _lives(int(found[1])):
            remove(entry)


def _lives(process: int) -> bool:
    try:
        if os.name == "posix":  # elsewhere nobody can ask without harm
            os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def remove(path: Path) -> None:
    for suffix in ("", *_BESIDE):
        with contextlib.suppress(OSError):
            os.unlink(f"{path}{suffix}")
