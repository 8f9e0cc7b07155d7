"""Which statements count: membership at the time of speaking, then revocations from the most senior on.

Rules (protocol, section Roster): a statement stands if its signer was live in the resolution of its past, so
that never changes; revocations that stand are decided one by one, the most senior signer's first; one that is
decided counts, and makes void what the revoked device said that it had not seen, and whatever was vouched for
by nothing but that; everything else counts if it stands and is not void.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass

from syncmem.seal.bodies import Add, Genesis, Member, Revoke
from syncmem.seal.graph import Graph, numbers
from syncmem.seal.statements import Statement

PAPER = -1  # the seniority of the paper member; of others: the number of the add that lets them in


@dataclass(slots=True)
class View:
    """How things stand among some statements; each field is a set of them (bits).

    Attributes:
        within: what it is about; ``void``: what does not count, for another reason than its own past.
        decided: the revocations that count.
    """

    within: int
    void: int = 0
    decided: int = 0


class Resolution:
    """What counts in a graph.

    Attributes:
        stands: the statements that their signers could say (bits); ``counts``: those that count.
        paper: the paper member's key.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._by_signer: dict[bytes, int] = defaultdict(int)  # without the genesis, for which nobody vouches
        self._adds: dict[bytes, int] = defaultdict(int)  # device -> what vouches for it
        self._removals: dict[bytes, int] = defaultdict(int)  # device -> the revocations that name it
        self._named: dict[int, bytes] = {}  # revocation -> whom it names
        self._revoking = self._deciding = self.stands = 0
        self._views: dict[int, View] = {0: View(0)}
        root = graph.ordered[0].body
        assert isinstance(root, Genesis)
        self.paper = None if root.paper is None else root.paper.device
        for number, statement in enumerate(graph.ordered):
            if self._may_say(number, statement):
                self._note(number, statement)
        self._final = self._resolved(self.stands)
        self.counts = (self.stands & ~self._final.void & ~self._revoking) | self._final.decided

    # -- answers ------------------------------------------------------------------------------------

    @property
    def standing(self) -> list[Statement]:
        return [self._graph.ordered[number] for number in numbers(self.stands)]

    @property
    def counting(self) -> list[Statement]:
        return [self._graph.ordered[number] for number in numbers(self.counts)]

    @property
    def revocations(self) -> list[Statement]:
        """Those that count."""
        return [self._graph.ordered[number] for number in numbers(self._final.decided)]

    def is_revoked(self, device: bytes) -> bool:
        """Whether a revocation of a device counts."""
        return self._is_revoked(device, self._final)

    def is_live(self, device: bytes) -> bool:
        """Whether an add of a device counts, and no revocation of it."""
        return self._is_live(device, self._final)

    def seniority(self, device: bytes) -> int | None:
        """Who is the more senior has the lower one; None: nothing vouches for the device."""
        return self._seniority(device, self._final)

    # -- what stands --------------------------------------------------------------------------------

    def _may_say(self, number: int, statement: Statement) -> bool:
        """Whether the signer was live as far as it knew; the paper member is taken out by itself alone."""
        if number == 0:
            return True
        view = self._view(number, statement)
        body, signer = statement.body, statement.signer
        if isinstance(body, Revoke) and body.device == self.paper != signer:
            return False
        return self._is_live(signer, view)

    def _note(self, number: int, statement: Statement) -> None:
        bit = 1 << number
        self.stands |= bit
        if number:
            self._by_signer[statement.signer] |= bit
        body = statement.body
        if isinstance(body, Revoke):
            self._named[number] = body.device
            self._removals[body.device] |= bit
            self._revoking |= bit
        for member in members_of(statement):
            self._adds[member.device] |= bit
        if isinstance(body, Genesis | Add | Revoke):
            self._deciding |= bit

    def _is_live(self, device: bytes, view: View) -> bool:
        return not self._is_revoked(device, view) and bool(self._adds[device] & view.within & ~view.void)

    def _is_revoked(self, device: bytes, view: View) -> bool:
        return bool(self._removals[device] & view.decided)

    def _seniority(self, device: bytes, view: View) -> int | None:
        if device == self.paper:
            return PAPER
        adds = self._adds[device] & view.within & ~view.void
        return (adds & -adds).bit_length() - 1 if adds else None

    # -- deciding -----------------------------------------------------------------------------------

    def _view(self, number: int, statement: Statement) -> View:
        """The resolution of a past: mostly that of a parent's, and a word or two that change nothing else."""
        known = self._graph.past[number] & self._deciding
        if known not in self._views:
            parents = [self._graph.past[self._graph.number[parent]] & self._deciding for parent in statement.parents]
            self._views[known] = self._extended(self._views[max(parents, key=int.bit_count)], known)
        return self._views[known]

    def _extended(self, view: View, within: int) -> View:
        for number in numbers(within & ~view.within):
            more = self._with(number, view)
            if more is None:
                return self._resolved(within)
            view = more
        return view

    def _with(self, number: int, view: View) -> View | None:
        """A view and one statement that nothing in it has in its past; None: the order of decisions may matter."""
        bit, past, signer = 1 << number, self._graph.past[number], self._graph.ordered[number].signer
        vouched = number == 0 or self._adds[signer] & past & ~view.void
        if not vouched or self._is_revoked(signer, view):
            return None
        if not bit & self._revoking:
            devices = [member.device for member in members_of(self._graph.ordered[number])]
            raises = any(self._adds[device] & view.within > bit for device in devices)
            return None if raises else View(view.within | bit, view.void, view.decided)
        if self._by_signer[self._named[number]] & view.within & ~past:
            return None
        return View(view.within | bit, view.void, view.decided | bit)

    def _resolved(self, within: int) -> View:
        """Decide revocations until none is left; a seniority falls when the add that gave it becomes void."""
        view = View(within)
        pending = [self._turn(number, view) for number in numbers(within & self._revoking)]
        heapq.heapify(pending)
        while pending:
            turn = heapq.heappop(pending)
            number = turn[-1]
            if view.void >> number & 1:
                continue
            if turn == (now := self._turn(number, view)):
                self._decide(number, view)
            else:
                heapq.heappush(pending, now)
        return view

    def _turn(self, number: int, view: View) -> tuple[int, bool, int]:
        """When a revocation is decided: by seniority, a device's own retirement first, then as they were said."""
        signer = self._graph.ordered[number].signer
        seniority = self._seniority(signer, view)
        assert seniority is not None, "what nothing vouches for is void"
        return seniority, signer != self._named[number], number

    def _decide(self, number: int, view: View) -> None:
        view.decided |= 1 << number
        said = self._by_signer[self._named[number]] & view.within
        self._void(said & ~self._graph.past[number] & ~view.void, view)

    def _void(self, lost: int, view: View) -> None:
        """Statements are void; so are those for which nothing else vouches."""
        while lost:
            view.void |= lost
            shaken = {m.device for number in numbers(lost) for m in members_of(self._graph.ordered[number])}
            lost = 0
            for device in shaken:
                adds = self._adds[device] & view.within & ~view.void
                for number in numbers(self._by_signer[device] & view.within & ~view.void):
                    if not self._graph.past[number] & adds:
                        lost |= 1 << number


def members_of(statement: Statement) -> list[Member]:
    """Whom a statement lets in."""
    body = statement.body
    if isinstance(body, Genesis):
        return [body.member] if body.paper is None else [body.member, body.paper]
    return [body.member] if isinstance(body, Add) else []
