"""Retelling: what was believed of a slot, told anew as if some of its statements had never arrived.

Rule: all that is known of a slot from one transaction on is dropped and folded again, transaction by
transaction, from the statements that are left, with the definitions, clocks and cuts that were known then.
What was believed before that transaction stays as it is.  The price is one fold of the slot for each
transaction since then that could have changed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from syncmem.model import predicate
from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.liveness import denied
from syncmem.model.record import Record, Role
from syncmem.model.sweep import sweep
from syncmem.replica.catalog import VAULT, Catalog, Slot
from syncmem.replica.clocks import Clocks
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.fold import Fold
from syncmem.replica.logs import Logs
from syncmem.replica.pages import Swept
from syncmem.replica.timelines import shown_in, spread_over_lanes


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
        """Fold a slot anew from transaction ``since`` up to the one before ``n``; ``kept`` are its statements."""
        self._fold.pages.drop(slot.id)
        self._db.execute("DELETE FROM beliefs WHERE slot = ? AND known_from >= ?", (slot.id, since))
        sql = f"UPDATE beliefs SET known_to = {FOREVER} WHERE slot = ? AND known_to >= ? AND known_to < {FOREVER}"
        self._db.execute(sql, (slot.id, since))
        for moment in [m for m in self._moments(slot, kept) if since <= m < n]:
            with self._as_known_at(moment, slot):
                self._tell(moment, slot, self._records(kept))
        with self._as_known_at(n - 1, slot):
            self._write_pages(slot, self._records(kept))
        self._fold.rectangles.begin()

    # -- one moment ---------------------------------------------------------------------------------

    @contextmanager
    def _as_known_at(self, n: int, slot: Slot) -> Iterator[None]:
        """For a while, nothing is known that arrived after transaction ``n``."""
        before = self._logs.replayed
        self._logs.replayed = n
        self._fold.forget()
        try:
            with ExitStack() as stack:
                liveness = self._fold.liveness
                stack.enter_context(self._clocks.corrected_by(self._clocks.known_to(self._logs.holds, liveness.acts)))
                found = {
                    scope: self._fold.definition(scope, slot.predicate, liveness, self._logs.holds)
                    for scope in (slot.scope, VAULT)
                }
                definitions = {
                    (slot.predicate, scope): None if held is None else predicate.read(held[1].settings)
                    for scope, held in found.items()
                }
                stack.enter_context(self._catalog.defined_as(definitions))
                yield
        finally:
            self._logs.replayed = before
            self._fold.forget()

    def _records(self, kept: Sequence[int]) -> list[Record]:
        """The statements that had arrived, with the status that they had."""
        found = [self._fold.record_at(position) for position in kept if self._logs.holds(position)]
        records = [
            record._replace(flags=record.flags | self._fold.liveness.status(record.position))
            for _, record in filter(None, found)
        ]
        denials = [record for record in records if record.role == Role.DENY and record.live]
        return [
            record._replace(flags=record.flags | denied(record, denials)) if record.role <= Role.TEMPORARY else record
            for record in records
        ]

    def _tell(self, n: int, slot: Slot, records: list[Record]) -> None:
        """Let what is believed of a slot at a transaction follow from its statements."""
        many = self._catalog.predicate(slot.scope, slot.predicate).many
        spread = spread_over_lanes(_said(records), many)
        sql = f"SELECT DISTINCT lane FROM beliefs WHERE slot = ? AND known_to = {FOREVER}"
        lanes = {row[0] for row in self._db.execute(sql, (slot.id,)).fetchall()}
        rectangles = self._fold.rectangles
        rectangles.begin()
        for lane in sorted(lanes | set(spread)):
            segments, _ = sweep([record for record in spread.get(lane, []) if record.counts])
            rectangles.replace(n, slot.id, lane, Swept(BEGINNING, FOREVER, segments, None), shown_in(lane))
        rectangles.flush()

    def _write_pages(self, slot: Slot, records: list[Record]) -> None:
        definition = self._catalog.predicate(slot.scope, slot.predicate)
        for lane, held in spread_over_lanes(_said(records), definition.many).items():
            list(self._fold.pages.apply(slot.id, lane, definition.equality, held, {}))
        self._fold.pages.flush()
        for record in records:
            if record.role == Role.DENY:
                self._fold.timelines.store_denial(slot.id, record)

    # -- which moments ------------------------------------------------------------------------------

    def _moments(self, slot: Slot, kept: Sequence[int]) -> list[int]:
        """The transactions in which anything arrived that could change what is believed of a slot."""
        positions = self._concerning(slot, kept)
        moments = {self._logs.arrival(position) for position in positions if self._logs.holds(position)}
        for log in {self._logs.log_of(position).id for position in positions}:
            moments.update(self._cuts.moves_of(log))
        return sorted(moments)

    def _concerning(self, slot: Slot, kept: Sequence[int]) -> set[int]:
        """The statements of a slot, and all events that may decide on them or on each other."""
        sql = "SELECT position FROM definitions WHERE predicate = ? AND scope IN (?, ?)"
        defining = self._db.execute(sql, (slot.predicate, slot.scope, VAULT)).fetchall()
        positions = {*kept, *(row[0] for row in defining)}
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
        found = [source for _, source in references.links_to(position)]
        actor = references.actor(position)
        if actor is not None and actor.batch is not None:
            found += references.withdrawals(actor.batch)
        claim = references.named_claim(position) if actor is not None and actor.retractable else None
        if claim is not None:
            found.append(claim)
            about = self._fold.record_at(claim)
            if about is not None:
                equality = self._catalog.predicate(about[0].scope, about[0].predicate).equality
                found += [denial.position for denial in self._fold.timelines.denials(about[0].id, equality)]
        return found


def _said(records: list[Record]) -> list[Record]:
    """The records of pages: all but the denials."""
    return [record for record in records if record.role != Role.DENY]
