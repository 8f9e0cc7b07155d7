"""How a device stands with its vault: what is verified, what is pending, what is in trouble.

Rule: "in sync" is a proof, never a hope: nothing pending anywhere, and the last report of every device that
was seen lately equals what this device holds and believes. A blob that is held proves nothing: what it waits
for shows in the report of who has it, and a stranger's is nobody's.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Final

from syncmem.model.event import Event
from syncmem.model.frame import DEVICE_SCOPE
from syncmem.model.instant import to_datetime
from syncmem.replica.catalog import VAULT
from syncmem.replica.inspecting import known_damage
from syncmem.replica.telling import Telling
from syncmem.seal.roster import Standing
from syncmem.standing import DeviceStatus, ErasureStatus, MailboxStatus, Status
from syncmem.sync.contents import BlobState
from syncmem.sync.introducing import why_outside
from syncmem.sync.mailboxes import Known
from syncmem.sync.noting import Noting
from syncmem.sync.placed import Placed
from syncmem.sync.reports import Report
from syncmem.sync.syncer import Syncer

UNSEEN_DAYS: Final = 30  # a device that was not heard of for so long is listed, not waited for
_DAY: Final = 86_400_000_000


class Standings:
    """Answers about one syncer; inside its owner's write transaction."""

    def __init__(self, syncer: Syncer) -> None:
        self._syncer = syncer
        self._vault = syncer.vault
        self._episodes = syncer.replica.fold.episodes
        self._placed = Placed(syncer.replica.db)
        self._now = syncer.replica.environment.clock.now()
        self._mine = {scope: syncer.digests.of(scope) for scope in self._vault.scopes}
        self._reports = {scope: {r.device: r for r in syncer.reports.about(scope)} for scope in self._vault.scopes}

    def status(self) -> Status:
        devices = tuple(self._device(member) for member in self._vault.roster.members if not member.paper)
        mailboxes = self._mailboxes
        others = [device for device in devices if device.live and not device.own]
        unseen = [device for device in others if self._is_unseen(device)]
        waiting_for = [device for device in others if not device.verified and device not in unseen]
        quiet = all(not (m.waiting or m.pending or m.refused or m.missing or m.erasing or m.trouble) for m in mailboxes)
        pending = max((m.pending for m in mailboxes), default=0)
        chunks, chunks_here = self._episodes.counts()
        outside = why_outside(self._vault, self._syncer.replica)
        return Status(
            vault=self._vault.roster.vault.hex(),
            device=Telling.device_id(self._vault.device),
            in_sync=bool(mailboxes)
            and quiet
            and outside is None
            and not waiting_for
            and not any(d.diverged for d in devices if d.live),  # what a removed one says of itself holds up nobody
            pending=pending,
            frontier={scope: digests.events.hex()[:32] for scope, digests in self._mine.items()},
            devices=devices,
            mailboxes=mailboxes,
            waiting_for=tuple(device.name for device in waiting_for),
            unseen=tuple(device.name for device in unseen),
            erasures=tuple(erasure for erasure in self.erasures() if not erasure.complete),
            scrub_pending=self._syncer.replica.scrubber.state is not None,
            chunks=chunks,
            chunks_here=chunks_here,
            outside=outside,
            damage=known_damage(self._syncer.replica.db),
            unshared=self._unshared(),
        )

    def _unshared(self) -> tuple[str, ...]:
        """The named scopes of which something is here that no other device gets."""
        here = {log.key.scope for log in self._syncer.replica.logs.held() if log.key} - {VAULT, DEVICE_SCOPE}
        members = [member.device for member in self._vault.roster.members if member.live and not member.paper]
        others = [self._vault.roster.scopes_of(device) for device in members if device != self._vault.device]
        return tuple(sorted(s for s in here if s not in self._mine or not any(s in scopes for scopes in others)))

    # -- erasures -----------------------------------------------------------------------------------

    def erasures(self) -> list[ErasureStatus]:
        """How far every erasure has come, the oldest first."""
        acting = self._syncer.replica.erasures.all_in
        found = [(self._clock(position), scope, position) for scope in self._mine for position in acting(scope)]
        return [self._erasure(*each) for each in sorted(found)]

    def _clock(self, position: int) -> int:
        event = self._syncer.replica.logs.event(position)
        assert isinstance(event, Event), "an erasure is never erased"
        return self._syncer.replica.clocks.corrected(position, event.hlc)

    def _erasure(self, clock: int, scope: str, position: int) -> ErasureStatus:
        replica, roster = self._syncer.replica, self._vault.roster
        members = roster.devices_of(scope)
        seen = {
            m.device: self._holds_all(m.device, scope) or replica.erasures.confirmed_by(m.device, position)
            for m in members
        }
        writer = roster.member(replica.logs.key_of(position).device)
        dirty = [m.address for m in self._mailboxes if m.scope == scope and m.erasing]
        return ErasureStatus(
            event=Telling(replica).event_id(position),
            scope=scope,
            erased_by=writer.name if writer else "",
            erased_at=_moment(clock),
            confirmed=tuple(m.name for m in members if seen[m.device]),
            waiting_for=tuple(m.name for m in members if not seen[m.device]),
            mailboxes=tuple(dirty),
        )

    def _holds_all(self, device: bytes, scope: str) -> bool:
        """Whether a device holds what this one holds, by its last report."""
        return device == self._vault.device or self._is_verified(scope, self._reports[scope].get(device))

    # -- devices ------------------------------------------------------------------------------------

    def _device(self, member: Standing) -> DeviceStatus:
        own = member.device == self._vault.device
        scopes = sorted(self._vault.roster.scopes_of(member.device) & set(self._mine))
        reports = [self._reports[scope].get(member.device) for scope in scopes]
        verified = [self._is_verified(scope, report) for scope, report in zip(scopes, reports, strict=True)]
        times = [report.verified for report in reports if report is not None]
        seen = [report.seen for report in reports if report is not None]
        apart = [] if own or all(verified) else self._apart(dict(zip(scopes, reports, strict=True)))
        added_by = self._vault.roster.member(member.added_by)
        whole = None not in times and len(times) == len(scopes) and bool(times)
        return DeviceStatus(
            id=Telling.device_id(member.device),
            name=member.name,
            own=own,
            live=member.live,
            added_by=added_by.name if added_by else "",
            verified=own or (bool(scopes) and all(verified)),
            verified_at=_moment(min(time for time in times if time is not None)) if whole else None,
            last_seen=_moment(self._now if own else max(seen, default=None)),
            behind=sum(max(0, lacking) for lacking in apart),
            ahead=sum(max(0, -lacking) for lacking in apart),
            diverged=member.live and any(report is not None and report.diverged for report in reports),
            scopes=tuple(scopes),
        )

    def _apart(self, reports: dict[str, Report | None]) -> list[int]:
        """Of each scope, how many events fewer a device held (negative: more); what the vault holds counts once."""
        lacking = {scope: self._mine[scope].held - (report.held if report else 0) for scope, report in reports.items()}
        return [count - (lacking.get(VAULT, 0) if scope != VAULT else 0) for scope, count in lacking.items()]

    def _is_verified(self, scope: str, report: Report | None) -> bool:
        return report is not None and self._syncer.reports.is_verified(report, self._mine[scope])

    def _is_unseen(self, device: DeviceStatus) -> bool:
        seen = device.last_seen
        lately = to_datetime(self._now - UNSEEN_DAYS * _DAY)
        return seen is not None and lately is not None and seen < lately

    # -- mailboxes ----------------------------------------------------------------------------------

    @cached_property
    def _mailboxes(self) -> tuple[MailboxStatus, ...]:
        """Those that are written now; of an earlier epoch's, what is still to go from there counts to the new one's."""
        written = {key.mailbox for scope in self._vault.scopes if (key := self._vault.known(scope)) is not None}
        return tuple(self._mailbox(known) for known in self._syncer.ledger.all() if known.id in written)

    def _mailbox(self, known: Known) -> MailboxStatus:
        ledger, noting = self._syncer.ledger, Noting(self._syncer.replica.logs, self._syncer.digests.said)
        holdings = ledger.holdings(known.no)
        logs = self._syncer.replica.logs.held(scope=known.scope)
        states = (BlobState.REFUSED, BlobState.STRAY, BlobState.BLOCKED)
        blocked = [blob for state in states for blob in ledger.in_state(known.no, state)]
        success, trouble = ledger.outcome(known.no)
        return MailboxStatus(
            address=known.address,
            scope=known.scope,
            waiting=ledger.count(known.no, BlobState.WAITING),
            pending=sum(max(0, noting.due(log, self._now) - holdings.get(log.id, 0)) for log in logs),
            missing=ledger.lacking(known.no, self._now - UNSEEN_DAYS * _DAY),
            held=ledger.count(known.no, BlobState.HELD),
            erasing=self._erasing(known),
            refused=tuple((str(name), reason or "") for name, reason in blocked),
            last_success=_moment(success),
            trouble=trouble,
            unplaced=self._placed.lacking(known.no, known.scope),
        )

    def _erasing(self, known: Known) -> int:
        """How many blobs are still to go, from a scope's mailboxes at one address together, as far as they open here.

        A copy of a device knows of mailboxes whose keys it never got: those are the original's to clean.
        """
        ledger = self._syncer.ledger
        ledger.look_for_erased(known)
        ours = {key.mailbox for key in self._vault.keys.values()}
        boxes = [box for box in ledger.all() if (box.address, box.scope) == (known.address, known.scope)]
        gone = self._episodes.gone(known.scope)
        content = sum(not self._placed.was_dropped(box.no, event) for box in boxes if box.id in ours for event in gone)
        return content + sum(ledger.count(box.no, BlobState.DUE, BlobState.DROPPING) for box in boxes if box.id in ours)


def _moment(time: int | None) -> datetime | None:
    return None if time is None else to_datetime(time)
