"""The verbs that take back: retract, correct, undo, and the correction of a wrong clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any, Final

from syncmem import statements
from syncmem.arguments import keywords_of
from syncmem.ending_as_well import as_one, ends_of, said_again
from syncmem.errors import InvalidInput, NotFound
from syncmem.model.event import (
    TRUST_MAX,
    ClockNote,
    Event,
    Form,
    Kind,
    Ref,
    Retract,
    Statement,
    Then,
    Undo,
    Withdraw,
    readable,
)
from syncmem.model.instant import Moment, to_datetime
from syncmem.model.record import Record
from syncmem.model.subjects import mentioned
from syncmem.remembering import Remembering
from syncmem.replica.catalog import VAULT
from syncmem.replica.logs import SEQ_MASK
from syncmem.results import Receipt, Source
from syncmem.statements import DURATION_MAX, Bounds, Words
from syncmem.writing import Trust

CLOCK_ERROR_MAX: Final = timedelta(days=366 * 200)  # no clock is wrong by more
REFERENCES_MAX: Final = 1_000  # in one event: of at most 46 bytes each, they leave room for a reason
_CLAIM_KINDS: Final = (Kind.CLAIM, Kind.AFFIRM)
_BOUNDS: Final = frozenset(field.name for field in fields(Bounds)) - {"precision"}
_UNSAID: Final[dict[str, Any]] = dict.fromkeys(("trust", "source", "observed_at", "batch", "reason", "zone"))
_SAID: Final = _BOUNDS | _UNSAID.keys() | {"scope", "mentions"}


class TakingBack(Remembering):
    """retract, correct, undo, correct_clock."""

    def retract(
        self,
        *events: str,
        batch: str | None = None,
        scope: str | None = None,
        trust: Trust = None,
        source: Source | str | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """Claims (by id) or a whole batch (by name) were mistakes; what they superseded comes back.

        ``retract(id, ...)`` retracts claims, ends or denials; with ``batch=`` the retraction itself is part of
        that batch.  ``retract(batch=name)`` withdraws everything of the batch, also what arrives later.

        Raises:
            NotFound: an event, or anything of the batch, is not known here.
            InvalidInput: nothing was named, or the events are not all of one scope.
        """
        if not events and batch is None:
            raise InvalidInput("retract names events or a batch; pass event ids, or batch=")
        said = self._words(
            scope=scope or VAULT, trust=trust, source=source, observed_at=None, batch=batch, reason=reason, zone=None
        )
        if not events:
            return self._withdraw(said, scope)
        with self._lock, self._replica.transaction():
            scope, refs = self._named(events)
            payload = Retract(refs, said.trust, said.source.kind, said.source.id, said.batch, said.extra or None)
            return self._write(scope, Kind.RETRACT, payload)

    def _withdraw(self, said: Words, scope: str | None) -> Receipt:
        assert said.batch is not None
        with self._lock, self._replica.transaction():
            sql = "SELECT DISTINCT scope FROM batches WHERE name = ? ORDER BY scope"
            found = [row[0] for row in self._replica.db.execute(sql, (said.batch,))]
            wanted = [scope] if scope is not None else found
            if not wanted:
                raise NotFound(f"no batch {said.batch!r} is known here; pass scope= to withdraw it before it arrives")
            payload = Withdraw(said.batch, said.trust, said.source.kind, said.source.id, said.extra or None)
            return [self._write(each, Kind.WITHDRAW, payload) for each in wanted][-1]

    def correct(self, event: str, value: object, /, **words_and_bounds: Any) -> Receipt:
        """Replace a claim by a right one, atomically. Takes the arguments of :meth:`remember`.

        What is not said again is taken from the corrected claim: its start and its end, as precisely as they were
        stated, how it ages, its scope, whom it mentions, and when it was observed.  So to repair a record says nothing
        about today, and what was said since then stands, also where this device has not heard of it; to vouch for
        today pass ``observed_at``, or :meth:`remember` it.  What had ended the corrected value ends this one, too.
        """
        keywords_of(self.remember, _SAID)(words_and_bounds)
        with self._lock, self._replica.transaction():
            position = self._telling.position(event)
            stored = self._replica.logs.event(position)
            old = readable(stored)
            if not isinstance(old, Statement) or not isinstance(stored, Event) or stored.kind not in _CLAIM_KINDS:
                raise InvalidInput(f"event {event} is no claim; correct the claim itself, or undo the event")
            scope = self._replica.logs.key_of(position).scope
            given = dict(words_and_bounds)
            bounds = {name: given.pop(name) for name in list(given) if name in _BOUNDS}
            said = self._words(**{**_UNSAID, "scope": scope, "mentions": mentioned(old), **given})
            if said.scope != scope:
                raise InvalidInput(f"the claim is in scope {scope!r}; a correction stays in its scope")
            definition = self._replica.catalog.predicate(scope, old.predicate)
            claim = statements.claim(
                old.entity,
                old.predicate,
                value,
                *self._inherited(position, old, said, bounds),
                definition,
                self._now(),
                [self._replica.logs.ref(position)],
            )
            ends = ends_of(self._replica, position, claim.value)
            receipt = self._write(scope, Kind.CLAIM, claim)
            again = [said_again(end, claim, self._ref(receipt.event)) for end in ends]
            return as_one(receipt, [self._write(scope, Kind.END, end) for end in again])

    def _inherited(self, position: int, old: Statement, said: Words, given: dict[str, Any]) -> tuple[Words, Bounds]:
        """Words and bounds of a correction: as given, and where nothing is given those of the claim it corrects."""
        found = self._replica.fold.record_at(position)
        assert found is not None
        if said.observed_at is None:
            said = replace(said, observed_at=found[1].observed_at)
        unsaid = old.start is None and said.observed_at == found[1].start  # and so it stays: it may be of a trip
        extra = old.extra or {}
        precision: dict[str, Any] = {}
        if not given.keys() & {"since", "changed_on"} and not unsaid:
            change = old.form == Form.CHANGE and old.stop is None
            given["changed_on" if change else "since"] = _start_of(old, found[1])
            precision |= _texts(extra, "zone")
        if old.stop is not None and not given.keys() & {"until", "valid_to", "expires_at"}:
            given["valid_to"] = to_datetime(old.stop)
            given.setdefault("then", "resume" if old.then == Then.RESUME else "vacate")
            precision |= _texts(extra, "stop_precision", "zone")
        return said, Bounds(**{**_ageing_of(extra, given), **given}, precision=precision)

    def undo(
        self, *events: str, trust: Trust = None, source: Source | str | None = None, reason: str | None = None
    ) -> Receipt:
        """Take back events as one: claims, ends, retractions, definitions, also other undos.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     said = [memory.remember("ana", "language", name).event for name in ("English", "Portuguese")]
        ...     undone = memory.undo(*said)
        ...     again = memory.undo(undone.event)
        ...     undone.closed[0].value, len(again.opened)
        ('English', 2)

        Raises:
            NotFound: an event is not known here.
            InvalidInput: nothing was named, or the events are not all of one scope.
        """
        if not events:
            raise InvalidInput("undo names events; pass their ids, from receipts or from history()")
        said = self._words(
            scope=VAULT, trust=trust, source=source, observed_at=None, batch=None, reason=reason, zone=None
        )
        with self._lock, self._replica.transaction():
            scope, refs = self._named(events)
            payload = Undo(refs, said.trust, said.source.kind, said.source.id, said.extra or None)
            return self._write(scope, Kind.UNDO, payload)

    def correct_clock(
        self, event: str, offset: timedelta, *, last: str | None = None, reason: str | None = None
    ) -> Receipt:
        """Say that a device's clock was wrong: its events from ``event`` (to ``last``) were written ``offset`` later.

        Args:
            event, last: ids of the first and last event written with the wrong clock (unsaid: to the newest known).
            offset: what must be added to its clock; negative for a clock that was ahead.
        """
        with self._lock, self._replica.transaction():
            first = self._telling.position(event)
            log = self._replica.logs.log_of(first)
            until = self._telling.position(last) & SEQ_MASK if last is not None else log.seq
            said = self._words(
                scope=VAULT, trust=None, source=None, observed_at=None, batch=None, reason=reason, zone=None
            )
            if not isinstance(offset, timedelta) or abs(offset) > CLOCK_ERROR_MAX:
                raise InvalidInput(f"offset is a timedelta of at most {CLOCK_ERROR_MAX.days} days; pass what to add")
            microseconds = offset // timedelta(microseconds=1)
            payload = ClockNote(
                log.id, first & SEQ_MASK, until, microseconds, said.trust, None, None, said.extra or None
            )
            return self._write(self._one_scope([first]), Kind.CLOCK_NOTE, payload)

    def _named(self, events: Sequence[str]) -> tuple[str, list[Ref]]:
        """Events by their ids: their scope, and pointers to them."""
        if len(events) > REFERENCES_MAX:
            raise InvalidInput(
                f"one event names at most {REFERENCES_MAX} others, not {len(events)}; name them in parts"
            )
        positions = [self._telling.position(event) for event in events]
        return self._one_scope(positions), [self._replica.logs.ref(position) for position in positions]

    def _one_scope(self, positions: list[int]) -> str:
        """The scope of events that are named together."""
        scopes = sorted({self._replica.logs.key_of(position).scope for position in positions})
        if len(scopes) > 1:
            raise InvalidInput(f"the events are of several scopes ({', '.join(scopes)}); name those of one at a time")
        return scopes[0]


def _start_of(old: Statement, record: Record) -> Moment:
    """The start of a claim, as precisely as it was stated."""
    if old.start_latest is None:
        return Moment(record.start, record.start, "instant")
    words = _texts(old.extra or {}, "start_precision")
    return Moment(record.start, max(record.start, old.start_latest + 1), words.get("start_precision", "instant"))


def _texts(extra: dict[str, Any], *names: str) -> dict[str, Any]:
    """Those of the optional fields that are there and are text: another version may have written anything."""
    return {name: extra[name] for name in names if isinstance(extra.get(name), str)}


def _ageing_of(extra: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """How a claim lapses or ages, where the correction says nothing of it."""
    found: dict[str, Any] = {}
    for name in {"ttl", "stale_after"} - given.keys():
        stated = extra.get(name)
        if type(stated) is int and 0 < stated <= DURATION_MAX:
            found[name] = timedelta(microseconds=stated)
    if "stale_after" in found and "stale_trust" not in given:
        trust = extra.get("stale_trust")
        found["stale_trust"] = trust if type(trust) is int and 0 <= trust <= TRUST_MAX else 0
    return found
