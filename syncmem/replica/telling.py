"""Telling: beliefs, events, histories and reasons as the plain objects that callers get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from syncmem.errors import NotFound
from syncmem.model.event import (
    LOG_PREFIX_BYTES,
    Define,
    Erased,
    Event,
    Form,
    Kind,
    Retract,
    Statement,
    Undo,
    readable,
)
from syncmem.model.instant import dated, shown, to_datetime
from syncmem.model.record import (
    DENIED,
    DETACHED,
    LOG_SHIFT,
    RETRACTED,
    UNDONE,
    WITHDRAWN,
    Record,
    Role,
)
from syncmem.model.value import NONE, decode, from_stored
from syncmem.replica.catalog import Slot
from syncmem.replica.logs import SEQ_MASK
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
    Kind.EPISODE: "observe",
}
QUOTED_CHARACTERS_MAX: Final = 1_000  # of a passage that is shown with a claim
_STATUS: Final = (
    (UNDONE, "undone"),
    (RETRACTED, "retracted"),  # what somebody said of this one tells more than what befell its batch
    (DENIED, "denied"),
    (WITHDRAWN, "withdrawn"),
    (DETACHED, "detached"),
)


class Telling:
    """Turns positions and rectangles of one replica into results."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    # -- beliefs ------------------------------------------------------------------------------------

    def belief(self, slot: Slot, rectangle: Rectangle, grade: Grade = Grade.EXACT) -> Belief:
        start, end, value, trust, contested, source, claim = rectangle
        return Belief(
            *(slot.scope, slot.entity, slot.predicate, from_stored(value), dated(start), to_datetime(end)),
            *(trust, self._replica.catalog.source(source), contested != 0, self.event_id(claim), grade),
        )

    def value(self, record: Record) -> object:
        """The value of a statement."""
        return decode(record.value)

    def change(self, rectangle: Rectangle) -> Change:
        return Change(
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

    def about(self, slot: Slot) -> list[int]:
        """Positions of all events that concern a slot, in order of arrival."""
        replica = self._replica
        equality = replica.catalog.predicate(slot.scope, slot.predicate).equality
        records = [*replica.fold.pages.records(slot.id, equality), *replica.fold.timelines.denials(slot.id, equality)]
        positions = {record.position for record in records}
        waiting = list(positions)
        while waiting:
            position = waiting.pop()
            actor = replica.fold.references.actor(position)
            naming = [source for _, source in replica.fold.references.links_to(position)]
            if actor is not None and actor.batch is not None:
                naming += replica.fold.references.withdrawals(actor.batch)
            new = set(naming) - positions
            positions |= new
            waiting += sorted(new)
        sql = "SELECT position FROM definitions WHERE predicate = ?"
        positions |= {row[0] for row in replica.db.execute(sql, (slot.predicate,)).fetchall()}
        return sorted(positions, key=lambda position: (replica.logs.arrival(position), position))

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
            **self._said(position, event, payload),
            batch=getattr(payload, "batch", None),
            reason=_reason(payload),
            device=self.device_id(replica.logs.key_of(position).device),
            asserted_at=shown(clock),
            arrived_at=shown(time[0]) if time else None,
            known=n,
            status=self.status(position, payload),
            effect="" if slot is None else self._effect(slot, n),
            names=tuple(str(self._replica.logs.meant(ref)) for ref in _named(payload)),
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
        quote = self.quote(source.episode, source.span)
        return {**said, "trust": getattr(payload, "trust", 0), "source": source, "quote": quote}

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
        flags = self._replica.fold.liveness.status(position)
        if isinstance(payload, Statement) and self._replica.fold.is_denied(position):
            event = self._replica.logs.event(position)
            flags |= DENIED if isinstance(event, Event) and event.kind in (Kind.CLAIM, Kind.AFFIRM) else 0
        return next((word for bit, word in _STATUS if flags & bit), "live")

    def _effect(self, slot: Slot, n: int) -> str:
        """What transaction ``n`` changed in a slot, in words."""
        columns = "valid_from, valid_to, value, trust, contested, source, claim"
        sql = f"SELECT {columns} FROM beliefs WHERE slot = ? AND {{}} = ? ORDER BY valid_from"
        begun = [Rectangle(*row) for row in self._replica.db.execute(sql.format("known_from"), (slot.id, n)).fetchall()]
        closed = [Rectangle(*row) for row in self._replica.db.execute(sql.format("known_to"), (slot.id, n)).fetchall()]
        return effect(closed, begun)


def effect(closed: Sequence[Rectangle], begun: Sequence[Rectangle]) -> str:
    """Beliefs that were closed and begun, in one sentence."""
    parts = [f"{_shown(r)} holds {_span(r)}" for r in begun]
    still = {r.value for r in begun}
    parts += [f"{_shown(r)} no longer holds {_span(r)}" for r in closed if r.value not in still]
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


def _named(payload: Any) -> list[Any]:
    if isinstance(payload, Retract | Undo):
        return list(payload.refs)
    if isinstance(payload, Statement):
        return list(payload.refs or ())
    return []
