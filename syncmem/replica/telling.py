"""Telling: beliefs, events, histories and reasons as the plain objects that callers get."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from syncmem.errors import NotFound
from syncmem.freezing import maker
from syncmem.model.event import (
    LOG_PREFIX_BYTES,
    STATEMENTS,
    Define,
    Erased,
    Event,
    Form,
    Kind,
    Ref,
    Retract,
    Statement,
    Undo,
    readable,
)
from syncmem.model.evidence import roots_of
from syncmem.model.instant import FOREVER, dated, shown, to_datetime
from syncmem.model.link import Link
from syncmem.model.liveness import Relation
from syncmem.model.record import (
    DENIED,
    DETACHED,
    LOG_SHIFT,
    RETRACTED,
    UNDONE,
    UNFOUNDED,
    WITHDRAWN,
    Record,
    Role,
)
from syncmem.model.value import NONE, decode, from_stored
from syncmem.replica.catalog import Slot
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.pages import Wanted
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.repair import Repaired
from syncmem.replica.replica import Replica
from syncmem.results import Belief, Change, Grade, HistoryEntry, RepairedLog, Source

_VERBS: Final = {
    Kind.CLAIM: "remember",
    Kind.AFFIRM: "affirm",
    Kind.END: "end",
    Kind.DENY: "deny",
    Kind.RETRACT: "retract",
    Kind.WITHDRAW: "withdraw",
    Kind.UNDO: "undo",
    Kind.DEFINE: "define",
    Kind.CLOCK_NOTE: "clock_note",
    Kind.FRONTIER: "frontier",
    Kind.ERASE: "erase",
    Kind.MOVED: "moved",
    Kind.SAME: "same",
    Kind.DIFFERENT: "different",
    Kind.EPISODE: "observe",
}
_IN_ORDER_OF_ARRIVAL: Final = (
    "SELECT value FROM json_each(?) ORDER BY "
    "(SELECT tx FROM runs WHERE position <= value ORDER BY position DESC LIMIT 1), value"
)
_belief: Final = maker(Belief)
_change: Final = maker(Change)
EFFECTS_TOLD_MAX: Final = 12  # an import may bring thousands in one transaction
QUOTED_CHARACTERS_MAX: Final = 1_000  # of a passage that is shown with a claim
_STATUS: Final = (
    (UNDONE, "undone"),
    (RETRACTED, "retracted"),  # what somebody said of this one tells more than what befell its batch
    (DENIED, "denied"),
    (WITHDRAWN, "withdrawn"),
    (DETACHED, "detached"),
    (UNFOUNDED, "unfounded"),
)


class Telling:
    """Turns positions and rectangles of one replica into results."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._told: tuple[tuple[int, int, int], str] = (0, 0, 0), ""  # the last effect that was told, and of what

    # -- beliefs ------------------------------------------------------------------------------------

    def belief(self, slot: Slot, rectangle: Rectangle, grade: Grade = Grade.EXACT) -> Belief:
        return self.named(slot.scope, slot.entity, slot.predicate, rectangle, grade)

    def named(
        self, scope: str, entity: str, predicate: str, rectangle: Rectangle, grade: Grade = Grade.EXACT
    ) -> Belief:
        """As :meth:`belief`, of a slot by its names."""
        start, end, value, trust, contested, source, claim = rectangle
        said, since, until = from_stored(value), dated(start), None if end == FOREVER else to_datetime(end)
        named = self._replica.catalog.source(source)
        event = self.event_id(claim)
        return _belief(
            scope, entity, predicate, said, since, until, trust, named, contested != 0, event, grade
        )  # fmt: skip

    def value(self, record: Record) -> object:
        """The value of a statement."""
        return decode(record.value)

    def change(self, rectangle: Rectangle) -> Change:
        return _change(
            from_stored(rectangle.value),
            dated(rectangle.valid_from),
            to_datetime(rectangle.valid_to),
            self.event_id(rectangle.claim),
        )

    # -- event ids ----------------------------------------------------------------------------------

    def event_id(self, position: int) -> str:
        """The public name of an event: the start of its log's id and its place, such as ``5f3a9c01b2d4-42``."""
        return f"{self._replica.logs.by_no[position >> LOG_SHIFT].name}-{position & SEQ_MASK}"

    def position(self, event_id: str) -> int:
        """The position of a named event.

        Raises:
            NotFound: it is not known here, or the name is not one.
        """
        logs = self._replica.logs
        try:
            log_part, seq_part = str(event_id).split("-")
            prefix, seq = bytes.fromhex(log_part), int(seq_part)
        except ValueError as error:
            raise NotFound(f"{event_id!r} is no event id; take one from a receipt or from history()") from error
        found = [log.position(seq) for log in logs.by_no.values() if log.id.startswith(prefix)]
        held = [position for position in found if len(prefix) >= LOG_PREFIX_BYTES and logs.holds(position)]
        if not held and len(prefix) >= LOG_PREFIX_BYTES:
            moved = (now for old, now in logs.moved.items() if old.seq == seq and old.log.startswith(prefix))
            held = [logs.position(now) for now in moved]
        if len(held) != 1:
            raise NotFound(f"event {event_id} has not arrived here; sync or merge first, or check the id")
        if isinstance(logs.event(held[0]), Erased):
            raise NotFound(f"event {event_id} was erased; nothing of it is left, name another one")
        return held[0]

    def repair(self, done: Repaired) -> RepairedLog:
        """A repaired log in public names."""
        log = self._replica.logs.by_id[done.log]
        moved_to = None if done.moved_to is None else done.moved_to[:LOG_PREFIX_BYTES].hex()
        return RepairedLog(log.name, self.device_id(log.device), done.first, done.events, moved_to)

    @staticmethod
    def device_id(device: bytes) -> str:
        """The public name of a device: the start of its key."""
        return device[:LOG_PREFIX_BYTES].hex()

    @staticmethod
    def verb(kind: int) -> str:
        """What an event of a kind does, as :class:`syncmem.HistoryEntry` names it."""
        return _VERBS[Kind(kind)] if kind in list(Kind) else "unknown"

    # -- history ------------------------------------------------------------------------------------

    def says_something(self, position: int) -> bool:
        """Whether an event is a statement."""
        return self._replica.fold.timelines.entity_of(position) is not None

    def about(self, slot: Slot, names: Sequence[str], wanted: Wanted | None = None) -> list[int]:
        """Positions of all events that concern a slot in which some entities stand, in order of arrival.

        ``wanted``: which of its claims and ends are meant.
        """
        replica = self._replica
        equality = replica.catalog.predicate(slot.scope, slot.predicate).equality
        asked, timelines = (slot.scope, names, slot.predicate, equality), replica.fold.timelines
        positions = {record.position for record in [*timelines.held(*asked, wanted), *timelines.denials_of(*asked)]}
        positions |= {said.position for name in names for said in replica.aliases.naming(slot.scope, name)}
        positions |= self._against(positions)
        sql = "SELECT position FROM definitions WHERE predicate = ?"
        positions |= {row[0] for row in replica.db.execute(sql, (slot.predicate,)).fetchall()}
        return [row[0] for row in replica.db.execute(_IN_ORDER_OF_ARRIVAL, (json.dumps(list(positions)),))]

    def _against(self, positions: set[int]) -> set[int]:
        """The events that take back any of these, or what these rest on, and what takes those back."""
        references = self._replica.fold.references
        if not references.any:
            return set()
        found, waiting = set[int](), sorted(positions)  # events of one run are read together
        while waiting:
            position = waiting.pop()
            actor = references.actor(position)
            naming = [source for relation, source in references.links_to(position) if relation != Relation.RESTS_ON]
            naming += self._against_roots(position)
            if actor is not None and actor.batch is not None:
                naming += references.withdrawals(actor.batch)
            new = set(naming) - positions - found
            found |= new
            waiting += sorted(new)
        return found

    def _against_roots(self, position: int) -> list[int]:
        """The events that take back what a claim is derived from, or give it back (statements apart)."""
        references, logs = self._replica.fold.references, self._replica.logs
        roots, waiting, found = {position}, [position], list[int]()
        while waiting:
            new = set(references.grounds(waiting.pop())) - roots
            roots |= new
            waiting += new
        for root in sorted(roots - {position}):
            actor = references.actor(root)
            against = [source for twin in references.twins(root) for _, source in references.links_to(twin)]
            against += references.withdrawals(actor.batch) if actor is not None and actor.batch is not None else []
            found += [source for source in against if _kind(logs.event(source)) not in STATEMENTS]
        return found

    def entry(self, position: int, slot: Slot | None = None) -> HistoryEntry:
        """One event, with its status and, for a slot, what its arrival did there."""
        replica = self._replica
        event = replica.logs.event(position)
        assert isinstance(event, Event), "what was erased is told of nowhere"
        payload = readable(event)
        n = replica.logs.arrival(position)
        time = replica.db.execute("SELECT time FROM transactions WHERE n = ?", (n,)).fetchone()
        clock = replica.clocks.corrected(position, event.hlc)
        return HistoryEntry(
            event=self.event_id(position),
            verb=self.verb(event.kind),
            entity=payload.entity if isinstance(payload, Statement) else None,
            **self._said(position, event, payload),
            batch=getattr(payload, "batch", None),
            reason=_reason(payload),
            device=self.device_id(replica.logs.key_of(position).device),
            asserted_at=shown(clock),
            arrived_at=shown(time[0]) if time else None,
            known=n,
            status=self.status(position, payload),
            effect="" if slot is None else self._effect(slot, payload, n),
            names=tuple(str(replica.logs.meant(ref)) for ref in _named(payload)),
            derived_from=tuple(str(replica.logs.meant(ref)) for ref in _roots(event.kind, payload)),
            predicate=payload.predicate if isinstance(payload, Statement) else None,
        )

    def _said(self, position: int, event: Event, payload: Any) -> dict[str, Any]:
        """The fields of an entry that tell what was said."""
        found = self._replica.fold.record_at(position)
        extra = getattr(payload, "extra", None) or {}
        span = extra.get("span")
        source = Source(
            getattr(payload, "source_kind", None),
            getattr(payload, "source_id", None),
            extra.get("episode"),
            (span[0], span[1]) if type(span) is list and len(span) == 2 else None,
        )
        said: dict[str, Any] = {"value": None, "form": None, "valid_from": None, "valid_to": None, "observed_at": None}
        if found is not None:
            record = found[1]
            said = {
                "value": decode(record.value),
                "form": _form(payload, record),
                "valid_from": dated(record.start),
                "valid_to": to_datetime(record.stop) if record.role <= Role.TEMPORARY else None,
                "observed_at": dated(record.observed_at),
            }
        elif isinstance(payload, Define):
            said["value"] = dict(payload.settings)
        elif isinstance(payload, Link):
            said["value"] = [payload.one, payload.other]
        quote = self.quote(source.episode, source.span)
        return {**said, "trust": getattr(payload, "trust", 0), "source": source, "quote": quote}

    def episode_of(self, position: int) -> object:
        """The episode that an event was taken from, as it names it."""
        extra = getattr(readable(self._replica.logs.event(position)), "extra", None) or {}
        return extra.get("episode")

    def value_of(self, position: int) -> object:
        """The value that a statement says, as it is stored; None for other events."""
        return getattr(readable(self._replica.logs.event(position)), "value", None)

    def quote(self, episode: object, span: tuple[Any, Any] | None) -> str | None:
        """The words of a passage, as far as they are here: nothing is fetched for it."""
        try:
            id = bytes.fromhex(episode) if isinstance(episode, str) else b""
        except ValueError:
            return None
        held = self._replica.fold.episodes.find(id) if id and span is not None else None
        if held is None or span is None or not held.said.text or [*map(type, span)] != [int, int]:
            return None
        return self._replica.fold.episodes.passage(held, *span, QUOTED_CHARACTERS_MAX)

    def status(self, position: int, payload: Any) -> str:
        """ "live", or what took an event back."""
        if payload is None:
            return "unreadable"
        flags = self._flags(position)
        word = next((word for bit, word in _STATUS if flags & bit), "live")
        if word == "retracted":
            return self._retracted(position)
        return self._unfounded(position) if word == "unfounded" else word

    def _flags(self, position: int) -> int:
        """The status flags of an event."""
        fold = self._replica.fold
        return fold.liveness.status(position) | (DENIED if fold.is_denied(position) else 0)

    def _retracted(self, position: int) -> str:
        """How a statement was retracted: by its own name, or with a twin."""
        named = self._replica.fold.liveness.retracted_as(position)
        return "retracted" if position in named else f"retracted with {self.event_id(min(named))}"

    def _unfounded(self, position: int) -> str:
        """Why a derived claim does not count."""
        references = self._replica.fold.references
        claim, lacking = references.actor(position), self._replica.fold.liveness.grounds.lacking(position)
        assert claim is not None and lacking is not None
        roots = [None if root is None else references.actor(root) for root in references.roots(claim)]
        if lacking == position and (not roots or None in roots):
            return "unfounded: what it is derived from is not here"
        if lacking == position:
            more = any(root is not None and root.trust < claim.trust for root in roots)
            return f"unfounded: it {'claims more trust than it is derived from' if more else 'rests on itself'}"
        flags = self._flags(lacking) & ~UNFOUNDED
        why = next((word for bit, word in _STATUS if flags & bit), "unfounded")
        return f"unfounded: {self.event_id(lacking)} is {why}"

    def _effect(self, slot: Slot, payload: Any, n: int) -> str:
        """What transaction ``n``, which brought an event, changed in a slot, in words."""
        entity = payload.entity if isinstance(payload, Statement) else slot.entity
        standing = self._replica.aliases.standing(slot.scope, entity, n)
        slot = self._replica.catalog.named(slot.scope, standing, slot.predicate) or slot
        columns = "valid_from, valid_to, value, trust, contested, source, claim"
        sql = f"SELECT {columns} FROM beliefs WHERE slot = ? AND {{}} = ? ORDER BY valid_from"
        asked = (slot.id, n, self._replica.last_transaction)
        if self._told[0] == asked:  # what arrived together had one effect
            return self._told[1]
        begun = [Rectangle(*row) for row in self._replica.db.execute(sql.format("known_from"), (slot.id, n)).fetchall()]
        closed = [Rectangle(*row) for row in self._replica.db.execute(sql.format("known_to"), (slot.id, n)).fetchall()]
        self._told = asked, effect(closed, begun)
        return self._told[1]


def effect(closed: Sequence[Rectangle], begun: Sequence[Rectangle]) -> str:
    """Beliefs that were closed and begun, in one sentence; of very many the first."""
    still = {r.value for r in begun}
    told = [("holds", r) for r in begun] + [("no longer holds", r) for r in closed if r.value not in still]
    parts = [f"{_shown(r)} {what} {_span(r)}" for what, r in told[:EFFECTS_TOLD_MAX]]
    more = len(told) - EFFECTS_TOLD_MAX
    parts += [f"and {more} more"] * (more > 0)
    return "; ".join(parts) if parts else "changed nothing that is believed"


def _shown(rectangle: Rectangle) -> str:
    value = from_stored(rectangle.value)
    return "none" if value is NONE else str(value)


def _span(rectangle: Rectangle) -> str:
    start, end = dated(rectangle.valid_from), to_datetime(rectangle.valid_to)
    begin = "from the beginning" if start is None else f"from {start:%Y-%m-%d}"
    return begin if end is None else f"{begin} to {end:%Y-%m-%d}"


def _form(payload: Any, record: Record) -> str:
    if record.role == Role.TEMPORARY:
        return "temporary"
    if record.role == Role.PERIOD:
        return "period"
    return "change" if payload.form == Form.CHANGE else "state"


def _reason(payload: Any) -> str | None:
    """The reason that a writer gave."""
    stated = (getattr(payload, "extra", None) or {}).get("reason")
    return stated if isinstance(stated, str) else None


def _kind(event: Event | Erased) -> int | None:
    return event.kind if isinstance(event, Event) else None


def _roots(kind: int, payload: Any) -> list[Ref]:
    """The claims that a claim is derived from."""
    return (roots_of(kind, payload) or []) if isinstance(payload, Statement) else []


def _named(payload: Any) -> list[Any]:
    if isinstance(payload, Retract | Undo):
        return list(payload.refs)
    if isinstance(payload, Statement):
        return list(payload.refs or ())
    return []
