"""Scopes: which epochs of them count, who has them, and under which epoch each is written now.

Rules (protocol, section Roster): the first epoch of a scope by the most senior signer founds it; an epoch or
a grant counts if its signer had the scope as far as it knew, and if it keeps the scope's subject key; who
signs one knows the key, as does who is given it; an epoch that anybody knows who is not live is not current.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from syncmem.seal.bodies import Add, Epoch, Grant, Granted
from syncmem.seal.graph import Graph, numbers
from syncmem.seal.resolution import Resolution
from syncmem.seal.statements import Statement


@dataclass(slots=True)
class Scope:
    """One scope.

    Attributes:
        epochs: those that count (bits); ``said``: those, and others whose signers did not have the scope.
        holders: device -> the statements that gave it the scope (bits).
        subject_mark: what its subject key is bound to, by the epoch that founded it.
    """

    epochs: int = 0
    said: int = 0
    holders: dict[bytes, int] = field(default_factory=lambda: defaultdict(int))
    subject_mark: bytes = b""


class Scopes:
    """The scopes of a vault."""

    def __init__(self, graph: Graph, resolution: Resolution) -> None:
        self._graph = graph
        self._resolution = resolution
        self._scopes: dict[str, Scope] = defaultdict(Scope)
        self._recipients: dict[bytes, set[bytes]] = defaultdict(set)  # epoch id -> who knows its key
        self._wraps: dict[bytes, dict[bytes, list[bytes]]] = {}  # device -> epoch id -> wraps, any of which may open
        for number in numbers(resolution.stands):
            self._keep_wraps(graph.ordered[number])
        for statement in resolution.counting:
            if isinstance(statement.body, Epoch):
                self._scopes[statement.body.scope].said |= self._bit(statement)
        founding = {self._founding(scope) for scope in self._scopes.values()}
        for statement in resolution.counting:
            self._take(statement, founds=graph.number[statement.id] in founding)
        self._current = {name: self._chosen(scope) for name, scope in self._scopes.items()}

    # -- answers ------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        return sorted(name for name, scope in self._scopes.items() if scope.epochs)

    def epochs(self, name: str) -> list[Statement]:
        """The epochs of a scope that count, older ones first."""
        scope = self._scopes.get(name)
        return [] if scope is None else [self._graph.ordered[number] for number in numbers(scope.epochs)]

    def current(self, name: str) -> Statement | None:
        """The epoch under which a scope is written now; None: there is none that only live devices know."""
        return self._current.get(name)

    def recipients(self, epoch: bytes) -> set[bytes]:
        """Who knows an epoch's key: who signed it, whom it was wrapped for, who was granted it, and who granted it."""
        return self._recipients.get(epoch, set())

    def of(self, device: bytes) -> set[str]:
        """The scopes that a device was given."""
        return {name for name, scope in self._scopes.items() if scope.holders.get(device)}

    def wraps_for(self, device: bytes) -> dict[bytes, list[bytes]]:
        """Epoch id -> what was wrapped for a device, in the order in which it was said."""
        return self._wraps.get(device, {})

    # -- resolution ---------------------------------------------------------------------------------

    def _founding(self, scope: Scope) -> int:
        """The number of the epoch that founds a scope: of those that knew of no other, the most senior signer's."""
        first = [number for number in numbers(scope.said) if not self._graph.past[number] & scope.said]
        return min(first, key=lambda number: (self._seniority(number), number))

    def _seniority(self, number: int) -> int:
        seniority = self._resolution.seniority(self._graph.ordered[number].signer)
        assert seniority is not None, "who says what counts is vouched for"
        return seniority

    def _take(self, statement: Statement, *, founds: bool) -> None:
        body = statement.body
        if isinstance(body, Epoch):
            scope = self._scopes[body.scope]
            if founds:
                scope.subject_mark = body.subject_mark
            if founds or (self._has(statement, scope) and body.subject_mark == scope.subject_mark):
                scope.epochs |= self._bit(statement)
                self._give(statement, scope, statement.id, [statement.signer, *(device for device, _ in body.wraps)])
        for device, grant in _grants_of(statement):
            granted = self._scopes.get(grant.scope)
            if granted is not None and self._has(statement, granted) and self._knew_epoch(statement, grant):
                self._give(statement, granted, grant.epoch, [statement.signer, device])

    def _give(self, statement: Statement, scope: Scope, epoch: bytes, devices: Iterable[bytes]) -> None:
        """Devices have a scope, and the key of one epoch of it, from a statement on."""
        for device in devices:
            scope.holders[device] |= self._bit(statement)
            self._recipients[epoch].add(device)

    def _has(self, statement: Statement, scope: Scope) -> bool:
        """Whether a signer was given a scope in its past."""
        return bool(self._graph.past[self._graph.number[statement.id]] & scope.holders.get(statement.signer, 0))

    def _knew_epoch(self, statement: Statement, grant: Grant) -> bool:
        """Whether a grant names an epoch of its scope that its signer had heard of."""
        return self._is_of(grant) and self._graph.knew(statement.id, grant.epoch)

    def _is_of(self, grant: Grant) -> bool:
        number = self._graph.number.get(grant.epoch)
        body = None if number is None else self._graph.ordered[number].body
        return isinstance(body, Epoch) and body.scope == grant.scope

    def _keep_wraps(self, statement: Statement) -> None:
        """Also of what is void: a device says farewell in the mailbox of an epoch that turned out to be."""
        wraps = [(device, grant.epoch, grant.wrap) for device, grant in _grants_of(statement) if self._is_of(grant)]
        if isinstance(statement.body, Epoch):
            wraps = [(device, statement.id, wrap) for device, wrap in statement.body.wraps]
        for device, epoch, wrap in wraps:
            self._wraps.setdefault(device, {}).setdefault(epoch, []).append(wrap)

    def _chosen(self, scope: Scope) -> Statement | None:
        """Of the epochs that are in no other's past and that only live devices know, the one with the least id."""
        followed = 0
        for number in numbers(scope.epochs):
            followed |= self._graph.past[number]
        tips = [self._graph.ordered[number] for number in numbers(scope.epochs & ~followed)]
        usable = [epoch for epoch in tips if all(map(self._resolution.is_live, self._recipients[epoch.id]))]
        return min(usable, key=lambda epoch: epoch.id, default=None)

    def _bit(self, statement: Statement) -> int:
        return 1 << self._graph.number[statement.id]


def _grants_of(statement: Statement) -> list[tuple[bytes, Grant]]:
    body = statement.body
    if isinstance(body, Add):
        return [(body.member.device, grant) for grant in body.grants]
    return [(body.device, grant) for grant in body.grants] if isinstance(body, Granted) else []
