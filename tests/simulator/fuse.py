"""A fuse: the process of a device dies at the n-th time that it touches the world, wherever in the code that is."""

from __future__ import annotations

from collections.abc import Callable


class Died(BaseException):
    """The process is gone; nothing in it may go on."""


class Fuse:
    """Counts what goes through the seams (clock, randomness, side files, network) while it is set."""

    def __init__(self) -> None:
        self.burnt = False
        self._left: int | None = None
        self._at_death: Callable[[], None] = lambda: None

    def set(self, touches: int, at_death: Callable[[], None]) -> None:
        """``at_death``: keeps what the disk holds at that moment."""
        self._left, self._at_death, self.burnt = touches, at_death, False

    def clear(self) -> None:
        self._left, self.burnt = None, False

    def touch(self, what: str) -> None:
        """Something outside the process is about to be asked or changed."""
        if self._left is None:
            return
        if self.burnt:
            raise Died(what)
        self._left -= 1
        if self._left <= 0:
            self.burnt = True
            self._at_death()
            raise Died(what)
