"""Many claims at once: said one after the other, folded and signed together.

Rules: what is stored, what is believed and what the receipts say is as if each claim had been remembered in a call of
its own within one transaction, but for the transaction number, which claims that are folded together share.  So that
a receipt can be read off what its claim alone has changed, claims are folded together only as long as no two of them
speak of one timeline; the next one that does is folded after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final, NamedTuple

from syncmem.arguments import keywords_of
from syncmem.codec import pack
from syncmem.errors import InvalidInput, NotFound
from syncmem.model.event import Kind, Statement, worded
from syncmem.model.value import key
from syncmem.replica.catalog import VAULT
from syncmem.replica.rectangles import Change
from syncmem.replica.timelines import NONE_LANE, SINGLE, lane_of
from syncmem.results import Receipt, Source
from syncmem.statements import Bounds, When, Words
from syncmem.writing import Trust, Writing, listed

TOGETHER_MAX: Final = 256  # claims that are folded at once: as many as of a merge, more are no cheaper
_NAMES: Final = frozenset({"entity", "predicate", "value"})
_SAID: Final = ("scope", "trust", "source", "observed_at", "batch", "reason", "zone", "mentions")
_BOUNDS: Final = (
    *("since", "changed_on", "until", "valid_to", "then", "expires_at", "ttl", "stale_after", "stale_trust"),
)
_OTHERS: Final = ("affirm", "derived_from")
_TAKEN: Final = frozenset({*_NAMES, *_SAID, *_BOUNDS, *_OTHERS})
_UNBOUNDED: Final = Bounds()
_Place = tuple[str, str]  # an entity as it stands, a predicate


class _Said(NamedTuple):
    """A claim as it is to be said; of one that is derived from others it is not known yet what it states."""

    claim: Mapping[str, Any]
    said: Words
    bounds: Bounds
    now: int
    stated: Statement | None
    derived_from: Iterable[str] = ()


class _Told(NamedTuple):
    """A claim that waits to be folded."""

    number: int
    kind: Kind
    said: Statement
    place: _Place
    lane: bytes


@dataclass(slots=True)
class _Together:
    """Claims of one scope that are folded together."""

    scope: str
    claims: list[_Told] = field(default_factory=list)
    lanes: dict[_Place, set[bytes]] = field(default_factory=dict)  # those that they speak of
    clock: int = -1  # of the last of them, as it will be

    def add(self, claim: _Told, clock: int) -> None:
        self.claims.append(claim)
        self.lanes.setdefault(claim.place, set()).add(claim.lane)
        self.clock = clock


class Remembering(Writing):
    """remember_all."""

    def remember_all(
        self,
        claims: Iterable[Mapping[str, Any]],
        *,
        scope: str = VAULT,
        trust: Trust = None,
        source: Source | str | None = None,
        observed_at: When | None = None,
        batch: str | None = None,
        reason: str | None = None,
        zone: str | tzinfo | None = None,
    ) -> list[Receipt]:
        """Store many claims, all or none of them; their receipts, in the same order.

        It is :meth:`remember` for each, in one transaction and at less than half the price.  Claims that are folded
        together share a transaction number; what speaks again of what an earlier one spoke of is folded after it.

        Args:
            claims: of each what :meth:`remember` takes, by its names; ``entity``, ``predicate`` and ``value`` at least.
            scope, trust, source, observed_at, batch, reason, zone: of the claims that do not say otherwise.

        Raises:
            InvalidInput, NotFound: as of :meth:`remember`, with the place of the claim; nothing was stored.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     said = [
        ...         {"entity": "ana", "predicate": "language", "value": "Portuguese"},
        ...         {"entity": "ana", "predicate": "pet", "value": "Rex", "since": "2019-05-01T00:00Z"},
        ...     ]
        ...     [str(receipt.decision) for receipt in memory.remember_all(said, source="user")]
        ['ADD', 'ADD']
        """
        alike = dict(zip(_SAID, (scope, trust, source, observed_at, batch, reason, zone, ()), strict=True))
        with self._lock, self._replica.transaction():
            telling = _Telling(self, alike)
            for number, claim in enumerate(claims):
                try:
                    said = telling.read(claim)
                except InvalidInput as error:
                    raise _named(number, error) from error
                telling.tell(number, said)
            telling.fold()
            return telling.receipts


class _Telling:
    """The claims of one call, in the order in which they are said."""

    def __init__(self, memory: Remembering, alike: dict[str, Any]) -> None:
        self._memory = memory
        self._replica = memory._replica
        self._alike = alike
        self._said = memory._words(**alike)
        self._check_fields = keywords_of(memory.remember, _TAKEN)
        self._together = _Together(self._said.scope)
        self.receipts: list[Receipt] = []

    def read(self, claim: Mapping[str, Any]) -> _Said:
        """A claim as it is to be said, if it can be."""
        self._check(claim)
        said, bounds = self._words(claim), self._bounds(claim)
        if derived_from := listed("derived_from", claim.get("derived_from", ())):
            return _Said(claim, said, bounds, 0, None, derived_from)
        now = max(self._memory._now(), self._together.clock)
        stated = self._memory._stated(claim["entity"], claim["predicate"], claim["value"], said, bounds, now)
        return _Said(claim, said, bounds, now, stated)

    def tell(self, number: int, given: _Said) -> None:
        """Say one more; it is folded once something has to be known of it."""
        claim, said, bounds, now, stated, _ = given
        if stated is None:
            self.fold()
            self._derive(number, given)
            return
        place, lane = self._timeline(said.scope, stated)
        if self._is_to_wait(said.scope, stated, place, lane):
            self.fold()
            self._together = _Together(said.scope)
        kind = self._memory._kind(said.scope, stated, bounds, claim.get("affirm"), now)
        told = _Told(number, kind, stated, place, lane)
        self._together.add(told, self._replica.author.tick(self._together.clock))

    def fold(self) -> None:
        """Fold what was said so far, and read the receipts off what changed."""
        together, self._together = self._together, _Together(self._together.scope)
        if not together.claims:
            return
        try:
            written = self._replica.append(together.scope, [(claim.kind, claim.said) for claim in together.claims])
        except InvalidInput as error:
            raise _named(_unwritable(together.claims), error) from error
        changes: dict[int, list[Change]] = {}
        for change in written.changes:
            changes.setdefault(change.slot, []).append(change)
        for position, (_, kind, said, place, lane) in zip(written.positions, together.claims, strict=True):
            found = self._replica.fold.record_at(position)
            own = changes.get(found[0].id, []) if found is not None and changes else []
            if len(together.lanes[place]) > 1:
                own = [change for change in own if change.lane == lane]
            self.receipts.append(self._memory._receipt_of(together.scope, kind, said, position, written.n, own))

    def _derive(self, number: int, given: _Said) -> None:
        claim, what = given.claim, (given.claim["entity"], given.claim["predicate"], given.claim["value"])
        try:
            told = self._memory._derived(what, given.said, given.bounds, claim.get("affirm"), given.derived_from)
        except (InvalidInput, NotFound) as error:
            raise _named(number, error) from error
        self.receipts.append(told)

    # -- what a claim says ----------------------------------------------------------------------------

    def _check(self, claim: Mapping[str, Any]) -> None:
        if type(claim) is not dict and not isinstance(claim, Mapping):
            raise InvalidInput(f"a claim is a dict of what remember() takes, not {type(claim).__name__}; pass dicts")
        if not claim.keys() >= _NAMES:
            raise InvalidInput("a claim has an entity, a predicate and a value; name all three")
        self._check_fields(claim)

    def _words(self, claim: Mapping[str, Any]) -> Words:
        if claim.keys().isdisjoint(_SAID):
            return self._said
        return self._memory._words(**{name: claim.get(name, self._alike[name]) for name in _SAID})

    @staticmethod
    def _bounds(claim: Mapping[str, Any]) -> Bounds:
        if claim.keys().isdisjoint(_BOUNDS):
            return _UNBOUNDED
        return Bounds(**{name: claim[name] for name in _BOUNDS if name in claim})

    # -- who speaks of the same -----------------------------------------------------------------------

    def _timeline(self, scope: str, said: Statement) -> tuple[_Place, bytes]:
        """The timeline that a claim speaks of."""
        place = self._replica.aliases.standing(scope, said.entity), said.predicate
        definition = self._replica.catalog.predicate(scope, said.predicate)
        return place, lane_of(key(pack(said.value), definition.equality)) if definition.many else SINGLE

    def _is_to_wait(self, scope: str, said: Statement, place: _Place, lane: bytes) -> bool:
        """Whether a claim is to be folded after the others: "none" concerns all the values of its slot."""
        together = self._together
        if scope != together.scope or len(together.claims) >= TOGETHER_MAX:
            return True
        lanes = together.lanes.get(place)
        if lanes is None:
            return False
        slot = self._replica.catalog.find(scope, said.entity, said.predicate)
        return (
            lane in lanes
            or NONE_LANE in {lane, *lanes}
            or (slot is not None and self._replica.fold.pages.has_lane(slot.id, NONE_LANE))
        )


def _unwritable(claims: Iterable[_Told]) -> int:
    """The number of the first claim that no event can hold."""
    for claim in claims:
        try:
            worded(claim.kind, 0, claim.said)
        except InvalidInput:
            return claim.number
    raise AssertionError("one of them was refused")


def _named(number: int, error: InvalidInput | NotFound) -> InvalidInput | NotFound:
    """An error that tells which claim is meant."""
    return type(error)(f"claims[{number}]: {error}")
