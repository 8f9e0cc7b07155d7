"""Rosters once more: who lets in and who removes against each other, and how far the logs of those count."""

from __future__ import annotations

from collections.abc import Iterator

from protocol.vectors.generate.making import secret
from protocol.vectors.generate.roster import ANA, BO, CY, DEE, HEAD, Vault, shown
from protocol.vectors.generate.statement import NAME, PAPER
from protocol.vectors.generate.vector import Vector

LOG, OTHER = secret("a log of a device", 16), secret("another log of it", 16)


def vectors() -> Iterator[Vector]:
    for made in (accomplices, seniority, contests, paper, names, removed, strangers, adoptions):
        yield from made()


def let_in(*devices: object) -> Vault:
    """A vault of Ana, who let the others in one after the other."""
    vault = Vault()
    for device in devices:
        vault.add(ANA, device)  # type: ignore[arg-type]
    return vault


def accomplices() -> Iterator[Vector]:
    vault = let_in(BO)
    before = vault.heads
    vault.revoke(ANA, BO)
    beside = [vault.add(BO, CY, before)]
    beside = [vault.add(CY, DEE, beside)]
    says = "Whom a removed device lets in beside its removal is no member, nor is whom that lets in."
    yield shown("accomplices", says, vault, [ANA], [BO])
    vault.revoke(DEE, ANA, (), beside)
    yield shown("accomplice-revokes", "What is void removes nobody.", vault, [ANA], [BO])
    vault.add(ANA, CY)
    says = "Whom only void statements vouched for may be let in again."
    yield shown("accomplice-let-in-again", says, vault, [ANA, CY], [BO])
    twice = let_in(BO)
    before = twice.heads
    twice.revoke(ANA, BO)
    both = [twice.add(ANA, CY, before), twice.add(BO, CY, before)]
    twice.add(CY, DEE, both)
    says = "Who knew of one who counts among those that let it in speaks, whoever else did."
    yield shown("vouched-for-twice", says, twice, [ANA, CY, DEE], [BO])
    apart = let_in(BO)
    before = apart.heads
    apart.revoke(ANA, BO)
    apart.add(ANA, CY, before)
    apart.add(CY, DEE, [apart.add(BO, CY, before)])
    says = "What a member said when it knew of no other than a void admission is void; the member is one."
    yield shown("vouched-for-too-late", says, apart, [ANA, CY], [BO])


def seniority() -> Iterator[Vector]:
    vault = Vault()
    vault.add(DEE, CY, [vault.id])
    vault.heads = [vault.id]
    start = [vault.add(ANA, BO)]
    start = [vault.add(ANA, CY, start)]
    vault.revoke(BO, CY, (), start)
    vault.revoke(CY, BO, (), start)
    says = "A stranger makes nobody senior by letting it in long ago."
    yield shown("stranger-raises-nobody", says, vault, [ANA, BO], [CY])
    raised = let_in(BO)
    before = raised.heads
    raised.say(ANA, NAME, [BO.key, "a place between"])
    start = [raised.add(ANA, CY)]
    start = [raised.add(ANA, DEE, start)]
    raised.revoke(ANA, BO, (), start)
    raised.add(BO, DEE, before)
    says = "Nor does a removed device: what is void gives no seniority."
    yield shown("removed-raises-nobody", says, raised, [ANA, CY, DEE], [BO])
    raised.heads = start
    raised.revoke(CY, DEE, (), start)
    raised.revoke(DEE, CY, (), start)
    says = "So of two that remove each other the one stays that was let in first by what counts."
    yield shown("removed-raises-nobody-in-a-contest", says, raised, [ANA, CY], [BO, DEE])


def contests() -> Iterator[Vector]:
    circle = let_in(BO, CY)
    start = circle.heads
    circle.revoke(ANA, BO, (), start)
    circle.revoke(BO, CY, (), start)
    circle.revoke(CY, ANA, (), start)
    says = "In a circle of three the senior one is heard first, and falls to the one it did not name."
    yield shown("circle", says, circle, [CY], [ANA, BO])
    retired = let_in(BO, CY)
    start = retired.heads
    retired.revoke(BO, CY, (), start)
    retired.revoke(BO, BO, (), start)
    says = "Of a device's own removals the one that names itself comes first: it cannot be used afterwards."
    yield shown("retired", says, retired, [ANA, CY], [BO])
    known = let_in(BO, CY)
    known.revoke(BO, CY)
    known.revoke(ANA, BO)
    says = "A removal that the senior one knew of when it removed its author counts on."
    yield shown("revoked-had-revoked", says, known, [ANA], [BO, CY])
    third = let_in(BO, CY)
    start = third.heads
    third.revoke(BO, CY, (), start)
    third.add(CY, DEE, start)
    says = "A removal makes void what its device said beside it, whoever removes."
    yield shown("revoked-by-junior-had-added", says, third, [ANA, BO], [CY])


def paper() -> Iterator[Vector]:
    vault = Vault(paper=True)
    vault.revoke(ANA, PAPER)
    yield shown("paper-by-other", "Nobody but itself takes the member on paper out.", vault, [PAPER, ANA])
    vault.revoke(PAPER, PAPER)
    yield shown("paper-by-itself", "The member on paper can leave.", vault, [ANA], [PAPER])
    taken = Vault(paper=True)
    taken.add(ANA, BO)
    taken.revoke(BO, ANA)
    taken.add(BO, CY)
    for thief in (BO, CY):
        taken.revoke(PAPER, thief)
    taken.add(PAPER, DEE)
    says = "Who holds the paper brings a vault back whose devices were all taken over."
    yield shown("paper-after-a-theft", says, taken, [PAPER, DEE], [ANA, BO, CY])


def names() -> Iterator[Vector]:
    def named(vault: Vault, **told: str) -> dict[str, str]:
        devices = {"ana": ANA, "bo": BO, "cy": CY}
        return {devices[device].key.hex(): name for device, name in told.items()}

    vault = let_in(BO, CY)
    before = vault.heads
    vault.revoke(ANA, CY)
    vault.say(CY, NAME, [BO.key, "mine"], before)
    says = "A name that a removed device gives beside its removal does not count."
    yield shown("renamed-by-revoked", says, vault, [ANA, BO], [CY], names=named(vault, ana="ana", bo="bo", cy="cy"))
    beside = let_in(BO)
    start = beside.heads
    both = {beside.say(ANA, NAME, [BO.key, "kitchen"], start): "kitchen"}
    both[beside.say(BO, NAME, [BO.key, "hall"], start)] = "hall"
    says = "Of names given side by side that of the greater statement id counts."
    yield shown("renamed-side-by-side", says, beside, [ANA, BO], names=named(beside, ana="ana", bo=both[max(both)]))


def removed() -> Iterator[Vector]:
    vault = let_in(BO, CY)
    start = vault.heads
    vault.revoke(ANA, BO, [[LOG, 9, HEAD]], start)
    vault.revoke(BO, CY, [[LOG, 4, HEAD]], start)
    says = "A removal that is void cuts nothing."
    yield shown("cut-by-void", says, vault, [ANA, CY], [BO], logs=[(CY, LOG), (BO, LOG)], cuts=[None, 9])
    empty = let_in(BO)
    empty.revoke(ANA, BO, [[LOG, 0, HEAD]])
    yield shown("cut-at-0", "A cut may leave nothing.", empty, [ANA], [BO], logs=[(BO, LOG)], cuts=[0])
    two = let_in(BO, CY)
    start = two.heads
    two.revoke(ANA, BO, [[LOG, 9, HEAD]], start)
    two.revoke(CY, BO, [[OTHER, 7, HEAD]], start)
    says = "Each cut counts nothing of the logs that it does not name."
    yield shown("two-cuts-of-different-logs", says, two, [ANA, CY], [BO], logs=[(BO, LOG), (BO, OTHER)], cuts=[0, 0])


def strangers() -> Iterator[Vector]:
    vault = let_in(BO)
    before = vault.heads
    vault.revoke(ANA, BO)
    vault.add(BO, CY, before)
    asked = [(CY, LOG), (DEE, OTHER)]
    says = "Nothing is believed of a device that nothing that counts let in."
    yield shown("stranger-cut", says, vault, [ANA], [BO], logs=asked, cuts=[0, 0])
    vault.adopt(ANA, LOG, 7)
    vault.adopt(ANA, OTHER, 5)
    vault.adopt(ANA, OTHER, 4)
    says = "A member may adopt what strangers wrote up to a place; the greatest counts."
    yield shown("stranger-adopted", says, vault, [ANA], [BO], logs=asked, cuts=[7, 5])
    removed = let_in(BO, DEE)
    before = removed.heads
    removed.revoke(ANA, BO)
    removed.revoke(DEE, CY, [[LOG, 50, HEAD]], [removed.add(BO, CY, before)])
    says = "A cut of one that nothing that counts let in adopts nothing."
    yield shown("stranger-removed", says, removed, [ANA, DEE], [BO, CY], logs=[(CY, LOG)], cuts=[0])
    vault.add(ANA, CY)
    says = "All that a stranger wrote counts once it is let in."
    yield shown("stranger-let-in", says, vault, [ANA, CY], [BO], logs=asked, cuts=[None, 5])


def adoptions() -> Iterator[Vector]:
    early = let_in(BO, CY)
    early.adopt(CY, LOG, 20)
    early.revoke(ANA, BO, [[LOG, 9, HEAD]])
    says = "An adoption that did not know of the removal does not shield from it."
    yield shown("adopted-before", says, early, [ANA, CY], [BO], logs=[(BO, LOG)], cuts=[9])
    two = let_in(BO, CY)
    start = two.heads
    first = [two.revoke(ANA, BO, [[LOG, 9, HEAD]], start)]
    two.revoke(CY, BO, [[LOG, 7, HEAD]], start)
    two.adopt(ANA, LOG, 20, first)
    says = "An adoption raises only the cut that it knew; of several the least counts."
    yield shown("adopted-of-one", says, two, [ANA, CY], [BO], logs=[(BO, LOG)], cuts=[7])
    two.adopt(ANA, LOG, 15)
    says = "One that knew of both raises both: to 20 and to 15."
    yield shown("adopted-of-both", says, two, [ANA, CY], [BO], logs=[(BO, LOG)], cuts=[15])
    foreign = let_in(BO, CY)
    before = foreign.heads
    foreign.revoke(ANA, BO, [[LOG, 9, HEAD]])
    known = foreign.heads
    foreign.adopt(DEE, LOG, 20, known)
    foreign.adopt(BO, LOG, 30, known)
    says = "Neither a stranger nor the removed device itself adopts."
    yield shown("adopted-by-others", says, foreign, [ANA, CY], [BO], logs=[(BO, LOG)], cuts=[9])
    foreign.revoke(ANA, CY, [], before)
    foreign.adopt(CY, LOG, 40, known)
    says = "An adoption that is void raises nothing."
    yield shown("adopted-by-void", says, foreign, [ANA], [BO, CY], logs=[(BO, LOG)], cuts=[9])
