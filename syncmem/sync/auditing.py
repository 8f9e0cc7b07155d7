"""Once a day: does a mailbox still hold what was read and written there, and nothing that was dropped or passed over?

Rules: names are enough, no blob is read for it; a mailbox that fails is taken for one that was put back from
a backup: what was thought to be there is forgotten and found out again.  A sync alone need not notice that:
what is sent along with the first question makes a stream as long as it was.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from syncmem.sync.contents import BlobState
from syncmem.sync.ledger import Ledger
from syncmem.sync.listing import Listing
from syncmem.sync.mailboxes import Known
from syncmem.wire.mailbox import Answer, BlobName, Exchange

AUDITED_AFTER: Final = 86_400_000_000  # microseconds: a backup is put back less often, and traces are not to stay long


class Audit:
    """One look through a whole mailbox, at the end of a session."""

    def __init__(self, ledger: Ledger, known: Known, write_key: bytes) -> None:
        self._ledger = ledger
        self._known = known
        self._key = write_key
        self._listing = Listing()
        self.questions = 0

    def steps(self) -> Generator[Exchange, Answer, set[BlobName]]:
        """The questions; all names that are listed."""
        listed: set[BlobName] = set()
        while True:
            self.questions += 1
            answer = yield Exchange(self._key, [], self._listing.behind({}), 0)
            further = self._listing.add((entry.name for entry in answer.listed), more=answer.more)
            listed |= {entry.name for entry in answer.listed}
            if not answer.more:
                return listed
            self._listing.check_further(further)

    def is_as_known(self, listed: set[BlobName]) -> bool:
        """Whether all that was taken is there, and nothing that was dropped or passed over unread.

        Inside a write transaction.
        """
        taken = {name for name, _ in self._ledger.known(self._known.no, BlobState.TAKEN)}
        dropped = {name for name, _ in self._ledger.known(self._known.no, BlobState.DROPPED)}
        return taken <= listed and not dropped & listed and not self._ledger.passed_over(self._known.no, listed)
