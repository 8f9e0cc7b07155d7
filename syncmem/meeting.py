"""Meeting other replicas: merge, bundles, backups, digests, devices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import Final

from syncmem import files, statements
from syncmem.codec import pack_flat
from syncmem.errors import BrokenChain, InvalidInput, PeerError
from syncmem.model.frame import DEVICE_SCOPE, Frame
from syncmem.model.instant import FOREVER, shown
from syncmem.opened import Opened
from syncmem.replica import bundle, event_lines
from syncmem.replica.bundle import Chunk, batches, read_bundle, read_chunks, write_bundle
from syncmem.replica.cipher import file_key
from syncmem.replica.event_lines import read_chunk_lines, read_lines, write_lines
from syncmem.replica.repair import Repaired
from syncmem.replica.replica import BULK_EVENTS, MERGE_EVENTS, Written
from syncmem.replica.said import last_said
from syncmem.results import MergeReport

Progress = Callable[[int], None]
Offer = Callable[[dict[bytes, int]], Iterable[Frame]]  # what a peer has for one who holds so much of each log
_CHUNKS_AT_ONCE: Final = 32  # stored in one transaction: a megabyte and a half
_FRAMES_AT_ONCE: Final = 4  # read under the other's lock at a time: about one transaction


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device of which this replica holds events.

    Attributes:
        id: the start of its public key; ``own``: whether it is this device.
        events: how many of its events are held; ``incarnations``: how many lives it had (restores, copies).
        last_seen: the clock of its newest event.
    """

    id: str
    own: bool
    events: int
    incarnations: int
    last_seen: datetime | None


@dataclass(slots=True)
class _Taking:
    """What was taken in so far."""

    progress: Progress | None
    events: int = 0
    transactions: int = 0
    slots: set[int] = field(default_factory=set)
    refused: dict[bytes, PeerError] = field(default_factory=dict)
    repaired: list[Repaired] = field(default_factory=list)
    missing: dict[bytes, int] = field(default_factory=dict)  # log id -> after which place another branch is needed

    def count(self, written: Written) -> None:
        self.transactions += bool(written.positions or written.repaired)
        self.slots |= {change.slot for change in written.changes}
        self.repaired += written.repaired
        for done in written.repaired:
            self.refused.pop(done.log, None)
            self.missing.pop(done.log, None)
        self.refused |= written.refused
        for log, error in written.refused.items():
            if isinstance(error, BrokenChain) and error.missing_after is not None:
                self.missing[log] = min(error.missing_after, self.missing.get(log, error.missing_after))


class Meeting(Opened):
    """merge, export_bundle, import_bundle, backup, digests, devices."""

    def merge(self, other: Meeting, *, progress: Progress | None = None) -> MergeReport:
        """Take in everything that ``other`` holds and this replica lacks; ``other`` is not changed.

        Merging is set union: order, repetition and interruption do not matter.  ``progress`` is called
        with the number of events taken in so far.
        """
        if not isinstance(other, Meeting):
            raise InvalidInput(f"merge takes an open Memory, not {type(other).__name__}; open its file first")
        report = self._receive_all(other._offer, MERGE_EVENTS, progress)
        lacking = self._lacking_chunks()
        return replace(report, chunks=self._take_chunks(other._chunks_of(lacking)) if lacking else 0)

    def _offer(self, known: dict[bytes, int]) -> Iterator[Frame]:
        """The frames that a peer lacks; the lock is held only while some are read."""
        with self._looking():
            frames = self._replica.frames(known)
        while True:
            with self._lock:
                some = list(islice(frames, _FRAMES_AT_ONCE))
            if not some:
                return
            yield from some

    def _receive_all(self, offer: Offer, events_max: int, progress: Progress | None) -> MergeReport:
        """Take in what is offered, again from further back where a log was forked."""
        taking = _Taking(progress)
        known, before = self._known(taking), dict[bytes, int]()
        while not before or any(known.get(log, 0) < seq for log, seq in before.items()):
            for batch in batches(offer(known), events_max):
                self._take(batch, taking)
            known, before = self._known(taking), known
            if not before:
                break
        return self._merged(taking)

    def _receive(self, frames: Iterable[Frame], events_max: int, progress: Progress | None) -> MergeReport:
        return self._receive_all(lambda known: frames, events_max, progress)

    def _known(self, taking: _Taking) -> dict[bytes, int]:
        """What need not be offered."""
        with self._looking():
            vector = self._replica.version_vector()
        return {log: min(seq, taking.missing.get(log, seq)) for log, seq in vector.items()}

    def _take(self, batch: Sequence[Frame], taking: _Taking) -> None:
        with self._lock:
            written = self._replica.take_in(batch)
            if written is not None:
                taking.events += sum(not self._replica.logs.log_of(p).own for p in written.positions)
                taking.count(written)
        if taking.progress is not None:
            taking.progress(taking.events)

    def _merged(self, taking: _Taking) -> MergeReport:
        """What it came to; raises why, if all that was new was refused."""
        if taking.refused and not taking.transactions:
            raise next(iter(taking.refused.values()))
        with self._looking():
            known = (self._replica.catalog.known(number) for number in taking.slots)
            named = sorted(slot[1:] for slot in known if slot is not None)
        refused = tuple(dict.fromkeys(map(str, taking.refused.values())))
        repaired = tuple(map(self._telling.repair, taking.repaired))
        return MergeReport(taking.events, taking.transactions, tuple(named), refused, repaired)

    # -- the content of episodes ------------------------------------------------------------------------

    def _lacking_chunks(self) -> list[tuple[bytes, int]]:
        """The parts of the content of episodes that are not here: (episode, number)."""
        episodes = self._replica.fold.episodes
        with self._looking():
            return [(one.id, number) for one in episodes.incomplete() for number in episodes.missing(one)]

    def _chunks_of(self, wanted: Iterable[tuple[bytes, int]]) -> Iterator[Chunk]:
        """Those of some parts that are here and may leave the device; the lock is held for one at a time."""
        episodes = self._replica.fold.episodes
        for id, number in wanted:
            with self._looking():
                held = episodes.find(id)
                body = None if held is None or held.scope == DEVICE_SCOPE else episodes.chunk(held, number)
            if body is not None:
                yield Chunk(id, number, body)

    def _take_chunks(self, offered: Iterable[Chunk]) -> int:
        """Keep the parts of content that are what their episodes name; how many were new."""
        episodes, taken, chunks = self._replica.fold.episodes, 0, iter(offered)
        while some := list(islice(chunks, _CHUNKS_AT_ONCE)):
            with self._lock, self._replica.transaction():
                for id, number, body in some:
                    held = episodes.find(id)
                    if held is not None and episodes.chunk(held, number) is None:
                        taken += episodes.keep(held, number, body)
        return taken

    def export_bundle(
        self, path: str | os.PathLike[str], *, scopes: Iterable[str] | None = None, legible: bool = False
    ) -> int:
        """Write all events that may leave this device into a file, and the content of episodes; how many events.

        The file is whole or absent, never half.  ``scopes`` limits what is written; the scope "device" never is.
        ``legible``: as lines of JSON (:mod:`syncmem.replica.event_lines`), some twenty times as long, nothing lost.
        """
        if isinstance(scopes, str):
            raise InvalidInput(f"scopes is a list of names; pass [{scopes!r}]")
        wanted = None if scopes is None else frozenset(statements.name("scope", scope) for scope in scopes)
        write, magic = (write_lines, event_lines.MAGIC) if legible else (write_bundle, bundle.MAGIC)
        with self._looking():
            frames = self._replica.frames({}, wanted)
            held = (content.held for content in self._replica.fold.episodes.contents())
            parts = [
                (one.id, number)
                for one in held
                if wanted is None or one.scope in wanted
                for number in self._replica.fold.episodes.here(one)
            ]
            chunks = self._chunks_of(sorted({*parts}))
            return files.write_whole(path, lambda file: write(file, frames, chunks), magic=magic)

    def import_bundle(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> MergeReport:
        """Take in the events of a file that :meth:`export_bundle` wrote, legible or not.

        Raises:
            NotCanonical: it is no such file, or was cut off or changed; nothing was taken in.
            BrokenChain: events before its first are missing here; import the earlier bundle first.
        """
        with files.open_for_reading(path) as file:
            legible = event_lines.is_legible(file.read(event_lines.HEAD_BYTES))
            frames, chunks = (read_lines, read_chunk_lines) if legible else (read_bundle, read_chunks)
            report = self._receive_all(lambda known: frames(file), BULK_EVENTS, progress)
            return replace(report, chunks=self._take_chunks(chunks(file)))

    def backup(self, path: str | os.PathLike[str], *, key: bytes | str | None = None) -> None:
        """Copy the replica into a new file while it is in use; restore with :func:`syncmem.restore`.

        The copy of an encrypted replica is encrypted with the same key; ``key`` gives it another, or encrypts the
        copy of a plain one.  A device's own key is not in the copy.
        """
        with self._lock:
            self._replica.check_committed()
            self._replica.db.check_usable()
            own = self._replica.db.key
            files.backup(self._replica.db.raw, path, key=own if key is None else file_key(key), own=own)

    def event_digest(self) -> str:
        """A digest of the set of events that may leave the device: equal on devices that hold the same.

        Notes of arrival that nothing was said after do not count: nothing follows from them.
        """
        with self._looking():
            logs = self._replica.logs
            held = [log for log in logs.held() if log.key and log.key.scope != DEVICE_SCOPE]
            ends = [(log, place) for log in held if (place := last_said(logs, log))]
            return sha256(pack_flat([[log.id, place, logs.head_at(log, place)] for log, place in ends])).hexdigest()

    def belief_digest(self) -> str:
        """A digest of all that is believed now (the scope "device" apart): equal where the events are."""
        sql = (
            "SELECT s.scope, s.entity, s.predicate, b.lane, b.valid_from, b.valid_to, b.value, b.trust, b.contested "
            f"FROM beliefs b JOIN slots s ON s.id = b.slot WHERE b.known_to = {FOREVER} AND s.scope <> ? "
            "ORDER BY 1, 2, 3, 4, 5"
        )
        digest = sha256()
        with self._looking():
            for row in self._replica.db.execute(sql, (DEVICE_SCOPE,)):
                digest.update(pack_flat(list(row)))
        return digest.hexdigest()

    @property
    def device(self) -> str:
        """The id of this device (it gets one when it first writes)."""
        with self._lock:
            return self._telling.device_id(self._replica.identity.device)

    def devices(self) -> list[DeviceInfo]:
        """The devices of which events are held, this one first."""
        with self._looking():
            own = self._replica.device
            logs = self._replica.logs
            result = []
            for key in sorted({log.device for log in logs.held()}, key=lambda key: (key != own, key)):
                theirs = logs.held(device=key)
                lives = {log.key.incarnation for log in theirs if log.key}
                seen = shown(max(log.clock for log in theirs))
                events = sum(log.seq for log in theirs)
                result.append(DeviceInfo(self._telling.device_id(key), key == own, events, len(lives), seen))
            return result
