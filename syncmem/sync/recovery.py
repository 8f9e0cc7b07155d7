"""The recovery phrase's meeting place: a mailbox where the devices leave the roster for the paper member.

Rules: the place follows from the phrase, so who has it needs nothing but an address; what lies there is
sealed to the paper member alone; every device adds, none takes away, and the reader takes the union of what
is of the phrase's own vault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from syncmem import labels
from syncmem.codec import FRAME_BYTES_MAX, pack, unpack
from syncmem.errors import NotCanonical, NotFound, PeerError, Unreadable
from syncmem.seal.bodies import Genesis
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import derive, public_key, unwrap, wrap
from syncmem.seal.roster import Roster
from syncmem.seal.statements import Statement, read_statement
from syncmem.sync.place import Place, place_key
from syncmem.wire.mailbox import Mailbox

ADDRESS_LENGTH_MAX: Final = 4096


def recovery_key(roster: Roster) -> EpochKey | None:
    """The key of the meeting place that a vault's genesis names; None where the vault has no paper member."""
    root = roster.statements_in_order()[0].body
    return place_key(root.recovery) if isinstance(root, Genesis) and root.recovery is not None else None


def leave_for_paper(
    place: Place, writer: bytes, transport: bytes, addresses: Sequence[str], wires: Sequence[bytes]
) -> None:
    """Leave the roster for the paper member, behind the last one that a writer has left."""
    plain = wrap(transport, labels.RECOVERY + place.key.mailbox, pack([list(addresses), list(wires)]))
    place.put(writer, place.end(writer) + 1, plain)


def read_for_paper(
    mailbox: Mailbox, paper: bytes, randomness: Callable[[int], bytes], held: Iterable[Statement]
) -> tuple[list[str], list[Statement]]:
    """Every address and statement that was left for the paper member, with those that are ``held`` here.

    So a first device that lost its key before any sync comes back with its own file.

    Raises:
        NotFound: nothing was left at this address for this phrase.
    """
    place = Place(place_key(derive(paper, labels.RECOVERY, 32)), mailbox, randomness)
    addresses: dict[str, None] = {}
    statements = {statement.id: statement for statement in held}
    for entry in place.listed():
        try:
            where, wires = _opened(unwrap(paper, labels.RECOVERY + place.key.mailbox, place.read(entry)))
            said = [read_statement(wire) for wire in wires]
        except PeerError:
            continue  # somebody else's rubbish; what the devices left is signed
        addresses |= dict.fromkeys(where)
        statements |= {statement.id: statement for statement in said}
    ours = _of_paper(public_key(paper), statements.values())
    if not ours:
        raise NotFound(f"nothing was left for this phrase at {mailbox.address}; check the address, or use another one")
    return list(addresses), ours


def _of_paper(paper: bytes, statements: Iterable[Statement]) -> list[Statement]:
    """Those of the vault whose genesis names a paper member: it agreed to that, so nobody else can found another."""
    vaults: dict[bytes, list[Statement]] = {}
    for statement in statements:
        vaults.setdefault(statement.roster, []).append(statement)
    ours = [said for said in vaults.values() if any(_names(statement, paper) for statement in said)]
    return max(ours, key=len, default=[])


def _names(statement: Statement, paper: bytes) -> bool:
    body = statement.body
    return isinstance(body, Genesis) and body.paper is not None and body.paper.device == paper


def _opened(plain: bytes) -> tuple[list[str], list[bytes]]:
    parts = unpack(plain, bytes_max=FRAME_BYTES_MAX)
    if type(parts) is not list or len(parts) < 2 or type(parts[0]) is not list or type(parts[1]) is not list:
        raise NotCanonical("what was left for the recovery phrase is malformed; use another address")
    where, wires = parts[:2]
    if not all(type(one) is str and len(one) <= ADDRESS_LENGTH_MAX for one in where):
        raise NotCanonical("what was left for the recovery phrase is malformed; use another address")
    if not all(type(wire) is bytes for wire in wires):
        raise Unreadable("what was left for the recovery phrase is malformed; use another address")
    return where, wires
