"""Reading beliefs: at an instant or as a timeline; now, as known then, as asserted by then, as another device.

Rules: what this device believed is an index lookup on rectangles, never a fold; what was asserted by some
clock value, or what another device believed, is the same fold over the events that were visible.
"None" is passed over wherever the slot believes any value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection
from functools import cache, partial
from operator import itemgetter
from typing import Any, Final

from syncmem.codec import repack
from syncmem.errors import Damaged
from syncmem.model import predicate
from syncmem.model.event import Event, Statement, readable
from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.liveness import Liveness, denied
from syncmem.model.plain import Row
from syncmem.model.predicate import UNDECLARED, Predicate
from syncmem.model.record import BY_DENIAL, BY_REFERENCE, DEAD, DENIED, Record, Role
from syncmem.model.sweep import Segment, sweep
from syncmem.model.value import Equality, key, same_stored, to_stored
from syncmem.replica.catalog import VAULT, Slot
from syncmem.replica.in_lanes import Placed as Placed
from syncmem.replica.in_lanes import as_timeline, holds, without_none
from syncmem.replica.pages import Swept, Wanted
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.replica import Replica
from syncmem.replica.stretch import Stretch
from syncmem.replica.timelines import NONE_LANE, SINGLE, lane_of, shown_in, spread_over_lanes
from syncmem.replica.visible import Visible as Visible
from syncmem.replica.visible import VisibleNames

_Defined = tuple[Visible | None, int, dict[tuple[str, str], Predicate]]
_Denials = tuple[Equality, Callable[[Record], Record], list[Record]]

_START: Final = itemgetter(0)
_ORDER: Final = itemgetter(Record._fields.index("start"), Record._fields.index("position"))
CHECKED_FIRST: Final = 100  # beliefs that are held against their claims after opening: some milliseconds
_COLUMNS: Final = "valid_from, valid_to, value, trust, contested, source, claim"
_CURRENT: Final = f"FROM beliefs WHERE slot = ?1 AND lane = ?2 AND known_to = {FOREVER}"
_AS_OF: Final = "FROM beliefs WHERE slot = ?1 AND lane = ?2 AND known_to > ?3 AND known_from <= ?3"
_NOW_AND_BEFORE: Final = f"SELECT {_COLUMNS} {_CURRENT} AND valid_from <= ?3 ORDER BY valid_from DESC LIMIT 2"
_NOW_NEXT: Final = f"SELECT {_COLUMNS} {_CURRENT} AND valid_from = ?3"
_NOW_ALL: Final = f"SELECT {_COLUMNS} {_CURRENT} ORDER BY valid_from"
_THEN_AND_BEFORE: Final = f"SELECT {_COLUMNS} {_AS_OF} AND valid_from <= ?4 ORDER BY valid_from DESC LIMIT 2"
_THEN_NEXT: Final = f"SELECT {_COLUMNS} {_AS_OF} AND valid_from = ?4"
_THEN_ALL: Final = f"SELECT {_COLUMNS} {_AS_OF} ORDER BY valid_from"
_LAST_BY: Final = (  # of the transactions after ?1 up to ?2, in order of time, the last one by ?3; ?1 if there is none
    "WITH RECURSIVE span(low, high) AS (VALUES (?1, ?2) UNION ALL "
    "SELECT iif(t.time <= ?3, t.n, low), iif(t.time <= ?3, high, t.n - 1) "
    "FROM span CROSS JOIN transactions t ON t.n = (low + high + 1) / 2 WHERE low < high) "
    "SELECT low FROM span WHERE low = high"
)
_LANES: Final = (
    "WITH RECURSIVE lanes(lane) AS (SELECT min(lane) FROM beliefs WHERE slot = ?1 UNION ALL "
    "SELECT (SELECT min(lane) FROM beliefs WHERE slot = ?1 AND lane > lanes.lane) FROM lanes WHERE lane IS NOT NULL) "
    "SELECT lane FROM lanes WHERE lane IS NOT NULL"
)


class Reading:
    """Answers questions about one replica. Not safe for threads, like the replica."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._db = replica.db
        self.names = VisibleNames(replica)
        self._to_check = CHECKED_FIRST
        self.to_recheck = CHECKED_FIRST  # answers about what was believed then, see rechecking
        self._defined: _Defined = None, 0, {}  # of the question asked just now

    # -- rectangles ---------------------------------------------------------------------------------

    def at(self, slot: Slot, instant: int, n: int | None = None) -> list[Placed]:
        """What is (or, at transaction ``n``, was) believed of a slot at a valid instant.

        A rectangle reaches as far as its value holds without a gap; all else is that of the instant.
        """
        definition = self._replica.catalog.predicate(slot.scope, slot.predicate)
        equality = definition.equality
        if not definition.many and (single := self._at(equality, slot.id, SINGLE, instant, n)) is not None:
            return [(SINGLE, single)]
        lanes = self._lanes(slot, n) if definition.many or n is not None else ()
        found = [(lane, self._at(equality, slot.id, lane, instant, n)) for lane in lanes]
        placed = [(lane, rectangle) for lane, rectangle in found if rectangle is not None]
        return placed if len(placed) < 2 else [p for p in without_none(placed) if holds(p, instant)]

    @property
    def checks(self) -> bool:
        """Whether beliefs are still to be shown to :meth:`check`."""
        return self._to_check > 0

    def check(self, slot: Slot, placed: Collection[Placed]) -> None:
        """See that beliefs say what the claims say that they rest on: the first that are read, which costs as much
        again as reading them; so all that a short process hands out, and what a long one reads later is inspected.

        Raises:
            Damaged: a disk has changed one of them.
        """
        placed = list(placed)[: self._to_check]
        self._to_check -= len(placed)
        for _, rectangle in placed:
            said, shown = readable(self._replica.logs.event(rectangle.claim)), (slot.predicate, rectangle.value)
            if not isinstance(said, Statement) or (said.predicate, to_stored(repack(said.value))) != shown:
                raise Damaged("a belief is not what its claim says: its row is damaged; run 'syncmem repair'")

    def says(self, slot: Slot, value: bytes, instant: int) -> bool:
        """Whether a slot is believed to hold a value, given as canonical bytes, at a valid instant."""
        definition = self._replica.catalog.predicate(slot.scope, slot.predicate)
        lane = lane_of(key(value, definition.equality)) if definition.many else SINGLE
        rows = self._db.rows(_NOW_AND_BEFORE, (slot.id, lane, instant))
        said = rows[0][2] if rows and rows[0][1] > instant else None
        return said is not None and same_stored(said, to_stored(value), definition.equality)

    def of_value(self, slot: Slot, value_key: bytes, instant: int) -> Rectangle | None:
        """What is believed at a valid instant in the lane that a value belongs to."""
        definition = self._replica.catalog.predicate(slot.scope, slot.predicate)
        lane = lane_of(value_key) if definition.many else SINGLE
        return self._at(definition.equality, slot.id, lane, instant)

    def in_lane(self, slot: Slot, lane: bytes, instant: int, n: int | None = None) -> list[Placed]:
        """As :meth:`at`, of one lane."""
        if lane in (NONE_LANE, SINGLE):
            return [placed for placed in self.at(slot, instant, n) if placed[0] == lane]
        equality = self._replica.catalog.predicate(slot.scope, slot.predicate).equality
        found = self._at(equality, slot.id, lane, instant, n)
        return [] if found is None else [(lane, found)]

    def within(self, slot: Slot, stretch: Stretch, n: int | None = None) -> list[Placed]:
        """What is (or was) believed of a slot somewhere in a stretch of valid time; each as a whole."""
        if stretch == Stretch() or self._lanes(slot, n) != [SINGLE]:
            return [placed for placed in self.timeline(slot, n) if stretch.meets(placed[1])]
        equality = self._replica.catalog.predicate(slot.scope, slot.predicate).equality
        asked = (slot.id, SINGLE) if n is None else (slot.id, SINGLE, n)
        told = f"SELECT {_COLUMNS} {_CURRENT if n is None else _AS_OF}"
        one, two = len(asked) + 1, len(asked) + 2
        sql = f"{told} AND valid_from < ?{two} AND valid_to > ?{one} ORDER BY valid_from"
        rows = [Rectangle._make(row) for row in self._db.execute(sql, (*asked, *stretch))]
        while rows and (row := self._db.execute(f"{told} AND valid_to = ?{one}", (*asked, rows[0][0])).fetchone()):
            if not same_stored(row[2], rows[0].value, equality):
                break
            rows.insert(0, Rectangle._make(row))  # the first began earlier, without a gap
        while rows and (row := self._db.execute(f"{told} AND valid_from = ?{one}", (*asked, rows[-1][1])).fetchone()):
            if not same_stored(row[2], rows[-1].value, equality):
                break
            rows.append(Rectangle._make(row))
        return as_timeline([(SINGLE, row) for row in rows], equality)

    def timeline(self, slot: Slot, n: int | None = None, *, lanes: Collection[bytes] | None = None) -> list[Placed]:
        """All that is (or was) believed of a slot in order of valid time; equal neighbours are one.

        ``lanes``: only what is believed there, which is "none" only where nothing else is.
        """
        placed: list[Placed] = []
        for lane in self._lanes(slot, n) if lanes is None or NONE_LANE in lanes else lanes:
            if n is None:
                rows = self._db.execute(_NOW_ALL, (slot.id, lane))
            else:
                rows = self._db.execute(_THEN_ALL, (slot.id, lane, n))
            placed += [(lane, rectangle) for rectangle in map(Rectangle._make, rows)]
        told = as_timeline(placed, self._replica.catalog.predicate(slot.scope, slot.predicate).equality)
        return told if lanes is None else [each for each in told if each[0] in lanes]

    def _lanes(self, slot: Slot, n: int | None) -> list[bytes]:
        if n is None and not self._replica.catalog.predicate(slot.scope, slot.predicate).many:
            return [SINGLE]
        return [row[0] for row in self._db.execute(_LANES, (slot.id,)).fetchall()]

    def _at(self, equality: Equality, slot: int, lane: bytes, instant: int, n: int | None = None) -> Rectangle | None:
        """What is (or, at transaction ``n``, was) believed in one lane at a valid instant."""
        sql, then = (_NOW_AND_BEFORE, ()) if n is None else (_THEN_AND_BEFORE, (n,))
        rows = self._db.rows(sql, (slot, lane, *then, instant))
        return self.whole(equality, slot, lane, rows, n) if rows and rows[0][1] > instant else None

    def whole(self, equality: Equality, slot: int, lane: bytes, rows: list[Any], n: int | None = None) -> Rectangle:
        """The first of (up to) two rectangles, the other of which begins before it, as far as its value holds."""
        found = Rectangle._make(rows[0])
        before, after = (_NOW_AND_BEFORE, _NOW_NEXT) if n is None else (_THEN_AND_BEFORE, _THEN_NEXT)
        then = () if n is None else (n,)
        while len(rows) > 1 and rows[1][1] == found.valid_from and same_stored(rows[1][2], found.value, equality):
            found = found._replace(valid_from=rows[1][0])  # it began to hold earlier, without a gap
            rows = self._db.rows(before, (slot, lane, *then, found.valid_from))
        while found.valid_to != FOREVER:
            rows = self._db.rows(after, (slot, lane, *then, found.valid_to))
            if not rows or not same_stored(rows[0][2], found.value, equality):
                break
            found = found._replace(valid_to=rows[0][1])
        return found

    def transaction_at(self, time: int) -> int:
        """The last transaction whose corrected time is at most ``time``; 0 before the first."""
        last = self._replica.last_transaction
        eras = self._db.rows("SELECT first FROM eras ORDER BY first DESC")
        for (first,) in [*eras, (1,)]:
            n = int(self._db.rows(_LAST_BY, (first - 1, last, time))[0][0])
            if n >= first:
                return n
            last = first - 1
        return 0

    def contested(self, scope: str | None, n: int | None = None) -> list[tuple[Slot, Rectangle]]:
        """All rectangles that are (or, at transaction ``n``, were) contested."""
        sql = (
            "SELECT s.id, s.scope, s.entity, s.predicate, b.valid_from, b.valid_to, b.value, b.trust, b.contested, "
            "b.source, b.claim FROM beliefs b JOIN slots s ON s.id = b.slot WHERE b.contested = 1 "
            "AND b.known_to > ?1 AND b.known_from <= ?1 AND (?2 IS NULL OR s.scope = ?2) "
            "ORDER BY s.entity, s.predicate, b.valid_from"
        )
        known = FOREVER - 1 if n is None else n
        return [(Slot(*row[:4]), Rectangle(*row[4:])) for row in self._db.execute(sql, (known, scope)).fetchall()]

    # -- folding what was visible ---------------------------------------------------------------------

    def folded(self, slot: Slot, visible: Visible, instant: int | None = None) -> list[Placed]:
        """What the visible events alone make of a slot; if only an instant matters, perhaps without the rest."""
        return as_timeline(self.in_its_lanes(slot, visible, instant), self.definition(slot, visible).equality)

    def in_its_lanes(self, slot: Slot, visible: Visible, instant: int | None = None) -> list[Placed]:
        """As :meth:`folded`, lane by lane, as beliefs are stored."""
        many, rectangles = self.definition(slot, visible).many, self._replica.fold.rectangles
        result: list[Placed] = []
        for lane, held in spread_over_lanes(self.records(slot, visible), many).items():
            segments, _ = sweep([record for record in held if record.counts])
            end = FOREVER
            if instant is not None and lane == SINGLE:  # no other lane has a word in what is told of this one
                segments, end = _around(segments, instant)
            rows = rectangles.rows(Swept(BEGINNING, end, segments, None), shown_in(lane))
            result += [(lane, row) for row in rows]
        return result

    def records(self, slot: Slot, visible: Visible, wanted: Wanted | None = None) -> list[Record]:
        """The visible claims and ends of a slot, with their status among the visible events.

        ``wanted``: which of them, by their rows as they are stored.
        """
        fold = self._replica.fold
        liveness = Liveness(fold.references, visible)
        denials = cache(partial(self._live_denials, visible, liveness))
        equality, settled, ours = denials(slot)
        fold.references.decide_denials_by(partial(self._denied_among, denials))
        try:
            with liveness.grounds.remembering():
                held = fold.timelines.held(*self._asked(slot, visible), equality, partial(_seen, visible, wanted))
                alone = fold.references.stand_alone(held) if wanted is None else not fold.references.any
                status = fold.references.status_alone if alone else liveness.status_of
                in_logs = held if alone else sorted(held)  # by position: what lies together is read once
                judged = [_judged(settled(record), status(record), ours) for record in in_logs]
                return sorted(judged, key=_ORDER)
        finally:
            fold.references.decide_denials_by(fold.is_denied)

    def _live_denials(self, visible: Visible, liveness: Liveness, slot: Slot) -> _Denials:
        """How a slot's values compare, how its records are settled, and its denials, among the visible events."""
        equality = self.definition(slot, visible).equality
        settled = self._settled_by(visible, liveness, slot, equality)
        asked = (*self._asked(slot, visible), equality)
        denials = [
            settled(denial)
            for denial in self._replica.fold.timelines.denials_of(*asked)
            if visible.record(denial) and not liveness.status(denial.position) & DEAD
        ]
        return equality, settled, denials

    def _asked(self, slot: Slot, visible: Visible) -> tuple[str, list[str], str]:
        """Of which names, as they stand by visible links, a slot holds what was said."""
        return slot.scope, self.names.among(slot.scope, slot.entity, visible), slot.predicate

    def _settled_by(
        self, visible: Visible, liveness: Liveness, slot: Slot, equality: Equality
    ) -> Callable[[Record], Record]:
        """How a record is settled: as it is stored, or by the clock notes that were visible."""
        fold, logs = self._replica.fold, self._replica.logs
        if not visible.with_its_clocks or not self._replica.clocks.any_notes():
            return lambda record: record
        clocks = self._replica.clocks.known_to(visible, liveness.acts)

        def settled(record: Record) -> Record:
            event = logs.event(record.position)
            said = readable(event)
            assert isinstance(event, Event) and isinstance(said, Statement)
            anew = fold.record(record.position, event, said, slot, clocks)
            return anew._replace(key=key(anew.value, equality))

        return settled

    def _denied_among(self, denials: Callable[[Slot], _Denials], position: int) -> bool:
        claim = self._replica.fold.record_at(position)
        entity = self._replica.fold.timelines.entity_of(position)
        if claim is None or entity is None or claim[1].role > Role.TEMPORARY:
            return False
        equality, settled, standing = denials(claim[0]._replace(entity=entity))
        record = settled(claim[1])
        return bool(denied(record._replace(key=key(record.value, equality)), standing) & DENIED)

    def definition(self, slot: Slot, visible: Visible) -> Predicate:
        """The definition of a slot's predicate among the visible events."""
        last, name = self._replica.last_transaction, (slot.scope, slot.predicate)
        if self._defined[0] is not visible or self._defined[1] != last:
            self._defined = visible, last, {}
        if name not in self._defined[2]:
            self._defined[2][name] = self._definition(slot, visible)
        return self._defined[2][name]

    def _definition(self, slot: Slot, visible: Visible) -> Predicate:
        references = self._replica.fold.references
        if visible.clock is not None:
            rows = self._db.rows("SELECT position FROM definitions WHERE predicate = ?", (slot.predicate,))
            said = [position for (position,) in rows]
            if all(map(visible, said)) and not references.are_reached(said):  # then what stands now is what stood
                return self._replica.catalog.predicate(slot.scope, slot.predicate)
        liveness = Liveness(references, visible)
        for scope in (slot.scope, VAULT):
            found = self._replica.fold.definition(scope, slot.predicate, liveness, visible)
            if found is not None:
                return predicate.read(found[1].settings)
        return UNDECLARED


def _seen(visible: Visible, wanted: Wanted | None, rows: list[Row]) -> list[Row]:
    return [row for row in (rows if wanted is None else wanted(rows)) if visible.row(row)]


def _judged(record: Record, status: int, denials: list[Record]) -> Record:
    """A record with the status that the visible events give it."""
    flags = record.flags & ~(BY_REFERENCE | BY_DENIAL) | status
    if denials and record.role <= Role.TEMPORARY:
        flags |= denied(record, denials)
    return record if flags == record.flags else record._replace(flags=flags)


def _around(segments: list[Segment], instant: int) -> tuple[list[Segment], int]:
    """Those in which one value holds around an instant, and where it ends."""
    here = bisect_right(segments, instant, key=_START) - 1
    winner = None if here < 0 else segments[here].winner
    if winner is None:
        return [], FOREVER

    def alike(segment: Segment) -> bool:
        return segment.winner is not None and segment.winner.key == winner.key

    first, end = here, here + 1
    while first and alike(segments[first - 1]):
        first -= 1
    while end < len(segments) and alike(segments[end]):
        end += 1
    return segments[first:end], segments[end].start if end < len(segments) else FOREVER
