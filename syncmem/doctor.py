"""The doctor: what a replica stands on, whether its logs are whole, and what looks wrong in its beliefs."""

from __future__ import annotations

from typing import Any, Final

from syncmem.cloud import service_of
from syncmem.diagnosis import diagnose
from syncmem.errors import Busy, DiskFull, ReadOnlyFile
from syncmem.model.event import Event, readable
from syncmem.model.plain import TIE_WINDOW
from syncmem.private import others_can_use
from syncmem.replica import inspecting, schema, soundness
from syncmem.replica.driver import MEMORY, dbapi, driver
from syncmem.replica.logs import SEQ_MASK
from syncmem.replica.replica import Replica
from syncmem.replica.scrubbing import REPLACED_SUFFIX
from syncmem.results import Doctor

_DAY: Final = 86_400_000_000
_HOUR: Final = 3_600_000_000
WAITING_NOTABLE: Final = 1_000  # candidates: weeks of talk that nobody judged


def examine(replica: Replica, *, full: bool) -> Doctor:
    """Look at everything cheap; ``full`` also reads every event, recomputes every chain and folds all again."""
    facts: dict[str, Any] = {}
    problems: list[str] = []
    stored = (_library, _file, _keys, _logs, _forks, _clocks, _held, _erased, _episodes, _recall)
    with replica.db.snapshot():
        replica.refresh()
        for look in (*stored, diagnose, _candidates, *((_unreadable,) if full else ())):
            try:
                look(replica, facts, problems)
            except soundness.ODD as error:
                problems.append(soundness.told(error))
    if full:
        _whole(replica, facts, problems)
    problems += inspecting.known_damage(replica.db)
    return Doctor(facts, tuple(dict.fromkeys(problems)))


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
    problems += [f"the file is damaged: {row[0]}; run 'syncmem repair'" for row in check if row[0] != "ok"]


def _keys(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Where the secrets of this device are, and whether the file needs one to be read."""
    side = replica.author.side
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
            problems.append(f"log {log.id.hex()[:12]} has gaps; run 'syncmem repair'")


def _forks(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Logs that two lives of a device went on writing: what became of one branch."""
    rows = replica.db.execute("SELECT position, log, first, count, acts FROM moves ORDER BY position").fetchall()
    facts["forks"] = [
        {
            "log": log.hex()[:12],
            "place": first,
            "events": count,
            "moved_to": replica.logs.log_of(position).id.hex()[:12],
            "complete": bool(acts),
        }
        for position, log, first, count, acts in rows
    ]


def _clocks(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Whose clock is ahead of this device's by more than is followed; if it is everybody's, this one is behind."""
    now = replica.environment.clock.now()
    ahead: dict[str, tuple[int, str]] = {}
    devices = {log.device for log in replica.logs.held() if not log.own}
    for log in replica.logs.held():
        last = replica.logs.event(log.position(log.seq))
        by = replica.clocks.corrected(log.position(log.seq), last.hlc) - now if isinstance(last, Event) else 0
        if by > TIE_WINDOW:
            name = log.device.hex()[:12]
            ahead[name] = max(ahead.get(name, (0, "")), (by, f"{log.name}-{log.seq}"))
    facts["clocks_ahead"] = {name: by // 1_000_000 for name, (by, _) in sorted(ahead.items())}
    if len(devices) > 1 and len(ahead) >= len(devices):
        problems.append("every other device's clock is ahead of this one's; set this device's clock")
        return
    for name, (by, event) in sorted(ahead.items()):
        problems.append(
            f"the clock of device {name} is {by // _DAY} days {by % _DAY // _HOUR} hours ahead (or this one's behind); "
            f"set it, then correct_clock({event!r}, ...) for what it wrote"
        )


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
    replaced = f"{replica.db.path}{REPLACED_SUFFIX}"
    if erasures and replica.db.disk.identity(replaced):
        problems.append(
            f"{replaced} is what a restore replaced, and may hold what was erased since; delete it when you need it "
            "no more"
        )
    if replica.scrubber.state is not None:
        problems.append(
            "traces of what was erased may be in the file, because a program that reads it held up their removal; "
            "end it, then run 'syncmem scrub'"
        )


def _episodes(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Episodes, how much of their content is here, and of which of this device's own some is nowhere known to be."""
    episodes = replica.fold.episodes
    held = replica.db.execute("SELECT count(DISTINCT id) FROM episodes").fetchone()[0]
    chunks, here = episodes.counts()
    facts["episodes"] = {"held": held, "chunks": chunks, "chunks_here": here, "keeps_all": episodes.fetch_all}
    for one in episodes.incomplete():
        if replica.logs.log_of(one.position).written_here:
            problems.append(
                f"{len(episodes.missing(one))} parts of episode {one.id.hex()}, which was observed here, are missing; "
                f"run 'syncmem fetch {one.id.hex()}'"
            )


def _unreadable(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """How many held events this version cannot read (kept, forwarded, folded after an upgrade)."""
    total = facts["unreadable_events"] = 0
    for log in replica.logs.by_no.values():
        for _, events in replica.logs.runs(log.no):
            total += sum(readable(event) is None and isinstance(event, Event) for event in events)
    facts["unreadable_events"] = total


def _whole(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """Recompute every chain, look at every chunk, and fold all again."""
    try:
        problems += inspecting.all_damage(replica)
    except (ReadOnlyFile, Busy, DiskFull) as error:
        facts["not_folded_again"] = str(error)
        with replica.db.snapshot():
            replica.refresh()
            problems += soundness.damage(replica)


def _candidates(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """What was submitted and is not judged, or judged and in doubt."""
    sql = "SELECT count(*) - count(doubt), count(doubt) FROM candidates"
    waiting, in_doubt = replica.db.execute(sql).fetchone()
    facts["candidates"] = {"waiting": waiting, "in_doubt": in_doubt}
    if waiting > WAITING_NOTABLE:
        problems.append(f"{waiting} candidates wait to be judged; call consolidate() from time to time")


def _recall(replica: Replica, facts: dict[str, Any], problems: list[str]) -> None:
    """What recall finds by: words, and of each model how many texts have its vector."""
    count = "SELECT count(*) FROM documents"
    with_vector = "SELECT e.id, (SELECT count(*) FROM vectors v WHERE v.model = e.no) FROM embedders e ORDER BY e.id"
    facts["recall"] = {
        "indexed": replica.index.whole,
        "texts": int(replica.db.execute(count).fetchone()[0]),
        "vectors": dict(replica.db.execute(with_vector).fetchall()),
        "read_log": int(replica.db.execute("SELECT count(*) FROM recalls").fetchone()[0]),
    }
