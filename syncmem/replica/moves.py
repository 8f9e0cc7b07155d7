"""Moves: which branches of forked logs are void, and where what stood in them stands now.

Rules: a MOVED event acts once all events that it announces are held, unless it stands behind the cut of a
removed device; then the void branch is as if it had never been taken in, and every reference, frontier note
and clock note that spoke of it speaks of the events that stand in its place.  Where two lives of a device moved
the same branch, or what was moved stands in its own log all the same (its device had lost a part of that log to its
disk, see :mod:`syncmem.replica.mending`), the events in the log with the least id count and their twins have no effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from syncmem import labels
from syncmem.model.event import (
    HEAD_BYTES,
    ID_BYTES,
    ClockNote,
    Erased,
    Event,
    Kind,
    LogKey,
    Ref,
    chained,
    head_words,
    readable,
)
from syncmem.model.moved import Moved
from syncmem.model.record import LOG_SHIFT
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.logs import SEQ_MASK, Logs
from syncmem.seal.keys import verify


class Path(NamedTuple):
    """A void stretch of a log: its places, the chain value before it, and where its first event stands now."""

    log: bytes
    first: int
    size: int
    before: bytes
    signature: bytes
    stands: int

    def now(self, seq: int) -> int:
        """The position at which the event of a void place stands now."""
        return self.stands + seq - self.first


class Moves:
    """Reads and writes the table ``moves``."""

    def __init__(self, database: Database, logs: Logs, cuts: Cuts) -> None:
        self._db = database
        self._logs = logs
        self._cuts = cuts

    def forget(self) -> None:
        """Read anew."""
        rows = self._db.execute("SELECT position, acts FROM moves ORDER BY position").fetchall()
        self._waiting = [position for position, acts in rows if not acts]
        self._are_some = bool(rows)
        self._announced: dict[int, Moved] = {}  # by position, as observed: not all of them are stored yet
        self._void: dict[bytes, dict[tuple[int, bytes], list[Path]]] = {}
        self._within: dict[int, Path] = {}  # by where an event stands now
        self.twins: dict[int, list[int]] = {}
        self._logs.moved, self._cuts.superseded = {}, set()
        acting = [position for position, acts in rows if acts]
        if acting:
            self._index(acting)

    def _index(self, acting: list[int]) -> None:
        copies: dict[Ref, list[Ref]] = {}
        for position in acting:
            moved, path = self._path(position)
            head = path.before
            for seq, hashed in enumerate(moved.hashes, path.first):
                head = chained(head, hashed)
                self._void.setdefault(path.log, {}).setdefault((seq, head), []).append(path)
                self._within[path.now(seq)] = path
                copies.setdefault(Ref(path.log, seq, hashed[:ID_BYTES]), []).append(self._logs.ref(path.now(seq)))
            for ref in self._originals(moved, path):
                copies[ref].append(ref)
        for old, found in copies.items():
            found.sort()
            self._logs.moved[old] = found[0]
            positions = [self._logs.number(ref.log) << LOG_SHIFT | ref.seq for ref in found]
            self._cuts.superseded.update(positions[1:])
            self.twins.update(dict.fromkeys(positions if positions[1:] else (), positions))
        for old in copies:  # what was moved again
            self._logs.moved[old] = self._end_of(old)

    def _originals(self, moved: Moved, path: Path) -> Iterator[Ref]:
        """Of what was moved that which stands in its own log as well, in a branch that is not void."""
        log = self._logs.by_id.get(path.log)
        if log is None or log.seq < path.first or self._logs.head_at(log, path.first - 1) == path.before:
            return
        for seq, hashed in enumerate(moved.hashes[: log.seq - path.first + 1], path.first):
            if self._logs.header_hash(log.position(seq)) == hashed:
                yield Ref(log.id, seq, hashed[:ID_BYTES])

    def look_again(self) -> bool:
        """More of a log came of which something was moved; whether other events count because of it."""
        before = self.twins
        self.forget()
        return self.twins != before

    def _end_of(self, ref: Ref) -> Ref:
        passed = {ref}
        while (after := self._logs.moved.get(ref, ref)) not in passed:
            passed.add(after)
            ref = after
        return ref

    def _path(self, position: int) -> tuple[Moved, Path]:
        event = self._logs.event(position)
        moved = readable(event)
        assert isinstance(moved, Moved), "a row is written for a MOVED event only"
        log = self._key(position, moved).id
        return moved, Path(log, moved.first, len(moved.hashes), moved.head, moved.signature, position + 1)

    def _key(self, position: int, moved: Moved) -> LogKey:
        key = self._logs.key_of(position)
        return LogKey(key.device, moved.incarnation, key.scope)

    # -- what is learned from the logs ----------------------------------------------------------------

    def observe(self, position: int, event: Event | Erased) -> None:
        """Note a MOVED event; it waits for the events that it announces."""
        moved = readable(event) if isinstance(event, Event) and event.kind == Kind.MOVED else None
        if not isinstance(moved, Moved):
            return
        key = self._key(position, moved)
        words = head_words(key.id, moved.first - 1, moved.head)
        signed = moved.first == 1 or verify(key.device, labels.HEAD, words, moved.signature)
        if signed and key.id != self._logs.log_of(position).id:
            row = (position, key.id, moved.first, len(moved.hashes))
            self._db.execute("INSERT OR IGNORE INTO moves (position, log, first, count) VALUES (?, ?, ?, ?)", row)
            self._waiting.append(position)
            self._are_some, self._announced[position] = True, moved

    def copy_in(self, no: int, position: int) -> int | None:
        """Where a log says that it holds a copy of an event, also before the move acts; what follows came after it."""
        if not self._are_some:
            return None
        old, seq = self._logs.log_of(position).id, position & SEQ_MASK
        sql = (
            "SELECT position, first FROM moves WHERE log = ? AND ? BETWEEN first AND first + count - 1 "
            "AND position BETWEEN ? AND ?"
        )
        for stands, first in self._db.execute(sql, (old, seq, no << LOG_SHIFT, no << LOG_SHIFT | SEQ_MASK)).fetchall():
            moved = self._announced.get(stands) or readable(self._logs.event(stands))
            if isinstance(moved, Moved) and moved.hashes[seq - first] == self._logs.header_hash(position):
                return int(stands + 1 + seq - first)
        return None

    def begin_to_act(self) -> list[Path]:
        """Let the moves act that can; their void stretches."""
        ready = [position for position in self._waiting if self._is_whole(position)]
        if ready:
            self._db.executemany("UPDATE moves SET acts = 1 WHERE position = ?", [(p,) for p in ready])
            self.forget()
        return [self._path(position)[1] for position in ready]

    def _is_whole(self, position: int) -> bool:
        count = self._db.execute("SELECT count FROM moves WHERE position = ?", (position,)).fetchone()[0]
        return self._logs.holds(position + count) and not self._cuts.excludes(position)

    # -- what is void ---------------------------------------------------------------------------------

    @property
    def logs(self) -> set[bytes]:
        """The logs of which a branch is void."""
        return set(self._void)

    def path(self, log: bytes, seq: int, head: bytes) -> Path | None:
        """The void stretch that a place of a log with this chain value belongs to, if it is void."""
        found = self._void.get(log, {}).get((seq, head), ())
        return min(found, key=lambda path: (self._logs.log_of(path.stands).id, path.stands), default=None)

    def places(self, log: bytes) -> list[int]:
        """The places of a log at which something is void in some branch."""
        return sorted({seq for seq, _ in self._void.get(log, ())})

    def heads(self, log: bytes, seq: int) -> list[bytes]:
        """The chain values at a place of a log that void branches go through or begin at."""
        through = {head for place, head in self._void.get(log, ()) if place == seq}
        paths = (path for found in self._void.get(log, {}).values() for path in found)
        return sorted(through.union(path.before for path in paths if path.first == seq + 1))

    def standing(self, log: bytes, seq: int, head: bytes) -> list[int]:
        """The positions at which the event of a void place stands now."""
        return [path.now(seq) for path in self._void.get(log, {}).get((seq, head), ())]

    def seen(self, log: bytes, seq: int, start: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """What it means to have seen a log up to a place (with the start of its head): logs and places that stand."""
        if not self._void:
            yield log, seq, start
            return
        heads = [head for place, head in self._void.get(log, ()) if place == seq and head[:HEAD_BYTES] == start]
        path = self.path(log, seq, heads[0]) if heads else None
        if path is None:
            yield log, seq, start
            return
        now = path.now(seq)
        other = self._logs.log_of(now)
        yield other.id, now & SEQ_MASK, self._logs.head_at(other, now & SEQ_MASK)[:HEAD_BYTES]
        if path.first > 1:
            yield from self.seen(log, path.first - 1, path.before[:HEAD_BYTES])

    def notes(self, position: int, note: ClockNote) -> list[ClockNote]:
        """What a clock note speaks of: one that was moved with the branch it speaks of, of where that stands now."""
        path = self._within.get(position)
        found, last = [], note.last
        while path is not None and path.log == note.log and last >= note.first:
            if last >= path.first:
                first, end = (path.now(seq) & SEQ_MASK for seq in (max(note.first, path.first), last))
                end = min(end, path.now(path.first + path.size - 1) & SEQ_MASK)
                found.append(note._replace(log=self._logs.log_of(path.stands).id, first=first, last=end))
                last = path.first - 1
            path = self.path(path.log, path.first - 1, path.before)
        return [*found, note._replace(last=last)] if last >= note.first else found
