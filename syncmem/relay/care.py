"""The care of a relay's store in one SQLite file: what is in it, whether it is whole, how much each may hold, copies.

Rules: the relay may go on meanwhile, so nothing here holds the store for long; what is told names mailboxes by their
ids, and nothing that is in them; nothing is deleted because it is old: only devices can tell what is not needed any
more, and they drop it themselves, behind a snapshot that others have confirmed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from syncmem.errors import FileError, InvalidInput, NotFound
from syncmem.relay.store import SqliteStore
from syncmem.wire.mailbox import EPOCH_BYTES, MAILBOX_BYTES, digest

ROWS_AT_ONCE: Final = 64  # blobs looked at before others have their turn
PROBLEMS_MAX: Final = 100  # told of; the rest is counted


class Care:
    """What an operator asks of a store. Safe while it serves; results are plain JSON values."""

    def __init__(self, store: SqliteStore, randomness: Callable[[int], bytes]) -> None:
        self._store = store
        self._randomness = randomness
        self._file = store.file
        self._db = store.file.db

    def mailboxes(self) -> list[dict[str, Any]]:
        """Each mailbox: its id, the blobs and bytes that it holds, its streams and its own quota; the largest first."""
        sql = (
            "SELECT m.id, m.bytes, (SELECT count(*) FROM blobs b WHERE b.mailbox = m.no AND b.size > 0), "
            "(SELECT count(*) FROM streams s WHERE s.mailbox = m.no), q.bytes "
            "FROM mailboxes m LEFT JOIN quotas q ON q.mailbox = m.id ORDER BY m.bytes DESC, m.id"
        )
        with self._file.held():
            rows = self._db.execute(sql).fetchall()
        names = ("mailbox", "bytes", "blobs", "streams", "quota")
        return [dict(zip(names, (id.hex(), *rest), strict=True)) for id, *rest in rows]

    def quota(self, mailbox: str, bytes_max: int | None = None, usual: bool = False) -> dict[str, Any]:
        """How much a mailbox may hold; ``bytes_max`` sets it, ``usual`` makes it what all others may.

        Raises:
            NotFound: there is no such mailbox.
        """
        try:
            id = bytes.fromhex(mailbox)
        except ValueError:
            id = b""
        if len(id) != MAILBOX_BYTES:
            raise InvalidInput(f"{mailbox!r} is no id of a mailbox; list them with 'syncmem relay mailboxes'")
        with self._file.held(), self._file.transaction():
            if usual:
                self._db.execute("DELETE FROM quotas WHERE mailbox = ?", (id,))
            elif bytes_max is not None:
                self._db.execute("INSERT OR REPLACE INTO quotas VALUES (?, ?)", (id, bytes_max))
        for found in self.mailboxes():
            if found["mailbox"] == mailbox:
                return found
        raise NotFound(f"there is no mailbox {mailbox} here; list them with 'syncmem relay mailboxes'")

    def gc(self) -> dict[str, Any]:
        """Give back what nobody needs: objects that no row names, and pages of the file that hold nothing."""
        objects = self._store.collect() if self._store.objects is not None else 0
        with self._file.held():
            free, pages = self._pragma("freelist_count"), self._pragma("page_size")
            if free:
                self._db.execute("VACUUM")
                self._file.empty_journal()
        return {"objects": objects, "bytes": free * pages}

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    # -- whole ----------------------------------------------------------------------------------------

    def verify(self) -> dict[str, Any]:
        """Whether all is there and as it was put: what is wrong, each with what it means."""
        with self._file.held():
            said = [row[0] for row in self._db.execute("PRAGMA quick_check").fetchall()]
        problems = [f"the file: {each}; restore a backup" for each in said if each != "ok"]
        count = 0
        for wrong in self._wrong_blobs():
            count += 1
            problems += [wrong] if wrong else []
        problems += self._wrong_sums()
        with self._file.held():
            boxes, held = self._db.execute("SELECT count(*), coalesce(sum(bytes), 0) FROM mailboxes").fetchone()
        told = problems[:PROBLEMS_MAX]
        return {"mailboxes": boxes, "blobs": count, "bytes": held, "problems": told, "problem_count": len(problems)}

    def _wrong_blobs(self) -> Iterator[str | None]:
        """Of each blob what is wrong with it; None: nothing."""
        sql = "SELECT id, digest, size, blob, object FROM blobs WHERE id > ? AND size > 0 ORDER BY id LIMIT ?"
        last = 0
        while True:
            with self._file.held():
                rows = self._db.execute(sql, (last, ROWS_AT_ONCE)).fetchall()
            for last, mark, size, blob, object in rows:
                if object is not None:
                    yield None  # object storage answers for what it holds
                elif blob is None or len(blob) != size or digest(blob) != mark:
                    yield f"blob {last} is not what was put; devices that hold its contents send them again once asked"
                else:
                    yield None
            if len(rows) < ROWS_AT_ONCE:
                return

    def _wrong_sums(self) -> list[str]:
        sums = (
            "SELECT m.id FROM mailboxes m WHERE m.bytes <> "
            "(SELECT coalesce(sum(b.size), 0) FROM blobs b WHERE b.mailbox = m.no)"
        )
        ends = (
            "SELECT m.id FROM (SELECT mailbox, stream, max(counter) AS last FROM blobs GROUP BY mailbox, stream) b "
            "JOIN mailboxes m ON m.no = b.mailbox LEFT JOIN streams s USING (mailbox, stream) "
            "WHERE s.last IS NOT b.last GROUP BY m.id"
        )
        with self._file.held():
            counted = [f"mailbox {id.hex()} is counted wrong" for (id,) in self._db.execute(sums).fetchall()]
            ended = [f"a stream of mailbox {id.hex()} ends elsewhere" for (id,) in self._db.execute(ends).fetchall()]
        return [f"{each}; restore a backup" for each in counted + ended]

    # -- copies ---------------------------------------------------------------------------------------

    def backup(self, path: str | os.PathLike[str]) -> None:
        """A copy as of now in a new file.

        Raises:
            FileError: it cannot be written there.
        """
        if os.path.lexists(path):
            raise FileError(f"{path} exists already; choose another name for the backup")
        try:
            self._file.copy_to(path)
        except (OSError, FileError) as error:
            Path(path).unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise FileError(f"{path} cannot be written ({error.strerror}); choose another place") from error
            raise

    def renew(self) -> int:
        """Every mailbox is another one from now on, so that each device looks what is missing here, and sends it."""
        with self._file.held():
            ids = [row[0] for row in self._db.execute("SELECT no FROM mailboxes").fetchall()]
            with self._file.transaction():
                rows = [(self._randomness(EPOCH_BYTES), no) for no in ids]
                self._db.executemany("UPDATE mailboxes SET epoch = ? WHERE no = ?", rows)
        return len(ids)
