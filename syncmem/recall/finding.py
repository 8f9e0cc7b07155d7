"""Finding: from a question to the beliefs that answer it.

Rules: validity first, ranking second.  Texts and vectors propose slots and documents; what is believed of them at the
axes is read from the rectangles, as ``believe`` reads it; only that is ranked.  So nothing that is not believed there
can be found, whatever the indexes hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final, Protocol

from syncmem.model.predicate import Predicate
from syncmem.recall.asked import Axes, Question
from syncmem.recall.lexicon import Lexicon
from syncmem.recall.ranking import WEIGHTS, Found, Scored, Weights, score
from syncmem.recall.text import SLOTS_MAX, Texts, filters_of
from syncmem.replica.catalog import USED_PREDICATES, VAULT, Slot
from syncmem.replica.index import digest
from syncmem.replica.reading import Placed, Reading, Visible
from syncmem.replica.replica import Replica

DOCUMENTS_MAX: Final = 80  # beliefs that are ranked because of the text of their value
NEAREST_MAX: Final = 40  # ... because of their vector
LANES_MAX: Final = 200  # values of one many-valued slot that are looked at because of the slot: the newest
Key = tuple[int, bytes, str]  # slot, lane, value


class Likeness(Protocol):
    """How alike a question and documents are."""

    def nearest(self, axes: Axes, filters: str) -> Iterable[int]:
        """Documents like the question, the most alike first."""

    def of(self, documents: Iterable[tuple[int, int]]) -> Mapping[tuple[int, int], float]:
        """The likeness of documents, each by its slot and digest; of those that have a vector."""


class Finding:
    """Finds beliefs of one replica."""

    def __init__(self, replica: Replica, reading: Reading) -> None:
        self._replica = replica
        self._reading = reading
        self._texts = Texts(replica.db)

    def find(
        self, question: Question, axes: Axes, likeness: Likeness | None = None, *, by: Weights = WEIGHTS
    ) -> list[Scored]:
        """The beliefs that have to do with a question, best first."""
        predicates = self._predicates(axes)
        matches = Lexicon(predicates).match(question)
        filters = filters_of(axes, self._several_scopes())
        proposed = self._texts.propose(question, axes, matches, filters)
        said = dict(islice(self._of_single(proposed.said, predicates), SLOTS_MAX))
        found = dict(self._of_slots(dict.fromkeys([*proposed.slots, *said]), axes))
        found |= islice(self._of_documents(proposed.documents, axes), DOCUMENTS_MAX)
        if likeness is not None:
            found |= islice(self._of_documents(likeness.nearest(axes, filters), axes), NEAREST_MAX)
            named = {key: (one.slot.id, digest(one.lane, one.rectangle.value)) for key, one in found.items()}
            near = likeness.of(named.values())
            found = {key: replace(one, likeness=near.get(named[key])) for key, one in found.items()}

        def scored(one: Found) -> Scored:
            match, once = matches.get(one.slot.predicate), said.get(one.slot.id, ())
            return score(one, question, axes, match, proposed.weights, once, by=by)

        best = map(scored, found.values())
        return sorted((one for one in best if one.why or axes.entity is not None), key=lambda one: one.order)

    def about(self, axes: Axes) -> list[Found]:
        """All that is believed of an entity."""
        assert axes.entity is not None
        sql = "SELECT id FROM slots WHERE entity = ? AND (?2 IS NULL OR scope = ?2)"
        rows = self._replica.db.execute(sql, (axes.entity, axes.scope)).fetchall()
        return list(dict(self._of_slots([row[0] for row in rows], axes)).values())

    def _of_single(
        self, said: Mapping[int, frozenset[str]], predicates: Mapping[str, Predicate]
    ) -> Iterator[tuple[int, frozenset[str]]]:
        """Of what was said, that of slots with one value at a time: there it asks for the value that holds."""
        for number, terms in said.items():
            slot = self._replica.catalog.known(number)
            about = None if slot is None else predicates.get(slot.predicate)
            if about is not None and not about.many:
                yield number, terms

    # -- what is believed -----------------------------------------------------------------------------

    def _of_slots(self, numbers: Iterable[int], axes: Axes) -> Iterator[tuple[Key, Found]]:
        """What is believed of slots at the axes."""
        for number in numbers:
            slot = self._replica.catalog.known(number)
            if slot is None or not axes.admits(*slot[1:]):
                continue
            if axes.history:
                placed = self._reading.timeline(slot, axes.n)
            elif self._replica.catalog.predicate(slot.scope, slot.predicate).many and axes.n is None:
                lanes = self._replica.db.execute(_NEWEST_LANES, (number, LANES_MAX)).fetchall()
                placed = [one for (lane,) in lanes for one in self._reading.in_lane(slot, lane, axes.instant)]
            else:
                placed = self._reading.at(slot, axes.instant, axes.n)
            yield from self._admitted(slot, placed, axes)

    def _of_documents(self, numbers: Iterable[int], axes: Axes) -> Iterator[tuple[Key, Found]]:
        """What is believed at the axes of what documents say."""
        for number in numbers:
            row = self._replica.db.execute(_DOCUMENT, (number,)).fetchone()
            if row is None or not axes.admits(*row[1:4]):
                continue
            slot, lane, value = Slot(*row[:4]), row[4], row[5]
            if axes.history:
                placed = self._reading.timeline(slot, axes.n)
            else:
                placed = self._reading.in_lane(slot, lane, axes.instant, axes.n)
            of_value = [one for one in placed if one[1].value == value]
            yield from self._admitted(slot, of_value, axes)

    def _admitted(self, slot: Slot, placed: list[Placed], axes: Axes) -> Iterator[tuple[Key, Found]]:
        for lane, rectangle in placed:  # in order of time: of what was believed several times, the last one counts
            if rectangle.trust >= axes.trust_min and rectangle.valid_from <= axes.instant:
                past = rectangle.valid_to <= axes.instant
                if not past or axes.history:
                    yield (slot.id, lane, rectangle.value), Found(slot, lane, rectangle, past)

    # -- predicates -----------------------------------------------------------------------------------

    def _predicates(self, axes: Axes) -> dict[str, Predicate]:
        """The predicates of which anything was believed, as they were defined for the known time."""
        latest = self._replica.last_transaction
        used = [row[0] for row in self._replica.db.execute(_PREDICATES, (latest if axes.n is None else axes.n,))]
        slots = [Slot(0, axes.scope or VAULT, "", name) for name in used]
        if axes.n is None:
            return {slot.predicate: self._replica.catalog.predicate(slot.scope, slot.predicate) for slot in slots}
        logs, n = self._replica.logs, axes.n
        visible = Visible(lambda position: logs.holds(position) and logs.arrival(position) <= n)
        return {slot.predicate: self._reading.definition(slot, visible) for slot in slots}

    def _several_scopes(self) -> bool:
        sql = "SELECT count(*) FROM (SELECT DISTINCT scope FROM logs WHERE scope IS NOT NULL AND seq > 0)"
        return bool(self._replica.db.execute(sql).fetchone()[0] > 1)


_DOCUMENT: Final = (
    "SELECT s.id, s.scope, s.entity, s.predicate, d.lane, d.value FROM documents d JOIN slots s ON s.id = d.slot "
    "WHERE d.id = ?"
)
_NEWEST_LANES: Final = (
    "SELECT lane FROM documents WHERE slot = ? AND live > 0 GROUP BY lane ORDER BY max(id) DESC LIMIT ?"
)
_PREDICATES: Final = (
    f"{USED_PREDICATES} "
    "SELECT name FROM used WHERE EXISTS (SELECT 1 FROM slots s JOIN beliefs b ON b.slot = s.id "
    "WHERE s.predicate = name AND b.known_from <= ?)"
)
