"""Introducing: how a file whose device is no member of its vault gets in, and what it says until then.

Rules: a device that is a copy of another is vouched for by that one, whose key it was copied with; one whose key was
lost goes on with a new one that nobody knows, and is let in as any new device, into the vault that it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable

from syncmem.errors import InvalidInput
from syncmem.replica.replica import Replica
from syncmem.seal import building
from syncmem.seal.bodies import new_member
from syncmem.seal.keys import public_key
from syncmem.seal.roster import epoch_keys, newest_key
from syncmem.seal.statements import Statement
from syncmem.sync.vault import Vault


def introduction(vault: Vault, replica: Replica) -> list[Statement]:
    """What lets a copy of a device in and gives it the newest keys that the original has; often nothing."""
    roster, now = vault.roster, replica.environment.clock.now()
    introducer = _introducer(vault, replica)
    if introducer is None:
        return []
    keys = epoch_keys(roster, introducer, public_key(introducer))
    newest = {scope: key for scope in roster.scopes if (key := newest_key(roster, scope, keys)) is not None}
    lacking = [scope for scope, key in newest.items() if key.epoch not in vault.keys and vault.current(scope) is None]
    if roster.member(vault.device) is None:
        original = roster.member(public_key(introducer))
        assert original is not None, "who is live is known"
        member = new_member(vault.seed, f"{original.name} (copy)")
        return [building.admission(roster, introducer, member, lacking, now, keys, stale=True)]
    if lacking and roster.is_live(vault.device):
        return [building.grant(roster, introducer, vault.device, lacking, now, keys, stale=True)]
    return []


def why_outside(vault: Vault, replica: Replica) -> str | None:
    """Why this device is no member of its vault, with the next step; None: it is one, or the next sync makes it one."""
    member = vault.roster.member(vault.device)
    if member is not None:
        return None if member.live else _removed(replica)
    if _introducer(vault, replica) is not None:
        return None
    return (
        "this device is not a member of its vault (what lay beside its file, with its key, may be lost); show a code "
        "on another device with 'syncmem invite' and use it here with 'syncmem join': nothing is lost"
    )


def check_may_enter(vault: Vault, replica: Replica, statements: Iterable[Statement] = ()) -> None:
    """A file without a vault may enter any; one with a vault that one, while its device is none of the members.

    Raises:
        InvalidInput: it may not.
    """
    if not vault.exists:
        return
    member = vault.roster.member(vault.device)
    if member is not None:
        already = "this memory belongs to a vault already; join with another file"
        raise InvalidInput(already if member.live else _removed(replica))
    if any(statement.roster != vault.roster.vault for statement in statements):
        raise InvalidInput("this memory belongs to another vault; join with another file")


def _removed(replica: Replica) -> str:
    side = replica.author.side.path
    again = "" if side is None else f", or with this one once {side} is moved away: it comes back as a new device"
    return (
        "this device was removed from its vault; show a code on another device with 'syncmem invite' and join with "
        f"another file{again}"
    )


def _introducer(vault: Vault, replica: Replica) -> bytes | None:
    """The seed of a member that this device is a copy of; None where it is no copy, or one of nobody who is left."""
    vouching = (seed for seed in replica.identity.introducers if vault.roster.is_live(public_key(seed)))
    return next(vouching, None)
