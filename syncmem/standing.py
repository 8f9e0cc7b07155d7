"""What syncing returns: what a sync did, and how a device stands with its vault. Plain frozen objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from syncmem.results import Change, RepairedLog, as_dict


@dataclass(frozen=True, slots=True)
class SlotChange:
    """What arrived changed what is believed of a slot.

    Attributes:
        closed, opened: the parts of its timeline that went and that came; each names the event that is its cause.
    """

    scope: str
    entity: str
    predicate: str
    closed: tuple[Change, ...]
    opened: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class MailboxSync:
    """What a sync did with one scope at one mailbox.

    Attributes:
        error: why it stopped, with the next step; None where it ran to its end.
        sent, received: blobs; ``sent_bytes``, ``received_bytes``: their sizes; ``questions``: round trips.
        events: of other devices, new here; ``refused``: blobs that were not taken, with reasons.
        reset: the mailbox was not the one it was, so what it lacked was sent again.
        forked: another copy of this device writes to the same place; from now on this one writes apart.
        over_quota: why the mailbox takes no more for now, None where it does: nothing is lost, what waits here is sent
            once it does; ``retry_after``: in how many seconds that may be, where it was told.
        repaired: logs that two lives of a device had gone on writing, and that are whole again.
        chunks_sent, chunks_received: parts of the content of episodes; ``content_error``: what stopped them.
    """

    address: str
    scope: str
    error: str | None
    sent: int
    received: int
    sent_bytes: int
    received_bytes: int
    questions: int
    events: int
    refused: tuple[str, ...]
    reset: bool
    forked: bool
    repaired: tuple[RepairedLog, ...] = ()
    chunks_sent: int = 0
    chunks_received: int = 0
    content_error: str | None = None
    over_quota: str | None = None
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What a sync did. ``changes`` are told up to a bound; ``more_changes`` says that there were others."""

    mailboxes: tuple[MailboxSync, ...]
    changes: tuple[SlotChange, ...]
    more_changes: bool

    @property
    def complete(self) -> bool:
        """Whether every mailbox was reached and nothing was refused."""
        return all(one.error is None and one.content_error is None and not one.refused for one in self.mailboxes)

    @property
    def events(self) -> int:
        return sum(one.events for one in self.mailboxes)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**as_dict(self), "complete": self.complete, "events": self.events}


@dataclass(frozen=True, slots=True)
class DeviceStatus:
    """A device of the vault.

    Attributes:
        id: the start of its public key; ``live``: False once it was removed.
        verified: per scope that both have: whether its last report equals what this device holds and believes.
        verified_at: when it last did, in all of them; ``last_seen``: when it was last heard of (this device's clock).
        behind, ahead: how many events fewer or more it held in its last report than this device holds now.
        diverged: it held the same events and believed something else: a fault to report.
    """

    id: str
    name: str
    own: bool
    live: bool
    added_by: str
    verified: bool
    verified_at: datetime | None
    last_seen: datetime | None
    behind: int
    ahead: int
    diverged: bool
    scopes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """A mailbox of one scope at one address.

    Attributes:
        waiting: own blobs that are not acknowledged; ``pending``: events held here that it is not known to hold.
        held: blobs that wait for something that has not arrived; ``refused``: (blob, reason).
        missing: places of the last 30 days at which there should be a blob, and none is found.
        erasing: blobs that hold what was erased, and are not dropped yet.
        unplaced: parts of the content of episodes that are here and that it is not known to hold.
        last_success: when a sync last ran to its end; ``trouble``: what stopped the last one, or why the mailbox takes
            no more for now.
    """

    address: str
    scope: str
    waiting: int
    pending: int
    missing: int
    held: int
    erasing: int
    refused: tuple[tuple[str, str], ...]
    last_success: datetime | None
    trouble: str | None
    unplaced: int = 0


@dataclass(frozen=True, slots=True)
class ErasureStatus:
    """How far an erasure has come.

    Attributes:
        event: the erasure; ``erased_by``, ``erased_at``: the device that wrote it, by its clock.
        confirmed: the names of the live devices that have said that they applied it; ``waiting_for``: of the others.
        mailboxes: addresses at which blobs with what was erased are known to lie still.
    """

    event: str
    scope: str
    erased_by: str
    erased_at: datetime | None
    confirmed: tuple[str, ...]
    waiting_for: tuple[str, ...]
    mailboxes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether all devices and mailboxes have followed."""
        return not self.waiting_for and not self.mailboxes

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**as_dict(self), "complete": self.complete}


@dataclass(frozen=True, slots=True)
class Status:
    """How this device stands with its vault.

    Attributes:
        vault: the vault's id, None where there is none; ``frontier``: per scope the digest of the events held.
        in_sync: nothing is pending, missing, refused or in trouble, and every other device of the last 30 days is
            verified.
        waiting_for: the names of live devices that are not verified; ``unseen``: those not heard of for 30 days.
        erasures: those that not every device and mailbox has followed yet.
        chunks, chunks_here: of how many parts the content of all larger episodes consists, and how many are here. They
            do not count in ``in_sync``: what is not here is fetched when it is read.
        unshared: scopes that are on this device only (beside "device", which always is): no other one gets them until
            they are granted to it; a mistyped scope is found here.
        outside: why this device is no member of its vault, with the next step; None: it is one.
        scrub_pending: traces of what was erased may be left in the file, because another program reads an old view.
        damage: what is known to be damaged in the file, each with the next step (see :meth:`syncmem.Memory.inspect`).
    """

    vault: str | None
    device: str | None
    in_sync: bool
    pending: int
    frontier: dict[str, str]
    devices: tuple[DeviceStatus, ...]
    mailboxes: tuple[MailboxStatus, ...]
    waiting_for: tuple[str, ...]
    unseen: tuple[str, ...]
    erasures: tuple[ErasureStatus, ...] = ()
    scrub_pending: bool = False
    chunks: int = 0
    chunks_here: int = 0
    outside: str | None = None
    damage: tuple[str, ...] = ()
    unshared: tuple[str, ...] = ()

    @property
    def published(self) -> bool:
        """Whether every mailbox holds all events that are here, and the content of episodes that is."""
        return bool(self.mailboxes) and not any(m.waiting or m.pending or m.unplaced for m in self.mailboxes)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**as_dict(self), "published": self.published}
