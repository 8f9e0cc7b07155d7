"""Rosters once more: who founds a scope, who has it, under which epoch it is written, and which keys are its keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from protocol.vectors.generate.keys import SUBJECT_KEY, wrap_for
from protocol.vectors.generate.making import Device, secret
from protocol.vectors.generate.roster import ANA, BO, CY, Vault, shown
from protocol.vectors.generate.statement import ADD, EPOCH, epoch_body, member
from protocol.vectors.generate.vector import Vector
from protocol.vectors.generate.vouching import let_in

WORK = "work"
KEY, OTHER_KEY, OTHER_SUBJECT = secret("key of work"), secret("another key"), secret("another subject key")


def vectors() -> Iterator[Vector]:
    for made in (founded, taken_over, granted, current, keys):
        yield from made()


def written(name: str, says: str, vault: Vault, live: Sequence[Device], revoked: Sequence[Device] = (), /,
            **epochs: bytes | None) -> Vector:  # fmt: skip
    told = {scope: None if id is None else id.hex() for scope, id in epochs.items()}
    return shown(name, says, vault, live, revoked, epochs=told)


def founded() -> Iterator[Vector]:
    vault = let_in(BO)
    start = vault.heads
    first = vault.epoch(ANA, ANA, scope=WORK, after=start)
    second = vault.epoch(BO, BO, ANA, scope=WORK, after=start, key=secret("junior's key"))
    assert second < first, "whoever takes both for good would choose the second; pick another key"
    says = "Of two that found a scope side by side the senior one does; the other has not got it."
    yield written("founded-twice", says, vault, [ANA, BO], work=first)
    early = let_in(BO)
    start = early.heads
    early.epoch(ANA, ANA, scope=WORK)
    last = early.epoch(ANA, ANA, scope=WORK)
    early.epoch(BO, BO, ANA, scope=WORK, after=start)
    says = "A junior member that says it did so long ago does not found it either."
    yield written("founded-before", says, early, [ANA, BO], work=last)
    junior = let_in(BO)
    first = junior.epoch(BO, BO, ANA, scope=WORK)
    later = junior.epoch(ANA, ANA, scope=WORK)
    says = "Who knew of a scope does not found it, however senior: it is a rotation."
    yield written("founded-by-junior", says, junior, [ANA, BO], work=later)
    assert first != later
    void = let_in(BO)
    before = void.heads
    void.revoke(ANA, BO)
    void.epoch(BO, BO, ANA, scope=WORK, after=before)
    yield written("founded-by-void", "What is void founds nothing.", void, [ANA], [BO])


def taken_over() -> Iterator[Vector]:
    vault = let_in(BO)
    first = vault.epoch(ANA, ANA, scope=WORK)
    vault.epoch(BO, BO, ANA, scope=WORK)
    says = "A member that never had a scope does not rotate it."
    yield written("rotated-without-scope", says, vault, [ANA, BO], work=first)
    vault.grant(BO, BO, first, WORK)
    vault.epoch(BO, BO, ANA, scope=WORK)
    says = "Nor when it has granted it to itself."
    yield written("granted-to-itself", says, vault, [ANA, BO], work=first)
    vault.revoke(ANA, BO)
    says = "Who was never given a scope does not know its key, and nothing has to be rotated when it goes."
    yield written("granted-to-itself-revoked", says, vault, [ANA], [BO], work=first)
    subject = let_in(BO)
    right = subject.epoch(ANA, ANA, BO)
    subject.epoch(BO, ANA, BO, subject=OTHER_SUBJECT)
    says = "A rotation keeps the subject key: its mark is that of the founding epoch."
    yield written("rotated-with-other-subject", says, subject, [ANA, BO], vault=right)
    dated = let_in(BO)
    before = [dated.epoch(ANA, ANA, BO)]
    dated.revoke(ANA, BO, (), before)
    due = dated.epoch(ANA, ANA)
    dated.epoch(BO, ANA, after=before)
    says = "An epoch that a removed device signed beside its removal is not current, whoever is given it."
    yield written("rotated-by-void", says, dated, [ANA], [BO], vault=due)


def granted() -> Iterator[Vector]:
    vault = let_in(BO)
    first = vault.epoch(ANA, ANA, scope=WORK)
    vault.grant(ANA, BO, first, WORK)
    second = vault.epoch(BO, BO, ANA, scope=WORK)
    yield written("granted", "Who was granted a scope rotates it.", vault, [ANA, BO], work=second)
    admitted = Vault()
    first = admitted.epoch(ANA, ANA, scope=WORK)
    admitted.say(ANA, ADD, [member(BO), [[WORK, first, secret("wrap", 112)]]])
    second = admitted.epoch(BO, BO, ANA, scope=WORK)
    yield written("granted-with-admission", "So does who was let in with it.", admitted, [ANA, BO], work=second)
    mixed = let_in(BO)
    first = mixed.epoch(ANA, ANA, scope=WORK)
    home = mixed.epoch(ANA, ANA, scope="home")
    mixed.grant(ANA, BO, home, WORK)
    mixed.epoch(BO, BO, ANA, scope=WORK)
    says = "A grant of an epoch of another scope gives nothing."
    yield written("granted-other-scope", says, mixed, [ANA, BO], work=first, home=home)
    unknown = let_in(BO)
    start = unknown.heads
    first = unknown.epoch(ANA, ANA, scope=WORK, after=start)
    beside = unknown.epoch(ANA, ANA, scope=WORK, after=[first])
    unknown.heads = [first]
    unknown.grant(ANA, BO, beside, WORK)
    unknown.heads = sorted([*unknown.heads, beside])
    unknown.epoch(BO, BO, ANA, scope=WORK)
    says = "A grant of an epoch that its signer had not heard of gives nothing."
    yield written("granted-unheard", says, unknown, [ANA, BO], work=beside)


def current() -> Iterator[Vector]:
    sly = let_in(BO, CY)
    start = sly.epoch(ANA, ANA, BO, CY)
    left_out = sly.epoch(BO, ANA, CY)
    yield written("epoch-without-signer", "A signer may leave itself out.", sly, [ANA, BO, CY], vault=left_out)
    sly.revoke(ANA, BO)
    says = "It knows the key even so: when it is removed the epoch is not current."
    yield written("epoch-without-signer-revoked", says, sly, [ANA, CY], [BO], vault=None)
    assert start != left_out
    giver = let_in(BO, CY)
    giver.epoch(ANA, ANA, BO)
    second = giver.epoch(ANA, ANA)
    giver.grant(BO, CY, second)
    yield written("epoch-granted-by-other", "Who has a scope grants any epoch of it.", giver, [ANA, BO, CY],
                  vault=second)  # fmt: skip
    giver.revoke(ANA, BO)
    says = "Who granted an epoch knows its key, too."
    yield written("epoch-granter-revoked", says, giver, [ANA, CY], [BO], vault=None)
    older = let_in(BO)
    older.epoch(ANA, ANA)
    older.epoch(ANA, ANA, BO)
    older.revoke(ANA, BO)
    says = "An older epoch is not current again, though only live devices know it."
    yield written("epoch-older", says, older, [ANA], [BO], vault=None)
    pair = let_in(BO, CY)
    start = [pair.epoch(ANA, ANA, BO, CY)]
    for_all = [pair.epoch(ANA, ANA, BO, CY, after=start), pair.epoch(CY, ANA, CY, after=start)]
    pair.revoke(ANA, BO)
    says = "Of epochs side by side those do not count that a removed device knows, whatever their ids."
    yield written("epochs-side-by-side-revoked", says, pair, [ANA, CY], [BO], vault=for_all[1])


def keys() -> Iterator[Vector]:
    """What Bo can open of what was wrapped for it."""

    def opened(name: str, says: str, vault: Vault, *found: bytes) -> Vector:
        vector = shown(name, says, vault, [ANA, BO])
        told = {id.hex(): [KEY.hex(), SUBJECT_KEY.hex()] for id in found}
        ask = {**vector.ask, "device_seed": BO.seed.hex()}
        return Vector(vector.area, name, says, ask, {**vector.answer, "keys": told})

    def given(vault: Vault, **other: Any) -> bytes:
        """An epoch whose keys Bo finds in a wrap of its own."""
        scope, wraps, *marks = epoch_body(WORK, ANA, key=KEY)
        mine = [BO.key, wrap_for(BO, vault.id, WORK, other.get("plain", KEY + SUBJECT_KEY))]
        return vault.say(ANA, EPOCH, [scope, sorted([*wraps, mine]), *other.get("marks", marks)])

    vault = let_in(BO)
    yield opened("keys", "The keys that fit the marks of their epoch are used.", vault, given(vault))
    other = let_in(BO)
    given(other, plain=OTHER_KEY + SUBJECT_KEY)
    yield opened("keys-other-key", "A key that the mark does not fit is not used.", other)
    names = let_in(BO)
    given(names, plain=KEY + OTHER_SUBJECT)
    yield opened("keys-other-subject-key", "Nor is one that came with another subject key.", names)
    late = let_in(BO)
    epoch = late.epoch(ANA, ANA, scope=WORK, key=KEY)
    late.grant(ANA, BO, epoch, WORK, bytes(112))
    yield opened("keys-rubbish", "What does not open is no key.", late)
    late.grant(ANA, BO, epoch, WORK, wrap_for(BO, late.id, WORK, KEY + SUBJECT_KEY))
    yield opened("keys-after-rubbish", "Rubbish does not keep the right key out.", late, epoch)
