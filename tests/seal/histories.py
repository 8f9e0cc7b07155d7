"""Histories of a vault to try the roster on: devices, honest or not, that each know a part of what was said.

Nothing here is signed: whether a signature is right is asked before (tests/seal/test_statements.py), and what
is tried here is what follows from statements that are.  Every choice comes from one source, so that Hypothesis
can shrink it; ids are drawn too, because they break ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random

from syncmem.seal.bodies import (
    Add,
    Adopt,
    Body,
    Epoch,
    Genesis,
    Grant,
    Granted,
    Member,
    Name,
    Revoke,
    StatementKind,
)
from syncmem.seal.roster import Roster
from syncmem.seal.statements import NO_VAULT, Statement

LAPTOP, PAPER = b"laptop".ljust(32), b"paper".ljust(32)
OTHERS = [name.ljust(32) for name in (b"phone", b"tablet", b"server", b"watch")]
DEVICES = [LAPTOP, PAPER, *OTHERS]
SCOPES = ["vault", "vault", "work"]
LOGS = [letter * 16 for letter in (b"a", b"b")]
KINDS: dict[type[Add] | type[Revoke] | type[Epoch] | type[Name] | type[Granted] | type[Adopt], StatementKind] = {
    Add: StatementKind.ADD,
    Revoke: StatementKind.REVOKE,
    Epoch: StatementKind.EPOCH,
    Name: StatementKind.NAME,
    Granted: StatementKind.GRANT,
    Adopt: StatementKind.ADOPT,
}
MOODS = {  # what is said how often: each finds other bugs
    "busy": (4, 2, 3, 1, 2, 1),
    "hostile": (4, 5, 1, 0, 0, 0),
    "keys": (2, 1, 5, 0, 4, 0),
    "cuts": (2, 4, 0, 1, 0, 5),
}


def statement(signer: bytes, parents: Sequence[Statement], body: Body, id: bytes, vault: bytes = b"") -> Statement:
    """What a device would have said; with ``vault`` empty, a genesis."""
    kind = KINDS.get(type(body), StatementKind.GENESIS)
    return Statement(id, kind, vault or NO_VAULT, tuple(sorted(s.id for s in parents)), signer, 0, body, b"")


def member(device: bytes) -> Member:
    return Member(device, device, device.decode().strip(), b"")


class Story:
    """A vault that is told on, statement by statement."""

    def __init__(self, random: Random, *, paper: bool = True) -> None:
        self.random = random
        body = Genesis(1, bytes(16), member(LAPTOP), member(PAPER) if paper else None, None)
        self.said = [statement(LAPTOP, [], body, self._id())]
        self.vault = self.said[0].id

    def _id(self) -> bytes:
        """Few leading bytes, so that order among ids is a matter of chance; the rest makes them differ."""
        return bytes([self.random.randrange(256)]) + len(getattr(self, "said", [])).to_bytes(15, "big")

    def tell(self, count: int, mood: str, signers: Sequence[bytes] = ()) -> list[Statement]:
        """Some more statements, each from a view of its own; ``signers``: who speaks (else members, mostly)."""
        return [self.say(mood, signers) for _ in range(count)]

    def say(self, mood: str, signers: Sequence[bytes] = ()) -> Statement:
        pick = self.random.choice
        kind = pick([kind for kind, often in zip(KINDS, MOODS[mood], strict=True) for _ in range(often)])
        parents = self.parents()
        view = Roster(closed(self.said, parents))
        live = [standing.device for standing in view.members if standing.live]
        signer = pick(signers or (live if live and pick((True, True, True, True, False)) else DEVICES))
        added = statement(signer, parents, self.body(kind, live), self._id(), self.vault)
        self.said.append(added)
        return added

    def parents(self) -> list[Statement]:
        """Mostly what was said last, sometimes something long past: who lies about the past says so here."""
        recent = self.said if self.random.random() < 0.3 else self.said[-4:]
        return self.random.sample(recent, min(len(recent), self.random.choice((1, 1, 2, 3))))

    def body(self, kind: type, live: Sequence[bytes]) -> Body:
        pick = self.random.choice
        device = pick(DEVICES)
        if kind is Add:
            return Add(member(pick(OTHERS)), self.grants())
        if kind is Revoke:
            cut = [(log, pick((1, 5, 9)), bytes(32)) for log in LOGS if pick((True, False))]
            return Revoke(device, cut, False, None)
        if kind is Epoch:
            among = live if pick((True, True, False)) else DEVICES
            wraps = [(one, bytes(112)) for one in sorted(among) if pick((True, True, False))]
            return Epoch(pick(SCOPES), wraps, bytes(32), pick((b"s", b"s", b"s", b"t")) * 32)
        if kind is Granted:
            return Granted(device, self.grants())
        return Name(device, pick("xy")) if kind is Name else Adopt(pick(LOGS), pick((3, 7, 11)), bytes(32))

    def grants(self) -> list[Grant]:
        epochs = [s for s in self.said if isinstance(s.body, Epoch)]
        chosen = self.random.sample(epochs, min(len(epochs), self.random.choice((0, 1, 2))))
        return [Grant(self.random.choice((s.body.scope, s.body.scope, "work")), s.id, bytes(112)) for s in chosen]


def closed(statements: Sequence[Statement], chosen: Iterable[Statement]) -> list[Statement]:
    """Some statements and all of their ancestors."""
    held = {statement.id: statement for statement in statements}
    found: dict[bytes, Statement] = {statements[0].id: statements[0]}
    waiting = list(chosen)
    while waiting:
        statement = waiting.pop()
        if statement.id not in found:
            found[statement.id] = statement
            waiting += [held[parent] for parent in statement.parents]
    return list(found.values())


def answers(roster: Roster) -> dict[str, object]:
    """All that the rest of the system asks a roster."""
    return {
        "live": [standing.device for standing in roster.members if standing.live],
        "names": {standing.device: standing.name for standing in roster.members if standing.live},
        "cuts": {(device, log): roster.cut(device, log) for device in DEVICES for log in LOGS},
        "epochs": {scope: [epoch.id for epoch in roster.epochs(scope)] for scope in roster.scopes},
        "current": {scope: epoch.id for scope in roster.scopes if (epoch := roster.current_epoch(scope))},
        "recipients": {e.id: roster.recipients(e.id) for scope in roster.scopes for e in roster.epochs(scope)},
        "scopes": {device: roster.scopes_of(device) for device in DEVICES},
    }
