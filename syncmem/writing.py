"""The verbs that say something: remember, end, deny, define; and the one way from a verb to an event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta, tzinfo
from functools import partial
from typing import Final

from syncmem import receipts, statements
from syncmem.codec import pack
from syncmem.deriving import derive
from syncmem.errors import InvalidInput
from syncmem.freezing import maker
from syncmem.model import predicate as predicates
from syncmem.model.event import (
    Define,
    Kind,
    Payload,
    Ref,
    Statement,
)
from syncmem.model.predicate import UNDECLARED
from syncmem.model.record import Role
from syncmem.model.value import encode, from_stored, key
from syncmem.opened import Opened
from syncmem.replica.catalog import VAULT
from syncmem.replica.rectangles import Change
from syncmem.results import Belief, Receipt, Source
from syncmem.statements import Bounds, When, Words

Trust = int | str | None
_made_receipt: Final = maker(Receipt)
_STATEMENT_KINDS: Final = (Kind.CLAIM, Kind.AFFIRM, Kind.END, Kind.DENY)


class Writing(Opened):
    """remember, end, deny, define."""

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
        mentions: Iterable[str] = (),
        derived_from: Iterable[str] = (),
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
            affirm: whether it only restates; None: if it says what is believed at ``observed_at``, and no start or end.
            mentions: other entities that the claim speaks of: it goes when one of them is erased.
            derived_from: ids of the claims from which it follows: it counts only while all of them do, and with at most
                their trust. Unsaid, it was observed when the last of them was, and holds for the time that they cover.
            scope: who shares it: "vault" (all devices), "device" (never leaves), or a name.
            trust: 0..100, "user" (90), "integration" (70), "document" (50), "inference" (30); else as source is, or 90.
            source: a Source, or its kind as text, or kind and id ("document:letter"). Documents need ``observed_at``.
            batch: a name under which all of an import can be withdrawn.

        Raises:
            InvalidInput: the value cannot be stored, the times make no sense, a date lacks its zone, ...
        """
        about = {"mentions": mentions, "zone": zone}
        said = self._words(
            scope=scope, trust=trust, source=source, observed_at=observed_at, batch=batch, reason=reason, **about
        )
        bounds = Bounds(since, changed_on, until, valid_to, then, expires_at, ttl, stale_after, stale_trust)
        return self._derived((entity, predicate, value), said, bounds, affirm, listed("derived_from", derived_from))

    def _derived(
        self, what: tuple[str, str, object], said: Words, bounds: Bounds, affirm: bool | None, events: Iterable[str]
    ) -> Receipt:
        """Write a claim that is derived from others, if there are any; more trust than they have is lowered."""
        given = tuple(events)
        if not given:
            return self._claim(*what, said, bounds, affirm)
        with self._lock, self._replica.transaction():
            words, bounds = derive(self._replica, self._telling, given, what[0], said, bounds)
            receipt = self._claim(*what, words, bounds, affirm)
        if words.trust == said.trust:
            return receipt
        return replace(receipt, why=f"{receipt.why} It counts with trust {words.trust}, as what it is derived from.")

    def _claim(
        self, entity: str, predicate: str, value: object, said: Words, bounds: Bounds, affirm: bool | None
    ) -> Receipt:
        """Write a claim, or an affirmation where it only restates."""
        with self._lock, self._replica.transaction():
            now = self._now()
            claim = self._stated(entity, predicate, value, said, bounds, now)
            return self._write(said.scope, self._kind(said.scope, claim, bounds, affirm, now), claim)

    def _stated(self, entity: str, predicate: str, value: object, said: Words, bounds: Bounds, now: int) -> Statement:
        """What a claim states, all its defaults settled."""
        name = statements.name("predicate", predicate)
        definition = self._replica.catalog.predicate(said.scope, name)
        return statements.claim(entity, name, value, said, bounds, definition, now)

    def _kind(self, scope: str, claim: Statement, bounds: Bounds, affirm: bool | None, now: int) -> Kind:
        restates = self._restates(scope, claim, bounds, now) if affirm is None else affirm
        return Kind.AFFIRM if restates else Kind.CLAIM

    def _restates(self, scope: str, claim: Statement, bounds: Bounds, now: int) -> bool:
        """Whether a plain statement says what is believed at its observation."""
        slot = self._replica.catalog.find(scope, claim.entity, claim.predicate) if bounds.plain else None
        if slot is None:
            return False
        seen = now if claim.observed_at is None else min(claim.observed_at, now)
        return self._reading.says(slot, pack(claim.value), seen)

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
        aliases: Iterable[str] = (),
        corroborated_by: int | None = None,
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
            aliases: other names and phrases by which people and models call it.
            corroborated_by: when so many independent sources of one tier say the same, ``consolidate()`` says it once
                more, with a tier more of trust; unsaid: never.
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
                "aliases": [statements.name("alias", alias) for alias in listed("aliases", aliases)] or None,
                "corroborated_by": corroborated_by,
            }
        )
        name = statements.name("predicate", predicate)
        source_parts = (said.source.kind, said.source.id)
        payload = Define(name, settings, said.trust, *source_parts, said.batch, said.extra or None)
        with self._lock, self._replica.transaction():
            return self._write(said.scope, Kind.DEFINE, payload)

    # -- the one way to an event --------------------------------------------------------------------

    def _write(self, scope: str, kind: Kind, payload: Payload) -> Receipt:
        """Append an event and read its receipt off what changed; inside the verb's transaction."""
        written = self._replica.append(scope, [(kind, payload)])
        return self._receipt_of(scope, kind, payload, written.positions[-1], written.n, written.changes)

    def _receipt_of(
        self, scope: str, kind: Kind, payload: Payload, position: int, n: int, changes: Sequence[Change]
    ) -> Receipt:
        """The receipt of an event that was written in transaction ``n`` and made these changes."""
        told = partial(self._receipt, scope, kind, payload, position, n, changes)
        won = any(rectangle.claim == position for change in changes for rectangle in change.added)
        if kind not in _STATEMENT_KINDS or won:
            return told(None)
        status = self._telling.status(position, payload)
        if status == "live":
            return told(self._against(position))
        receipt = told(None)
        return replace(receipt, why=f"{receipt.why} It does not count: {status}.")

    def _receipt(
        self, scope: str, kind: Kind, payload: Payload, position: int, n: int, changes: Sequence[Change],
        against: Belief | None,
    ) -> Receipt:  # fmt: skip
        about = payload.predicate if isinstance(payload, Statement) else None
        definition = UNDECLARED if about is None else self._replica.catalog.predicate(scope, about)
        decision = receipts.decide(kind, changes, against, definition.equality)
        change = self._telling.change
        return _made_receipt(
            decision,
            self._telling.event_id(position),
            tuple([change(rectangle) for each in changes for rectangle in each.removed]),
            tuple([change(rectangle) for each in changes for rectangle in each.added]),
            against,
            receipts.sentence(decision, kind, against, changes),
            n,
            about is not None and not definition.declared,
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
        if slot is None or slot != self._replica.catalog.find(scope, end.entity, end.predicate):
            raise InvalidInput(f"event {event} is no claim about {end.entity} {end.predicate}; name one of its claims")

    def _ref(self, event: str) -> Ref:
        return self._replica.logs.ref(self._telling.position(event))


def listed(what: str, given: Iterable[str]) -> Iterable[str]:
    """Names that were given, and not one text by mistake."""
    if isinstance(given, str):
        raise InvalidInput(f"{what} is a list of names; pass [{given!r}]")
    return given
