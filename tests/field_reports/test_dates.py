"""Reports 21 to 28: dates in every form, zones, and history that is told late."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from syncmem import UNDATED, InvalidInput, Memory
from tests.cli.running import Shell
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import current, heard, in_memory, instant, line, said, values

# -- 21 to 23: one instant, one text ----------------------------------------------------------------------

ONE_INSTANT = [
    "2025-03-14T02:15:30Z",
    "2025-03-14 02:15:30+00:00",
    "2025-03-14T10:15:30+08:00",
    "2025-03-13T21:15:30-05:00",
    datetime(2025, 3, 14, 2, 15, 30, tzinfo=UTC),
    datetime(2025, 3, 14, 10, 15, 30, tzinfo=timezone(timedelta(hours=8))),
    datetime(2025, 3, 14, 10, 15, 30, tzinfo=ZoneInfo("Asia/Shanghai")),
    datetime(2025, 3, 14, 7, 45, 30, tzinfo=ZoneInfo("Asia/Kolkata")),
]


@pytest.mark.parametrize("form", ["since", "changed_on"])
@pytest.mark.parametrize("written", ONE_INSTANT, ids=str)
def test_an_instant_reads_the_same_everywhere_however_it_was_written(desk: Desk, written: Any, form: str) -> None:
    """Reports 21 and 23: local time is never taken for UTC, and every door shows one text."""
    receipt = desk.on("2025-05-01").remember("ana", "home_city", "Lisbon", **{form: written})
    memory = desk.memory
    belief = memory.believe("ana", "home_city")
    assert belief is not None and belief.valid_from == datetime(2025, 3, 14, 2, 15, 30, tzinfo=UTC)
    told = [belief, *memory.beliefs("ana"), *memory.timeline("ana", "home_city"), *heard(memory, "ana", "home_city")]
    shown = {part.to_dict()["valid_from"] for part in [*told, memory.event(receipt.event)]}
    shown |= {change["valid_from"] for change in receipt.to_dict()["opened"]}
    shown |= {memory.why("ana", "home_city").to_dict()["belief"]["valid_from"]}
    assert shown == {"2025-03-14T02:15:30Z"}


def test_the_command_line_shows_the_same_instant(tmp_path: Any) -> None:
    """Report 21: whatever zone the terminal is in."""
    shell = Shell(tmp_path)
    with shell.memory() as memory:
        memory.remember("ana", "home_city", "Lisbon", since="2025-03-14T10:15:30+08:00")
    for zone in ("UTC", "Asia/Shanghai", "America/New_York"):
        for question in ("believe", "timeline", "history"):
            told = shell.run(question, "ana", "home_city", "--json", env={"TZ": zone})
            assert '"2025-03-14T02:15:30Z"' in told.out, (zone, question, told)


def test_a_day_is_the_day_of_its_zone() -> None:
    """Report 23."""
    for zone, first in (("Asia/Shanghai", "2025-03-13T16:00Z"), ("Europe/Lisbon", "2025-03-14T00:00Z")):
        memory, clock = in_memory(itertools.count(5))("a")
        clock.time = instant("2025-05-01T00:00Z")
        for written in ("2025-03-14", date(2025, 3, 14)):
            memory.remember("ana", "note", str(written) + zone, since=written, zone=zone)
        starts = {b.valid_from for b in memory.beliefs("ana")}
        assert starts == {datetime.fromisoformat(first)}
        memory.close()


NAIVE = ["2025-03-14", "2025-03", "2025-03-14T10:15", datetime(2025, 3, 14, 10, 15), date(2025, 3, 14)]
ASKED_WITH = {
    "since": lambda m, when: m.remember("ana", "home_city", "x", since=when),
    "changed_on": lambda m, when: m.remember("ana", "home_city", "x", changed_on=when),
    "until": lambda m, when: m.remember("ana", "home_city", "x", until=when),
    "valid_to": lambda m, when: m.remember("ana", "home_city", "x", valid_to=when),
    "expires_at": lambda m, when: m.remember("ana", "home_city", "x", expires_at=when),
    "observed_at": lambda m, when: m.remember("ana", "home_city", "x", observed_at=when),
    "end at": lambda m, when: m.end("ana", "home_city", "Lisbon", at=when),
    "end observed_at": lambda m, when: m.end("ana", "home_city", "Lisbon", observed_at=when),
    "deny observed_at": lambda m, when: m.deny("ana", "home_city", "Lisbon", observed_at=when),
    "correct since": lambda m, when: m.correct(m.believe("ana", "home_city").event, "x", since=when),
    "valid_at": lambda m, when: m.believe("ana", "home_city", valid_at=when),
    "known_at": lambda m, when: m.timeline("ana", "home_city", known_at=when),
    "asserted_by": lambda m, when: m.history("ana", "home_city", asserted_by=when),
    "contested valid_at": lambda m, when: m.contested(valid_at=when),
}


@pytest.mark.parametrize("written", NAIVE, ids=str)
@pytest.mark.parametrize("argument", ASKED_WITH)
def test_a_time_without_a_zone_is_refused_at_the_door(argument: str, written: Any) -> None:
    """Report 22: with the next step, and with nothing changed; where a zone is declared it is read there."""
    with Memory(":memory:") as memory:
        memory.define("home_city", cardinality="single")
        memory.remember("ana", "home_city", "Lisbon", since="2020-01-01T00:00Z")
        before = memory.event_digest()
        with pytest.raises(InvalidInput, match="zone"):
            ASKED_WITH[argument](memory, written)
        assert memory.event_digest() == before


def test_a_timeline_is_not_asked_at_a_time_without_a_zone(desk: Desk) -> None:
    """Report 22: it once was a TypeError from deep inside."""
    desk.on("2025-01-10").remember("ana", "home_city", "Lisbon", since="2025-01-01")
    timeline = desk.memory.timeline("ana", "home_city")
    with pytest.raises(InvalidInput, match="aware"):
        timeline.at(datetime(2025, 3, 14))
    assert [b.value for b in timeline.at(datetime(2025, 3, 14, tzinfo=UTC))] == ["Lisbon"]


# -- 24, 28: imports --------------------------------------------------------------------------------------


def test_what_an_old_document_says_holds_since_then_and_is_known_since_now(tell: Tell) -> None:
    """Report 24."""
    step = said(
        "2025-05-01",
        "remember",
        "ana",
        "home_city",
        "Berlin",
        source="document",
        observed_at="2023-02-03",
        batch="import",
    )
    for memory in tell(step):
        belief = memory.believe("ana", "home_city")
        assert belief is not None and belief.to_dict()["valid_from"] == "2023-02-03T00:00:00Z"
        (entry,) = heard(memory, "ana", "home_city")
        assert f"{entry.observed_at:%Y-%m-%d} {entry.asserted_at:%Y-%m-%d}" == "2023-02-03 2025-05-01"
        assert current(memory, "ana", "home_city", known_at="2025-04-30") is None


@pytest.mark.parametrize("trust", ["user", "document", "inference"])
def test_a_date_that_nobody_knows_stays_unknown(tell: Tell, trust: str) -> None:
    """Report 24: it once was shown as the first day of the year 1."""
    step = said(
        "2025-05-01", "remember", "ana", "home_city", "Berlin", source="document", observed_at=UNDATED, trust=trust
    )
    for memory in tell(step):
        (belief,) = memory.timeline("ana", "home_city")
        (entry,) = heard(memory, "ana", "home_city")
        assert (belief.valid_from, entry.valid_from, entry.observed_at) == (None, None, None)
        assert memory.why(belief).belief == belief
        rows = memory._replica.db.execute("SELECT valid_from FROM current_beliefs").fetchall()
        assert rows == [(None,)]


def test_what_is_dated_replaces_what_nobody_dated(tell: Tell) -> None:
    """Report 24: in whatever order they come."""
    undated = {"source": "document", "observed_at": UNDATED}
    for memory in tell(
        said("2025-05-01", "remember", "ana", "home_city", "Berlin", source="document", observed_at="2023-02-03"),
        said("2025-05-02", "remember", "ana", "home_city", "Bonn", **undated),
        said("2025-05-03", "remember", "ana", "employer", "Acme", **undated),
    ):
        assert line(memory, "ana", "home_city") == [("Bonn", None, "2023-02-03"), ("Berlin", "2023-02-03", None)]
        assert line(memory, "ana", "employer") == [("Acme", None, None)]


def test_five_hundred_old_messages_outrank_nothing_that_is_newer(tmp_path: Any) -> None:
    """Report 28: each keeps the time at which it was written, and the time of the import apart from that."""
    memory, clock = in_memory(itertools.count(5))("a")
    memory.define("home_city", cardinality="single")
    clock.time = instant("2025-05-01T12:00Z")
    memory.remember("ana", "home_city", "Lisbon")
    clock.time = instant("2025-06-01T12:00Z")
    first = datetime(2021, 1, 1, tzinfo=UTC)
    with memory.transaction():
        for n in range(500):
            written = first + timedelta(days=n)
            memory.remember("ana", "home_city", f"city {n % 7}", observed_at=written, batch="import")
            memory.remember("ana", "topic", n, observed_at=written, batch="import")
    assert current(memory, "ana", "home_city") == "Lisbon"
    assert current(memory, "ana", "home_city", valid_at="2021-01-03T12:00Z") == "city 2"
    times = [(e.observed_at, f"{e.asserted_at:%Y-%m}") for e in heard(memory, "ana", "topic")]
    assert times == [(first + timedelta(days=n), "2025-06") for n in range(500)]
    memory.retract(batch="import")
    assert line(memory, "ana", "home_city") == [("Lisbon", "2025-05-01", None)]
    memory.close()


# -- 25, 26: order ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_documents_taken_in_in_any_order_give_one_history(tell: Tell, order: tuple[int, ...]) -> None:
    """Report 25: also "used to" and "now" come out by the dates of the documents."""
    documents = [("2023-01-01", "vim"), ("2024-01-01", "emacs"), ("2025-01-01", "helix")]
    steps = [
        said(
            f"2025-05-0{n}",
            "remember",
            "ana",
            "favourite",
            documents[i][1],
            source="document",
            observed_at=documents[i][0],
        )
        for n, i in enumerate(order, 1)
    ]
    for memory in tell(*steps):
        assert line(memory, "ana", "favourite") == [
            ("vim", "2023-01-01", "2024-01-01"),
            ("emacs", "2024-01-01", "2025-01-01"),
            ("helix", "2025-01-01", None),
        ]


@pytest.mark.parametrize("form", ["since", "changed_on"])
@pytest.mark.parametrize("last", "ABC")
def test_a_fact_from_between_that_is_told_last_fits_between(tell: Tell, last: str, form: str) -> None:
    """Report 26: a change. A state told last vouches for today, and so holds today."""
    dates = {"A": "2021-01-01", "B": "2022-01-01", "C": "2023-01-01"}
    told = [*(value for value in dates if value != last), last]
    steps = [
        said(f"2025-05-0{n}", "remember", "ana", "home_city", value, **{form: dates[value]})
        for n, value in enumerate(told, 1)
    ]
    for memory in tell(*steps):
        found = line(memory, "ana", "home_city")
        if form == "changed_on":
            assert found == [
                ("A", "2021-01-01", "2022-01-01"),
                ("B", "2022-01-01", "2023-01-01"),
                ("C", "2023-01-01", None),
            ]
        else:
            assert found[-1] == (last, dates[last], None)
            assert values(memory, "ana", "home_city") == [last]
