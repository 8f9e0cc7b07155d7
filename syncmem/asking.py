"""The questions that a Memory answers. Reading never writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo

from syncmem import statements
from syncmem.axes import Axes, View
from syncmem.errors import InvalidInput, SeveralValues
from syncmem.model.instant import BEGINNING, EARLIEST, FOREVER, from_datetime
from syncmem.model.names import meant
from syncmem.model.predicate import Predicate
from syncmem.model.record import Record
from syncmem.reasons import Reasons
from syncmem.replica.catalog import VAULT, Slot
from syncmem.replica.reading import Placed, Visible
from syncmem.replica.stretch import Stretch, spoken_of
from syncmem.results import Belief, Explanation, HistoryEntry, Timeline
from syncmem.statements import When
from syncmem.vouching import presumed_since


class Asking(Axes):
    """believe, beliefs, timeline, history, why, contested, entities, predicates."""

    def believe(
        self,
        entity: str,
        predicate: str,
        *,
        valid_at: When | None = None,
        known_at: When | int | None = None,
        asserted_by: When | None = None,
        device: str | None = None,
        scope: str = VAULT,
        zone: str | tzinfo | None = None,
    ) -> Belief | None:
        """What is believed, or None where nothing is known (``belief.value is NONE``: known to have none).

        Args:
            valid_at: when the fact should hold in the world; unsaid: now.
            known_at: what this device believed then: a time, or a transaction number from a receipt.
            asserted_by: only what had been recorded anywhere by then; not together with ``known_at``.
                Like ``known_at`` it includes the whole of a day, month or second that is named.
            device: what that device believed (at ``known_at``, or when last heard of), by its own notes;
                ``belief.grade`` says how sure that is; of this device's own it is exact.

        An entity may be called by any of its names (:meth:`aliases`), and a predicate by an alias, where nothing is
        believed under the very name; the belief tells the names under which it stands.

        Raises:
            SeveralValues: the predicate is many-valued and several hold; ask ``beliefs(entity, predicate)``.
            InvalidInput: ``known_at`` is the number of a transaction that has not been yet.
        """
        found: list[Belief] = []
        if asserted_by is None and device is None:
            found = self._glance(scope, entity, predicate, valid_at, known_at, zone)
        if not found:
            found = self._beliefs(scope, entity, predicate, valid_at, known_at, asserted_by, device, zone)
        if len(found) > 1:
            raise SeveralValues(
                f"{entity!r} has {len(found)} values of {predicate!r}; ask beliefs({entity!r}, {predicate!r}), "
                f"or define({predicate!r}, cardinality='single')"
            )
        return found[0] if found else None

    def beliefs(
        self,
        entity: str,
        predicate: str | None = None,
        *,
        valid_at: When | None = None,
        known_at: When | int | None = None,
        asserted_by: When | None = None,
        device: str | None = None,
        scope: str = VAULT,
        zone: str | tzinfo | None = None,
    ) -> list[Belief]:
        """All that is believed of an entity (or one predicate of it) at a moment; see :meth:`believe`."""
        if predicate is not None and asserted_by is None and device is None:
            found = self._glance(scope, entity, predicate, valid_at, known_at, zone)
            if found:
                return found
        return self._beliefs(scope, entity, predicate, valid_at, known_at, asserted_by, device, zone)

    def _beliefs(
        self,
        scope: str,
        entity: str,
        predicate: str | None,
        valid_at: When | None,
        known_at: When | int | None,
        asserted_by: When | None,
        device: str | None,
        zone: str | tzinfo | None,
    ) -> list[Belief]:
        with self._looking():
            instant = self._now() if valid_at is None else self._moment(valid_at, zone)
            view = self._view(scope, known_at, asserted_by, device, zone)
            if predicate is None:
                slots = self._slots(view, scope, entity, None)
                return [belief for slot in slots for belief in self._told_at(view, slot, instant)]
            found = (self._told_at(view, slot, instant) for slot in self._slots(view, scope, entity, predicate))
            return next(filter(None, found), [])

    def _told_at(self, view: View, slot: Slot, instant: int) -> list[Belief]:
        placed = self._at(view, slot, instant)
        self._reading.check(slot, placed)
        return [self._telling.belief(slot, rectangle, view.grade) for _, rectangle in placed]

    def _glance(
        self, scope: str, entity: str, predicate: str, valid_at: When | None, known_at: When | int | None,
        zone: str | tzinfo | None,
    ) -> list[Belief]:  # fmt: skip
        """The beliefs of a slot, where one statement finds them; none: they are to be looked for properly."""
        with self._lock:
            self._replica.db.check_usable()
            instant = self._now() if valid_at is None else self._moment(valid_at, zone)
            n = None if known_at is None else self._at_number(known_at, zone)
            found = self._at_a_glance.at(scope, entity, predicate, instant, n)
            try:
                return [self._telling.named(scope, entity, predicate, rectangle) for rectangle in found]
            except KeyError:  # a log that another process made known
                return []

    def timeline(
        self,
        entity: str,
        predicate: str,
        *,
        known_at: When | int | None = None,
        asserted_by: When | None = None,
        device: str | None = None,
        presumed: bool = False,
        valid_from: When | None = None,
        valid_to: When | None = None,
        scope: str = VAULT,
        zone: str | tzinfo | None = None,
    ) -> Timeline:
        """All that is believed of one slot, over valid time; the axes as in :meth:`believe`.

        Args:
            presumed: also tell from when on each belief is only presumed to hold still.
            valid_from, valid_to: only what holds somewhere between them; each belief is told as a whole.
        """
        within = self._stretch(valid_from, valid_to, zone)
        with self._looking():
            view = self._view(scope, known_at, asserted_by, device, zone)
            told = [(slot, self._all(view, slot, within)) for slot in self._slots(view, scope, entity, predicate)]
            if not told:
                return Timeline(scope, entity, predicate, ())
            slot, placed = next((each for each in told if each[1]), told[0])
            beliefs = [self._telling.belief(slot, rectangle, view.grade) for _, rectangle in placed]
            since = presumed_since(placed, self._behind(slot, view, placed)) if presumed else ()
            return Timeline(slot.scope, slot.entity, slot.predicate, tuple(beliefs), since)

    def _behind(self, slot: Slot, view: View, placed: list[Placed]) -> list[Record]:
        """The statements that say something about some beliefs of a slot."""
        visible, rectangles = self._visible(view), [rectangle for _, rectangle in placed]
        behind = {rectangle.claim for rectangle in rectangles}
        return self._reading.records(slot, visible, spoken_of(Stretch().around(rectangles), behind))

    def history(
        self,
        entity: str,
        predicate: str,
        *,
        known_at: When | int | None = None,
        asserted_by: When | None = None,
        device: str | None = None,
        scope: str = VAULT,
        zone: str | tzinfo | None = None,
    ) -> list[HistoryEntry]:
        """Every event about a slot in the order in which it arrived here, with what each did.

        The axes limit which events are listed; their status is the present one.
        """
        with self._looking():
            view = self._view(scope, known_at, asserted_by, device, zone)
            visible = self._visible(view)
            for slot in self._slots(view, scope, entity, predicate):
                names = self._reading.names.among(slot.scope, slot.entity, visible)
                found = [position for position in self._telling.about(slot, names) if visible(position)]
                if any(self._telling.says_something(position) for position in found):
                    return [self._telling.entry(position, slot) for position in found]
            return []

    def _told_where(self, entity: str, predicate: str, scope: str, wanted: Callable[[int], bool]) -> list[HistoryEntry]:
        """Of the history of a slot the events at the positions that are wanted; the others cost little."""
        with self._looking():
            view = self._view(scope, None, None, None, None)
            for slot in self._slots(view, scope, entity, predicate):
                names = self._reading.names.among(slot.scope, slot.entity, self._visible(view))
                found = self._telling.about(slot, names)
                if any(map(self._telling.says_something, found)):
                    return [self._telling.entry(position, slot) for position in found if wanted(position)]
            return []

    def event(self, event: str) -> HistoryEntry:
        """One event by its id."""
        with self._looking():
            position = self._telling.position(event)
            found = self._replica.fold.record_at(position)
            return self._telling.entry(position, found[0] if found else None)

    def why(
        self,
        about: Belief | str,
        predicate: str | None = None,
        *,
        valid_at: When | None = None,
        known_at: When | int | None = None,
        asserted_by: When | None = None,
        device: str | None = None,
        scope: str = VAULT,
        zone: str | tzinfo | None = None,
    ) -> Explanation:
        """Why something is believed: ``why(belief)`` or ``why("ana", "home_city")``.

        For a belief the moment is its start, else ``valid_at`` (unsaid: now); the other axes as in :meth:`believe`.
        """
        if isinstance(about, Belief):
            entity, predicate, scope = about.entity, about.predicate, about.scope
        elif predicate is None:
            raise InvalidInput("why needs a belief, or an entity and a predicate; pass both names")
        else:
            entity = about
        with self._looking():
            view = self._view(scope, known_at, asserted_by, device, zone)
            instant = self._instant_of(about, valid_at, zone)
            told = [(slot, self._told_at(view, slot, instant)) for slot in self._slots(view, scope, entity, predicate)]
            if not told:
                return Explanation(None, None, (), (), (), f"Nothing was ever said about {entity} {predicate}.")
            slot, beliefs = next((each for each in told if each[1]), told[0])
            if isinstance(about, Belief):
                beliefs = [belief for belief in beliefs if belief.value == about.value]
            belief = beliefs[0] if beliefs else None
            reasons = Reasons(self._replica, self._reading, self._telling)
            return reasons.explain(slot, instant, belief, self._visible(view))

    def contested(
        self,
        *,
        valid_at: When | None = None,
        known_at: When | int | None = None,
        scope: str | None = None,
        zone: str | tzinfo | None = None,
    ) -> list[Belief]:
        """The beliefs that something contradicts, and about which the user should be asked.

        Args:
            valid_at: only what is contested at that moment; unsaid: at any.
            known_at: what was contested for this device then.
        """
        with self._looking():
            n = None if known_at is None else self._transaction(known_at, zone)
            instant = None if valid_at is None else self._moment(valid_at, zone)
            where = None if scope is None else statements.name("scope", scope)
            return [
                self._telling.belief(slot, rectangle)
                for slot, rectangle in self._reading.contested(where, n)
                if instant is None or rectangle.valid_from <= instant < rectangle.valid_to
            ]

    def entities(self, *, scope: str = VAULT) -> list[str]:
        """All entities that anything was said about, in order; of names that are one the one under which they stand."""
        with self._looking():
            scope, aliases = statements.name("scope", scope), self._replica.aliases
            claimed = "SELECT DISTINCT entity FROM slots s WHERE scope = ? AND id IN (SELECT slot FROM pages)"
            denied = "SELECT DISTINCT entity FROM denials WHERE scope = ?"
            found = {row[0] for sql in (claimed, denied) for row in self._replica.db.execute(sql, (scope,))}
            return sorted({aliases.standing(scope, entity) for entity in found})

    def predicates_of(self, entity: str, *, scope: str = VAULT) -> list[str]:
        """The predicates under which anything was said of an entity, by whichever of its names, in order."""
        with self._looking():
            slots = self._slots(self._view(scope, None, None, None, None), scope, entity, None)
            return sorted({slot.predicate for slot in slots})

    def predicates(self, *, scope: str = VAULT) -> dict[str, Predicate]:
        """All predicates that are defined or used, with what they are like."""
        with self._looking():
            scope = statements.name("scope", scope)
            used = {row[0] for row in self._replica.db.execute("SELECT DISTINCT predicate FROM slots")}
            defined = {name for name, where, _ in self._replica.catalog.defined() if where in (scope, VAULT)}
            return {name: self._replica.catalog.predicate(scope, name) for name in sorted(used | defined)}

    # -- axes ---------------------------------------------------------------------------------------

    def _slots(self, view: View, scope: str, entity: str, predicate: str | None) -> list[Slot]:
        """The slots that are asked for; of one predicate that of its very name, then that of the one that it means."""
        about = statements.name("scope", scope), statements.name("entity", entity)
        axis = view.n if view.folded is None else view.folded
        if predicate is None:
            return self._reading.names.slots(*about, None, axis)
        names = [statements.name("predicate", predicate), *self._meant(about[0], predicate)]
        return [slot for name in names for slot in self._reading.names.slots(*about, name, axis)]

    def _meant(self, scope: str, predicate: str) -> list[str]:
        """The predicate that a name means which is none that is defined, if it is the name of one alone."""
        if self._replica.catalog.predicate(scope, predicate).declared:
            return []
        listed = self._replica.catalog.defined()
        found = meant(predicate, {name: each for name, where, each in listed if where in (scope, VAULT)})
        return found if len(found) == 1 else []

    def _stretch(self, valid_from: When | None, valid_to: When | None, zone: str | tzinfo | None = None) -> Stretch:
        """The stretch of valid time that was asked for."""
        start = BEGINNING if valid_from is None else self._moment(valid_from, zone)
        return Stretch(start, FOREVER if valid_to is None else self._moment(valid_to, zone))

    def _recheck(self, view: View, slot: Slot) -> None:
        """Look whether a disk has changed what was believed then, in the first answers that a process gives."""
        if view.n is not None and slot.id and self._reading.to_recheck:
            from syncmem.replica.rechecking import recheck

            self._reading.to_recheck -= 1
            recheck(self._replica, self._reading, slot, view.n)

    def _at(self, view: View, slot: Slot, instant: int) -> list[Placed]:
        self._recheck(view, slot)
        if view.folded is None:
            return self._reading.at(slot, instant, view.n)
        folded = self._reading.folded(slot, view.folded, instant)
        return [each for each in folded if each[1].valid_from <= instant < each[1].valid_to]

    def _all(self, view: View, slot: Slot, within: Stretch) -> list[Placed]:
        self._recheck(view, slot)
        if view.folded is None:
            return self._reading.within(slot, within, view.n)
        return [placed for placed in self._reading.folded(slot, view.folded) if within.meets(placed[1])]

    def _visible(self, view: View) -> Visible:
        """The events on which the answers of a view rest."""
        if view.folded is not None:
            return view.folded
        logs, n = self._replica.logs, view.n
        return Visible(logs.holds if n is None else lambda p: logs.holds(p) and logs.arrival(p) <= n)

    def _instant_of(self, about: Belief | str, valid_at: When | None, zone: str | tzinfo | None) -> int:
        if valid_at is not None:
            return self._moment(valid_at, zone)
        if isinstance(about, Belief):
            return EARLIEST if about.valid_from is None else from_datetime(about.valid_from)
        return self._now()
