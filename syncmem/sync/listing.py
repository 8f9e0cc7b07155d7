"""What a mailbox lists while it is read to its end, answer by answer, and the bounds of what it is believed.

Rules: within one session nothing is listed twice, so a long listing hides nothing behind it; a mailbox that
changes under the hands, or gives too much that is nobody's, is not asked any further in this session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from syncmem.errors import MailboxRefused
from syncmem.wire.mailbox import LISTED_MAX, BlobName

STRAYS_MAX: Final = 256  # blobs of nobody's that are looked at in one session: what they cost is bounded
WITHHELD_MAX: Final = 4 * LISTED_MAX  # listed and not given: a folder that a service has only begun to bring


class Listing:
    """What is listed behind the cursors, as far as it was told."""

    def __init__(self) -> None:
        self.names: set[BlobName] = set()
        self._reached: dict[bytes, int] = {}
        self.strays: set[BlobName] = set()  # of this session
        self._withheld: set[BlobName] = set()
        self._resets = 0

    @property
    def in_parts(self) -> bool:
        """Whether it took more than one answer."""
        return bool(self._reached)

    def behind(self, cursors: Mapping[bytes, int]) -> dict[bytes, int]:
        """The places behind which more is to be listed."""
        return {
            stream: max(cursors.get(stream, 0), self._reached.get(stream, 0)) for stream in {*cursors, *self._reached}
        }

    def add(self, names: Iterable[BlobName], *, more: bool) -> bool:
        """Note an answer, and whether it told anything new."""
        new = {*names} - self.names
        if not self.names:
            self._withheld = set()
        self.names |= new
        if more:
            for name in new:
                self._reached[name.stream] = max(self._reached.get(name.stream, 0), name.counter)
        return bool(new)

    def begin_anew(self) -> None:
        """List from the cursors again."""
        self.names, self._reached = set(), {}

    # -- what is not as it should be ----------------------------------------------------------------

    def found_stray(self, name: BlobName) -> None:
        self.strays.add(name)
        if len(self.strays) >= STRAYS_MAX:
            raise MailboxRefused("the mailbox gives too much that nobody of this vault wrote there; use another one")

    def found_reset(self) -> None:
        """The mailbox is another than it was."""
        self._resets += 1
        self.begin_anew()
        if self._resets > 1:
            raise MailboxRefused("the mailbox changes while it is asked; sync again, or use another one")

    def found_nothing(self, names: Iterable[BlobName]) -> None:
        """Blobs were listed and are not given."""
        self._withheld.update(names)
        if len(self._withheld) > WITHHELD_MAX:
            self.check_given()

    def check_given(self) -> None:
        """Raises MailboxRefused where not all was given that is listed."""
        if self._withheld:
            count = len(self._withheld)
            raise MailboxRefused(f"the mailbox lists {count} blobs that it does not give; sync again later")

    def check_further(self, further: bool) -> None:
        """Raises MailboxRefused where an answer says that there is more, and tells nothing."""
        if not further:
            raise MailboxRefused("the mailbox says that there is more and does not tell it; sync again later")
