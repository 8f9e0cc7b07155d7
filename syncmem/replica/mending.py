"""Mending: a new file of what a damaged one still tells.

Rules: of each log that part is kept which is vouched for (:mod:`syncmem.replica.vouched`); events keep their places,
and when they arrived; what is derived is folded again.  What stood behind is asked of others by the ordinary door:
nothing is taken from a damaged file on trust.  What is known of mailboxes is left out, so that all is read again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from syncmem import labels
from syncmem.environment import Environment
from syncmem.model import salt
from syncmem.model.event import CHAIN_START, LogKey
from syncmem.model.frame import VAULT
from syncmem.model.record import LOG_SHIFT
from syncmem.replica import driver, rebuilding, schema, transactions
from syncmem.replica.chain import Log
from syncmem.replica.cipher import FileKey
from syncmem.replica.connection import Database
from syncmem.replica.heads import Sign
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.replica import Replica
from syncmem.replica.runs import COLUMNS, cover_row, row_of
from syncmem.replica.salvage import MISREAD, Row, Salvage
from syncmem.replica.scrubbing import REPAIR as CHORE
from syncmem.replica.vouched import Kept, kept_part
from syncmem.seal.keys import public_key, sign
from syncmem.seal.roster import Roster, epoch_keys
from syncmem.seal.statements import read_statement

_CARRIED: Final = {  # what no event tells again, and by what it is read
    "identity": ("name, value", "name"),
    "cuts": ("log, n, seq", "log, n"),
    "erased": ("no, position", "no"),
    "chunks": ("no, episode, number, body", "no"),
    "contents": ("event, scope, chunks", "event"),
    "lacked": ("event", "event"),
    "candidates": ("id, scope, subjects, observed, body, doubt", "id"),
    "addresses": ("address", "address"),
    "recalls": ("no, id, n, time, instant, question, asked, digest", "no"),
    "recalled": ("recall, rank, claim, handed, past, score, why", "recall, rank"),
}
_LOGS: Final = "no, id, device, incarnation, scope, seq, head, clock, own, signature, open_bytes"
_MOVES: Final = "position, log, first, count, acts"


class Cut(NamedTuple):
    """A log of which a part was lost: up to which place it was kept, up to which it had been held."""

    log: bytes
    kept: int
    last: int


@dataclass(slots=True)
class Mended:
    """What a new file holds, and what it does not."""

    events: int = 0
    cuts: list[Cut] = field(default_factory=list)
    nameless: int = 0  # rows of events whose log is not known any more


class Unfinished(NamedTuple):
    """A repair that has still something to see to: the name of the damaged file, and what was cut."""

    file: str
    cuts: list[Cut]


def unfinished(database: Database) -> Unfinished | None:
    """The repair that is under way, if one is."""
    row = database.execute("SELECT state FROM chores WHERE name = ?", (CHORE,)).fetchone()
    if row is None:
        return None
    file, cuts = json.loads(row[0])
    return Unfinished(file, [Cut(bytes.fromhex(log), kept, last) for log, kept, last in cuts])


def finished(database: Database) -> None:
    """All of it was seen to; inside a write transaction."""
    database.execute("DELETE FROM chores WHERE name = ?", (CHORE,))


def mend(
    salvage: Salvage, path: str, kept_as: str, key: FileKey | None, environment: Environment, seed: bytes | None
) -> Mended:
    """Write a new file of what can be read.

    ``kept_as``: the name that the damaged one will have; ``seed``: this device's key, if it is known.
    """
    mended = Mended()
    connection = driver.connect(path, key=key)
    try:
        connection.execute("BEGIN IMMEDIATE")
        schema.migrate(connection)
        _Writer(connection, salvage).write(mended, seed, kept_as)
        connection.execute("COMMIT")
    finally:
        connection.close()
    replica = Replica(path, environment, public_key, key=key)
    try:
        with replica.transaction():
            replica.rebuild()
            rebuilding.retime(replica.db, replica.logs, replica.clocks)
    finally:
        replica.close()
    return mended


class _Writer:
    """Writes what is kept."""

    def __init__(self, connection: driver.Connection, salvage: Salvage) -> None:
        self._connection = connection
        self._salvage = salvage
        self._covers = salvage.covers()
        self._runs = salvage.runs()

    def write(self, mended: Mended, seed: bytes | None, kept_as: str) -> None:
        named = {tx for runs in self._runs.values() for _, tx, _ in runs}
        ends = {kept.log.no: kept.log.position(kept.log.seq) for kept in self._logs(mended, seed)}
        self._write_moves(ends)
        self._write_transactions(named)
        for table, (columns, order) in _CARRIED.items():
            rows = self._salvage.rows(table, columns, order)
            self._put(table, columns, (row for row in rows if _is_to_carry(table, row)))
        rows = self._salvage.rows("statements", "id, wire", "id")
        sound = [row for row in rows if is_statement(*row)]
        whole = len(sound) == len(rows) and self._salvage.is_whole("statements")
        if whole or _holds_key(sound, seed):  # else joining again brings all of them
            self._put("statements", "id, wire", sound)
        state = json.dumps([kept_as, [[log.hex(), kept, last] for log, kept, last in mended.cuts]])
        self._put("chores", "name, state", [(CHORE, state)])

    def _logs(self, mended: Mended, seed: bytes | None) -> list[Kept]:
        signed: dict[int, dict[int, bytes]] = {}
        for no, seq, signature in self._salvage.rows("signatures", "log, seq, signature", "log, seq"):
            signed.setdefault(no, {})[seq] = signature
        every = []
        for no, id, *names, seq, own, signature in self._salvage.rows(
            "logs", "no, id, device, incarnation, scope, seq, own, signature", "no"
        ):
            runs, key = self._runs.pop(no, []), _key(id, names)
            if key is None:
                mended.nameless += len(runs)
                continue
            log = Log(no, id, key, 0, CHAIN_START, 0, False, written_here=own > 0)
            covers = {block: cover for (of, block), cover in self._covers.items() if of == no}
            ends = {**signed.get(no, {}), seq: signature or b""}
            every.append(kept_part(log, runs, covers, ends, signing(seed, key.device)))
            self._write_log(every[-1])
            ends_at = [(position & SEQ_MASK) + len(events) - 1 for position, _, events in runs]
            last = max([*ends_at, seq if isinstance(seq, int) else 0])
            mended.events += log.seq
            if log.seq < last:
                mended.cuts.append(Cut(id, log.seq, last))
        mended.nameless += sum(map(len, self._runs.values()))
        return every

    def _write_log(self, kept: Kept) -> None:
        log, key = kept.log, kept.log.key
        assert key is not None, "what has no key is not kept"
        end = log.seq, log.head, log.clock, 2 * log.written_here, log.signature, log.open_bytes
        self._put("logs", _LOGS, [(log.no, log.id, key.device, key.incarnation, key.scope, *end)])
        self._put("runs", COLUMNS, (row_of(*run) for run in kept.runs))
        self._put("signatures", "log, seq, signature", ((log.no, *each) for each in kept.signatures.items()))
        for block, opening in kept.openings.items():
            cover: salt.Cover = self._covers.get((log.no, block), {})
            row = (log.no, block, *cover_row(log.no, block, cover), opening)
            self._put("blocks", "log, block, cover, crc, opening", [row])

    def _write_moves(self, ends: dict[int, int]) -> None:
        """Moves that stand in what is kept; those act of which all that they announce is kept."""
        rows = []
        for position, log, first, count, acts in self._salvage.rows("moves", _MOVES, "position"):
            end = ends.get(position >> LOG_SHIFT, 0)
            if position <= end:
                rows.append((position, log, first, count, int(bool(acts) and position + count <= end)))
        self._put("moves", _MOVES, rows)

    def _write_transactions(self, named: set[int]) -> None:
        """All transactions that are known; of one whose time is lost, that of the one before it."""
        found = self._salvage.transactions()
        wall = min(found.values(), default=0)
        rows = []
        for n in sorted(named | set(found)):
            wall = found.get(n, wall)
            rows.append(transactions.row_of(n, wall))
        self._put("transactions", "n, wall, time, fold_version, touched, crc", rows)

    def _put(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        """Write rows; one that the table cannot hold is lost."""
        sql = f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split(', ')))})"
        for row in rows:
            try:
                self._connection.execute(sql, tuple(row))
            except (driver.dbapi.IntegrityError, driver.dbapi.ProgrammingError, UnicodeError, OverflowError):
                self._salvage.lose(table)


def signing(seed: bytes | None, device: bytes) -> Sign | None:
    """What signs for a device, where that is the one whose seed is known."""
    if seed is None or public_key(seed) != device:
        return None
    signer: Callable[[bytes], bytes] = lambda words: sign(seed, labels.HEAD, words)  # noqa: E731
    return signer


def _key(id: bytes, names: Sequence[Any]) -> LogKey | None:
    """The key of a log, if it is the one that its id is made of; None, too, where only references to it had come."""
    try:
        key = LogKey(*names)
        return key if key.id == id else None
    except (*MISREAD, AttributeError):
        return None


def _is_to_carry(table: str, row: Row) -> bool:
    if table == "identity":
        return bool(row[0] != "incarnation")  # a new file is a new life
    return True


def _holds_key(rows: Sequence[Row], seed: bytes | None) -> bool:
    """Whether statements about the vault give this device its present key, so that the rest can be asked for."""
    try:
        roster = Roster(read_statement(wire) for _, wire in rows)
        epoch = roster.current_epoch(VAULT)
        return seed is not None and epoch is not None and epoch.id in epoch_keys(roster, seed, public_key(seed))
    except MISREAD:
        return False


def is_statement(id: bytes, wire: bytes) -> bool:
    """Whether a row of the roster says what somebody signed."""
    try:
        return bool(read_statement(wire).id == id)
    except MISREAD:
        return False
