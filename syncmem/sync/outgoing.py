"""What to send: everything that this device holds and a mailbox lacks, written down as sealed blobs.

Rules: what a mailbox lacks of what a device holds, the device sends; its own at once, what others wrote
only after the mailbox was read to its end; a blob is durable in the ledger before it leaves; each blob
that ends a sending says what the device held and believed then, and what its notes of that say that are not sent yet;
once nothing is lacking, or nothing else is taken,
blobs are written anew that are due to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from syncmem.model.frame import Frame, payload_bytes
from syncmem.replica.catalog import VAULT
from syncmem.replica.digests import Digests
from syncmem.seal.envelope import EpochKey, seal
from syncmem.seal.statements import Statement
from syncmem.sync import rewriting
from syncmem.sync.contents import BlobState, Contents, stretch
from syncmem.sync.dropping import Dropper
from syncmem.sync.ledger import Ledger
from syncmem.sync.mailboxes import Known
from syncmem.sync.noting import Noting
from syncmem.sync.rewriting import Rewrite
from syncmem.sync.vault import Vault
from syncmem.wire.blob import (
    BLOB_PAYLOAD_MAX,
    PIECES_MAX,
    Blob,
    Item,
    ItemKind,
    Places,
    State,
    lacks_bytes,
    missing_bytes,
    noted_bytes,
    offer_bytes,
    replaced_bytes,
    wants_bytes,
    write_blob,
)
from syncmem.wire.frames import frame_bytes
from syncmem.wire.mailbox import DIGEST_BYTES, BlobName, digest

BLOB_TARGET_BYTES: Final = 256 * 1024  # of items in one blob: a quarter of what an envelope may hold
ITEMS_MAX: Final = PIECES_MAX // 2  # of one blob: room is left for what goes with them
PLACES_MAX: Final = 4096  # stretches of lost places named in one blob; the rest is named in the next
ROOM_BYTES_MAX: Final = 4 * 1024 * 1024  # written anew at a time where a mailbox is full: half of what a relay lends
COMPOSED_BYTES_MAX: Final = 8 * 1024 * 1024  # written down at a time: bounds memory and the outbox


@dataclass(slots=True)
class _Load:
    """The items of one blob in the making."""

    items: list[Item] = field(default_factory=list)
    contents: Contents = field(default_factory=lambda: Contents([], [], []))
    size: int = 0
    payload_bytes: int = 0

    def is_full(self, more: int, payloads: int = 0) -> bool:
        """Whether an item of so many bytes, with payloads of so many, belongs into another blob."""
        large = self.size + more > BLOB_TARGET_BYTES or self.payload_bytes + payloads > BLOB_PAYLOAD_MAX
        return bool(self.items) and (large or len(self.items) >= ITEMS_MAX)

    def add(self, kind: ItemKind, body: bytes) -> None:
        self.items.append(Item(int(kind), body))
        self.size += len(body)


class Outgoing:
    """Writes blobs for one mailbox into the ledger."""

    def __init__(
        self, vault: Vault, ledger: Ledger, digests: Digests, key: EpochKey, dropper: Dropper, *, farewell: bool = False
    ) -> None:
        self.farewell = farewell  # the mailbox is left: only who belongs to the vault is said there
        self._vault = vault
        self.replica = vault.replica
        self._ledger = ledger
        self._digests = digests
        self._key = key
        self._dropper = dropper
        self._noting = Noting(self.replica.logs, digests.said)

    @property
    def stream(self) -> bytes:
        """The stream that this device writes: that of its log, also before the log has events."""
        return self._key.stream(self.replica.identity.log_key(self._key.scope).id)

    def compose(
        self, known: Known, wants: list[tuple[bytes, int]], *, everything: bool, full: bool = False
    ) -> None:  # fmt: skip
        """Write down what the mailbox lacks (only own things unless ``everything``), up to a bound at a time.

        ``full``: it takes only what makes room.
        """
        ready = [] if full else list(self._bounded(self._lacking(known, everything)))
        rewrite, anew = self._rewriting(known, full=full) if everything and not ready else (None, [])
        if full and rewrite is None:
            return
        size = sum(load.size for load in ready)
        with self.replica.transaction():
            last = everything and size < COMPOSED_BYTES_MAX
            self._write_down(known, ready or anew, wants, last=last, anew=rewrite is not None)
            if rewrite is not None:
                self._ledger.rewritten(known.no, rewrite.names, rewrite.to)
                if rewrite.to == BlobState.REPLACED:
                    self._ledger.offered(known.no, self._dropper.offer(rewrite.names))

    def _bounded(self, loads: Iterable[_Load]) -> Iterator[_Load]:
        size = 0
        for load in loads:
            yield load
            size += load.size
            if size >= COMPOSED_BYTES_MAX:
                return

    def _rewriting(self, known: Known, *, full: bool) -> tuple[Rewrite | None, list[_Load]]:
        """What is due to be written anew, and that; of a full mailbox no more than it lends room for."""
        most = rewriting.REWRITTEN_AT_ONCE
        while True:
            rewrite = rewriting.due(self.replica, self._ledger, known, self._key, full=full, most=most)
            loads = [] if rewrite is None else list(self._anew(rewrite))
            if not full or sum(load.size for load in loads) <= ROOM_BYTES_MAX or most == 1:
                return rewrite, loads
            most //= 4

    def _write_down(
        self, known: Known, loads: list[_Load], wants: list[tuple[bytes, int]], *, last: bool, anew: bool
    ) -> None:  # fmt: skip
        digests = self._digests.of(self._key.scope)
        state = State(digests.events[:DIGEST_BYTES], digests.beliefs[:DIGEST_BYTES], digests.held)
        questions = self._questions(known, wants) if last and not self.farewell else []
        asked = b"".join(item.body for item in questions)
        lost = self._lost(known) if last else []
        news = last and not self.farewell and (digests.events != known.reported or asked != known.wanted)
        if (lost or news) and not loads:
            loads = [_Load()]
        if lost:
            loads[0].add(ItemKind.REPLACED, replaced_bytes(lost))
            loads[0].contents.replaced.extend(lost)
        for number, load in enumerate(loads):
            ends = number == len(loads) - 1
            if ends and asked != known.wanted:
                load.items.extend(questions)
            told = ends and not self.farewell  # what is said where nobody stays would be read late
            if told:
                self._tell_notes(known, load)
            self._write(known, load, state if told else None, anew=anew)
        if loads:
            self._ledger.note(known, reported=digests.events, wanted=asked if last else None)

    def _tell_notes(self, known: Known, load: _Load) -> None:
        """Say what the notes say that wait, and were not told of in this mailbox."""
        log = self.replica.logs.by_id.get(self.replica.identity.log_key(self._key.scope).id)
        if log is None or not log.seq:
            return
        there = self._ledger.awaited(known.no)
        load.contents.added_to(there)
        after = max(there.get(log.id, 0), self._ledger.noted(known.no, self.stream))
        if notes := self._noting.waiting(log, after):
            load.add(ItemKind.NOTED, noted_bytes(notes))
        self._ledger.note_noted(known.no, self.stream, log.seq)

    def _lost(self, known: Known) -> list[Places]:
        """Places whose blobs the mailbox lost, and what they held is held here: all that it lacks of that is sent."""
        if self._ledger.awaits(known.no):
            return []
        own = self._ledger.lost(known.no, self.stream)
        others = [] if self.farewell else self._ledger.absent_read(known.no, self.replica.environment.clock.now())
        return [*own, *others][:PLACES_MAX]

    def _questions(self, known: Known, wants: list[tuple[bytes, int]]) -> list[Item]:
        """What others are asked for: what follows in logs, and what stood at places where nothing is found."""
        absent = self._ledger.absent(known.no, self.replica.environment.clock.now())[:PLACES_MAX]
        wanted = [Item(int(ItemKind.WANTS), wants_bytes(wants))] if wants else []
        wanted += [Item(int(ItemKind.MISSING), missing_bytes(absent))] if absent else []
        lacks = self._lacks()
        return [*wanted, Item(int(ItemKind.LACKS), lacks_bytes(lacks))] if lacks else wanted

    def _lacks(self) -> list[tuple[bytes, int]]:
        """The parts of the content of episodes that were looked for and not found."""
        episodes = self.replica.fold.episodes
        lacked = [one for one in episodes.lacked() if one.held.scope == self._key.scope]
        found = ((one.event, number) for one in lacked for number in episodes.missing(one.held))
        return list(islice(found, PLACES_MAX))

    def _write(self, known: Known, load: _Load, state: State | None, *, anew: bool) -> None:
        identity = self.replica.identity
        counter = self._ledger.next_counter(known.no, self.stream)
        blob = Blob(identity.device, identity.incarnation, counter, state, load.items)
        log = identity.log_key(self._key.scope).id
        is_report = all(item.kind == ItemKind.NOTED for item in load.items)
        named = not is_report or not self._ledger.holdings(known.no, [log]).get(log)
        plain = write_blob(blob, self._key.vault, known.id, identity.private, named=named)
        sealed = seal(self._key, plain, self.replica.environment.randomness)
        name = BlobName(self.stream, counter, digest(sealed))
        self._ledger.put(known.no, name, BlobState.WAITING, load.contents, blob=sealed, anew=anew)

    # -- what is lacking ----------------------------------------------------------------------------

    def _lacking(self, known: Known, everything: bool) -> Iterator[_Load]:
        there = self._ledger.awaited(known.no)
        frames = () if self.farewell else self._frames(there, everything)
        yield from _loads(self._statements(there, everything), frames)

    def _anew(self, rewrite: Rewrite) -> Iterator[_Load]:
        """The contents of some blobs once more, and that they take the places of those."""
        wanted = {*rewrite.contents.statements}
        statements = [s for s in self._vault.roster.statements_in_order() if s.id in wanted]
        frames = () if self.farewell else rewriting.frames_of(self.replica, self._key.scope, rewrite.contents)
        first, *others = list(_loads(statements, frames)) or [_Load()]
        first.add(ItemKind.REPLACED, replaced_bytes(rewrite.contents.replaced))
        first.contents.replaced.extend(rewrite.contents.replaced)
        if rewrite.to == BlobState.REPLACED:
            first.add(ItemKind.OFFER, offer_bytes(self._dropper.offer(rewrite.names)))
        yield from (first, *others)

    def _statements(self, there: dict[bytes, int], everything: bool) -> Iterator[Statement]:
        if self._key.scope != VAULT:
            return
        for statement in self._vault.roster.statements_in_order():
            if statement.id not in there and (everything or statement.signer == self._vault.device):
                yield statement

    def _frames(self, there: dict[bytes, int], everything: bool) -> Iterator[Frame]:
        now = self.replica.environment.clock.now()
        held = [log for log in self.replica.logs.held(scope=self._key.scope) if everything or log.own]
        wanted = {log.id for log in held if self._noting.due(log, now) > there.get(log.id, 0)}
        for frame in self.replica.frames(there, frozenset({self._key.scope}), wanted):
            if frame.last > there.get(frame.key.id, 0):
                yield frame


def _loads(statements: Iterable[Statement], frames: Iterable[Frame]) -> Iterator[_Load]:
    """Items in the order in which a reader needs them: who belongs to the vault, then events."""
    load = _Load()
    for statement in statements:
        if load.is_full(len(statement.wire)):
            yield load
            load = _Load()
        load.add(ItemKind.STATEMENT, statement.wire)
        load.contents.statements.append(statement.id)
    for frame in frames:
        body, payloads = frame_bytes(frame), sum(map(payload_bytes, frame.events))
        if load.is_full(len(body), payloads):
            yield load
            load = _Load()
        load.add(ItemKind.FRAME, body)
        load.payload_bytes += payloads
        load.contents.logs.append(stretch(frame))
    if load.items:
        yield load
