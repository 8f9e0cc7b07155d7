"""What is visible to a question: which events, and under which names entities stand by the links among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from syncmem.model.liveness import Liveness
from syncmem.model.record import Record
from syncmem.replica.catalog import Slot

if TYPE_CHECKING:
    from syncmem.replica.replica import Replica


_POSITION, _HLC = Record._fields.index("position"), Record._fields.index("hlc")


@dataclass(frozen=True, slots=True)
class Visible:
    """Which events are visible, by position; and whether clocks are corrected by visible notes alone."""

    admits: Callable[[int], bool]
    with_its_clocks: bool = False
    clock: int | None = None  # where it is a matter of the corrected clock alone: the last one admitted

    def record(self, record: Record) -> bool:
        """As a call with the record's position, without reading its event where its clock decides."""
        return self.row(record)

    def row(self, row: Sequence[Any]) -> bool:
        """As :meth:`record`, of a record as it is stored."""
        return self.admits(row[_POSITION]) if self.clock is None else row[_HLC] <= self.clock

    def __call__(self, position: int) -> bool:
        return self.admits(position)


class VisibleNames:
    """Answers for one replica."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def among(self, scope: str, entity: str, visible: Visible | None) -> list[str]:
        """The names that are one with an entity by the visible links (None: now); they stand under the first."""
        aliases, fold, clocks = self._replica.aliases, self._replica.fold, self._replica.clocks
        if visible is None or not aliases.any_links:
            return aliases.names(scope, entity)
        liveness = Liveness(fold.references, visible)
        if visible.with_its_clocks and clocks.any_notes():
            clocks = clocks.known_to(visible, liveness.acts)
        _, links = aliases.region(scope, entity)
        seen = (link for link in links if visible(link.position))
        stands = aliases.resolved(seen, liveness.acts, clocks.corrected).stands
        name = stands.get(entity, entity)
        return sorted({name, *(each for each, stand in stands.items() if stand == name)})

    def slots(self, scope: str, entity: str, predicate: str | None, visible: Visible | int | None) -> list[Slot]:
        """The slots of an entity (or of one predicate) as it stands by visible links, at a transaction, or now.

        Of a slot that was never filled the number is 0.
        """
        aliases = self._replica.aliases
        if visible is None and predicate is not None:
            slot = self._replica.catalog.find(scope, entity, predicate)
            return [] if slot is None else [slot]
        if not isinstance(visible, Visible):
            return self._slots_named(scope, aliases.standing(scope, entity, visible), predicate)
        names = self.among(scope, entity, visible)
        homes = sorted({aliases.standing(scope, name) for name in names})
        found = [slot for home in homes for slot in self._slots_named(scope, home, predicate)]
        ids = {slot.predicate: slot.id for slot in found if slot.entity == names[0]}
        return [Slot(ids.get(each, 0), scope, names[0], each) for each in sorted({slot.predicate for slot in found})]

    def _slots_named(self, scope: str, name: str, predicate: str | None) -> list[Slot]:
        if predicate is None:
            return self._replica.catalog.slots_named(scope, name)
        slot = self._replica.catalog.named(scope, name, predicate)
        return [] if slot is None else [slot]
