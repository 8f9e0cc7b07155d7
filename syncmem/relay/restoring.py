"""Putting a relay's backup back: devices notice that it is older, and send what is missing.

Rules: nothing is replaced that is in use, nor by what is damaged; what was there before is kept beside; in what is put
back every mailbox has a new epoch, because a device must not take what it wrote since for arrived.
"""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from syncmem.environment import Environment
from syncmem.errors import Busy, Damaged, FileError
from syncmem.private import make_folder
from syncmem.relay.care import Care
from syncmem.relay.file import FILE_NAME
from syncmem.relay.opening import check_is_there, open_store
from syncmem.relay.rows import RowStore

PREPARED: Final = "restoring"  # a folder inside the relay's own, so that the last step is a rename
REPLACED: Final = FILE_NAME + ".replaced"


def restore(
    backup: str | os.PathLike[str], folder: str | os.PathLike[str], *, blobs: str | None = None, overwrite: bool = False
) -> dict[str, Any]:
    """Make a backup the store of a relay, which is not running.

    Raises:
        FileError: there is no backup, or a store already (``overwrite`` keeps it beside), or a relay uses it.
        Damaged: the backup is not whole; nothing was changed.
    """
    source, target = Path(backup), Path(folder)
    if not source.is_file():
        raise FileError(f"there is no backup at {source}; check the path")
    there = target / FILE_NAME
    if there.exists() and not overwrite:
        raise FileError(f"{there} exists already; --overwrite keeps it as {REPLACED} and puts the backup in its place")
    make_folder(target)
    _check_unused(target, blobs)
    prepared = target / PREPARED
    shutil.rmtree(prepared, ignore_errors=True)
    try:
        make_folder(prepared)
        shutil.copyfile(source, prepared / FILE_NAME)
        found = _prepare(prepared, blobs)
        _check_unused(target, blobs)  # a relay may have been started meanwhile
        _keep(there, target / REPLACED)
        os.replace(prepared / FILE_NAME, there)
    except OSError as error:
        raise FileError(f"{target} cannot be written ({error.strerror}); make room, or check the rights") from error
    finally:
        shutil.rmtree(prepared, ignore_errors=True)
    Environment().disk.flush(str(there))
    return found


def _keep(there: Path, beside: Path) -> None:
    """A store gets another name and stays under its own until it is replaced: there is one at every moment.

    First what lies beside it, which belongs to no other file: it is empty unless the store is damaged.
    """
    for suffix in ("-wal", "-shm"):
        if Path(f"{there}{suffix}").exists():
            os.replace(f"{there}{suffix}", f"{beside}{suffix}")
    if there.exists():
        beside.unlink(missing_ok=True)
        try:
            os.link(there, beside)
        except OSError:  # a file system without links
            os.replace(there, beside)


def _check_unused(folder: Path, blobs: str | None) -> None:
    """A relay that serves this folder holds its file."""
    if (folder / FILE_NAME).exists():
        try:
            _opened(folder, blobs).close()
        except Busy:
            raise
        except FileError:
            pass  # what is damaged may be replaced


def _prepare(folder: Path, blobs: str | None) -> dict[str, Any]:
    with closing(_opened(folder, blobs)) as store:
        care = Care(store, Environment().randomness)
        found = care.verify()
        if found["problem_count"]:
            raise Damaged(f"the backup is not whole ({found['problems'][0]}); take another one, nothing was changed")
        care.renew()
        store.compare(Environment().clock.now())
        return found


def renew(store: str, blobs: str | None = None) -> int:
    """A database was put back from a backup by its own tools: as after :func:`restore`; how many mailboxes it holds.

    Relays may run on it: those who listen hear of it when they next ask.

    Raises:
        FileError: it cannot be used. InvalidInput: nothing is there.
    """
    check_is_there(store)
    drawn = Environment().randomness
    with closing(open_store(store, drawn, blobs=blobs)) as opened:
        count = Care(opened, drawn).renew()
        opened.compare(Environment().clock.now())
        return count


def _opened(folder: Path, blobs: str | None) -> RowStore:
    return open_store(str(folder), Environment().randomness, blobs=blobs)
