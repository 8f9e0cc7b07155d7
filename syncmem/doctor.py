"""The doctor: what a replica stands on, whether its logs are whole, and what looks wrong in its beliefs."""

from __future__ import annotations

import json
from typing import Any, Final

from syncmem.cloud import service_of
from syncmem.errors import SyncmemError
from syncmem.model.event import CHAIN_START, Event, readable
from syncmem.model.instant import FOREVER
from syncmem.private import others_can_use
from syncmem.replica import schema
from syncmem.replica.chain import Log, blocks, chain_after
from syncmem.replica.driver import MEMORY, dbapi, driver
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.replica import Replica
from syncmem.results import Doctor

OSCILLATION_MIN: Final = 2  # times a slot went back to a value it had left
LIKELY_SINGLE_ENTITIES: Final = 10  # many-valued, and this many entities never had two values at once
WAITING_NOTABLE: Final = 1_000  # candidates: weeks of talk that nobody judged
_LISTED_MAX: Final = 20


def examine(replica: Replica, *, full: bool) -> Doctor:
    """Look at everything cheap; ``full`` also reads every event and recomputes every chain."""
    facts: dict[str, Any] = {}
    problems: list[str] = []
    for look in (_library, _file, _keys, _logs, _held, _erased, _beliefs, _candidates):
        look(replica, facts, problems)
    if full:
        _read_all(replica, facts, problems)
    return Doctor(facts, tuple(problems))


def _library(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    library = driver()
    journal = replica.db.execute("PRAGMA journal_mode").fetchone()[0]
    facts["sqlite"] = {
        "driver": library.name,
        "version": library.version,
        "wal_safe": library.wal_safe,
        "journal_mode": journal,
        "extensions": library.extensions,
        "fts5": library.fts5,
        "fts5_secure_delete": library.fts5_secure_delete,
        "cipher": library.cipher,
        "sqlite_vec": _vector_extension(),
    }
    if not library.wal_safe:
        problems.append(
            f"SQLite {library.version} can corrupt a write-ahead log; a slower journal is used. Install pysqlite3"
        )
        if journal == "wal":
            problems.append(
                "another program turned this file to write-ahead logging; give it a safe SQLite, or stop it"
            )


def _vector_extension() -> str | None:
    """The version of the vector extension, if this library can load it."""
    import sqlite_vec

    connection = dbapi.connect(":memory:")
    try:
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        return str(connection.execute("SELECT vec_version()").fetchone()[0])
    except (AttributeError, dbapi.Error):
        return None
    finally:
        connection.close()


def _file(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    pages, size, free = (
        int(replica.db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "page_size", "freelist_count")
    )
    check = replica.db.execute("PRAGMA quick_check(3)").fetchall()
    facts["file"] = {
        "path": replica.db.path,
        "schema_version": schema.version(replica.db.raw),
        "bytes": pages * size,
        "free_bytes": free * size,
        "transactions": replica.last_transaction,
    }
    if replica.db.path != MEMORY and others_can_use(replica.db.path):
        problems.append(
            f"others on this machine can use {replica.db.path}; run 'chmod 600' on it and what lies beside it"
        )
    service = service_of(replica.db.path) if replica.db.path != MEMORY else None
    if service is not None:
        problems.append(
            f"a folder of {service} can corrupt the file that is in it; move it, and sync through 'folder:PATH'"
        )
    problems += [f"the file is damaged: {row[0]}; restore a backup" for row in check if row[0] != "ok"]


def _keys(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Where the secrets of this device are, and whether the file needs one to be read."""
    side = replica.side
    facts["keys"] = {
        "encrypted": replica.db.key is not None,
        "device_key": "keyring" if side.in_keyring else "side file" if side.path else "memory",
        "side_file": side.path,
        "no_keyring": side.no_keyring,
    }
    if side.no_keyring is not None:
        problems.append(f"this device's key is kept in {side.path}: {side.no_keyring}")


def _logs(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    facts["logs"] = []
    for log in replica.logs.by_no.values():
        stored = replica.db.execute(
            "SELECT coalesce(sum(count), 0), coalesce(max(position + count - 1), 0) FROM runs "
            "WHERE position BETWEEN ? AND ?",
            (log.position(1), log.position(SEQ_MASK)),
        ).fetchone()
        whole = stored[0] == log.seq and (log.seq == 0 or stored[1] & SEQ_MASK == log.seq)
        if log.key is not None:
            facts["logs"].append(
                {
                    "log": log.id.hex()[:12],
                    "device": log.key.device.hex()[:12],
                    "scope": log.key.scope,
                    "events": log.seq,
                    "own": log.own,
                    "continuous": whole,
                }
            )
        if not whole:
            problems.append(f"log {log.id.hex()[:12]} has gaps; restore a backup, or sync into a new file")


def _held(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Events that wait for what they refer to."""
    targets = replica.db.execute("SELECT DISTINCT target FROM links").fetchall()
    waiting = [target for (target,) in targets if not replica.logs.holds(target)]
    facts["held"] = {"waiting_for": len(waiting)}


def _erased(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Erasures that are known, and what they have still to do."""
    erasures, waiting = replica.db.execute(
        "SELECT count(DISTINCT position), count(DISTINCT CASE applied WHEN 0 THEN position END) FROM erasures"
    ).fetchone()
    facts["erasures"] = {"known": erasures, "not_applied": waiting, "scrubbed": replica.scrubber.state is None}
    if replica.scrubber.state is not None:
        problems.append(
            "traces of what was erased may be in the file, because a program that reads it held up their removal; "
            "end it, then run 'syncmem scrub'"
        )


def _beliefs(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    count = replica.db.execute(f"SELECT count(*) FROM beliefs WHERE known_to = {FOREVER}").fetchone()[0]
    contested = replica.db.execute(
        f"SELECT count(DISTINCT slot) FROM beliefs WHERE contested = 1 AND known_to = {FOREVER}"
    ).fetchone()[0]
    facts["beliefs"] = {"current": count, "contested_slots": contested}
    facts["oscillation"] = oscillating(replica)
    facts["cardinality"] = {"undeclared": _undeclared(replica), "likely_single": _likely_single(replica)}
    for slot in facts["oscillation"]:
        problems.append(
            f"{slot['entity']} {slot['predicate']} went back {slot['times']} times to a value it had left; "
            "look at its history: the matcher or the cardinality may be wrong"
        )
    for predicate in facts["cardinality"]["undeclared"]:
        problems.append(f"predicate {predicate!r} is not defined and counts as many-valued; define() it")
    for predicate in facts["cardinality"]["likely_single"]:
        problems.append(f"predicate {predicate!r} is many-valued, but never has two values; define() it single?")


def oscillating(replica: Replica) -> list[dict[str, Any]]:
    """Slots that keep going back to a value that they had left."""
    sql = f"""
        WITH steps AS (
            SELECT slot, value = lag(value, 2) OVER w AND value <> lag(value, 1) OVER w AS back FROM (
                SELECT slot, lane, valid_from, value, lag(value) OVER (PARTITION BY slot, lane ORDER BY valid_from) AS p
                FROM beliefs WHERE known_to = {FOREVER}) WHERE p IS NULL OR p <> value
            WINDOW w AS (PARTITION BY slot, lane ORDER BY valid_from))
        SELECT s.scope, s.entity, s.predicate, sum(back) AS times FROM steps JOIN slots s ON s.id = steps.slot
        GROUP BY slot HAVING times >= ? ORDER BY times DESC, s.entity, s.predicate LIMIT ?"""
    rows = replica.db.execute(sql, (OSCILLATION_MIN, _LISTED_MAX)).fetchall()
    return [dict(zip(("scope", "entity", "predicate", "times"), row, strict=True)) for row in rows]


def _candidates(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """What was submitted and is not judged, or judged and in doubt."""
    sql = "SELECT count(*) - count(doubt), count(doubt) FROM candidates"
    waiting, in_doubt = replica.db.execute(sql).fetchone()
    facts["candidates"] = {"waiting": waiting, "in_doubt": in_doubt}
    if waiting > WAITING_NOTABLE:
        problems.append(f"{waiting} candidates wait to be judged; call consolidate() from time to time")


def _undeclared(replica: Replica) -> list[str]:
    rows = replica.db.execute("SELECT DISTINCT predicate, scope FROM slots ORDER BY predicate").fetchall()
    names = dict.fromkeys(name for name, scope in rows if not replica.catalog.predicate(scope, name).declared)
    return list(names)[:_LISTED_MAX]


def _likely_single(replica: Replica) -> list[str]:
    """Predicates defined as many-valued of which no entity ever has two values at once."""
    sql = f"""
        SELECT s.predicate FROM slots s WHERE s.predicate IN (SELECT value FROM json_each(?)) AND EXISTS (
            SELECT 1 FROM beliefs b WHERE b.slot = s.id AND b.known_to = {FOREVER})
        GROUP BY s.predicate HAVING count(*) >= ? AND NOT EXISTS (
            SELECT 1 FROM slots t JOIN beliefs a ON a.slot = t.id AND a.known_to = {FOREVER}
            JOIN beliefs b ON b.slot = t.id AND b.known_to = {FOREVER} AND b.lane > a.lane
                AND b.valid_from < a.valid_to AND a.valid_from < b.valid_to
            WHERE t.predicate = s.predicate)"""
    many = [name for name, _, definition in replica.catalog.defined() if definition.many]
    rows = replica.db.execute(sql, (json.dumps(many), LIKELY_SINGLE_ENTITIES)).fetchall()
    return [row[0] for row in rows][:_LISTED_MAX]


def _read_all(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Recompute the chain of every log from what is stored."""
    facts["unreadable_events"] = _unreadable(replica)
    for log in replica.logs.by_no.values():
        try:
            sound = _chain_is_sound(replica, log)
        except SyncmemError as error:
            sound = False
            problems.append(str(error))
        if not sound:
            problems.append(
                f"log {log.id.hex()[:12]} does not match its chain; restore a backup or sync into a new file"
            )


def _chain_is_sound(replica: Replica, log: Log) -> bool:
    walker = Log(log.no, log.id, log.key, 0, CHAIN_START, 0, log.own)
    for first, events in replica.logs.runs(log.no):
        for start, part in blocks(first, events):
            cover = replica.logs.cover(log.no, start)
            if cover is None:
                return False
            walker.head = chain_after(walker, start, part, dict(cover))
    return walker.head == log.head


def _unreadable(replica: Replica) -> int:
    """How many held events this version cannot read (kept, forwarded, folded after an upgrade)."""
    total = 0
    for log in replica.logs.by_no.values():
        for _, events in replica.logs.runs(log.no):
            total += sum(readable(event) is None and isinstance(event, Event) for event in events)
    return total
