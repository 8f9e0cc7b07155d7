"""What was read: sealed blobs are opened, checked from the outside in, and taken into the replica.

Rules: checks go from the cheap to the costly and from the seal to the meaning: name, envelope, signature,
sender, statements, frames; what fails is refused alone and with a reason, what only waits for something is
held and tried again; events are taken in as a merge takes them, some at a time, and a blob counts as taken
once all of its events are stored: a session that stops between finds the stored ones known the next time; what a blob
reports is kept with it, because it is told once.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import Final

from syncmem import labels
from syncmem.errors import BadSignature, BrokenChain, Forked, NotCanonical, PeerError, Unreadable
from syncmem.model.event import LogKey, head_words
from syncmem.model.frame import Frame, payload_bytes
from syncmem.model.frontier import Noted
from syncmem.replica.catalog import VAULT
from syncmem.replica.replica import Written
from syncmem.replica.told import Told
from syncmem.seal.envelope import EpochKey, unseal
from syncmem.seal.graph import STATEMENTS_MAX
from syncmem.seal.keys import verify
from syncmem.seal.statements import Statement, read_statement
from syncmem.sync.contents import BlobState, Contents, stretch
from syncmem.sync.ledger import Ledger
from syncmem.sync.mailboxes import Known
from syncmem.sync.placed import Placed
from syncmem.sync.reports import Reports
from syncmem.sync.vault import Vault
from syncmem.wire.blob import (
    BLOB_PAYLOAD_MAX,
    Blob,
    ItemKind,
    Offer,
    Places,
    read_blob,
    read_lacks,
    read_missing,
    read_noted,
    read_offer,
    read_replaced,
    read_wants,
)
from syncmem.wire.frames import read_frame
from syncmem.wire.mailbox import BlobName

EVENTS_AT_ONCE: Final = 4096  # opened before they are taken in: bounds memory
STATEMENTS_OWN: Final = 256  # room in the roster that is kept for what this device says against a flood


class Stray(PeerError):
    """A blob is none that a writer is known to have put under its name: the mailbox may have made or moved it."""


@dataclass(slots=True)
class Opened:
    """A blob that passed its checks, as far as they need no other blob."""

    name: BlobName
    blob: Blob
    statements: list[Statement]
    frames: list[Frame]
    wants: list[tuple[bytes, int]] = field(default_factory=list)
    replaced: list[Places] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)
    payload_bytes: int = 0
    missing: list[Places] = field(default_factory=list)
    lacks: list[tuple[bytes, int]] = field(default_factory=list)  # of the content of episodes
    noted: list[Noted] = field(default_factory=list)

    @property
    def contents(self) -> Contents:
        statements = [statement.id for statement in self.statements]
        return Contents([stretch(frame) for frame in self.frames], statements, self.replaced)


class Incoming:
    """Takes blobs of one mailbox in."""

    def __init__(self, vault: Vault, ledger: Ledger, key: EpochKey) -> None:
        self._vault = vault
        self._replica = vault.replica
        self._ledger = ledger
        self._placed = Placed(vault.replica.db)
        self._reports = Reports(vault.replica.db)
        self._told = Told(vault.replica.db, vault.replica.logs)
        self._writers: dict[bytes, LogKey] = {}  # by stream, of the logs that are here
        self._key = key
        self.written: list[Written] = []
        self.lacking: dict[bytes, int] = {}  # log id -> last place held, of logs with a gap before what was read
        self._answered: set[BlobName] = set()  # whose questions were heard in this session
        self._shells: list[Contents] = []  # what was taken without some payloads

    def knowledge(self) -> int:
        """A number that grows with what is known here: while it is the same, what is held waits still."""
        events = sum(log.seq for log in self._replica.logs.held(scope=self._key.scope))
        return events + len(self._vault.roster.ids)

    def wants(self) -> list[tuple[bytes, int]]:
        """What is to be asked for: what follows a place of a log, and statements that others build on (place 0)."""
        missing = self._vault.roster.missing if self._key.scope == VAULT else ()
        return sorted([*self.lacking.items(), *((id, 0) for id in missing)])

    # -- opening ------------------------------------------------------------------------------------

    def open(self, name: BlobName, data: bytes) -> Opened:
        """Check one blob and what is in it.

        Raises:
            Stray: it is nobody's. Unreadable, NotCanonical: why what its writer says cannot be used.
        """
        blob = self._written(name, data)
        opened = Opened(name, blob, [], [])
        for item in blob.items:
            self._open_item(opened, item.kind, item.body)
        return opened

    def _written(self, name: BlobName, data: bytes) -> Blob:
        """The blob that a device with the key has written under this name."""
        try:
            plain = unseal(self._key, data)
            blob = read_blob(plain, self._key.vault, self._key.mailbox, self._writer(name.stream))
        except BrokenChain:
            raise  # a report of a device of whose log nothing is here yet
        except PeerError as error:
            raise Stray(str(error)) from error
        log = LogKey(blob.device, blob.incarnation, self._key.scope)
        if self._key.stream(log.id) != name.stream or blob.counter != name.counter:
            raise Stray("the blob stands under another name than its writer gave it; the mailbox moved it")
        return blob

    def _writer(self, stream: bytes) -> tuple[bytes, bytes] | None:
        """The device and incarnation that write a stream, if events of theirs are here."""
        if stream not in self._writers:
            logs = self._replica.logs.held(scope=self._key.scope)
            self._writers = {self._key.stream(log.id): log.key for log in logs if log.key is not None}
        found = self._writers.get(stream)
        return None if found is None else (found.device, found.incarnation)

    def _open_item(self, opened: Opened, kind: int, body: bytes) -> None:
        if kind == ItemKind.STATEMENT:
            statement = read_statement(body)
            if statement.roster != self._key.vault:
                raise Unreadable("a statement of another vault; ask the sender which vault it belongs to")
            opened.statements.append(statement)
        elif kind == ItemKind.FRAME:
            frame = read_frame(body)
            if frame.key.scope != self._key.scope:
                raise NotCanonical("a frame of another scope than its mailbox; ask the sender to check it")
            said = head_words(frame.key.id, frame.last, frame.head)
            if not verify(frame.key.device, labels.HEAD, said, frame.signature):
                raise BadSignature("a log's head is not signed by its device; remove the device that sends this")
            opened.frames.append(frame)
            opened.payload_bytes += sum(map(payload_bytes, frame.events))
            if opened.payload_bytes > BLOB_PAYLOAD_MAX:
                raise NotCanonical("a blob holds more events than may be; ask the sender to split them")
        elif kind == ItemKind.WANTS:
            opened.wants += read_wants(body)
        elif kind == ItemKind.REPLACED:
            opened.replaced += read_replaced(body)
        elif kind == ItemKind.OFFER:
            opened.offers.append(read_offer(body))
        elif kind == ItemKind.MISSING:
            opened.missing += read_missing(body)
        elif kind == ItemKind.LACKS:
            opened.lacks += read_lacks(body)
        elif kind == ItemKind.NOTED:
            opened.noted += read_noted(body)

    # -- taking in ----------------------------------------------------------------------------------

    def admit(self, known: Known, blobs: Sequence[Opened]) -> list[Opened]:
        """Take in who belongs to the vault; the blobs that come from members. Inside a write transaction."""
        self._refused: dict[bytes, PeerError] = {}  # by log
        self._wrong: dict[int, PeerError] = {}  # by frame, of logs whose other frames may be right
        fitting = self._fitting(known, blobs)
        self._note(self._vault.add([statement for opened in fitting for statement in opened.statements]))
        return [opened for opened in fitting if self._from_member(known, opened)]

    def _fitting(self, known: Known, blobs: Sequence[Opened]) -> list[Opened]:
        """Those for whose statements the roster has room; a flood is refused, and what is held goes on working."""
        held = self._vault.roster.ids
        fitting = []
        for opened in blobs:
            more = held | {statement.id for statement in opened.statements}
            if len(more) > max(len(held), STATEMENTS_MAX - STATEMENTS_OWN):
                self.refuse(known, opened.name, NotCanonical("the roster is full; remove the device that floods it"))
            else:
                held = more
                fitting.append(opened)
        return fitting

    def take(self, frames: Sequence[Frame]) -> None:
        """Take in some frames of what was admitted; why those of some logs were not is kept for :meth:`settle`."""
        written = self._replica.take_in(frames)
        self._note(written)
        for log, error in ({} if written is None else written.refused).items():
            if isinstance(error, BrokenChain) and error.missing_after is not None:
                self._refused[log] = error
            else:
                self._take_alone([frame for frame in frames if frame.key.id == log])
        self._read_repaired_again(written)

    def _take_alone(self, frames: Sequence[Frame]) -> None:
        """Take in each frame of a log for itself: one that was made up holds up none that is true."""
        for frame in frames:
            written = self._replica.take_in([frame])
            self._note(written)
            if written is not None and (error := written.refused.get(frame.key.id)) is not None:
                self._wrong[id(frame)] = error
            self._read_repaired_again(written)

    def _read_repaired_again(self, written: Written | None) -> None:
        """What did not fit a log that was forked is tried once more, now that it is repaired."""
        for done in () if written is None else written.repaired:
            self._refused[done.log] = BrokenChain("the log was forked and is repaired; sync again", done.first - 1)

    def settle(self, known: Known, blobs: Sequence[Opened]) -> None:
        """Note each blob, all of whose frames were tried, as taken, held or refused. Inside a write transaction."""
        for opened in blobs:
            self._settle(known, opened)

    def _note(self, written: Written | None) -> None:
        if written is not None and (written.positions or written.changes):
            self.written.append(written)

    def _from_member(self, known: Known, opened: Opened) -> bool:
        """Whether the sender is or was a member; what others send waits until their admission arrives."""
        if self._vault.roster.member(opened.blob.device) is not None:
            return True
        reason = "it comes from a device whose admission has not arrived; sync again"
        self._ledger.put(known.no, opened.name, BlobState.HELD, opened.contents, reason=reason)
        return False

    def _settle(self, known: Known, opened: Opened) -> None:
        """Note how a blob stands now. What was refused does not count as being there: our own copy goes out."""
        self._answer(known, opened)
        gap, errors = self._errors(opened)
        if gap is not None:
            self._ledger.put(known.no, opened.name, BlobState.HELD, opened.contents, reason=str(gap))
            return
        refused = next((error for error in errors if not isinstance(error, Forked)), None)
        if refused is not None:
            self.refuse(known, opened.name, refused)
        else:
            right = [stretch(frame) for frame in opened.frames if id(frame) not in self._wrong]
            contents = opened.contents._replace(logs=right)
            self._ledger.take(known.no, opened.name, contents, reason=str(errors[0]) if errors else None)
            self._shells += [contents] if any(one.erased for one in right) else []
            for offer in opened.offers:
                self._ledger.offered(known.no, offer)
        if opened.blob.state is not None:
            now = self._replica.environment.clock.now()
            log = LogKey(opened.blob.device, opened.blob.incarnation, self._key.scope)
            if opened.noted or any(frame.key == log for frame in opened.frames):
                self._told.keep(log, opened.noted)
            self._reports.keep(self._key.scope, self._key.epoch, opened.blob.device, opened.blob.state, now)

    def _errors(self, opened: Opened) -> tuple[PeerError | None, list[PeerError]]:
        """What a blob waits for, if it does; and why some of its frames were refused."""
        errors = []
        for frame in opened.frames:
            error = self._refused.get(frame.key.id) or self._wrong.get(id(frame))
            held = self._replica.logs.by_id.get(frame.key.id)
            if error is None:
                continue
            if not isinstance(error, BrokenChain) or error.missing_after is None:
                errors.append(error)
            elif held is None or not self._replica.logs.has(held, frame):
                self.lacking[frame.key.id] = 0 if held is None else min(held.seq, error.missing_after)
                return error, errors
        return None, errors

    def _answer(self, known: Known, opened: Opened) -> None:
        """What a blob asks for is sent again, once in a session: one that is held back is read over and over."""
        if opened.name in self._answered:
            return
        self._answered.add(opened.name)
        for log, after in opened.wants:
            self._ledger.lose(known.no, log, after)
        for places in opened.missing:
            self._ledger.miss(known.no, places)
        self._placed.ask(known.no, opened.lacks)

    def refuse(self, known: Known, name: BlobName, error: PeerError) -> None:
        """Note a blob that cannot be used (yet); others go on. A place that only a stray has is not passed over."""
        if isinstance(error, BrokenChain):
            self._ledger.put(known.no, name, BlobState.HELD, reason=str(error))
            return
        if isinstance(error, Stray):
            self._ledger.stray(known.no, name, str(error))
            return
        self._ledger.put(known.no, name, BlobState.REFUSED, reason=str(error))
        self._ledger.advance(known.no, name.stream)

    def finish(self, known: Known, listed: Set[BlobName]) -> None:
        """The mailbox was read to its end: all that it lists. Inside a write transaction."""
        for contents in self._shells:
            self._ledger.hold(known.no, contents)  # what they lack may have been erased by what was read later
        self._shells.clear()
        self._ledger.forget_strays(known.no, listed)
        self._ledger.settle_replaced(known.no)
