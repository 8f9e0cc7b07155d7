"""What a relay bears: every limit in one place, with where the number comes from."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one relay; the protocol's own (bytes of a request, blobs of an answer) stand in syncmem.wire.

    Attributes:
        connections_max: open at once; each costs at most one request and one answer in memory. When all are
            taken, the one that has been silent for longest gives way to a newcomer.
        bodies_bytes_max: of all requests that are being read or answered; sixteen of the largest.
        unsent_bytes_max: of answers that are not taken; beyond it none is begun that holds blobs.
        silent_seconds: for which a connection may say nothing (or take to say its head), and the start that
            a body or an answer has before it must keep up with ``bytes_second_min``.
        bytes_second_min: a mobile connection at its worst; who is slower only holds a place.
        ending_seconds: that requests in flight have to come to their end when the relay is told to stop.
        mailbox_bytes_max: of the blobs of one mailbox: tens of millions of claims.
        mailbox_loan_bytes_max: beyond that, of what holds anew what is dropped next; eight of the largest blobs.
        store_bytes_max: of the store's file; None: as much as the disk has.
        free_bytes_min: left free on the disk, because forgetting needs room for its journal.
        streams_max: open at once, of all who listen to a mailbox, beside ``connections_max``; some 20 KiB each.
        mailbox_streams_max: of one mailbox: every device of a vault, and once more while they come again.
        address_streams_max: of one address: the devices of a house.
        mailbox_requests_max: of one mailbox at work at once; the others wait for their turn.
        mailbox_requests_second, mailbox_bytes_second: of one mailbox, over :data:`syncmem.relay.rates.SAVED_SECONDS`:
            a vault of 50 devices that all sync at once; the line of one house.
        address_requests_second, address_bytes_second: of one address (IPv6: of one /64): a few such houses.
        address_mailboxes_hour: opened from one address: scopes and invitations of an office.
        beat_seconds: after which a stream shows a sign of life, and a long poll is answered; below what proxies bear.
    """

    connections_max: int = 256
    bodies_bytes_max: int = 256 * MIB
    unsent_bytes_max: int = 64 * MIB
    silent_seconds: float = 20.0
    bytes_second_min: int = 1024
    ending_seconds: int = 10
    mailbox_bytes_max: int = 4096 * MIB
    mailbox_loan_bytes_max: int = 8 * MIB
    store_bytes_max: int | None = None
    free_bytes_min: int = 64 * MIB
    streams_max: int = 4096
    mailbox_streams_max: int = 100
    address_streams_max: int = 256
    mailbox_requests_max: int = 4
    mailbox_requests_second: int = 50
    mailbox_bytes_second: int = 8 * MIB
    address_requests_second: int = 200
    address_bytes_second: int = 32 * MIB
    address_mailboxes_hour: int = 100
    beat_seconds: float = 25.0

    def seconds_for(self, size: int) -> float:
        """How long ``size`` bytes may take on their way."""
        return self.silent_seconds + size / self.bytes_second_min
