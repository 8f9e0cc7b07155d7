"""Which statements count: membership at the time of speaking, then revocations from the most senior on.

Rules (protocol, section Roster): a statement stands if its signer was live in the resolution of its past, so
that never changes; revocations that stand are decided one by one, the most senior signer's first; one that is
decided counts, and makes void what the revoked device said that it had not seen, and whatever was vouched for
by nothing but that; everything else counts if it stands and is not void.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field

from syncmem.seal.bodies import Add, Genesis, Member, Revoke
from syncmem.seal.graph import Graph, numbers
from syncmem.seal.statements import Statement

PAPER = -1  # the seniority of the paper member; of others: the number of the add that lets them in


@dataclass(slots=True)
class View:
    """How things stand among some statements.

    Attributes:
        within: the statements (bits); ``void``: those of them that do not count for another reason than their own past.
        decided: the revocations that count, in the order in which they were decided; ``revoked``: whom they name.
    """

    within: int
    void: int = 0
    decided: list[int] = field(default_factory=list)
    revoked: set[bytes] = field(default_factory=set)


class Resolution:
    """What counts in a graph.

    Attributes:
        stands: the statements that their signers could say (bits); ``counts``: those that count.
        revocations: those that count; ``revoked``: whom they name.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._by_signer: dict[bytes, int] = defaultdict(int)  # without the genesis, for which nobody vouches
        self._adds: dict[bytes, int] = defaultdict(int)
        self._added: dict[int, list[bytes]] = {}
        self._names: dict[int, bytes] = {}  # number of a revocation -> whom it names
        self._views: dict[int, View] = {}
        root = graph.ordered[0].body
        assert isinstance(root, Genesis)
        self.paper = None if root.paper is None else root.paper.device
        self._revoking = self._deciding = self.stands = 0
        for number, statement in enumerate(graph.ordered):
            if self._may_say(number, statement):
                self._note(number, statement)
        self._final = self._resolved(self.stands)
        decided = sum(1 << number for number in self._final.decided)
        self.counts = (self.stands & ~self._final.void & ~self._revoking) | decided
        self.revocations = [graph.ordered[number] for number in sorted(self._final.decided)]
        self.revoked = self._final.revoked

    # -- answers ------------------------------------------------------------------------------------

    @property
    def counting(self) -> list[Statement]:
        return [self._graph.ordered[number] for number in numbers(self.counts)]

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
        body, signer = statement.body, statement.signer
        if isinstance(body, Revoke) and body.device == self.paper != signer:
            return False
        known = self._graph.past[number] & self._deciding
        if known not in self._views:
            self._views[known] = self._resolved(known)
        return self._is_live(signer, self._views[known])

    def _note(self, number: int, statement: Statement) -> None:
        bit = 1 << number
        self.stands |= bit
        if number:
            self._by_signer[statement.signer] |= bit
        if isinstance(statement.body, Revoke):
            self._names[number] = statement.body.device
            self._revoking |= bit
            self._deciding |= bit
        for member in members_of(statement):
            self._adds[member.device] |= bit
            self._added.setdefault(number, []).append(member.device)
            self._deciding |= bit

    def _is_live(self, device: bytes, view: View) -> bool:
        return device not in view.revoked and bool(self._adds[device] & view.within & ~view.void)

    def _seniority(self, device: bytes, view: View) -> int | None:
        if device == self.paper:
            return PAPER
        adds = self._adds[device] & view.within & ~view.void
        return (adds & -adds).bit_length() - 1 if adds else None

    # -- deciding -----------------------------------------------------------------------------------

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
        return seniority, signer != self._names[number], number

    def _decide(self, number: int, view: View) -> None:
        device = self._names[number]
        view.decided.append(number)
        view.revoked.add(device)
        self._void(self._by_signer[device] & view.within & ~self._graph.past[number] & ~view.void, view)

    def _void(self, lost: int, view: View) -> None:
        """Statements are void; so are those for which nothing else vouches."""
        while lost:
            view.void |= lost
            shaken = {device for number in numbers(lost) for device in self._added.get(number, ())}
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
