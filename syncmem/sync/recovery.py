"""The recovery phrase's meeting place: a mailbox where the devices leave the roster for the paper member.

Rules: the place follows from the phrase, so who has it needs nothing but an address; what lies there is
sealed to the paper member alone; every device adds, none takes away, and the reader takes the union.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from syncmem import labels
from syncmem.codec import FRAME_BYTES_MAX, pack, unpack
from syncmem.errors import MailboxRefused, NotCanonical, NotFound, PeerError, Unreadable
from syncmem.seal.envelope import EpochKey, seal, unseal
from syncmem.seal.keys import derive, unwrap, wrap
from syncmem.seal.roster import Roster
from syncmem.seal.statements import Genesis, Statement, read_statement
from syncmem.wire.mailbox import Exchange, Mailbox, Outcome, Put

ADDRESS_LENGTH_MAX: Final = 4096


def recovery_place(roster: Roster) -> EpochKey | None:
    """The meeting place that a vault's genesis names; None where the vault has no paper member."""
    root = roster.statements_in_order()[0].body
    if not isinstance(root, Genesis) or root.recovery is None:
        return None
    return _place(root.recovery)


def _place(recovery: bytes) -> EpochKey:
    return EpochKey(bytes(16), "", bytes(16), recovery, bytes(32))


def sealed_roster(
    place: EpochKey,
    transport: bytes,
    addresses: Sequence[str],
    wires: Sequence[bytes],
    randomness: Callable[[int], bytes],
) -> bytes:
    """The roster for the paper member, as a blob."""
    plain = pack([list(addresses), list(wires)])
    return seal(place, wrap(transport, labels.RECOVERY + place.mailbox, plain), randomness)


def put_next(mailbox: Mailbox, place: EpochKey, writer: bytes, blob: bytes) -> None:
    """Put a blob behind the last one of a writer."""
    stream = place.stream(writer)
    last = mailbox.exchange(Exchange(place.write_key, [], {}, 0), place.write_seed).ends.get(stream, 0)
    put = Put(stream, last + 1, blob)
    result = mailbox.exchange(Exchange(place.write_key, [put], {}, 0), place.write_seed).results[0]
    if result.outcome not in (Outcome.STORED, Outcome.KNOWN):
        raise MailboxRefused(f"the roster could not be left for the recovery phrase: {result.reason}")


def read_for_paper(mailbox: Mailbox, paper: bytes) -> tuple[list[str], list[Statement]]:
    """Every address and statement that was left for the paper member.

    Raises:
        NotFound: nothing was left at this address for this phrase.
    """
    place = _place(derive(paper, labels.RECOVERY, 32))
    addresses: dict[str, None] = {}
    statements: dict[bytes, Statement] = {}
    for data in _blobs(mailbox, place):
        try:
            where, wires = _opened(unwrap(paper, labels.RECOVERY + place.mailbox, unseal(place, data)))
        except PeerError:
            continue  # somebody else's rubbish; what the devices left is signed
        addresses |= dict.fromkeys(where)
        statements |= {statement.id: statement for statement in map(read_statement, wires)}
    if not statements:
        raise NotFound(f"nothing was left for this phrase at {mailbox.address}; check the address, or use another one")
    return list(addresses), list(statements.values())


def _blobs(mailbox: Mailbox, place: EpochKey) -> Iterator[bytes]:
    answer = mailbox.exchange(Exchange(place.write_key, [], {}, FRAME_BYTES_MAX), place.write_seed)
    for entry in answer.listed:
        if entry.blob is not None:
            yield entry.blob
    rest = [entry.name for entry in answer.listed if entry.blob is None]
    for _, blob in mailbox.get(place.write_key, place.write_seed, rest):
        if blob is not None:
            yield blob


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
