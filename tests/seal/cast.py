"""A vault for stories: devices with real keys, each of which knows what it said and heard."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from syncmem.environment import seeded_randomness
from syncmem.seal import building
from syncmem.seal.bodies import new_member
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.seal.roster import Roster, epoch_keys
from syncmem.seal.statements import Statement

VAULT = "vault"
Cut = Sequence[tuple[bytes, int, bytes]]


class Cast:
    """The laptop founds the vault; others are let in. ``heard``: who holds which statements."""

    def __init__(self, *others: str) -> None:
        self.randomness = seeded_randomness(1)
        self._time = 0
        paper, recovery = self.seed("paper"), bytes(32)
        root = building.genesis(self.seed("laptop"), "laptop", 0, bytes(16), paper, recovery)
        self.heard: dict[str, dict[bytes, Statement]] = {"laptop": {root.id: root}}
        self.rotate("laptop")
        for name in others:
            self.admit("laptop", name)
        self.meet()

    def seed(self, name: str) -> bytes:
        return sha256(name.encode()).digest()

    def key(self, name: str) -> bytes:
        return public_key(self.seed(name))

    def roster(self, name: str | None = None) -> Roster:
        """The roster as a device has it; without a name: of all that was ever said."""
        if name is not None:
            return Roster(self.heard[name].values())
        return Roster(statement for heard in self.heard.values() for statement in heard.values())

    def live(self) -> list[str]:
        """Who is a member of the vault, once everything was heard; the most senior first."""
        names = {self.key(name): name for name in [*self.heard, "paper"]}
        return [names[member.device] for member in self.roster().members if member.live and not member.paper]

    def keys(self, name: str) -> dict[bytes, EpochKey]:
        return epoch_keys(self.roster(name), self.seed(name), self.key(name))

    def all_keys(self, name: str) -> dict[bytes, EpochKey]:
        """The keys that a device has once it has heard everything."""
        return epoch_keys(self.roster(), self.seed(name), self.key(name))

    # -- what devices do; each returns what was said ------------------------------------------------

    def say(self, name: str, *statements: Statement) -> Statement:
        """A device says what it likes."""
        self.heard.setdefault(name, {}).update((statement.id, statement) for statement in statements)
        return statements[-1]

    def meet(self, *names: str) -> None:
        """Devices tell each other all that they heard."""
        together = names or tuple(self.heard)
        union = {id: statement for name in together for id, statement in self.heard[name].items()}
        for name in together:
            self.heard[name] = dict(union)

    def now(self) -> int:
        self._time += 1
        return self._time

    def rotate(self, by: str, scope: str = VAULT) -> Statement:
        roster, seed = self.roster(by), self.seed(by)
        return self.say(by, building.rotation(roster, seed, scope, self.now(), self.randomness, self.keys(by)))

    def admit(self, by: str, who: str, scopes: Sequence[str] = (VAULT,)) -> Statement:
        """Let a device in; it hears what who let it in has heard."""
        member, seed = new_member(self.seed(who), who), self.seed(by)
        said = building.admission(self.roster(by), seed, member, scopes, self.now(), self.keys(by))
        self.say(by, said)
        self.say(who, *self.heard[by].values())
        return said

    def grant(self, by: str, who: str, scope: str) -> Statement:
        roster, seed = self.roster(by), self.seed(by)
        return self.say(by, building.grant(roster, seed, self.key(who), [scope], self.now(), self.keys(by)))

    def name(self, by: str, who: str, name: str) -> Statement:
        return self.say(by, building.naming(self.roster(by), self.seed(by), self.key(who), name, self.now()))

    def revoke(self, by: str, who: str, cut: Cut = ()) -> Statement:
        """Take a device out, with the rotations that this makes due; the revocation."""
        roster, seed, keys = self.roster(by), self.seed(by), self.keys(by)
        said = building.revocation(roster, seed, self.key(who), cut, False, None, self.now(), self.randomness, keys)
        self.say(by, *said)
        return said[0]

    def adopt(self, by: str, log: bytes, seq: int) -> Statement:
        return self.say(by, building.adoption(self.roster(by), self.seed(by), log, seq, bytes(32), self.now()))
