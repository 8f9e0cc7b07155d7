"""What a relay remembers of the mailboxes in a file that it alone writes, so that it need not ask again.

Rules: what is remembered is as the file was after an exchange that was committed. The file's own count of changes tells
whether anything else came between (a drop, a quota, a transaction that was taken back); then nothing is remembered any
more, and nobody has to say so. It is bounded by what it holds, and forgets first what was not asked for longest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

HELD_MAX: Final = 200_000  # mailboxes, streams and drop keys; some 30 MB


@dataclass(slots=True)
class Box:
    """A mailbox's row and the ends of its streams; ``keys``: drop keys that are certainly there."""

    no: int
    epoch: bytes
    size: int
    lent: int
    quota: int | None
    ends: dict[bytes, int]
    keys: set[bytes] = field(default_factory=set)

    @property
    def held(self) -> int:
        return 1 + len(self.ends) + len(self.keys)


class Known:
    """The mailboxes that were asked for last. Belongs to who holds the file."""

    def __init__(self, changes: Callable[[], int]) -> None:
        self._changes = changes
        self._as_of = changes()
        self._boxes: dict[bytes, tuple[Box, int]] = {}
        self._held = 0

    @contextmanager
    def holding(self) -> Iterator[None]:
        """A transaction: what is learned in it holds when it was committed."""
        if self._changes() != self._as_of:
            self._boxes.clear()
            self._held = 0
        yield
        self._as_of = self._changes()

    def get(self, mailbox: bytes) -> Box | None:
        return self._boxes[mailbox][0] if mailbox in self._boxes else None

    def keep(self, mailbox: bytes, box: Box) -> None:
        """As the transaction that is open leaves it."""
        before = self._boxes.pop(mailbox, None)
        self._boxes[mailbox] = box, box.held
        self._held += box.held - (before[1] if before is not None else 0)
        while self._held > HELD_MAX:
            self._held -= self._boxes.pop(next(iter(self._boxes)))[1]
