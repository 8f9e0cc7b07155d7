"""The files of a mailbox in a shared folder: their names, and how they are looked at.

Rules: only plain files with exactly our names count; what is a link, a folder, a copy of a sync service, too
long or not readable now is passed over and looked at again next time; what could not be looked at is told,
because it must not be taken for gone.

    <stream>/<counter div 1000>/<counter>-<digest>.blob       a blob; empty or short while it is on its way
    <stream>/<counter div 1000>/<counter>-<digest>.dropped    it was dropped, whatever else lies beside this
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from syncmem.wire.mailbox import BLOB_BYTES_MAX, BlobName

SEGMENT: Final = 1000  # blobs of one sub-folder: a poll lists from its cursor on
_STREAM: Final = re.compile(r"[0-9a-f]{16}")
_SEGMENT: Final = re.compile(r"[0-9]{9}")
_FILE: Final = re.compile(r"([0-9]{12})-([0-9a-f]{32})\.(blob|dropped)")
_OF_A_BLOB: Final = re.compile(r".*?([0-9]{12})-([0-9a-f]{32}).*", re.IGNORECASE | re.DOTALL)
_READING: Final = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


@dataclass(slots=True)
class Seen:
    """What was found: blobs with their sizes (0: empty, or not looked up), the names of dropped ones, of which blobs
    there are copies that sync services made, and whether all could be looked at."""

    blobs: dict[BlobName, int] = field(default_factory=dict)
    dropped: set[BlobName] = field(default_factory=set)
    copied: set[BlobName] = field(default_factory=set)
    whole: bool = True

    @property
    def end(self) -> int:
        """The last place that is taken."""
        return max((name.counter for name in (*self.blobs, *self.dropped)), default=0)

    @property
    def back(self) -> set[BlobName]:
        """The dropped blobs that a service or a backup has brought back, or a copy of them."""
        return self.dropped & (self.blobs.keys() | self.copied)

    def there(self) -> Iterator[tuple[BlobName, int]]:
        """The blobs that may be read, in order: not dropped, not empty."""
        for name, size in sorted(self.blobs.items()):
            if name not in self.dropped and 0 < size <= BLOB_BYTES_MAX:
                yield name, size


def path_of(box: Path, name: BlobName, kind: str = "blob") -> Path:
    segment = f"{name.counter // SEGMENT:09d}"
    return box / name.stream.hex() / segment / f"{name.counter:012d}-{name.digest.hex()}.{kind}"


def streams_in(box: Path) -> list[bytes]:
    return [bytes.fromhex(entry.name) for entry in entries(box, _STREAM) if _is_folder(entry)]


def look(box: Path, stream: bytes, after: int) -> Seen:
    """A stream from the segment of place ``after`` on."""
    seen = Seen()
    folder = box / stream.hex()
    try:
        segments = [entry.name for entry in entries(folder, _SEGMENT) if _is_folder(entry)]
    except OSError:
        seen.whole = False
        return seen
    for segment in segments:
        if int(segment) >= after // SEGMENT:
            look_into(folder / segment, stream, seen, after)
    return seen


def look_into(segment: Path, stream: bytes, seen: Seen, after: int) -> None:
    """Add what one sub-folder holds; sizes are looked up only behind place ``after``, because that costs."""
    try:
        found = entries(segment, _OF_A_BLOB)
    except OSError:
        seen.whole = False
        return
    for entry in found:
        named = _OF_A_BLOB.fullmatch(entry.name)
        if named is None or not _is_plain(entry):
            continue
        name = BlobName(stream, int(named[1]), bytes.fromhex(named[2]))
        if not _FILE.fullmatch(entry.name):
            seen.copied.add(name)
        elif entry.name.endswith(".dropped"):
            seen.dropped.add(name)
        else:
            seen.blobs[name] = _size(entry) if name.counter > after else 0


def read(path: Path) -> bytes | None:
    """A plain file's content; None where there is none, or none that can be read now."""
    try:
        with os.fdopen(os.open(path, _READING), "rb") as file:
            plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(BLOB_BYTES_MAX + 1) if plain else b""
    except OSError:
        return None
    return data if plain and len(data) <= BLOB_BYTES_MAX else None


def copies_of(path: Path) -> list[Path]:
    """What a blob's own folder holds of it: the file, and what sync services and writes that broke off made of it."""
    stem = path.stem
    with os.scandir(path.parent) as found:
        return [
            path.parent / entry.name
            for entry in found
            if stem in entry.name.lower() and not entry.name.endswith(".dropped") and not _is_folder(entry)
        ]


def entries(folder: Path, wanted: re.Pattern[str]) -> list[os.DirEntry[str]]:
    """What has a name of ours, in order; conflict copies and anything else of others have none.

    Raises:
        OSError: the folder is there and cannot be looked at.
    """
    try:
        with os.scandir(folder) as found:
            return sorted((e for e in found if wanted.fullmatch(e.name)), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_plain(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def _size(entry: os.DirEntry[str]) -> int:
    """In bytes; 0 for what vanished meanwhile."""
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
