"""Mailboxes in a shared folder: Dropbox, iCloud Drive, Syncthing, a USB stick. No server.

Rules: a blob is one file, written once by one writer, with its digest in its name: temporary file, flush,
rename; there are no locks, and times of files mean nothing; what has another name, another content than
its name says, or is not all there yet is passed over and never changed; a folder that is not there is
unreachable, never empty.

    FOLDER/<mailbox>/epoch-<16 bytes>                       drawn by whoever came first; the least counts
    FOLDER/<mailbox>/<stream>/<counter div 1000>/<counter>-<digest>.blob
    FOLDER/<mailbox>/drop-keys/<public key>
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from syncmem.environment import Environment
from syncmem.errors import MailboxRefused, OverQuota, Unreachable
from syncmem.private import make_folder
from syncmem.wire.mailbox import (
    CONFLICT,
    EPOCH_BYTES,
    LISTED_MAX,
    Answer,
    BlobName,
    Drop,
    Exchange,
    Listed,
    Outcome,
    Put,
    PutResult,
    check_put,
    digest,
    mailbox_id,
    may_drop,
)

SCHEME: Final = "folder:"
SEGMENT: Final = 1000  # blobs of one sub-folder: a poll lists from its cursor on
_EPOCH: Final = re.compile(r"epoch-([0-9a-f]{32})")
_STREAM: Final = re.compile(r"[0-9a-f]{16}")
_SEGMENT: Final = re.compile(r"[0-9]{9}")
_BLOB: Final = re.compile(r"([0-9]{12})-([0-9a-f]{32})\.blob")
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_FULL: Final = (28, 122)  # ENOSPC, EDQUOT


class Folder:
    """See :class:`syncmem.wire.mailbox.Mailbox`."""

    def __init__(self, address: str, environment: Environment | None = None) -> None:
        self.address = address
        self._root = Path(os.path.expanduser(address.removeprefix(SCHEME)))
        self._environment = environment or Environment()

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        with self._reaching():
            box = self._root / request.mailbox.hex()
            epoch = self._epoch(box)
            if request.drop_key is not None:
                self._write(box / "drop-keys" / request.drop_key.hex(), b"")
            results = [self._put(box, put) for put in request.puts]
            own = {(put.stream, put.counter) for put in request.puts}
            ends: dict[bytes, int] = {}
            listed: list[Listed] = []
            for stream in self._streams(box):
                for name, size in self._blobs(box, stream, request.cursors.get(stream, 0)):
                    ends[stream] = max(ends.get(stream, 0), name.counter)
                    if size and (stream, name.counter) not in own and name.counter > request.cursors.get(stream, 0):
                        listed.append(Listed(name, size, None))
            more = len(listed) > LISTED_MAX
            return Answer(epoch, results, ends, self._along(box, listed[:LISTED_MAX], request.inline_bytes_max), more)

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        box = self._root / mailbox_id(key).hex()
        for name in names:
            with self._reaching():
                blob = self._read(box, name)
            yield name, blob

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        with self._reaching():
            box = self._root / request.mailbox.hex()
            keys = {bytes.fromhex(entry.name) for entry in self._entries(box / "drop-keys", _KEY)}
            if not may_drop(request, keys):
                return [False for _ in request.names]
            return [self._remove(_path(box, name)) for name in request.names]

    def close(self) -> None:
        pass

    # -- writing ------------------------------------------------------------------------------------

    def _put(self, box: Path, put: Put) -> PutResult:
        refused = check_put(put)
        if refused is not None:
            return refused
        name = BlobName(put.stream, put.counter, digest(put.blob))
        path = _path(box, name)
        others = [entry for entry in self._entries(path.parent, _BLOB) if int(entry.name[:12]) == put.counter]
        if any(entry.name != path.name for entry in others):
            return PutResult(Outcome.CONFLICT, CONFLICT)
        if others and self._read(box, name) is not None:
            return PutResult(Outcome.KNOWN, "")
        self._write(path, put.blob)
        return PutResult(Outcome.STORED, "")

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file whole and durably, where it is not there already."""
        if not data and path.exists():
            return
        make_folder(path.parent)
        self._environment.disk.write(str(path), data)

    def _epoch(self, box: Path) -> bytes:
        """The mailbox's epoch; drawn where there is none."""
        found = self._epochs(box)
        if not found:
            self._write(box / f"epoch-{self._environment.randomness(EPOCH_BYTES).hex()}", b" ")
            found = self._epochs(box)
        return min(found)

    def _epochs(self, box: Path) -> list[bytes]:
        names = (_EPOCH.fullmatch(entry.name) for entry in self._entries(box, _EPOCH))
        return [bytes.fromhex(name[1]) for name in names if name is not None]

    def _remove(self, path: Path) -> bool:
        """Empty a blob's file: its place in the stream stays taken, so that nobody takes the stream for cut off."""
        if not path.exists() or not path.stat().st_size:
            return False
        self._environment.disk.write(str(path), b"")
        return True

    # -- reading ------------------------------------------------------------------------------------

    def _streams(self, box: Path) -> list[bytes]:
        return sorted(bytes.fromhex(entry.name) for entry in self._entries(box, _STREAM) if entry.is_dir())

    def _blobs(self, box: Path, stream: bytes, after: int) -> Iterator[tuple[BlobName, int]]:
        """The blobs of a stream from the segment of place ``after`` on, with sizes (0: dropped, or on its way)."""
        folder = box / stream.hex()
        for segment in self._entries(folder, _SEGMENT):
            if int(segment.name) >= after // SEGMENT:
                for entry in self._entries(folder / segment.name, _BLOB):
                    name = BlobName(stream, int(entry.name[:12]), bytes.fromhex(entry.name[13:45]))
                    yield name, entry.stat().st_size

    def _along(self, box: Path, listed: Sequence[Listed], budget: int) -> list[Listed]:
        """The listing with the first blobs' content; what is not all there yet is left out."""
        result = []
        for entry in listed:
            budget -= entry.size
            if budget < 0:
                result.append(entry)
            elif (blob := self._read(box, entry.name)) is not None:
                result.append(entry._replace(blob=blob))
        return result

    def _read(self, box: Path, name: BlobName) -> bytes | None:
        """A blob's content, if it is what its name says."""
        try:
            blob = _path(box, name).read_bytes()
        except FileNotFoundError:
            return None
        return blob if digest(blob) == name.digest else None

    def _entries(self, folder: Path, wanted: re.Pattern[str]) -> list[os.DirEntry[str]]:
        """What has a name of ours, in order; conflict copies and anything else of others have none."""
        try:
            with os.scandir(folder) as entries:
                return sorted((e for e in entries if wanted.fullmatch(e.name)), key=lambda entry: entry.name)
        except FileNotFoundError:
            return []

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Failures of the file system in words of mailboxes."""
        if not self._root.is_dir():
            raise Unreachable(f"there is no folder {self._root}; mount it, or make it and sync again")
        try:
            yield
        except PermissionError as error:
            raise MailboxRefused(
                f"{error.filename} may not be used; change its permissions, then sync again"
            ) from error
        except OSError as error:
            if error.errno in _FULL:
                raise OverQuota("the shared folder is full; free some space, then sync again") from error
            raise Unreachable(f"the shared folder does not answer ({error.strerror}); sync again later") from error


def _path(box: Path, name: BlobName) -> Path:
    segment = f"{name.counter // SEGMENT:09d}"
    return box / name.stream.hex() / segment / f"{name.counter:012d}-{name.digest.hex()}.blob"
