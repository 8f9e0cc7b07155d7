"""The replica: one SQLite file that holds events and what follows from them.

Rules: there is one write path (:meth:`Replica.append` and :meth:`Replica.receive` both end in one fold);
all that a write does is one durable transaction; each fold gets the next transaction number, which is
this device's known time.  Not safe for threads: its owner holds a lock around every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Final, NamedTuple

from syncmem import labels
from syncmem.codec import pack_flat
from syncmem.environment import Environment
from syncmem.errors import Closed, InvalidInput, PeerError
from syncmem.model.event import SALT_BYTES, Erase, Erased, Event, Frontier, Kind, LogKey, Payload, encode
from syncmem.model.frame import DEVICE_SCOPE, Frame
from syncmem.model.plain import TIE_WINDOW
from syncmem.model.record import LOG_SHIFT
from syncmem.model.subjects import subject_name
from syncmem.model.sweep import FOLD_VERSION
from syncmem.replica import rebuilding, schema
from syncmem.replica.bundle import batches, frames
from syncmem.replica.catalog import Catalog
from syncmem.replica.chain import Log
from syncmem.replica.cipher import FileKey
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import WAIT_SECONDS, Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.erasing import Erasing
from syncmem.replica.erasures import Erasures, SubjectKey
from syncmem.replica.fold import Arrival, Fold
from syncmem.replica.identity import Identities, Identity
from syncmem.replica.intake import take_in_all
from syncmem.replica.logs import Logs
from syncmem.replica.rectangles import Change
from syncmem.replica.scrubbing import Scrubber
from syncmem.seal.keys import sign

MERGE_EVENTS: Final = 256  # events a merge folds in one transaction: keeps the write lock under 100 ms
BULK_EVENTS: Final = 20_000  # the same for imports and bootstrap, where nobody waits for the lock


class Written(NamedTuple):
    """What one write did: positions of its events, its transaction number, and the changes it made."""

    positions: list[int]
    n: int
    changes: list[Change]
    refused: Mapping[bytes, PeerError] = {}  # log id -> why its frames were not taken in


class Replica:
    """Opens, writes, merges. Reading is in :mod:`syncmem.replica.reading`."""

    def __init__(
        self,
        path: str,
        environment: Environment,
        public_key: Callable[[bytes], bytes],
        *,
        key: FileKey | None = None,
        keyring: bool = False,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.environment = environment
        self.db = Database(path, environment, key=key, wait_seconds=wait_seconds, admit=schema.admit)
        try:
            if schema.version(self.db.raw) != schema.SCHEMA_VERSION:
                with self.db.transaction():
                    schema.migrate(self.db.raw)
            self.logs = Logs(self.db)
            self.catalog = Catalog(self.db)
            self.clocks = Clocks(self.db, self.logs)
            self.cuts = Cuts(self.db, self.logs)
            self._cut_of: Callable[[LogKey], int | None] = lambda key: None
            self._forget_also: list[Callable[[], None]] = []
            self.fold = Fold(self.db, self.logs, self.catalog, self.clocks, self.cuts)
            self.erasures = Erasures(self.db, self.logs, self.cuts)
            parts = (self.db, self.logs, self.catalog, self.clocks, self.cuts, self.fold)
            self.erasing = Erasing(*parts, self.erasures)
            self.scrubber = Scrubber(self.db)
            self._seen = self.db.data_version()
            self._forget()
            self._identities = Identities(self.db, self.logs, environment, public_key, keyring=keyring)
            self.side = self._identities.side
            self._identity = self._identities.current()
            self._file = environment.disk.identity(path)
            self.scrubber.scrub()
        except BaseException:
            self.db.close()
            raise

    def close(self) -> None:
        self.db.close()

    # -- transactions -------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A durable write transaction; inside one already, a step of it that fails alone."""
        if self.db.in_transaction:
            with self._step():
                yield
            return
        try:
            with self.db.transaction():
                self.refresh()
                self._check_same_file()
                yield
        except BaseException:
            self._forget()
            raise
        self.scrubber.scrub()

    @contextmanager
    def _step(self) -> Iterator[None]:
        self.db.execute("SAVEPOINT step")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK TO step")
            self.db.execute("RELEASE step")
            self._forget()
            raise
        self.db.execute("RELEASE step")

    def refresh(self) -> None:
        """See what other processes have written since."""
        self.db.check_usable()
        version = self.db.data_version()
        if version != self._seen:
            self._forget()
            self._seen = version

    def _check_same_file(self) -> None:
        """Refuse to write into a file that is no longer the one under its name."""
        if self.environment.disk.identity(self.db.path) != self._file:
            raise Closed("the file was replaced or removed while it was open, nothing was written; open it again")

    def _forget(self) -> None:
        """Drop what was cached: it may not be what the file says."""
        for part in (self.logs, self.catalog, self.clocks, self.cuts, self.erasures, self.scrubber):
            part.forget()
        self.fold.forget_all()
        for forget in self._forget_also:
            forget()
        self._own_logs: dict[str, Log] = {}
        row = self.db.execute("SELECT n, time FROM transactions ORDER BY n DESC LIMIT 1").fetchone()
        self._last = row or (0, 0)

    @property
    def last_transaction(self) -> int:
        """The number of the latest transaction."""
        return int(self._last[0])

    # -- writing ------------------------------------------------------------------------------------

    def append(self, scope: str, items: Sequence[tuple[Kind, Payload]]) -> Written:
        """Write own events into the log of a scope; inside the caller's transaction."""
        assert self.db.in_transaction, "append is part of a transaction"
        log = self._own_log(scope)
        n = self._last[0] + 1
        opening = self._opening_note(log, n)
        events: list[Event] = []
        for kind, payload in [*opening, *items]:
            events.append(Event(int(kind), self._tick(events), encode(payload)))
        first = self._append(log, events, n)
        said = [payload for _, payload in [*opening, *items]]
        arrivals = [Arrival(first + offset, *pair) for offset, pair in enumerate(zip(events, said, strict=True))]
        written = self._finish(n, arrivals, new=True)
        return written._replace(positions=written.positions[len(opening) :])

    def _opening_note(self, log: Log, n: int) -> list[tuple[Kind, Payload]]:
        """What a new log begins with where the device already holds others of its scope."""
        held = self._held_in(self.logs.key_of(log.position(1)).scope) if not log.seq else []
        return [(Kind.FRONTIER, Frontier(n, FOLD_VERSION, held, None))] if held else []

    def _held_in(self, scope: str) -> list[list[object]]:
        return [[log.id, log.seq] for log in self.logs.held(scope=scope)]

    def receive(self, incoming: Iterable[Frame], *, events_max: int = MERGE_EVENTS) -> Iterator[Written]:
        """Take in what another device holds; one transaction (and one result) per ``events_max`` events."""
        for batch in batches(incoming, events_max):
            written = self.receive_batch(batch)
            if written is not None:
                yield written

    def receive_batch(self, batch: Sequence[Frame]) -> Written | None:
        """Take in some frames in one transaction; None if all of it was known.

        A log whose frames are refused holds up no other; the refusals are told in the result.

        Raises:
            PeerError: everything that was new was refused.
        """
        written = self.take_in(batch)
        if written is not None and not written.positions and written.refused:
            raise next(iter(written.refused.values()))
        return written

    def take_in(self, batch: Sequence[Frame]) -> Written | None:
        """As :meth:`receive_batch`, but raises nothing for what was refused (no positions: all was)."""
        if not any(self._is_new(frame) for frame in batch):
            return None
        refused: dict[bytes, PeerError] = {}
        with self.transaction():
            n = self._last[0] + 1
            own = {log.id: log.seq for log in self.logs.own}
            arrivals = take_in_all(batch, lambda frame: self._take_in(frame, n), refused)
            if any(log.id in refused or log.seq != own[log.id] for log in self.logs.own):
                self.renounce()
            if not arrivals:
                return Written([], n, [], refused)
            return self._finish(n, arrivals + self._notes(n, arrivals))._replace(refused=refused)

    def _take_in(self, frame: Frame, n: int) -> list[Arrival]:
        log = self.logs.by_id.get(frame.key.id)
        if log is None or not log.seq:  # a log that was only referred to is as new as one never heard of
            self.cuts.note(frame.key.id, n, self._cut_of(frame.key))
        return [Arrival(*placed) for placed in self.logs.receive(frame, n, self.erasures.admit)]

    def renounce(self) -> None:
        """Another life of this device wrote into its log: what is written from now on belongs to a new incarnation."""
        self.db.execute("DELETE FROM identity WHERE name = 'incarnation'")
        self._identity = None
        self._own_logs.clear()

    def _is_new(self, frame: Frame) -> bool:
        log = self.logs.by_id.get(frame.key.id)
        if log is None or log.seq < frame.last or self.logs.head_at(log, frame.last) != frame.head:
            return True
        lacking = self.logs.restorable(log, frame.first, frame.events, frame.cover)
        return any(not self.erasures.forbids(position, event) for position, event, _ in lacking)

    def _notes(self, n: int, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Frontier notes for what a merge brought: one in the own log of each scope; none about notes alone."""
        note = Kind.FRONTIER
        told = {a.position >> LOG_SHIFT for a in arrivals if isinstance(a.event, Erased) or a.event.kind != note}
        worth = {key.scope for no in told if (key := self.logs.by_no[no].key)}
        changed: dict[str, dict[bytes, int]] = {}
        for log in (self.logs.by_no[no] for no in {arrival.position >> LOG_SHIFT for arrival in arrivals}):
            if log.key is not None:
                changed.setdefault(log.key.scope, {})[log.id] = log.seq
        notes = []
        for scope in sorted(worth):
            own = self._own_log(scope)
            pairs = [[log, seq] for log, seq in sorted(changed[scope].items())] if own.seq else self._held_in(scope)
            event = Event(int(Kind.FRONTIER), self._tick([]), encode(Frontier(n, FOLD_VERSION, pairs, None)))
            notes.append(Arrival(self._append(own, [event], n), event))
        return notes

    def _append(self, log: Log, events: Sequence[Event], n: int) -> int:
        seed = self.identity.private
        first = self.logs.append(
            log, events, n, self.environment.randomness, lambda words: sign(seed, labels.HEAD, words)
        )
        for position, event in enumerate(events, first):
            self.erasures.observe(position, event)
        return first

    def _finish(
        self, n: int, arrivals: Sequence[Arrival], *, new: bool = False, recheck: Sequence[int] = ()
    ) -> Written:
        """Erase what is to go, fold what was stored, and record the transaction."""
        arrivals, retold = self.erasing.apply(n, arrivals)
        if self.erasing.leaves_traces:
            self.scrubber.mark(n)
        changes = [*retold, *self.fold.arrive(n, arrivals, new=new, recheck=recheck)]
        mine = {log.no for log in self.logs.own}
        own = [a.event.hlc for a in arrivals if a.position >> LOG_SHIFT in mine and isinstance(a.event, Event)]
        wall = own[-1] if own else self.environment.clock.now()
        if wall < self._last[1]:
            self.db.execute("INSERT INTO eras VALUES (?)", (n,))
        touched = pack_flat(sorted({change.slot for change in changes}))
        self.db.execute("INSERT INTO transactions VALUES (?, ?, ?, ?, ?)", (n, wall, wall, FOLD_VERSION, touched))
        self._last = (n, wall)
        if Kind.CLOCK_NOTE in {a.event.kind for a in arrivals if isinstance(a.event, Event)}:
            self._retime()
        return Written([arrival.position for arrival in arrivals], n, changes)

    def _tick(self, earlier: Sequence[Event]) -> int:
        """The next value of the hybrid clock: never behind what was seen, never dragged by a clock far ahead."""
        now = self.environment.clock.now()
        seen = [other.clock for other in self.logs.by_no.values() if other.clock <= now + TIE_WINDOW]
        seen += [event.hlc for event in earlier[-1:]]
        return max(now, max(seen, default=-1) + 1)

    def now(self) -> int:
        """The present: the clock, but never before the last event that this device wrote (unless far ahead)."""
        now = self.environment.clock.now()
        for log in self.logs.by_no.values():
            if (log.own or log.device == self.device) and now < log.clock <= now + TIE_WINDOW:
                now = log.clock
        return now

    def _own_log(self, scope: str) -> Log:
        """The log this device writes a scope's events into; a new incarnation is opened where one is due."""
        log = self._own_logs.get(scope)
        if log is None:
            if self._identity is None:
                self._identity = self._identities.current() or self._identities.begin()
                self.logs.forget()
            log = self._own_logs[scope] = self.logs.introduce(self._identity.log_key(scope), own=True)
        return log

    @property
    def device(self) -> bytes | None:
        """The key of this device; None before it has written anything."""
        return None if self._identity is None else self._identity.device

    @property
    def identity(self) -> Identity:
        """Who this device is; a new incarnation is opened where one is due."""
        if self._identity is None:
            with self.transaction():
                self._own_log("vault")
        assert self._identity is not None
        return self._identity

    # -- erasures -----------------------------------------------------------------------------------

    def subjects_named_by(self, subject_key: SubjectKey) -> None:
        """Where the subject key of a scope is looked up: the vault knows it, a replica in no vault has none."""
        self.erasures.name_by(subject_key)

    def reerase(self) -> Written | None:
        """Apply erasures that had waited for their key; what that changed. Inside a write transaction."""
        return self._finish(self._last[0] + 1, []) if self.erasures.due() else None

    def erase(self, scope: str, entity: str, payload: Callable[[list[bytes], bytes | None], Erase]) -> Written:
        """Write an erasure of an entity into a scope's log and apply it; inside a write transaction."""
        key, salt = self.erasures.naming(scope, self.environment.randomness, SALT_BYTES)
        self.erasing.hints = {scope: entity}
        try:
            return self.append(scope, [(Kind.ERASE, payload([subject_name(key, entity)], salt))])
        finally:
            self.erasing.hints = {}

    # -- publishing ---------------------------------------------------------------------------------

    def frames(
        self, known: dict[bytes, int], scopes: frozenset[str] | None = None, logs: Set[bytes] | None = None
    ) -> Iterator[Frame]:
        """What a peer that holds ``known`` lacks; the high-water mark is written before anything leaves."""
        self.check_committed()
        self.refresh()
        if self._identity is not None:
            self._identities.mark_published(self._identity)
        return frames(self.logs, known, scopes, logs)

    def check_committed(self) -> None:
        """Refuse to let events out that are not durable yet: they could be rolled back and their places used again."""
        if self.db.in_transaction:
            raise InvalidInput("the transaction around this call is not committed yet; call it after the transaction")

    def version_vector(self) -> dict[bytes, int]:
        """Log id -> last place held, of all logs that may leave the device."""
        return {log.id: log.seq for log in self.logs.held() if log.key and log.key.scope != DEVICE_SCOPE}

    # -- removed devices ------------------------------------------------------------------------------

    def forget_also(self, forget: Callable[[], None]) -> None:
        """Let somebody who caches what the file says drop it whenever the replica does."""
        self._forget_also.append(forget)

    def govern(self, cut_of: Callable[[LogKey], int | None]) -> None:
        """Ask the vault where a log stops to count (None: it does not)."""
        self._cut_of = cut_of

    def recut(self) -> Written | None:
        """Ask the vault anew about every log; what that changed. Inside a write transaction."""
        n = self._last[0] + 1
        positions: list[int] = []
        for log in self.logs.by_no.values():
            if log.key is not None:
                before, after = self.cuts.of(log.id), self._cut_of(log.key)
                if before != after and self.cuts.note(log.id, n, after):
                    least = min(log.seq if cut is None else cut for cut in (before, after))
                    positions += [log.position(seq) for seq in range(least + 1, log.seq + 1)]
        self.erasures.look_again(positions)
        return self._finish(n, [], recheck=positions) if positions else None

    # -- clocks and rebuilding ------------------------------------------------------------------------

    def _retime(self) -> None:
        self._last = (self._last[0], rebuilding.retime(self.db, self.logs, self.clocks))

    def rebuild(self) -> None:
        """Drop everything derived and fold again, transaction by transaction; beliefs come out the same."""
        with self.transaction():
            rebuilding.refold_all(self.db, self.logs, self.fold, self.cuts, self.erasures, self._forget)
