"""Files and folders that only their owner can use: everything this package creates is made here.

Rule: on POSIX a file is 0600 and a folder 0700, whatever the umask says, from the moment they are there;
what was there before keeps its mode.  Elsewhere the system's own rules hold.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
POSIX: Final = os.name == "posix"
_BINARY: Final = getattr(os, "O_BINARY", 0)  # Windows would translate line ends


def open_new(path: str | os.PathLike[str]) -> int:
    """The descriptor of a new, empty file, open for writing.

    Raises:
        FileExistsError: something is there.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, FILE_MODE)
    if POSIX:
        os.fchmod(descriptor, FILE_MODE)  # the umask may have taken more than others' rights
    return descriptor


def make_file(path: str | os.PathLike[str]) -> None:
    """Make an empty file where nothing is; it is closed before anybody can have locked it."""
    if POSIX and not os.path.lexists(path):
        with contextlib.suppress(OSError):  # whoever uses the file next meets the same trouble, and can say more
            os.close(open_new(path))


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder, and those above it, where they are missing."""
    folder = Path(path)
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    for one in reversed(missing):
        one.mkdir(FOLDER_MODE, exist_ok=True)
        if POSIX:
            one.chmod(FOLDER_MODE)


def others_can_use(file: str | os.PathLike[str] | int) -> bool:
    """Whether anybody but the owner has rights on a file (its path or descriptor)."""
    return POSIX and bool(os.stat(file).st_mode & OTHERS)
