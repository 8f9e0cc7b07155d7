"""Saying again: what a damaged file still tells of this device's own logs behind what is lost of them.

Rules: only what this device wrote, and cannot be read where it stood, is said again, as a branch that is moved (see
:mod:`syncmem.replica.repair`); whatever was held once, and is held again, arrived when it did the first time.  It can
be done any number of times: what stands somewhere is not said twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from syncmem.model.event import ID_BYTES, Ref, chained
from syncmem.model.record import LOG_SHIFT
from syncmem.replica.chain import Log
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.mending import Cut
from syncmem.replica.repair import Branch
from syncmem.replica.replica import Replica
from syncmem.replica.salvage import Salvage
from syncmem.replica.vouched import Placed, placed

_LOST: Final = bytes(32)  # stands for the header hash of an event that nobody here can read


class Lacking(NamedTuple):
    """Places of a log that were held, and are nowhere now."""

    log: bytes
    device: bytes
    own: bool
    events: int


class Resaying:
    """Works on an opened replica with what its damaged file still tells."""

    def __init__(self, replica: Replica, salvage: Salvage, cuts: Sequence[Cut]) -> None:
        self._replica = replica
        self._logs = replica.logs
        self._cuts = cuts
        runs, covers = salvage.runs(), salvage.covers()
        ends = salvage.rows("said", "log, place, looked", "log")
        self._notes = {no: {*range(place + 1, looked + 1)} for no, place, looked in ends}  # at the ends of logs
        self._told: dict[bytes, list[Placed]] = {}
        self._lost: dict[bytes, dict[int, int]] = {}  # by log and place, when what cannot be read arrived
        for cut in cuts:
            log = self._logs.by_id[cut.log]
            of_log = {block: cover for (no, block), cover in covers.items() if no == log.no}
            every = list(placed(log, runs.get(log.no, []), of_log))
            self._told[cut.log] = [one for one in every if one.seq > cut.kept]
            hints = {place & SEQ_MASK: tx for place, tx in salvage.hints.items() if place >> LOG_SHIFT == log.no}
            self._lost[cut.log] = dict(_lost(every, cut, hints, replica.last_transaction))

    def say(self) -> int:
        """Say again what can be, and let all arrive when it did; how many events were said."""
        branches = []
        for cut in self._cuts:
            log = self._logs.by_id[cut.log]
            if self._replica.author.can_move(log):
                branches.append(list(self._branches(log)))
        branches = [found for found in branches if found]
        self._replica.rescue(branches, self._arrivals)
        return sum(len(branch.events) for found in branches for branch in found)

    def lacking(self) -> list[Lacking]:
        """What is nowhere, but for notes at the ends of logs that nobody had been sent: nothing follows from them."""
        found = []
        for cut in self._cuts:
            log = self._logs.by_id[cut.log]
            lost = set(range(max(cut.kept, log.seq) + 1, cut.last + 1)) - self._stands_elsewhere(log)
            lost -= self._notes.get(log.no, set())
            if lost:
                found.append(Lacking(log.id, log.device, log.written_here, len(lost)))
        return found

    def _stands_elsewhere(self, log: Log) -> set[int]:
        sql = "SELECT first, count FROM moves WHERE log = ?"
        rows = self._replica.db.execute(sql, (log.id,)).fetchall()
        return {seq for first, count in rows for seq in range(first, first + count)}

    def _branches(self, log: Log) -> Iterator[Branch]:
        """What of a log is told behind its end and stands nowhere, cut where something is missing."""
        elsewhere = self._stands_elsewhere(log)
        head, last, part = log.head, log.seq, list[Placed]()
        before = head
        for one in self._told[log.id]:
            if one.seq <= log.seq or one.hashed is None:
                continue
            if part and (one.seq != last + 1 or one.seq in elsewhere):
                yield _branch(log, before, part)
                part = []
            for _ in range(last + 1, one.seq):
                head = chained(head, _LOST)
            if one.seq not in elsewhere:
                before = before if part else head
                part.append(one)
            head, last = chained(head, one.hashed), one.seq
        if part:
            yield _branch(log, before, part)

    def _arrivals(self) -> dict[int, int]:
        """Where what was held stands now, if it did not arrive there when it first did: that transaction."""
        found: dict[int, int] = {}
        for id, told in self._told.items():
            for one in told:
                if one.hashed is not None:
                    found[self._logs.position(Ref(id, one.seq, one.hashed[:ID_BYTES]))] = one.tx
            log = self._logs.by_id[id]
            found |= {log.position(seq): tx for seq, tx in self._lost[id].items()}
        held = {position: tx for position, tx in found.items() if self._logs.holds(position)}
        return {position: tx for position, tx in held.items() if self._logs.arrival(position) > tx}


def _lost(told: Sequence[Placed], cut: Cut, hints: dict[int, int], last: int) -> Iterator[tuple[int, int]]:
    """The places that cannot be read, and when they arrived: what is known is that a log arrives in its order."""
    before, reached = 1, cut.kept
    for until, tx in [*((one.seq, one.tx) for one in told), (cut.last + 1, last)]:
        for seq in range(reached + 1, until):
            if before <= hints.get(seq, 0) <= tx:
                yield seq, hints[seq]
            elif until <= cut.last:
                yield seq, max(before, tx)
        before, reached = tx, max(reached, until)


def _branch(log: Log, before: bytes, part: Sequence[Placed]) -> Branch:
    events, hashes = [one.event for one in part], [one.hashed or _LOST for one in part]
    return Branch(log, part[0].seq, before, events, hashes)
