"""A machine's disk: side files that are virtual, SQLite files that lie in memory, and images of both.

Rules: what is one file to SQLite has one number here, and a copy has another; an image taken while a process runs is
what the next one finds when this one is killed at that moment.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path

from tests.simulator.fuse import Fuse

SUFFIXES = ("", "-wal")  # what lies in -shm is made anew from the other two


@dataclass(frozen=True)
class Image:
    """What lay on a disk: the database's files, the virtual ones by what follows the database's name, its number."""

    database: dict[str, bytes | None]
    beside: dict[str, bytes]
    number: int | None


class VirtualDisk:
    """See :class:`syncmem.environment.Disk`; of one machine, which holds one database."""

    def __init__(self, path: Path, machine: str, fuse: Fuse) -> None:
        self.path = path
        self.files: dict[str, bytes] = {}
        self.number: int | None = None
        self.full = False
        self._machine = machine
        self._fuse = fuse
        self._numbers = 0

    # -- the seam -----------------------------------------------------------------------------------

    def read(self, path: str) -> bytes | None:
        self._fuse.touch("read")
        return self.files.get(path)

    def write(self, path: str, data: bytes) -> None:
        self._fuse.touch("write")
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        self.files[path] = data
        self._fuse.touch("written")

    def flush(self, path: str) -> None:
        pass

    def remove(self, path: str) -> None:
        self.files.pop(path, None)

    def make_folder(self, path: str) -> None:
        pass

    def identity(self, path: str) -> str:
        if not Path(path).exists():
            return ""
        if self.number is None:
            self.number = self._next()
        return f"{self._machine}:{self.number}"

    def place(self, path: str) -> str:
        return f"{self._machine}:{path}"

    # -- images -------------------------------------------------------------------------------------

    def image(self) -> Image:
        files = {suffix: Path(f"{self.path}{suffix}") for suffix in SUFFIXES}
        database = {suffix: file.read_bytes() if file.exists() else None for suffix, file in files.items()}
        name = str(self.path)
        return Image(database, {path.removeprefix(name): data for path, data in self.files.items()}, self.number)

    def put_back(self, image: Image, *, same: bool = True, side: bool = True) -> None:
        """The database is what it was, the same file to who asks or another one; with what lay beside it or without."""
        for suffix in (*SUFFIXES, "-shm"):
            content, file = image.database.get(suffix), Path(f"{self.path}{suffix}")
            if content is None:
                file.unlink(missing_ok=True)
            else:
                file.write_bytes(content)
        self.number = image.number if same else self._next()
        if side:
            self.files = {f"{self.path}{suffix}": data for suffix, data in image.beside.items()}

    def _next(self) -> int:
        self._numbers += 1
        return self._numbers
