"""Mailboxes that have no room: what they did not take waits here, is told of, and is offered again.

Rules: nothing that was not taken is forgotten; who asks for a sync has it offered at once, what syncs by itself waits
for a while, because the same bytes sent again and again help nobody.
"""

from __future__ import annotations

from typing import Final

from syncmem.sync.contents import BlobState
from syncmem.sync.ledger import Ledger
from syncmem.sync.mailboxes import Known

FULL_AFTER: Final = 600_000_000  # microseconds: hardly anybody makes room sooner


class Room:
    """What this process knows of it; inside a write transaction."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._full: dict[int, int] = {}  # mailbox -> when it said so

    def offer_again(self, known: Known, now: int, patient: bool) -> None:
        """What the mailbox did not take is to be sent again, unless it said so a moment ago."""
        since = self._full.get(known.no)
        if not patient or since is None or not 0 <= now - since < FULL_AFTER:
            self._ledger.unblock(known.no)

    def note(self, known: Known, full: str | None, now: int) -> None:
        """A sync ran to its end; ``full``: why the mailbox took no more."""
        if full is not None:
            self._full[known.no] = now
        waiting = [reason for _, reason in self._ledger.in_state(known.no, BlobState.BLOCKED)]
        if not waiting:
            self._full.pop(known.no, None)
        elif known.no in self._full:
            self._ledger.failed(known.no, f"it takes no more: {full or waiting[0]}; what waits here is sent later")
