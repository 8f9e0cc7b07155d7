"""The care of a relay's store: what is in it, whether it is whole, how much each may hold, copies.

Rules: the same for every store, as far as its books go; the relay may go on meanwhile, so nothing here holds the store
for long; what is told names mailboxes by their ids, and nothing that is in them; nothing is deleted because it is old:
only devices can tell what is not needed any more, and they drop it themselves, behind a snapshot that others have
confirmed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from syncmem.errors import Damaged, DiskFull, FileError, InvalidInput, NotFound
from syncmem.relay.books import Box, Kept, books
from syncmem.relay.rows import RowStore
from syncmem.relay.store import SqliteStore
from syncmem.wire.mailbox import MAILBOX_BYTES, digest

HANDLE_DIGITS: Final = 8
PROBLEMS_MAX: Final = 100  # told of; the rest is counted
_UNREADABLE: Final = (
    "the file cannot be read to its end; restore a backup, or begin anew: devices bring what is missing"
)


class Care:
    """What an operator asks of a store. Safe while it serves; results are plain JSON values."""

    def __init__(self, store: RowStore, randomness: Callable[[int], bytes]) -> None:
        self._store = store
        self._books = books(store)
        self._randomness = randomness

    def mailboxes(self) -> list[dict[str, Any]]:
        """Each mailbox: its handle and id, what it holds (blobs, bytes, streams), its own quota; the largest first."""
        return [_told(box) for box in self._books.boxes()]

    def quota(self, mailbox: str, bytes_max: int | None = None, usual: bool = False) -> dict[str, Any]:
        """How much a mailbox (by id or handle) may hold; ``bytes_max`` sets it, ``usual``: what all others may.

        Raises:
            NotFound: there is no such mailbox.
        """
        id = self._id(mailbox)
        if usual or bytes_max is not None:
            self._books.set_quota(id, None if usual else bytes_max)
        box = self._books.box(id)
        if box is None:
            raise NotFound(f"there is no mailbox {mailbox} here; list them with 'syncmem relay mailboxes'")
        return _told(box)

    def _id(self, mailbox: str) -> bytes:
        """Of an id in hex, or of a handle."""
        try:
            id = bytes.fromhex(mailbox)
        except ValueError:
            id = b""
        if len(mailbox) == HANDLE_DIGITS and id:
            found = [one for one in self._books.ids() if handle_of(one) == mailbox.lower()]
            if len(found) != 1:
                raise NotFound(f"{len(found)} mailboxes are called {mailbox}; name one by its id ('relay mailboxes')")
            return found[0]
        if len(id) != MAILBOX_BYTES:
            raise InvalidInput(f"{mailbox!r} is no id of a mailbox; list them with 'syncmem relay mailboxes'")
        return id

    def gc(self) -> dict[str, Any]:
        """Give back what nobody needs: objects that no row names, and pages of files that hold nothing."""
        return {"objects": self._store.collect(), "bytes": self._books.give_back()}

    # -- whole ----------------------------------------------------------------------------------------

    def verify(self) -> dict[str, Any]:
        """Whether all is there and as it was put: what is wrong, each with what it means."""
        problems: list[str] = []
        boxes = blobs = held = 0
        try:
            problems += [f"the file: {each}; restore a backup" for each in self._books.damage()]
            boxes, held = self._books.totals()
            for kept in self._kept():
                blobs += 1
                problems += _wrong(kept)
            sums, ends = self._books.wrong()
            problems += [f"mailbox {id.hex()} is counted wrong; restore a backup" for id in sums]
            problems += [f"a stream of mailbox {id.hex()} ends elsewhere; restore a backup" for id in ends]
        except Damaged:
            problems.insert(0, _UNREADABLE)
        told = problems[:PROBLEMS_MAX]
        return {"mailboxes": boxes, "blobs": blobs, "bytes": held, "problems": told, "problem_count": len(problems)}

    def _kept(self) -> Iterator[Kept]:
        after: tuple[Any, ...] = ()
        while page := self._books.kept(after):
            yield from page
            after = page[-1].place

    # -- copies ---------------------------------------------------------------------------------------

    def backup(self, path: str | os.PathLike[str]) -> None:
        """A copy as of now in a new file, of a store that is one.

        Raises:
            FileError: it cannot be written there.
        """
        assert isinstance(self._store, SqliteStore), "a database has its own tools"
        if os.path.lexists(path):
            raise FileError(f"{path} exists already; choose another name for the backup")
        try:
            self._store.file.copy_to(path)
        except (OSError, FileError) as error:
            Path(path).unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise FileError(f"{path} cannot be written ({error.strerror}); choose another place") from error
            if isinstance(error, DiskFull):  # where the copy is made, not where the store is
                raise DiskFull(
                    f"there is no room for a copy in {Path(path).parent}; free as much as the store"
                ) from error
            raise

    def renew(self) -> int:
        """Every mailbox is another one from now on, so that each device looks what is missing here, and sends it."""
        return self._books.renew(self._randomness)


def _wrong(kept: Kept) -> list[str]:
    if kept.object is not None:
        return []  # object storage answers for what it holds
    if isinstance(kept.blob, bytes) and len(kept.blob) == kept.size and digest(kept.blob) == kept.digest:
        return []
    where = " ".join(part.hex() if isinstance(part, bytes) else str(part) for part in kept.place)
    return [f"blob {where} is not what was put; devices that hold its contents send them again once asked"]


def handle_of(mailbox: bytes) -> str:
    """What a mailbox is called where others look on: who knows the id can tell the handle, nobody the other way."""
    return sha256(b"syncmem/v1/handle\0" + mailbox).hexdigest()[:HANDLE_DIGITS]


def _told(box: Box) -> dict[str, Any]:
    return {
        "handle": handle_of(box.id), "mailbox": box.id.hex(), "bytes": box.bytes,
        "blobs": box.blobs, "streams": box.streams, "quota": box.quota,
    }  # fmt: skip
