"""The writing verbs of a Memory, one for each kind of event."""

from __future__ import annotations

from datetime import timedelta, tzinfo
from typing import Any, Final

from syncmem import receipts, statements
from syncmem.codec import pack
from syncmem.errors import InvalidInput, NotFound
from syncmem.model import predicate as predicates
from syncmem.model.event import (
    ClockNote,
    Define,
    Form,
    Kind,
    Payload,
    Ref,
    Retract,
    Statement,
    Then,
    Undo,
    Withdraw,
    readable,
)
from syncmem.model.instant import to_datetime
from syncmem.model.predicate import UNDECLARED
from syncmem.model.record import Role
from syncmem.model.value import encode, from_stored, key
from syncmem.opened import Opened
from syncmem.replica.catalog import VAULT
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.replica import Written
from syncmem.results import Belief, Receipt, Source
from syncmem.statements import Bounds, When, Words

Trust = int | str | None
CLOCK_ERROR_MAX: Final = timedelta(days=366 * 200)  # no clock is wrong by more
_STATEMENT_KINDS: Final = (Kind.CLAIM, Kind.AFFIRM, Kind.END, Kind.DENY)


class Writing(Opened):
    """remember, end, deny, retract, correct, undo, define."""

    def remember(
        self,
        entity: str,
        predicate: str,
        value: object,
        *,
        since: When | None = None,
        changed_on: When | None = None,
        until: When | None = None,
        valid_to: When | None = None,
        then: str | None = None,
        expires_at: When | None = None,
        ttl: timedelta | str | None = None,
        stale_after: timedelta | str | None = None,
        stale_trust: int | str | None = None,
        affirm: bool | None = None,
        scope: str = VAULT,
        trust: Trust = None,
        source: Source | str | None = None,
        observed_at: When | None = None,
        batch: str | None = None,
        reason: str | None = None,
        zone: str | tzinfo | None = None,
    ) -> Receipt:
        """Store a claim: ``entity``'s ``predicate`` is ``value``.

        How it speaks about time follows from what is given:

        * nothing, or ``since=``: a state ("I live in Lisbon, since 2015");
        * ``changed_on=``: a change ("I moved to Berlin in March");
        * ``since=`` and ``until=`` (inclusive) or ``valid_to=`` (exclusive): a period, after which nothing
          follows (``then="vacate"``), or a temporary state, after which the older value returns
          (``then="resume"``); unsaid: temporary if it ends after it was observed, else a period;
        * ``expires_at=``: temporary.

        Args:
            since, changed_on, until, valid_to, expires_at, observed_at: aware datetime, date, or text such as
                "2025-03-14", "2025-03", "2025" (dates need a zone, here or of the Memory).
            ttl: lapses so long after its anchor (timedelta, "30d", "P30D"); else as the predicate is defined.
            stale_after, stale_trust: counts with less trust after so long.
            affirm: whether it only restates; None: if the value equals what is believed at ``observed_at``
                and neither start nor end is given.
            scope: who shares it: "vault" (all devices), "device" (never leaves), or a name.
            trust: 0..100, or "user" (90), "integration" (70), "document" (50), "inference" (30).
            source: a Source, or its kind as text. Documents need ``observed_at``.
            batch: a name under which all of an import can be withdrawn.

        Raises:
            InvalidInput: the value cannot be stored, the times make no sense, a date lacks its zone, ...
        """
        said = self._words(
            scope=scope, trust=trust, source=source, observed_at=observed_at, batch=batch, reason=reason, zone=zone
        )
        bounds = Bounds(since, changed_on, until, valid_to, then, expires_at, ttl, stale_after, stale_trust)
        with self._lock, self._replica.transaction():
            definition = self._replica.catalog.predicate(said.scope, statements.name("predicate", predicate))
            claim = statements.claim(entity, predicate, value, said, bounds, definition, self._now())
            restates = self._restates(said.scope, claim, bounds) if affirm is None else affirm
            return self._write(said.scope, Kind.AFFIRM if restates else Kind.CLAIM, claim)

    def _restates(self, scope: str, claim: Statement, bounds: Bounds) -> bool:
        """Whether a plain statement says what is believed at its observation."""
        slot = self._replica.catalog.find(scope, claim.entity, claim.predicate) if bounds.plain else None
        if slot is None:
            return False
        equality = self._replica.catalog.predicate(scope, claim.predicate).equality
        seen = self._now() if claim.observed_at is None else min(claim.observed_at, self._now())
        wanted = key(pack(claim.value), equality)
        found = self._reading.of_value(slot, wanted, seen)
        return found is not None and key(encode(from_stored(found.value)), equality) == wanted

    def end(
        self,
        entity: str,
        predicate: str,
        value: object,
        *,
        at: When | None = None,
        changed: bool = False,
        event: str | None = None,
        scope: str = VAULT,
        trust: Trust = None,
        source: Source | str | None = None,
        observed_at: When | None = None,
        batch: str | None = None,
        reason: str | None = None,
        zone: str | tzinfo | None = None,
    ) -> Receipt:
        """A value holds no longer.

        Args:
            at: since when. Without ``changed`` ("no longer at Stripe") it vouches for the absence up to the
                observation; with ``changed=True`` ("left in July") it clips only what began before.
            event: the claim that this is about; the end counts only while that claim does.
        """
        said = self._words(
            scope=scope, trust=trust, source=source, observed_at=observed_at, batch=batch, reason=reason, zone=zone
        )
        with self._lock, self._replica.transaction():
            named = None if event is None else [self._ref(event)]
            statement = statements.ending(entity, predicate, value, said, at, changed, named)
            if event is not None:
                self._check_names_its_claim(event, said.scope, statement)
            return self._write(said.scope, Kind.END, statement)

    def deny(
        self,
        entity: str,
        predicate: str,
        value: object,
        *,
        scope: str = VAULT,
        trust: Trust = None,
        source: Source | str | None = None,
        observed_at: When | None = None,
        batch: str | None = None,
        reason: str | None = None,
        zone: str | tzinfo | None = None,
    ) -> Receipt:
        """A value was never true: it stands against all its claims so far, also those that arrive later."""
        said = self._words(
            scope=scope, trust=trust, source=source, observed_at=observed_at, batch=batch, reason=reason, zone=zone
        )
        with self._lock, self._replica.transaction():
            return self._write(said.scope, Kind.DENY, statements.denial(entity, predicate, value, said))

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
            positions = [self._telling.position(event) for event in events]
            refs = [self._replica.logs.ref(position) for position in positions]
            payload = Retract(refs, said.trust, said.source.kind, said.source.id, said.batch, said.extra or None)
            return self._write(self._one_scope(positions), Kind.RETRACT, payload)

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

        What is not said again is taken from the corrected claim: its start, its end, its scope.
        """
        with self._lock, self._replica.transaction():
            position = self._telling.position(event)
            old = readable(self._replica.logs.event(position))
            if not isinstance(old, Statement) or self._replica.logs.event(position).kind not in _CLAIM_KINDS:
                raise InvalidInput(f"event {event} is no claim; correct the claim itself, or undo the event")
            scope = self._replica.logs.key_of(position).scope
            given = dict(words_and_bounds)
            bounds = self._inherited(position, old, {n: given.pop(n) for n in list(given) if n in _BOUNDS})
            said = self._words(**{**_UNSAID, "scope": scope, **given})
            if said.scope != scope:
                raise InvalidInput(f"the claim is in scope {scope!r}; a correction stays in its scope")
            definition = self._replica.catalog.predicate(scope, old.predicate)
            claim = statements.claim(
                old.entity,
                old.predicate,
                value,
                said,
                bounds,
                definition,
                self._now(),
                [self._replica.logs.ref(position)],
            )
            return self._write(scope, Kind.CLAIM, claim)

    def _inherited(self, position: int, old: Statement, given: dict[str, Any]) -> Bounds:
        """The bounds of a correction: as given, and where nothing is given those of the claim it corrects."""
        found = self._replica.fold.record_at(position)
        assert found is not None
        bounded = old.stop is not None
        if not given.keys() & {"since", "changed_on"}:
            change = old.form == Form.CHANGE and not bounded
            given["changed_on" if change else "since"] = to_datetime(found[1].start)
        if bounded and old.stop is not None and not given.keys() & {"until", "valid_to", "expires_at"}:
            given["valid_to"] = to_datetime(old.stop)
            given.setdefault("then", "resume" if old.then == Then.RESUME else "vacate")
        return Bounds(**given)

    def undo(
        self, event: str, *, trust: Trust = None, source: Source | str | None = None, reason: str | None = None
    ) -> Receipt:
        """Take back one event: a claim, an end, a retraction, a definition, also another undo."""
        said = self._words(
            scope=VAULT, trust=trust, source=source, observed_at=None, batch=None, reason=reason, zone=None
        )
        with self._lock, self._replica.transaction():
            position = self._telling.position(event)
            ref = self._replica.logs.ref(position)
            payload = Undo(ref, said.trust, said.source.kind, said.source.id, said.extra or None)
            return self._write(self._one_scope([position]), Kind.UNDO, payload)

    def define(
        self,
        predicate: str,
        *,
        cardinality: str,
        equality: str | None = None,
        ttl: timedelta | str | None = None,
        stale_after: timedelta | str | None = None,
        stale_trust: int | str | None = None,
        then: str | None = None,
        sensitive: bool | None = None,
        description: str | None = None,
        scope: str = VAULT,
        trust: Trust = None,
        source: Source | str | None = None,
        batch: str | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """Say what a predicate is like: single- or many-valued, how it ages and compares.

        Args:
            cardinality: "single" or "many".
            equality: when two values are the same: "exact", "casefold", "number", "date".
            ttl, stale_after, stale_trust, then: defaults for its claims, stored in each claim when written.
            sensitive: changes are to be confirmed by the user.
        """
        said = self._words(
            scope=scope, trust=trust, source=source, observed_at=None, batch=batch, reason=reason, zone=None
        )
        settings = predicates.checked(
            {
                "cardinality": cardinality,
                "equality": equality,
                "ttl": statements.duration_of(ttl),
                "stale_after": statements.duration_of(stale_after),
                "stale_trust": None if stale_trust is None else statements.trust_of(stale_trust),
                "then": then,
                "sensitive": sensitive,
                "description": None if description is None else statements.text("description", description, 8 * 1024),
            }
        )
        name = statements.name("predicate", predicate)
        source_parts = (said.source.kind, said.source.id)
        payload = Define(name, settings, said.trust, *source_parts, said.batch, said.extra or None)
        with self._lock, self._replica.transaction():
            return self._write(said.scope, Kind.DEFINE, payload)

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

    # -- the one way to an event --------------------------------------------------------------------

    def _write(self, scope: str, kind: Kind, payload: Payload) -> Receipt:
        """Append an event and read its receipt off what changed; inside the verb's transaction."""
        written = self._replica.append(scope, [(kind, payload)])
        position = written.positions[-1]
        won = any(rectangle.claim == position for change in written.changes for rectangle in change.added)
        against = self._against(position) if kind in _STATEMENT_KINDS and not won else None
        return self._receipt(kind, payload, written, against, scope)

    def _receipt(self, kind: Kind, payload: Payload, written: Written, against: Belief | None, scope: str) -> Receipt:
        about = payload.predicate if isinstance(payload, Statement) else None
        definition = UNDECLARED if about is None else self._replica.catalog.predicate(scope, about)
        decision = receipts.decide(kind, written.changes, against, definition.equality)
        return Receipt(
            decision=decision,
            event=self._telling.event_id(written.positions[-1]),
            closed=tuple(self._telling.change(r) for change in written.changes for r in change.removed),
            opened=tuple(self._telling.change(r) for change in written.changes for r in change.added),
            lost_to=against,
            why=receipts.sentence(decision, kind, against, written.changes),
            known=written.n,
            undeclared=about is not None and not definition.declared,
        )

    def _against(self, position: int) -> Belief | None:
        """The belief that stands against a statement at the time it speaks about."""
        found = self._replica.fold.record_at(position)
        assert found is not None
        slot, record = found
        instant = record.start if record.observed_at < record.start else min(record.observed_at, record.stop - 1)
        definition = self._replica.catalog.predicate(slot.scope, slot.predicate)
        rectangle = self._reading.of_value(slot, record.key, instant)
        if rectangle is None:
            return None
        same = key(encode(from_stored(rectangle.value)), definition.equality) == record.key
        stands = not same and not definition.many if record.role <= Role.TEMPORARY else same
        return self._telling.belief(slot, rectangle) if stands else None

    def _check_names_its_claim(self, event: str, scope: str, end: Statement) -> None:
        """Refuse an end that names something else than a claim about its own slot."""
        position = self._telling.position(event)
        found = self._replica.fold.record_at(position)
        slot = None if found is None or found[1].role > Role.TEMPORARY else found[0]
        if slot is None or slot[1:] != (scope, end.entity, end.predicate):
            raise InvalidInput(f"event {event} is no claim about {end.entity} {end.predicate}; name one of its claims")

    def _ref(self, event: str) -> Ref:
        return self._replica.logs.ref(self._telling.position(event))

    def _one_scope(self, positions: list[int]) -> str:
        """The scope of events that are named together."""
        scopes = sorted({self._replica.logs.key_of(position).scope for position in positions})
        if len(scopes) > 1:
            raise InvalidInput(f"the events are of several scopes ({', '.join(scopes)}); name those of one at a time")
        return scopes[0]


_CLAIM_KINDS: Final = (Kind.CLAIM, Kind.AFFIRM)
_BOUNDS: Final = frozenset(
    {
        *("since", "changed_on", "until", "valid_to", "then", "expires_at", "ttl", "stale_after", "stale_trust"),
    }
)
_UNSAID: Final[dict[str, Any]] = dict.fromkeys(("trust", "source", "observed_at", "batch", "reason", "zone"))
