"""What a relay asks of the place where it keeps mailboxes, whatever that is made of.

Rules: every method may be called from several threads at once and blocks the caller's only; what is answered is
durable; a failure is a :class:`syncmem.errors.FileError` whose words may be shown to anybody, ``Busy`` where the same
question may be asked again in a moment, and nothing that was acknowledged is lost by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange

DATABASES: Final = ("postgres://", "postgresql://")  # how the address of one begins; every other one is a folder
Position = tuple[bytes, int]  # a mailbox's epoch, and the sum of the ends of its streams
Told = Callable[[bytes | None, Position | None], None]


class Store(Protocol):
    """All mailboxes of a relay. ``together``: exchanges that come at one time cost less when they are asked as one."""

    together: bool

    def exchange(self, request: Exchange) -> Answer:
        """Keep what is put, and say what is there."""

    def exchange_all(self, requests: Sequence[Exchange]) -> Sequence[Answer | Exception]:
        """The same for several; of each its answer, or why it has none."""

    def get(self, key: bytes, names: Sequence[BlobName]) -> Iterator[tuple[BlobName, bytes | None]]:
        """Blobs by name, one at a time, in order."""

    def drop(self, request: Drop) -> list[bool]:
        """Forget blobs, if enough members have signed; which are gone (also if they were before)."""

    def position(self, mailbox: bytes) -> Position | None:
        """Where a mailbox is, by its id; None: there is none yet."""

    def listen(self, told: Told) -> None:
        """From now on ``told`` is called with the id of each mailbox in which a blob was stored, and where it is now,
        whichever process stored it: after that is durable and before it is answered, now and then twice or in
        disorder, from a thread of the store's, so it must return at once. ``None, None``: something was missed, and
        any mailbox may have moved."""

    def check(self) -> None:
        """Whether the store is still there, without reading it."""

    def close(self) -> None: ...
