"""Vaults and how devices come into them: create, invite, join, recover.

Rule: what syncs is loaded when it is first needed; a memory that is only read and written never does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

from syncmem import statements
from syncmem.errors import InvalidInput, NotFound, Unreachable
from syncmem.opened import Opened, Opening
from syncmem.replica.catalog import VAULT

if TYPE_CHECKING:
    from syncmem.model.event import LogKey
    from syncmem.seal.bodies import Member
    from syncmem.sync.pairing import Code, Meeting
    from syncmem.sync.syncer import Syncer

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
    _owner: Joining
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
            NotFound: nobody did, in this time. Unreachable: the mailbox cannot be reached any more.
        """
        clock = self._owner._environment.clock
        deadline = clock.elapsed() + seconds
        trouble: Unreachable | None = None  # passes, mostly
        while clock.elapsed() < deadline:
            try:
                name, trouble = self.accept(approve), None
            except Unreachable as error:
                name, trouble = None, error
            if name is not None:
                return name
            clock.sleep(_POLL_SECONDS)
        if trouble is not None:
            raise trouble
        raise NotFound("nobody used the code in time; show a new one with 'syncmem invite'")


class Joining(Opened):
    """create_vault, invite, join, recover."""

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        super().__init__(path, **options)
        self._replica.govern(self._cut_of)
        self._replica.tell_of_repairs(lambda log, last: self._syncer.ledger.doubt(log, last))
        self._replica.subjects_named_by(lambda scope: self._syncer.vault.subject_key(scope))

    @cached_property
    def _syncer(self) -> Syncer:
        from syncmem.sync import open_mailbox
        from syncmem.sync.syncer import Syncer

        return Syncer(self._replica, self._lock, self._environment.open_mailbox or open_mailbox)

    def _cut_of(self, key: LogKey) -> int | None:
        """Where a log stops to count; nothing is loaded to say so where there is no vault."""
        belongs = self._replica.db.execute("SELECT 1 FROM statements LIMIT 1").fetchone()
        return self._syncer.vault.cut_of(key) if belongs else None

    # -- the vault ----------------------------------------------------------------------------------

    def create_vault(self, name: str | None = None) -> str:
        """Make a vault with this device as its first; the recovery phrase of 24 words.

        The phrase is shown once and stored nowhere: whoever has it is a member of the vault, and it is the
        only way back when all devices are lost.
        """
        return self._syncer.create(self._device_name(name))

    def add_mailbox(self, address: str) -> None:
        """Sync through this address as well: "folder:PATH", "https://HOST" or "s3://BUCKET/PREFIX"."""
        self._syncer.mailbox(address).close()
        with self._lock, self._replica.transaction():
            self._syncer.vault.add_address(address)

    def remove_mailbox(self, address: str) -> None:
        """Sync through this address no more; what lies there stays.

        Raises:
            InvalidInput: this device does not sync with it.
        """
        with self._lock, self._replica.transaction():
            vault, ledger = self._syncer.vault, self._syncer.ledger
            for meant in _meant(address, sorted({*vault.addresses, *(known.address for known in ledger.all())})):
                vault.drop_address(meant)
                ledger.leave_address(meant)
                ledger.forget_unreached(meant)

    def move_mailbox(self, old: str, new: str) -> None:
        """Sync through another address instead: the same mailbox under another name, or what was put in its place.

        What it holds is looked at when it is next read, and what it lacks is sent.

        Raises:
            InvalidInput: ``old`` is not in use, or ``new`` is no address.
        """
        self._syncer.mailbox(new).close()
        with self._lock, self._replica.transaction():
            for address in _meant(old, self._syncer.vault.addresses):
                self._syncer.vault.drop_address(address)
                self._syncer.vault.add_address(new)
                self._syncer.ledger.move_address(address, new)

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
            MailboxError: the mailbox cannot be reached, or refuses; nothing has changed.
        """
        from syncmem.sync.pairing import Code

        with self._looking():
            addresses = self._syncer.vault.addresses
            _ = self._syncer.vault.roster
        address = mailbox or next(iter(addresses), None)
        if address is None:
            raise InvalidInput(
                "no mailbox is known; name where both meet: folder:PATH, https://HOST or s3://BUCKET/PREFIX"
            )
        code = Code(self._environment.randomness(16), address)
        with self._meeting(code) as meeting:
            meeting.asking()  # nobody does; but who cannot be asked here is never let in
        if address not in addresses:
            self.add_mailbox(address)
        for scope in scopes:
            self.share(scope)
        return Invitation(str(code), (VAULT, *scopes), self, code)

    def _accept(self, invitation: Invitation, approve: Approve) -> str | None:
        with self._meeting(invitation._parsed) as meeting:
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

    @contextmanager
    def _meeting(self, code: Code) -> Iterator[Meeting]:
        from syncmem.sync.pairing import Meeting

        with closing(self._syncer.mailbox(code.address)) as mailbox:
            yield Meeting(code, mailbox, self._environment.randomness)

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
        **opening: Unpack[Opening],
    ) -> Self:
        """Ask to be let into the vault whose device shows a code, and wait until it does.

        A memory that belongs to that vault, and whose device is no member, comes back so: what lay beside its file was
        lost, and the key with it.

        Args:
            name: what people call this device; None: its host name.
            mailbox: the same mailbox under the name it has here (a shared folder lies elsewhere on each device).
            opening: how the file is opened, as for :class:`~syncmem.Memory` (``key``, ``keyring``, ``zone`` ...).

        Raises:
            InvalidInput: the code is wrong. NotFound: nobody let this device in, in time; the same call goes on.
        """
        from syncmem.sync.pairing import Code

        parsed = Code.parse(code)
        memory = cls(path, **opening)
        try:
            memory._join(parsed, mailbox or parsed.address, name, wait_seconds)
        except BaseException:
            memory.close()
            raise
        return memory

    def _join(self, code: Code, address: str, name: str | None, seconds: float) -> None:
        from syncmem.sync.introducing import check_may_enter
        from syncmem.sync.pairing import Meeting

        with self._lock:
            check_may_enter(self._syncer.vault, self._replica)
            seed = self._syncer.vault.seed
        mailbox = self._syncer.mailbox(address)
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
        **opening: Unpack[Opening],
    ) -> Self:
        """Come back with nothing but the recovery phrase and the address of a mailbox; then sync().

        Also with a file of the vault whose key was lost, as for :meth:`join`.
        The file is opened as for :class:`~syncmem.Memory` (``key``, ``keyring``, ``zone`` ...).

        Raises:
            InvalidInput: the phrase is wrong (the message says which word), or of another vault than the file.
            NotFound: nothing was left for it at the mailbox, and the file holds nothing of its vault.
        """
        memory = cls(path, **opening)
        try:
            memory._syncer.recover(phrase, mailbox, memory._device_name(name))
        except BaseException:
            memory.close()
            raise
        return memory

    def _device_name(self, name: str | None) -> str:
        import platform  # needed here only

        return statements.name("device name", name or platform.node() or "device")


def _meant(address: str, used: list[str]) -> list[str]:
    """Those of the addresses in use that somebody names, as they are or as they are shown."""
    from syncmem.sync import shown

    meant = [one for one in used if address in (one, shown(one))]
    if not meant:
        others = ", ".join(map(shown, used)) or "nobody"
        raise InvalidInput(f"this device does not sync with {shown(address)}; it does with: {others}")
    return meant
