"""A mailbox under another name: a relay at a new host, scheme or port, a folder elsewhere. It goes on as what it was.

Rules: a mailbox is what its id and its epoch say, an address is only where it was found last. Nothing that is known
goes over to another address unless the mailbox there has that epoch, every stream at least as far as it was known to
go, and at the ends of the streams the blobs that were known there; nor while the old address is in use and answers as
it should: two that answer are two, until one of them is given up. A mailbox is asked this only where it never was
before, so it costs a question once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final

from syncmem.errors import MailboxError
from syncmem.seal.envelope import EpochKey
from syncmem.sync.ledger import Ledger
from syncmem.sync.mailboxes import Known
from syncmem.sync.vault import Vault
from syncmem.wire.mailbox import Answer, BlobName, Exchange, Mailbox

Writing = Callable[[], AbstractContextManager[None]]
LOOKED_AT: Final = 1  # places at the end of each stream


def recognise(vault: Vault, ledger: Ledger, writing: Writing, mailbox: Mailbox, address: str) -> None:
    """Go on with what is known of the mailboxes at an address, where they were reached under another one before."""
    with writing():
        given_up = ledger.given_up(vault.addresses, address)
        keys = {key.mailbox: key for key in vault.keys.values()}
    with suppress(MailboxError):  # the sync says so
        for known in given_up:
            if (key := keys.get(known.id)) is not None:
                _look(ledger, writing, mailbox, address, known, key)


def _look(ledger: Ledger, writing: Writing, mailbox: Mailbox, address: str, known: Known, key: EpochKey) -> None:
    with writing():
        ends = ledger.ends(known.no)
    asked = Exchange(key.write_key, [], {stream: max(0, last - LOOKED_AT) for stream, last in ends.items()}, 0)
    answer = mailbox.exchange(asked, key.write_seed)
    with writing():
        if _is_same(ledger, known, answer):
            ledger.move(known.no, address)


def _is_same(ledger: Ledger, known: Known, answer: Answer) -> bool:
    """Whether a mailbox that answered is the one that was known elsewhere, or goes on from it."""
    if answer.epoch != known.epoch:
        return False
    further = all(answer.ends.get(stream, 0) >= last for stream, last in ledger.ends(known.no).items())
    return further and not any(_is_another(ledger, known, entry.name) for entry in answer.listed)


def _is_another(ledger: Ledger, known: Known, name: BlobName) -> bool:
    """Whether another blob was known at that place."""
    return ledger.state(known.no, name) is None and not ledger.unseen(known.no, [name])
