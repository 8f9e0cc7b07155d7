"""The statements of a change, made from the roster as it is: found a vault, admit, grant, rotate, revoke.

Rules: whoever changes something names everything it knows (the roster's heads); a rotation gives the new
key to each live member that has the scope and keeps the scope's subject key; a revocation comes with the
rotations of the scopes that the device had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from syncmem.errors import InvalidInput
from syncmem.seal.bodies import (
    GRANTS_MAX,
    MEMBERS_MAX,
    SUITE,
    WRAPS_MAX,
    Add,
    Adopt,
    Epoch,
    Genesis,
    Grant,
    Granted,
    Member,
    Name,
    Revoke,
    StatementKind,
    new_member,
)
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key, wrap, wrap_context
from syncmem.seal.roster import Roster, newest_key
from syncmem.seal.statements import NO_VAULT, Statement, write_statement

SECRET_BYTES: Final = 32
EARLIER_MAX: Final = 8  # keys of earlier epochs of a scope that are given beside the newest one
PAPER_NAME: Final = "recovery phrase"

Keys = Mapping[bytes, EpochKey]
Randomness = Callable[[int], bytes]


def genesis(seed: bytes, name: str, time: int, nonce: bytes, paper: bytes | None, recovery: bytes | None) -> Statement:
    """Found a vault: its first device and its paper member."""
    member = new_member(seed, name)
    on_paper = None if paper is None else new_member(paper, PAPER_NAME, founder=member.device)
    body = Genesis(SUITE, nonce, member, on_paper, recovery)
    return write_statement(StatementKind.GENESIS, NO_VAULT, [], seed, time, body)


def rotation(roster: Roster, seed: bytes, scope: str, time: int, randomness: Randomness, keys: Keys) -> Statement:
    """A new key for a scope (its first, where it has none: then for the signer and the paper member)."""
    signer = public_key(seed)
    has = {member.device for member in roster.members if scope in roster.scopes_of(member.device)}
    has |= {signer} | {member.device for member in roster.members if member.paper}
    ours = [keys[epoch.id] for epoch in roster.epochs(scope) if epoch.id in keys]
    if roster.epochs(scope) and not ours:
        raise InvalidInput(f"this device has no key of the scope {scope!r}; rotate it on a device that has")
    subject = ours[-1].subject if ours else randomness(SECRET_BYTES)
    key = EpochKey(roster.vault, scope, b"", randomness(SECRET_BYTES), subject)
    having = [member for member in roster.members if member.live and member.device in has]
    given = sorted(having, key=lambda member: member.device != signer)[:WRAPS_MAX]  # then the most senior first
    wraps = sorted((member.device, _wrapped(roster, key, member.device, member.transport)) for member in given)
    body = Epoch(scope, wraps, key.key_mark, key.subject_mark)
    return _say(roster, seed, time, StatementKind.EPOCH, body)


def admission(
    roster: Roster, seed: bytes, member: Member, scopes: Iterable[str], time: int, keys: Keys, *, stale: bool = False
) -> Statement:
    """A new member, with the keys of some scopes; ``stale``: if not the current ones, its newest."""
    known = roster.member(member.device)
    if known is not None and (known.live or known.revoked):
        raise InvalidInput(f"the device {member.name!r} is or was a member; it must make a new key to come back")
    if not _is_paper(roster, seed) and sum(standing.live for standing in roster.members) >= MEMBERS_MAX:
        raise InvalidInput(f"a vault has at most {MEMBERS_MAX} devices; revoke one that is not used")
    grants = _grants(roster, member.device, member.transport, scopes, keys, stale=stale)
    return _say(roster, seed, time, StatementKind.ADD, Add(member, grants))


def _is_paper(roster: Roster, seed: bytes) -> bool:
    """Whether the recovery phrase speaks: nobody keeps it out by filling the vault."""
    signer = roster.member(public_key(seed))
    return signer is not None and signer.paper


def grant(
    roster: Roster, seed: bytes, device: bytes, scopes: Iterable[str], time: int, keys: Keys, *, stale: bool = False
) -> Statement:
    """More scopes for a member; ``stale`` as in :func:`admission`."""
    standing = roster.member(device)
    if standing is None or not standing.live:
        raise InvalidInput("the device is no member of the vault; invite it first")
    grants = _grants(roster, device, standing.transport, scopes, keys, stale=stale)
    return _say(roster, seed, time, StatementKind.GRANT, Granted(device, grants))


def _grants(
    roster: Roster, device: bytes, transport: bytes, scopes: Iterable[str], keys: Keys, *, stale: bool = False
) -> list[Grant]:
    """The newest key of each scope, and as many of earlier ones as there is room for: whoever has not found the way
    from an earlier mailbox to the present one is shown it by all who can still go there."""
    newest, earlier = list[EpochKey](), list[EpochKey]()
    for scope in dict.fromkeys(scopes):
        key, current = newest_key(roster, scope, keys), roster.current_epoch(scope)
        if key is None or not (stale or (current is not None and current.id == key.epoch)):
            raise InvalidInput(f"this device has no current key of the scope {scope!r}; sync, then try again")
        newest.append(key)
        ours = [epoch.id for epoch in reversed(roster.epochs(scope)) if epoch.id in keys and epoch.id != key.epoch]
        earlier += [keys[id] for id in ours[:EARLIER_MAX] if device not in roster.recipients(id)]
    given = [*newest, *earlier][:GRANTS_MAX]
    grants = [Grant(key.scope, key.epoch, _wrapped(roster, key, device, transport)) for key in given]
    return sorted(grants, key=lambda grant: (grant.scope.encode(), grant.epoch))


def _wrapped(roster: Roster, key: EpochKey, device: bytes, transport: bytes) -> bytes:
    return wrap(transport, wrap_context(roster.vault, key.scope, device), key.secret + key.subject)


def naming(roster: Roster, seed: bytes, device: bytes, name: str, time: int) -> Statement:
    """Another name for a member."""
    return _say(roster, seed, time, StatementKind.NAME, Name(device, name))


def revocation(
    roster: Roster,
    seed: bytes,
    device: bytes,
    cut: Sequence[tuple[bytes, int, bytes]],
    wipe: bool,
    reason: str | None,
    time: int,
    randomness: Randomness,
    keys: Keys,
) -> list[Statement]:
    """Take a member out, and give new keys to the others."""
    had = roster.scopes_of(device)
    statements = [_say(roster, seed, time, StatementKind.REVOKE, Revoke(device, sorted(cut), wipe, reason))]
    for scope in sorted(had & {key.scope for key in keys.values()}):
        after = Roster([*roster.statements_in_order(), *statements])
        statements.append(rotation(after, seed, scope, time, randomness, keys))
    return statements


def adoption(roster: Roster, seed: bytes, log: bytes, seq: int, head: bytes, time: int) -> Statement:
    """Let what a revoked device wrote count up to a place."""
    return _say(roster, seed, time, StatementKind.ADOPT, Adopt(log, seq, head))


def vouched(root: Statement, seed: bytes, places: Iterable[tuple[bytes, int, bytes]], time: int) -> list[Statement]:
    """A genesis, and that all counts which its device holds of others: (log id, last place, head)."""
    said = [root]
    for log, seq, head in places:
        said.append(adoption(Roster(said), seed, log, seq, head, time))
    return said


def _say(
    roster: Roster, seed: bytes, time: int, kind: StatementKind,
    body: Add | Adopt | Epoch | Granted | Name | Revoke,
) -> Statement:  # fmt: skip
    return write_statement(kind, roster.vault, roster.heads, seed, time, body)
