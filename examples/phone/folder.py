"""A mailbox in a shared folder (protocol/mailbox.md: In a folder)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

NAME = re.compile(r"([0-9]{12})-([0-9a-f]{32})\.(blob|dropped)")
BLOB_BYTES_MAX = 1024 * 1024


class Found(NamedTuple):
    """A blob at its place in a stream."""

    stream: bytes
    counter: int
    data: bytes


class Taken(Exception):
    """Another blob stands at that place: another life of this device has written there."""


class Folder:
    """The mailboxes in one folder."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise ConnectionError(f"there is no folder {path}; mount it, or make it, and try again")

    def blobs(self, mailbox: bytes) -> Iterator[Found]:
        """Every blob that is there and is what its name says, by stream and counter."""
        for path in sorted((self.path / mailbox.hex()).glob("*/*/*.blob")):
            name, stream = NAME.fullmatch(path.name), path.parent.parent.name
            if not name or not re.fullmatch("[0-9a-f]{16}", stream) or path.with_suffix(".dropped").exists():
                continue
            with path.open("rb") as file:
                data = file.read(BLOB_BYTES_MAX + 1)
            if sha256(data).hexdigest()[:32] == name[2]:
                yield Found(bytes.fromhex(stream), int(name[1]), data)

    def end(self, mailbox: bytes, stream: bytes) -> int:
        """The last counter that is taken in a stream."""
        names = (NAME.fullmatch(path.name) for path in (self.path / mailbox.hex() / stream.hex()).glob("*/*"))
        return max((int(name[1]) for name in names if name), default=0)

    def put(self, mailbox: bytes, stream: bytes, counter: int, data: bytes) -> None:
        """Write a blob whole: under another name, flushed, renamed. Putting the same again changes nothing."""
        self._draw_epoch(mailbox)
        place = self.path / mailbox.hex() / stream.hex() / f"{counter // 1000:09}"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"{counter:012}-{sha256(data).hexdigest()[:32]}.blob"
        if any(other.stem != path.stem for other in place.glob(f"{counter:012}-*")):
            raise Taken(f"place {counter} is taken")
        if not path.exists() and not path.with_suffix(".dropped").exists():
            write_whole(path, data)

    def _draw_epoch(self, mailbox: bytes) -> None:
        box = self.path / mailbox.hex()
        box.mkdir(exist_ok=True)
        if not any(box.glob("epoch-*")):
            write_whole(box / f"epoch-{os.urandom(16).hex()}", b" ")


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file so that after a crash it is the old or the new one."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
