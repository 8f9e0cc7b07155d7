"""Looking through a memory page by page: names, one slot in both times, the read log. Reading never writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from syncmem import statements
from syncmem.asking import Asking
from syncmem.model.instant import FOREVER, dated, shown
from syncmem.replica.catalog import VAULT, Slot
from syncmem.replica.outline import NOTHING, outlined
from syncmem.replica.outline import Group as Group
from syncmem.replica.outline import Outline as Outline
from syncmem.replica.rectangles import Rectangle
from syncmem.replica.stretch import Stretch, spoken_of
from syncmem.results import Belief, HistoryEntry, as_dict
from syncmem.statements import When

PAGE: Final = 50
RECTANGLES_MAX: Final = 20_000  # of one slot; more recent ones come first

_SPOKEN_OF: Final = (
    "FROM slots s WHERE s.scope = ?1 AND EXISTS (SELECT 1 FROM pages p WHERE p.slot = s.id) "
    "AND (?2 IS NULL OR instr(lower(s.entity), lower(?2)) > 0) "
)
_NEXT: Final = f"SELECT DISTINCT s.entity {_SPOKEN_OF} AND s.entity > ?3 ORDER BY s.entity LIMIT ?4"
_BEFORE: Final = f"SELECT DISTINCT s.entity {_SPOKEN_OF} AND s.entity < ?3 ORDER BY s.entity DESC LIMIT ?4"
_RECTANGLES: Final = (
    "SELECT valid_from, valid_to, value, trust, contested, source, claim, known_from, known_to FROM beliefs "
    "WHERE slot = ?1 AND valid_from < ?3 AND valid_to > ?2 ORDER BY known_from DESC, valid_from DESC LIMIT ?4"
)
_TIMES: Final = "SELECT n, time FROM transactions WHERE n IN (SELECT value FROM json_each(?)) ORDER BY n"
_RECALLS: Final = (
    "SELECT no, id, time, n, question, asked, (SELECT count(*) FROM recalled r WHERE r.recall = recalls.no AND handed) "
    "FROM recalls WHERE ?1 IS NULL OR no < ?1 ORDER BY no DESC LIMIT ?2"
)


@dataclass(frozen=True, slots=True)
class HeldBelief:
    """A belief, and while which transactions of this device it was held: ``[known_from, known_to)``, None: it still is.

    Its bounds are those of one rectangle: where its trust or its being contested changes another one begins.
    """

    belief: Belief
    known_from: int
    known_to: int | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class BeliefMap:
    """All that was ever believed of a slot here, in both times.

    Attributes:
        held: what was believed, in order of known time, then of valid time.
        times: the transactions at which any of it began or ended, with their corrected times.
        more: there were more rectangles than are told; these are the latest.
    """

    held: tuple[HeldBelief, ...]
    times: tuple[tuple[int, datetime], ...]
    more: bool

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """One entry of the read log.

    Attributes:
        no: its number, for the next page.
        question: None if it was erased; ``briefing``: it was a briefing about ``question``.
        handed: how many beliefs were handed out.
    """

    no: int
    receipt: str
    asked_at: datetime | None
    known: int
    question: str | None
    briefing: bool
    handed: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Some of a slot's history, the latest first; ``total``: how many events there are in all."""

    entries: tuple[HistoryEntry, ...]
    total: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


class Browsing(Asking):
    """names, scopes, belief_map, outline, moments, history_page, read_log, last_known."""

    def names(
        self, *, after: str = "", before: str | None = None, text: str | None = None, limit: int = PAGE,
        scope: str = VAULT,
    ) -> list[str]:  # fmt: skip
        """Some of the entities of which something is claimed, in order: those after a name, or those before one.

        ``text``: only those in whose name it is, whatever the case of its letters.
        """
        wanted, limit = (statements.name("scope", scope), text or None), statements.at_least("limit", limit)
        with self._looking():
            if before is None:
                return [row[0] for row in self._replica.db.execute(_NEXT, (*wanted, after, limit))]
            found = self._replica.db.execute(_BEFORE, (*wanted, before, limit)).fetchall()
            return [row[0] for row in reversed(found)]

    def scopes(self) -> list[str]:
        """The scopes in which this device holds anything, the vault first."""
        with self._looking():
            found = {log.key.scope for log in self._replica.logs.held() if log.key is not None}
        return sorted(found, key=lambda scope: (scope != VAULT, scope))

    def belief_map(
        self, entity: str, predicate: str, *, valid_from: When | None = None, valid_to: When | None = None,
        scope: str = VAULT,
    ) -> BeliefMap:  # fmt: skip
        """What this device believed of a slot when: the rectangles, valid time by known time.

        ``valid_from``, ``valid_to``: only those that hold somewhere between them.
        """
        within = self._stretch(valid_from, valid_to)
        with self._looking():
            for slot in self._slots(self._view(scope, None, None, None, None), scope, entity, predicate):
                rows = self._replica.db.execute(_RECTANGLES, (slot.id, *within, RECTANGLES_MAX + 1)).fetchall()
                if rows:
                    held = tuple(self._held_belief(slot, row) for row in reversed(rows[:RECTANGLES_MAX]))
                    return BeliefMap(held, self._times(held), len(rows) > RECTANGLES_MAX)
            return BeliefMap((), (), False)

    def outline(
        self, entity: str, predicate: str, *, known_at: When | int | None = None, valid_from: When | None = None,
        valid_to: When | None = None, scope: str = VAULT,
    ) -> Outline:  # fmt: skip
        """How much there is of a slot, counted by stretches of time: quick, however much it is.

        ``valid_from``, ``valid_to``: only of what holds somewhere between them.

        >>> from syncmem import Memory
        >>> with Memory(":memory:", zone="UTC", embedder=None) as memory:
        ...     for year in (2019, 2021, 2024):
        ...         _ = memory.remember("ana", "job", f"job of {year}", changed_on=str(year))
        ...     outline = memory.outline("ana", "job", valid_from="2020")
        ...     [(group.valid_from.year, group.beliefs) for group in outline.groups], outline.rectangles
        ([(2019, 1), (2021, 1), (2024, 1)], 3)
        """
        within = self._stretch(valid_from, valid_to)
        with self._looking():
            view = self._view(scope, known_at, None, None, None)
            for slot in self._slots(view, scope, entity, predicate):
                believed = [each for _, each in self._reading.within(slot, within, view.n)]
                found = outlined(self._replica.db, slot.id, believed, within)
                if found.rectangles:
                    return found
            return NOTHING

    def moments(self, transactions: Sequence[int]) -> dict[int, datetime]:
        """When transactions of this device were, by its corrected clock."""
        with self._looking():
            rows = self._replica.db.execute(_TIMES, (json.dumps(list(transactions)),)).fetchall()
        return {n: time for n, told in rows if (time := dated(told)) is not None}

    def history_page(
        self, entity: str, predicate: str, *, valid_from: When | None = None, valid_to: When | None = None,
        skip: int = 0, limit: int = PAGE, scope: str = VAULT,
    ) -> HistoryPage:  # fmt: skip
        """Some of the events about a slot, the latest to arrive first; see :meth:`history`.

        ``valid_from``, ``valid_to``: of the claims and ends only those that speak of something between them, or on
        which rests what is believed there.
        """
        first = statements.at_least("skip", skip, 0)
        last = first + statements.at_least("limit", limit)
        within = self._stretch(valid_from, valid_to)
        with self._looking():
            for slot in self._slots(self._view(scope, None, None, None, None), scope, entity, predicate):
                wanted = None
                if within != Stretch():
                    wanted = spoken_of(within, {each.claim for _, each in self._reading.within(slot, within)})
                found = self._telling.about(slot, self._replica.catalog.names(slot), wanted)[::-1]
                if any(self._telling.says_something(position) for position in found):
                    told = found[first:last]
                    return HistoryPage(tuple(self._telling.entry(position, slot) for position in told), len(found))
            return HistoryPage((), 0)

    def read_log(self, *, before: int | None = None, limit: int = PAGE) -> list[ReadEntry]:
        """What was recalled on this device, the latest first; ``before``: the number of an entry.

        >>> from syncmem import Memory
        >>> with Memory(":memory:", embedder=None) as memory:
        ...     _ = memory.remember("ana", "home_city", "Lisbon")
        ...     _ = memory.recall("Where does Ana live?")
        ...     [(entry.question, entry.handed) for entry in memory.read_log()]
        [('Where does Ana live?', 1)]
        """
        with self._looking():
            rows = self._replica.db.execute(_RECALLS, (before, statements.at_least("limit", limit))).fetchall()
        return [
            ReadEntry(no, id, shown(time), n, question, bool(json.loads(asked or "{}").get("briefing")), handed)
            for no, id, time, n, question, asked, handed in rows
        ]

    def last_known(self) -> int:
        """The number of this device's last transaction: it rises with whatever is learned, by whichever process."""
        with self._looking():
            return self._replica.last_transaction

    def _held_belief(self, slot: Slot, row: tuple[Any, ...]) -> HeldBelief:
        *rectangle, known_from, known_to = row
        belief = self._telling.belief(slot, Rectangle(*rectangle))
        return HeldBelief(belief, known_from, None if known_to == FOREVER else known_to)

    def _times(self, held: tuple[HeldBelief, ...]) -> tuple[tuple[int, datetime], ...]:
        numbers = sorted({n for each in held for n in (each.known_from, each.known_to) if n is not None})
        return tuple(self.moments(numbers).items())
