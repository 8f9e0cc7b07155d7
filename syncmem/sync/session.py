"""One sync of one scope with one mailbox, as a machine that asks and is answered. It does no input or output.

Rules: what a device wrote itself goes out with the first question, which also asks what is new (with the second, if it
was away for an hour: then what it learned is reported in the same blobs); what others wrote goes out once the mailbox
was read to its end; the lock is held between questions, never during one; a session that stops anywhere leaves
everything so that the next one goes on; a mailbox that is full is sent only what makes room, and the rest once there
is some.

=============  ==============================================  ==========================================
step           asks                                            then
=============  ==============================================  ==========================================
``push``       Exchange: own blobs, what is new?               acknowledge; reset if the mailbox changed
``read``       Get: what was listed and not sent along         take in; ``push`` again while there is more
``complete``   Exchange: what the mailbox lacks, the report    until nothing is left to send
``drop``       Drop: what was written anew                     done
=============  ==============================================  ==========================================
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from syncmem.errors import BrokenChain, MailboxError, PeerError
from syncmem.replica.bundle import batches
from syncmem.replica.rectangles import Change
from syncmem.replica.repair import Repaired
from syncmem.replica.replica import MERGE_EVENTS, Written
from syncmem.seal.envelope import EpochKey
from syncmem.sync.auditing import AUDITED_AFTER, Audit
from syncmem.sync.content import ContentOutcome
from syncmem.sync.contents import BlobState
from syncmem.sync.dropping import Dropper, Fetch, Writing
from syncmem.sync.incoming import EVENTS_AT_ONCE, Incoming, Opened, Stray
from syncmem.sync.ledger import Ledger, Waiting
from syncmem.sync.listing import Listing
from syncmem.sync.mailboxes import Known
from syncmem.sync.outgoing import Outgoing
from syncmem.wire.mailbox import Answer, BlobName, Drop, Exchange, Outcome, Position, Put

SENT_BYTES_MAX: Final = 4 * 1024 * 1024  # of blobs in one question
INLINE_BYTES_MAX: Final = 512 * 1024  # of blobs in one answer: small news need no second question
GOT_AT_ONCE: Final = 64  # blobs asked for together
CHANGES_MAX: Final = 10_000  # told of one session: a bootstrap changes everything, and nobody reads that
AWAY_AFTER: Final = 3_600_000_000  # microseconds: who was away for so long has news to answer in what is sent first
ROUNDS_MAX: Final = 10_000  # a bound for what only a mailbox that never ends could exceed


Question: TypeAlias = Exchange | Fetch | Drop
Fetched: TypeAlias = Iterator[tuple[BlobName, bytes | None]]
Reply: TypeAlias = Answer | Fetched | list[bool]
Steps: TypeAlias = Generator[Question, Reply, None]


@dataclass(slots=True)
class Outcomes:
    """What a session did."""

    sent: int = 0  # blobs acknowledged
    sent_bytes: int = 0
    received: int = 0  # blobs taken in
    received_bytes: int = 0
    questions: int = 0
    events: int = 0  # of other devices, new here
    changes: list[Change] = field(default_factory=list)  # what they changed, up to CHANGES_MAX
    more_changes: bool = False
    refused: list[str] = field(default_factory=list)
    full: str | None = None  # why the mailbox takes no more for now
    forked: bool = False  # another life of this device writes into the same stream
    reset: bool = False  # the mailbox was not the one it was
    position: Position | None = None  # where the mailbox was when it last answered
    repaired: list[Repaired] = field(default_factory=list)  # branches of forked logs that are void since


@dataclass(slots=True)
class Synced:
    """What a sync of one scope with one mailbox came to; ``key`` opens it, where this device stays with it."""

    address: str
    scope: str
    outcomes: Outcomes
    error: MailboxError | None = None
    key: EpochKey | None = None
    push: str | None = None  # the address of a relay that tells when it moves
    content: ContentOutcome = field(default_factory=ContentOutcome)


class Session:
    """A session; :meth:`steps` is driven by :func:`syncmem.sync.driving.drive`."""

    def __init__(
        self, lock: threading.RLock, writing: Writing, known: Known, ledger: Ledger, outgoing: Outgoing,
        incoming: Incoming, dropper: Dropper, *, write_key: bytes,
    ) -> None:  # fmt: skip
        self._lock = lock
        self._writing = writing
        self._known = known
        self._ledger = ledger
        self._out = outgoing
        self._in = incoming
        self._dropper = dropper
        self._write_key = write_key
        self._listing = Listing()
        self._knew = incoming.knowledge()  # when the mailbox was last read to its end
        self._stuck = False  # a full mailbox takes not even what makes room
        self._first = True  # nothing was asked yet
        self.outcomes = Outcomes()

    def steps(self) -> Steps:
        """The questions, in order; send each one's answer in.

        Raises:
            MailboxRefused: the mailbox does not do what it promises; what was read until then is kept.
        """
        read_all = False
        for _ in range(ROUNDS_MAX):
            with self._lock:
                self._compose(everything=read_all)
                full = self.outcomes.full is not None
                waiting = self._ledger.waiting(self._known.no, SENT_BYTES_MAX, anew=full) if self._known.epoch else []
                cursors = self._ledger.cursors(self._known.no)
            if read_all and not waiting:
                yield from self._dropper.steps()
                if full and self._has_made_room():
                    continue
                self._listing.check_given()
                if not (yield from self._audited()):
                    read_all = False
                    continue
                return
            answer = yield self._question(waiting, self._listing.behind(cursors))
            assert isinstance(answer, Answer)
            self.outcomes.position = answer.position
            with self._writing():
                same = self._same_mailbox(answer, cursors)
                self._ledger.saw_ends(self._known.no, answer.ends)
                went = self._acknowledge(answer, waiting) if same else 0
            if not same:
                self._listing.found_reset()
                read_all = False
                continue
            further = self._listing.add((entry.name for entry in answer.listed), more=answer.more)
            news = yield from self._read(answer)
            if self.outcomes.forked:
                return  # what is written goes into another stream from the next sync on
            if answer.more:
                self._listing.check_further(further)
            read_all = not answer.more and self._is_read()
            if waiting and not went and not news and self.outcomes.full is None:
                return  # nothing moves: the ledger tells what was refused

    def _question(self, waiting: Sequence[Waiting], cursors: dict[bytes, int]) -> Exchange:
        self.outcomes.questions += 1
        puts = [Put(one.name.stream, one.name.counter, one.blob) for one in waiting]
        return Exchange(
            key=self._write_key,
            puts=puts,
            cursors=cursors,
            inline_bytes_max=INLINE_BYTES_MAX,
            drop_key=self._dropper.key,
            making_room=_makes_room(waiting),
        )

    def _has_made_room(self) -> bool:
        """Whether blobs are gone since the mailbox was full: then it is asked again to take what it did not."""
        if not self._dropper.count:
            return False
        self._dropper.count, self.outcomes.full, self._stuck = 0, None, False
        with self._writing():
            self._ledger.unblock(self._known.no)
        return True

    def _compose(self, *, everything: bool) -> None:
        """Write down what is to be sent. A mailbox never seen, or not for long, is asked first what is new there.

        So what is to be said of that goes with what this device wrote meanwhile.
        """
        asks = self._first and self._is_away()
        self._first = False
        if self._known.epoch is not None and not self._stuck and not asks:
            wants = self._in.wants() if everything else []
            self._out.compose(self._known, wants, everything=everything, full=self.outcomes.full is not None)

    def _is_away(self) -> bool:
        success, _ = self._ledger.outcome(self._known.no)
        return success is not None and self._out.replica.environment.clock.now() - success > AWAY_AFTER

    # -- answers ------------------------------------------------------------------------------------

    def _same_mailbox(self, answer: Answer, cursors: dict[bytes, int]) -> bool:
        """Whether the mailbox is the one it was; if not, what was thought to be there is forgotten."""
        if self._known.epoch is None:
            self._ledger.reached(self._known, answer.epoch)
            return True
        shorter = any(answer.ends.get(stream, 0) < cursor for stream, cursor in cursors.items())
        if answer.epoch == self._known.epoch and not shorter:
            return True
        self._forget(answer.epoch)
        return False

    def _forget(self, epoch: bytes) -> None:
        """What was thought to be there is found out again."""
        self._ledger.forget(self._known.no)
        self._known.epoch, self._known.reported, self._known.wanted = None, b"", b""
        self._ledger.reached(self._known, epoch)
        self.outcomes.reset = True

    def _audited(self) -> Generator[Question, Any, bool]:
        """Once a day, whether the mailbox holds what is known of it; if not, it is read anew."""
        now = self._out.replica.environment.clock.now()
        with self._lock:
            last = self._ledger.audited(self._known.no)
        epoch = self._known.epoch
        if self._out.farewell or epoch is None or (last is not None and 0 <= now - last < AUDITED_AFTER):
            return True
        audit = Audit(self._ledger, self._known, self._write_key)
        listed = set() if last is None else (yield from audit.steps())
        with self._writing():
            self._ledger.note_audited(self._known.no, now)
            self.outcomes.questions += audit.questions
            right = last is None or audit.is_as_known(listed)
            if not right:
                self._forget(epoch)
            elif last is not None:
                self._ledger.forget_gone(self._known.no, listed)
        if not right:
            self._listing.found_reset()
        return right

    def _acknowledge(self, answer: Answer, waiting: Sequence[Waiting]) -> int:
        went = 0
        for (name, blob, contents, anew), result in zip(waiting, answer.results, strict=True):
            if result.outcome in (Outcome.STORED, Outcome.KNOWN):
                self._ledger.take(self._known.no, name, contents)
                self.outcomes.sent_bytes += len(blob)
                went += 1
                continue
            if result.outcome == Outcome.OVER_QUOTA:
                self.outcomes.full = result.reason
                if anew and not _makes_room(waiting):
                    continue  # it is offered again without the others
                self._stuck |= anew
            self.outcomes.refused.append(f"{name}: {result.reason}")
            if result.outcome == Outcome.CONFLICT:
                self.outcomes.forked = True
                self._ledger.give_way(self._known.no, name)
            else:
                self._ledger.block(self._known.no, name, result.reason)
        self.outcomes.sent += went
        return went

    # -- reading ------------------------------------------------------------------------------------

    def _is_read(self) -> bool:
        """The listing came to its end; whether it need not be read again for what was held back and learned since."""
        in_parts, listed = self._listing.in_parts, self._listing.names
        self._listing.begin_anew()
        with self._writing():
            knew, self._knew = self._knew, self._in.knowledge()
            if in_parts and knew != self._knew and self._ledger.count(self._known.no, BlobState.HELD):
                return False
            self._in.finish(self._known, listed)
            now = self._out.replica.environment.clock.now()
            self._ledger.look_for_absent(self._known.no, self._out.stream, now)
        return True

    def _read(self, answer: Answer) -> Generator[Question, Reply, int]:
        """Take in what was listed, stream by stream, again while something that was held moves; how many."""
        inline = {entry.name: entry.blob for entry in answer.listed if entry.blob is not None}
        names = self._unread(dict.fromkeys(entry.name for entry in answer.listed))
        came: set[BlobName] = set()
        total = 0
        while names:
            before = len(names)
            for start in range(0, len(names), GOT_AT_ONCE):
                part = names[start : start + GOT_AT_ONCE]
                missing = [name for name in part if name not in inline]
                fetched: Fetched = iter(())
                if missing:
                    self.outcomes.questions += 1
                    answered = yield Fetch(missing)
                    assert isinstance(answered, Iterator)
                    fetched = answered
                came |= self._take_some([(name, inline[name]) for name in part if name in inline], fetched)
            names = self._unread(names)
            total += before - len(names)
            if len(names) == before:
                break
        self._listing.found_nothing({*names} - came)
        return total

    def _unread(self, names: Iterable[BlobName]) -> list[BlobName]:
        """The listed blobs that are to be read; those that are held only where something was learned since."""
        with self._lock:
            learned = self._known.knew != self._in.knowledge()
            states = [(name, self._ledger.state(self._known.no, name)) for name in names]
        unread = [name for name, state in states if state is None or (state == BlobState.HELD and learned)]
        return [name for name in unread if name not in self._listing.strays]

    def _take_some(self, inline: Sequence[tuple[BlobName, bytes]], fetched: Fetched) -> set[BlobName]:
        """Open blobs and take them in, some events at a time; which came: what is not there is left for later."""
        came: set[BlobName] = set()
        batch: list[Opened] = []
        events = 0
        for name, data in self._in_order(inline, fetched):
            came.add(name)
            self.outcomes.received_bytes += len(data)
            try:
                opened = self._in.open(name, data)
            except PeerError as error:
                with self._writing():
                    self._in.refuse(self._known, name, error)
                if not isinstance(error, BrokenChain):
                    self.outcomes.refused.append(f"{name}: {error}")
                if isinstance(error, Stray):
                    self._listing.found_stray(name)
                continue
            batch.append(opened)
            events += sum(len(frame.events) for frame in opened.frames)
            if events >= EVENTS_AT_ONCE:
                self._take(batch)
                batch, events = [], 0
        if batch:
            self._take(batch)
        return came

    def _take(self, batch: list[Opened]) -> None:
        with self._writing():
            members = self._in.admit(self._known, batch)
        for frames in batches((frame for opened in members for frame in opened.frames), MERGE_EVENTS):
            with self._lock:
                self._in.take(frames)
        with self._writing():
            self._in.settle(self._known, members)
            self._count(self._in.written)
            self._in.written = []
            states = [self._ledger.state(self._known.no, opened.name) for opened in batch]
        self.outcomes.received += states.count(BlobState.TAKEN)

    def _count(self, results: Sequence[Written]) -> None:
        """Note what was taken in and what it changed; of a flood only the beginning."""
        told = self.outcomes
        logs = self._out.replica.logs
        for written in results:
            told.repaired += written.repaired
            told.events += sum(not logs.log_of(position).own for position in written.positions)
            room = CHANGES_MAX - len(told.changes)
            told.changes += written.changes[:room]
            told.more_changes |= len(written.changes) > room

    def _in_order(self, inline: Sequence[tuple[BlobName, bytes]], fetched: Fetched) -> Iterator[tuple[BlobName, bytes]]:
        yield from inline
        for name, data in fetched:
            if data is not None:
                yield name, data


def _makes_room(waiting: Sequence[Waiting]) -> bool:
    return bool(waiting) and all(one.anew for one in waiting)
