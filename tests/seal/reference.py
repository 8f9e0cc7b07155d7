"""The rules of the roster, as plain as they can be said: sets, no numbers, no bits, nothing remembered but by cache.

A second reading of the protocol (section Roster, whose numbers stand here) to hold the fast one against.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache

from syncmem.seal.bodies import Add, Adopt, Epoch, Genesis, Granted, Revoke, StatementKind
from syncmem.seal.statements import Statement

Statements = frozenset[Statement]


class Reference:
    """What counts in a set of statements of one vault."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self.held = {statement.id: statement for statement in statements}
        (self.root,) = (s for s in self.held.values() if s.kind == StatementKind.GENESIS)
        self.paper = None if self.root.body.paper is None else self.root.body.paper.device
        self.past = lru_cache(None)(self.past)  # type: ignore[method-assign]
        self.counting = lru_cache(None)(self.counting)  # type: ignore[method-assign]
        self.all = frozenset(s for s in self.held.values() if self.past(s) is not None)

    def past(self, statement: Statement) -> Statements | None:
        """The ancestors; None: one of them is not held, so the statement waits."""
        if statement == self.root:
            return frozenset()
        parents = [self.held.get(parent) for parent in statement.parents]
        pasts = [None if parent is None else self.past(parent) for parent in parents]
        return None if None in pasts else frozenset(parents).union(*pasts)

    def place(self, statement: Statement) -> tuple[int, bytes]:
        parents = [self.place(self.held[parent])[0] for parent in statement.parents]
        return 1 + max(parents, default=-1), statement.id

    def stands(self, statement: Statement) -> bool:
        """Rule 1."""
        body, signer = statement.body, statement.signer
        if isinstance(body, Revoke) and body.device == self.paper != signer:
            return False
        return statement == self.root or self.is_live(signer, self.past(statement))

    def counting(self, within: Statements) -> Statements:
        """Rules 2 to 4."""
        standing = frozenset(filter(self.stands, within))
        decided: set[Statement] = set()
        void: set[Statement] = set()
        while True:
            alone = {s for s in standing - void if s != self.root and not self.adds(s.signer, self.past(s) - void)}
            void |= alone
            left = [s for s in standing - void - decided if isinstance(s.body, Revoke)]
            if alone:
                continue  # nobody vouches for them: so whom they let in may be alone too
            if not left:
                return frozenset(s for s in standing - void if not isinstance(s.body, Revoke)) | decided
            first = min(left, key=lambda s: self.turn(s, standing - void))
            decided.add(first)
            void |= {s for s in standing if s.signer == first.body.device} - self.past(first) - {first, self.root}

    def turn(self, revocation: Statement, among: Statements) -> tuple[tuple[int, bytes], bool, tuple[int, bytes]]:
        assert isinstance(revocation.body, Revoke)
        signer = revocation.signer
        return self.seniority(signer, among), signer != revocation.body.device, self.place(revocation)

    def seniority(self, device: bytes, among: Statements) -> tuple[int, bytes]:
        return (-1, b"") if device == self.paper else min(map(self.place, self.adds(device, among)))

    def adds(self, device: bytes, among: Iterable[Statement]) -> Statements:
        """What vouches for a device; only what stands does."""
        return frozenset(s for s in among if device in added(s) and self.stands(s))

    def is_live(self, device: bytes, within: Statements) -> bool:
        """Rule 5."""
        counting = self.counting(within)
        revoked = any(isinstance(s.body, Revoke) and s.body.device == device for s in counting)
        return bool(self.adds(device, counting)) and not revoked

    def cut(self, device: bytes, log: bytes) -> int | None:
        """Rule 6."""
        counting = self.counting(self.all)
        adoptions = [s for s in counting if isinstance(s.body, Adopt) and s.body.log == log]
        removals = [s for s in counting if isinstance(s.body, Revoke) and s.body.device == device]
        if self.is_live(device, self.all):
            return None
        if not self.adds(device, counting):
            return max((s.body.seq for s in adoptions), default=0)
        cuts = []
        for removal in removals:
            named = {name: seq for name, seq, _ in removal.body.cut}.get(log, 0)
            cuts.append(max([named, *(s.body.seq for s in adoptions if removal in self.past(s))]))
        return min(cuts)

    @cached_property
    def given(self) -> dict[str, set[tuple[Statement, bytes, bytes]]]:
        """Rule 7: scope -> (by which statement, of which epoch, to whom)."""
        given: dict[str, set[tuple[Statement, bytes, bytes]]] = {}
        for statement in sorted(self.counting(self.all), key=self.place):
            body = statement.body
            if isinstance(body, Epoch) and self.may_rotate(statement, given):
                knows = {statement.signer, *(device for device, _ in body.wraps)}
                given.setdefault(body.scope, set()).update((statement, statement.id, one) for one in knows)
            for scope, epoch, device in grants(statement):
                said = self.held.get(epoch)
                right = said in self.past(statement) and isinstance(said.body, Epoch) and said.body.scope == scope
                if right and self.has(statement, given.get(scope, set())):
                    given[scope] |= {(statement, epoch, device), (statement, epoch, statement.signer)}
        return given

    def may_rotate(self, epoch: Statement, given: dict[str, set[tuple[Statement, bytes, bytes]]]) -> bool:
        founding = self.founding(epoch.body.scope)
        same = epoch.body.subject_mark == founding.body.subject_mark
        return epoch == founding or (same and self.has(epoch, given.get(epoch.body.scope, set())))

    def founding(self, scope: str) -> Statement:
        counting = self.counting(self.all)
        of_scope = {s for s in counting if isinstance(s.body, Epoch) and s.body.scope == scope}
        first = [s for s in of_scope if not of_scope & self.past(s)]
        return min(first, key=lambda s: (self.seniority(s.signer, counting), self.place(s)))

    def has(self, statement: Statement, given: set[tuple[Statement, bytes, bytes]]) -> bool:
        return any(device == statement.signer and by in self.past(statement) for by, _, device in given)

    def epochs(self, scope: str) -> list[Statement]:
        return sorted({by for by, epoch, _ in self.given[scope] if by.id == epoch}, key=self.place)

    def current(self, scope: str) -> bytes | None:
        """Rule 8."""
        tips = [e for e in self.epochs(scope) if not any(e in self.past(other) for other in self.epochs(scope))]
        dead = {d for e in tips for d in self.recipients(scope, e.id) if not self.is_live(d, self.all)}
        return min((e.id for e in tips if not dead & self.recipients(scope, e.id)), default=None)

    def recipients(self, scope: str, epoch: bytes) -> set[bytes]:
        return {device for _, of, device in self.given[scope] if of == epoch}


def added(statement: Statement) -> list[bytes]:
    body = statement.body
    if isinstance(body, Genesis):
        return [member.device for member in (body.member, body.paper) if member is not None]
    return [body.member.device] if isinstance(body, Add) else []


def grants(statement: Statement) -> list[tuple[str, bytes, bytes]]:
    """What a statement gives: (scope, epoch id, to whom)."""
    body = statement.body
    device = body.member.device if isinstance(body, Add) else body.device if isinstance(body, Granted) else b""
    return [(g.scope, g.epoch, device) for g in body.grants] if isinstance(body, Add | Granted) else []
