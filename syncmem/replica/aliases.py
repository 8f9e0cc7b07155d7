"""Aliases: under which name each entity stands, now and as it was known at any time.

Rules: a link counts in its own scope; one in the scope "vault", which every device holds, counts in all scopes, as
a definition does.  What follows from the links is kept by known time, like beliefs, so that past answers stay
right: a name without a row stands for itself.  In a scope other than "vault" names have rows only where a link of
that scope has a part in it; all others stand there as they stand in "vault".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from syncmem.model.event import Event, Kind, readable
from syncmem.model.frame import VAULT
from syncmem.model.instant import FOREVER
from syncmem.model.link import Bond, Link, Resolved, resolve
from syncmem.replica.connection import Database
from syncmem.replica.logs import Logs

Name = tuple[str, str]  # scope, entity


class Span(NamedTuple):
    """From one transaction until before another one, an entity stands under a name."""

    known_from: int
    known_to: int
    stands: str


class Said(NamedTuple):
    """A link as it is stored."""

    position: int
    scope: str
    same: bool
    one: str
    other: str


class Aliases:
    """Reads and writes the tables ``entity_links`` and ``aliases``."""

    def __init__(self, database: Database, logs: Logs) -> None:
        self._db = database
        self._logs = logs
        self.forget()

    def forget(self) -> None:
        """Read anew."""
        self._spans: dict[Name, list[Span]] = {}
        self._lodgers: dict[Name, set[str]] = {}
        for scope, entity, *span in self._db.execute("SELECT * FROM aliases ORDER BY scope, entity, known_from"):
            self._keep((scope, entity), Span(*span))
        self.any_links: bool = self._db.execute("SELECT EXISTS (SELECT 1 FROM entity_links)").fetchone()[0] == 1

    def _keep(self, name: Name, span: Span) -> None:
        self._spans.setdefault(name, []).append(span)
        self._lodgers.setdefault((name[0], span.stands), set()).add(name[1])

    # -- who stands where -----------------------------------------------------------------------------

    @property
    def any(self) -> bool:
        """Whether any entity ever stood under another name."""
        return bool(self._spans)

    def standing(self, scope: str, entity: str, n: int | None = None) -> str:
        """The name under which an entity stands (or stood, as known at transaction ``n``; while replaying: then)."""
        if not self._spans:
            return entity
        known = self._logs.replayed if n is None else n
        own = self._span((scope, entity), known)
        found = self._span((VAULT, entity), known) if own is None else own
        return entity if found is None else found.stands

    def _span(self, name: Name, n: int | None) -> Span | None:
        known = FOREVER - 1 if n is None else n
        return next((s for s in self._spans.get(name, ()) if s.known_from <= known < s.known_to), None)

    def names(self, scope: str, entity: str, n: int | None = None) -> list[str]:
        """All names that are one with an entity, itself included; the first is the one under which they stand."""
        if not self._spans:
            return [entity]
        name = self.standing(scope, entity, n)
        return sorted({name, *(e for e in self.lodgers(scope, name) if self.standing(scope, e, n) == name)})

    def elsewhere(self, scope: str | None, n: int | None = None) -> dict[str, str]:
        """The names that stand under others in a scope (None: in the vault), each with where it stands."""
        where = VAULT if scope is None else scope
        names = {name for place, name in self._spans if place in (where, VAULT)}
        found = {name: self.standing(where, name, n) for name in sorted(names)}
        return {name: stands for name, stands in found.items() if stands != name}

    def lodgers(self, scope: str, name: str) -> set[str]:
        """The entities that stand, or ever stood, under a name."""
        return {name} | self._lodgers.get((scope, name), set()) | self._lodgers.get((VAULT, name), set())

    def homes(self, scope: str, entity: str) -> set[str]:
        """The names under which an entity stands, or ever stood."""
        spans = [span for where in (scope, VAULT) for span in self._spans.get((where, entity), ())]
        return {entity} | {span.stands for span in spans}

    # -- links ------------------------------------------------------------------------------------------

    def add(self, position: int, scope: str, kind: int, link: Link) -> None:
        """Store a link; :meth:`settle` decides what follows from it."""
        row = (position, scope, int(kind == Kind.SAME), link.one, link.other)
        self._db.execute("INSERT OR IGNORE INTO entity_links VALUES (?, ?, ?, ?, ?)", row)
        self.any_links = True

    def drop(self, position: int) -> None:
        """Forget an erased link."""
        self._db.execute("DELETE FROM entity_links WHERE position = ?", (position,))

    def within(self, first: int, last: int) -> set[Name]:
        """The names that the links between two positions speak of."""
        sql = "SELECT scope, one, other FROM entity_links WHERE position BETWEEN ? AND ?"
        rows = self._db.execute(sql, (first, last)).fetchall()
        return {(scope, name) for scope, *names in rows for name in names}

    def naming(self, scope: str, entity: str) -> list[Said]:
        """The links that have a part in how a name stands in a scope and name it themselves."""
        if not self.any_links:
            return []
        sql = "SELECT * FROM entity_links WHERE {} = ? AND scope IN (?, ?) ORDER BY position"
        rows = [row for side in ("one", "other") for row in self._db.execute(sql.format(side), (entity, scope, VAULT))]
        found = [Said(position, where, same == 1, *names) for position, where, same, *names in dict.fromkeys(rows)]
        return [said for said in found if self._logs.holds(said.position)]

    def region(self, scope: str, entity: str) -> tuple[set[str], list[Said]]:
        """All names that links of any standing lead to from one, and those links."""
        names, found, waiting = {entity}, dict[int, Said](), [entity]
        while waiting:
            for said in self.naming(scope, waiting.pop()):
                found[said.position] = said
                new = {said.one, said.other} - names
                names |= new
                waiting += new
        return names, [found[position] for position in sorted(found)]

    def resolved(
        self, links: Iterable[Said], acts: Callable[[int], bool], corrected: Callable[[int, int], int]
    ) -> Resolved:
        """What follows from those of the links that act, their clocks corrected."""
        return resolve(self._bonds(links, acts, corrected))

    def _bonds(
        self, links: Iterable[Said], acts: Callable[[int], bool], corrected: Callable[[int, int], int]
    ) -> Iterator[Bond]:
        for position, _, same, one, other in links:
            event = self._logs.event(position) if acts(position) else None
            link = readable(event) if isinstance(event, Event) else None
            if isinstance(event, Event) and isinstance(link, Link):
                order = (link.trust, corrected(position, event.hlc), self._logs.log_of(position).id, position)
                yield Bond(order, same, one, other)

    # -- settling ---------------------------------------------------------------------------------------

    def settle(
        self, n: int, touched: Iterable[Name], acts: Callable[[int], bool], corrected: Callable[[int, int], int]
    ) -> list[tuple[str, str, str]]:
        """Let names stand as the links have it from transaction ``n`` on; (scope, entity, where it stood) of those
        that moved."""
        rows: dict[Name, str | None] = {}
        for scope, entity in sorted(touched):
            for where in self.spoken_for(scope):
                if (where, entity) not in rows:
                    rows |= self._rows(where, entity, acts, corrected)
        reached = self._reached_by(rows)
        before = [(scope, entity, self.standing(scope, entity)) for scope, entity in reached]
        for name in rows:
            self._write(n, name, rows[name])
        return [moved for moved in before if self.standing(*moved[:2]) != moved[2]]

    def _rows(
        self, scope: str, entity: str, acts: Callable[[int], bool], corrected: Callable[[int, int], int]
    ) -> dict[Name, str | None]:
        """Where each name of a region stands in a scope; None for what needs no row."""
        names, links = self.region(scope, entity)
        stands = self.resolved(links, acts, corrected).stands
        own = scope != VAULT and any(link.scope == scope for link in links)
        linked = {name for link in links for name in (link.one, link.other)}
        if scope != VAULT and not own:
            return dict.fromkeys(((scope, name) for name in names), None)
        return {
            (scope, name): stand if (stand := stands.get(name, name)) != name or (own and name in linked) else None
            for name in names
        }

    def spoken_for(self, scope: str) -> list[str]:
        """The scopes that have rows of their own because of a scope's links."""
        sql = "SELECT DISTINCT scope FROM entity_links WHERE scope <> ? ORDER BY scope"
        others = self._db.execute(sql, (VAULT,)).fetchall() if scope == VAULT else []
        return [scope, *(row[0] for row in others)]

    def reached_from(self, scope: str) -> set[str]:
        """The scopes in which a scope's links count."""
        every = {log.key.scope for log in self._logs.by_no.values() if log.key is not None}
        return every | {VAULT} if scope == VAULT else {scope}

    def _reached_by(self, rows: Iterable[Name]) -> list[Name]:
        """The names that may stand elsewhere because of rows."""
        return sorted({(each, entity) for scope, entity in rows for each in self.reached_from(scope)})

    def _write(self, n: int, name: Name, stands: str | None) -> None:
        spans = self._spans.get(name, [])
        last = spans[-1] if spans and spans[-1].known_to == FOREVER else None
        if (None if last is None else last.stands) == stands:
            return
        if last is not None:
            spans.pop()
            if last.known_from == n:
                self._db.execute("DELETE FROM aliases WHERE scope = ? AND entity = ? AND known_from = ?", (*name, n))
            else:
                spans.append(last._replace(known_to=n))
                sql = "UPDATE aliases SET known_to = ? WHERE scope = ? AND entity = ? AND known_from = ?"
                self._db.execute(sql, (n, *name, last.known_from))
            if not spans:
                del self._spans[name]
        if stands is not None:
            self._db.execute("INSERT INTO aliases VALUES (?, ?, ?, ?, ?)", (*name, n, FOREVER, stands))
            self._keep(name, Span(n, FOREVER, stands))

    def drop_rows(self, names: Iterable[Name]) -> None:
        """Forget how names stood, to settle it anew."""
        for name in names:
            self._db.execute("DELETE FROM aliases WHERE scope = ? AND entity = ?", name)
        self.forget()
