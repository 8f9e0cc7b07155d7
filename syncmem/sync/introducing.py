"""Introducing: a device that is a copy of another is vouched for by that one, whose key it was copied with."""

from __future__ import annotations

from syncmem.replica.replica import Replica
from syncmem.seal import building
from syncmem.seal.bodies import new_member
from syncmem.seal.keys import public_key
from syncmem.seal.roster import epoch_keys
from syncmem.seal.statements import Statement
from syncmem.sync.vault import Vault


def introduction(vault: Vault, replica: Replica) -> list[Statement]:
    """What lets a copy of a device in and gives it the original's keys, also after a restore; often nothing."""
    roster, now = vault.roster, replica.environment.clock.now()
    vouching = (seed for seed in replica.identity.introducers if roster.is_live(public_key(seed)))
    introducer = next(vouching, None)
    if introducer is None:
        return []
    keys = epoch_keys(roster, introducer, public_key(introducer))
    current = {epoch.id: scope for scope in roster.scopes if (epoch := roster.current_epoch(scope)) is not None}
    lacking = sorted(current[epoch] for epoch in current.keys() & keys.keys() - vault.keys.keys())
    if roster.member(vault.device) is None:
        original = roster.member(public_key(introducer))
        assert original is not None, "who is live is known"
        member = new_member(vault.seed, f"{original.name} (copy)")
        return [building.admission(roster, introducer, member, lacking, now, keys)]
    if lacking and roster.is_live(vault.device):
        return [building.grant(roster, introducer, vault.device, lacking, now, keys)]
    return []
