"""The statements that are known of a vault, and how this client is let in (protocol/pairing.md)."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from hashlib import sha256

from folder import Folder
from roster import GENESIS, Roster, Statement, read_statement
from sealed import EpochKey, Refused, derive, label, pack, public_key, seal, sign, transport_key, unpack, unseal, unwrap


@dataclass
class Vault:
    """The statements that are known, by id."""

    statements: dict[bytes, Statement] = field(default_factory=dict)
    wires: dict[bytes, bytes] = field(default_factory=dict)
    _roster: Roster | None = None

    def add(self, wire: bytes) -> None:
        said = read_statement(wire)
        if said.id not in self.statements:
            self.statements[said.id] = said
            self.wires[said.id] = wire
            self._roster = None

    @property
    def id(self) -> bytes:
        """The genesis that came first: that of who let this device in."""
        return next(said.id for said in self.statements.values() if said.kind == GENESIS)

    @property
    def roster(self) -> Roster:
        """What counts of them."""
        if self._roster is None:
            self._roster = Roster(self.statements, self.id)
        return self._roster


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


def answered(code: Code, folder: Folder, seed: bytes) -> Vault | None:
    """The vault in which this device is a member; None while nobody has let it in."""
    info = label("admission") + pack([code.place.mailbox, public_key(seed)])
    stream, vault = code.place.stream(b"answer"), Vault()
    for found in folder.blobs(code.place.mailbox):
        if found.stream == stream:
            part, parts, _addresses, wires = unpack(unwrap(seed, info, unseal(code.place, found.data)))
            for wire in wires:
                vault.add(wire)
            if part == parts:
                return vault
    return None
