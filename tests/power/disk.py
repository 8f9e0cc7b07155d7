"""A disk that forgets: files lie where they lie, and what was not synced yet is known apart from what was.

Rules: every operation is recorded, so that what a loss of power leaves is drawn later, for each moment of a run
(:func:`states`, :meth:`Left.drawn`); an operation can fail instead, for lack of room or with an error; a sync may lie.
SQLite reaches the disk through a VFS without shared memory, the library's own files through the environment's seam.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import apsw

SECTOR = 512
VFS = "power"
GARBAGE = 0.05  # of the sectors that were under way, those that hold neither the old nor the new


class Op(NamedTuple):
    """What happened: ``write``, ``cut`` (truncate), ``sync``, ``made``, ``gone``, ``whole`` (a file replaced at once),
    ``note`` (of the run itself: ``data`` is what it notes)."""

    kind: str
    name: str = ""
    offset: int = 0
    data: Any = b""


@dataclass
class Faults:
    """The ``at``-th operation fails with ``kind`` (``full``, ``ioerr``), and all after it where ``lasting``."""

    kind: str = ""
    at: int = 0
    lasting: bool = False
    lies: float = 0.0  # how often a sync does nothing
    random: Random = field(default_factory=lambda: Random(0))
    count: int = 0
    struck: int = 0

    def strikes(self, kind: str) -> bool:
        """Whether this operation fails; a full disk refuses only what needs room."""
        self.count += 1
        hit = self.count == self.at or (self.lasting and self.count > self.at > 0)
        hit = hit and (self.kind == "ioerr" or kind in ("write", "made", "whole"))
        self.struck += hit
        return hit


@dataclass
class PowerDisk:
    """The disk under ``root``; see :class:`syncmem.environment.Disk` for the seam."""

    root: Path
    powersafe: bool = True  # a write torn by a loss of power leaves the bytes around it alone
    sector: int = 4096  # what is told of it
    log: list[Op] = field(default_factory=list)
    faults: Faults = field(default_factory=Faults)

    def begin(self, faults: Faults | None = None) -> None:
        """All that lies there now is durable."""
        self.log = []
        self.faults = faults or Faults()

    def note(self, data: Any) -> None:
        self.log.append(Op("note", data=data))

    def does(self, op: Op) -> None:
        if self.faults.strikes(op.kind):
            raise OSError(errno.ENOSPC if self.faults.kind == "full" else errno.EIO, self.faults.kind)
        if op.kind == "sync" and self.faults.lies and self.faults.random.random() < self.faults.lies:
            return
        if op.kind != "read":
            self.log.append(op)

    def image(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def put(self, image: Mapping[str, bytes | bytearray]) -> None:
        """The files are these, and no others."""
        for path in self.root.rglob("*"):
            if path.is_file() and str(path) not in image:
                path.unlink()
        for name, data in image.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(data)
            Path(name).chmod(0o600)

    # -- the environment's seam ---------------------------------------------------------------------

    def read(self, path: str) -> bytes | None:
        self.does(Op("read", path))
        return Path(path).read_bytes() if os.path.exists(path) else None

    def write(self, path: str, data: bytes) -> None:
        self.does(Op("whole", path, data=data))
        Path(path).write_bytes(data)
        self.log.append(Op("sync", path))

    def flush(self, path: str) -> None:
        self.does(Op("sync", path))

    def remove(self, path: str) -> None:
        self.does(Op("gone", path))
        Path(path).unlink(missing_ok=True)

    def make_folder(self, path: str) -> None:
        Path(path).mkdir(parents=True, exist_ok=True)

    def identity(self, path: str) -> str:
        return f"disk:{path}" if os.path.exists(path) else ""

    def place(self, path: str) -> str:
        return f"disk:{path}"


# -- what is left ---------------------------------------------------------------------------------------


@dataclass
class Left:
    """What is durable, and what was asked for since, in order."""

    durable: dict[str, bytearray]
    waiting: list[Op] = field(default_factory=list)
    powersafe: bool = True
    notes: list[Any] = field(default_factory=list)

    def take(self, op: Op) -> None:
        if op.kind == "note":
            self.notes.append(op.data)
        elif op.kind == "sync":
            mine = [each for each in self.waiting if each.name == op.name]
            self.waiting = [each for each in self.waiting if each.name != op.name]
            for each in mine:
                _apply(self.durable, each)
        elif op.kind == "gone":
            self.waiting = [each for each in self.waiting if each.name != op.name]
            self.durable.pop(op.name, None)
        else:
            self.waiting.append(op)

    def drawn(self, random: Random) -> dict[str, bytearray]:
        """The files after a loss of power now."""
        files = {name: bytearray(data) for name, data in self.durable.items()}
        kept = random.choice((0.0, 0.1, 0.5, 0.5, 0.5, 0.9, 1.0))
        for op in self.waiting:
            if op.kind == "write":
                for part in _sectors(op):
                    self._draw(files, part, kept, random)
            elif random.random() < kept:
                _apply(files, op)
        return files

    def _draw(self, files: dict[str, bytearray], part: Op, kept: float, random: Random) -> None:
        if random.random() < GARBAGE and 0 < kept < 1:
            if not self.powersafe:
                start = part.offset - part.offset % SECTOR
                part = part._replace(offset=start, data=bytes(SECTOR))
            _apply(files, part._replace(data=random.randbytes(len(part.data))))
        elif random.random() < kept:
            _apply(files, part)


def states(image: dict[str, bytes], log: list[Op], *, powersafe: bool) -> Iterator[Left]:
    """One state for each moment of a run: before its first operation, and after each of them. It is changed later."""
    left = Left({name: bytearray(data) for name, data in image.items()}, powersafe=powersafe)
    yield left
    for op in log:
        left.take(op)
        yield left


def _sectors(op: Op) -> Iterator[Op]:
    start = 0
    while start < len(op.data):
        end = min(len(op.data), start + SECTOR - (op.offset + start) % SECTOR)
        yield op._replace(offset=op.offset + start, data=op.data[start:end])
        start = end


def _apply(files: dict[str, bytearray], op: Op) -> None:
    if op.kind == "whole":
        files[op.name] = bytearray(op.data)
        return
    file = files.setdefault(op.name, bytearray())
    if op.kind == "made":
        return
    if op.kind == "cut":
        del file[op.offset :]
    file.extend(bytes(max(0, op.offset - len(file))))
    file[op.offset : op.offset + len(op.data)] = op.data


# -- SQLite's door --------------------------------------------------------------------------------------

DISKS: list[PowerDisk] = []  # the one that is in use; SQLite knows a VFS by its name alone


class _File:
    def __init__(self, disk: PowerDisk, name: str, flags: int) -> None:
        self._disk, self._name = disk, name
        if not os.path.exists(name):
            disk.does(Op("made", name))
        self._descriptor = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        self._delete = bool(flags & apsw.SQLITE_OPEN_DELETEONCLOSE)

    def excepthook(self, *about: object) -> None:
        """SQLite is told by its code; there is nobody else to tell."""

    def xRead(self, amount: int, offset: int) -> bytes:
        self._does(Op("read", self._name))
        return os.pread(self._descriptor, amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._does(Op("write", self._name, offset, bytes(data)))
        os.pwrite(self._descriptor, data, offset)

    def xTruncate(self, size: int) -> None:
        self._does(Op("cut", self._name, size))
        os.truncate(self._descriptor, size)

    def xSync(self, flags: int) -> None:
        self._does(Op("sync", self._name))

    def xFileSize(self) -> int:
        return os.fstat(self._descriptor).st_size

    def xClose(self) -> None:
        os.close(self._descriptor)
        if self._delete:
            self._disk.remove(self._name)

    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:
        return False

    def xSectorSize(self) -> int:
        return self._disk.sector

    def xDeviceCharacteristics(self) -> int:
        return int(apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE) if self._disk.powersafe else 0

    def _does(self, op: Op) -> None:
        try:
            self._disk.does(op)
        except OSError as error:
            raise _in_sqlite(error) from None


class PowerVFS(apsw.VFS):
    def __init__(self) -> None:
        super().__init__(VFS, "")

    def excepthook(self, *about: object) -> None:
        """As of a file."""

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        path = name if isinstance(name, str) or name is None else name.filename()
        if path is None:
            return apsw.VFSFile("unix", None, flags)
        flags[1] = flags[0]
        try:
            return _File(DISKS[-1], path, flags[0])
        except OSError as error:
            raise _in_sqlite(error) from None

    def xDelete(self, name: str, sync_folder: bool) -> None:
        if not os.path.exists(name):
            raise apsw.exception_for(apsw.SQLITE_IOERR_DELETE_NOENT)
        try:
            DISKS[-1].remove(name)
        except OSError as error:
            raise _in_sqlite(error) from None

    def xAccess(self, name: str, flags: int) -> bool:
        return os.path.exists(name)

    def xFullPathname(self, name: str) -> str:
        return name


def _in_sqlite(error: OSError) -> Exception:
    return apsw.exception_for(apsw.SQLITE_FULL if error.errno == errno.ENOSPC else apsw.SQLITE_IOERR)
