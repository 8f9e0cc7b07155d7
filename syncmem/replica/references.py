"""References between events: who retracts, corrects, undoes, ends or withdraws whom.

Rules: a reference is stored when its event arrives, whether or not its target has; when the target
arrives it is found here.  A reference whose event id does not match its target has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from syncmem.model.episode import Episode
from syncmem.model.event import (
    STATEMENTS,
    ClockNote,
    Define,
    Erase,
    Erased,
    Frontier,
    Kind,
    Payload,
    Ref,
    Retract,
    Statement,
    Undo,
    Withdraw,
    readable,
)
from syncmem.model.liveness import Actor, Relation
from syncmem.model.moved import Moved
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.logs import Logs


def references(kind: int, payload: Payload) -> list[tuple[Relation, Ref]]:
    """The references an event makes."""
    if isinstance(payload, Statement):
        relation = Relation.ENDS if kind == Kind.END else Relation.CORRECTS
        return [(relation, ref) for ref in payload.refs or ()]
    if isinstance(payload, Retract):
        return [(Relation.RETRACTS, ref) for ref in payload.refs]
    if isinstance(payload, Undo):
        return [(Relation.UNDOES, ref) for ref in payload.refs]
    return []


class References:
    """Reads and writes ``links``, ``batches``, ``members``, ``withdrawals``; looks events up for liveness."""

    def __init__(self, database: Database, logs: Logs, cuts: Cuts) -> None:
        self._db = database
        self._logs = logs
        self.excluded = cuts.excludes  # see :class:`syncmem.model.liveness.Links`
        self._denied: Callable[[int], bool] = lambda position: False
        self.forget()

    def forget(self) -> None:
        self._batches: dict[tuple[str, str], int] = {}
        self._actors: dict[int, Actor] = {}
        self._ids: dict[int, bytes] = {}  # of events that others name

    def decide_denials_by(self, denied: Callable[[int], bool]) -> None:
        """Whose word counts on whether a claim is denied (the slots hold the denials)."""
        self._denied = denied

    # -- writing ------------------------------------------------------------------------------------

    def link(self, position: int, made: Iterable[tuple[Relation, Ref]]) -> list[int]:
        """Store the references of one event; the positions it names."""
        meant = [(relation, self._logs.meant(ref)) for relation, ref in made]
        rows = [(self._logs.position(ref), position, int(relation), ref.id) for relation, ref in meant]
        self._db.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", rows)
        return [row[0] for row in rows]

    def join_batch(self, batch: tuple[str, str], position: int, count: int = 1) -> None:
        """Consecutive events belong to a batch (scope, name)."""
        row = (self.batch_number(batch), position, count)
        self._db.execute("INSERT OR REPLACE INTO members VALUES (?, ?, ?)", row)

    def leave_batch(self, batch: tuple[str, str], position: int) -> None:
        """An erased event is no longer of a batch; a batch of which nothing is left loses its name."""
        number = self.batch_number(batch)
        sql = "SELECT position, count FROM members WHERE batch = ? AND position <= ? ORDER BY position DESC LIMIT 1"
        first, count = self._db.execute(sql, (number, position)).fetchone()
        self._db.execute("DELETE FROM members WHERE batch = ? AND position = ?", (number, first))
        for start, end in ((first, position), (position + 1, first + count)):
            if start < end:
                self.join_batch(batch, start, end - start)
        sql = "SELECT EXISTS (SELECT 1 FROM {} WHERE batch = ?)"
        if not any(self._db.execute(sql.format(t), (number,)).fetchone()[0] for t in ("members", "withdrawals")):
            self._db.execute("DELETE FROM batches WHERE id = ?", (number,))
            self._batches.pop(batch, None)

    def unlink(self, position: int, made: Iterable[tuple[Relation, Ref]]) -> None:
        """Drop the references of an erased event."""
        rows = [(self._logs.position(ref), position, int(relation)) for relation, ref in made]
        self._db.executemany("DELETE FROM links WHERE target = ? AND source = ? AND relation = ?", rows)

    def withdraw(self, batch: tuple[str, str], position: int) -> None:
        """Store a withdrawal."""
        number = self.batch_number(batch)
        self._db.execute("INSERT OR IGNORE INTO withdrawals VALUES (?, ?)", (number, position))

    def batch_number(self, batch: tuple[str, str]) -> int:
        number = self._batches.get(batch)
        if number is None:
            row = self._db.execute("SELECT id FROM batches WHERE scope = ? AND name = ?", batch).fetchone()
            if row is None:
                row = (self._db.execute("INSERT INTO batches (scope, name) VALUES (?, ?)", batch).lastrowid,)
            number = self._batches[batch] = int(row[0])
        return number

    # -- reading ------------------------------------------------------------------------------------

    def members(self, batch: tuple[str, str]) -> list[int]:
        sql = "SELECT position, count FROM members WHERE batch = (SELECT id FROM batches WHERE scope = ? AND name = ?)"
        rows = self._db.execute(sql, batch).fetchall()
        return [position + offset for position, count in rows for offset in range(count)]

    def named_within(self, first: int, count: int) -> set[int]:
        """Which of ``count`` positions from ``first`` are named by some reference."""
        sql = "SELECT DISTINCT target FROM links WHERE target >= ? AND target < ?"
        return {row[0] for row in self._db.execute(sql, (first, first + count))}

    def withdrawals(self, batch: tuple[str, str]) -> Sequence[int]:
        sql = "SELECT position FROM withdrawals WHERE batch = (SELECT id FROM batches WHERE scope = ? AND name = ?)"
        return [row[0] for row in self._db.execute(sql, batch)]

    def links_to(self, position: int) -> Sequence[tuple[Relation, int]]:
        """See :class:`syncmem.model.liveness.Links`; only references that fit their target."""
        rows = self._db.execute("SELECT relation, source, id FROM links WHERE target = ?", (position,)).fetchall()
        if not rows or not self._logs.holds(position):
            return ()
        meant = self._ids.get(position)
        if meant is None:
            meant = self._ids[position] = self._logs.ref(position).id
        same_scope = self._logs.key_of(position).scope
        return [
            (Relation(relation), source)
            for relation, source, event_id in rows
            if event_id == meant and self._logs.key_of(source).scope == same_scope
        ]

    def named_claim(self, position: int) -> int | None:
        event = self._logs.event(position)
        if isinstance(event, Erased) or event.kind != Kind.END:
            return None
        payload = readable(event)
        assert isinstance(payload, Statement)
        for ref in payload.refs or ():
            target = self._logs.position(ref)
            if not self._logs.holds(target) or self._logs.ref(target).id != self._logs.meant(ref).id:
                continue
            if self._logs.key_of(target).scope != self._logs.key_of(position).scope:
                continue
            event = self._logs.event(target)
            if not isinstance(event, Erased) and event.kind in (Kind.CLAIM, Kind.AFFIRM):
                return target
        return None

    def claim_denied(self, position: int) -> bool:
        return self._denied(position)

    def actor(self, position: int) -> Actor | None:
        """What authority needs to know of an event; None while it has not arrived."""
        if position not in self._actors:
            if not self._logs.holds(position):
                return None
            event = self._logs.event(position)
            payload = readable(event)
            if payload is None or isinstance(event, Erased) or isinstance(payload, Frontier | Erase | Moved | Episode):
                return None
            self._actors[position] = self._actor(position, event.kind, payload)
        return self._actors[position]

    def _actor(
        self, position: int, kind: int, payload: Statement | Retract | Withdraw | Undo | Define | ClockNote
    ) -> Actor:
        key = self._logs.key_of(position)
        stated = (payload.source_kind, payload.source_id)
        batch = None if isinstance(payload, Undo | Withdraw) else getattr(payload, "batch", None)
        return Actor(
            position=position,
            trust=payload.trust,
            source=None if stated == (None, None) else stated,
            device=key.device,
            batch=None if batch is None else (key.scope, batch),
            retractable=kind in STATEMENTS,
        )
