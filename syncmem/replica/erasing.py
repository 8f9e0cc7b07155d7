"""Erasing: what an erasure does to this replica, so that it is as if it had never had what was erased.

Rules: of an erased event the header hash stays in its log, with its place and its arrival; payload, salt
and every derived row go, for all known times, and what waits to be judged about the entity goes with them.  A
slot of which statements are left (they only mentioned the entity, or their authors had seen the erasure) is told
anew from the first erased one on; so is a slot in which an erased statement took another one back.  Nothing that
acts on events is ever erased, only statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from syncmem.model.event import Event, Kind, Statement, readable
from syncmem.model.subjects import mentioned, subject_name
from syncmem.replica.catalog import Catalog, Slot
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.digests import Digests
from syncmem.replica.erasures import Erasures
from syncmem.replica.fold import Arrival, Fold
from syncmem.replica.index import Index
from syncmem.replica.logs import Logs
from syncmem.replica.readlog import ReadLog
from syncmem.replica.rectangles import Change
from syncmem.replica.references import references
from syncmem.replica.retelling import Retelling


class Erasing:
    """Applies erasures to what is stored and derived."""

    def __init__(
        self,
        database: Database,
        logs: Logs,
        catalog: Catalog,
        clocks: Clocks,
        cuts: Cuts,
        fold: Fold,
        erasures: Erasures,
        index: Index,
        readlog: ReadLog,
    ) -> None:
        self._db = database
        self._logs = logs
        self._catalog = catalog
        self._fold = fold
        self._erasures = erasures
        self._index = index
        self._readlog = readlog
        self._digests = Digests(database, logs)
        self._retelling = Retelling(database, logs, catalog, clocks, cuts, fold)
        self.hints: dict[str, str] = {}  # scope -> an entity of which it is known that it is to be erased
        self.erased: dict[str, int] = {}  # scope -> how many events the latest transaction erased
        self.leaves_traces = False  # whether the latest transaction took something out of the file

    def apply(self, n: int, arrivals: Sequence[Arrival]) -> tuple[list[Arrival], list[Change]]:
        """Apply the erasures that are due: the arrivals as they are now, and the slots that were told anew.

        ``arrivals`` are stored and not yet folded; what was stored before transaction ``n`` is.
        """
        self.erased = {}
        self.leaves_traces = False
        due = self._erasures.due()
        if due:
            return self._apply(n, due, arrivals)
        return list(arrivals), []

    def _apply(self, n: int, due: Sequence[int], arrivals: Sequence[Arrival]) -> tuple[list[Arrival], list[Change]]:
        fresh = [a.position for a in arrivals if self._erasures.forbids(a.position, a.event)]
        older = sorted(set(self._older(due)) - set(fresh))
        for position in [*fresh, *older]:
            scope = self._logs.key_of(position).scope
            self.erased[scope] = self.erased.get(scope, 0) + 1
        changes = self._take_out(n, older)
        self._logs.erase(fresh)
        self.leaves_traces = self.leaves_traces or bool(self.erased)
        if self.erased:  # sealed blobs that wait to be sent may hold it: they are written anew, under new counters
            self._db.execute("DELETE FROM blobs WHERE blob IS NOT NULL")
        self._erasures.mark(due, applied=True)
        gone = set(fresh)
        left = [a if a.position not in gone else Arrival(a.position, self._logs.event(a.position)) for a in arrivals]
        return left, changes

    # -- what is to go ------------------------------------------------------------------------------

    def _older(self, due: Sequence[int]) -> Iterator[int]:
        """The folded events that the erasures forbid."""
        by_scope = sorted((self._logs.key_of(position).scope, position) for position in due)
        for scope, group in groupby(by_scope, key=lambda pair: pair[0]):
            for entity in self._entities(scope, [position for _, position in group]):
                self._drop_candidates(scope, entity)
                self.leaves_traces |= self._readlog.forget_entity(entity)
                for position in self.about(scope, entity):
                    if self._erasures.forbids(position, self._logs.event(position)):
                        yield position

    def _entities(self, scope: str, due: Sequence[int]) -> list[str]:
        """The entities known here that the erasures name: all are tried, unless the writer was this device."""
        hint, names = self.hints.get(scope), self._erasures.names(scope, due)
        if hint is not None and [wanted for _, wanted in names] == [{subject_name(key, hint)} for key, _ in names]:
            return [hint]
        sql = "SELECT DISTINCT entity FROM slots WHERE scope = ? UNION SELECT DISTINCT entity FROM mentions"
        sql += " UNION SELECT DISTINCT value FROM candidates, json_each(subjects) WHERE scope = ?"
        known = {row[0] for row in self._db.execute(sql, (scope, scope)).fetchall()} | set(self._readlog.names())
        return [entity for entity in sorted(known) if any(subject_name(key, entity) in wanted for key, wanted in names)]

    def about(self, scope: str, entity: str) -> list[int]:
        """The positions of the folded events of a scope that are about an entity."""
        positions: set[int] = set()
        for slot in self._catalog.slots_about(scope, entity):
            positions.update(self._in_slot(slot))
        for (position,) in self._db.execute("SELECT position FROM mentions WHERE entity = ?", (entity,)).fetchall():
            if self._logs.key_of(position).scope == scope:
                positions.add(position)
        return sorted(positions)

    def _in_slot(self, slot: Slot) -> list[int]:
        equality = self._catalog.predicate(slot.scope, slot.predicate).equality
        records = [*self._fold.pages.records(slot.id, equality), *self._fold.timelines.denials(slot.id, equality)]
        return [record.position for record in records]

    def _drop_candidates(self, scope: str, entity: str) -> None:
        """Forget what waits to be judged about an entity: it was heard before the erasure."""
        about = "EXISTS (SELECT 1 FROM json_each(subjects) WHERE value = ?)"
        gone = self._db.execute(f"DELETE FROM candidates WHERE scope = ? AND {about}", (scope, entity)).rowcount
        self.leaves_traces = self.leaves_traces or gone > 0

    # -- taking it out ------------------------------------------------------------------------------

    def _take_out(self, n: int, positions: Sequence[int]) -> list[Change]:
        """Remove folded events from everything derived, and their payloads from the logs."""
        if not positions:
            return []
        gone = set(positions)
        marks = self._marks(positions)
        kept = {slot: [p for p in self._in_slot(slot) if p not in gone] for slot in marks}
        for position in positions:
            self._drop_rows(position)
        self._readlog.forget_claims(positions)
        self._logs.erase(positions)
        self._fold.forget_all()
        changes = []
        for slot, since in sorted(marks.items()):
            if kept[slot]:
                self._retelling.retell(slot, since, n, sorted(kept[slot]))
                changes.append(Change(slot.id, b"", [], []))
            else:
                self._drop_slot(slot)
        return changes

    def _marks(self, positions: Sequence[int]) -> dict[Slot, int]:
        """The slots that change, each with the transaction from which on it does."""
        marks: dict[Slot, int] = {}
        waiting: list[tuple[int, int]] = []
        for position in positions:
            since = self._logs.arrival(position)
            waiting.append((position, since))
            waiting += [(target, since) for target in self._corrected(position)]
        waiting.sort(key=lambda item: -item[1])  # the earliest first, so that a slot is seldom looked at twice
        while waiting:
            position, since = waiting.pop()
            found = self._fold.record_at(position)
            if found is not None and marks.get(found[0], since + 1) > since:
                marks[found[0]] = since
                claims = self._in_slot(found[0])
                waiting += [(end, since) for claim in claims for end in self._fold.ends_naming(claim)]
        return marks

    def _corrected(self, position: int) -> list[int]:
        """The statements that a claim took back."""
        event = self._logs.event(position)
        said = readable(event)
        if not isinstance(event, Event) or not isinstance(said, Statement) or event.kind == Kind.END:
            return []
        targets = ((self._logs.position(ref), self._logs.meant(ref).id) for ref in said.refs or ())
        return [p for p, name in targets if self._logs.holds(p) and self._logs.ref(p).id == name]

    def _drop_rows(self, position: int) -> None:
        """Remove what one statement left in the derived tables, its slot apart."""
        event = self._logs.event(position)
        said = readable(event)
        assert isinstance(event, Event) and isinstance(said, Statement)
        self._fold.references.unlink(position, references(event.kind, said))
        if said.batch is not None:
            self._fold.references.leave_batch((self._logs.key_of(position).scope, said.batch), position)
        for entity in mentioned(said):
            self._db.execute("DELETE FROM mentions WHERE entity = ? AND position = ?", (entity, position))
        if event.kind == Kind.DENY:
            slot = self._catalog.ensure(self._logs.key_of(position).scope, said.entity, said.predicate)
            self._db.execute("DELETE FROM denials WHERE slot = ? AND position = ?", (slot.id, position))
        self._catalog.count_uses({(said.source_kind, said.source_id): -1})

    def _drop_slot(self, slot: Slot) -> None:
        """Forget a slot of which nothing is left."""
        self._digests.drop(slot.id)
        for table in ("pages", "beliefs", "denials"):
            self._db.execute(f"DELETE FROM {table} WHERE slot = ?", (slot.id,))
        self._catalog.drop(slot)
        self._index.drop(slot.id)
