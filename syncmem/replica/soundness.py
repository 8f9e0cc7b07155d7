"""Soundness: whether a replica is as it was written, and whether what is derived follows from what is held.

Rules: nothing is changed; each sentence ends with the next step; what a damaged row misleads this code into (see
:data:`ODD`) is told as damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Final

from syncmem import labels
from syncmem.errors import Damaged
from syncmem.model.event import CHAIN_START, head_words
from syncmem.model.frame import Stored
from syncmem.replica.chain import Log, blocks, chain_after
from syncmem.replica.connection import FAILURES, translated
from syncmem.replica.mending import is_statement
from syncmem.replica.replica import Replica
from syncmem.replica.transactions import checksum
from syncmem.seal.keys import verify

Look = Callable[[Replica], Iterator[str]]
REPAIR: Final = "run 'syncmem repair'"
OFF_CHAIN: Final = f"log {{}} does not match its chain; {REPAIR}"
WRONG_TIME: Final = f"the time of a transaction is damaged; {REPAIR}"
ODD: Final = (AssertionError, LookupError, TypeError, ValueError, Damaged, *FAILURES)  # what damaged rows lead to
_RECTANGLES: Final = (
    "SELECT s.scope, s.entity, s.predicate, lane, valid_from, valid_to, known_from, known_to, value, trust, contested "
    "FROM beliefs LEFT JOIN slots s ON s.id = slot ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9"
)
_FINDINGS_MAX: Final = 3  # of the file's own structure: more say nothing more


def told(error: Exception) -> str:
    """What was met, as a sentence; what is no damage is raised."""
    if isinstance(error, FAILURES):
        error = translated(error)
        if not isinstance(error, Damaged):
            raise error
    return str(error) if isinstance(error, Damaged) else f"a row is damaged ({error!r}); {REPAIR}"


def damage(replica: Replica, *, folded: bool = True) -> list[str]:
    """All that is not as it was written; ``folded``: whether what is believed is known to follow from the events."""
    found: list[str] = []
    looks: list[Look] = [structure, transactions, roster, chunks]
    looks += [partial(chain, log=log) for log in replica.logs.by_no.values()]
    for look in looks:
        try:
            found += look(replica)
        except ODD as error:
            found.append(told(error))
    if not folded:
        found.append(f"what is believed does not follow from the events, so that its rows are damaged; {REPAIR}")
    return list(dict.fromkeys(found))


def structure(replica: Replica) -> Iterator[str]:
    """The pages of the file, and whether every index says what its table says."""
    for (row,) in replica.db.execute(f"PRAGMA integrity_check({_FINDINGS_MAX})").fetchall():
        if row != "ok":
            yield f"the file is damaged: {row}; {REPAIR}"


def transactions(replica: Replica) -> Iterator[str]:
    """Whether the times of transactions are those that were written."""
    rows = replica.db.execute("SELECT n, wall, time, crc FROM transactions").fetchall()
    corrected = replica.db.execute("SELECT EXISTS (SELECT 1 FROM clock_notes)").fetchone()[0]
    if any(checksum(n, wall) != crc or not (wall == time or corrected) for n, wall, time, crc in rows):
        yield WRONG_TIME


def chain(replica: Replica, log: Log) -> Iterator[str]:
    """Recompute the chain of a log from what is stored, and look at the signature of its head."""
    head = CHAIN_START
    for first, events in replica.logs.runs(log.no):
        for start, part in blocks(first, events):
            head = chained_on(replica, log, head, start, part)
    signed = not log.seq or verify(log.device, labels.HEAD, head_words(log.id, log.seq, log.head), log.signature)
    if head != log.head or not signed or (log.key is not None and log.key.id != log.id):
        yield OFF_CHAIN.format(log.name)


def chained_on(replica: Replica, log: Log, head: bytes, first: int, events: Sequence[Stored]) -> bytes:
    """The chain value behind some events of one block, which begin where it was ``head``; b"" without their salts."""
    cover = replica.logs.cover(log.no, first)
    walker = Log(log.no, log.id, log.key, 0, head, 0, log.own)
    return b"" if cover is None else chain_after(walker, first, events, dict(cover))


def roster(replica: Replica) -> Iterator[str]:
    """Whether every statement of the vault is what somebody signed."""
    for row in replica.db.execute("SELECT id, wire FROM statements").fetchall():
        if not is_statement(*row):
            yield f"a statement about the vault's devices is damaged; {REPAIR}"


def chunks(replica: Replica) -> Iterator[str]:
    """Chunks of content that are no longer what was observed."""
    seen: set[bytes] = set()
    for content in replica.fold.episodes.contents():
        held = content.held
        rotten = [] if held.id in seen else replica.fold.episodes.rotten(held)
        seen.add(held.id)
        if rotten:
            yield (
                f"{len(rotten)} parts of episode {held.id.hex()} are damaged in the file; "
                f"run 'syncmem episode {held.id.hex()} --raw', which fetches them again"
            )


class _OnlyTried(Exception):
    """Ends the transaction in which everything was folded again."""


def follows(replica: Replica) -> bool:
    """Whether what is believed, and was, follows from the events: all is folded again, and that is undone.

    Raises:
        ReadOnlyFile, Busy, DiskFull: that cannot be tried now. Damaged, or one of :data:`ODD`: it does not.
    """
    held, again = _derived(replica), b""
    with suppress(_OnlyTried), replica.transaction():
        replica.rebuild()
        again = _derived(replica)
        raise _OnlyTried
    return held == again


def _derived(replica: Replica) -> bytes:
    """All that is derived and read, in an order and by names that another folding has too."""
    found = sha256()
    for sql in (
        _RECTANGLES,
        "SELECT predicate, scope, settings FROM predicates ORDER BY 1, 2",
        "SELECT scope, entity, known_from, known_to, stands FROM aliases ORDER BY 1, 2, 3",
    ):
        for row in replica.db.execute(sql):
            found.update(repr(row).encode(errors="surrogatepass"))
    return found.digest()
