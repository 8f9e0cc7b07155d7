"""Being one of several devices: the vault, invitations, sync, status. All of it over a blind mailbox.

Rule: what syncs is loaded when it is first needed; a memory that is only read and written never does.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self

from syncmem import files, statements
from syncmem.environment import Environment
from syncmem.errors import Busy, InvalidInput, NotFound, Revoked, Unreachable
from syncmem.opened import Opened
from syncmem.replica.catalog import VAULT, Slot
from syncmem.replica.driver import MEMORY
from syncmem.replica.rectangles import Change
from syncmem.standing import MailboxSync, SlotChange, Status, SyncReport

if TYPE_CHECKING:
    from syncmem.seal.statements import Member
    from syncmem.sync.pairing import Code, Meeting
    from syncmem.sync.syncer import Synced, Syncer

INVITATION_SECONDS: Final = 600.0  # how long an invitation is waited for
JOIN_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.5

Approve = Callable[[str], bool]


@dataclass(frozen=True)
class Invitation:
    """A code for one new device.

    Attributes:
        code: to be scanned, pasted or typed on the new device; whoever has it can ask to be let in, once.
        scopes: what the new device will get.
    """

    code: str
    scopes: tuple[str, ...]
    _owner: Syncing
    _parsed: Code

    def qr(self) -> str:
        """The code as a QR picture of text, for a terminal."""
        import io

        import segno

        picture = io.StringIO()
        segno.make(self.code, error="l").terminal(picture, compact=True)
        return picture.getvalue()

    def accept(self, approve: Approve) -> str | None:
        """Let in who asks, if ``approve`` (given its name) says yes; its name, or None while nobody asks.

        Raises:
            InvalidInput: it was not approved.
        """
        return self._owner._accept(self, approve)

    def wait(self, approve: Approve, seconds: float = INVITATION_SECONDS) -> str:
        """As :meth:`accept`, once somebody asks.

        Raises:
            NotFound: nobody did, in this time.
        """
        clock = self._owner._environment.clock
        deadline = clock.elapsed() + seconds
        while clock.elapsed() < deadline:
            with suppress(Unreachable):
                name = self.accept(approve)
                if name is not None:
                    return name
            clock.sleep(_POLL_SECONDS)
        raise NotFound("nobody used the code in time; show a new one with 'syncmem invite'")


class Syncing(Opened):
    """create_vault, invite, join, recover, sync, status, and the care of devices."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        super().__init__(path, **options)
        self._replica.govern(lambda key: self._syncer.vault.cut_of(key))
        self._replica.tell_of_repairs(lambda log, last: self._syncer.ledger.doubt(log, last))
        self._replica.subjects_named_by(lambda scope: self._syncer.vault.subject_key(scope))

    @cached_property
    def _syncer(self) -> Syncer:
        from syncmem.sync import open_mailbox
        from syncmem.sync.syncer import Syncer

        return Syncer(self._replica, self._lock, self._environment.open_mailbox or open_mailbox)

    # -- the vault ----------------------------------------------------------------------------------

    def create_vault(self, name: str | None = None) -> str:
        """Make a vault with this device as its first; the recovery phrase of 24 words.

        The phrase is shown once and stored nowhere: whoever has it is a member of the vault, and it is the
        only way back when all devices are lost.
        """
        return self._syncer.create(self._device_name(name))

    def add_mailbox(self, address: str) -> None:
        """Sync through this address as well: "folder:PATH" or "https://HOST"."""
        self._syncer.opener(address).close()
        with self._lock, self._replica.transaction():
            self._syncer.vault.add_address(address)

    def remove_mailbox(self, address: str) -> None:
        """Sync through this address no more; what lies there stays."""
        with self._lock, self._replica.transaction():
            self._syncer.vault.drop_address(address)

    def share(self, scope: str) -> None:
        """Give a scope a key and a mailbox of its own, so that it can be shared with chosen devices."""
        self._syncer.share(statements.name("scope", scope))

    # -- new devices --------------------------------------------------------------------------------

    def invite(self, mailbox: str | None = None, *, scopes: Iterable[str] = ()) -> Invitation:
        """A code with which one new device can ask to be let in.

        Args:
            mailbox: where both meet, also later to sync; None: the one already in use.
            scopes: what the device gets beside the scope "vault".

        Raises:
            InvalidInput: there is no vault yet, or no mailbox.
        """
        from syncmem.sync.pairing import Code

        with self._looking():
            addresses = self._syncer.vault.addresses
            _ = self._syncer.vault.roster
        address = mailbox or next(iter(addresses), None)
        if address is None:
            raise InvalidInput("no mailbox is known; pass one: invite('folder:PATH') or invite('https://HOST')")
        if address not in addresses:
            self.add_mailbox(address)
        for scope in scopes:
            self.share(scope)
        code = Code(self._environment.randomness(16), address)
        return Invitation(str(code), (VAULT, *scopes), self, code)

    def _accept(self, invitation: Invitation, approve: Approve) -> str | None:
        from syncmem.sync.pairing import Meeting

        mailbox = self._syncer.opener(invitation._parsed.address)
        try:
            meeting = Meeting(invitation._parsed, mailbox, self._environment.randomness)
            member = meeting.asking()
            if member is None:
                return None
            with self._looking():
                stranger = self._syncer.vault.roster.member(member.device) is None
            if stranger:
                if not approve(member.name):
                    raise InvalidInput(f"{member.name!r} was not let in; show a new code for another device")
                self._syncer.admit(member, invitation.scopes)
            self._answer(meeting, member)
            return member.name
        finally:
            mailbox.close()

    def _answer(self, meeting: Meeting, member: Member) -> None:
        with self._looking():
            vault = self._syncer.vault
            addresses, known = vault.addresses, vault.roster.statements_in_order()
        meeting.admit(member, addresses, known)

    @classmethod
    def join(
        cls,
        path: str | os.PathLike[str],
        code: str,
        *,
        name: str | None = None,
        mailbox: str | None = None,
        wait_seconds: float = JOIN_SECONDS,
        zone: str | tzinfo | None = None,
        environment: Environment | None = None,
    ) -> Self:
        """Ask to be let into the vault whose device shows a code, and wait until it does.

        Args:
            name: what people call this device; None: its host name.
            mailbox: the same mailbox under the name it has here (a shared folder lies elsewhere on each device).

        Raises:
            InvalidInput: the code is wrong. NotFound: nobody let this device in, in time; the same call goes on.
        """
        from syncmem.sync.pairing import Code

        parsed = Code.parse(code)
        memory = cls(path, zone=zone, environment=environment)
        try:
            memory._join(parsed, mailbox or parsed.address, name, wait_seconds)
        except BaseException:
            memory.close()
            raise
        return memory

    def _join(self, code: Code, address: str, name: str | None, seconds: float) -> None:
        from syncmem.sync.pairing import Meeting

        with self._lock:
            if self._syncer.vault.exists:
                raise InvalidInput("this memory belongs to a vault already; join with another file")
            seed = self._syncer.vault.seed
        mailbox = self._syncer.opener(address)
        try:
            meeting = Meeting(code, mailbox, self._environment.randomness)
            meeting.ask(seed, self._device_name(name))
            clock = self._environment.clock
            deadline = clock.elapsed() + seconds
            while (admission := meeting.answered(seed)) is None:
                if clock.elapsed() >= deadline:
                    raise NotFound("nobody has let this device in yet; accept it on the other one, then join again")
                clock.sleep(_POLL_SECONDS)
        finally:
            mailbox.close()
        where = [address if known == code.address else known for known in admission.addresses]
        self._syncer.enter(where or [address], admission.statements)

    @classmethod
    def recover(
        cls,
        path: str | os.PathLike[str],
        phrase: str,
        mailbox: str,
        *,
        name: str | None = None,
        zone: str | tzinfo | None = None,
        environment: Environment | None = None,
    ) -> Self:
        """Come back with nothing but the recovery phrase and the address of a mailbox; then sync().

        Raises:
            InvalidInput: the phrase is wrong (the message says which word). NotFound: it is of another vault.
        """
        memory = cls(path, zone=zone, environment=environment)
        try:
            memory._syncer.recover(phrase, mailbox, memory._device_name(name))
        except BaseException:
            memory.close()
            raise
        return memory

    # -- devices ------------------------------------------------------------------------------------

    def rename_device(self, device: str, name: str) -> None:
        """Call a device something else, on all devices."""
        self._syncer.rename(self._member(device), name)

    def grant(self, device: str, scopes: Iterable[str]) -> None:
        """Give a device more scopes."""
        self._syncer.grant(self._member(device), list(scopes))

    def revoke(self, device: str, *, wipe: bool = False, reason: str | None = None) -> None:
        """Remove a device: it gets no new keys, and what it wrote that is not here yet does not count.

        Args:
            device: its id or name.
            wipe: tell it to delete its memory when it next syncs.
        """
        self._syncer.revoke(self._member(device), wipe=wipe, reason=reason)

    def adopt(self, device: str) -> None:
        """Let what a removed device wrote after its removal count, as far as it has arrived here."""
        self._syncer.adopt(self._member(device))

    def _member(self, device: str) -> bytes:
        """The key of a device that is named by its id or its name."""
        with self._looking():
            members = [member for member in self._syncer.vault.roster.members if not member.paper]
            named = {m.device: (self._telling.device_id(m.device), m.name, m.device.hex()) for m in members}
        found = [key for key, names in named.items() if device in names]
        if not found:
            raise NotFound(f"no device {device!r} is in the vault; list them with 'syncmem devices'")
        if len(found) > 1:
            raise InvalidInput(f"several devices are called {device!r}; name one by its id")
        return found[0]

    def _device_name(self, name: str | None) -> str:
        return statements.name("device name", name or platform.node() or "device")

    # -- sync ---------------------------------------------------------------------------------------

    def sync(self, *mailboxes: str) -> SyncReport:
        """Send what the mailboxes lack and take in what is new, in every scope of this device.

        ``mailboxes``: only these addresses; none: all that are known.  What one mailbox does not do holds up no
        other; the report says what happened with each.

        Raises:
            InvalidInput: there is no vault yet, or no mailbox.
            Revoked: this device was removed from the vault.
            Busy: another process of this device is syncing.
        """
        try:
            with self._sync_lock():
                results = self._syncer.sync(mailboxes or None)
        except Revoked as error:
            if not self._syncer.told_to_wipe():
                raise
            self.close()
            files.wipe(self._path)
            raise Revoked("this device was removed and told to delete its memory, which it did") from error
        with self._looking():
            return self._report(results)

    def status(self) -> Status:
        """What is verified, pending, held or refused; see :class:`~syncmem.standing.Status`."""
        from syncmem.sync.standing import Standings

        with self._lock, self._replica.transaction():
            if not self._syncer.vault.exists:
                return Status(None, None, False, 0, {}, (), (), (), ())
            return Standings(self._syncer).status()

    def _sync_lock(self) -> Any:
        """One process of a device syncs at a time; the operating system frees the lock of a dead one."""
        if self._path == MEMORY:
            return nullcontext()
        from filelock import FileLock, Timeout

        try:
            return FileLock(self._path + files.LOCK_SUFFIX).acquire(timeout=0)
        except Timeout as error:
            raise Busy("another process of this device is syncing; its result serves this one too") from error

    def _report(self, results: Sequence[Synced]) -> SyncReport:
        parts = tuple(
            MailboxSync(
                address=one.address,
                scope=one.scope,
                error=None if one.error is None else str(one.error),
                sent=one.outcomes.sent,
                received=one.outcomes.received,
                sent_bytes=one.outcomes.sent_bytes,
                received_bytes=one.outcomes.received_bytes,
                questions=one.outcomes.questions,
                events=one.outcomes.events,
                refused=tuple(one.outcomes.refused),
                reset=one.outcomes.reset,
                forked=one.outcomes.forked,
                repaired=tuple(map(self._telling.repair, one.outcomes.repaired)),
            )
            for one in results
        )
        changes = tuple(self._slot_change(slot, change) for one in results for slot, change in self._told(one))
        return SyncReport(parts, changes, any(one.outcomes.more_changes for one in results))

    def _told(self, one: Synced) -> Iterator[tuple[Slot, Change]]:
        """What a sync changed, with its slots; of what was erased since, nothing is told."""
        for change in one.outcomes.changes:
            slot = self._replica.catalog.known(change.slot)
            if slot is not None:
                yield slot, change

    def _slot_change(self, slot: Slot, change: Change) -> SlotChange:
        closed = tuple(self._telling.change(rectangle) for rectangle in change.removed)
        opened = tuple(self._telling.change(rectangle) for rectangle in change.added)
        return SlotChange(slot.scope, slot.entity, slot.predicate, closed, opened)
