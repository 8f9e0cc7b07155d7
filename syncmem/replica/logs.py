"""The logs of a replica: appending own events, taking in those of others, reading them back.

Rules: events are only ever added; a place in a log is never used twice; what other devices wrote is kept
byte for byte; every head is signed by its log's device in the transaction that stores it; the chain of
every log can be recomputed from what is stored.
A run is a row of consecutive events that arrived together, so its transaction is their arrival.
Of an erased event its header hash stays, and its salt is forgotten: a place whose salt is gone is a
tombstone.  A frame that brings the payload again may fill it, if nothing forbids that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from syncmem import labels
from syncmem.errors import BadSignature, BrokenChain, Damaged, Forked, NotFound
from syncmem.model import salt
from syncmem.model.event import CHAIN_START, ID_BYTES, Erased, Event, LogKey, Ref, head_words
from syncmem.model.frame import FRAME_PAYLOAD_MAX, Frame, Stored, fitting, payload_bytes
from syncmem.model.record import LOG_SHIFT
from syncmem.replica.chain import Log, chain_after, cover_bytes, erased_form
from syncmem.replica.connection import Database
from syncmem.replica.heads import Heads, Sign
from syncmem.replica.runs import COLUMNS, cover_of, cover_row, events_of, rewrite, row_of
from syncmem.seal.keys import verify

SEQ_MASK: Final = 2**LOG_SHIFT - 1
_OWN_FROM: Final = 2**20  # own logs have greater numbers: their runs are added where the table ends, on full pages
_CACHED_RUNS: Final = 64
_RUNS_READ_AT_ONCE: Final = 64  # bounds the memory of reading a long log
_WHOLE_COVER_BYTES: Final = len(cover_bytes(salt.whole(bytes(salt.SEED_BYTES))))
_FORK: Final = "log {} was written by two lives of one device; what each holds stays, write on"
Placed = tuple[int, Stored]  # position, event
Admit = Callable[[int, Stored], bool]


class Logs:
    """Reads and writes the tables ``logs``, ``runs``, ``blocks`` and ``erased``."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._cache: dict[int, list[Stored]] = {}
        self._covers: dict[tuple[int, int], salt.Cover] = {}
        self.heads = Heads(database)
        self.replayed: int | None = None  # the transaction that a rebuild has come to
        self.moved: dict[Ref, Ref] = {}  # where events of void branches stand now (see :mod:`syncmem.replica.moves`)
        self.forget()

    def forget(self) -> None:
        """Read everything anew: another process wrote, or a transaction was rolled back."""
        columns = "no, id, device, incarnation, scope, seq, head, clock, own, signature, open_bytes"
        rows = self._db.execute(f"SELECT {columns} FROM logs")
        logs = []
        for no, id, device, born, scope, seq, head, clock, own, signature, open_bytes in rows:
            key = None if device is None else LogKey(device, born, scope)
            log = Log(no, id, key, seq, head or CHAIN_START, clock, own == 1, signature or b"", open_bytes)
            log.written_here = own > 0
            logs.append(log)
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
            log.be(key)
            sql = "UPDATE logs SET device = ?, incarnation = ?, scope = ? WHERE no = ?"
            self._db.execute(sql, (key.device, key.incarnation, key.scope, log.no))
        return log

    def _add(self, log_id: bytes, key: LogKey | None, *, own: bool) -> Log:
        low, high = (_OWN_FROM, 2 * _OWN_FROM) if own else (0, _OWN_FROM)
        no = max([number for number in self.by_no if low < number < high], default=low) + 1
        parts = (key.device, key.incarnation, key.scope) if key else (None, None, None)
        sql = "INSERT INTO logs (no, id, device, incarnation, scope, own) VALUES (?, ?, ?, ?, ?, ?)"
        self._db.execute(sql, (no, log_id, *parts, int(own)))
        log = Log(no, log_id, key, 0, CHAIN_START, 0, own, written_here=own)
        self.by_no[no] = self.by_id[log_id] = log
        if own:
            self.own.append(log)
        return log

    def held(self, *, scope: str | None = None, device: bytes | None = None) -> list[Log]:
        """The logs of which events are held, by id; only those of a scope or of a device, if one is named."""
        logs = (log for log in self.by_no.values() if log.seq and (device is None or log.device == device))
        return sorted((o for o in logs if o.key and (scope is None or o.key.scope == scope)), key=lambda log: log.id)

    def position(self, ref: Ref) -> int:
        """Where an event is or will be."""
        log, seq, _ = self.meant(ref)
        return self.number(log) << LOG_SHIFT | seq

    def meant(self, ref: Ref) -> Ref:
        """The same event where it stands now."""
        return self.moved.get(ref, ref)

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

    def append(
        self, log: Log, events: Sequence[Stored], tx: int, randomness: Callable[[int], bytes], sign: Sign
    ) -> int:
        """Add own events; the position of the first.

        A block that begins draws its seed; who writes signs the heads at the end of the transaction.
        """
        first = start = log.seq + 1
        for count in fitting(first, events):
            part = events[start - first : start - first + count]
            cover = self.cover(log.no, start)
            if cover is None:
                cover = salt.whole(randomness(salt.SEED_BYTES))
                self._open_block(log, start, cover)
            head = chain_after(log, start, part, self._nodes(log.no, start, cover))
            self._store(log, start, part, tx, head, self.heads.moved(log, sign))
            for place in [start + offset for offset, event in enumerate(part) if isinstance(event, Erased)]:
                self._keep_cover(log.no, start, cover := salt.forget(cover, place % salt.BLOCK_EVENTS))
            start += count
        return log.position(first)

    def receive(self, frame: Frame, tx: int, admit: Admit = lambda position, event: True) -> list[Placed]:
        """Take in consecutive events of another device's log; those that were new.

        ``admit`` is asked about each in order, once the chain is known to hold; of what it refuses only the
        header hash is stored.

        Raises:
            BadSignature: the log's device has not signed this.
            BrokenChain: they do not continue what is held, or do not give the stated head.
            Forked: other events are held in their places.
        """
        if not verify(frame.key.device, labels.HEAD, head_words(frame.key.id, frame.last, frame.head), frame.signature):
            raise BadSignature("a log's head is not signed by its device; ask another device for the events")
        log, first, events, cover = self.introduce(frame.key), frame.first, frame.events, frame.cover
        known = log.seq - first + 1
        if known >= len(events) and frame.head != self.head_at(log, frame.last):
            raise Forked(_FORK.format(log.name))
        if known < 0:
            missing = f"events {log.seq + 1} to {first - 1} of the log are missing; ask the sender for them first"
            raise BrokenChain(missing, log.seq)
        if known >= len(events):
            return self._restore(log, first, events, cover, tx, admit)
        added = self._add_new(log, frame, known, tx, admit)
        return [*self._restore(log, first, events[:known], cover, tx, admit), *added]

    def _add_new(self, log: Log, frame: Frame, known: int, tx: int, admit: Admit) -> list[Placed]:
        """Store the events after the first ``known`` ones, which are held."""
        first, events, theirs, head = frame.first + known, frame.events[known:], frame.cover, frame.head
        held = self.cover(log.no, first)
        nodes, borrowed = self._proving(log, first, events, held, theirs, head)
        if held is None:
            self._open_block(log, first, theirs)
        cover, kept = theirs if held is None else held, list[Stored]()
        salts = salt.salts_noting(nodes, first % salt.BLOCK_EVENTS, len(events))
        for seq, (event, value) in enumerate(zip(events, salts, strict=True), first):
            leaf = seq % salt.BLOCK_EVENTS
            if isinstance(event, Event) and value is not None and admit(log.position(seq), event):
                kept.append(event)
                cover = salt.put(cover, leaf, value) if borrowed else cover
                continue
            kept.append(event if value is None or isinstance(event, Erased) else erased_form(log, seq, event, value))
            cover = salt.forget(cover, leaf)
        self._keep_cover(log.no, first, cover)
        self._store(log, first, kept, tx, head, frame.signature)
        return [(log.position(seq), event) for seq, event in enumerate(kept, first)]

    def _proving(
        self, log: Log, first: int, events: Sequence[Stored], held: salt.Cover | None, theirs: salt.Cover, head: bytes
    ) -> tuple[salt.Cover, bool]:
        """The nodes of the salt tree with which events lead to their head: ours; else, and told, theirs beside them."""
        covers = [theirs] if held is None else [held] if held == theirs else [held, {**held, **theirs}]
        for number, nodes in enumerate(map(dict, covers)):
            try:
                if chain_after(log, first, events, nodes) == head:
                    return nodes, number > 0
            except BrokenChain:
                if len(covers) == 1:
                    raise
        if log.seq:
            raise Forked(_FORK.format(log.name))
        raise BrokenChain("the events do not lead to the stated head of their log; ask another device for them")

    def restorable(
        self, log: Log, first: int, events: Sequence[Stored], cover: salt.Cover
    ) -> Iterator[tuple[int, Event, bytes]]:
        """Those of some events of which only the header hash is held: position, event, salt."""
        held = self.cover(log.no, first)
        last = min(first + len(events) - 1, log.seq)
        for leaf in salt.forgotten(held, first % salt.BLOCK_EVENTS, last - first + 1) if held and last >= first else ():
            seq = first + leaf - first % salt.BLOCK_EVENTS
            event, value = events[seq - first], salt.salt(cover, leaf)
            if isinstance(event, Event) and value is not None:
                position = log.position(seq)
                if erased_form(log, seq, event, value) == self.event(position):
                    yield position, event, value

    def _restore(
        self, log: Log, first: int, events: Sequence[Stored], cover: salt.Cover, tx: int, admit: Admit
    ) -> list[Placed]:
        """Fill the places of which only the header hash is held; they arrive now."""
        restored: list[Placed] = []
        for position, event, value in list(self.restorable(log, first, events, cover)):
            if admit(position, event):
                start, run = self.run_of(position)
                arrived = [self.arrival(position)] * len(run)
                arrived[position - start] = tx
                rewrite(self._db, start, [*run[: position - start], event, *run[position - start + 1 :]], arrived)
                self._cache.pop(start, None)
                held = self.cover(log.no, first) or {}
                self._keep_cover(log.no, first, salt.put(held, position % salt.BLOCK_EVENTS, value))
                self._db.execute("DELETE FROM erased WHERE position = ?", (position,))
                restored.append((position, event))
        return restored

    def erase(self, positions: Sequence[int]) -> None:
        """Forget payload and salt of stored events; their header hashes stay, and when they arrived."""
        for position in positions:
            start, run = self.run_of(position)
            seq = position & SEQ_MASK
            erased: list[Stored] = [*run]
            erased[position - start] = Erased(self.header_hash(position))
            rewrite(self._db, start, erased, [self.arrival(start)] * len(erased))
            self._cache[start] = erased
            cover = self.cover(position >> LOG_SHIFT, seq) or {}
            self._keep_cover(position >> LOG_SHIFT, seq, salt.forget(cover, seq % salt.BLOCK_EVENTS))
            self._note_erased([position])

    def _note_erased(self, positions: Iterable[int]) -> None:  # what holds their payloads elsewhere is to be cleaned
        if rows := [(each,) for each in positions]:
            self._db.executemany("INSERT OR IGNORE INTO erased (position) VALUES (?)", rows)

    def _store(self, log: Log, first: int, events: Sequence[Stored], tx: int, head: bytes, signature: bytes) -> None:
        position = log.position(first)
        self._db.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?)", row_of(position, tx, events))
        self._note_erased(place for place, event in enumerate(events, position) if isinstance(event, Erased))
        size = sum(map(payload_bytes, events))
        if log.seq and (first % salt.BLOCK_EVENTS == 0 or log.open_bytes + size > FRAME_PAYLOAD_MAX):
            self.heads.keep(log)
            log.open_bytes = 0
        log.open_bytes += size
        log.head, log.signature = head, signature
        log.seq = first + len(events) - 1
        log.clock = max([log.clock, *(event.hlc for event in events if isinstance(event, Event))])
        sql = "UPDATE logs SET seq = ?, head = ?, clock = ?, signature = ?, open_bytes = ? WHERE no = ?"
        self._db.execute(sql, (log.seq, log.head, log.clock, log.signature, log.open_bytes, log.no))

    def has(self, log: Log, frame: Frame) -> bool:
        """Whether a log as it is held goes through a frame."""
        return log.seq >= frame.last and self.head_at(log, frame.last) == frame.head

    # -- reading ------------------------------------------------------------------------------------

    def event(self, position: int) -> Stored:
        """The event at a position, or NotFound."""
        if not self.holds(position):
            raise NotFound("the event has not arrived here; sync, then try again")
        first, events = self.run_of(position)
        return events[position - first]

    def arrival(self, position: int) -> int:
        """The transaction in which an event arrived here."""
        sql = "SELECT tx FROM runs WHERE position <= ? ORDER BY position DESC LIMIT 1"
        return int(self._db.execute(sql, (position,)).fetchone()[0])

    def ref(self, position: int) -> Ref:
        """The hash pointer to a stored event, also to an erased one."""
        log = self.log_of(position)
        return Ref(log.id, position & SEQ_MASK, self.header_hash(position)[:ID_BYTES])

    def header_hash(self, position: int) -> bytes:
        """What an event has in its log's chain."""
        log, seq, event = self.log_of(position), position & SEQ_MASK, self.event(position)
        if isinstance(event, Erased):
            return event.header_hash
        cover = self.cover(log.no, seq)
        value = salt.salt(cover, seq % salt.BLOCK_EVENTS) if cover else None
        if value is None:
            raise Damaged("the salt of an event is missing from the file; run 'syncmem repair'")
        return erased_form(log, seq, event, value).header_hash

    def any_erased(self, no: int, last: int) -> bool:
        """Whether anything of a log up to a place is held as its header hash only."""
        sql = "SELECT block, cover, crc FROM blocks WHERE log = ? AND block <= ? AND length(cover) <> ?"
        blocks_with_gaps = self._db.execute(sql, (no, last // salt.BLOCK_EVENTS, _WHOLE_COVER_BYTES)).fetchall()
        for block, cover, crc in blocks_with_gaps:
            first = max(block * salt.BLOCK_EVENTS, 1)
            until = min((block + 1) * salt.BLOCK_EVENTS - 1, last, self.by_no[no].seq)
            nodes = cover_of(no, block, cover, crc)
            if until >= first and salt.forgotten(nodes, first % salt.BLOCK_EVENTS, until - first + 1):
                return True
        return False

    def runs(self, no: int, after: int = 0) -> Iterator[tuple[int, list[Stored]]]:
        """Stored events of one log after place ``after``: (first place, events), in order; none beyond what is held."""
        if after >= self.by_no[no].seq:
            return
        low = no << LOG_SHIFT | after
        if after:
            first, events = self.run_of(low)
            rest = events[low - first + 1 :]
            if rest:
                yield after + 1, rest
            low = first + len(events) - 1
        sql = f"SELECT {COLUMNS} FROM runs WHERE position > ? AND position <= ? ORDER BY position LIMIT ?"
        while rows := self._db.execute(sql, (low, no << LOG_SHIFT | SEQ_MASK, _RUNS_READ_AT_ONCE)).fetchall():
            for row in rows:
                yield row[0] & SEQ_MASK, events_of(*row)
            low = rows[-1][0]

    def arrived_in(self, tx: int) -> list[tuple[int, list[Stored]]]:
        """The runs of one transaction: (first position, events)."""
        rows = self._db.execute(f"SELECT {COLUMNS} FROM runs WHERE tx = ? ORDER BY position", (tx,)).fetchall()
        return [(row[0], events_of(*row)) for row in rows]

    def cover(self, no: int, seq: int) -> salt.Cover | None:
        """The salt cover of the block that holds place ``seq``."""
        key = (no, seq // salt.BLOCK_EVENTS)
        if key not in self._covers:
            row = self._db.execute("SELECT cover, crc FROM blocks WHERE log = ? AND block = ?", key).fetchone()
            if row is None:
                return None
            if len(self._covers) >= _CACHED_RUNS:
                self._covers.clear()
            self._covers[key] = cover_of(*key, *row)
        return self._covers[key]

    def _keep_cover(self, no: int, seq: int, cover: salt.Cover) -> None:
        """Store the salt tree of a block anew, if it changed."""
        key = (no, seq // salt.BLOCK_EVENTS)
        if self.cover(no, seq) != cover:
            sql = "UPDATE blocks SET cover = ?, crc = ? WHERE log = ? AND block = ?"
            self._db.execute(sql, (*cover_row(*key, cover), *key))
            self._covers[key], self._known_nodes = cover, {}

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
        ends_block = (seq + 1) % salt.BLOCK_EVENTS == 0
        block = (seq + ends_block) // salt.BLOCK_EVENTS
        sql = "SELECT opening FROM blocks WHERE log = ? AND block = ?"
        opening = bytes(self._db.execute(sql, (log.no, block)).fetchone()[0])
        if ends_block:
            return opening
        first = max(block * salt.BLOCK_EVENTS, 1)
        walker = Log(log.no, log.id, log.key, 0, opening, 0, log.own)
        events = [self.event(log.position(place)) for place in range(first, seq + 1)]
        return chain_after(walker, first, events, dict(self.cover(log.no, first) or {}))

    def _open_block(self, log: Log, seq: int, cover: salt.Cover) -> None:
        """Store what a block begins with: its salt tree, and the chain value before it."""
        key = (log.no, seq // salt.BLOCK_EVENTS)
        sql = "INSERT INTO blocks (log, block, cover, crc, opening) VALUES (?, ?, ?, ?, ?)"
        self._db.execute(sql, (*key, *cover_row(*key, cover), log.head))

    def run_of(self, position: int) -> tuple[int, list[Stored]]:  # its first position, its events
        sql = "SELECT position, count FROM runs WHERE position <= ? ORDER BY position DESC LIMIT 1"
        row = self._db.execute(sql, (position,)).fetchone()
        if row is None or position >= row[0] + row[1]:
            raise Damaged("an event is missing from the file; run 'syncmem repair'")
        first = int(row[0])
        if first not in self._cache:
            if len(self._cache) >= _CACHED_RUNS:
                self._cache.pop(next(iter(self._cache)))
            row = self._db.execute(f"SELECT {COLUMNS} FROM runs WHERE position = ?", (first,)).fetchone()
            self._cache[first] = events_of(*row)
        return first, self._cache[first]
