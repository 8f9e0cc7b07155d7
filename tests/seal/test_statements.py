"""A statement has one form, one signer and bounds; whatever else comes is refused and never breaks a reader."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import labels
from syncmem.codec import pack, unpack
from syncmem.errors import InvalidInput, NotCanonical, PeerError, Unreadable
from syncmem.seal.bodies import (
    CUTS_MAX,
    GRANTS_MAX,
    NAME_BYTES_MAX,
    REASON_BYTES_MAX,
    SEQ_MAX,
    WRAPS_MAX,
    Member,
    Name,
    StatementKind,
    new_member,
)
from syncmem.seal.keys import public_key, sign, transport_key
from syncmem.seal.statements import (
    NO_VAULT,
    PARENTS_MAX,
    STATEMENT_BYTES_MAX,
    Statement,
    read_statement,
    write_statement,
)

SEED, PHONE, PAPER = b"laptop".ljust(32), b"phone".ljust(32), b"paper".ljust(32)
LAPTOP_KEY, PHONE_KEY = public_key(SEED), public_key(PHONE)
VAULT, PARENT, ID, LOG, HEAD, WRAP = b"v" * 16, b"p" * 16, b"i" * 16, b"l" * 16, b"h" * 32, b"w" * 112
MEMBER = list(new_member(PHONE, "phone"))
FIRST, ON_PAPER = list(new_member(SEED, "laptop")), list(new_member(PAPER, "paper", LAPTOP_KEY))
GRANT = ["vault", ID, WRAP]
BODIES: dict[int, list[Any]] = {
    StatementKind.GENESIS: [1, b"n" * 16, FIRST, ON_PAPER, b"r" * 32],
    StatementKind.ADD: [MEMBER, [GRANT]],
    StatementKind.REVOKE: [PHONE_KEY, [[LOG, 3, HEAD]], True, "lost"],
    StatementKind.EPOCH: ["vault", [[LAPTOP_KEY, WRAP]], HEAD, HEAD],
    StatementKind.NAME: [PHONE_KEY, "my phone"],
    StatementKind.GRANT: [PHONE_KEY, [GRANT]],
    StatementKind.ADOPT: [LOG, 3, HEAD],
}


def content_of(kind: Any, body: object, **changed: Any) -> bytes:
    root = kind == StatementKind.GENESIS
    parts = {
        "kind": kind if type(kind) is bool else int(kind),
        "vault": NO_VAULT if root else VAULT,
        "parents": [] if root else [PARENT],
    }
    parts |= {"signer": LAPTOP_KEY, "time": 1, "body": body}
    return pack([*(parts | changed).values()])


def signed(content: bytes, seed: bytes = SEED) -> bytes:
    return pack([content, sign(seed, labels.STATEMENT, content)])


def said(kind: Any, body: object, **changed: Any) -> bytes:
    return signed(content_of(kind, body, **changed))


def rewritten(statement: Statement) -> Statement:
    kind = StatementKind(statement.kind)
    return write_statement(kind, statement.vault, statement.parents, SEED, statement.time, statement.body)


# -- one form -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BODIES)
def test_a_statement_of_each_kind_is_read_and_written_to_the_same_bytes(kind: int) -> None:
    wire = said(kind, BODIES[kind])
    statement = read_statement(wire)
    assert (statement.kind, statement.signer, statement.time, statement.wire) == (kind, LAPTOP_KEY, 1, wire)
    assert statement.id == sha256(b"syncmem/v1/roster\0" + unpack(wire)[0]).digest()[:16]
    assert statement.roster == (statement.id if kind == StatementKind.GENESIS else VAULT)
    assert rewritten(statement).wire == wire


@pytest.mark.parametrize("kind", BODIES)
def test_a_statement_of_which_any_byte_was_changed_is_refused(kind: int) -> None:
    wire = said(kind, BODIES[kind])
    for at in range(len(wire)):
        with pytest.raises(PeerError):
            read_statement(wire[:at] + bytes([wire[at] ^ 1]) + wire[at + 1 :])


@pytest.mark.parametrize("kind", BODIES)
def test_fields_that_a_later_version_appends_are_kept_and_not_read(kind: int) -> None:
    longer = said(kind, [*BODIES[kind], "later", {"more": 1}])
    assert read_statement(longer).body == read_statement(said(kind, BODIES[kind])).body
    assert read_statement(longer).wire == longer


def test_a_kind_of_a_later_version_is_kept_without_its_meaning() -> None:
    statement = read_statement(said(99, {"what": "ever"}))
    assert (statement.kind, statement.body, statement.roster) == (99, None, VAULT)


# -- anything else ------------------------------------------------------------------------------------


def test_a_second_encoding_of_the_same_statement_is_refused() -> None:
    content = content_of(StatementKind.NAME, BODIES[StatementKind.NAME])
    assert content[1] == StatementKind.NAME
    longer = content[:1] + b"\xcc" + content[1:]
    for wire in (signed(longer), signed(content) + b"\0", b"\xdc\0\x02" + signed(content)[1:]):
        with pytest.raises(NotCanonical):
            read_statement(wire)


@pytest.mark.parametrize("label", [labels.BLOB, labels.JOINING, labels.HEAD, b""])
def test_a_signature_that_was_made_for_something_else_is_refused(label: bytes) -> None:
    content = content_of(StatementKind.NAME, BODIES[StatementKind.NAME])
    with pytest.raises(Unreadable, match="not signed by the device"):
        read_statement(pack([content, sign(SEED, label, content)]))


def test_what_one_device_signs_cannot_be_said_in_the_name_of_another() -> None:
    with pytest.raises(Unreadable, match="not signed by the device"):
        read_statement(signed(content_of(StatementKind.NAME, BODIES[StatementKind.NAME]), PHONE))


OUTSIDES: dict[str, dict[str, Any]] = {
    "no vault": {"vault": NO_VAULT},
    "a short vault": {"vault": b"v"},
    "no parents": {"parents": []},
    "parents twice": {"parents": [PARENT, PARENT]},
    "parents out of order": {"parents": [b"q" * 16, PARENT]},
    "a short parent": {"parents": [b"p"]},
    "a parent that is text": {"parents": ["p" * 16]},
    "too many parents": {"parents": [n.to_bytes(16, "big") for n in range(PARENTS_MAX + 1)]},
    "a short signer": {"signer": LAPTOP_KEY[:31]},
    "a time beyond time": {"time": 2**62 + 1},
    "a time that is a fraction": {"time": 1.5},
    "a time that is a truth": {"time": True},
    "a kind below zero": {"kind": -1},
    "a kind that is a truth": {"kind": True},
    "a genesis among others": {"kind": 1},
}


@pytest.mark.parametrize("changed", OUTSIDES.values(), ids=OUTSIDES.keys())
def test_what_a_statement_says_of_itself_has_one_form(changed: dict[str, Any]) -> None:
    wire = said(**{"kind": StatementKind.NAME, "body": BODIES[StatementKind.NAME]} | changed)
    with pytest.raises(NotCanonical):
        read_statement(wire)


def swapped(proof_of: bytes, **changed: Any) -> list[Any]:
    return list(new_member(proof_of, "phone")._replace(**changed))


SMALL_ORDER = new_member(PHONE, "phone")._replace(
    transport=bytes(32), proof=sign(PHONE, labels.MEMBER, pack([bytes(32), None]))
)
INSIDES: list[tuple[str, int, list[Any]]] = [
    ("nothing", StatementKind.ADD, []),
    ("a member without proof", StatementKind.ADD, [MEMBER[:3], []]),
    ("a member with the transport key of another", StatementKind.ADD, [swapped(PHONE, transport=WRAP[:32]), []]),
    ("a member with the proof of another", StatementKind.ADD, [swapped(PHONE, proof=FIRST[3]), []]),
    ("a member whose proof is the paper member's", StatementKind.ADD, [ON_PAPER, []]),
    ("a transport key to which nothing can be sealed", StatementKind.ADD, [list(SMALL_ORDER), []]),
    ("a member without a name", StatementKind.ADD, [swapped(PHONE, name=""), []]),
    ("a name that is too long", StatementKind.NAME, [PHONE_KEY, "x" * (NAME_BYTES_MAX + 1)]),
    ("a name that is too long in bytes", StatementKind.NAME, [PHONE_KEY, "\u00e4" * (NAME_BYTES_MAX // 2 + 1)]),
    ("a name of bytes", StatementKind.NAME, [PHONE_KEY, b"x"]),
    ("no name", StatementKind.NAME, [PHONE_KEY]),
    ("grants in a map", StatementKind.ADD, [MEMBER, {}]),
    ("a grant that is a map", StatementKind.ADD, [MEMBER, [{}]]),
    ("a grant that is short", StatementKind.ADD, [MEMBER, [GRANT[:2]]]),
    ("grants twice", StatementKind.GRANT, [PHONE_KEY, [GRANT, GRANT]]),
    ("grants out of order", StatementKind.GRANT, [PHONE_KEY, [GRANT, ["a", ID, WRAP]]]),
    ("too many grants", StatementKind.GRANT, [PHONE_KEY, [[f"{n:04}", ID, WRAP] for n in range(GRANTS_MAX + 1)]]),
    ("a wrap that is short", StatementKind.GRANT, [PHONE_KEY, [["vault", ID, WRAP[1:]]]]),
    ("a cut that is a map", StatementKind.REVOKE, [PHONE_KEY, {}, False, None]),
    ("a log cut twice", StatementKind.REVOKE, [PHONE_KEY, [[LOG, 3, HEAD], [LOG, 4, HEAD]], False, None]),
    ("a cut before the beginning", StatementKind.REVOKE, [PHONE_KEY, [[LOG, -1, HEAD]], False, None]),
    ("a cut beyond the end", StatementKind.REVOKE, [PHONE_KEY, [[LOG, SEQ_MAX + 1, HEAD]], False, None]),
    ("a cut without head", StatementKind.REVOKE, [PHONE_KEY, [[LOG, 3]], False, None]),
    (
        "too many cuts",
        StatementKind.REVOKE,
        [PHONE_KEY, [[n.to_bytes(16, "big"), 1, HEAD] for n in range(CUTS_MAX + 1)], False, None],
    ),
    ("wipe that is a number", StatementKind.REVOKE, [PHONE_KEY, [], 1, None]),
    ("a reason that is too long", StatementKind.REVOKE, [PHONE_KEY, [], False, "x" * (REASON_BYTES_MAX + 1)]),
    ("wraps in text", StatementKind.EPOCH, ["vault", "", HEAD, HEAD]),
    ("a device wrapped for twice", StatementKind.EPOCH, ["vault", [[PHONE_KEY, WRAP], [PHONE_KEY, WRAP]], HEAD, HEAD]),
    (
        "too many wraps",
        StatementKind.EPOCH,
        ["vault", [[n.to_bytes(32, "big"), WRAP] for n in range(WRAPS_MAX + 1)], HEAD, HEAD],
    ),
    ("an epoch without marks", StatementKind.EPOCH, ["vault", [[PHONE_KEY, WRAP]]]),
    ("a mark that is short", StatementKind.EPOCH, ["vault", [[PHONE_KEY, WRAP]], HEAD, HEAD[1:]]),
    ("a scope without a name", StatementKind.EPOCH, ["", [[PHONE_KEY, WRAP]], HEAD, HEAD]),
    ("an adoption without head", StatementKind.ADOPT, [LOG, 3]),
    ("a suite of a later version", StatementKind.GENESIS, [2, b"n" * 16, FIRST, None, None]),
    ("a suite that is a truth", StatementKind.GENESIS, [True, b"n" * 16, FIRST, None, None]),
    ("a genesis of another device than its signer", StatementKind.GENESIS, [1, b"n" * 16, MEMBER, None, None]),
    ("a paper member that is the first device", StatementKind.GENESIS, [1, b"n" * 16, FIRST, FIRST, None]),
    (
        "a paper member that agreed to another founder",
        StatementKind.GENESIS,
        [1, b"n" * 16, FIRST, list(new_member(PAPER, "paper", PHONE_KEY)), None],
    ),
]


@pytest.mark.parametrize(("kind", "body"), [row[1:] for row in INSIDES], ids=[row[0] for row in INSIDES])
def test_what_a_statement_says_has_one_form_and_bounds(kind: int, body: list[Any]) -> None:
    wire = said(kind, body)
    with pytest.raises(PeerError):
        read_statement(wire)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 2**40) | st.binary(max_size=40) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[int, Any]:
    """A body in which anything stands somewhere."""
    kind = draw(st.sampled_from(sorted(BODIES)))
    body = unpack(pack(BODIES[kind]))
    place = body
    while draw(st.booleans()) and (inner := [item for item in place if type(item) is list and item]):
        place = draw(st.sampled_from(inner))
    place[draw(st.integers(0, len(place) - 1))] = draw(VALUES)
    return kind, draw(st.just(body) | VALUES)


@given(spoiled())
def test_whatever_stands_in_a_body_it_is_read_or_refused(kind_and_body: tuple[int, Any]) -> None:
    kind, body = kind_and_body
    wire = said(kind, body)
    try:
        statement = read_statement(wire)
    except PeerError:
        return
    assert statement.body is not None
    assert rewritten(statement).body == statement.body


@given(st.binary(max_size=300))
def test_bytes_that_are_no_statement_are_refused(data: bytes) -> None:
    with pytest.raises(PeerError):
        read_statement(data)


def test_what_no_reader_accepts_is_not_written_and_the_error_says_why() -> None:
    with pytest.raises(InvalidInput, match="check names and numbers"):
        write_statement(StatementKind.NAME, VAULT, [PARENT], SEED, 1, Name(PHONE_KEY, ""))
    with pytest.raises(NotCanonical, match="at most"):
        read_statement(bytes(STATEMENT_BYTES_MAX + 1))


# -- members ------------------------------------------------------------------------------------------


def test_a_member_is_proven_by_its_own_device_key() -> None:
    member = new_member(PHONE, "phone")
    assert member == Member(PHONE_KEY, transport_key(PHONE), "phone", member.proof)
    assert member.proof == sign(PHONE, b"syncmem/v1/member\0", pack([transport_key(PHONE), None]))
    added = read_statement(said(StatementKind.ADD, [list(member._replace(name="what others call it")), []]))
    assert added.body is not None, "the name is for others to give"


def test_a_vault_cannot_be_founded_in_the_name_of_somebody_elses_paper() -> None:
    """The paper member agrees to the device that founds the vault, so its proof cannot be copied into another one."""
    thief = b"thief".ljust(32)
    body = [1, b"n" * 16, list(new_member(thief, "laptop")), ON_PAPER, b"r" * 32]
    content = content_of(StatementKind.GENESIS, body, signer=public_key(thief))
    with pytest.raises(Unreadable, match="never signed"):
        read_statement(signed(content, thief))
