"""What of a log is vouched for: the part without a gap from its beginning, up to the last place that somebody signed.

Rule: of this device's own logs its key vouches, as far as every row is as it was written; of others their signatures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from syncmem import labels
from syncmem.model import salt
from syncmem.model.event import CHAIN_START, Erased, Event, chained, head_words
from syncmem.model.frame import Stored, payload_bytes
from syncmem.replica.chain import Log, erased_form
from syncmem.replica.heads import Sign
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.salvage import Run
from syncmem.seal.keys import verify

Covers = Mapping[int, salt.Cover]  # by block


class Placed(NamedTuple):
    """An event of a log that can be read, with the transaction in which it arrived."""

    seq: int
    tx: int
    event: Stored
    hashed: bytes | None  # its header hash; None: its salt is lost


class Kept(NamedTuple):
    """The part of a log that is kept (``log`` says how far it goes)."""

    log: Log
    runs: list[Run]
    openings: dict[int, bytes]  # by block the chain value before it
    signatures: dict[int, bytes]  # of places before its end


def placed(log: Log, runs: Sequence[Run], covers: Covers) -> Iterator[Placed]:
    """The events of a log that can be read, in order."""
    for position, tx, events in runs:
        for seq, event in enumerate(events, position & SEQ_MASK):
            yield Placed(seq, tx, event, _hash(log, seq, event, covers))


def kept_part(log: Log, runs: Sequence[Run], covers: Covers, signed: Mapping[int, bytes], sign: Sign | None) -> Kept:
    """Go along an empty log until something is missing, then back to the last place that is vouched for."""
    head, clock, reached = CHAIN_START, 0, 0
    openings, vouched = dict[int, bytes](), dict[int, bytes]()
    for seq, _, event, hashed in placed(log, runs, covers):
        if seq != reached + 1 or hashed is None:
            break
        if seq % salt.BLOCK_EVENTS == 0 or seq == 1:
            openings[seq // salt.BLOCK_EVENTS] = head
        head, reached = chained(head, hashed), seq
        clock = max(clock, event.hlc if isinstance(event, Event) else 0)
        signature = signed.get(seq, b"")
        if signature and verify(log.device, labels.HEAD, head_words(log.id, seq, head), signature):
            log.seq, log.head, log.clock, vouched[seq] = seq, head, clock, signature
    if sign is not None and reached > log.seq:
        log.seq, log.head, log.clock = reached, head, clock
        vouched[reached] = sign(head_words(log.id, reached, head))
    log.signature = vouched.pop(log.seq, b"")
    whole = [(position, tx, events[: max(log.seq - (position & SEQ_MASK) + 1, 0)]) for position, tx, events in runs]
    kept = [run for run in whole if run[2]]
    log.open_bytes = _open_bytes(kept, max(vouched, default=0))
    blocks = {
        block: opening for block, opening in openings.items() if log.seq and block <= log.seq // salt.BLOCK_EVENTS
    }
    return Kept(log, kept, blocks, vouched)


def _open_bytes(runs: Sequence[Run], signed: int) -> int:
    """The bytes of payloads behind the last place before the end of which a signature is kept."""
    each = ((seq, event) for position, _, events in runs for seq, event in enumerate(events, position & SEQ_MASK))
    return sum(payload_bytes(event) for seq, event in each if seq > signed)


def _hash(log: Log, seq: int, event: Stored, covers: Covers) -> bytes | None:
    if isinstance(event, Erased):
        return event.header_hash
    value = salt.salt(covers.get(seq // salt.BLOCK_EVENTS, {}), seq % salt.BLOCK_EVENTS)
    return None if value is None else erased_form(log, seq, event, value).header_hash
