"""Grounds: whether a derived claim is founded on what is here and live, through any number of derivations.

Rules: every claim that it names must have arrived, be live by itself (neither undone, withdrawn, retracted nor
denied) and be founded in turn; none may come back to it; and its trust is at most what its roots give it (see
:mod:`syncmem.model.evidence`).  The search keeps its own stack, and answers while many are asked: chains may be long.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
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
        self._known: dict[int, int | None] | None = None

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """For a while nothing changes that answers depend on, so that each is found once."""
        self._known = {}
        try:
            yield
        finally:
            self._known = None

    def forget(self) -> None:
        """What answers depend on has changed."""
        self._known = None if self._known is None else {}

    def lacking(self, claim: int) -> int | None:
        """What a derived claim lacks to be founded: a root by its position, or its own position; None: nothing."""
        known: dict[int, int | None] = {} if self._known is None else self._known
        entered = dict[int, Sequence[int]]()  # from the claim on: each rests on the next, which is looked at
        waiting = [claim]
        while waiting:
            position = waiting[-1]
            if position in known:
                lacking = known[waiting.pop()]
            elif position in entered:  # all that it rests on is founded
                roots = entered.pop(position)
                lacking = known[position] = None if self._trusted(self._actor(position), roots) else position
            else:
                lacking, entered[position] = self._roots(self._actor(position), entered)
                waiting += entered[position]
            if lacking is not None:
                known |= dict.fromkeys(entered, lacking)
                return lacking
        return None

    def _roots(self, claim: Actor, above: Container[int]) -> tuple[int | None, Sequence[int]]:
        """What a claim lacks of its roots, whatever they rest on; and its roots.

        ``above``: the claims that rest on it.
        """
        if claim.roots is None:
            return None, ()
        named = self._links.roots(claim)
        roots = [root for root in named if root is not None]
        if not roots or len(roots) < len(named):
            return claim.position, ()
        gone = (root for root in roots if root == claim.position or root in above or not self._stands(root))
        return next(gone, None), roots

    def _trusted(self, claim: Actor, roots: Sequence[int]) -> bool:
        """Whether a claim has no more trust than its roots give it."""
        if not roots or claim.trust <= min(self._actor(root).trust for root in roots):
            return True
        return self._corroborated(claim, roots)

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
