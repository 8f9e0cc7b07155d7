"""Mailboxes in a shared folder: Dropbox, iCloud Drive, Syncthing, a USB stick. No server.

Rules: a blob is one file, written once by one writer, with its digest in its name: temporary file, flush,
rename; there are no locks, and times of files mean nothing; what has another name, another content than
its name says, or is not all there yet is passed over, and never changed unless the blob it is a copy of is
dropped; one file that makes trouble stops nothing else; a folder that is not there is unreachable, never
empty, and what cannot be looked at is not taken for gone.

    FOLDER/<mailbox>/epoch-<16 bytes>                       drawn by whoever came first; the least counts
    FOLDER/<mailbox>/<stream>/...                           see syncmem/sync/blob_files.py
    FOLDER/<mailbox>/drop-keys/<public key>
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from syncmem.environment import Environment
from syncmem.errors import InvalidInput, MailboxRefused, OverQuota, Unreachable
from syncmem.sync.blob_files import Seen, copies_of, entries, look, look_into, path_of, read, streams_in
from syncmem.wire.mailbox import (
    CONFLICT,
    COUNTER_MAX,
    EPOCH_BYTES,
    INLINE_BYTES_MAX,
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
_EPOCH: Final = re.compile(r"epoch-([0-9a-f]{32})")
_KEY: Final = re.compile(r"[0-9a-f]{64}")
_FULL: Final = (28, 122)  # ENOSPC, EDQUOT


class Folder:
    """See :class:`syncmem.wire.mailbox.Mailbox`."""

    def __init__(self, address: str, environment: Environment | None = None) -> None:
        if not address.removeprefix(SCHEME).strip():
            raise InvalidInput(f"{address!r} names no folder; name one with folder:PATH (folder:. is the current one)")
        self.address = address
        self.push: str | None = None
        self._root = Path(os.path.expanduser(address.removeprefix(SCHEME)))
        self._environment = environment or Environment()

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        with self._reaching():
            box = self._root / request.mailbox.hex()
            epoch = self._epoch(box)
            self._register(box, request.drop_key)
            looked: dict[Path, Seen] = {}
            results = [self._put(box, put, looked) for put in request.puts]
            ends, listed = self._behind(box, request.cursors, {(put.stream, put.counter) for put in request.puts})
            if epoch not in self._epochs(box):
                raise Unreachable("the shared folder changed while it was read; sync again")
        along = self._along(box, listed[:LISTED_MAX], min(request.inline_bytes_max, INLINE_BYTES_MAX))
        return Answer(epoch, results, ends, along, len(listed) > LISTED_MAX)

    def get(self, key: bytes, write_seed: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        box = self._root / mailbox_id(key).hex()
        for name in names:
            with self._reaching():
                blob = self._read(box, name)
            yield name, blob

    def drop(self, request: Drop, write_seed: bytes) -> list[bool]:
        with self._reaching():
            box = self._root / request.mailbox.hex()
            keys = {bytes.fromhex(entry.name) for entry in entries(box / "drop-keys", _KEY)}
            if not may_drop(request, keys):
                return [False for _ in request.names]
            return [self._forget(box, name) for name in request.names]

    def close(self) -> None:
        pass

    # -- writing ------------------------------------------------------------------------------------

    def _put(self, box: Path, put: Put, looked: dict[Path, Seen]) -> PutResult:
        """Keep one blob; ``looked``: what earlier puts of the same question have seen of the sub-folders."""
        refused = check_put(put)
        if refused is not None:
            return refused
        try:
            return self._keep(box, BlobName(put.stream, put.counter, digest(put.blob)), put.blob, looked)
        except OSError as error:
            return PutResult(Outcome.OVER_QUOTA, _words(error))

    def _keep(self, box: Path, name: BlobName, blob: bytes, looked: dict[Path, Seen]) -> PutResult:
        path = path_of(box, name)
        if path.parent not in looked:
            looked[path.parent] = Seen()
            look_into(path.parent, name.stream, looked[path.parent], COUNTER_MAX)
        seen = looked[path.parent]
        if any(other.counter == name.counter and other != name for other in (*seen.blobs, *seen.dropped)):
            return PutResult(Outcome.CONFLICT, CONFLICT)
        if name in seen.dropped:
            return PutResult(Outcome.KNOWN, "")
        if name in seen.blobs and self._read(box, name) is not None:
            self._environment.disk.flush(str(path))  # whoever wrote it may not have
            return PutResult(Outcome.KNOWN, "")
        self._write(path, blob)
        seen.blobs[name] = len(blob)
        return PutResult(Outcome.STORED, "")

    def _write(self, path: Path, data: bytes) -> None:
        self._environment.disk.make_folder(str(path.parent))
        self._environment.disk.write(str(path), data)

    def _register(self, box: Path, key: bytes | None) -> None:
        """Where that fails, the next question brings the key again."""
        if key is not None and not (path := box / "drop-keys" / key.hex()).exists():
            with contextlib.suppress(OSError):
                self._write(path, b"")

    def _epoch(self, box: Path) -> bytes:
        """The mailbox's epoch; drawn where there is none."""
        found = self._epochs(box)
        if not found:
            self._write(box / f"epoch-{self._environment.randomness(EPOCH_BYTES).hex()}", b" ")
            found = self._epochs(box)
        return min(found)

    def _epochs(self, box: Path) -> list[bytes]:
        names = (_EPOCH.fullmatch(entry.name) for entry in entries(box, _EPOCH))
        return [bytes.fromhex(name[1]) for name in names if name is not None]

    def _forget(self, box: Path, name: BlobName) -> bool:
        """Mark a blob as dropped, which keeps its place taken; then remove it with all copies beside it."""
        path, mark = path_of(box, name), path_of(box, name, "dropped")
        try:
            copies = copies_of(path)
            if not mark.exists():
                if not copies:
                    return False
                self._write(mark, b"")
            for copy in copies:
                self._environment.disk.remove(str(copy))
        except OSError:
            return False  # to be asked again
        return True

    # -- reading ------------------------------------------------------------------------------------

    def _behind(
        self, box: Path, cursors: Mapping[bytes, int], own: set[tuple[bytes, int]]
    ) -> tuple[dict[bytes, int], list[Listed]]:
        """How far each stream goes, and what lies behind the cursors."""
        ends: dict[bytes, int] = {}
        listed: list[Listed] = []
        for stream in streams_in(box):
            cursor = cursors.get(stream, 0)
            seen = look(box, stream, cursor)
            if seen.whole and seen.end < cursor:  # the stream is shorter than it was: how far it goes is told
                seen = look(box, stream, 0)
            for name in seen.back:
                self._forget(box, name)
            if end := max(seen.end, 0 if seen.whole else cursor):
                ends[stream] = end
            listed += [
                Listed(name, size, None)
                for name, size in seen.there()
                if name.counter > cursor and (stream, name.counter) not in own
            ]
        return ends, listed

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
        """A blob's content, if it is what its name says and was not dropped."""
        if path_of(box, name, "dropped").exists():
            return None
        blob = read(path_of(box, name))
        return blob if blob is not None and digest(blob) == name.digest else None

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Failures of the file system in words of mailboxes."""
        if not self._root.is_dir():
            raise Unreachable(f"there is no folder {self._root}; mount it, or make it and sync again")
        try:
            yield
        except PermissionError as error:
            raise MailboxRefused(_words(error)) from error
        except OSError as error:
            raise (OverQuota if error.errno in _FULL else Unreachable)(_words(error)) from error


def _words(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"{error.filename} may not be used; change its permissions, then sync again"
    if error.errno in _FULL:
        return "the shared folder is full; free some space, then sync again"
    if isinstance(error, IsADirectoryError | NotADirectoryError | FileExistsError):
        return f"something else has the name of {error.filename}; move it away, then sync again"
    return f"the shared folder does not answer ({error.strerror}); sync again later"
