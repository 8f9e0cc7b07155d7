"""The roster, as far as this client reads it, and how it is let in (protocol/README.md: Roster; protocol/pairing.md).

It checks every signature, and that who signed had been let in by then; it does not resolve who was senior to whom, so
it takes a member at their word when they remove or let in another, even where they had been removed themselves.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from folder import Folder
from sealed import (
    EpochKey,
    Refused,
    check_signature,
    derive,
    label,
    pack,
    public_key,
    seal,
    sign,
    transport_key,
    unpack,
    unseal,
    unwrap,
)

GENESIS, ADD, REVOKE, EPOCH, _, GRANT = range(1, 7)


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
    def lets_in(self) -> set[bytes]:
        """The devices (and the phrase) for which it vouches."""
        listed = self.body[2:4] if self.kind == GENESIS else self.body[:1] if self.kind == ADD else []
        return {member[0] for member in listed if member}


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
    return Statement(sha256(label("roster") + content).digest()[:16], kind, vault, parents, signer, body)


@dataclass
class Roster:
    """The statements that are known, by id."""

    statements: dict[bytes, Statement] = field(default_factory=dict)
    wires: dict[bytes, bytes] = field(default_factory=dict)
    _standing: list[Statement] | None = None

    def add(self, wire: bytes) -> None:
        said = read_statement(wire)
        self.statements[said.id] = said
        self.wires[said.id] = wire
        self._standing = None

    @property
    def vault(self) -> bytes:
        """The genesis that came first: that of who let this device in."""
        return next(said.id for said in self.statements.values() if said.kind == GENESIS)

    @property
    def standing(self) -> list[Statement]:
        """The statements of this vault whose past is known, and whose signers were let in by something in it."""
        if self._standing is None:
            members: dict[bytes, set[bytes]] = {}  # of each statement: who had been let in after it
            self._standing = []
            for said in sorted(self.statements.values(), key=lambda said: (self._depth(said.id), said.id)):
                if all(parent in members for parent in said.parents):
                    before = set().union(*(members[parent] for parent in said.parents))
                    begins = said.id == self.vault and said.signer == said.body[2][0]
                    stands = begins or (said.vault == self.vault and said.signer in before)
                    members[said.id] = before | (said.lets_in if stands else set())
                    self._standing += [said] if stands else []
        return self._standing

    @property
    def devices(self) -> dict[bytes, str]:
        """Who was ever let in, by name."""
        members = [said.body[2] if said.kind == GENESIS else said.body[0] for said in self._of(GENESIS, ADD)]
        return {member[0]: member[2] for member in members}

    @property
    def cuts(self) -> dict[bytes, dict[bytes, int]]:
        """Of each device that was removed: the last place of each of its logs that counts."""
        cuts: dict[bytes, dict[bytes, int]] = {}
        for said in self._of(REVOKE):
            cuts.setdefault(said.body[0], {}).update({log: place for log, place, _head in said.body[1]})
        return cuts

    def keys(self, seed: bytes, scope: str) -> list[tuple[EpochKey, bytes]]:
        """The keys of a scope that this device has, with the subject key of each; the current one last."""
        found: dict[bytes, tuple[EpochKey, bytes]] = {}
        device, epochs = public_key(seed), {said.id: said for said in self._of(EPOCH)}
        for epoch, wrap in self._wraps(device, scope):
            said = epochs.get(epoch)
            if said is None:
                continue
            plain = unwrap(seed, label("wrap") + pack([self.vault, scope, device]), wrap)
            marks = [sha256(label(n) + k).digest() for n, k in (("epoch", plain[:32]), ("subjects", plain[32:]))]
            if marks == said.body[2:4]:
                found[epoch] = EpochKey(self.vault, epoch, plain[:32]), plain[32:]
        return [found[epoch] for epoch in sorted(found, key=lambda each: (self._depth(each), each))]

    def _wraps(self, device: bytes, scope: str) -> list[tuple[bytes, bytes]]:
        given = [
            (said.body[0], said.id, wrap) for said in self._of(EPOCH) for name, wrap in said.body[1] if name == device
        ]
        given += [tuple(grant) for said in self._of(ADD) if said.body[0][0] == device for grant in said.body[1]]
        given += [tuple(grant) for said in self._of(GRANT) if said.body[0] == device for grant in said.body[1]]
        return [(epoch, wrap) for where, epoch, wrap in given if where == scope]

    def _of(self, *kinds: int) -> list[Statement]:
        return sorted((said for said in self.standing if said.kind in kinds), key=lambda said: said.id)

    def _depth(self, id: bytes) -> int:
        depths: dict[bytes, int] = {}
        waiting = [id]
        while waiting:
            said = self.statements.get(waiting[-1])
            lacking = [parent for parent in said.parents if parent not in depths] if said else []
            if lacking:
                waiting += lacking
                continue
            depths[waiting.pop()] = 1 + max((depths[parent] for parent in said.parents), default=0) if said else 0
        return depths[id]


# -- being let in ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Code:
    """What the trusted device shows: a secret, and where the two meet."""

    secret: bytes
    address: str

    @classmethod
    def read(cls, text: str) -> Code:
        body = "".join(text.split()).upper().removeprefix("SYNCMEM-")
        data = base64.b32decode(body + "=" * (-len(body) % 8))
        if sha256(data[:-4]).digest()[:4] != data[-4:]:
            raise Refused("a character of the code is wrong; copy the whole of it")
        _version, secret, address = unpack(data[:-4])
        return cls(secret, address)

    @property
    def place(self) -> EpochKey:
        secret = derive(self.secret + bytes(16), label("invitation"))
        return EpochKey(bytes(16), bytes(16), secret)


def ask(code: Code, folder: Folder, seed: bytes, name: str) -> None:
    """Say who asks to be let in."""
    public = transport_key(seed).public_key().public_bytes_raw()
    proof = sign(seed, label("member") + pack([public, None]))
    member = [public_key(seed), public, name, proof]
    said = sign(seed, label("joining") + code.place.mailbox + pack(member))
    asked = [each for each in folder.blobs(code.place.mailbox) if each.stream == code.place.stream(b"request")]
    if asked:
        if unpack(unseal(code.place, asked[0].data))[1][0] != member[0]:
            raise Refused("another device has used this code; have a new one shown")
        return
    folder.put(code.place.mailbox, code.place.stream(b"request"), 1, seal(code.place, pack([1, member, said])))


def answered(code: Code, folder: Folder, seed: bytes) -> Roster | None:
    """The roster in which this device is a member; None while nobody has let it in."""
    info = label("admission") + pack([code.place.mailbox, public_key(seed)])
    stream, roster = code.place.stream(b"answer"), Roster()
    for found in folder.blobs(code.place.mailbox):
        if found.stream == stream:
            part, parts, _addresses, wires = unpack(unwrap(seed, info, unseal(code.place, found.data)))
            for wire in wires:
                roster.add(wire)
            if part == parts:
                return roster
    return None
