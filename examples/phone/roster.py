"""Who belongs to a vault: the rules of the roster, with their numbers there (protocol/README.md: Roster).

A set of statements is an integer here, with a bit for each, in the order of their places: ancestors come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from sealed import EpochKey, Refused, check_signature, label, pack, public_key, unpack, unwrap

GENESIS, ADD, REVOKE, EPOCH, NAME, GRANT, ADOPT = range(1, 8)
DECIDING_MAX = 500  # statements on who belongs to the vault: a phone does not resolve a roster that was filled


@dataclass(frozen=True)
class Statement:
    """A signed statement."""

    id: bytes
    kind: int
    vault: bytes
    parents: list[bytes]
    signer: bytes
    body: list[Any]

    @property
    def members(self) -> list[list[Any]]:
        """The devices (and the phrase) for which it vouches."""
        listed = self.body[2:4] if self.kind == GENESIS else self.body[:1] if self.kind == ADD else []
        return [member for member in listed if member]

    @property
    def grants(self) -> list[tuple[bytes, str, bytes, bytes]]:
        """(device, scope, epoch, wrap) of each key that it hands on."""
        device = self.body[0][0] if self.kind == ADD else self.body[0]
        return [(device, *grant) for grant in self.body[1]] if self.kind in (ADD, GRANT) else []


def read_statement(wire: bytes) -> Statement:
    try:
        content, signature = unpack(wire)
        kind, vault, parents, signer, _time, body = unpack(content)[:6]
        check_signature(signer, label("statement") + content, signature)
        if kind in (GENESIS, ADD):
            device, transport, _name, proof = body[2] if kind == GENESIS else body[0]
            check_signature(device, label("member") + pack([transport, None]), proof)
        if kind == GENESIS and body[3]:
            phrase, transport, _name, proof = body[3]
            check_signature(phrase, label("member") + pack([transport, device]), proof)
    except (TypeError, ValueError, IndexError) as error:
        raise Refused("a statement is malformed") from error
    id = sha256(label("roster") + content).digest()[:16]
    return Statement(id, kind, id if kind == GENESIS else vault, parents, signer, body)


class Roster:
    """What counts of the statements of one vault whose ancestors are all known."""

    def __init__(self, statements: Mapping[bytes, Statement], vault: bytes) -> None:
        self.vault = vault
        self.all = self._in_order({id: said for id, said in statements.items() if said.vault == vault})
        numbers = {said.id: number for number, said in enumerate(self.all)}
        self._past: list[int] = []
        for said in self.all:
            self._past.append(_union(1 << numbers[each] | self._past[numbers[each]] for each in said.parents))
        genesis = self.all[0]
        self.phrase = genesis.body[3][0] if genesis.body[3] else None
        self._deciding = self._set(lambda said: said.kind in (GENESIS, ADD, REVOKE))
        self._revoking = self._set(lambda said: said.kind == REVOKE)
        if self._deciding.bit_count() > DECIDING_MAX:
            raise Refused("the roster is too large for this client; see on another device who fills it, and remove it")
        self._resolved: dict[int, int] = {}
        self.stand = 0
        for number in range(len(self.all)):  # rule 1
            self.stand |= self._stands(number) << number
        self.counts = self._resolve((1 << len(self.all)) - 1)

    @staticmethod
    def _in_order(held: Mapping[bytes, Statement]) -> list[Statement]:
        depths: dict[bytes, int] = {}
        waiting = list(held.values())
        while ready := [said for said in waiting if all(parent in depths for parent in said.parents)]:
            for said in ready:
                depths[said.id] = max((depths[parent] + 1 for parent in said.parents), default=0)
            waiting = [said for said in waiting if said.id not in depths]
        return sorted((held[id] for id in depths), key=lambda said: (depths[said.id], said.id))

    def _set(self, wanted: Callable[[Statement], bool]) -> int:
        return _union(1 << number for number, said in enumerate(self.all) if wanted(said))

    def _vouching(self, device: bytes) -> int:
        if device not in self._vouched:
            self._vouched[device] = self._set(lambda said: device in (member[0] for member in said.members))
        return self._vouched[device]

    @cached_property
    def _vouched(self) -> dict[bytes, int]:
        return {}

    # -- rules 1 to 5 ---------------------------------------------------------------------------------------

    def _stands(self, number: int) -> bool:
        said = self.all[number]
        if said.id == self.vault:
            return True
        if said.kind == REVOKE and said.body[0] == self.phrase != said.signer:
            return False
        known = self._past[number] & self._deciding  # nothing else changes who is live
        if known not in self._resolved:
            self._resolved[known] = self._resolve(known)
        return self.is_live(said.signer, self._resolved[known])

    def _resolve(self, within: int) -> int:
        """What counts within a set."""
        stand, decided = within & self.stand, 0
        void = self._shaken(stand, 0)
        while pending := stand & self._revoking & ~void & ~decided:  # rule 3

            def turn(number: int, void: int = void) -> tuple[int, bool, int]:
                said = self.all[number]
                return self._seniority(said.signer, stand & ~void), said.body[0] != said.signer, number

            number = min(_numbers(pending), key=turn)
            decided |= 1 << number
            said_by = self._set(lambda said, named=self.all[number].body[0]: said.signer == named)  # type: ignore[misc]
            void = self._shaken(stand, void | (said_by & stand & ~self._past[number] & ~(1 << number)))
        return decided | (stand & ~self._revoking & ~void)  # rule 4

    def _shaken(self, stand: int, void: int) -> int:
        """Rule 2: void is also what nothing vouches for any more."""
        before = -1
        while before != void:
            before = void
            for number in _numbers(stand & ~void & ~1):
                if not self._vouching(self.all[number].signer) & self._past[number] & stand & ~void:
                    void |= 1 << number
        return void

    def _seniority(self, device: bytes, holding: int) -> int:
        vouched = self._vouching(device) & holding
        return -1 if device == self.phrase else (vouched & -vouched).bit_length() or len(self.all) + 1

    def is_live(self, device: bytes, counts: int | None = None) -> bool:
        """Rule 5."""
        counting = self.counts if counts is None else counts
        removed = any(self.all[number].body[0] == device for number in _numbers(counting & self._revoking))
        return bool(self._vouching(device) & counting) and not removed

    def of(self, *kinds: int, among: int | None = None) -> Iterator[tuple[int, Statement]]:
        """What counts of some kinds, with their numbers."""
        for number in _numbers(self.counts if among is None else among):
            if self.all[number].kind in kinds:
                yield number, self.all[number]

    @property
    def names(self) -> dict[bytes, str]:
        """Who was ever let in by what counts, by name (rule 4)."""
        found: dict[bytes, str] = {}
        for _, said in self.of(GENESIS, ADD):
            for device, _transport, name, _proof in said.members:
                found.setdefault(device, name)
        return found | {said.body[0]: said.body[1] for _, said in self.of(NAME) if said.body[0] in found}

    def let_in(self, device: bytes) -> bool:
        """Whether anything that stands vouches for a device: what it wrote is read, and believed up to its cut."""
        return bool(self._vouching(device) & self.stand)

    # -- rule 6 ---------------------------------------------------------------------------------------------

    def cut(self, device: bytes, log: bytes) -> int | None:
        """Behind which place of a log nothing is believed; None: all of it is."""
        adopted = [(number, said.body[1]) for number, said in self.of(ADOPT) if said.body[0] == log]
        if not self._vouching(device) & self.counts:
            return max((place for _, place in adopted), default=0)
        cuts = []
        for revocation, said in self.of(REVOKE):
            if said.body[0] == device:
                named = next((place for one, place, _head in said.body[1] if one == log), 0)
                cuts.append(max([named, *(place for n, place in adopted if self._past[n] >> revocation & 1)]))
        return min(cuts, default=None)

    # -- rules 7 and 8 --------------------------------------------------------------------------------------

    def current(self, scope: str) -> bytes | None:
        """The epoch under which a scope is written; None: somebody must change its key first."""
        own = [(number, said) for number, said in self.of(EPOCH) if said.body[0] == scope]
        among = _union(1 << number for number, _ in own)
        founding = [(self._seniority(said.signer, self.counts), n) for n, said in own if not self._past[n] & among]
        if not founding:
            return None
        first = min(founding)[1]
        founded = self.all[first]
        good, knows = 1 << first, {founded.id: {founded.signer, *(device for device, _ in founded.body[1])}}
        has = [(first, device) for device in knows[founded.id]]  # since which statement a device has the scope
        for number, said in self.of(EPOCH, ADD, GRANT):
            past = self._past[number]
            if not any(past >> since & 1 and device == said.signer for since, device in has):
                continue
            if said.kind == EPOCH and said.body[0] == scope and said.body[3] == founded.body[3]:
                good |= 1 << number
                knows[said.id] = {said.signer, *(device for device, _ in said.body[1])}
                has += [(number, device) for device in knows[said.id]]
            there = {one.id for _, one in self.of(EPOCH, among=past) if one.body[0] == scope}
            for device, where, epoch, _wrap in said.grants:
                if where == scope and epoch in there:
                    knows.setdefault(epoch, set()).update((said.signer, device))
                    has += [(number, said.signer), (number, device)]
        last = [n for n in _numbers(good) if not any(self._past[other] >> n & 1 for other in _numbers(good))]
        ids = [self.all[n].id for n in last]
        return min((id for id in ids if all(map(self.is_live, knows[id]))), default=None)

    def keys(self, seed: bytes, scope: str) -> list[tuple[EpochKey, bytes]]:
        """The keys of a scope that a device has, each with its subject key."""
        found: dict[bytes, tuple[EpochKey, bytes]] = {}
        device, epochs = public_key(seed), {said.id: said for _, said in self.of(EPOCH)}
        wraps = [(said.id, wrap) for said in epochs.values() for to, wrap in said.body[1] if to == device]
        wraps += [(e, wrap) for _, said in self.of(ADD, GRANT) for to, _, e, wrap in said.grants if to == device]
        for epoch, wrap in wraps:
            said = epochs.get(epoch)
            if said is None or said.body[0] != scope:
                continue
            try:
                plain = unwrap(seed, label("wrap") + pack([self.vault, scope, device]), wrap)
            except Refused:
                continue  # rubbish is no key
            marks = [sha256(label(n) + k).digest() for n, k in (("epoch", plain[:32]), ("subjects", plain[32:]))]
            if marks == said.body[2:4]:
                found[epoch] = EpochKey(self.vault, epoch, plain[:32]), plain[32:]
        return list(found.values())


def _numbers(members: int) -> Iterator[int]:
    while members:
        yield (members & -members).bit_length() - 1
        members &= members - 1


def _union(sets: Any) -> int:
    found = 0
    for each in sets:
        found |= each
    return found
