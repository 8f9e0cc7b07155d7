"""Dropping blobs from a mailbox: what holds erased payloads at once, what was put together once two agree.

Rules: nothing is dropped before what it held was acknowledged in others; for an erasure one member is
enough; to make room, two must have read the new blobs, or one that is alone and has read them back.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from syncmem import labels
from syncmem.seal.keys import SEED_BYTES, derive, public_key, sign
from syncmem.sync.contents import BlobState
from syncmem.sync.ledger import Ledger
from syncmem.sync.mailboxes import Known
from syncmem.wire.blob import Offer
from syncmem.wire.mailbox import BlobName, Drop, dropping

DROPPED_AT_ONCE: Final = 1024
ERASE: Final = "erase"
COMPACT: Final = "compact"


@dataclass(frozen=True, slots=True)
class Fetch:
    """The question for blobs that were listed."""

    names: Sequence[BlobName]


def drop_seed(device_seed: bytes, mailbox: bytes) -> bytes:
    """The seed of a device's drop key at one mailbox: it tells nobody there which device it is."""
    return derive(device_seed, labels.DROP + mailbox, SEED_BYTES)


Dropping: TypeAlias = Generator[Drop | Fetch, Any, None]
Writing: TypeAlias = Callable[[], AbstractContextManager[None]]  # the device's lock and a write transaction


class Dropper:
    """Asks one mailbox to drop what may go; its questions are a session's."""

    def __init__(
        self, ledger: Ledger, known: Known, writing: Writing, *, write_key: bytes, seed: bytes, alone: bool
    ) -> None:
        self._ledger = ledger
        self._known = known
        self._writing = writing
        self._write_key = write_key
        self._seed = seed
        self._alone = alone  # no other device has the scope
        self.key = public_key(seed)
        self.count = 0  # of blobs that are gone since

    def offer(self, names: Sequence[BlobName]) -> Offer:
        """That this device agrees to drop some blobs to make room."""
        return Offer(self.key, self._sign(names, COMPACT), names)

    def _sign(self, names: Sequence[BlobName], reason: str) -> bytes:
        return sign(self._seed, labels.DROPPING, dropping(self._known.id, names, reason))

    def steps(self) -> Dropping:
        """The questions at the end of a session, when everything was read and nothing waits."""
        while names := self._to_drop():
            yield from self._drop(names, ERASE, [])
            if self._to_drop()[:1] == names[:1]:
                break  # the mailbox keeps it: it is asked again at the next sync
        with self._writing():
            offers = self._ledger.offers(self._known.no)
        for offer in offers:
            own = offer.key == self.key
            if own and not self._alone:
                continue  # that is for another to do
            if not (yield from self._stands_elsewhere(offer)):
                with self._writing():
                    self._ledger.offered(self._known.no, offer)  # some of what takes their place is still to come
            elif not own:
                yield from self._drop(offer.names, COMPACT, [(offer.key, offer.signature)])
            elif (yield from self._reads_back(offer)):
                yield from self._drop(offer.names, COMPACT, [])

    def _to_drop(self) -> list[BlobName]:
        with self._writing():
            return self._ledger.to_drop(self._known.no, DROPPED_AT_ONCE)

    def _stands_elsewhere(self, offer: Offer) -> Generator[Drop | Fetch, Any, bool]:
        """Whether nothing is lost with the blobs of an offer: what was read of them stands in others, and the rest,
        never seen here, is gone already (others dropped it while this device was away)."""
        with self._writing():
            unseen = self._ledger.unseen(self._known.no, offer.names)
            seen = [*{*offer.names} - {*unseen}]
            stands = self._ledger.stands_elsewhere(self._known.no, seen)
        if not stands or not unseen:
            return stands
        fetched = yield Fetch(unseen)
        return all(blob is None for _, blob in fetched)

    def _drop(self, names: Sequence[BlobName], reason: str, others: Sequence[tuple[bytes, bytes]]) -> Dropping:
        """Drop blobs, and look whether those are gone of which the mailbox does not say so."""
        signatures = [*others, (self.key, self._sign(names, reason))]
        dropped = yield Drop(self._write_key, names, reason, signatures)
        unsure = [name for name, gone in zip(names, dropped, strict=True) if not gone]
        there: set[BlobName] = set()
        if unsure:
            fetched = yield Fetch(unsure)
            there = {name for name, blob in fetched if blob is not None}
        gone = [name for name in names if name not in there]
        self.count += len(gone)
        with self._writing():
            self._ledger.dropped(self._known.no, gone)

    def _reads_back(self, offer: Offer) -> Generator[Drop | Fetch, Any, bool]:
        """Whether the mailbox gives back every blob that this device wrote since."""
        ends: dict[bytes, int] = {}
        for name in offer.names:
            ends[name.stream] = max(ends.get(name.stream, 0), name.counter)
        with self._writing():
            taken = [name for name, _ in self._ledger.known(self._known.no, BlobState.TAKEN)]
        fetched = yield Fetch([name for name in taken if name.counter > ends.get(name.stream, name.counter)])
        return all(blob is not None for _, blob in fetched)
