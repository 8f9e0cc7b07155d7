"""Statements of the roster: who belongs to the vault, in signed words that only ever add up.

Rules: a statement names the statements its signer knew, so the set is a directed graph without cycles; its
id is a hash of its content; kinds of later versions are kept and count for nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias

from syncmem import labels
from syncmem.codec import pack, unpack
from syncmem.errors import InvalidInput, NotCanonical, Unreadable
from syncmem.seal.keys import SIGNATURE_BYTES, public_key, sign, verify

SUITE: Final = 1
ID_BYTES: Final = 16
KEY_BYTES: Final = 32
NAME_BYTES_MAX: Final = 256
STATEMENT_BYTES_MAX: Final = 64 * 1024
MEMBERS_MAX: Final = 50  # wraps are made one by one; above this a tree of keys would be due
SEQ_MAX: Final = 2**40 - 1
NO_VAULT: Final = bytes(ID_BYTES)  # what a genesis names as its vault


class StatementKind(IntEnum):
    """What a statement does. Numbers are for ever; unknown ones are kept."""

    GENESIS = 1
    ADD = 2
    REVOKE = 3
    EPOCH = 4
    NAME = 5
    GRANT = 6
    ADOPT = 7


class Member(NamedTuple):
    """A device as a member: its Ed25519 key, its X25519 key, what people call it."""

    device: bytes
    transport: bytes
    name: str


class Grant(NamedTuple):
    """An epoch key of a scope, wrapped for one member."""

    scope: str
    epoch: bytes
    wrap: bytes


class Genesis(NamedTuple):
    suite: int
    nonce: bytes
    member: Member
    paper: Member | None
    recovery: bytes | None  # seed of the meeting place where the paper member finds the roster


class Add(NamedTuple):
    member: Member
    grants: Sequence[Grant]


class Revoke(NamedTuple):
    device: bytes
    cut: Sequence[tuple[bytes, int, bytes]]  # (log id, last place that counts, head there)
    wipe: bool
    reason: str | None


class Epoch(NamedTuple):
    scope: str
    wraps: Sequence[tuple[bytes, bytes]]  # (device, wrapped key)


class Name(NamedTuple):
    device: bytes
    name: str


class Granted(NamedTuple):
    device: bytes
    grants: Sequence[Grant]


class Adopt(NamedTuple):
    log: bytes
    seq: int
    head: bytes


Body: TypeAlias = Genesis | Add | Revoke | Epoch | Name | Granted | Adopt | None


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
    except NotCanonical as error:
        raise InvalidInput(f"the vault cannot say this ({error}); check names and numbers") from error


def read_statement(data: bytes) -> Statement:
    """The statement of canonical bytes.

    Raises:
        NotCanonical: it is malformed.
        Unreadable: its signature is not its signer's.
    """
    pair = unpack(data, bytes_max=STATEMENT_BYTES_MAX)
    if type(pair) is not list or [type(part) for part in pair] != [bytes, bytes] or len(pair[1]) != SIGNATURE_BYTES:
        raise NotCanonical("a statement is content and signature; ask the sender for it again")
    content, signature = pair
    parts = unpack(content, bytes_max=STATEMENT_BYTES_MAX)
    if (
        type(parts) is not list
        or len(parts) < 6
        or [type(part) for part in parts[:5]] != [int, bytes, list, bytes, int]
    ):
        raise NotCanonical("the content of a statement is malformed; ask the sender for it again")
    kind, vault, parents, signer, time, body = parts[:6]
    _check(_is_bytes(vault, ID_BYTES) and _is_bytes(signer, KEY_BYTES) and abs(time) < 2**62)
    _check(all(_is_bytes(parent, ID_BYTES) for parent in parents) and parents == sorted(set(parents)))
    if not verify(signer, labels.STATEMENT, content, signature):
        raise Unreadable("a statement is not signed by the device it names; ask that device for it again")
    reader = _READERS.get(kind)
    _check((kind == StatementKind.GENESIS) == (vault == NO_VAULT and not parents))
    id = sha256(labels.ROSTER + content).digest()[:ID_BYTES]
    return Statement(
        id, kind, vault, tuple(parents), signer, time, None if reader is None else _read(reader, body), data
    )


def _read(reader: Callable[[list[Any]], Body], body: object) -> Body:
    try:
        if type(body) is list:
            return reader(body)
    except (ValueError, TypeError, IndexError) as error:
        raise NotCanonical(f"the body of a statement is malformed ({error}); ask the sender for it again") from error
    raise NotCanonical("the body of a statement is malformed; ask the sender for it again")


def _check(fits: bool) -> None:
    if not fits:
        raise NotCanonical("a statement breaks a rule of its format; ask the sender for it again")


def _is_bytes(value: object, length: int) -> bool:
    return type(value) is bytes and len(value) == length


def _is_name(value: object) -> bool:
    return type(value) is str and 0 < len(value.encode()) <= NAME_BYTES_MAX


# -- bodies -------------------------------------------------------------------------------------------


def _array(value: Any) -> list[Any]:
    """An array; nothing else that has parts passes for one."""
    _check(type(value) is list)
    return value  # type: ignore[no-any-return]


def _member(parts: Any) -> Member:
    device, transport, name = _array(parts)[:3]
    _check(_is_bytes(device, KEY_BYTES) and _is_bytes(transport, KEY_BYTES) and _is_name(name))
    return Member(device, transport, name)


def _grants(items: Any) -> list[Grant]:
    grants = [Grant(*_array(item)[:3]) for item in _array(items)]
    _check(all(_is_name(g.scope) and _is_bytes(g.epoch, ID_BYTES) and type(g.wrap) is bytes for g in grants))
    return grants


def _genesis(parts: list[Any]) -> Genesis:
    suite, nonce, member, paper, recovery = parts[:5]
    _check(type(suite) is int and suite == SUITE and _is_bytes(nonce, 16))
    _check(recovery is None or _is_bytes(recovery, KEY_BYTES))
    return Genesis(suite, nonce, _member(member), None if paper is None else _member(paper), recovery)


def _revoke(parts: list[Any]) -> Revoke:
    device, cut, wipe, reason = parts[:4]
    cuts = [(log, seq, head) for log, seq, head in map(_array, _array(cut))]
    _check(_is_bytes(device, KEY_BYTES) and type(wipe) is bool and (reason is None or type(reason) is str))
    _check(all(_is_place(*place) for place in cuts))
    return Revoke(device, cuts, wipe, reason)


def _epoch(parts: list[Any]) -> Epoch:
    scope, wraps = parts[:2]
    pairs = [(device, wrap) for device, wrap in map(_array, _array(wraps))]
    _check(_is_name(scope) and len(pairs) <= MEMBERS_MAX + 1)
    _check(all(_is_bytes(device, KEY_BYTES) and type(wrap) is bytes for device, wrap in pairs))
    return Epoch(scope, pairs)


def _name(parts: list[Any]) -> Name:
    _check(_is_bytes(parts[0], KEY_BYTES) and _is_name(parts[1]))
    return Name(*parts[:2])


def _granted(parts: list[Any]) -> Granted:
    _check(_is_bytes(parts[0], KEY_BYTES))
    return Granted(parts[0], _grants(parts[1]))


def _adopt(parts: list[Any]) -> Adopt:
    _check(_is_place(*parts[:3]))
    return Adopt(*parts[:3])


def _is_place(log: object, seq: object, head: object) -> bool:
    return _is_bytes(log, 16) and type(seq) is int and 0 <= seq <= SEQ_MAX and _is_bytes(head, 32)


_READERS: Final[dict[int, Callable[[list[Any]], Body]]] = {
    StatementKind.GENESIS: _genesis,
    StatementKind.ADD: lambda parts: Add(_member(parts[0]), _grants(parts[1])),
    StatementKind.REVOKE: _revoke,
    StatementKind.EPOCH: _epoch,
    StatementKind.NAME: _name,
    StatementKind.GRANT: _granted,
    StatementKind.ADOPT: _adopt,
}


def _plain(value: Any) -> Any:
    """Tuples as arrays."""
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
