"""Daily life: years of three devices, 40 claims a day, a sync every five minutes while online, a reader always open.

The phone is online from 7 to 23 o'clock, the laptop from 9 to 18 on weekdays, the tablet from 19 to 22; claims are made
from 7 to 23, half of them on the laptop, a tenth on the tablet, whether it is online or not.  Full scale is five
years, quick scale 20 days, small scale two.  A sync that can find nothing (nobody has sent anything since the last) is
left out, except for some that show that it sends nothing: what it costs is the benchmark ``idle``.  The reader is a
second connection to the laptop's file, as an MCP server is, and asks after each claim what is believed.

Bytes are those of sealed blobs as they are put, padding included; "reports" are blobs that tell of no claims: what
their device holds now (frontier notes) and believes (digests).  Notes that go with claims, or are written anew with
them, are counted beside the reports; what notes are among all events stands there, too.  As "baselines" stand: for
bytes a claim those of the blobs with claims alone; for times those of the first tenth of all days beside the last.

Reach (first stage): reports are at most a fifth of all bytes, and nothing takes more than 1.5 times what it took in the
beginning.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from syncmem.model.event import Kind, header
from syncmem.replica.driver import dbapi
from tests.benchmarks.household import DEVICES, Household, Saying
from tests.benchmarks.material import FIRST_CLOCK, SECOND
from tests.benchmarks.measuring import Row, at_most, in_unit, quantile, ratio_at_most
from tests.benchmarks.workshop import Workshop

DAYS = {"small": 2, "quick": 20, "full": 1_826}
CLAIMS_A_DAY = 40
SYNC_MINUTES = 5
ONLINE = {"laptop": (9, 18), "phone": (7, 23), "tablet": (19, 22)}  # hours
SHARES = {"laptop": 5, "phone": 4, "tablet": 1}
AWAKE = (7, 23)
WEEKEND = (5, 6)
MINUTE, DAY_MINUTES = 60 * SECOND, 24 * 60
REPORTS_REACH, GROWTH_REACH = 0.2, 1.5


def run(workshop: Workshop) -> list[Row]:
    days = DAYS[workshop.scale]
    with workshop.scratch() as folder, ExitStack() as stack:
        household, saying = Household(folder, FIRST_CLOCK, stack), Saying(1)
        for predicate in saying.predicates():
            household.memories["laptop"].define(predicate, cardinality="single")
        household.wrote["laptop"] += 1
        household.settle()
        household.begin_counting()
        for day in range(days):
            _live(household, saying, day)
        household.settle()
        of = f"{days:,} days"
        return [*_bytes(household, days * CLAIMS_A_DAY, of), *_times(household, of), *_bootstrap(household, of)]


class Tick(NamedTuple):
    """A time of the day, in minutes, and what happens then: so many claims on devices, then syncs."""

    minute: int
    claims: list[str]
    syncing: list[str]


def _day(day: int) -> Iterator[Tick]:
    chance = random.Random(day)
    claims: dict[int, list[str]] = {}
    for name in chance.choices(list(SHARES), list(SHARES.values()), k=CLAIMS_A_DAY):
        minute = chance.randrange(AWAKE[0] * 60, AWAKE[1] * 60)
        claims.setdefault(minute - minute % SYNC_MINUTES, []).append(name)
    for minute in range(0, DAY_MINUTES, SYNC_MINUTES):
        at_work = day % 7 not in WEEKEND
        online = [n for n, (a, b) in ONLINE.items() if a <= minute / 60 < b and (n != "laptop" or at_work)]
        yield Tick(minute, claims.get(minute, []), online)


def _live(household: Household, saying: Saying, day: int) -> None:
    for tick in _day(day):
        household.clock.time = FIRST_CLOCK + (day * DAY_MINUTES + tick.minute) * MINUTE
        for name in tick.claims:
            household.clock.time += SECOND
            household.remember(name, *saying.next())
        for name in tick.syncing:
            if name in household.news or household.wrote[name]:
                household.sync(name)
            elif tick.minute == 12 * 60:
                assert not household.sync(name).sent, "a device that learned nothing has nothing to tell"


# -- what came of it ----------------------------------------------------------------------------------


def _bytes(household: Household, claims: int, of: str) -> list[Row]:
    sent, blobs = household.sent, household.blobs
    each, alone = sent.total() / claims, sent["claims"] / claims
    kept, size = _at_relay(household)
    return [
        Row(f"wire bytes a claim, {of}", each, "bytes", alone, each / alone, more={**sent, "claims made": claims}),
        Row(f"share of reports in all bytes, {of}", sent["reports"] / sent.total(), "", reach=at_most(REPORTS_REACH)),
        Row(f"the same with notes among claims, {of}", _told(household), "", more={**household.parts}),
        Row(f"share of frontier notes in all events, {of}", _notes(household), "", more={"of": "headers and payloads"}),
        Row(f"blobs a day, {of}", blobs.total() / claims * CLAIMS_A_DAY, "", more={**blobs}),
        Row(f"blobs at the relay in the end, {of}", kept, "", more={"bytes": size, "bytes_a_claim": size / claims}),
        *(_file(household.path(name), name, claims, of) for name in DEVICES),
    ]


def _told(household: Household) -> float:
    """What is reported or noted, of all bytes."""
    return (household.sent["reports"] + household.parts["frames: notes"]) / household.sent.total()


def _notes(household: Household) -> float:
    """What frontier notes are of all events, in bytes of headers and payloads."""
    logs = household.memories["laptop"]._replica.logs
    notes = total = 0
    for log in logs.by_no.values():
        for first, events in logs.runs(log.no):
            for seq, event in enumerate(events, first):
                size = len(header(log.id, seq, event, bytes(16))) + len(event.payload)
                total += size
                notes += size if event.kind == Kind.FRONTIER else 0
    return notes / total


def _at_relay(household: Household) -> tuple[int, int]:
    """How many blobs lie there, and their bytes."""
    sql = "SELECT count(*), sum(length(blob)) FROM blobs WHERE blob IS NOT NULL"
    kept, size = household.store.file.db.execute(sql).fetchone()
    return int(kept), int(size)


def _file(path: Path, name: str, claims: int, of: str) -> Row:
    connection = dbapi.connect(str(path), isolation_level=None)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.close()
    size = path.stat().st_size
    return Row(f"file bytes a claim, the {name}'s, {of}", size / claims, "bytes", more={"bytes": size})


def _times(household: Household, of: str) -> list[Row]:
    rows = []
    for what in ("remember", "believe", "sync"):
        seconds, cpu = household.seconds[what], household.cpu[what]
        tenth = max(len(seconds) // 10, 1)
        first, last = (statistics.median(part) for part in (seconds[:tenth], seconds[-tenth:]))
        first_cpu, last_cpu = (sum(part) / tenth for part in (cpu[:tenth], cpu[-tenth:]))
        row = Row(f"{what}, median at the end, {of}", in_unit(last, "ms"), "ms", in_unit(first, "ms"), last / first)
        row.cpu_ratio, row.reach = last_cpu / first_cpu, ratio_at_most(GROWTH_REACH)
        row.more = {"cpu_ms": in_unit(last_cpu, "ms"), "first_cpu_ms": in_unit(first_cpu, "ms"), "times": len(seconds)}
        rows += [row, *(_quantile(what, seconds, share, of) for share in (0.5, 0.99))]
    return rows


def _quantile(what: str, seconds: list[float], share: float, of: str) -> Row:
    return Row(f"{what}, p{share * 100:.0f} of all, {of}", in_unit(quantile(seconds, share), "ms"), "ms")


def _bootstrap(household: Household, of: str) -> list[Row]:
    """A new device is let in at the end and takes everything in."""
    newcomer = household.joined(household.memories["laptop"], "newcomer", 50)
    household.memories["newcomer"] = newcomer
    report = household.sync("newcomer")
    assert newcomer.belief_digest() == household.memories["laptop"].belief_digest()
    seconds, cpu = household.seconds["sync"][-1], household.cpu["sync"][-1]
    events = sum(log.seq for log in newcomer._replica.logs.held())
    more = {"cpu_seconds": cpu, "events": events, "questions": report.questions}
    return [
        Row(f"bootstrap of a new device, {of}", seconds, "s", more=more),
        Row(f"bootstrap, blobs read, {of}", report.received, ""),
        Row(f"bootstrap, bytes read, {of}", report.received_bytes, "bytes"),
    ]
