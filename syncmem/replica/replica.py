"""The replica: one SQLite file that holds events and what follows from them.

Rules: there is one write path (:meth:`Replica.append` and :meth:`Replica.receive` both end in one fold);
all that a write does is one durable transaction; each fold gets the next transaction number, which is
this device's known time.  Not safe for threads: its owner holds a lock around every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Final, NamedTuple

from syncmem.environment import Environment
from syncmem.errors import BrokenChain, Forked, InvalidInput, PeerError
from syncmem.model.event import SALT_BYTES, Erase, Event, Frontier, Kind, LogKey, Payload, worded
from syncmem.model.frame import DEVICE_SCOPE, Frame, Stored
from syncmem.model.plain import TIE_WINDOW
from syncmem.model.record import LOG_SHIFT
from syncmem.model.subjects import subject_name
from syncmem.model.sweep import FOLD_VERSION
from syncmem.replica import rebuilding, schema, transactions
from syncmem.replica.aliases import Aliases
from syncmem.replica.arriving import Arrival
from syncmem.replica.author import Author
from syncmem.replica.bundle import batches, frames
from syncmem.replica.catalog import Catalog
from syncmem.replica.chain import Log
from syncmem.replica.cipher import FileKey
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import WAIT_SECONDS, Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.erasing import Erasing
from syncmem.replica.erasures import Erasures, SubjectKey
from syncmem.replica.fold import Fold
from syncmem.replica.identity import Identity
from syncmem.replica.index import Index
from syncmem.replica.intake import take_in_all
from syncmem.replica.logs import Logs
from syncmem.replica.moves import Moves
from syncmem.replica.readlog import ReadLog
from syncmem.replica.rectangles import Change
from syncmem.replica.repair import Branch, Repair, Repaired
from syncmem.replica.scrubbing import Scrubber
from syncmem.replica.sightings import held_in, news, opening_note

MERGE_EVENTS: Final = 256  # events a merge folds in one transaction: keeps the write lock under 100 ms
BULK_EVENTS: Final = 20_000  # the same for imports and bootstrap, where nobody waits for the lock


class Written(NamedTuple):
    """What one write did: positions of its events, its transaction number, and the changes it made."""

    positions: list[int]
    n: int
    changes: list[Change]
    refused: Mapping[bytes, PeerError] = {}  # log id -> why its frames were not taken in
    repaired: Sequence[Repaired] = ()  # branches of forked logs that are void since


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
        with self.db.taken_up():
            if schema.version(self.db.raw) != schema.SCHEMA_VERSION:
                with self.db.transaction():
                    schema.migrate(self.db.raw)
            self.logs = Logs(self.db)
            self.aliases = Aliases(self.db, self.logs)
            self.catalog = Catalog(self.db, self.aliases)
            self.clocks = Clocks(self.db, self.logs)
            self.cuts = Cuts(self.db, self.logs)
            self.moves = Moves(self.db, self.logs, self.cuts)
            self._tell_of_repair: Callable[[bytes, int], None] = lambda log, last: None
            self._forget_also: list[Callable[[], None]] = []
            self.fold = Fold(self.db, self.logs, self.catalog, self.clocks, self.cuts, self.moves)
            self.erasures = Erasures(self.db, self.logs, self.cuts, self.moves)
            parts = (self.db, self.logs, self.catalog, self.clocks, self.cuts, self.fold)
            self.index, self.readlog = Index(self.db), ReadLog(self.db)
            self.erasing = Erasing(*parts, self.erasures, self.index, self.readlog)
            self.scrubber = Scrubber(self.db)
            self.author = Author(self.db, self.logs, self.cuts, environment, public_key, keyring=keyring)
            self._repair = Repair(self.db, self.logs, self.moves, self.erasures, self.author)
            self._seen = self.db.data_version()
            self._forget()
            self.db.note_files()
            self.scrubber.scrub()

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
                self.db.check_same_files()
                yield
                self.logs.heads.sign(self.logs.by_no)
        except BaseException:
            self.logs.heads.leave()
            self._forget()
            raise
        self.scrubber.scrub()

    @contextmanager
    def _step(self) -> Iterator[None]:
        self.db.check_whole()
        self.db.execute("SAVEPOINT step")
        try:
            yield
        except BaseException:
            if not self.db.is_rolled_back:
                self.db.execute("ROLLBACK TO step")
                self.db.execute("RELEASE step")
            self._forget()
            raise
        self.db.execute("RELEASE step")

    def refresh(self) -> None:
        """See what other processes have written since."""
        self.db.check_usable()
        if (version := self.db.data_version()) != self._seen:
            self._forget()
            self._seen = version

    def _forget(self) -> None:
        """Drop what was cached: it may not be what the file says."""
        for part in (self.logs, self.aliases, self.catalog, self.clocks, self.cuts, self.moves):
            part.forget()
        for other in (self.erasures, self.scrubber, self.author, self.index):
            other.forget()
        self.fold.forget_all()
        for forget in self._forget_also:
            forget()
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
        log = self.author.own_log(scope)
        n = self._last[0] + 1
        opening = opening_note(self.logs, log, n)
        made: list[tuple[Event, Payload]] = []
        for kind, payload in [*opening, *items]:
            made.append(worded(kind, self.author.tick(made[-1][0].hlc if made else -1), payload))
        first = self._append(log, [event for event, _ in made], n)
        arrivals = [Arrival(first + offset, *each) for offset, each in enumerate(made)]
        written = self._finish(n, arrivals, new=True)
        return written._replace(positions=written.positions[len(opening) :])

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
            self._repair.begin()
            arrivals = take_in_all(batch, lambda frame: self._take_in(frame, n), refused)
            self.author.look_for_other_lives({arrival.position >> LOG_SHIFT for arrival in arrivals}, refused)
            self._repair.settle(n, {frame.key.id for frame in batch})
            arrivals = self._as_repaired(n, arrivals)
            done = tuple(self._repair.done)
            if not arrivals and not done:
                return Written([], n, [], refused)
            return self._finish(n, arrivals + self._notes(n, arrivals))._replace(refused=refused, repaired=done)

    def _take_in(self, frame: Frame, n: int) -> list[Arrival]:
        if self.moves.path(frame.key.id, frame.last, frame.head):
            return []
        log = self.logs.by_id.get(frame.key.id)
        if log is None or not log.seq:  # a log that was only referred to is as new as one never heard of
            self.cuts.begin(frame.key, n)
        try:
            return [Arrival(*placed) for placed in self.logs.receive(frame, n, self._admit)]
        except (Forked, BrokenChain) as error:
            self._repair.part(frame, n, error)
        return self._take_in(frame, n)

    def _admit(self, position: int, event: Stored) -> bool:
        self.moves.observe(position, event)
        return self.erasures.admit(position, event)

    def _as_repaired(self, n: int, arrivals: list[Arrival]) -> list[Arrival]:
        """Fold anew what was derived from branches that are void now; what arrived in this transaction, after all."""
        if self._repair.stale:
            rebuilding.refold_all(self.db, self.logs, self.fold, self.cuts, self.erasures, self.index, self._forget)
            self.scrubber.mark(n)
        for done in self._repair.done:
            self._tell_of_repair(done.log, done.first - 1)
        if self._repair.stale or self._repair.done:
            arrivals = rebuilding.arrivals_of(n, self.logs)
            for position, event, _ in arrivals:
                self.erasures.observe(position, event)
            self.erasures.look_again_at_all()
        return arrivals

    def _is_new(self, frame: Frame) -> bool:
        log = self.logs.by_id.get(frame.key.id)
        if self.moves.path(frame.key.id, frame.last, frame.head):
            return False
        if log is None or not self.logs.has(log, frame):
            return True
        lacking = self.logs.restorable(log, frame.first, frame.events, frame.cover)
        return any(not self.erasures.forbids(position, event) for position, event, _ in lacking)

    def _notes(self, n: int, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Frontier notes for what a merge brought: one in the own log of each scope."""
        notes = []
        for scope, changed in news(self.logs, arrivals).items():
            own = self.author.own_log(scope)
            entries = changed if own.seq else held_in(self.logs, scope)
            event, _ = worded(Kind.FRONTIER, self.author.tick(), Frontier(n, FOLD_VERSION, entries, None))
            notes.append(Arrival(self._append(own, [event], n), event))
        return notes

    def _append(self, log: Log, events: Sequence[Event], n: int) -> int:
        first = self.logs.append(log, events, n, self.author.randomness, self.author.sign)
        for position, event in enumerate(events, first):
            self.erasures.observe(position, event)
        return first

    def _finish(
        self, n: int, arrivals: Sequence[Arrival], *, new: bool = False, recheck: Sequence[int] = ()
    ) -> Written:
        """Erase what is to go, fold what was stored, and record the transaction."""
        arrivals, retold = self.erasing.apply(n, arrivals)
        kinds = {a.event.kind for a in arrivals if isinstance(a.event, Event)}
        if self.erasing.leaves_traces or (Kind.ERASE in kinds and self.scrubber.keeps_damaged):
            self.scrubber.mark(n, erased=True)
        changes = [*retold, *self.fold.arrive(n, arrivals, new=new, recheck=recheck)]
        mine = {log.no for log in self.logs.own}
        own = [a.event.hlc for a in arrivals if a.position >> LOG_SHIFT in mine and isinstance(a.event, Event)]
        wall = own[-1] if own else self.environment.clock.now()
        self.index.follow(changes, wall)
        if wall < self._last[1]:
            self.db.execute("INSERT INTO eras VALUES (?)", (n,))
        transactions.note(self.db, n, wall, {change.slot for change in changes})
        self._last = (n, wall)
        if Kind.CLOCK_NOTE in kinds:
            self._retime()
        return Written([arrival.position for arrival in arrivals], n, changes)

    def now(self) -> int:
        """The present: the clock, but never before the last event that this device wrote (unless far ahead)."""
        now = self.environment.clock.now()
        for log in self.logs.by_no.values():
            if now < log.clock <= now + TIE_WINDOW and (log.own or log.device == self.device):
                now = log.clock
        return now

    @property
    def device(self) -> bytes | None:
        """The key of this device; None before it has written anything."""
        return None if self.author.identity is None else self.author.identity.device

    @property
    def identity(self) -> Identity:
        """Who this device is; a new incarnation is opened where one is due."""
        if self.author.identity is None:
            with self.transaction():
                return self.author.introduced()
        return self.author.identity

    # -- erasures -----------------------------------------------------------------------------------

    def subjects_named_by(self, subject_key: SubjectKey) -> None:
        """Where the subject key of a scope is looked up: the vault knows it, a replica in no vault has none."""
        self.erasures.name_by(subject_key)

    def reerase(self) -> Written | None:
        """Apply erasures that had waited for their key; what that changed. Inside a write transaction."""
        return self._finish(self._last[0] + 1, []) if self.erasures.due() else None

    def erase(
        self, scope: str, entities: Sequence[str], payload: Callable[[list[bytes], bytes | None], Erase]
    ) -> Written:
        """Write an erasure of entities into a scope's log and apply it; inside a write transaction."""
        key, salt = self.erasures.naming(scope, self.environment.randomness, SALT_BYTES)
        self.erasing.hints = {scope: list(entities)}
        try:  # the names in an order that tells nothing
            return self.append(scope, [(Kind.ERASE, payload(sorted(subject_name(key, e) for e in entities), salt))])
        finally:
            self.erasing.hints = {}

    # -- publishing ---------------------------------------------------------------------------------

    def frames(
        self, known: dict[bytes, int], scopes: frozenset[str] | None = None, logs: Set[bytes] | None = None
    ) -> Iterator[Frame]:
        """What a peer that holds ``known`` lacks; the high-water mark is written before anything leaves."""
        self.check_committed()
        self.refresh()
        self.author.mark_published()
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

    def tell_of_repairs(self, told: Callable[[bytes, int], None]) -> None:
        """Who wants to know which log went back to which place."""
        self._tell_of_repair = told

    def govern(self, cut_of: Callable[[LogKey], int | None]) -> None:
        """Ask the vault where a log stops to count (None: it does not)."""
        self.cuts.asked = cut_of

    def recut(self) -> Written | None:
        """Ask the vault anew about every log; what that changed. Inside a write transaction."""
        n = self._last[0] + 1
        positions: list[int] = []
        for log in self.logs.by_no.values():
            if log.key is not None:
                before, after = self.cuts.of(log.id), self.cuts.asked(log.key)
                if before != after and self.cuts.note(log.id, n, after):
                    least = min(log.seq if cut is None else cut for cut in (before, after))
                    positions += [log.position(seq) for seq in range(least + 1, log.seq + 1)]
        self.erasures.look_again(positions)
        self._repair.begin()
        self._repair.settle(n, ())
        arrivals = self._as_repaired(n, [])
        return self._finish(n, arrivals, recheck=positions) if positions else None

    # -- damage, clocks, rebuilding -------------------------------------------------------------------

    def rescue(self, branches: Sequence[Sequence[Branch]], arrived: Callable[[], dict[int, int]]) -> None:
        """Say again what is left of own logs; what ``arrived`` names then (position -> transaction) is dated so."""
        with self.transaction():
            self._repair.begin()
            self._repair.rescue(branches, n := self._last[0] + 1, arrived)
            if self._repair.stale:
                self._finish(n, self._as_repaired(n, []))

    def _retime(self) -> None:
        self._last = (self._last[0], rebuilding.retime(self.db, self.logs, self.clocks))

    def rebuild(self) -> None:
        """Drop everything derived and fold again, transaction by transaction; beliefs come out the same."""
        with self.transaction():
            rebuilding.refold_all(self.db, self.logs, self.fold, self.cuts, self.erasures, self.index, self._forget)
