"""Grounds: whether a derived claim is founded on what is here and live, through any number of derivations.

Rules: every claim that it names must have arrived, be live by itself (neither undone, withdrawn, retracted nor
denied) and be founded in turn; none may come back to it; and its trust is at most what its roots give it (see
:mod:`syncmem.model.evidence`).  The search keeps its own stack: chains may be long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from syncmem.model.evidence import a_tier_more, is_agent

if TYPE_CHECKING:
    from syncmem.model.liveness import Actor, Links


SourceName = tuple[str | None, str | None]  # kind, id


class Testimony(NamedTuple):
    """The sources that a claim goes back to, and the least trust on the way."""

    sources: frozenset[SourceName]
    trust: int


class Grounds:
    """Looks at what claims are derived from. ``stands``: whether a claim is visible and live by itself."""

    def __init__(self, links: Links, stands: Callable[[int], bool]) -> None:
        self._links = links
        self._stands = stands

    def lacking(self, claim: int) -> int | None:
        """What a derived claim lacks to be founded: a root by its position, or its own position; None: nothing."""
        entered, founded = set[int](), set[int]()
        waiting = [claim]
        while waiting:
            position = waiting[-1]
            if position in entered:  # all that it rests on was looked at
                entered.discard(position)
                founded.add(position)
            if position in founded:
                waiting.pop()
                continue
            entered.add(position)
            lacking, roots = self._looked_at(self._actor(position), entered)
            if lacking is not None:
                return lacking
            waiting += [root for root in roots if root not in founded]
        return None

    def _looked_at(self, claim: Actor, above: set[int]) -> tuple[int | None, Sequence[int]]:
        """What a claim lacks, whatever its roots are derived from; and its roots.

        ``above``: the claims that rest on it, and itself.
        """
        if claim.roots is None:
            return None, ()
        named = self._links.roots(claim)
        roots = [root for root in named if root is not None]
        if not roots or len(roots) < len(named):
            return claim.position, ()
        for root in roots:
            if root in above or not self._stands(root):
                return root, ()
        enough = claim.trust <= min(self._actor(root).trust for root in roots) or self._corroborated(claim, roots)
        return None if enough else claim.position, roots

    def _corroborated(self, claim: Actor, roots: Sequence[int]) -> bool:
        """Whether enough roots, no two of them from one source, give a claim a tier more than they have."""
        if not claim.corroborated_by or len(roots) < claim.corroborated_by:
            return False
        seen, least = set[SourceName](), claim.trust
        for root in roots:
            said = self.testimony(root)
            if said is None or said.sources & seen:
                return False
            seen |= said.sources
            least = min(least, said.trust)
        return claim.trust <= a_tier_more(least)

    def testimony(self, claim: int) -> Testimony | None:
        """Who says a claim in the end; None where that is nobody but the agent, or cannot be told."""
        leaves = [self._actor(leaf) for leaf in self._leaves(claim)]
        sources = {leaf.source for leaf in leaves if leaf.source is not None and not is_agent(leaf.source[0])}
        if not sources or any(leaf.source is None for leaf in leaves):
            return None
        return Testimony(frozenset(sources), min(self._actor(claim).trust, *(leaf.trust for leaf in leaves)))

    def _leaves(self, claim: int) -> set[int]:
        """The claims that are derived from nothing, on which a claim rests in the end."""
        seen, waiting, leaves = {claim}, [claim], set[int]()
        while waiting:
            position = waiting.pop()
            actor = self._links.actor(position)
            if actor is None or actor.roots is None:
                leaves.update(() if actor is None else (position,))
                continue
            new = {root for root in self._links.roots(actor) if root is not None} - seen
            seen |= new
            waiting += new
        return leaves

    def _actor(self, position: int) -> Actor:
        actor = self._links.actor(position)
        assert actor is not None, "only what has arrived is looked at"
        return actor
