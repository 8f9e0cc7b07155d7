"""Repair of forked logs: what two lives of a device wrote at the same places is all kept, each at a place of its own.

Rules: only a signed head proves a fork.  The device that wrote a log moves one branch (what it wrote here itself,
else the one that arrives) into a new log of a new incarnation: a frontier note that says no more than what the
branch had seen, MOVED events, the events, and a note of all that is held.  Whoever holds a branch that is void
goes back to before it, once everything that stood in it is held where it stands now; when an event arrived
does not change by that.  All of it is part of the transaction in which it was found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from syncmem.errors import BrokenChain, Forked
from syncmem.model.event import Erased, Event, Frontier, Kind, Payload, Ref, chained, head_words, worded
from syncmem.model.frame import Frame, Stored
from syncmem.model.moved import MOVED_MAX, Moved
from syncmem.model.salt import BLOCK_EVENTS
from syncmem.model.sweep import FOLD_VERSION
from syncmem.replica.author import Author
from syncmem.replica.chain import Log, hashes_of
from syncmem.replica.connection import Database
from syncmem.replica.erasures import Erasures
from syncmem.replica.logs import SEQ_MASK, Logs
from syncmem.replica.moves import Moves, Path
from syncmem.replica.pruning import cut_back, redate
from syncmem.replica.sightings import held_in

_ELSEWHERE: Final = "log {} goes on in two ways, and where they part has not arrived; ask the sender for it from there"


class Repaired(NamedTuple):
    """A branch of a log that is void now, from which place on, and how many events."""

    log: bytes
    first: int
    events: int
    moved_to: bytes | None  # the log into which this device moved them; None: they stood where they were moved to


class Branch(NamedTuple):
    """Events that follow ``before`` (the chain value at place ``first`` - 1) in some branch of a log."""

    log: Log
    first: int
    before: bytes
    events: Sequence[Stored]
    hashes: Sequence[bytes]


class Repair:
    """Finds out where branches part, moves own ones, and drops void ones."""

    def __init__(self, database: Database, logs: Logs, moves: Moves, erasures: Erasures, author: Author) -> None:
        self._db = database
        self._logs = logs
        self._moves = moves
        self._erasures = erasures
        self._author = author
        self.begin()

    def begin(self) -> None:
        """A transaction begins."""
        self.done: list[Repaired] = []
        self.stale = False  # what is derived from the logs is to be folded again

    # -- an own log that goes on in another way -------------------------------------------------------

    def part(self, frame: Frame, n: int, why: Forked | BrokenChain) -> None:
        """A signed frame does not fit the log that is held: find where they part, and move a branch.

        Raises:
            Forked, BrokenChain: it is another device's log, or where they part has not arrived yet.
        """
        log = self._logs.by_id[frame.key.id]
        if not log.seq or not self._author.can_move(log):
            raise why
        theirs = self._attached(log, frame, why)
        held = self._logs.head_at(log, theirs.first - 1) if theirs.first <= log.seq else b""
        ours = self._held_from(log, theirs.first) if log.written_here and held == theirs.before else None
        self._move(ours or theirs, n)
        self.settle(n, {log.id})

    def _attached(self, log: Log, frame: Frame, why: Forked | BrokenChain) -> Branch:
        """What of a frame is neither held nor void, with what goes before it."""
        hashes = hashes_of(log, frame.first, frame.events, frame.cover)
        held = self._held_heads(log, frame.first - 1, frame.last)
        for before in [*held[:1], *self._moves.heads(log.id, frame.first - 1)]:
            heads = list(accumulate(hashes, chained, initial=before))
            if heads[-1] == frame.head:
                new = next(
                    i
                    for i in range(len(hashes))
                    if not self._is_known(log, frame.first + i, heads[i + 1], held[i + 1 : i + 2])
                )
                return Branch(log, frame.first + new, heads[new], frame.events[new:], hashes[new:])
        at = min(frame.first - 1, log.seq)
        if not at:
            raise why
        further = log.seq if frame.first - 1 > log.seq else max(at - (log.seq - at) - BLOCK_EVENTS, 0)
        raise BrokenChain(_ELSEWHERE.format(log.name), further)

    def _held_heads(self, log: Log, first: int, last: int) -> list[bytes]:
        """The chain values of a log at consecutive places, as far as they are held."""
        if first > log.seq:
            return []
        positions = range(log.position(first) + 1, log.position(min(last, log.seq)) + 1)
        return list(accumulate(map(self._logs.header_hash, positions), chained, initial=self._logs.head_at(log, first)))

    def _is_known(self, log: Log, seq: int, head: bytes, held: Sequence[bytes]) -> bool:
        return head in held or self._moves.path(log.id, seq, head) is not None

    def _held_from(self, log: Log, first: int) -> Branch:
        """The events that are held from a place on."""
        positions = range(log.position(first), log.position(log.seq) + 1)
        events, hashes = map(self._logs.event, positions), map(self._logs.header_hash, positions)
        return Branch(log, first, self._logs.head_at(log, first - 1), list(events), list(hashes))

    # -- moving ---------------------------------------------------------------------------------------

    def _move(self, branch: Branch, n: int) -> None:
        """Write the events of a branch into an empty log."""
        log, seen = branch.log, self._seen_before(branch)
        new = self._write_anew([branch], seen, n)
        self.done.append(Repaired(log.id, branch.first, len(branch.events), new.id))

    def rescue(self, of_logs: Sequence[Sequence[Branch]], n: int, arrived: Callable[[], dict[int, int]]) -> None:
        """Write what is left of own logs behind places that a disk has lost into empty ones.

        Nobody knows the chain value behind what is lost: this device makes one up, and so that is a branch like any.
        ``arrived``: what arrived earlier than it stands here now (position -> transaction).
        """
        for branches in of_logs:
            log = branches[0].log
            self._write_anew(branches, self._erasures.seen_by(log, log.seq, log.head), n)
        self.settle(n, {branches[0].log.id for branches in of_logs})
        dates = arrived()
        redate(self._db, self._logs, dates)
        self.stale = self.stale or bool(of_logs or dates)

    def _write_anew(self, branches: Sequence[Branch], seen: list[list[object]], n: int) -> Log:
        """Write branches of one log into an empty one, whose writer had seen so much when they began."""
        scope = self._logs.key_of(branches[0].log.position(1)).scope
        new = self._author.empty_log(scope)
        self._say(new, Kind.FRONTIER, Frontier(n, FOLD_VERSION, seen, None), n)
        for branch in branches:
            before = branch.before
            for start in range(0, len(branch.events), MOVED_MAX):
                hashes = list(branch.hashes[start : start + MOVED_MAX])
                self._say(new, Kind.MOVED, self._moved(branch.log, branch.first + start, before, hashes), n)
                self._copy(new, branch.events[start : start + MOVED_MAX], hashes, n)
                *_, before = accumulate(hashes, chained, initial=before)
        self._say(new, Kind.FRONTIER, Frontier(n, FOLD_VERSION, held_in(self._logs, scope), None), n)
        return new

    def _seen_before(self, branch: Branch) -> list[list[object]]:
        """What the writer of a branch had seen when it began, as entries of a frontier note."""
        log, last, head = branch.log, branch.first - 1, branch.before
        path = self._moves.path(log.id, last, head)
        if path is not None:  # the branch goes on from one that is void: the same, where that stands now
            log, last = self._logs.log_of(path.stands), path.now(last) & SEQ_MASK
            head = self._logs.head_at(log, last)
        return self._erasures.seen_by(log, last, head)

    def _moved(self, log: Log, first: int, before: bytes, hashes: list[bytes]) -> Moved:
        assert log.key is not None, "events of it are held"
        signature = self._author.sign(head_words(log.id, first - 1, before)) if first > 1 else b""
        return Moved(log.key.incarnation, first, before, signature, hashes, None)

    def _say(self, log: Log, kind: Kind, payload: Payload, n: int) -> None:
        event, _ = worded(kind, self._author.tick(), payload)
        self._observe(self._write(log, [event], n), event)

    def _copy(self, log: Log, events: Sequence[Stored], hashes: Sequence[bytes], n: int) -> None:
        """Write events into another log: what an erasure forbids stays behind, its header hash takes the place."""
        kept: list[Stored] = []
        for position, event, hashed in zip(range(log.position(log.seq + 1), 2**63), events, hashes, strict=False):
            allowed = isinstance(event, Event) and self._erasures.admit(position, event)
            kept.append(event if allowed else Erased(hashed))
            self._erasures.observe(position, kept[-1])  # what follows may stand after it
        for position, event in enumerate(kept, self._write(log, kept, n)):
            self._moves.observe(position, event)

    def _write(self, log: Log, events: Sequence[Stored], n: int) -> int:
        return self._logs.append(log, events, n, self._author.randomness, self._author.sign)

    def _observe(self, position: int, event: Event) -> None:
        self._erasures.observe(position, event)
        self._moves.observe(position, event)

    # -- what is void -----------------------------------------------------------------------------------

    def settle(self, n: int, touched: Iterable[bytes]) -> None:
        """Let moves act that can, and go back to before what is void; ``touched``: logs of which events came."""
        paths = self._moves.begin_to_act()
        if paths:
            self.stale = any(self._is_spoken_of(path, n) for path in paths) or self.stale
            self._agree_on_arrivals()
        for log_id in sorted({path.log for path in paths}.union(self._moves.logs & set(touched))):
            log = self._logs.by_id.get(log_id)
            if log is not None and log.seq:
                self._settle_log(log, n)

    def _settle_log(self, log: Log, n: int) -> None:
        if self._moves.path(log.id, log.seq, log.head) is not None:
            self._go_back(log)
            return
        if log.seq >= min(self._moves.places(log.id)) and self._moves.look_again():
            self._agree_on_arrivals()
            self.stale = True
        if self._author.can_move(log) and (branch := self._beyond_what_is_void(log)):
            self._move(branch, n)
            self.settle(n, {log.id})

    def _beyond_what_is_void(self, log: Log) -> Branch | None:
        """What this device's log goes on with after a void place: nobody else can move it."""
        first = min(self._moves.places(log.id))
        heads = self._held_heads(log, first - 1, log.seq)
        void = [seq for seq, head in enumerate(heads, first - 1) if self._moves.path(log.id, seq, head)]
        return self._held_from(log, max(void) + 1) if void else None

    def _go_back(self, log: Log) -> None:
        """Drop a void branch; what stood in it arrived when it did."""
        last, head, signature = log.seq, log.head, b""
        while path := self._moves.path(log.id, last, head):
            last, head, signature = path.first - 1, path.before, path.signature
        arrived: dict[int, int] = {}
        for seq, chain_value in enumerate(self._held_heads(log, last, log.seq)[1:], last + 1):
            before = self._logs.arrival(log.position(seq))
            for position in self._moves.standing(log.id, seq, chain_value):
                arrived[position] = min(before, self._logs.arrival(position))
        redate(self._db, self._logs, arrived)
        cut_back(self._db, self._logs, log, last, head, signature)
        self._moves.forget()
        self.stale = True
        if not any(done.log == log.id for done in self.done):
            self.done.append(Repaired(log.id, last + 1, log.seq - last, None))

    def _agree_on_arrivals(self) -> None:
        """Twins arrived when the first of them did."""
        arrived: dict[int, int] = {}
        for twins in self._moves.twins.values():
            arrived |= dict.fromkeys(twins, min(map(self._logs.arrival, twins)))
        if any(self._logs.arrival(position) != when for position, when in arrived.items()):
            redate(self._db, self._logs, arrived)
            self.stale = True

    def _is_spoken_of(self, path: Path, n: int) -> bool:
        """Whether what was derived so far rests on events of a void stretch, or on twins of those that stand."""
        stand = range(path.stands, path.stands + path.size)
        if any(position in self._moves.twins for position in stand):
            return True
        events = ((position, self._logs.event(position)) for position in stand)
        noted = (p for p, event in events if isinstance(event, Event) and event.kind == Kind.CLOCK_NOTE)
        if any(self._logs.arrival(position) < n for position in noted):
            return True
        return path.log in self._logs.by_id and self._is_named(self._logs.by_id[path.log], path)

    def _is_named(self, log: Log, path: Path) -> bool:
        """Whether a reference or a frontier note names an event of a void stretch."""
        first, last = path.first, path.first + path.size - 1
        sql = "SELECT target, id FROM links WHERE target BETWEEN ? AND ?"
        links = self._db.execute(sql, (log.position(first), log.position(last))).fetchall()
        if any(Ref(log.id, target & SEQ_MASK, name) in self._logs.moved for target, name in links):
            return True
        sql = "SELECT last, head FROM sightings WHERE about = ? AND last BETWEEN ? AND ?"
        seen = self._db.execute(sql, (log.no, first, last)).fetchall()
        return any(next(self._moves.seen(log.id, *entry))[0] != log.id for entry in seen)
