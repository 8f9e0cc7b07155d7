"""Reading beliefs: at an instant or as a timeline; now, as known then, as asserted by then, as another device.

Rules: what this device believed is an index lookup on rectangles, never a fold; what was asserted by some
clock value, or what another device believed, is the same fold over the events that were visible.
"None" is passed over wherever the slot believes any value.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from typing import Final

from syncmem.codec import repack
from syncmem.errors import Damaged
from syncmem.model import predicate
from syncmem.model.event import Event, Frontier, Kind, Statement, readable
from syncmem.model.frontier import LOG_START_BYTES, Noted
from syncmem.model.instant import BEGINNING, FOREVER
from syncmem.model.liveness import Liveness, denied
from syncmem.model.plain import Row
from syncmem.model.predicate import UNDECLARED, Predicate
from syncmem.model.record import BY_DENIAL, BY_REFERENCE, DEAD, DENIED, LOG_SHIFT, Record, Role
from syncmem.model.sweep import sweep
from syncmem.model.value import Equality, key, same_stored, to_stored
from syncmem.replica.catalog import VAULT, Slot
from syncmem.replica.chain import Log
from syncmem.replica.in_lanes import Placed as Placed
from syncmem.replica.in_lanes import as_timeline, holds, without_none
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.pages import Swept, Wanted
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.replica import Replica
from syncmem.replica.stretch import Stretch
from syncmem.replica.timelines import NONE_LANE, SINGLE, lane_of, shown_in, spread_over_lanes
from syncmem.replica.told import Told
from syncmem.replica.visible import Visible as Visible
from syncmem.replica.visible import VisibleNames
from syncmem.results import Grade

_Denials = tuple[Equality, Callable[[Record], Record], list[Record]]

CHECKED_FIRST: Final = 100  # beliefs that are held against their claims after opening: some milliseconds
_COLUMNS: Final = "valid_from, valid_to, value, trust, contested, source, claim"
_CURRENT: Final = f"FROM beliefs WHERE slot = ?1 AND lane = ?2 AND known_to = {FOREVER}"
_AS_OF: Final = "FROM beliefs WHERE slot = ?1 AND lane = ?2 AND known_to > ?3 AND known_from <= ?3"
_NOW_AND_BEFORE: Final = f"SELECT {_COLUMNS} {_CURRENT} AND valid_from <= ?3 ORDER BY valid_from DESC LIMIT 2"
_NOW_NEXT: Final = f"SELECT {_COLUMNS} {_CURRENT} AND valid_from = ?3"
_NOW_ALL: Final = f"SELECT {_COLUMNS} {_CURRENT} ORDER BY valid_from"
_THEN: Final = f"SELECT {_COLUMNS} {_AS_OF} AND valid_from <= ?4 AND valid_to > ?4 LIMIT 1"
_THEN_BEFORE: Final = f"SELECT {_COLUMNS} {_AS_OF} AND valid_to = ?4"
_THEN_NEXT: Final = f"SELECT {_COLUMNS} {_AS_OF} AND valid_from = ?4"
_THEN_ALL: Final = f"SELECT {_COLUMNS} {_AS_OF} ORDER BY valid_from"
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

    # -- rectangles ---------------------------------------------------------------------------------

    def at(self, slot: Slot, instant: int, n: int | None = None) -> list[Placed]:
        """What is (or, at transaction ``n``, was) believed of a slot at a valid instant.

        A rectangle reaches as far as its value holds without a gap; all else is that of the instant.
        """
        definition = self._replica.catalog.predicate(slot.scope, slot.predicate)
        equality = definition.equality
        if n is None and not definition.many:
            now = self._now_at(equality, slot.id, SINGLE, instant)
            return [] if now is None else [(SINGLE, now)]
        look = partial(self._now_at, equality) if n is None else partial(self._then_at, equality, n)
        if not definition.many and (single := look(slot.id, SINGLE, instant)) is not None:
            return [(SINGLE, single)]
        found = [(lane, look(slot.id, lane, instant)) for lane in self._lanes(slot, n)]
        placed = [(lane, rectangle) for lane, rectangle in found if rectangle is not None]
        return placed if len(placed) < 2 else [p for p in without_none(placed) if holds(p, instant)]

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

    def of_value(self, slot: Slot, value_key: bytes, instant: int) -> Rectangle | None:
        """What is believed at a valid instant in the lane that a value belongs to."""
        definition = self._replica.catalog.predicate(slot.scope, slot.predicate)
        lane = lane_of(value_key) if definition.many else SINGLE
        return self._now_at(definition.equality, slot.id, lane, instant)

    def in_lane(self, slot: Slot, lane: bytes, instant: int, n: int | None = None) -> list[Placed]:
        """As :meth:`at`, of one lane."""
        if lane in (NONE_LANE, SINGLE):
            return [placed for placed in self.at(slot, instant, n) if placed[0] == lane]
        equality = self._replica.catalog.predicate(slot.scope, slot.predicate).equality
        found = (
            self._now_at(equality, slot.id, lane, instant)
            if n is None
            else (self._then_at(equality, n, slot.id, lane, instant))
        )
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

    def _now_at(self, equality: Equality, slot: int, lane: bytes, instant: int) -> Rectangle | None:
        rows = self._db.execute(_NOW_AND_BEFORE, (slot, lane, instant)).fetchall()
        if not rows or rows[0][1] <= instant:
            return None
        found = Rectangle._make(rows[0])
        while len(rows) > 1 and rows[1][1] == found.valid_from and same_stored(rows[1][2], found.value, equality):
            found = found._replace(valid_from=rows[1][0])  # it began to hold earlier, without a gap
            rows = self._db.execute(_NOW_AND_BEFORE, (slot, lane, found.valid_from)).fetchall()
        return found if found.valid_to == FOREVER else self._to_its_end(equality, slot, lane, found)

    def _to_its_end(self, equality: Equality, slot: int, lane: bytes, found: Rectangle) -> Rectangle:
        """A current rectangle, ended where its value ceases to hold."""
        while found.valid_to != FOREVER:
            after = self._db.execute(_NOW_NEXT, (slot, lane, found.valid_to)).fetchone()
            if after is None or not same_stored(after[2], found.value, equality):
                break
            found = found._replace(valid_to=after[1])
        return found

    def _then_at(self, equality: Equality, n: int, slot: int, lane: bytes, instant: int) -> Rectangle | None:
        row = self._db.execute(_THEN, (slot, lane, n, instant)).fetchone()
        if row is None:
            return None
        found = Rectangle._make(row)
        while before := self._db.execute(_THEN_BEFORE, (slot, lane, n, found.valid_from)).fetchone():
            if not same_stored(before[2], found.value, equality):
                break
            found = found._replace(valid_from=before[0])
        while after := self._db.execute(_THEN_NEXT, (slot, lane, n, found.valid_to)).fetchone():
            if not same_stored(after[2], found.value, equality):
                break
            found = found._replace(valid_to=after[1])
        return found

    def transaction_at(self, time: int) -> int:
        """The last transaction whose corrected time is at most ``time``; 0 before the first."""
        last = self._replica.last_transaction
        eras = self._db.execute("SELECT first FROM eras ORDER BY first DESC").fetchall()
        for (first,) in [*eras, (1,)]:
            count = bisect_right(range(first, last + 1), time, key=self._time_of)
            if count:
                return int(first + count - 1)
            last = first - 1
        return 0

    def _time_of(self, n: int) -> int:
        return int(self._db.execute("SELECT time FROM transactions WHERE n = ?", (n,)).fetchone()[0])

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

    def folded(self, slot: Slot, visible: Visible) -> list[Placed]:
        """What the visible events alone make of a slot."""
        fold = self._replica.fold
        result: list[Placed] = []
        definition = self.definition(slot, visible)
        for lane, held in spread_over_lanes(self.records(slot, visible), definition.many).items():
            segments, _ = sweep([record for record in held if record.counts])
            rows = fold.rectangles.rows(Swept(BEGINNING, FOREVER, segments, None), shown_in(lane))
            result += [(lane, row) for row in rows]
        return as_timeline(result, definition.equality)

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
                in_logs = sorted(held)  # by position: what lies together is read once
                judged = [_judged(settled(record), liveness.status(record.position), ours) for record in in_logs]
                return sorted(judged, key=lambda record: (record.start, record.position))
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
        liveness = Liveness(self._replica.fold.references, visible)
        for scope in (slot.scope, VAULT):
            found = self._replica.fold.definition(scope, slot.predicate, liveness, visible)
            if found is not None:
                return predicate.read(found[1].settings)
        return UNDECLARED

    def asserted_by(self, clock: int) -> Visible:
        """Visible: events whose corrected clock is at most ``clock``."""
        logs, clocks = self._replica.logs, self._replica.clocks

        def admits(position: int) -> bool:
            event = logs.event(position) if logs.holds(position) else None
            return isinstance(event, Event) and clocks.corrected(position, event.hlc) <= clock

        return Visible(admits, clock=clock)

    def held_by(self, device: bytes, scope: str, time: int) -> tuple[Visible, Grade]:
        """Visible: what another device held at ``time``, by its frontier notes; and how sure that is."""
        held, grade = self._frontier(device, scope, time)
        admits = Visible(lambda p: 0 < p & SEQ_MASK <= held.get(p >> LOG_SHIFT, 0), with_its_clocks=True)
        return admits, grade

    def _frontier(self, device: bytes, scope: str, time: int) -> tuple[dict[int, int], Grade]:
        logs, clocks = self._replica.logs, self._replica.clocks
        held: dict[int, int] = {}
        later = False
        for log in logs.by_no.values():
            if log.key is None or log.key.device != device or log.key.scope not in (scope, VAULT):
                continue  # definitions and links in "vault" count in every scope
            written = self._written(log)
            times = [clocks.corrected(log.position(seq), clock) for seq, clock, _ in written]
            count = max((index for index, moment in enumerate(times, 1) if moment <= time), default=0)
            later = later or (count < len(written) and log.key.scope == scope)
            until = written[count][0] - 1 if count < len(written) else log.seq
            held[log.no] = max(held.get(log.no, 0), min(until, log.seq))
            for _, _, said in written[:count]:
                for number, last in self._seen(said):
                    held[number] = max(held.get(number, 0), last)
        if self._redacted(held, scope):
            return held, Grade.REDACTED
        if any(number < 0 or logs.by_no[number].seq < last for number, last in held.items()):
            return held, Grade.PARTIAL
        return held, Grade.EXACT if later else Grade.PROVISIONAL

    def _written(self, log: Log) -> list[tuple[int, int, Event | Noted]]:
        """Place, clock and words of what a device wrote into a log, and of notes that it told of, which are to come."""
        placed = (each for first, run in self._replica.logs.runs(log.no) for each in enumerate(run, first))
        events = [(seq, event.hlc, event) for seq, event in placed if isinstance(event, Event)]  # else no clock is left
        told = Told(self._replica.db, self._replica.logs).behind(log)
        return [*events, *((note.place, note.clock, note) for note in told)]

    def _seen(self, said: Event | Noted) -> Iterator[tuple[int, int]]:
        """What a note says that its writer holds: number of a log (-1: it is none that is known here), last place."""
        logs = self._replica.logs
        if isinstance(said, Noted):
            starts = {log.id[:LOG_START_BYTES]: log.no for log in logs.by_no.values()}
            yield from ((starts.get(start, -1), last) for start, last in said.changed)
            return
        note = readable(said) if said.kind == Kind.FRONTIER else None
        for entry in note.changed if isinstance(note, Frontier) else ():
            for log_id, last, _ in self._replica.moves.seen(*entry):
                yield logs.by_id[log_id].no if log_id in logs.by_id else -1, last

    def _redacted(self, held: dict[int, int], scope: str) -> bool:
        """Whether what was held may have had in it what was erased since: where an erasure had not been seen yet."""
        logs = self._replica.logs
        erasures = self._replica.erasures.all_in(scope)
        if erasures and all(p & SEQ_MASK <= held.get(p >> LOG_SHIFT, 0) for p in erasures):
            return False
        return any(logs.any_erased(number, last) for number, last in held.items() if number in logs.by_no)


def _seen(visible: Visible, wanted: Wanted | None, rows: list[Row]) -> list[Row]:
    return [row for row in (rows if wanted is None else wanted(rows)) if visible.row(row)]


def _judged(record: Record, status: int, denials: list[Record]) -> Record:
    """A record with the status that the visible events give it."""
    flags = record.flags & ~(BY_REFERENCE | BY_DENIAL) | status
    if denials and record.role <= Role.TEMPORARY:
        flags |= denied(record, denials)
    return record._replace(flags=flags)
