"""The logs of a replica: appending own events, taking in those of others, reading them back.

Rules: events are only ever added; a place in a log is never used twice; what other devices wrote is kept
byte for byte; every head is signed by its log's device in the transaction that stores it; the chain of
every log can be recomputed from what is stored.
A run is a row of consecutive events that arrived together, so its transaction is their arrival.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from syncmem import labels
from syncmem.codec import pack, pack_flat, unpack_own
from syncmem.errors import BadSignature, BrokenChain, Damaged, Forked, NotFound
from syncmem.model import salt
from syncmem.model.event import (
    CHAIN_START,
    ERASED,
    LOG_PREFIX_BYTES,
    Event,
    LogKey,
    Ref,
    chained,
    head_words,
    header,
    header_hash,
)
from syncmem.model.frame import FRAME_PAYLOAD_MAX, Frame, fitting, payload_bytes
from syncmem.model.record import LOG_SHIFT
from syncmem.replica.connection import Database
from syncmem.seal.keys import verify

Sign = Callable[[bytes], bytes]  # head words -> the device's signature

SEQ_MASK: Final = 2**LOG_SHIFT - 1
_CACHED_RUNS: Final = 64
_RUNS_READ_AT_ONCE: Final = 64  # bounds the memory of reading a long log


@dataclass(slots=True)
class Log:
    """A log as this replica holds it: ``seq`` events, chain value ``head``."""

    no: int
    id: bytes
    key: LogKey | None  # None while only references to it have arrived
    seq: int
    head: bytes
    clock: int
    own: bool
    signature: bytes = b""  # of the head, by the log's device
    open_bytes: int = 0  # of payloads since the last place whose signature was kept
    name: str = ""  # the start of its id, in the public names of its events

    @property
    def device(self) -> bytes:
        """The key of the device that writes it (the log's own id while that is not known)."""
        return self.id if self.key is None else self.key.device

    def __post_init__(self) -> None:
        self.name = self.id[:LOG_PREFIX_BYTES].hex()

    def position(self, seq: int) -> int:
        return self.no << LOG_SHIFT | seq


class Logs:
    """Reads and writes the tables ``logs``, ``runs`` and ``blocks``."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._cache: dict[int, list[Event]] = {}
        self._covers: dict[tuple[int, int], salt.Cover] = {}
        self.replayed: int | None = None  # the transaction that a rebuild has come to
        self.forget()

    def forget(self) -> None:
        """Read everything anew: another process wrote, or a transaction was rolled back."""
        rows = self._db.execute(
            "SELECT no, id, device, incarnation, scope, seq, head, clock, own, signature, open_bytes FROM logs"
        )
        logs = [
            Log(
                no,
                id,
                None if device is None else LogKey(device, born, scope),
                seq,
                head or CHAIN_START,
                clock,
                own == 1,
                signature or b"",
                open_bytes,
            )
            for no, id, device, born, scope, seq, head, clock, own, signature, open_bytes in rows
        ]
        self.by_no = {log.no: log for log in logs}
        self.by_id = {log.id: log for log in logs}
        self.own = [log for log in logs if log.own]
        self._cache.clear()
        self._covers.clear()
        self._known_nodes: dict[tuple[int, int], salt.Cover] = {}  # of the block written last

    # -- logs ---------------------------------------------------------------------------------------

    def number(self, log_id: bytes) -> int:
        """The local number of a log; a log that is only referred to gets one too."""
        log = self.by_id.get(log_id)
        return log.no if log else self._add(log_id, None, own=False).no

    def introduce(self, key: LogKey, *, own: bool = False) -> Log:
        """Make a log known by its key."""
        log = self.by_id.get(key.id) or self._add(key.id, key, own=own)
        if log.key is None:
            log.key = key
            sql = "UPDATE logs SET device = ?, incarnation = ?, scope = ? WHERE no = ?"
            self._db.execute(sql, (key.device, key.incarnation, key.scope, log.no))
        return log

    def _add(self, log_id: bytes, key: LogKey | None, *, own: bool) -> Log:
        no = max(self.by_no, default=0) + 1
        parts = (key.device, key.incarnation, key.scope) if key else (None, None, None)
        sql = "INSERT INTO logs (no, id, device, incarnation, scope, own) VALUES (?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, (no, log_id, *parts, int(own)))
        log = Log(no, log_id, key, 0, CHAIN_START, 0, own)
        self.by_no[no] = self.by_id[log_id] = log
        if own:
            self.own.append(log)
        return log

    def position(self, ref: Ref) -> int:
        """Where an event is or will be."""
        return self.number(ref.log) << LOG_SHIFT | ref.seq

    def log_of(self, position: int) -> Log:
        return self.by_no[position >> LOG_SHIFT]

    def key_of(self, position: int) -> LogKey:
        key = self.log_of(position).key
        assert key is not None, "an event is stored only once its log is known"
        return key

    def holds(self, position: int) -> bool:
        """Whether an event has arrived (while replaying: had arrived by then)."""
        log = self.by_no.get(position >> LOG_SHIFT)
        if log is None or not 0 < position & SEQ_MASK <= log.seq:
            return False
        return self.replayed is None or self.arrival(position) <= self.replayed

    # -- writing ------------------------------------------------------------------------------------

    def append(self, log: Log, events: Sequence[Event], tx: int, randomness: Callable[[int], bytes], sign: Sign) -> int:
        """Add own events and sign the head; the position of the first. A block that begins draws its seed."""
        first = start = log.seq + 1
        for count in fitting(first, events):
            part = events[start - first : start - first + count]
            cover = self.cover(log.no, start)
            if cover is None:
                cover = salt.whole(randomness(salt.SEED_BYTES))
                self._open_block(log, start, cover)
            head = chain_after(log, start, part, self._nodes(log.no, start, cover))
            self._store(log, start, part, tx, head, sign(head_words(log.id, start + count - 1, head)))
            start += count
        return log.position(first)

    def receive(self, frame: Frame, tx: int) -> int:
        """Take in consecutive events of another device's log; how many were new.

        Raises:
            BadSignature: the log's device has not signed this.
            BrokenChain: they do not continue what is held, or do not give the stated head.
            Forked: other events are held in their places.
        """
        if not verify(frame.key.device, labels.HEAD, head_words(frame.key.id, frame.last, frame.head), frame.signature):
            raise BadSignature("a log's head is not signed by its device; ask another device for the events")
        log = self.introduce(frame.key)
        known = log.seq - frame.first + 1
        if known >= len(frame.events) and frame.head != self.head_at(log, frame.last):
            raise Forked(f"log {log.name} was written by two lives of one device; what each holds stays, write on")
        if known >= len(frame.events):
            return 0
        if known < 0:
            raise BrokenChain(
                f"events {log.seq + 1} to {frame.first - 1} of the log are missing; ask the sender for them first",
                log.seq,
            )
        stored = self.cover(log.no, frame.first)
        cover = stored or frame.cover
        events = frame.events[known:]
        if chain_after(log, frame.first + known, events, dict(cover)) != frame.head:
            if log.seq:
                raise Forked(f"log {log.name} was written by two lives of one device; what each holds stays, write on")
            raise BrokenChain("the events do not lead to the stated head of their log; ask another device for them")
        if stored is None:
            self._open_block(log, frame.first, cover)
        self._store(log, frame.first + known, events, tx, frame.head, frame.signature)
        return len(events)

    def _store(self, log: Log, first: int, events: Sequence[Event], tx: int, head: bytes, signature: bytes) -> None:
        body = pack_flat([[event.kind, event.hlc, event.payload] for event in events])
        self._db.execute("INSERT INTO runs VALUES (?, ?, ?, ?)", (log.position(first), len(events), tx, body))
        size = sum(map(payload_bytes, events))
        if log.seq and (first % salt.BLOCK_EVENTS == 0 or log.open_bytes + size > FRAME_PAYLOAD_MAX):
            self._db.execute("INSERT INTO signatures VALUES (?, ?, ?)", (log.no, log.seq, log.signature))
            log.open_bytes = 0
        log.open_bytes += size
        log.head, log.signature = head, signature
        log.seq = first + len(events) - 1
        log.clock = max([log.clock, *(event.hlc for event in events)])
        sql = "UPDATE logs SET seq = ?, head = ?, clock = ?, signature = ?, open_bytes = ? WHERE no = ?"
        self._db.execute(sql, (log.seq, log.head, log.clock, log.signature, log.open_bytes, log.no))

    def signed(self, log: Log, first: int) -> list[tuple[int, bytes]]:
        """The places from ``first`` on at which frames end, with the signatures of their heads."""
        sql = "SELECT seq, signature FROM signatures WHERE log = ? AND seq >= ? ORDER BY seq"
        return [*self._db.execute(sql, (log.no, first)).fetchall(), (log.seq, log.signature)]

    # -- reading ------------------------------------------------------------------------------------

    def event(self, position: int) -> Event:
        """The event at a position.

        Raises:
            NotFound: it has not arrived.
        """
        if not self.holds(position):
            raise NotFound("the event has not arrived here; sync, then try again")
        first, events = self._run_of(position)
        return events[position - first]

    def arrival(self, position: int) -> int:
        """The transaction in which an event arrived here."""
        sql = "SELECT tx FROM runs WHERE position <= ? ORDER BY position DESC LIMIT 1"
        return int(self._db.execute(sql, (position,)).fetchone()[0])

    def ref(self, position: int) -> Ref:
        """The hash pointer to a stored event."""
        log, seq = self.log_of(position), position & SEQ_MASK
        cover = self.cover(log.no, seq)
        event = self.event(position)
        if event.kind == ERASED:
            return Ref(log.id, seq, event.payload[:16])
        value = salt.salt(cover, seq % salt.BLOCK_EVENTS) if cover else None
        if value is None:
            raise Damaged("the salt of an event is missing from the file; restore a backup or sync into a new file")
        return Ref(log.id, seq, header_hash(header(log.id, seq, event, value))[:16])

    def runs(self, no: int, after: int = 0) -> Iterator[tuple[int, list[Event]]]:
        """Stored events of one log after place ``after``: (first place, events), in order; none beyond what is held."""
        if after >= self.by_no[no].seq:
            return
        low = no << LOG_SHIFT | after
        if after:
            first, events = self._run_of(low)
            rest = events[low - first + 1 :]
            if rest:
                yield after + 1, rest
            low = first + len(events) - 1
        sql = "SELECT position, body FROM runs WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
        while rows := self._db.execute(sql, (low, no << LOG_SHIFT | SEQ_MASK, _RUNS_READ_AT_ONCE)).fetchall():
            for position, body in rows:
                yield position & SEQ_MASK, read_events(body)
            low = rows[-1][0]

    def arrived_in(self, tx: int) -> list[tuple[int, list[Event]]]:
        """The runs of one transaction: (first position, events)."""
        rows = self._db.execute("SELECT position, body FROM runs WHERE tx = ? ORDER BY position", (tx,)).fetchall()
        return [(position, read_events(body)) for position, body in rows]

    def cover(self, no: int, seq: int) -> salt.Cover | None:
        """The salt cover of the block that holds place ``seq``."""
        key = (no, seq // salt.BLOCK_EVENTS)
        if key not in self._covers:
            row = self._db.execute("SELECT cover FROM blocks WHERE log = ? AND block = ?", key).fetchone()
            if row is None:
                return None
            if len(self._covers) >= _CACHED_RUNS:
                self._covers.clear()
            self._covers[key] = read_cover(unpack_own(row[0]))
        return self._covers[key]

    def _nodes(self, no: int, seq: int, cover: salt.Cover) -> salt.Cover:
        """The nodes of a block's salt tree that were computed so far."""
        key = (no, seq // salt.BLOCK_EVENTS)
        if key not in self._known_nodes:
            self._known_nodes = {key: dict(cover)}
        return self._known_nodes[key]

    def head_at(self, log: Log, seq: int) -> bytes:
        """The chain value after place ``seq``: stored for the ends of blocks and of the log, else computed."""
        if seq == log.seq:
            return log.head
        sql = "SELECT opening FROM blocks WHERE log = ? AND block = ?"
        ends_block = (seq + 1) % salt.BLOCK_EVENTS == 0
        block = (seq + ends_block) // salt.BLOCK_EVENTS
        opening = bytes(self._db.execute(sql, (log.no, block)).fetchone()[0])
        if ends_block:
            return opening
        first = max(block * salt.BLOCK_EVENTS, 1)
        walker = Log(log.no, log.id, log.key, 0, opening, 0, log.own)
        events = [self.event(log.position(place)) for place in range(first, seq + 1)]
        return chain_after(walker, first, events, dict(self.cover(log.no, first) or {}))

    def _open_block(self, log: Log, seq: int, cover: salt.Cover) -> None:
        """Store what a block begins with: its salt tree, and the chain value before it."""
        row = (log.no, seq // salt.BLOCK_EVENTS, cover_bytes(cover), log.head)
        self._db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)

    def _run_of(self, position: int) -> tuple[int, list[Event]]:
        sql = "SELECT position, count FROM runs WHERE position <= ? ORDER BY position DESC LIMIT 1"
        row = self._db.execute(sql, (position,)).fetchone()
        if row is None or position >= row[0] + row[1]:
            raise Damaged("an event is missing from the file; restore a backup or sync into a new file")
        first = int(row[0])
        if first not in self._cache:
            if len(self._cache) >= _CACHED_RUNS:
                self._cache.pop(next(iter(self._cache)))
            body = self._db.execute("SELECT body FROM runs WHERE position = ?", (first,)).fetchone()[0]
            self._cache[first] = read_events(body)
        return first, self._cache[first]


def cover_bytes(cover: salt.Cover) -> bytes:
    return pack([[node, value] for node, value in sorted(cover.items())])


def read_cover(nodes: Any) -> salt.Cover:
    """A salt tree from its ``[node, value]`` pairs."""
    return {int(node): bytes(value) for node, value in nodes}


def read_events(body: bytes) -> list[Event]:
    return [Event(*fields) for fields in unpack_own(body)]


def blocks(first: int, events: Sequence[Any]) -> Iterator[tuple[int, Sequence[Any]]]:
    """Cut consecutive events at the borders of blocks of 256: (first place, events)."""
    done = 0
    while done < len(events):
        room = salt.BLOCK_EVENTS - (first + done) % salt.BLOCK_EVENTS
        yield first + done, events[done : done + room]
        done += room


def chain_after(log: Log, first: int, events: Sequence[Event], cover: salt.Cover) -> bytes:
    """The chain value of a log after ``events``, which start at place ``first`` within one block.

    Nodes of the salt tree that are computed on the way are noted in ``cover``.
    """
    head = log.head
    salts = salt.salts_noting(cover, first % salt.BLOCK_EVENTS, len(events))
    for seq, (event, value) in enumerate(zip(events, salts, strict=True), first):
        if event.kind == ERASED:
            head = chained(head, event.payload)
            continue
        if value is None:
            raise BrokenChain("the salt of an event is missing; ask the sender for the events again")
        head = chained(head, header_hash(header(log.id, seq, event, value)))
    return head
