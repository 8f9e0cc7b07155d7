"""Looking again: what a device that was removed still reads, because the one that removed it may have been none itself.

Rule: it reads what is said of the vault's devices, where it was told of its removal and with the key that it has, and
nothing else; it sends nothing.  If it turns out to be a member after all, the sync goes on like any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Final

from syncmem.errors import MailboxError, PeerError
from syncmem.replica.catalog import VAULT
from syncmem.seal.envelope import EpochKey
from syncmem.seal.graph import STATEMENTS_MAX
from syncmem.seal.statements import Statement
from syncmem.sync.incoming import STATEMENTS_OWN, Incoming
from syncmem.sync.ledger import Ledger
from syncmem.sync.listing import Listing
from syncmem.sync.vault import Vault
from syncmem.wire.mailbox import INLINE_BYTES_MAX, Exchange, Mailbox

ANSWERS_MAX: Final = 64  # of a mailbox in one look


def look_again(
    vault: Vault, ledger: Ledger, writing: Callable[[], AbstractContextManager[None]], mailbox: Mailbox, address: str
) -> None:
    """Take in what is said of the vault's devices at an address, if this device was removed."""
    with writing():
        member, key = vault.roster.member(vault.device), vault.known(VAULT)
        if member is None or member.live or key is None:
            return
        incoming = Incoming(vault, ledger, key)
        cursors = ledger.cursors(ledger.mailbox(address, key).no)
    with suppress(MailboxError):
        for statements in _said(mailbox, key, incoming, cursors):
            with writing():
                if len(vault.roster.ids.union(one.id for one in statements)) <= STATEMENTS_MAX - STATEMENTS_OWN:
                    vault.add(statements)


def _said(mailbox: Mailbox, key: EpochKey, incoming: Incoming, cursors: dict[bytes, int]) -> Iterator[list[Statement]]:
    """The statements behind the cursors, blob by blob; what cannot be read is passed over."""
    listing = Listing()
    for _ in range(ANSWERS_MAX):
        asked = Exchange(key.write_key, [], listing.behind(cursors), INLINE_BYTES_MAX)
        answer = mailbox.exchange(asked, key.write_seed)
        new = listing.add((entry.name for entry in answer.listed), more=answer.more)
        missing = [entry.name for entry in answer.listed if entry.blob is None]
        given = [(entry.name, entry.blob) for entry in answer.listed]
        for name, data in [*given, *(mailbox.get(key.write_key, key.write_seed, missing) if missing else ())]:
            with suppress(PeerError):
                statements = [] if data is None else incoming.open(name, data).statements
                if statements:
                    yield statements
        if not (answer.more and new):
            return
