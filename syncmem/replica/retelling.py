"""Retelling: what was believed of a slot, told anew as if some of its statements had never arrived.

Rule: all that is known of a slot from one transaction on is dropped and folded again, transaction by
transaction, from the statements that are left, with the definitions, clocks and cuts that were known then.
What was believed before that transaction stays as it is.  Statements are added one by one; where something
arrived that acts on others, the whole slot is folded: the price grows with the number of such events.  So are names:
under which each stood is settled anew from the links that are left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from syncmem.model import predicate
from syncmem.model.event import Event, Kind, Statement, readable
from syncmem.model.instant import FOREVER
from syncmem.model.liveness import denied
from syncmem.model.record import BY_DENIAL, BY_REFERENCE, Record, Role
from syncmem.replica.aliases import Name
from syncmem.replica.catalog import VAULT, Catalog, Slot
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.fold import Fold
from syncmem.replica.logs import Logs
from syncmem.replica.timelines import Work, spread_over_lanes


class Retelling:
    """Folds slots again from a transaction on."""

    def __init__(
        self, database: Database, logs: Logs, catalog: Catalog, clocks: Clocks, cuts: Cuts, fold: Fold
    ) -> None:
        self._db = database
        self._logs = logs
        self._catalog = catalog
        self._clocks = clocks
        self._cuts = cuts
        self._fold = fold

    def retell(self, slot: Slot, since: int, n: int, kept: Sequence[int]) -> None:
        """Fold a slot anew from transaction ``since`` up to the one before ``n``; ``kept`` are the statements that are
        in it, or ever were."""
        arrived = self._moments({*kept, *self._beside(slot)})
        self._fold.pages.drop(slot.id)
        self._db.execute("DELETE FROM beliefs WHERE slot = ? AND known_from >= ?", (slot.id, since))
        sql = f"UPDATE beliefs SET known_to = {FOREVER} WHERE slot = ? AND known_to >= ? AND known_to < {FOREVER}"
        self._db.execute(sql, (slot.id, since))
        with self._as_known_at(since - 1, slot.predicate, slot.scope):
            self._write_pages(slot, self._records(slot, kept))
        for moment in sorted(m for m in arrived if since <= m < n):
            with self._as_known_at(moment, slot.predicate, slot.scope):
                self._tell(moment, slot, kept, arrived[moment])
        self._fold.rectangles.begin()

    def rename(self, names: Iterable[Name]) -> None:
        """Settle anew under which names these stood at any time, and all that links lead to from them."""
        aliases, dropped, links = self._catalog.aliases, set[Name](), set[int]()
        for scope, name in names:
            for where in aliases.spoken_for(scope):
                found, said = aliases.region(where, name)
                dropped |= {(where, each) for each in found}
                links |= {link.position for link in said}
        aliases.drop_rows(dropped)
        for moment in sorted(self._moments(links)):
            with self._as_known_at(moment):
                aliases.settle(moment, dropped, self._fold.liveness.acts, self._clocks.corrected)
        self._catalog.forget_slots()

    # -- one moment ---------------------------------------------------------------------------------

    @contextmanager
    def _as_known_at(self, n: int, predicate_name: str = "", *scopes: str) -> Iterator[None]:
        """For a while, nothing is known that arrived after transaction ``n``, a predicate's definition included."""
        before = self._logs.replayed
        self._logs.replayed = n
        self._fold.forget()
        self._catalog.forget_slots()
        try:
            with ExitStack() as stack:
                liveness = self._fold.liveness
                stack.enter_context(self._clocks.corrected_by(self._clocks.known_to(self._logs.holds, liveness.acts)))
                found = {
                    scope: self._fold.definition(scope, predicate_name, liveness, self._logs.holds)
                    for scope in (*scopes, VAULT)
                }
                definitions = {
                    (predicate_name, scope): None if held is None else predicate.read(held[1].settings)
                    for scope, held in found.items()
                }
                stack.enter_context(self._catalog.defined_as(definitions))
                yield
        finally:
            self._logs.replayed = before
            self._fold.forget()
            self._catalog.forget_slots()

    def _records(self, slot: Slot, kept: Iterable[int]) -> list[Record]:
        """The claims and ends that were in the slot then, with the status that they had; denials are stored."""
        found = filter(None, (self._fold.record_at(position) for position in kept if self._logs.holds(position)))
        records = [record for where, record in found if where.id == slot.id]
        denials = [record for record in records if record.role == Role.DENY]
        for denial in denials:  # all, before any is judged: an end may rest on them
            self._fold.timelines.update_denial(denial)
        judged = [self._with_status(denial) for denial in denials]
        for denial in judged:
            self._fold.timelines.update_denial(denial)
        live = [denial for denial in judged if denial.live]
        with self._fold.liveness.grounds.remembering():
            records = [self._with_status(record) for record in records if record.role != Role.DENY]
        return [r._replace(flags=r.flags | denied(r, live)) if r.role <= Role.TEMPORARY else r for r in records]

    def _with_status(self, record: Record) -> Record:
        return record._replace(flags=record.flags | self._fold.liveness.status(record.position))

    def _tell(self, n: int, slot: Slot, kept: Sequence[int], arrived: set[int]) -> None:
        """Let what is believed of a slot at a transaction follow from its statements: only the new ones, if they act
        on nothing but the timeline, else all."""
        rectangles, pages, timelines = self._fold.rectangles, self._fold.pages, self._fold.timelines
        rectangles.begin()
        pages.discard()
        if arrived and arrived <= set(kept) and all(map(self._is_plain, arrived)):
            found = filter(None, map(self._fold.record_at, sorted(arrived)))
            work = Work(new=[self._with_status(record) for where, record in found if where.id == slot.id])
            timelines.fold(n, slot, work, lambda record, _: self._anew(record))
        else:
            timelines.refill(n, slot, self._records(slot, kept))
        pages.flush()
        rectangles.flush()

    def _is_plain(self, position: int) -> bool:
        """Whether the arrival of a statement changes the status of no other."""
        event = self._logs.event(position)
        said = readable(event)
        if not isinstance(event, Event) or not isinstance(said, Statement) or event.kind == Kind.DENY:
            return False
        references = self._fold.references
        others = len(references.twins(position)) > 1 or references.resting_on(position)
        return (said.refs is None or event.kind == Kind.END) and not others

    def _anew(self, record: Record) -> Record:
        """A record that is held already, settled with what is known now; its status stays."""
        found = self._fold.record_at(record.position)
        assert found is not None
        return found[1]._replace(flags=found[1].flags | record.flags & (BY_REFERENCE | BY_DENIAL))

    def _write_pages(self, slot: Slot, records: list[Record]) -> None:
        definition = self._catalog.predicate(slot.scope, slot.predicate)
        for lane, held in spread_over_lanes(records, definition.many).items():
            list(self._fold.pages.apply(slot.id, lane, definition.equality, held, {}))
        self._fold.pages.flush()

    # -- which moments ------------------------------------------------------------------------------

    def _moments(self, about: set[int]) -> dict[int, set[int]]:
        """The transactions that could change what follows from some events, with what arrived in each of what could.

        Where a cut moved, nothing is named: all is looked at.
        """
        positions = self._concerning(about)
        moments: dict[int, set[int]] = {}
        for position in positions:
            if self._logs.holds(position):
                moments.setdefault(self._logs.arrival(position), set()).add(position)
        for log in {self._logs.log_of(position).id for position in positions}:
            for moved in self._cuts.moves_of(log):
                moments[moved] = set()
        return moments

    def _beside(self, slot: Slot) -> set[int]:
        """The definitions and links on which a slot's beliefs rest beside its statements."""
        sql = "SELECT position FROM definitions WHERE predicate = ? AND scope IN (?, ?)"
        defining = self._db.execute(sql, (slot.predicate, slot.scope, VAULT)).fetchall()
        _, links = self._catalog.aliases.region(slot.scope, slot.entity)
        return {*(row[0] for row in defining), *(link.position for link in links)}

    def _concerning(self, about: set[int]) -> set[int]:
        """Some events, and all that may decide on them or on each other."""
        positions = set(about)
        waiting, logs = list(positions), set[int]()
        while waiting:
            position = waiting.pop()
            if not self._logs.holds(position):
                continue
            found = self._deciding(position)
            log = self._logs.log_of(position).no
            if log not in logs:
                logs.add(log)
                found += self._clocks.about(log)
            waiting += set(found) - positions
            positions |= set(found)
        return positions

    def _deciding(self, position: int) -> list[int]:
        """The events on which the status of one depends."""
        references = self._fold.references
        found = [source for twin in references.twins(position) for _, source in references.links_to(twin)]
        actor = references.actor(position)
        if actor is not None and actor.batch is not None:
            found += references.withdrawals(actor.batch)
        for claim in references.grounds(position):
            found += [claim, *self._denying(claim)]
        return found

    def _denying(self, claim: int) -> list[int]:
        """The denials that may ever have spoken about a claim, and the links that decide on that."""
        named, timelines, aliases = self._fold.record_at(claim), self._fold.timelines, self._catalog.aliases
        entity = timelines.entity_of(claim)
        if named is None or entity is None:
            return []
        scope, predicate_name = named[0].scope, named[0].predicate
        names = {each for home in aliases.homes(scope, entity) for each in aliases.lodgers(scope, home)}
        equality = self._catalog.predicate(scope, predicate_name).equality
        denials = timelines.denials_of(scope, sorted(names), predicate_name, equality)
        return [*(d.position for d in denials), *(link.position for link in aliases.region(scope, entity)[1])]
