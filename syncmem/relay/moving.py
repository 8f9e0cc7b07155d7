"""Moving a relay: every mailbox from one store to another, SQLite or PostgreSQL, with objects or without.

Rules: nobody writes to either meanwhile; a mailbox keeps its id and its epoch, so devices notice nothing; it has moved
when its digest is the same on both sides, each read from what is stored there, every blob checked against its name;
what broke off is taken up where it was, and what has moved is not moved again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from syncmem.codec import pack
from syncmem.errors import Damaged, InvalidInput
from syncmem.relay.opening import check_is_there, open_store
from syncmem.relay.shelves import PAGE, Head, Row, Shelf, shelf
from syncmem.wire.mailbox import STREAM_BYTES, BlobName, digest

BYTES_AT_ONCE: Final = 8 * 1024 * 1024  # of blobs in memory
_FIRST: Final = BlobName(bytes(STREAM_BYTES), 0, b"")


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move came to.

    Attributes:
        mailboxes: all that the store has; ``moved``: those that were not there yet; ``blobs``: of these.
        digest: of all mailboxes, the same on both sides (32 bytes).
    """

    mailboxes: int
    moved: int
    blobs: int
    digest: bytes


def move(
    source: str,
    target: str,
    randomness: Callable[[int], bytes],
    *,
    source_blobs: str | None = None,
    target_blobs: str | None = None,
    tell: Callable[[int, int], None] = lambda done, all: None,
) -> Moved:
    """Move all mailboxes from a store to another (see :func:`syncmem.relay.opening.open_store` for addresses).

    The source stays as it is. ``tell`` is told how many mailboxes are done, of how many.

    Raises:
        InvalidInput: both are the same, the source is not there, or the target holds mailboxes that it does not know.
        Busy: relays are running on one of them. Damaged: a blob is not what its name says.
        FileError: one of them cannot be used.
    """
    if source == target:
        raise InvalidInput("a store cannot be moved to where it is; name another one")
    check_is_there(source)
    with (
        closing(open_store(source, randomness, blobs=source_blobs, serving=False)) as one,
        closing(open_store(target, randomness, blobs=target_blobs, serving=False)) as other,
        shelf(one) as giving,
        shelf(other) as taking,
    ):
        return _move(giving, taking, tell)


def _move(giving: Shelf, taking: Shelf, tell: Callable[[int, int], None]) -> Moved:
    mailboxes = giving.mailboxes()
    strangers = {*taking.mailboxes()} - {*mailboxes}
    if strangers:
        raise InvalidInput(f"the target holds {len(strangers)} other mailboxes; choose an empty one")
    all_of_it, moved, blobs = sha256(), 0, 0
    for number, mailbox in enumerate(mailboxes):
        told = digest_of(giving, mailbox)
        if told != digest_of(taking, mailbox):
            moved += 1
            blobs += _copy(giving, taking, mailbox)
            if told != digest_of(taking, mailbox):
                raise Damaged(
                    f"mailbox {mailbox.hex()} is another on the target; choose an empty one, then start again"
                )
        all_of_it.update(told)
        tell(number + 1, len(mailboxes))
    return Moved(len(mailboxes), moved, blobs, all_of_it.digest())


def digest_of(on: Shelf, mailbox: bytes) -> bytes:
    """The digest of a mailbox as it is stored there, with the content of every blob (32 bytes; b"": no mailbox).

    Raises:
        Damaged: a blob is not what its name says.
    """
    head = on.head(mailbox)
    if head is None:
        return b""
    ends, own = sorted(map(list, head.ends.items())), [head.quota, head.made, head.used]
    found = sha256(pack([mailbox, head.epoch, head.size, sorted(head.drop_keys), ends, own]))
    for row in _rows(on, mailbox):
        found.update(pack([*row.name, row.size]))
    return found.digest()


def _copy(giving: Shelf, taking: Shelf, mailbox: bytes) -> int:
    head = giving.head(mailbox)
    assert head is not None
    count, size, batch = 0, 0, list[Row]()
    for row in _rows(giving, mailbox):
        batch.append(row)
        size += row.size
        if size >= BYTES_AT_ONCE or len(batch) == PAGE:
            count += _write(taking, mailbox, head, batch)
            size, batch = 0, []
    return count + _write(taking, mailbox, head, batch)


def _write(taking: Shelf, mailbox: bytes, head: Head, batch: list[Row]) -> int:
    """Rows, the larger blobs as objects where there are objects."""
    blobs = {row.name: row.blob for row in batch if row.blob is not None}
    objects = taking.store.write_objects(mailbox, blobs)
    rows = [Row(row.name, row.size, None if row.name in objects else row.blob, objects.get(row.name)) for row in batch]
    taking.write(mailbox, head, rows)
    return len(rows)


def _rows(on: Shelf, mailbox: bytes) -> Iterator[Row]:
    """All rows in order, each blob with its content, checked."""
    after = _FIRST
    while page := on.names(mailbox, after):
        there = [name for name, size in page if size]
        contents = on.store.contents(mailbox, there)
        for name, size in page:
            blob = next(contents) if size else None
            if size and (blob is None or len(blob) != size or digest(blob) != name.digest):
                raise Damaged(f"a blob of mailbox {mailbox.hex()} is not what its name says; drop that mailbox first")
            yield Row(name, size, blob)
        after = page[-1][0]
