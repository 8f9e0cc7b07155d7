"""Statements of the roster: who belongs to the vault, in signed words that only ever add up.

Rules: a statement names the statements its signer knew, so the set is a directed graph without cycles; its
id is a hash of its content; kinds of later versions are kept and count for nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from syncmem import labels
from syncmem.codec import pack, unpack
from syncmem.errors import InvalidInput, NotCanonical, PeerError, Unreadable
from syncmem.seal.bodies import ID_BYTES, KEY_BYTES, Body, Genesis, StatementKind, ascends, check, is_bytes, read_body
from syncmem.seal.keys import SIGNATURE_BYTES, public_key, sign, verify

STATEMENT_BYTES_MAX: Final = 64 * 1024
PARENTS_MAX: Final = 256  # each honest device adds one head at most; bounds what a graph costs
NO_VAULT: Final = bytes(ID_BYTES)  # what a genesis names as its vault


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement; ``body`` is None for kinds that this version does not know."""

    id: bytes
    kind: int
    vault: bytes
    parents: tuple[bytes, ...]
    signer: bytes
    time: int
    body: Body = field(compare=False)
    wire: bytes = field(repr=False, compare=False)

    @property
    def roster(self) -> bytes:
        """The vault that it speaks of: a genesis is its own."""
        return self.id if self.kind == StatementKind.GENESIS else self.vault


def write_statement(
    kind: StatementKind, vault: bytes, parents: Sequence[bytes], seed: bytes, time: int, body: Body
) -> Statement:
    """Sign a statement.

    Raises:
        InvalidInput: it is too long, or says what no reader accepts.
    """
    content = pack([int(kind), vault, sorted(parents), public_key(seed), time, _plain(body)])
    wire = pack([content, sign(seed, labels.STATEMENT, content)])
    try:
        return read_statement(wire)
    except PeerError as error:
        raise InvalidInput(f"the vault cannot say this ({error}); check names and numbers") from error


def read_statement(data: bytes) -> Statement:
    """The statement of canonical bytes.

    Raises:
        NotCanonical: it is malformed.
        Unreadable: its signature, or the proof of a member in it, is wrong.
    """
    content, signature = _signed(data)
    kind, vault, parents, signer, time, body = _content(content)
    if not verify(signer, labels.STATEMENT, content, signature):
        raise Unreadable("a statement is not signed by the device it names; ask that device for it again")
    said = read_body(kind, body)
    check(not isinstance(said, Genesis) or said.member.device == signer)
    id = sha256(labels.ROSTER + content).digest()[:ID_BYTES]
    return Statement(id, kind, vault, tuple(parents), signer, time, said, data)


def _signed(data: bytes) -> tuple[bytes, bytes]:
    pair = unpack(data, bytes_max=STATEMENT_BYTES_MAX)
    if type(pair) is not list or [type(part) for part in pair] != [bytes, bytes] or len(pair[1]) != SIGNATURE_BYTES:
        raise NotCanonical("a statement is content and signature; ask the sender for it again")
    return pair[0], pair[1]


def _content(content: bytes) -> list[Any]:
    """Kind, vault, parents, signer, time, body; of what a later version adds nothing."""
    parts: Any = unpack(content, bytes_max=STATEMENT_BYTES_MAX)
    check(type(parts) is list and len(parts) >= 6)
    check([type(part) for part in parts[:5]] == [int, bytes, list, bytes, int])
    kind, vault, parents, signer, time = parts[:5]
    check(kind >= 0 and is_bytes(vault, ID_BYTES) and is_bytes(signer, KEY_BYTES) and abs(time) <= 2**62)
    check(len(parents) <= PARENTS_MAX and all(is_bytes(parent, ID_BYTES) for parent in parents) and ascends(parents))
    check((kind == StatementKind.GENESIS) == (vault == NO_VAULT) == (not parents))
    return [*parts[:6]]


def _plain(value: Any) -> Any:
    """Tuples as arrays."""
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
