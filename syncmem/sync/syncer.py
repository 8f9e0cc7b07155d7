"""The syncer: everything a device does about its vault, over an opened replica and its lock.

Rules: the lock is never held while something is asked of a mailbox; what happens with one mailbox or one
scope never stops the others; every change of the roster is durable here before anybody hears of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from syncmem import labels
from syncmem.errors import InvalidInput, MailboxError, NotFound, Revoked
from syncmem.model.frame import DEVICE_SCOPE
from syncmem.replica.catalog import VAULT
from syncmem.replica.digests import Digests
from syncmem.replica.replica import Replica
from syncmem.seal import building
from syncmem.seal.bodies import Member, new_member
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import derive, public_key
from syncmem.seal.phrase import new_phrase, paper_seed
from syncmem.seal.roster import Roster, epoch_keys
from syncmem.seal.statements import Statement
from syncmem.sync import open_mailbox
from syncmem.sync.checked import Checked
from syncmem.sync.content import Contents
from syncmem.sync.driving import drive
from syncmem.sync.dropping import Dropper, drop_seed
from syncmem.sync.incoming import Incoming
from syncmem.sync.introducing import check_may_enter, introduction, why_outside
from syncmem.sync.ledger import Ledger
from syncmem.sync.looking import look_again
from syncmem.sync.mailboxes import Known
from syncmem.sync.noting import Noting
from syncmem.sync.outgoing import Outgoing
from syncmem.sync.place import Place
from syncmem.sync.recovery import leave_for_paper, read_for_paper, recovery_key
from syncmem.sync.renamed import recognise
from syncmem.sync.reports import Reports
from syncmem.sync.room import Room
from syncmem.sync.session import Outcomes, Session, Synced
from syncmem.sync.vault import NO_VAULT, Vault
from syncmem.wire.mailbox import Mailbox

PHRASE_BYTES: Final = 32
Opener = Callable[[str], Mailbox]


@dataclass(slots=True)
class Syncer:
    """A device's side of its vault."""

    replica: Replica
    lock: threading.RLock
    opener: Opener = open_mailbox
    vault: Vault = field(init=False)
    ledger: Ledger = field(init=False)
    digests: Digests = field(init=False)
    reports: Reports = field(init=False)
    room: Room = field(init=False)

    def __post_init__(self) -> None:
        self.vault = Vault(self.replica)
        self.ledger = Ledger(self.replica.db)
        self.digests = Digests(self.replica.db, self.replica.logs)
        self.reports = Reports(self.replica.db)
        self.room = Room(self.ledger)

    # -- the vault ----------------------------------------------------------------------------------

    def create(self, name: str) -> str:
        """Make a vault with this device as its first member; the recovery phrase, which is shown once."""
        randomness = self.replica.environment.randomness
        phrase = new_phrase(randomness(PHRASE_BYTES))
        paper = paper_seed(phrase)
        with self._writing(needs_vault=False):
            if self.vault.exists:
                raise InvalidInput("this memory belongs to a vault already; invite devices with 'syncmem invite'")
            recovery = derive(paper, labels.RECOVERY, 32)
            root = building.genesis(self.vault.seed, name, self._now, randomness(16), paper, recovery)
            places = [(log.id, log.seq, log.head) for log in self.vault.foreign()]
            self.vault.add(building.vouched(root, self.vault.seed, places, self._now))
            self._rotate(VAULT)
            for scope in self._own_scopes():
                self._rotate(scope)
        return phrase

    def _own_scopes(self) -> list[str]:  # named ones that were written before there was a vault
        return sorted({log.key.scope for log in self.replica.logs.held() if log.key} - {VAULT, DEVICE_SCOPE})

    def _rotate(self, scope: str) -> None:
        drawn = self.replica.environment.randomness
        self.vault.add([building.rotation(*self._signed(), scope, self._now, drawn, self.vault.keys)])

    def share(self, scope: str) -> None:
        """Make a named scope one that can be shared: it gets a key and a mailbox of its own."""
        with self._writing():
            if scope not in self.vault.scopes:
                self._rotate(scope)

    def admit(self, member: Member, scopes: Sequence[str]) -> None:
        """Let a device in, with these scopes (the vault's always)."""
        with self._writing():
            wanted = [VAULT, *(scope for scope in scopes if scope != VAULT)]
            for scope in wanted:
                if scope not in self.vault.scopes:
                    raise NotFound(
                        f"this device has no scope {scope!r} to give; its scopes: {', '.join(self.vault.scopes)}"
                    )
            self.vault.add([building.admission(*self._signed(), member, wanted, self._now, self.vault.keys)])

    def revoke(self, device: bytes, *, wipe: bool, reason: str | None) -> None:
        """Remove a device: what it wrote after what is held here does not count, and new keys go to the others."""
        with self._writing():
            if not self.vault.roster.is_live(device):
                raise NotFound("no such device in the vault; list them with 'syncmem devices'")
            cut = [(log.id, log.seq, log.head) for log in self.replica.logs.held(device=device)]
            drawn, keys = self.replica.environment.randomness, self.vault.keys
            self.vault.add(building.revocation(*self._signed(), device, cut, wipe, reason, self._now, drawn, keys))

    def adopt(self, device: bytes) -> None:
        """Let what a removed device wrote count after all, as far as it is held here."""
        with self._writing():
            standing = self.vault.roster.member(device)
            if standing is not None and standing.live:
                raise NotFound("the device is a member, all that it writes counts; see 'syncmem devices'")
            for log in self.replica.logs.held(device=device):
                self.vault.add([building.adoption(*self._signed(), log.id, log.seq, log.head, self._now)])

    def rename(self, device: bytes, name: str) -> None:
        with self._writing():
            self.vault.add([building.naming(*self._signed(), device, name, self._now)])

    def grant(self, device: bytes, scopes: Sequence[str]) -> None:
        """Give a member more scopes."""
        with self._writing():
            self.vault.add([building.grant(*self._signed(), device, scopes, self._now, self.vault.keys)])

    def enter(self, addresses: Sequence[str], statements: Sequence[Statement]) -> None:
        """Become what the statements say: a member of their vault.

        Raises:
            InvalidInput: this file may not, see :func:`check_may_enter`.
        """
        with self._writing(needs_vault=False):
            check_may_enter(self.vault, self.replica, statements)
            self.vault.add(statements)
            for address in addresses:
                self.vault.add_address(address)
            self._vouch()

    def vouch(self) -> None:
        """Let what somebody merged into this replica by hand count, whoever wrote it: a member took it in."""
        with self._writing():
            if self.vault.roster.is_live(self.vault.device):
                self._vouch()

    def _vouch(self) -> None:
        for log in self.vault.strangers():
            self.vault.add([building.adoption(*self._signed(), log.id, log.seq, log.head, self._now)])

    # -- syncing ------------------------------------------------------------------------------------

    def sync(
        self, addresses: Sequence[str] | None = None, *, without: Container[str] = (), patient: bool = False
    ) -> list[Synced]:
        """Sync every scope with every mailbox, but for those ``without`` whom it has to do.

        ``patient``: what a mailbox had no room for is not offered again soon after.

        Raises:
            InvalidInput: there is no vault yet, or no mailbox.
            Revoked: this device was removed from the vault.
        """
        with self.lock:
            self._refresh()
            where = self.ledger.reached_first(addresses if addresses is not None else self.vault.addresses)
        if not where:
            raise InvalidInput(
                "no mailbox is known; name where devices meet: folder:PATH, https://HOST or s3://BUCKET/PREFIX"
            )
        return [one for address in where if address not in without for one in self._sync_at(address, patient)]

    def _sync_at(self, address: str, patient: bool) -> Iterator[Synced]:
        """Sync every scope with the mailboxes at one address, the vault first: it brings the keys."""
        try:
            mailbox = self.mailbox(address)
        except MailboxError as error:
            yield Synced(address, VAULT, Outcomes(), error)
            return
        try:
            look_again(self.vault, self.ledger, self._writing, mailbox, address)
            recognise(self.vault, self.ledger, self._writing, mailbox, address)
            done: set[bytes] = set()
            while (key := self._next_key(done)) is not None:
                done.add(key.epoch)
                earlier = self._earlier(address, key)
                for _, old in earlier:
                    yield self._sync_scope(mailbox, address, old, patient, farewell=True)
                content = self.contents(mailbox, address, key)
                content.before()
                synced = self._sync_scope(mailbox, address, key, patient)
                content.after(read=synced.error is None)
                synced.content = content.outcome
                yield synced
                self._leave(earlier, address, key)
            self._tell_paper(mailbox, address)
        finally:
            mailbox.close()

    def _earlier(self, address: str, key: EpochKey) -> list[tuple[Known, EpochKey]]:
        """The mailboxes of a scope's earlier epochs that are not left yet, also where this device never was."""
        with self._writing():
            others = {k.mailbox: k for k in self.vault.keys.values() if k.scope == key.scope and k.epoch != key.epoch}
            for other in others.values():
                self.ledger.mailbox(address, other)
            return [(known, others[known.id]) for known in self.ledger.earlier(address, key, self._now, others)]

    def _leave(self, earlier: Sequence[tuple[Known, EpochKey]], address: str, key: EpochKey) -> None:
        """Leave mailboxes of earlier epochs from which all is gone that is in the new one; go on where some is."""
        for known, _ in earlier:
            with self._writing():
                current = self.ledger.mailbox(address, key)
                if self.ledger.awaits(current.no) or not self._holds_all(current):
                    continue
                some = self.ledger.empty(known.no)
                if some or key.scope != VAULT or self._all_in(key):
                    self.ledger.leave(known.no, left=not some)

    def _holds_all(self, known: Known) -> bool:  # every event of its scope that this device holds
        there = self.ledger.holdings(known.no)
        noting, held = Noting(self.replica.logs, self.digests.said), self.replica.logs.held(scope=known.scope)
        return all(noting.due(log, self._now) <= there.get(log.id, 0) for log in held)

    def _all_in(self, key: EpochKey) -> bool:
        """Whether every other member that has the scope was heard of under a key."""
        heard = self.reports.heard_in(key.scope, key.epoch) | {self.vault.device}
        return all(member.device in heard for member in self.vault.roster.devices_of(key.scope))

    def _next_key(self, done: set[bytes]) -> EpochKey | None:
        """The key of a scope that was not synced in this round yet; a rotation that was read makes a new one due."""
        with self._writing():
            self._check_member()
            for scope in self.vault.scopes:
                if self.vault.roster.needs_rotation(scope):
                    self._rotate(scope)
                self._catch_up_members(scope)
                key = self.vault.known(scope)
                if key is not None and key.epoch not in done:
                    return key
        return None

    def _catch_up_members(self, scope: str) -> None:
        """Give the current key to members that were let in while somebody else rotated, where they still look."""
        current = self.vault.current(scope)
        if current is None:
            return
        given = self.vault.roster.recipients(current.epoch)
        for member in self.vault.roster.members:
            if member.live and member.device not in given and scope in self.vault.roster.scopes_of(member.device):
                self.vault.add([building.grant(*self._signed(), member.device, [scope], self._now, self.vault.keys)])
                for epoch in self.vault.roster.wraps_for(member.device).keys() & self.vault.keys.keys():
                    for address in self.vault.addresses:
                        self.ledger.leave(self.ledger.mailbox(address, self.vault.keys[epoch]).no, left=False)

    def _check_member(self) -> None:
        self.vault.add(introduction(self.vault, self.replica))
        if (outside := why_outside(self.vault, self.replica)) is not None:
            raise Revoked(outside)

    def told_to_wipe(self) -> bool:
        """Whether the one that removed this device wants its memory deleted."""
        with self.lock:
            member = self.vault.roster.member(self.vault.device)
            return member is not None and member.wipe

    def _sync_scope(
        self, mailbox: Mailbox, address: str, key: EpochKey, patient: bool, *, farewell: bool = False
    ) -> Synced:
        now = self._now
        with self._writing():
            known, born = self.ledger.mailbox(address, key), self.replica.identity.incarnation
            if not farewell:
                self.ledger.leave(known.no, left=False)
            self.room.offer_again(known, now, patient)
            self.ledger.look_for_erased(known)
            dropper = self._dropper(known, key)
            outgoing = Outgoing(self.vault, self.ledger, self.digests, key, dropper, farewell=farewell)
            incoming = Incoming(self.vault, self.ledger, key)
        parts = (known, self.ledger, outgoing, incoming, dropper)
        session = Session(self.lock, self._writing, *parts, write_key=key.write_key)
        error: MailboxError | None = None
        try:
            drive(session, mailbox, key.write_key, key.write_seed)
        except MailboxError as failure:
            error = failure
        with self._writing():
            if error is None:
                self.ledger.succeeded(known.no, now, incoming.knowledge())
                self.room.note(known, session.outcomes.full, now)
            else:
                self.ledger.failed(known.no, str(error))
            if session.outcomes.forked:
                self.ledger.forget_waiting(known.no)
                if self.replica.identity.incarnation == born:
                    self.replica.author.renounce()
            for scope in self.vault.scopes:
                self.reports.verify(scope, self.digests.of(scope), now)
        return Synced(address, key.scope, session.outcomes, error, None if farewell else key, mailbox.push)

    def contents(self, mailbox: Mailbox, address: str, key: EpochKey) -> Contents:
        """The content of the episodes of a scope, at one address."""
        with self._writing():
            return Contents(self.vault, self.lock, self._writing, mailbox, address, key)

    def _dropper(self, known: Known, key: EpochKey) -> Dropper:
        seed, alone = drop_seed(self.vault.seed, known.id), len(self.vault.roster.devices_of(key.scope)) == 1
        return Dropper(self.ledger, known, self._writing, write_key=key.write_key, seed=seed, alone=alone)

    # -- the recovery phrase ------------------------------------------------------------------------

    def _tell_paper(self, mailbox: Mailbox, address: str) -> None:
        """Leave the roster where the recovery phrase finds it, whenever it has changed."""
        with self._writing():
            roster = self.vault.roster
            paper = next((member for member in roster.members if member.paper and member.live), None)
            key = recovery_key(roster)
            if paper is None or key is None:
                return
            known = self.ledger.mailbox(address, key)
            mark = sha256(b"".join(sorted(roster.ids))).digest()
            if known.reported == mark:
                return
            wires = [statement.wire for statement in roster.statements_in_order()]
            addresses, writer = self.vault.addresses, self.replica.identity.incarnation
        try:
            place = Place(key, mailbox, self.replica.environment.randomness)
            leave_for_paper(place, writer, paper.transport, addresses, wires)
        except MailboxError as error:
            with self._writing():
                self.ledger.failed(known.no, str(error))
            return
        with self._writing():
            self.ledger.note(known, reported=mark)

    def recover(self, phrase: str, address: str, name: str) -> None:
        """Become a member by the recovery phrase: the paper member lets this device in.

        It gives the newest keys that it has: who removed all other devices need not have given it his own.
        """
        paper = paper_seed(phrase)
        mailbox = self.mailbox(address)
        try:
            addresses, statements = read_for_paper(mailbox, paper, self.replica.environment.randomness, self.vault.held)
        finally:
            mailbox.close()
        with self._writing(needs_vault=False):
            check_may_enter(self.vault, self.replica, statements)
            self.vault.add(statements)
            roster = self.vault.roster
            keys = epoch_keys(roster, paper, public_key(paper))
            scopes = {key.scope for key in keys.values()}
            said = building.admission(
                roster, paper, new_member(self.vault.seed, name), scopes, self._now, keys, stale=True
            )
            self.vault.add([said])
            for where in {address, *addresses}:
                self.vault.add_address(where)
                for key in self.vault.keys.values():  # if that is not the current one, what there is lies here even so
                    self.ledger.mailbox(where, key)

    # -- below --------------------------------------------------------------------------------------

    def mailbox(self, address: str) -> Mailbox:
        """The way to the mailboxes at an address; its answers are checked."""
        return Checked(self.opener(address))

    @property
    def _now(self) -> int:
        return self.replica.environment.clock.now()

    def _signed(self) -> tuple[Roster, bytes]:  # what every statement of this device is made from
        return self.vault.roster, self.vault.seed

    def _refresh(self) -> None:
        self.replica.refresh()
        if not self.vault.exists:
            raise InvalidInput(NO_VAULT)

    @contextmanager
    def _writing(self, *, needs_vault: bool = True) -> Iterator[None]:
        with self.lock, self.replica.transaction():
            if needs_vault:
                self._refresh()
            yield
