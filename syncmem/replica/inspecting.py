"""Inspection: a look at every row that is held, a little at a time, so that rot is found before somebody reads it.

Rules: it goes on where it stood, whichever process did the last part; nothing is changed but the note of that; a part
is small, and between two parts others have their turn.  Of events their checksums and chains are looked at, of
transactions their times; of slots whether they are found by their names, whether their statements say what the events
say, and whether what is believed is what these statements make of it.  What is found stays told until the memory was
repaired, or all was looked at again and was as it was written.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from syncmem.model import salt
from syncmem.model.event import CHAIN_START
from syncmem.model.record import Record
from syncmem.replica.connection import Database
from syncmem.replica.mending import unfinished
from syncmem.replica.reading import Placed, Reading, Visible
from syncmem.replica.replica import Replica
from syncmem.replica.soundness import ODD, OFF_CHAIN, REPAIR, WRONG_TIME, chained_on, damage, follows, told
from syncmem.replica.transactions import checksum

CHORE: Final = "inspect"  # in ``chores``: how far it is
CYCLE: Final = 7 * 86_400_000_000  # microseconds from the beginning of one look at everything to that of the next
FOUND_MAX: Final = 8  # sentences: more say nothing more
_AT_ONCE: Final = 500  # transactions
_SLOTS_AT_ONCE: Final = 10
_OF_SLOTS: Final = 3  # the last kind of rows
_PAGES_MAX: Final = 10_000  # a larger file's structure is looked at by doctor --full alone: it takes one long reading


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a pass of :meth:`syncmem.Memory.inspect` did.

    Attributes:
        rows: how many rows it looked at; ``whole``: all were looked at, and the next pass begins anew when it is time.
        found: what is known to be damaged, as sentences with the next step; none: nothing is.
    """

    rows: int
    whole: bool
    found: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"rows": self.rows, "whole": self.whole, "found": list(self.found)}


class Part(NamedTuple):
    """What one part came to: rows looked at, where to go on (None: that was all of its kind), what was found."""

    rows: int
    then: list[int] | None
    found: list[str]


@dataclass(slots=True)
class Progress:
    """How far an inspection is: which kind of rows, behind which of them, what it found, since when it goes on."""

    begun: int = 0
    stage: int = 0
    at: list[int] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # what the last look at everything found
    whole: bool = True  # all was looked at

    @property
    def known(self) -> list[str]:
        return list(dict.fromkeys([*self.found, *self.before]))


class Inspection:
    """Works on one replica; its owner holds a lock around every call."""

    def __init__(self, replica: Replica, reading: Reading) -> None:
        self._replica = replica
        self._reading = reading
        self._db = replica.db

    def part(self, progress: Progress) -> int:
        """Look at the next few rows; how many. 0: all was looked at."""
        stages = (self._structure, self._transactions, self._events, self._slots)
        if progress.whole:
            return 0
        try:
            done = stages[progress.stage](progress.at)
        except ODD as error:
            done = Part(1, self._behind(progress), [told(error)])
        progress.found = list(dict.fromkeys([*progress.found, *done.found]))[:FOUND_MAX]
        if done.then is not None:
            progress.at = done.then
        else:
            progress.stage, progress.at = progress.stage + 1, []
            if progress.stage == len(stages):
                progress.whole, progress.before = True, []
        return max(done.rows, 1)

    def _behind(self, progress: Progress) -> list[int] | None:
        """Where to go on behind rows that cannot be read."""
        if progress.stage == 1:
            return [(progress.at or [0])[0] + _AT_ONCE] if progress.at and progress.at[0] < self._last else None
        if progress.stage == 2:
            return self._next_block(progress.at)
        return [ids[-1]] if progress.stage == _OF_SLOTS and (ids := self._slots_behind(progress.at)) else None

    # -- kinds of rows ----------------------------------------------------------------------------------

    def _structure(self, at: list[int]) -> Part:
        pages = self._db.execute("PRAGMA page_count").fetchone()[0]
        if pages > _PAGES_MAX:
            return Part(1, None, [])
        rows = self._db.execute("PRAGMA quick_check(3)").fetchall()
        return Part(1, None, [f"the file is damaged: {row[0]}; {REPAIR}" for row in rows if row[0] != "ok"])

    @property
    def _last(self) -> int:
        return self._replica.last_transaction

    def _transactions(self, at: list[int]) -> Part:
        after = at[0] if at else 0
        sql = "SELECT n, wall, crc FROM transactions WHERE n > ? AND n <= ?"
        rows = self._db.execute(sql, (after, after + _AT_ONCE)).fetchall()
        wrong = any(checksum(n, wall) != crc for n, wall, crc in rows)
        then = [after + _AT_ONCE] if after + _AT_ONCE < self._last else None
        return Part(len(rows), then, [WRONG_TIME] if wrong else [])

    def _events(self, at: list[int]) -> Part:
        """One block of one log: its events, its salts, and the chain from its beginning to that of the next."""
        place = self._next_block(at)
        if place is None:
            return Part(0, None, [])
        log, block = self._replica.logs.by_no[place[0]], place[1]
        first, last = max(block * salt.BLOCK_EVENTS, 1), min((block + 1) * salt.BLOCK_EVENTS - 1, log.seq)
        opening = CHAIN_START if first == 1 else self._replica.logs.head_at(log, first - 1)
        events = [self._replica.logs.event(log.position(seq)) for seq in range(first, last + 1)]
        sound = chained_on(self._replica, log, opening, first, events) == self._replica.logs.head_at(log, last)
        return Part(len(events), place, [] if sound else [OFF_CHAIN.format(log.name)])

    def _next_block(self, at: list[int]) -> list[int] | None:
        """The log and the block behind those that were looked at last."""
        for log in sorted(self._replica.logs.by_no.values(), key=lambda log: log.no):
            block = at[1] + 1 if at and log.no == at[0] else 0
            if (not at or log.no >= at[0]) and log.seq and block <= log.seq // salt.BLOCK_EVENTS:
                return [log.no, block]
        return None

    def _slots_behind(self, at: list[int]) -> list[int]:
        sql = "SELECT id FROM slots WHERE id > ? ORDER BY id LIMIT ?"
        return [row[0] for row in self._db.execute(sql, (at[0] if at else 0, _SLOTS_AT_ONCE)).fetchall()]

    def _slots(self, at: list[int]) -> Part:
        ids = self._slots_behind(at)
        found = [sentence for id in ids for sentence in self._of_slot(id)]
        return Part(len(ids), [ids[-1]] if ids else None, found)

    def _of_slot(self, id: int) -> Iterator[str]:
        catalog, fold = self._replica.catalog, self._replica.fold
        slot = catalog.known(id)
        if slot is None:
            return
        if catalog.named(slot.scope, slot.entity, slot.predicate) != slot:
            yield f"a slot is not found by its name: an index of the file is damaged; {REPAIR}"
            return
        if self._replica.aliases.standing(slot.scope, slot.entity) != slot.entity:
            return  # what it held is in the slot of another name
        everything = Visible(lambda position: True)
        for record in self._reading.records(slot, everything):
            event = fold.record_at(record.position)
            if event is None or _said(event[1]) != _said(record):
                yield f"a statement is not what its event says: its row is damaged; {REPAIR}"
                return
        if _shown(self._reading.folded(slot, everything)) != _shown(self._reading.timeline(slot)):
            yield f"what is believed is not what its statements make of it: its rows are damaged; {REPAIR}"


def _said(record: Record) -> tuple[Any, ...]:
    """What its event says, without its status and what is looked up."""
    return (*record[:2], *record[3:12])


def _shown(placed: list[Placed]) -> list[tuple[Any, ...]]:
    return [(lane, *rectangle[:5]) for lane, rectangle in placed]


def all_damage(replica: Replica) -> list[str]:
    """All that is not as it was written: everything is looked at, and folded again.

    Raises:
        ReadOnlyFile, Busy, DiskFull: that cannot be tried now.
    """
    try:
        folded = follows(replica)
    except ODD:
        folded = False
    with replica.db.snapshot():
        replica.refresh()
        found = damage(replica, folded=folded)
        inspection, progress = Inspection(replica, Reading(replica)), Progress(stage=_OF_SLOTS, whole=False)
        while not progress.whole:
            inspection.part(progress)
    return list(dict.fromkeys([*found, *progress.found]))


# -- where it stands ------------------------------------------------------------------------------------


def progress_in(database: Database) -> Progress:
    """How far the inspection is, in whichever process it went on last."""
    row = database.execute("SELECT state FROM chores WHERE name = ?", (CHORE,)).fetchone()
    return Progress() if row is None else Progress(*json.loads(row[0]))


def begin_if_due(progress: Progress, now: int) -> bool:
    """Whether there is something to look at; a new look at everything begins where the last one is old enough."""
    if progress.whole and not progress.begun <= now < progress.begun + CYCLE:
        progress.begun, progress.stage, progress.at, progress.whole = now, 0, [], False
        progress.before, progress.found = progress.known, []
    return not progress.whole


def keep(database: Database, progress: Progress) -> None:
    """Note how far it is; inside a write transaction."""
    p = progress
    state = json.dumps([p.begun, p.stage, p.at, p.found, p.before, p.whole])
    database.execute("INSERT OR REPLACE INTO chores VALUES (?, ?)", (CHORE, state))


def forget(database: Database) -> None:
    """What was found was repaired; inside a write transaction."""
    database.execute("DELETE FROM chores WHERE name = ?", (CHORE,))


def known_damage(database: Database) -> tuple[str, ...]:
    """What is known to be damaged, and a repair that is not finished."""
    found = progress_in(database).known
    if unfinished(database) is not None:
        found.append(f"a repair is not finished; {REPAIR} again")
    return tuple(found)
