"""Answers that are on their way and not taken: what slow readers hold of the relay's memory, all together.

Rule: while that is too much, nothing large is begun: blobs are listed and not sent along, and who fetches some is asked
to come again. So a reader that takes nothing costs at most what was begun before.
"""

from __future__ import annotations

from typing import Protocol


class Buffered(Protocol):
    def get_write_buffer_size(self) -> int: ...


class Backlog:
    """The connections whose buffers are full. Belongs to the thread of the event loop."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._full: set[Buffered] = set()

    def add(self, transport: Buffered) -> None:
        """This one takes no more for now."""
        self._full.add(transport)

    def remove(self, transport: Buffered) -> None:
        """It does again, or is gone."""
        self._full.discard(transport)

    @property
    def is_long(self) -> bool:
        return bool(self._full) and sum(one.get_write_buffer_size() for one in self._full) > self._bytes_max
