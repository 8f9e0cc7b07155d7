"""The roster: who is a member, with which keys, resolved from a set of statements. A pure function of the set.

Rules: :mod:`graph <syncmem.seal.graph>` says what each statement knew, :mod:`resolution
<syncmem.seal.resolution>` which count, :mod:`scopes <syncmem.seal.scopes>` who has which key; here stand the answers.
A device that was let in by something void is remembered, is no member, and nothing it wrote is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from syncmem.errors import PeerError
from syncmem.seal.bodies import KEY_BYTES, Adopt, Epoch, Member, Name, Revoke
from syncmem.seal.envelope import EpochKey
from syncmem.seal.graph import Graph
from syncmem.seal.keys import unwrap, wrap_context
from syncmem.seal.resolution import Resolution, members_of
from syncmem.seal.scopes import Scopes
from syncmem.seal.statements import PARENTS_MAX, Statement


@dataclass(frozen=True, slots=True)
class Standing:
    """How a device stands in the vault."""

    device: bytes
    transport: bytes
    name: str
    live: bool
    revoked: bool  # it can never come back with this key
    paper: bool
    wipe: bool  # it was told to forget everything
    added_by: bytes
    added_at: int  # the clock of who added it, microseconds


class Roster:
    """The resolved state of a set of statements of one vault."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._graph = Graph(statements)
        self._resolution = Resolution(self._graph)
        self._scopes = Scopes(self._graph, self._resolution)
        self.vault = self._graph.vault

    # -- statements ---------------------------------------------------------------------------------

    @property
    def ids(self) -> set[bytes]:
        """The ids of all statements, also of those that wait for ancestors."""
        return set(self._graph.held)

    @property
    def missing(self) -> set[bytes]:
        """Ids that are named as parents and not held."""
        return self._graph.missing

    def statements_in_order(self) -> list[Statement]:
        """Parents before children; then those that wait."""
        return [*self._graph.ordered, *self._graph.waiting]

    @cached_property
    def heads(self) -> list[bytes]:
        """The parents of the next statement: what stands and no other that stands names.

        Where there are too many to name, one of each signer comes before a second of any: a flood hides nobody.
        """
        standing = self._resolution.standing
        named = {parent for statement in standing for parent in statement.parents}
        heads = [statement for statement in standing if statement.id not in named]
        turns: Counter[bytes] = Counter()
        ranked = []
        for statement in reversed(heads):
            turns[statement.signer] += 1
            ranked.append((turns[statement.signer], not self.is_live(statement.signer), statement.id))
        return sorted(id for _, _, id in sorted(ranked)[:PARENTS_MAX])

    # -- members ------------------------------------------------------------------------------------

    @cached_property
    def members(self) -> list[Standing]:
        """Every device that was ever let in, the most senior first; those that are no members now come last."""
        no_seniority = len(self._graph.ordered)
        seniority = {device: self._resolution.seniority(device) for device in self._standings}
        order = {device: no_seniority if value is None else value for device, value in seniority.items()}
        return sorted(self._standings.values(), key=lambda standing: order[standing.device])

    @cached_property
    def _standings(self) -> dict[bytes, Standing]:
        counting = self._resolution.counting
        names = {s.body.device: s.body.name for s in counting if isinstance(s.body, Name)}
        wiped = {r.device for r in self._revocations if r.wipe}
        found: dict[bytes, Standing] = {}
        for statement in [*counting, *self._resolution.standing]:
            for member in members_of(statement):
                if member.device not in found:
                    name = names.get(member.device, member.name)
                    found[member.device] = self._standing(member, statement, name, member.device in wiped)
        return found

    def _standing(self, member: Member, added: Statement, name: str, wipe: bool) -> Standing:
        device = member.device
        return Standing(
            device=device,
            transport=member.transport,
            name=name,
            live=self.is_live(device),
            revoked=self._resolution.is_revoked(device),
            paper=device == self._resolution.paper,
            wipe=wipe,
            added_by=added.signer,
            added_at=added.time,
        )

    @cached_property
    def _revocations(self) -> list[Revoke]:
        return [s.body for s in self._resolution.revocations if isinstance(s.body, Revoke)]

    def member(self, device: bytes) -> Standing | None:
        """How a device stands; None: it was never let in."""
        return self._standings.get(device)

    def is_live(self, device: bytes) -> bool:
        return self._resolution.is_live(device)

    def cut(self, device: bytes, log: bytes) -> int | None:
        """The last place of a device's log that counts; None: all of it does."""
        if self.is_live(device):
            return None
        adopted = [s for s in self._resolution.counting if isinstance(s.body, Adopt) and s.body.log == log]
        if (
            self._resolution.seniority(device) is None
        ):  # a stranger, or an accomplice: whoever removes it adopts nothing
            return max(map(_adopted, adopted), default=0)
        cuts = []
        for revocation in self._resolution.revocations:
            body = revocation.body
            if isinstance(body, Revoke) and body.device == device:
                later = [s for s in adopted if self._graph.knew(s.id, revocation.id)]
                cuts.append(max([_place(body, log), *map(_adopted, later)]))
        return min(cuts)

    # -- epochs -------------------------------------------------------------------------------------

    @property
    def scopes(self) -> list[str]:
        return self._scopes.names

    def epochs(self, scope: str) -> list[Statement]:
        """The epochs of a scope that count, older ones first."""
        return self._scopes.epochs(scope)

    def current_epoch(self, scope: str) -> Statement | None:
        """The epoch under which a scope is written now; None: it must be rotated first (or does not exist)."""
        return self._scopes.current(scope)

    def needs_rotation(self, scope: str) -> bool:
        """Whether a scope has keys, and none that only live devices have."""
        return bool(self.epochs(scope)) and self.current_epoch(scope) is None

    def recipients(self, epoch: bytes) -> set[bytes]:
        """Who knows an epoch's key, as far as anybody said."""
        return self._scopes.recipients(epoch)

    def wraps_for(self, device: bytes) -> dict[bytes, list[bytes]]:
        """Epoch id -> what was wrapped for a device."""
        return self._scopes.wraps_for(device)

    def scopes_of(self, device: bytes) -> set[str]:
        """The scopes that a device was given."""
        return self._scopes.of(device)

    def devices_of(self, scope: str) -> list[Standing]:
        """The live devices that were given a scope; not the recovery phrase."""
        return [m for m in self.members if m.live and not m.paper and scope in self.scopes_of(m.device)]

    def epoch(self, id: bytes) -> Epoch:
        """What the statement of an epoch says."""
        body = self._graph.held[id].body
        assert isinstance(body, Epoch), "wraps are kept for epochs only"
        return body


def _place(revocation: Revoke, log: bytes) -> int:
    return next((seq for cut_log, seq, _ in revocation.cut if cut_log == log), 0)


def _adopted(statement: Statement) -> int:
    assert isinstance(statement.body, Adopt)
    return statement.body.seq


def epoch_keys(roster: Roster, seed: bytes, device: bytes) -> dict[bytes, EpochKey]:
    """The keys of all epochs that were wrapped to a device; what does not open, or is another key, is left out."""
    found: dict[bytes, EpochKey] = {}
    for id, wraps in roster.wraps_for(device).items():
        epoch = roster.epoch(id)
        context = wrap_context(roster.vault, epoch.scope, device)
        for both in _opened(seed, context, wraps):
            key = EpochKey(roster.vault, epoch.scope, id, both[:KEY_BYTES], both[KEY_BYTES:])
            if (key.key_mark, key.subject_mark) == (epoch.key_mark, epoch.subject_mark):
                found[id] = key
                break
    return found


def newest_key(roster: Roster, scope: str, keys: Mapping[bytes, EpochKey]) -> EpochKey | None:
    """Of some keys that under which a scope is written now, else the newest one of it; None: none is of it."""
    current = roster.current_epoch(scope)
    if current is not None and current.id in keys:
        return keys[current.id]
    return next((keys[epoch.id] for epoch in reversed(roster.epochs(scope)) if epoch.id in keys), None)


def _opened(seed: bytes, context: bytes, wraps: Sequence[bytes]) -> Iterator[bytes]:
    for wrapped in wraps:
        with suppress(PeerError):
            yield unwrap(seed, context, wrapped)
