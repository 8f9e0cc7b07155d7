"""More stories of a memory and its clocks: what every verb can take back, what was known when, how dates are read.

The first stories, verb by verb, are in :mod:`tests.test_stories`; these look at the corners.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from syncmem import (
    NONE,
    UNDATED,
    Decision,
    Environment,
    Grade,
    InvalidInput,
    ManualClock,
    Memory,
    NotFound,
    Receipt,
    SeveralValues,
    Source,
)
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime

Line = list[tuple[Any, str | None, str | None]]


class Person:
    """Somebody's device: a memory whose clock is set by date."""

    def __init__(self, seed: int = 1, path: str | Path = ":memory:", zone: str = "UTC") -> None:
        self.clock = ManualClock(from_datetime(datetime(2025, 1, 1, 12, tzinfo=UTC)))
        self.memory = Memory(path, zone=zone, environment=Environment(self.clock, seeded_randomness(seed)))
        self.memory.define("home", cardinality="single")

    def on(self, day: str, time: str = "12:00") -> Memory:
        self.clock.time = from_datetime(datetime.fromisoformat(f"{day}T{time}+00:00"))
        return self.memory

    def line(self, predicate: str = "home", **asked: Any) -> Line:
        shown = self.memory.timeline("ana", predicate, **asked)
        return [(b.value, _day(b.valid_from), _day(b.valid_to)) for b in shown]

    def home(self, **asked: Any) -> Any:
        belief = self.memory.believe("ana", "home", **asked)
        return None if belief is None else belief.value


def _day(when: datetime | None) -> str | None:
    if when is None:
        return None
    return f"{when:%Y-%m-%d}" if when.time().isoformat() in ("00:00:00", "12:00:00") else f"{when:%Y-%m-%dT%H:%M}"


@pytest.fixture
def ana() -> Iterator[Person]:
    person = Person()
    yield person
    person.memory.close()


@pytest.fixture
def two() -> Iterator[tuple[Person, Person]]:
    laptop, phone = Person(1), Person(2)
    yield laptop, phone
    laptop.memory.close()
    phone.memory.close()


# -- receipts -----------------------------------------------------------------------------------------


def test_every_verb_has_its_receipt(ana: Person) -> None:
    told: dict[str, Receipt] = {}
    told["first"] = ana.on("2025-01-10").remember("ana", "home", "Berlin", since="2020-05-01")
    told["end"] = ana.on("2025-02-01").end("ana", "home", "Berlin")
    told["undo of the end"] = ana.on("2025-02-02").undo(told["end"].event)
    told["deny"] = ana.on("2025-02-03").deny("ana", "home", "Berlin")
    told["undo of the denial"] = ana.on("2025-02-04").undo(told["deny"].event)
    told["retract"] = ana.on("2025-02-05").retract(told["first"].event)
    told["retract again"] = ana.on("2025-02-06").retract(told["first"].event)
    told["undo of one of two"] = ana.on("2025-02-07").undo(told["retract"].event)
    told["undo of both"] = ana.on("2025-02-08").undo(told["retract again"].event)
    told["correct"] = ana.on("2025-02-09").correct(told["first"].event, "Bern")
    told["end of nothing"] = ana.on("2025-02-10").end("ana", "home", "Rome")
    decisions = {name: receipt.decision for name, receipt in told.items()}
    assert decisions == {
        "first": "ADD",
        "end": "DELETE",
        "undo of the end": "ADD",
        "deny": "DELETE",
        "undo of the denial": "ADD",
        "retract": "DELETE",
        "retract again": "NOOP",
        "undo of one of two": "NOOP",
        "undo of both": "ADD",
        "correct": "UPDATE",
        "end of nothing": "NOOP",
    }
    numbers = [receipt.known for receipt in told.values()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert ana.line() == [("Bern", "2020-05-01", None)]


def test_a_receipt_shows_what_it_closed_and_opened_and_is_plain_json(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "home", "Berlin")
    receipt = ana.on("2025-02-10").remember("ana", "home", "Lisbon", changed_on="2025-02-01")
    assert [(c.value, _day(c.valid_from), _day(c.valid_to)) for c in receipt.closed] == [("Berlin", "2025-01-10", None)]
    assert [(c.value, _day(c.valid_from), _day(c.valid_to)) for c in receipt.opened] == [
        ("Berlin", "2025-01-10", "2025-02-01"),
        ("Lisbon", "2025-02-01", None),
    ]
    told = json.loads(json.dumps(receipt.to_dict()))
    assert told["decision"] == "UPDATE"
    assert told["opened"][1]["valid_from"] == "2025-02-01T00:00:00Z"
    assert told["lost_to"] is None


def test_a_predicate_that_nobody_defined_is_reported_until_somebody_does(ana: Person) -> None:
    assert ana.memory.remember("ana", "pet", "cat").undeclared
    ana.memory.define("pet", cardinality="many")
    assert not ana.memory.remember("ana", "pet", "dog").undeclared


def test_a_late_stale_claim_is_evidence_and_changes_nothing(ana: Person) -> None:
    ana.on("2025-03-01").remember("ana", "home", "Lisbon", since="2020-01-01")
    receipt = ana.on("2025-03-02").remember("ana", "home", "Berlin", since="2021-01-01", observed_at="2022-01-01")
    assert receipt.decision == Decision.NOOP
    assert receipt.lost_to is not None and receipt.lost_to.value == "Lisbon"
    assert ana.line() == [("Lisbon", "2020-01-01", None)]


# -- everything can be taken back ---------------------------------------------------------------------

UNDONE: dict[str, Callable[[Memory, Receipt, Receipt], Receipt]] = {
    "a claim": lambda m, first, second: m.remember("ana", "home", "Rome"),
    "a change": lambda m, first, second: m.remember("ana", "home", "Rome", changed_on="2025-01-20"),
    "a period": lambda m, first, second: m.remember("ana", "home", "Rome", since="2024-02", until="2024-03"),
    "a trip": lambda m, first, second: m.remember("ana", "home", "Rome", until="2025-08"),
    "an affirmation": lambda m, first, second: m.remember("ana", "home", "Lisbon"),
    "an end": lambda m, first, second: m.end("ana", "home", "Lisbon"),
    "an end of a claim": lambda m, first, second: m.end("ana", "home", "Lisbon", event=second.event),
    "an end by a change": lambda m, first, second: m.end("ana", "home", "Berlin", at="2025-01-20", changed=True),
    "a denial": lambda m, first, second: m.deny("ana", "home", "Berlin"),
    "a retraction": lambda m, first, second: m.retract(second.event),
    "a correction": lambda m, first, second: m.correct(first.event, "Bern"),
    "an undoing": lambda m, first, second: m.undo(second.event),
    "a withdrawal": lambda m, first, second: m.retract(batch="import"),
    "a definition": lambda m, first, second: m.define("home", cardinality="many"),
    "a clock note": lambda m, first, second: m.correct_clock(first.event, timedelta(days=-40)),
    "none": lambda m, first, second: m.remember("ana", "home", NONE),
}


@pytest.mark.parametrize("what", UNDONE)
def test_what_was_written_and_undone_leaves_no_trace_in_beliefs(ana: Person, what: str) -> None:
    first = ana.on("2025-01-10").remember("ana", "home", "Berlin")
    second = ana.on("2025-02-10").remember("ana", "home", "Lisbon", batch="import")
    before = ana.memory.belief_digest(), ana.line()
    written = UNDONE[what](ana.on("2025-03-10"), first, second)
    ana.on("2025-03-11").undo(written.event)
    assert (ana.memory.belief_digest(), ana.line()) == before
    ana.memory.rebuild()
    assert (ana.memory.belief_digest(), ana.line()) == before


def test_a_correction_keeps_the_start_that_was_stated_and_the_one_that_was_not(ana: Person) -> None:
    stated = ana.on("2025-01-10").remember("ana", "home", "Berln", since="2019-05")
    ana.on("2025-01-11").correct(stated.event, "Berlin")
    assert ana.line() == [("Berlin", "2019-05-01", None)]
    unstated = ana.on("2025-02-10").remember("ana", "home", "Lisbn")
    ana.on("2025-03-01").correct(unstated.event, "Lisbon")
    assert ana.line()[1:] == [("Lisbon", "2025-02-10", None)]


def test_a_correction_of_a_correction_brings_nothing_back(ana: Person) -> None:
    first = ana.on("2025-01-10").remember("ana", "home", "Berln")
    second = ana.on("2025-01-11").correct(first.event, "Berlim")
    third = ana.on("2025-01-12").correct(second.event, "Berlin")
    assert ana.line() == [("Berlin", "2025-01-10", None)]
    ana.on("2025-01-13").retract(third.event)
    assert ana.line() == []
    ana.on("2025-01-14").undo(second.event)
    assert ana.line() == [("Berln", "2025-01-10", None)]


def test_a_period_that_is_corrected_keeps_its_bounds_unless_others_are_given(ana: Person) -> None:
    job = ana.on("2025-01-10").remember("ana", "home", "Stutgart", since="2021", until="2024-03")
    right = ana.on("2025-01-11").correct(job.event, "Stuttgart")
    assert ana.line() == [("Stuttgart", "2021-01-01", "2024-04-01")]
    ana.on("2025-01-12").correct(right.event, "Stuttgart", since="2020", until="2024-03")
    assert ana.line() == [("Stuttgart", "2020-01-01", "2024-04-01")]


# -- dates --------------------------------------------------------------------------------------------


def test_until_is_inclusive_at_its_precision_and_valid_to_is_not(ana: Person) -> None:
    ana.on("2025-01-10")
    spans = {
        "a": {"since": "2021", "until": "2022"},
        "b": {"since": "2021-02", "until": "2021-02"},
        "c": {"since": "2021-02-03", "until": date(2021, 2, 5)},
        "d": {"since": "2021", "valid_to": "2022"},
        "e": {"since": "2021-33", "until": "2021-Q1"},
    }
    for name, span in spans.items():
        ana.memory.remember("ana", name, "x", **span)
    assert {name: ana.line(name)[0][1:] for name in spans} == {
        "a": ("2021-01-01", "2023-01-01"),
        "b": ("2021-02-01", "2021-03-01"),
        "c": ("2021-02-03", "2021-02-06"),
        "d": ("2021-01-01", "2022-01-01"),
        "e": ("2021-01-01", "2021-04-01"),
    }


def test_a_date_is_a_local_date_of_the_zone_that_was_given() -> None:
    with Memory(":memory:", zone="America/New_York") as memory:
        memory.remember("ana", "trip", "Paris", since="2025-07-04", until="2025-07-04", then="resume")
        memory.remember("ana", "call", "Tokyo", since="2025-07-04", until="2025-07-04", zone="Asia/Tokyo")
        (trip,), (call,) = memory.timeline("ana", "trip"), memory.timeline("ana", "call")
    assert (trip.valid_from, trip.valid_to) == (
        datetime(2025, 7, 4, 4, tzinfo=UTC),
        datetime(2025, 7, 5, 4, tzinfo=UTC),
    )
    assert (call.valid_from, call.valid_to) == (
        datetime(2025, 7, 3, 15, tzinfo=UTC),
        datetime(2025, 7, 4, 15, tzinfo=UTC),
    )


def test_a_plan_resumes_and_a_history_vacates_unless_said_otherwise(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "home", "Berlin", since="2015")
    ana.on("2025-06-10").remember("ana", "home", "Rome", since="2025-07", until="2025-08")
    ana.on("2025-06-11").remember("ana", "home", "Oslo", since="2025-03", until="2025-04")
    assert ana.line() == [
        ("Berlin", "2015-01-01", "2025-03-01"),
        ("Oslo", "2025-03-01", "2025-05-01"),
        ("Rome", "2025-07-01", "2025-09-01"),
    ]
    other = Person(2)
    other.on("2025-01-10").remember("ana", "home", "Berlin", since="2015")
    other.on("2025-06-11").remember("ana", "home", "Oslo", since="2025-03", until="2025-04", then="resume")
    assert other.line()[-1] == ("Berlin", "2025-05-01", None)


def test_the_earlier_of_two_ends_counts(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "offer", "10 %", until="2025-03", expires_at="2025-02-01")
    assert ana.line("offer") == [("10 %", "2025-01-10", "2025-02-01")]


def test_moved_in_march_said_in_april_beats_what_was_said_in_march(ana: Person) -> None:
    ana.on("2025-03-10").remember("ana", "home", "Berlin")
    ana.on("2025-04-02").remember("ana", "home", "Lisbon", changed_on="2025-03")
    assert ana.line() == [("Lisbon", "2025-03-01", None)]
    rui = Person(2)
    rui.on("2025-03-10").remember("ana", "home", "Berlin")
    rui.on("2025-04-02").remember("ana", "home", "Lisbon", changed_on="2025-03-05")
    assert rui.line() == [("Lisbon", "2025-03-05", "2025-03-10"), ("Berlin", "2025-03-10", None)]


def test_an_undated_document_only_fills_gaps(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "home", "Berlin", trust="document")
    receipt = ana.on("2025-01-11").remember(
        "ana", "home", "Rome", source="document", observed_at=UNDATED, trust="document"
    )
    assert receipt.decision == Decision.ADD
    assert [value for value, _, _ in ana.line()] == ["Rome", "Berlin"]
    assert ana.home() == "Berlin"


def test_an_observation_is_never_later_than_the_clock(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "home", "Rome", observed_at="2030-01-01")
    ana.on("2025-01-11").remember("ana", "home", "Berlin")
    assert ana.home() == "Berlin"


# -- lapsing and ageing -------------------------------------------------------------------------------


def test_a_claim_lapses_after_its_ttl_unless_it_is_affirmed(ana: Person) -> None:
    ana.memory.define("mood", cardinality="single", ttl="7d")
    ana.on("2025-01-10").remember("ana", "mood", "busy")
    assert ana.line("mood") == [("busy", "2025-01-10", "2025-01-17")]
    ana.on("2025-01-15").remember("ana", "mood", "busy")
    assert ana.line("mood") == [("busy", "2025-01-10", "2025-01-22")]
    ana.on("2025-01-16").remember("ana", "mood", "calm", ttl=timedelta(days=1))
    assert ana.line("mood") == [("busy", "2025-01-10", "2025-01-16"), ("calm", "2025-01-16", "2025-01-17")]


def test_a_default_is_settled_when_a_claim_is_written_and_stays(ana: Person) -> None:
    ana.memory.define("mood", cardinality="single", ttl="7d")
    ana.on("2025-01-10").remember("ana", "mood", "busy")
    ana.on("2025-01-11").define("mood", cardinality="single", ttl="30d")
    assert ana.line("mood") == [("busy", "2025-01-10", "2025-01-17")]


def test_what_is_stale_yields_to_less_trusted_news(ana: Person) -> None:
    ana.memory.define("phone", cardinality="single", stale_after="30d", stale_trust="inference")
    ana.on("2025-01-10").remember("ana", "phone", "111")
    ana.on("2025-01-20").remember("ana", "phone", "222", trust="document", changed_on="2025-01-20T12:00Z")
    assert ana.line("phone") == [("111", "2025-01-10", "2025-02-09"), ("222", "2025-02-09", None)]
    ana.on("2025-03-20").remember("ana", "phone", "333", trust="inference")
    assert ana.line("phone")[2:] == [("333", "2025-03-20", None)]


# -- known time ---------------------------------------------------------------------------------------


def test_a_clock_that_jumps_ten_years_and_back_does_not_poison_later_answers(ana: Person) -> None:
    first = ana.on("2025-01-10").remember("ana", "home", "Berlin", changed_on="2025-01-10")
    wrong = ana.on("2035-01-10").remember("ana", "home", "Rome", changed_on="2025-02-01")
    right = ana.on("2025-03-10").remember("ana", "home", "Lisbon", changed_on="2025-03-01")
    assert [first.known + 1, first.known + 2] == [wrong.known, right.known]
    at = {"valid_at": "2025-03-20"}
    assert [ana.home(known_at=n, **at) for n in (first.known, wrong.known, right.known)] == ["Berlin", "Rome", "Lisbon"]
    assert ana.home(known_at="2025-03-11", **at) == "Lisbon"
    assert ana.home(known_at="2025-01-20", **at) == "Berlin"
    assert ana.home(known_at="2025-01-01", **at) is None
    ana.on("2025-03-11").correct_clock(wrong.event, timedelta(days=-3_650), last=wrong.event)
    assert ana.home(known_at="2025-01-20", **at) in ("Berlin", "Rome")
    assert ana.home(known_at="2025-03-12", **at) == "Lisbon"
    assert [ana.home(known_at=n, **at) for n in (first.known, wrong.known, right.known)] == ["Berlin", "Rome", "Lisbon"]


def test_what_was_known_on_a_day_includes_the_day(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "home", "Berlin")
    asked = {"valid_at": "2025-01-10T13:00Z"}
    assert ana.home(known_at="2025-01-10", **asked) == "Berlin"
    assert ana.home(known_at="2025-01-10T11:00Z", **asked) is None
    assert ana.home(known_at="2025-01", **asked) == "Berlin"


def test_the_past_stays_as_it_was_believed_whatever_is_learned_later(two: tuple[Person, Person]) -> None:
    laptop, phone = two
    laptop.on("2025-01-10").remember("ana", "home", "Berlin")
    then = laptop.line()
    known = laptop.memory.doctor().facts["file"]["transactions"]
    wrong = phone.on("2025-01-05").remember("ana", "home", "Rome")
    laptop.on("2025-02-01").merge(phone.memory)
    laptop.on("2025-02-02").retract(wrong.event)
    laptop.on("2025-02-03").define("home", cardinality="many")
    laptop.on("2025-02-04").deny("ana", "home", "Berlin")
    assert laptop.line() == []
    assert laptop.line(known_at=known) == then
    laptop.memory.rebuild()
    assert laptop.line(known_at=known) == then


def test_another_device_tells_what_a_device_believed_and_how_sure_that_is(two: tuple[Person, Person]) -> None:
    laptop, phone = two
    laptop.on("2025-01-10").remember("ana", "home", "Berlin")
    phone.on("2025-02-01").merge(laptop.memory)
    phone.on("2025-02-10").remember("ana", "home", "Lisbon")
    laptop.on("2025-03-01").merge(phone.memory)
    asked: dict[str, Any] = {"device": phone.memory.device, "valid_at": "2025-02-20"}
    told = {
        day: laptop.memory.believe("ana", "home", known_at=day, **asked)
        for day in ("2025-01-20", "2025-02-05", "2025-02-11")
    }
    assert told["2025-01-20"] is None
    assert {day: (b.value, b.grade) for day, b in told.items() if b is not None} == {
        "2025-02-05": ("Berlin", Grade.EXACT),
        "2025-02-11": ("Lisbon", Grade.PROVISIONAL),
    }
    assert phone.home(known_at="2025-02-05", valid_at="2025-02-20") == "Berlin"


# -- history and reasons ------------------------------------------------------------------------------


def test_history_tells_every_event_its_status_and_what_it_did(ana: Person) -> None:
    claim = ana.on("2025-01-10").remember("ana", "home", "Berlin")
    end = ana.on("2025-02-10").end("ana", "home", "Berlin", event=claim.event)
    retract = ana.on("2025-02-11").retract(claim.event, reason="somebody else's")
    ana.on("2025-02-12").remember(
        "ana", "home", "Lisbon", batch="import", source=Source("model", "m-1", "talk", (3, 9))
    )
    ana.on("2025-02-13").retract(batch="import")
    denied = ana.on("2025-02-14").remember("ana", "home", "Faro")
    ana.on("2025-02-15").deny("ana", "home", "Faro")
    entries = [e for e in ana.memory.history("ana", "home") if e.verb != "define"]
    assert [(e.verb, e.status) for e in entries] == [
        ("remember", "retracted"),
        ("end", "detached"),
        ("retract", "live"),
        ("remember", "withdrawn"),
        ("withdraw", "live"),
        ("remember", "denied"),
        ("deny", "live"),
    ]
    assert entries[1].names == (claim.event,) and entries[2].names == (claim.event,)
    assert entries[3].source.span == (3, 9) and entries[3].batch == "import"
    assert [entry.effect for entry in entries[:3]] == [
        "Berlin holds from 2025-01-10",
        "Berlin holds from 2025-01-10 to 2025-02-10",
        "Berlin no longer holds from 2025-01-10 to 2025-02-10",
    ]
    assert [e.known for e in entries] == sorted(e.known for e in entries)
    assert ana.memory.event(end.event).event == end.event
    assert ana.memory.event(retract.event).names == (claim.event,)
    assert ana.memory.why("ana", "home").belief is None
    assert {e.value for e, _ in ana.memory.why("ana", "home").taken_back} == {"Berlin", "Lisbon", "Faro"}
    assert denied.event == entries[5].event
    json.dumps([e.to_dict() for e in entries])


def test_why_says_what_lost_and_what_for(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "home", "Berlin")
    ana.on("2025-02-10").remember("ana", "home", "Lisbon")
    ana.on("2025-02-11").remember("ana", "home", "Rome", until="2025-02-20")
    ana.on("2025-02-12").remember("ana", "home", "Oslo", trust="inference")
    answer = ana.memory.why("ana", "home", valid_at="2025-02-15")
    reasons = {entry.value: reason for entry, reason in answer.lost}
    assert answer.winner is not None and answer.winner.value == "Rome"
    assert reasons["Oslo"] == "its trust 30 is less than 90"
    assert reasons["Lisbon"] == "a temporary statement lies over it"
    assert answer.belief is not None and answer.belief.contested and "ask the user" in answer.text
    assert ana.memory.why("ana", "nothing").text.startswith("Nothing was ever said")
    json.dumps(answer.to_dict())


# -- slots, scopes, batches ---------------------------------------------------------------------------


def test_many_values_are_told_as_a_list_and_one_as_itself(ana: Person) -> None:
    ana.memory.define("language", cardinality="many")
    ana.on("2025-01-10").remember("ana", "language", "English")
    belief = ana.memory.believe("ana", "language")
    assert belief is not None and belief.value == "English"
    ana.memory.remember("ana", "language", "German")
    with pytest.raises(SeveralValues, match="beliefs"):
        ana.memory.believe("ana", "language")
    assert ana.memory.entities() == ["ana"]
    assert {name: p.many for name, p in ana.memory.predicates().items()} == {"home": False, "language": True}


def test_none_before_and_after_a_value_in_a_many_valued_slot(ana: Person) -> None:
    ana.memory.define("car", cardinality="many")
    ana.on("2025-01-10").remember("ana", "car", NONE, changed_on="2020-01-01")
    ana.on("2025-01-11").remember("ana", "car", "Polo", changed_on="2021-01-01")
    ana.on("2025-01-12").remember("ana", "car", NONE, changed_on="2023-01-01")
    assert ana.line("car") == [
        (NONE, "2020-01-01", "2021-01-01"),
        ("Polo", "2021-01-01", "2023-01-01"),
        (NONE, "2023-01-01", None),
    ]


def test_a_none_that_is_undone_while_a_value_is_first_said_elsewhere(two: tuple[Person, Person]) -> None:
    laptop, phone = two
    none = laptop.on("2025-02-10").remember("ana", "car", NONE)
    phone.memory.merge(laptop.memory)
    laptop.on("2025-03-10").remember("ana", "car", "Polo", changed_on="2021-01-01")
    laptop.memory.undo(none.event)
    phone.memory.merge(laptop.memory)
    assert laptop.line("car") == phone.line("car") == [("Polo", "2021-01-01", None)]


def test_a_withdrawn_batch_takes_ends_denials_and_definitions_along(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "home", "Berlin")
    ana.on("2025-01-11").remember("ana", "language", "English")
    before = ana.memory.belief_digest()
    batch: dict[str, Any] = {"batch": "import"}
    ana.on("2025-02-01").remember("ana", "home", "Rome", **batch)
    ana.memory.end("ana", "home", "Berlin", **batch)
    ana.memory.deny("ana", "language", "English", **batch)
    ana.memory.define("language", cardinality="single", **batch)
    assert ana.memory.belief_digest() != before
    withdrawn = ana.on("2025-02-02").retract(batch="import")
    assert ana.memory.belief_digest() == before
    ana.on("2025-02-03").remember("ana", "home", "Oslo", **batch)
    assert ana.memory.belief_digest() == before
    ana.on("2025-02-04").undo(withdrawn.event)
    assert ana.home() == "Oslo"


def test_a_batch_of_two_scopes_is_withdrawn_in_both(ana: Person) -> None:
    ana.on("2025-02-01").remember("ana", "home", "Rome", batch="import")
    ana.memory.remember("ana", "home", "Office", batch="import", scope="work")
    ana.on("2025-02-02").retract(batch="import")
    assert (ana.home(), ana.home(scope="work")) == (None, None)


def test_the_scope_device_never_leaves_and_others_go_where_they_are_wanted(tmp_path: Path) -> None:
    laptop, phone = Person(1, tmp_path / "laptop.db"), Person(2, tmp_path / "phone.db")
    laptop.on("2025-01-10").remember("ana", "home", "Here", scope="device")
    digests = laptop.memory.event_digest(), laptop.memory.belief_digest()
    laptop.memory.remember("ana", "home", "There", scope="device")
    assert (laptop.memory.event_digest(), laptop.memory.belief_digest()) == digests
    laptop.memory.remember("ana", "home", "Office", scope="work")
    assert laptop.memory.export_bundle(tmp_path / "vault.bundle", scopes=["vault", "device"]) == 1
    phone.on("2025-01-11").merge(laptop.memory)
    assert (phone.home(scope="device"), phone.home(scope="work")) == (None, "Office")
    laptop.memory.close()
    phone.memory.close()
    for suffix in ("", "-wal"):
        file = tmp_path / f"phone.db{suffix}"
        assert not file.exists() or b"There" not in file.read_bytes()


def test_a_definition_of_a_scope_counts_there_only(ana: Person) -> None:
    ana.memory.define("home", cardinality="many", scope="work")
    for scope in ("vault", "work"):
        ana.on("2025-01-10").remember("ana", "home", "A", scope=scope)
        ana.on("2025-01-11").remember("ana", "home", "B", scope=scope)
    assert [len(ana.memory.beliefs("ana", "home", scope=scope)) for scope in ("vault", "work")] == [1, 2]


def test_single_many_single_refolds_and_the_past_stays(ana: Person) -> None:
    ana.on("2025-01-10").remember("ana", "job", "Stripe", changed_on="2020-01-01")
    ana.on("2025-01-11").remember("ana", "job", "Acme", changed_on="2024-01-01")
    seen = []
    for cardinality in ("single", "many", "single"):
        ana.clock.time += 3_600_000_000
        known = ana.memory.define("job", cardinality=cardinality).known
        seen.append((known, ana.line("job")))
    assert [len(line) for _, line in seen] == [2, 2, 2]
    assert seen[0][1] == seen[2][1] == [("Stripe", "2020-01-01", "2024-01-01"), ("Acme", "2024-01-01", None)]
    assert seen[1][1] == [("Stripe", "2020-01-01", None), ("Acme", "2024-01-01", None)]
    assert [ana.line("job", known_at=known) for known, _ in seen] == [line for _, line in seen]


# -- meeting ------------------------------------------------------------------------------------------


def test_a_merge_reports_what_it_brought_and_brings_it_once(two: tuple[Person, Person]) -> None:
    laptop, phone = two
    for day in range(10, 20):
        phone.on(f"2025-01-{day}").remember("ana", "home", f"city {day}")
    told: list[int] = []
    report = laptop.on("2025-02-01").merge(phone.memory, progress=told.append)
    assert (report.events, report.slots) == (11, (("vault", "ana", "home"),))
    assert told[-1] == 11
    assert laptop.memory.merge(phone.memory).events == 0
    assert [(d.own, d.events > 0) for d in laptop.memory.devices()] == [(True, True), (False, True)]
    assert laptop.memory.devices()[1].last_seen == datetime(2025, 1, 19, 12, tzinfo=UTC)
    assert phone.memory.devices()[0].id == phone.memory.device == laptop.memory.devices()[1].id


def test_idle_devices_stay_silent(two: tuple[Person, Person]) -> None:
    laptop, phone = two
    laptop.on("2025-01-10").remember("ana", "home", "Berlin")
    for _ in range(4):
        phone.memory.merge(laptop.memory)
        laptop.memory.merge(phone.memory)
    digests = laptop.memory.event_digest(), phone.memory.event_digest()
    for _ in range(4):
        assert phone.memory.merge(laptop.memory).transactions == 0
        assert laptop.memory.merge(phone.memory).transactions == 0
    assert (laptop.memory.event_digest(), phone.memory.event_digest()) == digests
    assert digests[0] == digests[1]


def test_an_event_may_be_named_only_where_it_has_arrived(two: tuple[Person, Person]) -> None:
    laptop, phone = two
    claim = laptop.on("2025-01-10").remember("ana", "home", "Berlin")
    for verb in (phone.memory.undo, phone.memory.retract, phone.memory.event):
        with pytest.raises(NotFound, match="sync or merge first"):
            verb(claim.event)
    phone.memory.merge(laptop.memory)
    phone.memory.retract(claim.event)
    assert laptop.home() == "Berlin"
    laptop.memory.merge(phone.memory)
    assert laptop.home() is None


def test_two_devices_that_contradict_each_other_within_minutes_are_contested(two: tuple[Person, Person]) -> None:
    laptop, phone = two
    laptop.on("2025-01-10", "12:00").remember("ana", "home", "Berlin")
    phone.on("2025-01-10", "12:04").remember("ana", "home", "Lisbon")
    laptop.memory.merge(phone.memory)
    assert [(b.value, b.contested) for b in laptop.memory.timeline("ana", "home")] == [
        ("Berlin", False),
        ("Lisbon", True),
    ]
    assert [b.value for b in laptop.memory.contested()] == ["Lisbon"]
    laptop.on("2025-01-10", "12:30").remember("ana", "home", "Lisbon", affirm=False)
    assert laptop.memory.contested(valid_at="2025-01-10T12:31Z") == []


def test_events_of_several_scopes_are_not_taken_back_together(ana: Person) -> None:
    one = ana.memory.remember("ana", "home", "A")
    other = ana.memory.remember("ana", "home", "B", scope="work")
    with pytest.raises(InvalidInput, match="one at a time"):
        ana.memory.retract(one.event, other.event)
    ana.memory.retract(one.event)
    ana.memory.retract(other.event)
    assert (ana.home(), ana.home(scope="work")) == (None, None)
