"""Being one of several devices: their care, sync, status. All of it over a blind mailbox."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from syncmem import files
from syncmem.errors import Busy, InvalidInput, NotFound, OverQuota, Revoked, SyncmemError, Wiped
from syncmem.joining import Joining
from syncmem.private import FILE_MODE
from syncmem.replica.catalog import Slot
from syncmem.replica.driver import MEMORY
from syncmem.replica.rectangles import Change

if TYPE_CHECKING:
    from syncmem.standing import ErasureStatus, SlotChange, Status, SyncReport
    from syncmem.sync.session import Synced


class Syncing(Joining):
    """The care of devices, sync, status, erasures."""

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
        """Let what a removed device wrote after its removal count, or a stranger's, as far as it has arrived here."""
        self._syncer.adopt(self._member(device))

    def _vouch(self) -> None:
        """What was merged into this memory by hand counts, whoever wrote it: this device answers for it."""
        with self._looking():
            strangers = self._syncer.vault.exists and self._syncer.vault.strangers()
        if strangers:
            self._syncer.vouch()

    def _member(self, device: str) -> bytes:
        """The key of a device that is named by its id or its name."""
        with self._looking():
            members = [member for member in self._syncer.vault.roster.members if not member.paper]
            named = [(member.device, member.name) for member in members]
            named += [(key, "") for key in sorted({log.device for log in self._syncer.vault.strangers()})]
        found = [key for key, name in named if device in (self._telling.device_id(key), key.hex(), name or None)]
        if not found:
            raise NotFound(f"no device {device!r} is in the vault; list them with 'syncmem devices'")
        if len(found) > 1:
            raise InvalidInput(f"several devices are called {device!r}; name one by its id")
        return found[0]

    # -- sync ---------------------------------------------------------------------------------------

    def sync(self, *mailboxes: str) -> SyncReport:
        """Send what the mailboxes lack and take in what is new, in every scope of this device.

        ``mailboxes``: only these addresses; none: all that are known.  What one mailbox does not do holds up no
        other; the report says what happened with each.  One that is named here for the first time and cannot be
        reached is not kept.

        Raises:
            InvalidInput: there is no vault yet, or no mailbox.
            Revoked: this device was removed from the vault. Wiped: and told to delete its memory, which it did.
            Busy: another process of this device is syncing, maybe without what was written last; sync again after it.
        """
        return self._report(self._synced(mailboxes))

    def _synced(self, mailboxes: Sequence[str], *, without: Container[str] = (), patient: bool = False) -> list[Synced]:
        try:
            with self._sync_lock():
                results = self._syncer.sync(mailboxes or None, without=without, patient=patient)
                self._forget_unreached(mailboxes)
                return results
        except Revoked as error:
            if not self._syncer.told_to_wipe():
                raise
            raise self._wiped() from error

    def _forget_unreached(self, named: Sequence[str]) -> None:
        """An address that was named for this sync alone and at which nothing has ever answered may be mistyped."""
        with self._lock, self._replica.transaction():
            for address in {*named} - {*self._syncer.vault.addresses}:
                self._syncer.ledger.forget_unreached(address)

    def _wiped(self) -> Wiped:
        """Delete this memory, its keys and its backups beside it; what to say of that."""
        kept = []
        try:
            entry = self._replica.author.side.forget()
        except SyncmemError as error:
            entry = None
            kept.append(f"the keyring's entry ({error})")
        self.close()
        done = files.wipe(self._path)
        gone = ", ".join([*done.deleted, *([f"the keyring's entry {entry!r}"] if entry else [])])
        left = "; ".join([*kept, *done.left])
        rest = f"these could not be: {left}; delete them by hand" if left else "delete what was copied elsewhere"
        return Wiped(f"this device was removed and told to delete its memory, which it did ({gone}); {rest}")

    def status(self) -> Status:
        """What is verified, pending, held or refused; see :class:`~syncmem.standing.Status`."""
        from syncmem.replica.inspecting import known_damage
        from syncmem.standing import Status
        from syncmem.sync.standing import Standings

        with self._lock, self._replica.transaction():
            if not self._syncer.vault.exists:
                pending = self._replica.scrubber.state is not None
                damage = known_damage(self._replica.db)
                return Status(None, None, False, 0, {}, (), (), (), (), scrub_pending=pending, damage=damage)
            return Standings(self._syncer).status()

    def erasures(self) -> list[ErasureStatus]:
        """How far every erasure has come: which devices have confirmed it, which mailboxes still hold traces."""
        from syncmem.sync.standing import Standings

        with self._lock, self._replica.transaction():
            return Standings(self._syncer).erasures() if self._syncer.vault.exists else []

    def _sync_lock(self) -> Any:
        """One process of a device syncs at a time; the operating system frees the lock of a dead one."""
        if self._path == MEMORY:
            return nullcontext()
        from filelock import FileLock, Timeout

        try:
            return FileLock(self._path + files.LOCK_SUFFIX, mode=FILE_MODE).acquire(timeout=0)
        except Timeout as error:
            raise Busy(
                "another process of this device is syncing, without what was written after it had begun; "
                "sync again when it is done"
            ) from error

    def _report(self, results: Sequence[Synced]) -> SyncReport:
        with self._looking():
            return self._reported(results)

    def _reported(self, results: Sequence[Synced]) -> SyncReport:
        from syncmem.standing import MailboxSync, SyncReport

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
                chunks_sent=one.content.sent,
                chunks_received=one.content.received,
                content_error=one.content.error,
                over_quota=str(one.error) if isinstance(one.error, OverQuota) else one.outcomes.full,
                retry_after=one.error.retry_after if isinstance(one.error, OverQuota) else None,
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
        from syncmem.standing import SlotChange

        closed = tuple(self._telling.change(rectangle) for rectangle in change.removed)
        opened = tuple(self._telling.change(rectangle) for rectangle in change.added)
        return SlotChange(slot.scope, slot.entity, slot.predicate, closed, opened)
