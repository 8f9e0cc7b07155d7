"""The incremental fold: from events that arrive to beliefs, touching only what they change.

Rules: ``beliefs = fold(events)``, whatever the order, the batching and the repetition; this is the fast
way to the answer that the reference in the tests gives slowly.  One call of :meth:`Fold.arrive` is one
transaction number.  Events first become *work* on slots (new records, new status), then each slot's
work is folded into its pages and rectangles.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from syncmem.codec import pack
from syncmem.model.episode import Episode
from syncmem.model.event import (
    ClockNote,
    Define,
    Erased,
    Event,
    Kind,
    Payload,
    Retract,
    Statement,
    Undo,
    Withdraw,
    readable,
)
from syncmem.model.liveness import Liveness, Relation, denied
from syncmem.model.predicate import stored
from syncmem.model.record import BY_DENIAL, BY_REFERENCE, DEAD, DENIED, Record, Role, settled
from syncmem.model.subjects import mentioned
from syncmem.model.value import key
from syncmem.replica.catalog import Catalog, Slot
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.episodes import Episodes
from syncmem.replica.logs import Logs
from syncmem.replica.moves import Moves
from syncmem.replica.pages import Pages, Update
from syncmem.replica.rectangles import Change, Rectangles
from syncmem.replica.references import References, references
from syncmem.replica.timelines import Timelines, Work

_DENY: Final = int(Kind.DENY)


class Arrival(NamedTuple):
    """An event that arrived: where it is, and what it is."""

    position: int
    event: Event | Erased
    payload: Payload | None = None  # where it was at hand anyway


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
        self.timelines = Timelines(database, catalog, self.pages, self.rectangles)
        self.liveness = Liveness(self.references)
        self.episodes = Episodes(database, logs, cuts)
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
        self._sources_used.clear()
        self.rectangles.begin()
        self.pages.discard()
        work: dict[Slot, Work] = {}
        self._settle_status([*self._register(arrivals, work, new), *recheck], work)
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
            self._settle_status([end for claim in turned for end in self.ends_naming(claim)], work)
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

    def _register(self, arrivals: Sequence[Arrival], work: dict[Slot, Work], new: bool) -> list[int]:
        """Take arrivals in; the positions whose status must be looked at because of them."""
        recheck: list[int] = []
        batches: dict[tuple[str, str], list[int]] = {}
        for first, count in [] if new else _stretches([arrival.position for arrival in arrivals]):
            recheck += sorted(self.references.named_within(first, count))
        for position, event, payload in arrivals:
            payload = payload or readable(event)
            if payload is None or isinstance(event, Erased):
                continue
            if isinstance(payload, Episode):  # nothing is believed because of it
                self.episodes.add(position, event, payload)
                continue
            if self._cuts.excludes(position):
                recheck.append(position)
            scope = self._logs.key_of(position).scope
            batch = _batch_of(payload)
            if batch is not None:
                batches.setdefault((scope, batch), []).append(position)
            if isinstance(payload, Statement):
                self._add_statement(position, event, payload, scope, work)
                if payload.refs is None:
                    continue
            made = references(event.kind, payload)
            recheck += self.references.link(position, made)
            self._note(position, payload, scope)
            recheck.append(position)
        for name, positions in batches.items():
            for first, count in _stretches(positions):
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
            self.timelines.store_denial(slot.id, record)
            item.denials_changed = True
        else:
            item.new.append(record)

    def _note(self, position: int, payload: Payload, scope: str) -> None:
        """Store what an event that is no statement says about others."""
        if isinstance(payload, Withdraw):
            self.references.withdraw((scope, payload.batch), position)
        elif isinstance(payload, Define):
            row = (position, scope, payload.predicate)
            self._db.execute("INSERT OR IGNORE INTO definitions VALUES (?, ?, ?)", row)
        elif isinstance(payload, ClockNote):
            for note in self._moves.notes(position, payload):
                self._clocks.add(position, note)

    def record(self, position: int, event: Event, said: Statement, slot: Slot, clocks: Clocks | None = None) -> Record:
        """The record of a statement, its status not yet looked at (``clocks``: other corrections than those known)."""
        log = self._logs.log_of(position)
        row = settled(position, event.kind, said, (clocks or self._clocks).corrected(position, event.hlc))
        row[3] = pack(said.value)
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

    def _settle_status(self, positions: Iterable[int], work: dict[Slot, Work]) -> None:
        """Look at the status of events again, and of those that depend on them."""
        waiting, seen = list(positions), set[int]()
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
                self._flag(position, event, payload, work)
                waiting += self.ends_naming(position)
                if event.kind != Kind.END:
                    waiting += [self._logs.position(ref) for ref in payload.refs or ()]
            elif payload is not None:
                waiting += self._decide(position, payload, self._logs.key_of(position).scope, work)

    def _decide(self, position: int, payload: Payload, scope: str, work: dict[Slot, Work]) -> list[int]:
        """Follow an event that is no statement: the positions whose status it decides."""
        if isinstance(payload, Retract | Undo):
            return [self._logs.position(ref) for ref in payload.refs]
        if isinstance(payload, Withdraw):
            return self.references.members((scope, payload.batch))
        self._records.clear()  # computed with definitions and clocks that may no longer hold
        if isinstance(payload, Define) and self._choose_definition(scope, payload.predicate):
            for slot in self._catalog.slots_of(payload.predicate):
                work.setdefault(slot, Work()).rebuild = True
        for note in self._moves.notes(position, payload) if isinstance(payload, ClockNote) else ():
            self._clocks.choose(note, self.liveness.acts)
            for slot in {*self._slots_within(note), *self._redefined_by(note)}:
                work.setdefault(slot, Work()).rebuild = True
        return []

    def _flag(self, position: int, event: Event, said: Statement, work: dict[Slot, Work]) -> None:
        """Put a statement's present status into the work on its slot."""
        slot = self._catalog.ensure(self._logs.key_of(position).scope, said.entity, said.predicate)
        record = self.record(position, event, said, slot)
        status = self.liveness.status(position)
        item = work.setdefault(slot, Work())
        if record.role == Role.DENY:
            self.timelines.store_denial(slot.id, record._replace(flags=record.flags | status))
            item.denials_changed = True
        else:
            item.updates[position] = Update(record.start, record.value, BY_REFERENCE, status)

    def ends_naming(self, claim: int) -> list[int]:
        """The ends that name a claim."""
        return [source for relation, source in self.references.links_to(claim) if relation == Relation.ENDS]

    def is_denied(self, position: int) -> bool:
        """Whether the live denials of its slot deny a claim (see :class:`syncmem.model.liveness.Links`)."""
        found = self.record_at(position)
        if found is None:
            return False
        slot, record = found
        equality = self._catalog.predicate(slot.scope, slot.predicate).equality
        denials = [d for d in self.timelines.denials(slot.id, equality) if self._logs.holds(d.position)]
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
        log = self._logs.by_id[note.log]
        sql = "SELECT DISTINCT scope, predicate FROM definitions WHERE position BETWEEN ? AND ? ORDER BY 1, 2"
        last = min(note.last, log.seq)
        rows = self._db.execute(sql, (log.position(note.first), log.position(last))).fetchall()
        turned = [predicate for scope, predicate in rows if self._choose_definition(scope, predicate)]
        return [slot for predicate in turned for slot in self._catalog.slots_of(predicate)]

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


def _batch_of(payload: Payload) -> str | None:
    """The batch that an event belongs to (a withdrawal only names one)."""
    return payload.batch if isinstance(payload, (Statement, Retract, Define)) else None


def _stretches(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Consecutive positions as (first, count)."""
    first = previous = None
    for position in sorted(positions):
        if previous is not None and position == previous + 1:
            previous = position
            continue
        if first is not None and previous is not None:
            yield first, previous - first + 1
        first = previous = position
    if first is not None and previous is not None:
        yield first, previous - first + 1
