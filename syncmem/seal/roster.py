"""The roster: who is a member, resolved from a set of statements. A pure function of the set.

Rules (protocol, section Roster): statements wait for their ancestors; seniority is the depth and id of a
key's first add, the paper member before all; revocations are looked at from the most senior signer on,
and one counts unless a counting one has taken its signer out without having it in its past; everything
else a revoked device said counts only if the revocation had it in its past; a revoked key never returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from syncmem.errors import NotCanonical, PeerError, Unreadable
from syncmem.seal.bodies import Add, Adopt, Epoch, Genesis, Grant, Granted, Member, Name, Revoke, StatementKind
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import unwrap, wrap_context
from syncmem.seal.statements import Statement

STATEMENTS_MAX: Final = 4096  # a vault of 50 devices rotated monthly stays below for years
_SECRET_BYTES: Final = 32
Seniority: TypeAlias = tuple[int, bytes]
_PAPER: Final[Seniority] = (-1, b"")


@dataclass(frozen=True, slots=True)
class Standing:
    """How a key stands in the vault."""

    device: bytes
    transport: bytes
    name: str
    live: bool
    paper: bool
    wipe: bool  # it was told to forget everything
    added_by: bytes
    added_at: int  # the clock of who added it, microseconds
    seniority: Seniority


class Roster:
    """The resolved state of a set of statements of one vault."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        held = {statement.id: statement for statement in statements}
        roots = sorted(id for id, statement in held.items() if statement.kind == StatementKind.GENESIS)
        if len(roots) != 1:
            raise NotCanonical("a roster has one genesis; ask another device for the whole roster")
        if len(held) > STATEMENTS_MAX:
            raise NotCanonical(f"a roster has at most {STATEMENTS_MAX} statements; start a new vault")
        self.vault = roots[0]
        self._held = {id: statement for id, statement in held.items() if statement.roster == self.vault}
        self._order()
        self._resolve()

    # -- the graph ----------------------------------------------------------------------------------

    def _order(self) -> None:
        """Statements whose ancestors are all known, parents before children; their pasts as bit sets."""
        children: dict[bytes, list[bytes]] = {}
        lacking = {}
        for id, statement in self._held.items():
            lacking[id] = sum(1 for parent in statement.parents)
            for parent in statement.parents:
                children.setdefault(parent, []).append(id)
        ready = [self.vault]
        self._ordered: list[Statement] = []
        self._depth: dict[bytes, int] = {}
        while ready:
            for id in sorted(ready):
                statement = self._held[id]
                self._depth[id] = 1 + max((self._depth[parent] for parent in statement.parents), default=-1)
                self._ordered.append(statement)
            following = [child for id in ready for child in children.get(id, ())]
            ready = []
            for child in following:
                lacking[child] -= 1
                if not lacking[child]:
                    ready.append(child)
        self._ordered.sort(key=lambda statement: (self._depth[statement.id], statement.id))
        self._number = {statement.id: number for number, statement in enumerate(self._ordered)}
        self._past: list[int] = []
        for statement in self._ordered:
            past = 0
            for parent in statement.parents:
                number = self._number[parent]
                past |= self._past[number] | 1 << number
            self._past.append(past)

    def _knew(self, later: Statement, earlier: Statement) -> bool:
        """Whether a statement has another in its past."""
        return bool(self._past[self._number[later.id]] >> self._number[earlier.id] & 1)

    # -- resolution ---------------------------------------------------------------------------------

    def _resolve(self) -> None:
        self._seniority: dict[bytes, Seniority] = {}
        for statement in self._ordered:
            for member in _members_of(statement):
                self._seniority.setdefault(member.device, (self._depth[statement.id], statement.id))
        root = self._ordered[0].body
        assert isinstance(root, Genesis)
        if root.paper is not None:
            self._seniority[root.paper.device] = _PAPER
        self._revocations = self._counting_revocations((1 << len(self._ordered)) - 1)
        self._counting = [s for s in self._ordered if self._counts(s)]
        self._count_ids = {statement.id for statement in self._counting}

    def _counting_revocations(self, within: int) -> list[Statement]:
        """The revocations that count among some statements (a bit set closed under ancestors)."""
        candidates = [
            s
            for n, s in enumerate(self._ordered)
            if within >> n & 1 and isinstance(s.body, Revoke) and self._was_member(s)
        ]
        candidates.sort(key=lambda s: (self._seniority[s.signer], self._depth[s.id], s.id))
        counting: list[Statement] = []
        for revocation in candidates:
            if not self._taken_out(revocation, counting) and not self._revoked_in_past(revocation):
                counting.append(revocation)
        return counting

    def _taken_out(self, statement: Statement, revocations: list[Statement]) -> bool:
        """Whether a revocation names the signer and does not have the statement in its past."""
        return any(
            isinstance(other.body, Revoke)
            and other.body.device == statement.signer
            and other.id != statement.id
            and not self._knew(other, statement)
            for other in revocations
        )

    def _revoked_in_past(self, statement: Statement) -> bool:
        """Whether the signer had seen that it was revoked."""
        past = self._past[self._number[statement.id]]
        named = any(
            past >> n & 1 and isinstance(s.body, Revoke) and s.body.device == statement.signer
            for n, s in enumerate(self._ordered)
        )
        if not named:
            return False
        counting = self._counting_revocations(past)
        return any(isinstance(r.body, Revoke) and r.body.device == statement.signer for r in counting)

    def _was_member(self, statement: Statement) -> bool:
        """Whether the signer was added in the statement's past (or is its own genesis)."""
        if statement.kind == StatementKind.GENESIS:
            body = statement.body
            return isinstance(body, Genesis) and body.member.device == statement.signer
        added = self._adds.get(statement.signer, ())
        return any(self._knew(statement, add) for add in added)

    @cached_property
    def _adds(self) -> dict[bytes, list[Statement]]:
        adds: dict[bytes, list[Statement]] = {}
        for statement in self._ordered:
            for member in _members_of(statement):
                adds.setdefault(member.device, []).append(statement)
        return adds

    def _counts(self, statement: Statement) -> bool:
        if isinstance(statement.body, Revoke):
            return statement in self._revocations
        standing = self._was_member(statement) and not self._taken_out(statement, self._revocations)
        return standing and not self._revoked_in_past(statement)

    # -- answers ------------------------------------------------------------------------------------

    @property
    def ids(self) -> set[bytes]:
        """The ids of all statements, also of those that wait for ancestors."""
        return set(self._held)

    @property
    def missing(self) -> set[bytes]:
        """Ids that are named as parents and not held."""
        return {parent for s in self._held.values() for parent in s.parents} - set(self._held)

    @cached_property
    def heads(self) -> list[bytes]:
        """The parents of the next statement: those that no other names."""
        named = {parent for statement in self._ordered for parent in statement.parents}
        return sorted(statement.id for statement in self._ordered if statement.id not in named)

    def statements_in_order(self) -> list[Statement]:
        """Parents before children; then those that wait."""
        waiting = [s for id, s in sorted(self._held.items()) if id not in self._number]
        return [*self._ordered, *waiting]

    @cached_property
    def members(self) -> list[Standing]:
        """All keys that were ever members, the most senior first."""
        return sorted(self._standings.values(), key=lambda standing: standing.seniority)

    @cached_property
    def _standings(self) -> dict[bytes, Standing]:
        root = self._ordered[0].body
        assert isinstance(root, Genesis)
        paper = None if root.paper is None else root.paper.device
        names = {s.body.device: s.body.name for s in self._counting if isinstance(s.body, Name)}
        revoked = {s.body.device: s.body for s in self._revocations if isinstance(s.body, Revoke)}
        wiped = {s.body.device for s in self._revocations if isinstance(s.body, Revoke) and s.body.wipe}
        found: dict[bytes, Standing] = {}
        for statement in self._counting:
            for device, transport, name, _ in _members_of(statement):
                if device not in found:
                    found[device] = Standing(
                        device, transport, names.get(device, name), device not in revoked, device == paper,
                        device in wiped, statement.signer, statement.time, self._seniority[device],
                    )  # fmt: skip
        return found

    def member(self, device: bytes) -> Standing | None:
        """How a key stands; None: it was never a member."""
        return self._standings.get(device)

    def is_live(self, device: bytes) -> bool:
        standing = self.member(device)
        return standing is not None and standing.live

    def cut(self, device: bytes, log: bytes) -> int | None:
        """The last place of a log that counts; None: all of it does."""
        cuts = [
            next((seq for cut_log, seq, _ in s.body.cut if cut_log == log), 0)
            for s in self._revocations
            if isinstance(s.body, Revoke) and s.body.device == device
        ]
        if not cuts:
            return None
        adopted = [s.body.seq for s in self._counting if isinstance(s.body, Adopt) and s.body.log == log]
        return max(min(cuts), *adopted) if adopted else min(cuts)

    # -- epochs -------------------------------------------------------------------------------------

    @cached_property
    def _epochs(self) -> dict[str, list[Statement]]:
        found: dict[str, list[Statement]] = {}
        for statement in self._counting:
            if isinstance(statement.body, Epoch):
                found.setdefault(statement.body.scope, []).append(statement)
        return found

    def epochs(self, scope: str) -> list[Statement]:
        """The epochs of a scope that count, older ones first."""
        return self._epochs.get(scope, [])

    @property
    def scopes(self) -> list[str]:
        return sorted(self._epochs)

    def current_epoch(self, scope: str) -> Statement | None:
        """The epoch under which a scope is written now; None: it must be rotated first (or does not exist)."""
        epochs = self.epochs(scope)
        tips = [e for e in epochs if not any(self._knew(other, e) for other in epochs)]
        usable = [e for e in tips if all(self.is_live(device) for device in self.recipients(e.id))]
        return min(usable, key=lambda epoch: epoch.id, default=None)

    def needs_rotation(self, scope: str) -> bool:
        """Whether a scope has keys, and none that only live devices have."""
        return bool(self.epochs(scope)) and self.current_epoch(scope) is None

    def recipients(self, epoch: bytes) -> set[bytes]:
        """Who was given an epoch's key."""
        return {device for device, (scope, wrap) in self._wraps.get(epoch, {}).items()}

    @cached_property
    def _wraps(self) -> dict[bytes, dict[bytes, tuple[str, bytes]]]:
        """Epoch id -> device -> (scope, wrapped key); a grant that does not count has given the key all the same."""
        found: dict[bytes, dict[bytes, tuple[str, bytes]]] = {}
        for statement in self._ordered:
            body = statement.body
            if isinstance(body, Epoch):
                for device, wrap in body.wraps:
                    found.setdefault(statement.id, {})[device] = (body.scope, wrap)
            for device, grant in _grants_of(body):
                found.setdefault(grant.epoch, {}).setdefault(device, (grant.scope, grant.wrap))
        return found

    def wraps_for(self, device: bytes) -> dict[bytes, tuple[str, bytes]]:
        """Epoch id -> (scope, wrapped key) of everything that was given to a device."""
        return {epoch: wraps[device] for epoch, wraps in self._wraps.items() if device in wraps}

    def scopes_of(self, device: bytes) -> set[str]:
        """The scopes of which a device has any key."""
        return {scope for scope, _ in self.wraps_for(device).values() if scope in self._epochs}


def _members_of(statement: Statement) -> list[Member]:
    body = statement.body
    if isinstance(body, Genesis):
        return [body.member] if body.paper is None else [body.member, body.paper]
    return [body.member] if isinstance(body, Add) else []


def _grants_of(body: object) -> list[tuple[bytes, Grant]]:
    if isinstance(body, Add):
        return [(body.member.device, grant) for grant in body.grants]
    return [(body.device, grant) for grant in body.grants] if isinstance(body, Granted) else []


def epoch_keys(roster: Roster, seed: bytes, device: bytes) -> dict[bytes, EpochKey]:
    """The keys of all epochs that were wrapped to a device; what does not open is left out."""
    found: dict[bytes, EpochKey] = {}
    for epoch, (scope, wrapped) in roster.wraps_for(device).items():
        try:
            both = unwrap(seed, wrap_context(roster.vault, scope, device), wrapped)
        except (PeerError, Unreadable):
            continue
        if len(both) == 2 * _SECRET_BYTES:
            found[epoch] = EpochKey(roster.vault, scope, epoch, both[:_SECRET_BYTES], both[_SECRET_BYTES:])
    return found
