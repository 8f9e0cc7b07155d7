"""The incremental fold: from events that arrive to beliefs, touching only what they change.

Rules: ``beliefs = fold(events)``, whatever the order, the batching and the repetition; this is the fast
way to the answer that the reference in the tests gives slowly.  One call of :meth:`Fold.arrive` is one
transaction number.  Events first become *work* on slots (new records, new status), then each slot's
work is folded into its pages and rectangles.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from syncmem.codec import repack
from syncmem.model.episode import Episode
from syncmem.model.event import (
    ClockNote,
    Define,
    Erased,
    Event,
    Kind,
    Payload,
    Ref,
    Retract,
    Statement,
    Undo,
    Withdraw,
    readable,
)
from syncmem.model.evidence import TIERS, is_derived, passage_of
from syncmem.model.imported import mark_of
from syncmem.model.link import Link
from syncmem.model.liveness import Liveness, denied
from syncmem.model.predicate import stored
from syncmem.model.record import BY_DENIAL, BY_REFERENCE, DEAD, DENIED, Record, Role, settled
from syncmem.model.subjects import mentioned
from syncmem.model.value import key
from syncmem.replica.aliases import Name
from syncmem.replica.arriving import Arrival, Read, batch_of, read, stretches
from syncmem.replica.catalog import Catalog, Slot
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.episodes import Episodes
from syncmem.replica.imports import Imports
from syncmem.replica.logs import Logs
from syncmem.replica.moves import Moves
from syncmem.replica.pages import Pages, Update
from syncmem.replica.rectangles import Change, Rectangles
from syncmem.replica.references import References, references
from syncmem.replica.regrouping import Regrouping
from syncmem.replica.timelines import Timelines, Work

_DENY: Final = int(Kind.DENY)


class Fold:
    """Keeps pages and rectangles in step with the logs."""

    def __init__(
        self, database: Database, logs: Logs, catalog: Catalog, clocks: Clocks, cuts: Cuts, moves: Moves
    ) -> None:
        self._moves = moves
        self._db = database
        self._logs = logs
        self._catalog = catalog
        self._clocks = clocks
        self._cuts = cuts
        self.references = References(database, logs, cuts)
        self.references.decide_denials_by(self.is_denied)
        self.pages = Pages(database, logs)
        self.rectangles = Rectangles(database)
        self.timelines = Timelines(database, logs, catalog, self.pages, self.rectangles)
        self._regrouping = Regrouping(database, catalog, self.timelines)
        self._touched: set[Name] = set()  # names about which links say something else now
        self.liveness = Liveness(self.references)
        self.episodes = Episodes(database, logs, cuts)
        self.imports = Imports(database, logs, cuts, self._is_withdrawn)
        self._records: dict[int, tuple[Slot, Record]] = {}  # those of the latest arrivals
        self._sources_used: Counter[tuple[str | None, str | None]] = Counter()

    def arrive(
        self, n: int, arrivals: Sequence[Arrival], *, new: bool = False, recheck: Sequence[int] = ()
    ) -> list[Change]:
        """Fold events that have just been stored, under transaction number ``n``; what it changed.

        ``new``: they were written just now, so nothing can refer to them yet; ``recheck``: positions of events
        held before whose status is to be looked at again.
        """
        self._records.clear()
        self._touched.clear()
        self._sources_used.clear()
        self.rectangles.begin()
        self.pages.discard()
        work: dict[Slot, Work] = {}
        self._settle_status(n, [*self._take_in(arrivals, work, new), *recheck], work)
        self._catalog.count_uses(self._sources_used)
        self._sources_used.clear()
        changes: list[Change] = []
        while work:
            turned: list[int] = []
            self.timelines.read_ahead(sorted(work))
            for slot in sorted(work):
                changed, denied_or_not = self.timelines.fold(n, slot, work[slot], self._resettled)
                changes += changed
                turned += denied_or_not
            self.pages.flush()
            self.rectangles.flush()
            work = {}
            resting = (other for claim in turned for other in self.references.resting_on(claim))
            self._settle_status(n, resting, work)
        return changes

    def forget(self) -> None:
        """Drop what was looked up of single events: it may not be what the logs say."""
        self._records.clear()
        self.references.forget()

    def forget_all(self) -> None:
        """As :meth:`forget`, and also what was kept of slots and values."""
        self.forget()
        self.pages.discard()
        self.timelines.forget()
        self.rectangles.forget()

    # -- registering --------------------------------------------------------------------------------

    def _take_in(self, arrivals: Sequence[Arrival], work: dict[Slot, Work], new: bool) -> list[int]:
        """Take arrivals in; the positions whose status must be looked at because of them.

        Definitions are settled before the statements that arrive with them, which are then read rightly at once.
        """
        seen = list(read(arrivals))
        recheck = self._register(seen, [arrival.position for arrival in arrivals], new)
        for position, _, payload in seen:
            if isinstance(payload, Define):
                self._decide(position, payload, self._logs.key_of(position).scope, work)
        for position, event, payload in seen:
            if isinstance(payload, Statement):
                self._add_statement(position, event, payload, self._logs.key_of(position).scope, work)
        return recheck

    def _register(self, seen: Sequence[Read], arrived: Sequence[int], new: bool) -> list[int]:
        """Store what arrivals refer to and belong to; the positions whose status must be looked at because of it."""
        recheck: list[int] = []
        batches: dict[tuple[str, str], list[int]] = {}
        for first, count in [] if new else stretches(arrived):
            recheck += sorted(self.references.named_within(first, count))
        for position, event, payload in seen:
            scope = self._logs.key_of(position).scope
            batch = batch_of(payload)
            if batch is not None:
                batches.setdefault((scope, batch), []).append(position)
                if (mark := mark_of(payload)) is not None:
                    self.imports.add(position, mark, self.references.batch_number((scope, batch)))
            if isinstance(payload, Episode):  # nothing is believed because of it
                self.episodes.add(position, event, payload)
                continue
            if self._cuts.excludes(position):
                recheck.append(position)
            if isinstance(payload, Statement):
                recheck += self._twins_of_new(position, event, payload, scope) if payload.extra else []
                if payload.refs is None and not is_derived(event.kind, payload):
                    continue
            recheck += self.references.link(position, references(event.kind, payload))
            self._note(position, event, payload, scope)
            recheck.append(position)
        for name, positions in batches.items():
            for first, count in stretches(positions):
                self.references.join_batch(name, first, count)
            if self.references.withdrawals(name):
                recheck += positions
        return recheck

    def _add_statement(self, position: int, event: Event, said: Statement, scope: str, work: dict[Slot, Work]) -> None:
        names = scope, said.entity, said.predicate
        slot = self._catalog.cached(*names) or self._catalog.ensure(*names)
        record = self.record(position, event, said, slot)
        self._records[position] = (slot, record)
        self._sources_used[said.source_kind, said.source_id] += 1
        for other in mentioned(said) if said.extra else ():
            self._db.execute("INSERT OR IGNORE INTO mentions VALUES (?, ?)", (other, position))
        item = work.get(slot)
        if item is None:
            item = work[slot] = Work()
        if event.kind == _DENY:
            self.timelines.store_denial(record, scope, said)
            item.denials_changed = True
        else:
            item.new.append(record)

    def _twins_of_new(self, position: int, event: Event, said: Statement, scope: str) -> list[int]:
        """Of a new statement and its twins those whose status may have changed."""
        passage = passage_of(scope, event.kind, said)
        return [] if passage is None else self.references.read_passage(position, passage)

    def _note(self, position: int, event: Event, payload: Payload, scope: str) -> None:
        """Store what an event that is no statement says about others."""
        if isinstance(payload, Withdraw):
            self.references.withdraw((scope, payload.batch), position)
        elif isinstance(payload, Define):
            row = (position, scope, payload.predicate)
            self._db.execute("INSERT OR IGNORE INTO definitions VALUES (?, ?, ?)", row)
        elif isinstance(payload, Link):
            self._catalog.aliases.add(position, scope, event.kind, payload)
        elif isinstance(payload, ClockNote):
            for note in self._moves.notes(position, payload):
                self._clocks.add(position, note)

    def record(self, position: int, event: Event, said: Statement, slot: Slot, clocks: Clocks | None = None) -> Record:
        """The record of a statement, its status not yet looked at (``clocks``: other corrections than those known)."""
        log = self._logs.log_of(position)
        row = settled(position, event.kind, said, (clocks or self._clocks).corrected(position, event.hlc))
        row[3] = repack(said.value)
        row[10] = self._catalog.source_number(said.source_kind, said.source_id)
        equality = self._catalog.predicate(slot.scope, slot.predicate).equality
        return Record._make([*row, log.id, key(row[3], equality), log.device])

    def _resettled(self, record: Record, slot: Slot) -> Record:
        """A record computed anew from its event; its status stays."""
        found = self.record_at(record.position)
        assert found is not None
        anew = found[1]
        return anew._replace(flags=anew.flags | record.flags & (BY_REFERENCE | BY_DENIAL))

    # -- status -------------------------------------------------------------------------------------

    def _settle_status(self, n: int, positions: Iterable[int], work: dict[Slot, Work]) -> None:
        """Look at the status of events again, and of those that depend on them."""
        waiting, seen = list(positions), set[int]()
        statements: list[tuple[int, Event, Statement]] = []
        while waiting:
            position = waiting.pop()
            if position in seen or not self._logs.holds(position):
                continue
            seen.add(position)
            event = self._logs.event(position)
            payload = readable(event)
            if isinstance(event, Erased):
                continue
            if isinstance(payload, Statement):
                statements.append((position, event, payload))
                waiting += self.references.resting_on(position)
                if event.kind != Kind.END:
                    waiting += self._retracted_by(payload.refs or ())
            elif payload is not None and not isinstance(payload, Episode):
                waiting += self._decide(position, payload, self._logs.key_of(position).scope, work)
        self._regroup(n, work)
        with self.liveness.grounds.remembering():
            for position, event, said in statements:
                self._flag(position, event, said, work)

    def _regroup(self, n: int, work: dict[Slot, Work]) -> None:
        """Let names stand as the links have it now, and move their statements with them."""
        if self._touched:
            moved = self._catalog.aliases.settle(n, self._touched, self.liveness.acts, self._clocks.corrected)
            self._touched.clear()
            if moved:
                self._records.clear()
                self._catalog.forget_slots()
                self._regrouping.regroup(moved, work)

    def _decide(self, position: int, payload: Payload, scope: str, work: dict[Slot, Work]) -> list[int]:
        """Follow an event that is no statement: the positions whose status it decides."""
        if isinstance(payload, Retract | Undo):
            return self._retracted_by(payload.refs)
        if isinstance(payload, Withdraw):
            return self.references.members((scope, payload.batch))
        self._records.clear()  # computed with definitions and clocks that may no longer hold
        self.liveness.grounds.forget()
        if isinstance(payload, Define) and self._choose_definition(scope, payload.predicate):
            for slot in self._catalog.slots_of(payload.predicate):
                work.setdefault(slot, Work()).rebuild = True
        if isinstance(payload, Link):
            self._touched |= {(scope, payload.one), (scope, payload.other)}
        for note in self._moves.notes(position, payload) if isinstance(payload, ClockNote) else ():
            self._clocks.choose(note, self.liveness.acts)
            self._touched |= self._catalog.aliases.within(*self._span_of(note))
            for slot in {*self._slots_within(note), *self._redefined_by(note)}:
                work.setdefault(slot, Work()).rebuild = True
        return []

    def _retracted_by(self, refs: Iterable[Ref]) -> list[int]:
        """The events that others name, and their twins."""
        return [twin for ref in refs for twin in self.references.twins(self._logs.position(ref))]

    def _flag(self, position: int, event: Event, said: Statement, work: dict[Slot, Work]) -> None:
        """Put a statement's present status into the work on its slot."""
        slot = self._catalog.ensure(self._logs.key_of(position).scope, said.entity, said.predicate)
        record = self.record(position, event, said, slot)
        status = self.liveness.status(position)
        item = work.setdefault(slot, Work())
        if record.role == Role.DENY:
            self.timelines.update_denial(record._replace(flags=record.flags | status))
            item.denials_changed = True
        else:
            item.updates[position] = Update(record.start, record.value, BY_REFERENCE, status)

    def is_withdrawn(self, batch: tuple[str, str]) -> bool:
        """Whether a batch (scope, name) stands withdrawn, by somebody whose word counts as much as what is in it."""
        return bool(self.references.withdrawals(batch)) and self._is_withdrawn(self.references.batch_number(batch))

    def _is_withdrawn(self, batch: int) -> bool:
        sql = "SELECT position FROM withdrawals WHERE batch = ?"
        found = [row[0] for row in self._db.execute(sql, (batch,)).fetchall()]
        acting = [actor for p in found if self.liveness.acts(p) and (actor := self.references.actor(p)) is not None]
        return bool(acting) and max(actor.trust for actor in acting) >= self._trust_of(batch)

    def _trust_of(self, batch: int) -> int:
        """Of a batch that holds episodes the user's trust, because they are the user's; else that of its statements."""
        episodes = "SELECT 1 FROM members m JOIN episodes e ON e.position >= m.position "
        episodes += "AND e.position < m.position + m.count WHERE m.batch = ? LIMIT 1"
        if self._db.execute(episodes, (batch,)).fetchone():
            return TIERS[-1]
        first = self._db.execute("SELECT min(position) FROM members WHERE batch = ?", (batch,)).fetchone()[0]
        actor = None if first is None else self.references.actor(first)
        return 0 if actor is None else actor.trust

    def is_denied(self, position: int) -> bool:
        """Whether the live denials of its slot deny a claim (see :class:`syncmem.model.liveness.Links`)."""
        found = self.record_at(position)
        if found is None or found[1].role > Role.TEMPORARY:
            return False
        slot, record = found
        equality = self._catalog.predicate(slot.scope, slot.predicate).equality
        denials = self.timelines.denials(slot, equality)
        standing = [denial for denial in denials if not self.liveness.status(denial.position) & DEAD]
        return bool(denied(record, standing) & DENIED)

    def record_at(self, position: int) -> tuple[Slot, Record] | None:
        """The slot and record of a stored statement, its status not looked at; None for other events."""
        if position in self._records:
            return self._records[position]
        event = self._logs.event(position)
        said = readable(event)
        if not isinstance(said, Statement) or isinstance(event, Erased):
            return None
        slot = self._catalog.ensure(self._logs.key_of(position).scope, said.entity, said.predicate)
        return slot, self.record(position, event, said, slot)

    # -- definitions and clocks ---------------------------------------------------------------------

    def _choose_definition(self, scope: str, predicate: str) -> bool:
        """Let the greatest live definition of a predicate stand; whether its slots must be folded anew."""
        found = self.definition(scope, predicate, self.liveness)
        if found is None:
            return self._catalog.define(scope, predicate, None, 0)
        position, payload = found
        settings = json.dumps(stored(payload.settings), ensure_ascii=False, sort_keys=True)
        return self._catalog.define(scope, predicate, settings, position)

    def definition(
        self, scope: str, predicate: str, liveness: Liveness, visible: Callable[[int], bool] = lambda position: True
    ) -> tuple[int, Define] | None:
        """The definition that stands among visible ones, greatest ``(trust, clock, log, place)`` first."""
        sql = "SELECT position FROM definitions WHERE predicate = ? AND scope = ?"
        found = []
        for (position,) in self._db.execute(sql, (predicate, scope)).fetchall():
            event = self._logs.event(position) if visible(position) else None
            payload = readable(event) if isinstance(event, Event) else None
            if isinstance(event, Event) and isinstance(payload, Define) and liveness.acts(position):
                clock = self._clocks.corrected(position, event.hlc)
                found.append(((payload.trust, clock, self._logs.log_of(position).id, position), payload))
        if not found:
            return None
        order, payload = max(found, key=lambda item: item[0])
        return order[3], payload

    def _redefined_by(self, note: ClockNote) -> list[Slot]:
        """The slots of which another definition stands now that the clocks of some definitions are corrected."""
        sql = "SELECT DISTINCT scope, predicate FROM definitions WHERE position BETWEEN ? AND ? ORDER BY 1, 2"
        rows = self._db.execute(sql, self._span_of(note)).fetchall()
        turned = [predicate for scope, predicate in rows if self._choose_definition(scope, predicate)]
        return [slot for predicate in turned for slot in self._catalog.slots_of(predicate)]

    def _span_of(self, note: ClockNote) -> tuple[int, int]:
        """The first and the last position that a clock note speaks of."""
        log = self._logs.by_id[note.log]
        return log.position(note.first), log.position(min(note.last, log.seq))

    def _slots_within(self, note: ClockNote) -> set[Slot]:
        """The slots that the events a clock note speaks of belong to."""
        log = self._logs.by_id[note.log]
        slots = set()
        for first, events in self._logs.runs(log.no, max(note.first - 1, 0)):
            for seq, event in enumerate(events, first):
                said = readable(event) if seq <= note.last else None
                if isinstance(said, Statement) and log.key is not None:
                    slots.add(self._catalog.ensure(log.key.scope, said.entity, said.predicate))
        return slots
