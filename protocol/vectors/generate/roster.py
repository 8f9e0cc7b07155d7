"""Rosters: who belongs to a vault, which epoch is current, where logs are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from protocol.vectors.generate.making import T0, Device, secret
from protocol.vectors.generate.statement import (
    ADD,
    ADOPT,
    EPOCH,
    GENESIS,
    GRANT,
    NAME,
    PAPER,
    REVOKE,
    ROOT,
    WRAP,
    content,
    epoch_body,
    genesis_body,
    id_of,
    member,
    signed,
)
from protocol.vectors.generate.vector import Vector

ANA, BO, CY, DEE = (Device(name) for name in ("ana", "bo", "cy", "dee"))
HEAD = secret("some head")


class Vault:
    """Statements, each made from those that its signer knew."""

    def __init__(self, paper: bool = False) -> None:
        said = content(GENESIS, genesis_body(paper), vault=ROOT)
        self.id = id_of(said)
        self.said = {self.id: signed(said)}
        self.heads = [self.id]

    def say(self, signer: Device, kind: int, body: Any, after: Sequence[bytes] | None = None) -> bytes:
        """Make a statement; ``after``: what its signer knew last (else all that nothing was said after)."""
        parents = sorted(self.heads if after is None else after)
        said = content(kind, body, signer, self.id, parents, time=T0 + len(self.said))
        self.said[id_of(said)] = signed(said, signer)
        self.heads = [id for id in self.heads if id not in parents] + [id_of(said)]
        return id_of(said)

    def add(self, signer: Device, device: Device, after: Sequence[bytes] | None = None) -> bytes:
        return self.say(signer, ADD, [member(device), []], after)

    def revoke(self, signer: Device, device: Device, cut: Any = (), after: Sequence[bytes] | None = None) -> bytes:
        return self.say(signer, REVOKE, [device.key, [list(place) for place in cut], False, None], after)

    def epoch(
        self, signer: Device, *devices: Device, scope: str = "vault", after: Sequence[bytes] | None = None, **other: Any
    ) -> bytes:
        key = other.pop("key", secret(f"epoch key {len(self.said)}"))
        return self.say(signer, EPOCH, epoch_body(scope, *devices, key=key, **other), after)

    def grant(self, signer: Device, device: Device, epoch: bytes, scope: str = "vault", wrap: bytes = WRAP) -> bytes:
        return self.say(signer, GRANT, [device.key, [[scope, epoch, wrap]]])

    def adopt(self, signer: Device, log: bytes, place: int, after: Sequence[bytes] | None = None) -> bytes:
        return self.say(signer, ADOPT, [log, place, HEAD], after)


def shown(
    name: str, says: str, vault: Vault, live: Sequence[Device], revoked: Sequence[Device] = (), *,
    statements: Sequence[bytes] | None = None, logs: Sequence[tuple[Device, bytes]] = (), **other: Any,
) -> Vector:  # fmt: skip
    """A vault, and who belongs to it: seniors first."""
    said = list(vault.said.values()) if statements is None else statements
    ask: dict[str, Any] = {"word": "roster", "statements": [data.hex() for data in said]}
    ask |= {"logs": [[device.key.hex(), log.hex()] for device, log in logs]} if logs else {}
    answer = {
        "outcome": "accepted", "vault": vault.id.hex(), "live": [device.key.hex() for device in live],
        "revoked": [device.key.hex() for device in revoked], **other,
    }  # fmt: skip
    return Vector("roster", name, says, ask, answer)


def vectors() -> Iterator[Vector]:
    for made in (members, waiting, removals, rivals, epochs, cuts, wrong):
        yield from made()


def senior(*devices: Device, adds: Sequence[bytes]) -> list[Device]:
    """Devices that were added at the same depth, in the order of the adding statements' ids."""
    return [device for _, device in sorted(zip(adds, devices, strict=True), key=lambda pair: pair[0])]


def members() -> Iterator[Vector]:
    yield shown("genesis", "A new vault has the device that founded it.", Vault(), [ANA])
    yield shown("genesis-with-paper", "The member on paper is senior to all.", Vault(paper=True), [PAPER, ANA])
    vault = Vault()
    vault.add(ANA, BO)
    vault.add(BO, CY)
    yield shown("added", "Any member lets others in; who came earlier is senior.", vault, [ANA, BO, CY])
    backwards = list(vault.said.values())[::-1]
    yield shown("any-order", "The order in which statements arrive does not matter.", vault, [ANA, BO, CY],
                statements=backwards)  # fmt: skip
    both = Vault()
    adds = [both.add(ANA, BO, [both.id]), both.add(ANA, CY, [both.id])]
    says = "Of devices let in at the same depth the one with the lesser statement id is senior."
    yield shown("added-side-by-side", says, both, [ANA, *senior(BO, CY, adds=adds)])
    vault.say(CY, NAME, [BO.key, "kitchen"])
    yield shown("renamed", "A name is what was said of it last.", vault, [ANA, BO, CY],
                names={ANA.key.hex(): "ana", BO.key.hex(): "kitchen", CY.key.hex(): "cy"})  # fmt: skip
    stranger = Vault()
    stranger.add(DEE, CY)
    yield shown("stranger-adds", "Who is no member lets nobody in.", stranger, [ANA])
    early = Vault()
    early.add(ANA, BO)
    early.add(BO, CY, [early.id])
    yield shown("added-too-early", "A member counts only after the statement that lets it in.", early, [ANA, BO])
    later = Vault()
    later.say(ANA, 99, ["new"])
    later.add(ANA, BO)
    yield shown("later-kind", "A statement of a later kind has a place and counts for nothing.", later, [ANA, BO])


def waiting() -> Iterator[Vector]:
    vault = Vault()
    first = vault.add(ANA, BO)
    vault.add(BO, CY)
    held = [data for id, data in vault.said.items() if id != first]
    says = "What names a statement that is not known waits, and the missing one is named."
    yield shown("waiting", says, vault, [ANA], statements=held, missing=[first.hex()])


def removals() -> Iterator[Vector]:
    vault = Vault()
    vault.add(ANA, BO)
    vault.add(ANA, CY)
    before = vault.heads
    vault.revoke(ANA, BO)
    yield shown("revoked", "A revoked device belongs to the vault no longer.", vault, [ANA, CY], [BO])
    vault.say(ANA, ADD, [member(BO), []])
    yield shown("revoked-returns", "A revoked key never returns.", vault, [ANA, CY], [BO])
    vault.add(BO, DEE, before)
    yield shown(
        "revoked-adds", "What a revoked device says beside its revocation does not count.", vault, [ANA, CY], [BO]
    )
    known = Vault()
    known.add(ANA, BO)
    known.add(BO, CY)
    known.revoke(ANA, BO)
    yield shown("revoked-had-added", "What it had said before counts on.", known, [ANA, CY], [BO])
    after = Vault()
    after.add(ANA, BO)
    after.revoke(ANA, BO)
    after.add(BO, CY)
    yield shown("revoked-goes-on", "What it says after its revocation does not count.", after, [ANA], [BO])
    itself = Vault()
    itself.add(ANA, BO)
    itself.revoke(BO, BO)
    yield shown("revokes-itself", "A device may leave by itself.", itself, [ANA], [BO])
    outside = Vault()
    outside.add(ANA, BO)
    outside.revoke(DEE, BO)
    yield shown("stranger-revokes", "Who is no member takes nobody out.", outside, [ANA, BO])


def rivals() -> Iterator[Vector]:
    """Revocations that know nothing of each other."""
    mutual = Vault()
    both = [mutual.add(ANA, BO)]
    mutual.revoke(ANA, BO, (), both)
    mutual.revoke(BO, ANA, (), both)
    yield shown("mutual", "Of two devices that revoke each other the senior one stays.", mutual, [ANA], [BO])
    junior = Vault()
    junior.add(ANA, BO)
    junior.revoke(BO, ANA)
    yield shown("junior-revokes", "A junior member may take a senior one out, unless that takes it out beside.", junior,
                [BO], [ANA])  # fmt: skip
    paper = Vault(paper=True)
    start = [paper.add(ANA, BO)]
    paper.revoke(ANA, BO, (), start)
    paper.revoke(PAPER, ANA, (), start)
    yield shown("paper-revokes", "Who holds the paper has the last word.", paper, [PAPER, BO], [ANA])
    chain = Vault()
    chain.add(ANA, BO)
    start = [chain.add(ANA, CY)]
    chain.revoke(ANA, BO, (), start)
    chain.revoke(BO, CY, (), start)
    yield shown("revoked-revokes", "What a device revokes beside its own revocation stays.", chain, [ANA, CY], [BO])


def epochs() -> Iterator[Vector]:
    vault = Vault()
    first = vault.epoch(ANA, ANA)
    yield shown("epoch", "A scope is written under its epoch.", vault, [ANA], epochs={"vault": first.hex()})
    vault.add(ANA, BO)
    second = vault.epoch(ANA, ANA, BO)
    yield shown("epoch-later", "A later epoch replaces those that its signer knew.", vault, [ANA, BO],
                epochs={"vault": second.hex()})  # fmt: skip
    known = vault.heads
    both = [vault.epoch(ANA, ANA, BO, after=known), vault.epoch(BO, BO, ANA, after=known)]
    yield shown("epochs-side-by-side", "Of epochs side by side the one with the least id is current.",
                vault, [ANA, BO], epochs={"vault": min(both).hex()})  # fmt: skip
    vault.revoke(ANA, BO)
    says = "No epoch is current whose key a revoked device was given: the scope has to be rotated."
    yield shown("epoch-of-revoked", says, vault, [ANA], [BO], epochs={"vault": None})
    third = vault.epoch(ANA, ANA)
    yield shown("epoch-after-revocation", "A rotation after the revocation is current.", vault, [ANA], [BO],
                epochs={"vault": third.hex()})  # fmt: skip
    granted = Vault()
    granted.add(ANA, BO)
    start = [granted.epoch(ANA, ANA)]
    granted.grant(ANA, BO, start[0])
    granted.revoke(ANA, BO)
    says = "A grant has given the key too: after the revocation of its recipient the epoch is not current."
    yield shown("epoch-granted-to-revoked", says, granted, [ANA], [BO], epochs={"vault": None})
    stranger = Vault()
    right = stranger.epoch(ANA, ANA)
    stranger.epoch(DEE, DEE)
    yield shown("epoch-of-stranger", "An epoch of no member does not count.", stranger, [ANA],
                epochs={"vault": right.hex()})  # fmt: skip


def cuts() -> Iterator[Vector]:
    log, other = BO.log().id, BO.log("work").id
    asked = [(BO, log), (BO, other), (ANA, ANA.log().id)]
    vault = Vault()
    start = [vault.add(ANA, BO)]
    vault.revoke(ANA, BO, [[log, 9, HEAD]], start)
    says = "A revoked device's log counts up to the cut, one that the cut does not name not at all, others' wholly."
    yield shown("cut", says, vault, [ANA], [BO], logs=asked, cuts=[9, 0, None])
    vault.adopt(ANA, log, 20)
    yield shown(
        "adopted", "An adoption raises the cut to its place.", vault, [ANA], [BO], logs=asked, cuts=[20, 0, None]
    )
    vault.adopt(ANA, log, 3)
    yield shown("adopted-less", "An adoption never lowers a cut.", vault, [ANA], [BO], logs=asked, cuts=[20, 0, None])
    two = Vault()
    two.add(ANA, CY)
    start = [two.add(ANA, BO)]
    two.revoke(ANA, BO, [[log, 9, HEAD]], start)
    two.revoke(CY, BO, [[log, 7, HEAD]], start)
    yield shown("two-cuts", "Of several cuts the least counts.", two, [ANA, CY], [BO], logs=asked[:1], cuts=[7])


def wrong() -> Iterator[Vector]:
    refused: list[tuple[str, str, Callable[[], list[bytes]]]] = [
        ("no-genesis", "A roster has a genesis.", lambda: list(grown().said.values())[1:]),
        (
            "two-geneses",
            "A roster has one genesis.",
            lambda: [*Vault().said.values(), *Vault(paper=True).said.values()],
        ),
        ("empty", "No statements are no roster.", list),
    ]
    for name, says, made in refused:
        ask = {"word": "roster", "statements": [data.hex() for data in made()]}
        yield Vector("roster", name, says, ask, {"outcome": "not-canonical"})
    foreign = Vault(paper=True)
    foreign.add(ANA, CY)
    vault = grown()
    mixed = [*vault.said.values(), list(foreign.said.values())[1]]
    yield shown("other-vault", "A statement of another vault is passed over.", vault, [ANA, BO], statements=mixed)


def grown() -> Vault:
    vault = Vault()
    vault.add(ANA, BO)
    return vault
