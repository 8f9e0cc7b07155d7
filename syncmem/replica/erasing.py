"""Erasing: what an erasure does to this replica, so that it is as if it had never had what was erased.

Rules: of an erased event the header hash stays in its log, with its place and its arrival; payload, salt
and every derived row go, for all known times, and what waits to be judged about the entity goes with them.  A
slot of which statements are left (they only mentioned the entity, or their authors had seen the erasure) is told
anew from the first erased one on; so is a slot in which an erased statement took another one back.  A link goes with
each of the names that it says are one, and the statements of the others are told anew under their own names.  Nothing
that acts on events is ever erased, only statements, links and episodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby

from syncmem.model.episode import Episode
from syncmem.model.event import Event, Kind, Statement, readable
from syncmem.model.evidence import passage_of
from syncmem.model.imported import mark_of
from syncmem.model.link import Link
from syncmem.model.subjects import mentioned, names_of, subject_name
from syncmem.replica.aliases import Aliases, Name
from syncmem.replica.arriving import Arrival, batch_of
from syncmem.replica.catalog import VAULT, Catalog, Slot
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.digests import Digests
from syncmem.replica.erasures import Erasures
from syncmem.replica.fold import Fold
from syncmem.replica.index import Index
from syncmem.replica.logs import Logs
from syncmem.replica.readlog import ReadLog
from syncmem.replica.rectangles import Change
from syncmem.replica.references import references
from syncmem.replica.retelling import Retelling

SlotName = tuple[str, str, str]  # scope, entity, predicate
Mark = tuple[SlotName, int]  # and the transaction from which on it changes


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
        self._aliases: Aliases = catalog.aliases
        self._fold = fold
        self._erasures = erasures
        self._index = index
        self._readlog = readlog
        self._digests = Digests(database, logs)
        self._retelling = Retelling(database, logs, catalog, clocks, cuts, fold)
        self.hints: dict[str, list[str]] = {}  # scope -> entities of which it is known that they are to be erased
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
            self._db.execute("UPDATE mailboxes SET noted = 0")
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
        """The entities known here that the erasures mean: all are tried, unless the writer was this device."""
        hints, names = self.hints.get(scope, []), self._erasures.names(scope, due)
        if hints and all(wanted == {subject_name(key, hint) for hint in hints} for key, wanted in names):
            return self.meant(scope, hints)
        named = cache(lambda name: any(subject_name(key, name) in wanted for key, wanted in names))
        known = self._known(scope) | set(self._readlog.names())
        return [entity for entity in sorted(known) if any(map(named, names_of(entity)))]

    def meant(self, scope: str, names: Iterable[str]) -> list[str]:
        """The entities that some names mean: these themselves, and the paths known here that lead through them."""
        wanted = set(names)
        return sorted(wanted.union(e for e in self._known(scope) if not wanted.isdisjoint(names_of(e))))

    def _known(self, scope: str) -> set[str]:
        """The entities of which anything here speaks, questions apart."""
        sql = "SELECT DISTINCT entity FROM slots WHERE scope = ?1 UNION SELECT DISTINCT entity FROM mentions"
        sql += " UNION SELECT DISTINCT value FROM candidates, json_each(subjects) WHERE scope = ?1"
        for side in ("one", "other"):  # a name that stands under another one has no slot
            sql += f" UNION SELECT {side} FROM entity_links WHERE scope IN (?1, ?2)"
        return {row[0] for row in self._db.execute(sql, (scope, VAULT)).fetchall()}

    def about(self, scope: str, entity: str) -> list[int]:
        """The positions of the folded events of a scope that are about an entity."""
        positions = {said.position for said in self._aliases.naming(scope, entity) if said.scope == scope}
        for slot in self._catalog.slots_named(scope, self._aliases.standing(scope, entity)):
            positions.update(self._said_of(slot.scope, {entity}, slot.predicate))
        for (position,) in self._db.execute("SELECT position FROM mentions WHERE entity = ?", (entity,)).fetchall():
            if self._logs.key_of(position).scope == scope:
                positions.add(position)
        return sorted(positions)

    def _said_of(self, scope: str, names: set[str], predicate: str) -> list[int]:
        """The positions of all statements about some entities."""
        asked = scope, sorted(names), predicate, self._catalog.predicate(scope, predicate).equality
        timelines = self._fold.timelines
        return [record.position for record in [*timelines.held(*asked), *timelines.denials_of(*asked)]]

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
        taking = _Taking(self._fold, self._catalog, self._logs, self._said_of)
        for position in positions:
            taking.mark(position)
        for position in positions:
            self._drop_rows(position)
        self._readlog.forget_claims(positions)
        self._logs.erase(positions)
        self._fold.forget_all()
        if taking.regions:
            self._retelling.rename({name for _, names in taking.regions for name in names})
            taking.mark_new_homes()
        gone, changes = set(positions), []
        for (scope, name, predicate), since in sorted(taking.marks.items()):
            said = taking.said[scope, predicate]
            kept = sorted(p for p, e in said.items() if p not in gone and name in self._aliases.homes(scope, e))
            if kept:
                slot = self._catalog.make(scope, name, predicate)
                self._retelling.retell(slot, since, n, kept)
                changes.append(Change(slot.id, b"", [], []))
            elif (empty := self._catalog.named(scope, name, predicate)) is not None:
                self._drop_slot(empty)
        return changes

    def _drop_rows(self, position: int) -> None:
        """Remove what one event left in the derived tables, its slot apart."""
        event, scope = self._logs.event(position), self._logs.key_of(position).scope
        said = readable(event)
        assert isinstance(event, Event) and isinstance(said, Statement | Link | Episode)
        if (batch := batch_of(said)) is not None:
            self._fold.references.leave_batch((scope, batch), position)
        if (mark := mark_of(said)) is not None:
            self._fold.imports.remove(position, mark)
        if isinstance(said, Episode):
            self._fold.episodes.remove(position, event, said)
            return
        if isinstance(said, Link):
            self._aliases.drop(position)
            return
        self._fold.references.unlink(position, references(event.kind, said))
        passage = passage_of(scope, event.kind, said)
        if passage is not None:
            self._fold.references.forget_passage(position, passage)
        for entity in mentioned(said):
            self._db.execute("DELETE FROM mentions WHERE entity = ? AND position = ?", (entity, position))
        self._db.execute("DELETE FROM denials WHERE position = ?", (position,))
        self._catalog.count_uses({(said.source_kind, said.source_id): -1})

    def _drop_slot(self, slot: Slot) -> None:
        """Forget a slot of which nothing is left."""
        self._digests.drop(slot.id)
        for table in ("pages", "beliefs"):
            self._db.execute(f"DELETE FROM {table} WHERE slot = ?", (slot.id,))
        self._catalog.drop(slot)
        self._index.drop(slot.id)


class _Taking:
    """Which slots change when events go, each by its names and with the transaction from which on it does.

    A statement was in the slot of each name under which its entity ever stood; a link moved all statements of the
    names that links lead to.
    """

    def __init__(
        self, fold: Fold, catalog: Catalog, logs: Logs, said_of: Callable[[str, set[str], str], list[int]]
    ) -> None:
        self._fold = fold
        self._catalog = catalog
        self._aliases = catalog.aliases
        self._logs = logs
        self._said_of = said_of
        self.marks: dict[SlotName, int] = {}
        self.said: dict[tuple[str, str], dict[int, str]] = {}  # scope, predicate -> of each statement its entity
        self.regions: list[tuple[int, set[Name]]] = []  # of each link: since when, whose standing it may change

    def mark(self, position: int) -> None:
        """Mark what changes with an event, and with what rests elsewhere on a claim of a slot that changes."""
        waiting = self._changing_with(position)
        while waiting:
            where, since = waiting.pop()
            if self.marks.get(where, since + 1) > since:
                self.marks[where] = since
                waiting += self._resting_on(where, since)

    def _changing_with(self, position: int) -> list[Mark]:
        since, scope = self._logs.arrival(position), self._logs.key_of(position).scope
        link = readable(self._logs.event(position))
        if not isinstance(link, Link):
            return [m for each in (position, *self._corrected(position)) for m in self._homes(each, since)]
        names = {(each, name) for each in self._aliases.reached_from(scope) for name in self._region(each, link)}
        self.regions.append((since, names))
        homes = {(where, home) for where, name in names for home in self._aliases.homes(where, name)}
        return [(slot[1:], since) for where, home in sorted(homes) for slot in self._catalog.slots_named(where, home)]

    def _region(self, scope: str, link: Link) -> set[str]:
        return self._aliases.region(scope, link.one)[0]

    def mark_new_homes(self) -> None:
        """Mark where statements were instead, now that the links are gone."""
        for since, names in self.regions:
            for (scope, predicate), said in self.said.items():
                for entity in {entity for entity in said.values() if (scope, entity) in names}:
                    for home in self._aliases.homes(scope, entity):
                        where = scope, home, predicate
                        self.marks[where] = min(since, self.marks.get(where, since))

    def _homes(self, position: int, since: int) -> list[Mark]:
        """The slots in which a statement is, or ever was."""
        entity, found = self._fold.timelines.entity_of(position), self._fold.record_at(position)
        if entity is None or found is None:
            return []
        scope, _, predicate = found[0][1:]
        return [((scope, home, predicate), since) for home in sorted(self._aliases.homes(scope, entity))]

    def _resting_on(self, where: SlotName, since: int) -> list[Mark]:
        """Keep what was said in a slot; the slots of what rests on a claim of it."""
        scope, name, predicate = where
        said = self._said_of(scope, self._aliases.lodgers(scope, name), predicate)
        held = self.said.setdefault((scope, predicate), {})
        held |= {position: self._fold.timelines.entity_of(position) or name for position in said}
        resting_on = self._fold.references.resting_on
        return [mark for claim in said for other in resting_on(claim) for mark in self._homes(other, since)]

    def _corrected(self, position: int) -> list[int]:
        """The statements that a claim took back."""
        event = self._logs.event(position)
        said = readable(event)
        if not isinstance(event, Event) or not isinstance(said, Statement) or event.kind == Kind.END:
            return []
        targets = ((self._logs.position(ref), self._logs.meant(ref).id) for ref in said.refs or ())
        return [p for p, name in targets if self._logs.holds(p) and self._logs.ref(p).id == name]
