"""References between events: who retracts, corrects, undoes, ends or withdraws whom, who rests on whom; and twins.

Rules: a reference is stored when its event arrives, whether or not its target has; when the target
arrives it is found here.  A reference whose event id does not match its target has no effect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

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
from syncmem.model.evidence import corroboration_of, passage_of, roots_of
from syncmem.model.link import Link
from syncmem.model.liveness import Actor, Relation
from syncmem.model.moved import Moved
from syncmem.model.record import UNFOUNDED, WITHDRAWN, Record, Role
from syncmem.replica.connection import Database
from syncmem.replica.cuts import Cuts
from syncmem.replica.logs import Logs


def references(kind: int, payload: Payload) -> list[tuple[Relation, Ref]]:
    """The references an event makes."""
    if isinstance(payload, Statement):
        relation = Relation.ENDS if kind == Kind.END else Relation.CORRECTS
        named = [(relation, ref) for ref in payload.refs or ()]
        return [*named, *((Relation.RESTS_ON, ref) for ref in roots_of(kind, payload) or ())]
    if isinstance(payload, Retract):
        return [(Relation.RETRACTS, ref) for ref in payload.refs]
    if isinstance(payload, Undo):
        return [(Relation.UNDOES, ref) for ref in payload.refs]
    return []


class References:
    """Reads and writes ``links``, ``passages``, ``batches``, ``members``, ``withdrawals``; looks events up."""

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
        self._derived: bool | None = None  # whether any claim is derived from others; None: to be looked up

    def decide_denials_by(self, denied: Callable[[int], bool]) -> None:
        """Whose word counts on whether a claim is denied (the slots hold the denials)."""
        self._denied = denied

    # -- writing ------------------------------------------------------------------------------------

    def link(self, position: int, made: Iterable[tuple[Relation, Ref]]) -> list[int]:
        """Store the references of one event; the positions it names."""
        meant = [(relation, self._logs.meant(ref)) for relation, ref in made]
        if any(relation == Relation.RESTS_ON for relation, _ in meant):
            self._derived = True
        rows = [(self._logs.position(ref), position, int(relation), ref.id) for relation, ref in meant]
        self._db.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", rows)
        return [row[0] for row in rows]

    def read_passage(self, position: int, passage: bytes) -> list[int]:
        """A statement was taken from a passage; of it and its twins those that are to be looked at again for that."""
        alone = self._db.execute(f"{_TWINS} LIMIT 1", (passage,)).fetchone() is None
        self._db.execute("INSERT OR IGNORE INTO passages VALUES (?, ?)", (passage, position))
        if alone:
            return []
        if self.named_within(position, 1):
            return [row[0] for row in self._db.execute(_TWINS, (passage,)).fetchall()]
        return [position] if self._db.execute(_NAMED_TWINS, (passage, position)).fetchone() else []

    def forget_passage(self, position: int, passage: bytes) -> None:
        """Nothing was taken from a passage by an erased statement."""
        self._db.execute("DELETE FROM passages WHERE passage = ? AND position = ?", (passage, position))

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

    @property
    def any(self) -> bool:
        """Whether any event refers to another or withdraws a batch."""
        sql = "SELECT EXISTS (SELECT 1 FROM links) OR EXISTS (SELECT 1 FROM withdrawals)"
        return bool(self._db.execute(sql).fetchone()[0])

    def are_reached(self, positions: Sequence[int]) -> bool:
        """Whether any event may take one of these back by its name, or by that of its batch."""
        sql = (
            "SELECT EXISTS (SELECT 1 FROM withdrawals) OR "
            "EXISTS (SELECT 1 FROM json_each(?1) j CROSS JOIN links l ON l.target = j.value)"
        )
        return self.any and bool(self._db.rows(sql, (json.dumps(positions),))[0][0])

    def stand_alone(self, records: Sequence[Record]) -> bool:
        """Whether what all records of a slot count for follows from themselves: twins are always in one slot."""
        if not self.any:
            return True
        if self._derived is None:
            sql = "SELECT EXISTS (SELECT 1 FROM links WHERE relation = ?)"
            self._derived = bool(self._db.rows(sql, (int(Relation.RESTS_ON),))[0][0])
        if self._derived or any(record.role > Role.TEMPORARY for record in records):
            return False
        return not self.are_reached([record.position for record in records])

    def status_alone(self, record: Record) -> int:
        """The status flags of a record that stands alone (denials apart)."""
        return record.flags & UNFOUNDED | (WITHDRAWN if self.excluded(record.position) else 0)

    def withdrawals(self, batch: tuple[str, str]) -> Sequence[int]:
        sql = "SELECT position FROM withdrawals WHERE batch = (SELECT id FROM batches WHERE scope = ? AND name = ?)"
        return [row[0] for row in self._db.execute(sql, batch)]

    def twins(self, position: int) -> list[int]:
        """A statement's twins, itself included."""
        actor = self.actor(position)
        rows = [] if actor is None or actor.twins is None else self._db.execute(_TWINS, (actor.twins,)).fetchall()
        return [row[0] for row in rows] or [position]

    def named_twins(self, actor: Actor) -> list[int]:
        """See :class:`syncmem.model.liveness.Links`."""
        found = self._db.execute(_NAMED_TWINS, (actor.twins, actor.position)).fetchall()
        return [row[0] for row in found if self._logs.holds(row[0])]

    def resting_on(self, claim: int) -> list[int]:
        """The statements that rest on a claim: ends that name it, and claims that are derived from it."""
        return [source for relation, source in self.links_to(claim) if relation in (Relation.ENDS, Relation.RESTS_ON)]

    def roots(self, claim: Actor) -> list[int | None]:
        """See :class:`syncmem.model.liveness.Links`."""
        return [self._claim_meant(claim.position, ref) for ref in claim.roots or ()]

    def grounds(self, position: int) -> list[int]:
        """The claims on which a statement rests: the one that an end names, those that a claim is derived from."""
        actor = self.actor(position)
        if actor is None or not actor.retractable:
            return []
        return [claim for claim in [self.named_claim(position), *self.roots(actor)] if claim is not None]

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
        actor = self.actor(position)
        claims = (self._claim_meant(position, ref) for ref in (() if actor is None else actor.ends))
        return next((claim for claim in claims if claim is not None), None)

    def _claim_meant(self, position: int, ref: Ref) -> int | None:
        """The claim that an event means by a reference, if it has arrived and is one of its scope."""
        target = self._logs.position(ref)
        if not self._logs.holds(target) or self._logs.ref(target).id != self._logs.meant(ref).id:
            return None
        if self._logs.key_of(target).scope != self._logs.key_of(position).scope:
            return None
        event = self._logs.event(target)
        return target if not isinstance(event, Erased) and event.kind in (Kind.CLAIM, Kind.AFFIRM) else None

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
        self, position: int, kind: int, payload: Statement | Retract | Withdraw | Undo | Define | ClockNote | Link
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
            **_evidence(key.scope, kind, payload),
        )


_TWINS: Final = "SELECT position FROM passages WHERE passage = ?"
_NAMED_TWINS: Final = f"{_TWINS} AND position <> ? AND position IN (SELECT target FROM links)"


def _evidence(scope: str, kind: int, payload: Payload) -> dict[str, Any]:
    """What liveness needs to know of the grounds of a statement."""
    if not isinstance(payload, Statement) or (payload.refs is None and payload.extra is None):
        return {}
    roots = roots_of(kind, payload)
    return {
        "corrects": kind != Kind.END and bool(payload.refs),
        "ends": tuple(payload.refs or ()) if kind == Kind.END else (),
        "twins": passage_of(scope, kind, payload),
        "roots": None if roots is None else tuple(roots),
        "corroborated_by": corroboration_of(payload),
    }
