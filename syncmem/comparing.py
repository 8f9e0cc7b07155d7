"""What is believed differently than at another time: changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from syncmem import statements
from syncmem.asking import Asking
from syncmem.replica.catalog import VAULT, Slot
from syncmem.replica.transactions import touched_since
from syncmem.results import Belief, as_dict
from syncmem.statements import When


@dataclass(frozen=True, slots=True)
class Difference:
    """A slot of which something else is believed now.

    Attributes:
        before: what this device then believed to hold now; ``now``: what it believes now.
    """

    scope: str
    entity: str
    predicate: str
    before: tuple[Belief, ...]
    now: tuple[Belief, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


class Comparing(Asking):
    """changes."""

    def changes(
        self,
        since: When | int,
        *,
        entity: str | None = None,
        scope: str | None = VAULT,
        zone: str | tzinfo | None = None,
    ) -> list[Difference]:
        """What this device believes of the present now, and did not at another time.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     _ = memory.define("home_city", cardinality="single")
        ...     first = memory.remember("ana", "home_city", "Berlin")
        ...     _ = memory.remember("ana", "home_city", "Lisbon")
        ...     [(change.before[0].value, change.now[0].value) for change in memory.changes(first.known)]
        [('Berlin', 'Lisbon')]

        Args:
            since: a time, or a transaction number from a receipt.
            entity: only of its slots; scope: None: of every scope.
        """
        wanted = None if scope is None else statements.name("scope", scope)
        name = None if entity is None else statements.name("entity", entity)
        with self._looking():
            if name is not None:  # whoever goes by several names is meant by each
                name = self._replica.aliases.standing(wanted or VAULT, name)
            n, instant = self._transaction(since, zone), self._now()
            numbers = {number for _, touched in touched_since(self._replica.db, n) for number in touched}
            slots = filter(None, map(self._replica.catalog.known, numbers))
            asked = [s for s in slots if wanted in (None, s.scope) and name in (None, s.entity)]
            compared = [self._compared(slot, n, instant) for slot in sorted(asked, key=lambda slot: slot[1:])]
            return [each for each in compared if _told(each.before) != _told(each.now)]

    def _compared(self, slot: Slot, n: int, instant: int) -> Difference:
        before, now = (
            tuple(self._telling.belief(slot, rectangle) for _, rectangle in self._reading.at(slot, instant, known))
            for known in (n, None)
        )
        return Difference(slot.scope, slot.entity, slot.predicate, before, now)


def _told(beliefs: tuple[Belief, ...]) -> list[tuple[Any, ...]]:
    """What the user would notice."""
    return [(repr(belief.value), belief.valid_from, belief.valid_to, belief.contested) for belief in beliefs]
