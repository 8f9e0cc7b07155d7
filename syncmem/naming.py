"""The verbs about names: same, different, and aliases, which tells what follows from them.

Rules: a link is a word like any other, with trust and source, and can be undone, withdrawn and outweighed; it moves no
event: what was said about a name stays said about it, and is read with all that is said about the names it is one with.
"""

from __future__ import annotations

from dataclasses import replace

from syncmem import statements
from syncmem.asking import Asking
from syncmem.errors import InvalidInput
from syncmem.model.event import Kind
from syncmem.model.link import Link
from syncmem.replica.aliases import Said
from syncmem.replica.catalog import VAULT
from syncmem.results import Aliases, Decision, HistoryEntry, Receipt, Source
from syncmem.statements import When
from syncmem.taking_back import TakingBack
from syncmem.writing import Trust

_APART = "is outweighed by what was said with more trust, or later"


class Naming(TakingBack, Asking):
    """same, different, aliases."""

    def same(
        self,
        entity: str,
        other: str,
        *,
        scope: str = VAULT,
        trust: Trust = None,
        source: Source | str | None = None,
        batch: str | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """Two names are one entity: what is said about either is believed of both, until that is taken back.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     _ = memory.define("home_city", cardinality="single")
        ...     _ = memory.remember("robert", "home_city", "Lisbon")
        ...     link = memory.same("bob", "robert")
        ...     one = memory.believe("bob", "home_city").value
        ...     _ = memory.undo(link.event)
        ...     one, memory.believe("bob", "home_city"), memory.believe("robert", "home_city").value
        ('Lisbon', None, 'Lisbon')

        Args:
            scope: a link in "vault" counts in every scope, one in another scope only there.
            trust, source, batch, reason: as of :meth:`remember`. What contradicts it counts by trust, then by time.

        Raises:
            InvalidInput: the names are the same already, or none.
        """
        return self._link(Kind.SAME, entity, other, scope, trust, source, batch, reason)

    def different(
        self,
        entity: str,
        other: str,
        *,
        scope: str = VAULT,
        trust: Trust = None,
        source: Source | str | None = None,
        batch: str | None = None,
        reason: str | None = None,
    ) -> Receipt:
        """Two names are two entities, whoever says otherwise with less trust or said so before; as :meth:`same`."""
        return self._link(Kind.DIFFERENT, entity, other, scope, trust, source, batch, reason)

    def aliases(
        self, entity: str, *, scope: str = VAULT, known_at: When | int | None = None, zone: str | None = None
    ) -> Aliases:
        """The names that are one with an entity (or were for this device at ``known_at``), and who said so.

        >>> from syncmem import Memory
        >>> with Memory(":memory:") as memory:
        ...     _ = memory.same("robert", "bob", source="user")
        ...     found = memory.aliases("robert")
        ...     found.entity, found.names, [link.effect for link in found.links]
        ('bob', ('bob', 'robert'), ['makes them one'])
        """
        with self._looking():
            about = statements.name("scope", scope), statements.name("entity", entity)
            n = None if known_at is None else self._transaction(known_at, zone)
            names = self._replica.aliases.names(*about, n)
            arrived = [said for said in self._said_about(about[0], names) if n is None or self._arrival(said) <= n]
            outweighed = self._outweighed(about[0], arrived, n)
            links = [self._link_told(said, said.position in outweighed) for said in arrived]
            return Aliases(names[0], tuple(names), tuple(links))

    def _link(
        self,
        kind: Kind,
        entity: str,
        other: str,
        scope: str,
        trust: Trust,
        source: Source | str | None,
        batch: str | None,
        reason: str | None,
    ) -> Receipt:
        one, two = statements.name("entity", entity), statements.name("entity", other)
        if one == two:
            raise InvalidInput(f"{one!r} is one name; pass two")
        said = self._words(
            scope=scope, trust=trust, source=source, observed_at=None, batch=batch, reason=reason, zone=None
        )
        payload = Link(one, two, said.trust, said.source.kind, said.source.id, said.batch, said.extra or None)
        with self._lock, self._replica.transaction():
            before = self._replica.aliases.names(said.scope, one)
            receipt = self._write(said.scope, kind, payload)
            names = self._replica.aliases.names(said.scope, one)
            decision, why = _outcome(kind, one, two, before, names)
            return replace(receipt, decision=decision, why=why)

    def _said_about(self, scope: str, names: list[str]) -> list[Said]:
        found = {said.position: said for name in names for said in self._replica.aliases.naming(scope, name)}
        return sorted(found.values(), key=lambda said: (self._arrival(said), said.position))

    def _arrival(self, said: Said) -> int:
        return self._replica.logs.arrival(said.position)

    def _outweighed(self, scope: str, links: list[Said], n: int | None) -> frozenset[int]:
        """The positions of the links without effect, by what was known at a transaction."""
        region = {each.position: each for said in links for each in self._replica.aliases.region(scope, said.one)[1]}
        known = [said for said in region.values() if n is None or self._arrival(said) <= n]
        acts, corrected = self._replica.fold.liveness.acts, self._replica.clocks.corrected
        return self._replica.aliases.resolved(known, acts, corrected).outweighed

    def _link_told(self, said: Said, outweighed: bool) -> HistoryEntry:
        entry = self._telling.entry(said.position)
        effect = "makes them one" if said.same else "keeps them apart"
        return replace(entry, effect="" if entry.status != "live" else _APART if outweighed else effect)


def _outcome(kind: Kind, one: str, other: str, before: list[str], names: list[str]) -> tuple[Decision, str]:
    """The decision on a link, and why: whether the names are one now, and were before."""
    are, were = other in names, other in before
    if are != (kind == Kind.SAME):
        how = "are one" if are else "stay apart"
        return Decision.CONTESTED, f"The names {how}: this {_APART}; see aliases({one!r})."
    if are == were:
        return Decision.NOOP, f"They {'are one' if are else 'are two'} already; kept as evidence."
    return Decision.UPDATE, f"From now on they are one, under {names[0]!r}." if are else "From now on they are two."
