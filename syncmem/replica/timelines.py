"""Folding one slot: from new records and new status flags to pages and rectangles.

Rules: a single-valued slot is one lane; a many-valued one has a lane for each value, and values do not
interact.  "Known to have none" interacts with all: once a many-valued slot holds such a statement,
it goes to every lane and every statement goes to its lane, so that each lane is still a plain fold.
A lane shows only its own value; where any value is shown, "none" is passed over when read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from syncmem.codec import pack_flat, unpack_own
from syncmem.model.event import Erased, Statement, readable
from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.liveness import denied
from syncmem.model.predicate import Predicate
from syncmem.model.record import BY_DENIAL, DENIED, STORED_FIELDS, Record, Role
from syncmem.model.value import NONE, Equality, encode, key
from syncmem.replica.catalog import Catalog, Slot
from syncmem.replica.connection import Database
from syncmem.replica.logs import Logs
from syncmem.replica.pages import Pages, Swept, Update, Wanted, updated
from syncmem.replica.rectangles import Change, Rectangles

SINGLE: Final = b""  # the lane of a single-valued slot
NONE_KEY: Final = encode(NONE)


def lane_of(value_key: bytes) -> bytes:
    """The lane of a value in a many-valued slot."""
    return sha256(value_key).digest()[:16]


NONE_LANE: Final = lane_of(NONE_KEY)


@dataclass(slots=True)
class Work:
    """What a transaction has to do in one slot."""

    new: list[Record] = field(default_factory=list)
    updates: dict[int, Update] = field(default_factory=dict)  # by position
    denials_changed: bool = False
    gone: set[int] = field(default_factory=set)  # positions of statements that are in another slot from now on
    rebuild: bool = False  # its definition, its names or the clocks of its statements changed


class Timelines:
    """Keeps the pages and rectangles of slots; reads and writes the table ``denials``."""

    def __init__(self, database: Database, logs: Logs, catalog: Catalog, pages: Pages, rectangles: Rectangles) -> None:
        self._db = database
        self._logs = logs
        self._catalog = catalog
        self._pages = pages
        self._rectangles = rectangles
        self.forget()

    def forget(self) -> None:
        """Look again whether there are denials at all (most replicas have none, and are spared the look-ups)."""
        self._any_denials = self._db.execute("SELECT EXISTS (SELECT 1 FROM denials)").fetchone()[0] == 1

    def fold(
        self, n: int, slot: Slot, work: Work, resettled: Callable[[Record, Slot], Record]
    ) -> tuple[list[Change], list[int]]:
        """Do the work of one slot; what changed, and the claims that became or ceased to be denied.

        ``resettled`` computes a record anew from its event (used where clocks or definitions changed).
        """
        definition = self._catalog.predicate(slot.scope, slot.predicate)
        work.rebuild = work.rebuild or self._brings_none(definition, work)
        if work.rebuild:
            return self._rebuild(n, slot, definition, work, resettled)
        denials = self._live_denials(slot, definition.equality)
        turned = self._judge_again(slot, definition, work, denials) if work.denials_changed else []
        if work.updates or denials:
            work.new = [_judged(updated(r, work.updates.pop(r.position, None)), denials) for r in work.new]
        lanes = _Lanes(self._pages, slot.id) if definition.many else None
        changes: list[Change] = []
        for lane, (new, updates) in self._by_lane(lanes, definition.equality, work).items():
            plain = None
            if not updates and (lanes is None or not lanes.has_nones):
                plain = self._pages.add_plainly(slot.id, lane, definition.equality, new)
            if plain is None:
                changes += self._fold_lane(n, slot.id, lane, definition.equality, new, updates)
            elif change := self._rectangles.follow(n, slot.id, lane, plain.before, plain.now):
                changes.append(change)
        return changes, turned

    @staticmethod
    def _brings_none(definition: Predicate, work: Work) -> bool:
        """Whether "none" is newly said in a many-valued slot, which concerns all of its lanes."""
        return definition.many and any(record.key == NONE_KEY for record in work.new)

    def read_ahead(self, slots: list[Slot]) -> None:
        """Read what folding these slots will need, in few statements; one slot alone is read as it is folded."""
        if len(slots) == 1:
            return
        single = [slot.id for slot in slots if not self._catalog.predicate(slot.scope, slot.predicate).many]
        self._pages.prefetch(single)

    # -- statements of some names -------------------------------------------------------------------

    def records(self, slot: Slot) -> list[Record]:
        """The claims and ends of a slot."""
        return self._pages.records(slot.id, self._catalog.predicate(slot.scope, slot.predicate).equality)

    def held(
        self, scope: str, names: Sequence[str], predicate: str, equality: Equality,
        wanted: Wanted | None = None,
    ) -> list[Record]:  # fmt: skip
        """The claims and ends about some entities, whatever slots they are in; ``wanted``: which of their rows."""
        slots = {slot for name in names if (slot := self._catalog.find(scope, name, predicate)) is not None}
        found = []
        for slot in sorted(slots):
            records = self._pages.records(slot.id, equality, wanted=wanted)
            alone = set(self._catalog.names(slot)) <= set(names)
            found += [record for record in records if alone or self.entity_of(record.position) in names]
        return sorted(found, key=lambda record: (record.start, record.position))

    def entity_of(self, position: int) -> str | None:
        """The entity that a statement itself names."""
        event = self._logs.event(position)
        said = None if isinstance(event, Erased) else readable(event)
        return said.entity if isinstance(said, Statement) else None

    # -- denials ------------------------------------------------------------------------------------

    def denials(self, slot: Slot, equality: Equality) -> list[Record]:
        """The denials of a slot (while replaying: that had arrived), dead ones too."""
        if not self._any_denials:
            return []
        found = self.denials_of(slot.scope, self._catalog.names(slot), slot.predicate, equality)
        return [denial for denial in found if self._logs.holds(denial.position)]

    def has_denials(self, slot: Slot) -> bool:
        """Whether any denial of a slot is stored."""
        return bool(self.denials(slot, self._catalog.predicate(slot.scope, slot.predicate).equality))

    def denials_of(self, scope: str, names: Iterable[str], predicate: str, equality: Equality) -> list[Record]:
        """The denials about some entities, each under its own name."""
        sql = "SELECT record FROM denials WHERE entity = ? AND predicate = ? AND scope = ?"
        rows = [row for name in names for row in self._db.execute(sql, (name, predicate, scope)).fetchall()]
        found = [self._pages.record(unpack_own(row[0]), equality) for row in rows]
        return sorted(found, key=lambda record: record.position)

    def store_denial(self, record: Record, scope: str, said: Statement) -> None:
        row = (record.position, scope, said.entity, said.predicate, pack_flat(list(record[:STORED_FIELDS])))
        self._db.execute("INSERT OR REPLACE INTO denials VALUES (?, ?, ?, ?, ?)", row)
        self._any_denials = True

    def update_denial(self, record: Record) -> None:
        """Keep the present status of a denial that is stored."""
        row = (pack_flat(list(record[:STORED_FIELDS])), record.position)
        self._db.execute("UPDATE denials SET record = ? WHERE position = ?", row)

    def _live_denials(self, slot: Slot, equality: Equality) -> list[Record]:
        return [denial for denial in self.denials(slot, equality) if denial.live]

    def _judge_again(self, slot: Slot, definition: Predicate, work: Work, denials: list[Record]) -> list[int]:
        """The denials changed: look at every claim again; those that turned."""
        turned = []
        for record in self._pages.records(slot.id, definition.equality):
            if record.role > Role.TEMPORARY:
                continue
            bits = denied(record, denials)
            if bits != record.flags & BY_DENIAL:
                earlier = work.updates.get(record.position)
                mask, more = (earlier.mask, earlier.bits) if earlier else (0, 0)
                work.updates[record.position] = Update(record.start, record.value, BY_DENIAL | mask, bits | more)
                if (bits ^ record.flags) & DENIED:
                    turned.append(record.position)
        return turned

    # -- lanes --------------------------------------------------------------------------------------

    def _by_lane(
        self, lanes: _Lanes | None, equality: Equality, work: Work
    ) -> dict[bytes, tuple[list[Record], dict[int, Update]]]:
        """The work of a slot, lane by lane (``lanes``: those of a many-valued one)."""
        if lanes is None:
            return {SINGLE: (work.new, work.updates)}
        result: dict[bytes, tuple[list[Record], dict[int, Update]]] = {}
        for record in work.new:
            for lane in lanes.of(record.key):
                if lane not in result:
                    nones = lanes.nones_for(lane, equality)
                    result[lane] = ([updated(none, work.updates.get(none.position)) for none in nones], {})
                result[lane][0].append(record)
        for position, update in work.updates.items():
            for lane in lanes.of(key(update.value, equality)):
                result.setdefault(lane, ([], {}))[1][position] = update
        return dict(sorted(result.items()))

    def _fold_lane(
        self, n: int, slot: int, lane: bytes, equality: Equality, new: list[Record], updates: dict[int, Update]
    ) -> Iterable[Change]:
        shown = shown_in(lane)
        for swept in self._pages.apply(slot, lane, equality, new, updates):
            change = self._rectangles.replace(n, slot, lane, swept, shown)
            if change is not None:
                yield change

    def _rebuild(
        self, n: int, slot: Slot, definition: Predicate, work: Work, resettled: Callable[[Record, Slot], Record]
    ) -> tuple[list[Change], list[int]]:
        """Fold a slot from its statements alone, each computed anew from its event."""
        equality = definition.equality
        for denial in self.denials(slot, equality):
            self.update_denial(resettled(denial, slot))
        denials = self._live_denials(slot, equality)
        stored = (record for record in self._pages.records(slot.id, equality) if record.position not in work.gone)
        held = [*stored, *work.new]
        before = [resettled(updated(record, work.updates.get(record.position)), slot) for record in held]
        records = [_judged(record, denials) for record in before]
        turned = [new.position for old, new in zip(before, records, strict=True) if (old.flags ^ new.flags) & DENIED]
        return self.refill(n, slot, records), turned

    def refill(self, n: int, slot: Slot, records: list[Record]) -> list[Change]:
        """Fold a slot from these statements alone (their status is right); what changed."""
        definition = self._catalog.predicate(slot.scope, slot.predicate)
        lanes = self._pages.lanes(slot.id)
        self._pages.drop(slot.id)
        spread = spread_over_lanes(records, definition.many)
        changes: list[Change] = []
        for lane in sorted({*lanes, *spread}):
            changes += self._fold_lane(n, slot.id, lane, definition.equality, spread.get(lane, []), {})
            if lane not in spread:
                emptied = self._rectangles.replace(n, slot.id, lane, _NOTHING, shown_in(lane))
                changes += [emptied] if emptied else []
        return changes


def _judged(record: Record, denials: list[Record]) -> Record:
    """A record with the status that the denials of its slot give it."""
    flags = record.flags & ~BY_DENIAL
    if denials and record.role <= Role.TEMPORARY:
        flags |= denied(record, denials)
    return record if flags == record.flags else record._replace(flags=flags)


class _Lanes:
    """The lanes of a many-valued slot: looked for one by one, listed only where "none" concerns them all."""

    def __init__(self, pages: Pages, slot: int) -> None:
        self._pages = pages
        self._slot = slot
        self.has_nones = pages.has_lane(slot, NONE_LANE)

    def of(self, value_key: bytes) -> list[bytes]:
        """The lanes that a statement about a value belongs to."""
        if value_key == NONE_KEY:
            return self._pages.lanes(self._slot)
        lane = lane_of(value_key)
        return [lane, NONE_LANE] if self.has_nones else [lane]

    def nones_for(self, lane: bytes, equality: Equality) -> list[Record]:
        """The statements of "none" that a lane begins with when it is new."""
        if not self.has_nones or self._pages.has_lane(self._slot, lane):
            return []
        return [r for r in self._pages.records(self._slot, equality, NONE_LANE) if r.key == NONE_KEY]


def spread_over_lanes(records: list[Record], many: bool) -> dict[bytes, list[Record]]:
    """All statements of a slot, lane by lane."""
    if not many:
        return {SINGLE: records} if records else {}
    nones = [record for record in records if record.key == NONE_KEY]
    result: dict[bytes, list[Record]] = {}
    for record in records:
        if record.key != NONE_KEY:
            result.setdefault(lane_of(record.key), list(nones)).append(record)
    if nones:
        result[NONE_LANE] = list(records)
    return result


def shown_in(lane: bytes) -> Callable[[Record], bool]:
    """Which winners are beliefs of a lane."""
    if lane == SINGLE:
        return lambda winner: True
    if lane == NONE_LANE:
        return lambda winner: winner.key == NONE_KEY
    return lambda winner: winner.key != NONE_KEY


_NOTHING: Final = Swept(BEGINNING, FOREVER, [], None)
