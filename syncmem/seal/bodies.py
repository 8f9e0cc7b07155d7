"""What statements of the roster say: the body of each kind, its bounds, and how it is read.

Rules: a body has one form (arrays ascend and name nothing twice); every length has a limit; a member proves
its transport key by a signature of its device key, so that nobody is listed with a key of somebody else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from syncmem import labels
from syncmem.codec import pack
from syncmem.errors import NotCanonical, Unreadable
from syncmem.seal.keys import SIGNATURE_BYTES, is_transport_key, public_key, sign, transport_key, verify

SUITE: Final = 1
ID_BYTES: Final = 16
KEY_BYTES: Final = 32
NAME_BYTES_MAX: Final = 256
REASON_BYTES_MAX: Final = 1024
MEMBERS_MAX: Final = 50  # wraps are made one by one; above this a tree of keys would be due
WRAPS_MAX: Final = MEMBERS_MAX + 1  # the paper member
WRAP_BYTES: Final = 112  # encapsulated key (32), epoch key and subject key (64), tag (16)
GRANTS_MAX: Final = 128  # scopes that one statement gives
CUTS_MAX: Final = 1024  # logs of one device: its lives times its scopes
SEQ_MAX: Final = 2**40 - 1


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
    """A device as a member: its Ed25519 key, its X25519 key, what people call it, and that the keys belong together."""

    device: bytes
    transport: bytes
    name: str
    proof: bytes


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
    """A key of a scope; the marks are hashes, so that all who are given the keys are given the same."""

    scope: str
    wraps: Sequence[tuple[bytes, bytes]]  # (device, wrapped epoch key and subject key)
    key_mark: bytes
    subject_mark: bytes


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


# -- members ------------------------------------------------------------------------------------------


def new_member(seed: bytes, name: str, founder: bytes | None = None) -> Member:
    """The owner of a seed as a member; the paper member also names the device that founds its vault."""
    transport = transport_key(seed)
    proof = sign(seed, labels.MEMBER, pack([transport, founder]))
    return Member(public_key(seed), transport, name, proof)


def read_member(parts: Any, founder: bytes | None = None) -> Member:
    """A member whose keys belong together.

    Raises:
        NotCanonical: it is malformed, or has a transport key to which nothing can be sealed.
        Unreadable: the proof is not one of its device.
    """
    check(type(parts) is list and len(parts) >= 4)
    device, transport, name, proof = parts[:4]
    check(is_bytes(device, KEY_BYTES) and is_bytes(transport, KEY_BYTES) and _is_name(name))
    check(is_bytes(proof, SIGNATURE_BYTES) and is_transport_key(transport))
    if not verify(device, labels.MEMBER, pack([transport, founder]), proof):
        raise Unreadable("a new member is listed with a key that it never signed; pair that device again")
    return Member(device, transport, name, proof)


# -- bodies -------------------------------------------------------------------------------------------


def read_body(kind: int, parts: object) -> Body:
    """The body of a statement; None for kinds that this version does not know.

    Raises:
        NotCanonical, Unreadable: it is malformed.
    """
    reader = _READERS.get(kind)
    if reader is None:
        return None
    check(type(parts) is list)
    try:
        return reader(parts)
    except (ValueError, TypeError, LookupError) as error:
        raise NotCanonical(f"the body of a statement is malformed ({error}); ask the sender for it again") from error


def check(fits: bool) -> None:
    if not fits:
        raise NotCanonical("a statement breaks a rule of its format; ask the sender for it again")


def is_bytes(value: object, length: int) -> bool:
    return type(value) is bytes and len(value) == length


def ascends(items: Sequence[Any]) -> bool:
    """Whether items stand in order, and none twice."""
    return all(one < other for one, other in pairwise(items))


def _is_name(value: object) -> bool:
    return type(value) is str and 0 < len(value.encode()) <= NAME_BYTES_MAX


def _is_place(log: object, seq: object, head: object) -> bool:
    return is_bytes(log, ID_BYTES) and type(seq) is int and 0 <= seq <= SEQ_MAX and is_bytes(head, KEY_BYTES)


def _rows(items: Any, width: int, rows_max: int) -> list[Any]:
    """The first fields of some arrays."""
    check(type(items) is list and len(items) <= rows_max)
    check(all(type(item) is list and len(item) >= width for item in items))
    return [item[:width] for item in items]


def _genesis(parts: list[Any]) -> Genesis:
    suite, nonce, member, paper, recovery = parts[:5]
    check(type(suite) is int and suite == SUITE and is_bytes(nonce, 16))
    check(recovery is None or is_bytes(recovery, KEY_BYTES))
    first = read_member(member)
    on_paper = None if paper is None else read_member(paper, first.device)
    check(on_paper is None or on_paper.device != first.device)
    return Genesis(suite, nonce, first, on_paper, recovery)


def _add(parts: list[Any]) -> Add:
    return Add(read_member(parts[0]), _grants(parts[1]))


def _granted(parts: list[Any]) -> Granted:
    check(is_bytes(parts[0], KEY_BYTES))
    return Granted(parts[0], _grants(parts[1]))


def _grants(items: Any) -> list[Grant]:
    grants = [Grant(*row) for row in _rows(items, 3, GRANTS_MAX)]
    check(all(_is_name(g.scope) and is_bytes(g.epoch, ID_BYTES) and is_bytes(g.wrap, WRAP_BYTES) for g in grants))
    check(ascends([(grant.scope.encode(), grant.epoch) for grant in grants]))
    return grants


def _revoke(parts: list[Any]) -> Revoke:
    device, cut, wipe, reason = parts[:4]
    check(is_bytes(device, KEY_BYTES) and type(wipe) is bool)
    check(reason is None or (type(reason) is str and len(reason.encode()) <= REASON_BYTES_MAX))
    cuts = [(log, seq, head) for log, seq, head in _rows(cut, 3, CUTS_MAX)]
    check(all(_is_place(*place) for place in cuts) and ascends([log for log, _, _ in cuts]))
    return Revoke(device, cuts, wipe, reason)


def _epoch(parts: list[Any]) -> Epoch:
    scope, wraps, *marks = parts[:4]
    pairs = [(device, wrap) for device, wrap in _rows(wraps, 2, WRAPS_MAX)]
    check(_is_name(scope) and ascends([device for device, _ in pairs]))
    check(all(is_bytes(device, KEY_BYTES) and is_bytes(wrap, WRAP_BYTES) for device, wrap in pairs))
    check(len(marks) == 2 and all(is_bytes(mark, KEY_BYTES) for mark in marks))
    return Epoch(scope, pairs, *marks)


def _name(parts: list[Any]) -> Name:
    check(is_bytes(parts[0], KEY_BYTES) and _is_name(parts[1]))
    return Name(parts[0], parts[1])


def _adopt(parts: list[Any]) -> Adopt:
    check(len(parts) >= 3 and _is_place(*parts[:3]))
    return Adopt(*parts[:3])


_READERS: Final[dict[int, Callable[[Any], Body]]] = {
    StatementKind.GENESIS: _genesis,
    StatementKind.ADD: _add,
    StatementKind.REVOKE: _revoke,
    StatementKind.EPOCH: _epoch,
    StatementKind.NAME: _name,
    StatementKind.GRANT: _granted,
    StatementKind.ADOPT: _adopt,
}
