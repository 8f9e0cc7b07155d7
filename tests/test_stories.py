"""What a user does and gets, verb by verb, with the clock in the test's hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from syncmem import NONE, Decision, Environment, Grade, ManualClock, Memory, Receipt, SeveralValues, Source
from syncmem.environment import seeded_randomness
from syncmem.model.instant import from_datetime

DAY = 86_400_000_000


class Desk:
    """A memory with a clock that is set by date."""

    def __init__(self, seed: int = 1, path: str = ":memory:") -> None:
        self.clock = ManualClock(0)
        self.memory = Memory(path, zone="UTC", environment=Environment(self.clock, seeded_randomness(seed)))
        self.on("2025-01-01")
        self.memory.define("home_city", cardinality="single")

    def on(self, day: str) -> Memory:
        self.clock.time = from_datetime(datetime.fromisoformat(f"{day}T12:00+00:00"))
        return self.memory

    def home(self, **asked: object) -> object:
        belief = self.memory.believe("ana", "home_city", **asked)  # type: ignore[arg-type]
        return None if belief is None else belief.value

    def line(self) -> list[tuple[object, str | None, str | None]]:
        return [
            (b.value, b.valid_from and f"{b.valid_from:%Y-%m-%d}", b.valid_to and f"{b.valid_to:%Y-%m-%d}")
            for b in self.memory.timeline("ana", "home_city")
        ]


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.memory.close()


def test_each_decision_of_a_receipt(desk: Desk) -> None:
    first = desk.on("2025-01-10").remember("ana", "home_city", "Berlin")
    again = desk.on("2025-01-11").remember("ana", "home_city", "Berlin")
    moved = desk.on("2025-02-01").remember("ana", "home_city", "Lisbon")
    ended = desk.on("2025-03-01").end("ana", "home_city", "Lisbon")
    desk.on("2025-03-02").undo(ended.event)
    guess = desk.on("2025-04-01").remember("ana", "home_city", "Porto", trust="inference")
    old = desk.on("2025-04-02").remember("ana", "home_city", "Bonn", observed_at="2025-01-05", valid_to="2025-01-08")
    decisions = [receipt.decision for receipt in (first, again, moved, ended, guess, old)]
    assert decisions == ["ADD", "NOOP", "UPDATE", "DELETE", "CONTESTED", "ADD"]
    assert [change.value for change in moved.closed] == ["Berlin"]
    assert [change.value for change in moved.opened] == ["Berlin", "Lisbon"]
    assert guess.lost_to is not None and guess.lost_to.value == "Lisbon"
    assert all(receipt.why for receipt in (first, again, moved, guess, ended, old))
    assert again.event != first.event, "an affirmation is kept"


def test_a_stale_device_closes_an_interval_and_clobbers_nothing() -> None:
    laptop, tablet = Desk(1), Desk(2)
    laptop.on("2025-01-10").remember("ana", "home_city", "Berlin")
    laptop.on("2025-06-01").remember("ana", "home_city", "Lisbon")
    tablet.on("2025-03-01").remember("ana", "home_city", "Bonn")
    laptop.on("2025-07-01").merge(tablet.memory)
    assert laptop.line() == [
        ("Berlin", "2025-01-10", "2025-03-01"),
        ("Bonn", "2025-03-01", "2025-06-01"),
        ("Lisbon", "2025-06-01", None),
    ]
    assert laptop.home(known_at="2025-06-15", valid_at="2025-04-01") == "Berlin"
    assert laptop.home(valid_at="2025-04-01") == "Bonn"


def test_a_week_away_gives_the_old_value_back(desk: Desk) -> None:
    desk.on("2025-01-10").remember("ana", "home_city", "Lisbon")
    desk.on("2025-06-09").remember("ana", "home_city", "Paris", until="2025-06-15")
    assert desk.line() == [
        ("Lisbon", "2025-01-10", "2025-06-09"),
        ("Paris", "2025-06-09", "2025-06-16"),
        ("Lisbon", "2025-06-16", None),
    ]
    desk.on("2025-06-12").remember("ana", "home_city", "Lisbon", affirm=False)  # "I am back already"
    assert desk.line()[1:] == [("Paris", "2025-06-09", "2025-06-12"), ("Lisbon", "2025-06-12", None)]


def test_a_period_leaves_nothing_behind(desk: Desk) -> None:
    desk.on("2025-06-01").remember("ana", "home_city", "Stuttgart", since="2021", until="2024-03")
    assert desk.line() == [("Stuttgart", "2021-01-01", "2024-04-01")]
    assert desk.home() is None


def test_expiry_hides_without_a_sweep(desk: Desk) -> None:
    desk.on("2025-01-10").remember("ana", "mood", "busy", ttl="5d")
    desk.on("2025-01-12")
    assert [b.value for b in desk.memory.beliefs("ana", "mood")] == ["busy"]
    desk.on("2025-01-16")
    assert desk.memory.beliefs("ana", "mood") == []
    desk.memory.remember("ana", "offer", "10 %", expires_at="2025-01-20")
    desk.on("2025-01-21")
    assert desk.memory.beliefs("ana", "offer") == []


def test_none_is_known_and_nothing_is_unknown(desk: Desk) -> None:
    desk.memory.define("car", cardinality="single")
    assert desk.memory.believe("ana", "car") is None
    desk.on("2025-01-10").remember("ana", "car", "Polo")
    desk.on("2025-02-10").remember("ana", "car", NONE)
    belief = desk.memory.believe("ana", "car")
    assert belief is not None and belief.is_none and belief.value is NONE
    desk.on("2025-03-10").remember("ana", "car", "Fiat")
    assert [b.value for b in desk.memory.timeline("ana", "car")] == ["Polo", NONE, "Fiat"]


def test_none_in_a_many_valued_slot_ends_all_and_is_ended_by_any(desk: Desk) -> None:
    for day, value in (("2025-01-02", "cat"), ("2025-01-03", "dog"), ("2025-02-01", NONE), ("2025-03-01", "fish")):
        desk.on(day).remember("ana", "pet", value)
    at = {
        day: sorted(map(str, (b.value for b in desk.memory.beliefs("ana", "pet", valid_at=day))))
        for day in ("2025-01-10", "2025-02-10", "2025-03-10")
    }
    assert at == {"2025-01-10": ["cat", "dog"], "2025-02-10": ["NONE"], "2025-03-10": ["fish"]}
    desk.on("2025-04-01").end("ana", "pet", "fish")
    assert desk.memory.beliefs("ana", "pet") == []


def test_many_values_live_side_by_side_and_end_alone(desk: Desk) -> None:
    for language in ("English", "Portuguese", "German", "French", "Dutch"):
        desk.on("2025-01-10").remember("ana", "language", language)
    with pytest.raises(SeveralValues, match="beliefs"):
        desk.memory.believe("ana", "language")
    receipt = desk.on("2025-02-10").end("ana", "language", "Dutch")
    assert receipt.decision == Decision.DELETE
    assert len(desk.memory.beliefs("ana", "language")) == 4


def test_a_definition_after_the_fact_and_back(desk: Desk) -> None:
    desk.on("2025-01-10").remember("ana", "employer", "Stripe", changed_on="2020-01-01")
    desk.on("2025-01-11").remember("ana", "employer", "Acme", changed_on="2024-01-01")
    assert len(desk.memory.beliefs("ana", "employer")) == 2
    known = desk.on("2025-01-12").define("employer", cardinality="single").known
    assert desk.memory.believe("ana", "employer") is not None
    undone = desk.on("2025-01-13").define("employer", cardinality="many")
    assert len(desk.memory.beliefs("ana", "employer")) == 2
    desk.on("2025-01-14").undo(undone.event)
    assert len(desk.memory.beliefs("ana", "employer")) == 1
    assert len(desk.memory.beliefs("ana", "employer", known_at=known - 1)) == 2


def test_equality_decides_what_is_the_same(desk: Desk) -> None:
    desk.memory.define("size", cardinality="single", equality="number")
    desk.memory.define("email", cardinality="single", equality="casefold")
    desk.on("2025-01-10").remember("ana", "size", "1.50")
    assert desk.on("2025-01-11").remember("ana", "size", 1.5).decision == Decision.NOOP
    desk.memory.remember("ana", "email", "Ana@Example.org")
    assert desk.on("2025-01-12").remember("ana", "email", "ana@example.org").decision == Decision.NOOP


def test_retract_correct_and_undo(desk: Desk) -> None:
    first = desk.on("2025-01-10").remember("ana", "home_city", "Berln", since="2019-05")
    right = desk.on("2025-01-11").correct(first.event, "Berlin")
    assert desk.line() == [("Berlin", "2019-05-01", None)]
    moved = desk.on("2025-02-01").remember("ana", "home_city", "Lisbon")
    gone = desk.on("2025-02-02").retract(moved.event, reason="somebody else")
    assert desk.home() == "Berlin"
    back = desk.on("2025-02-03").undo(gone.event)
    assert desk.home() == "Lisbon"
    desk.on("2025-02-04").undo(back.event)
    assert desk.home() == "Berlin"
    desk.on("2025-02-05").undo(right.event)
    assert desk.home() == "Berln"
    statuses = {e.event: e.status for e in desk.memory.history("ana", "home_city")}
    assert statuses[moved.event] == "retracted" and statuses[right.event] == "undone"
    assert statuses[back.event] == "undone"
    assert desk.memory.event(gone.event).reason == "somebody else"


def test_a_denial_stands_against_twins_that_arrive_later() -> None:
    laptop, phone = Desk(1), Desk(2)
    laptop.on("2025-01-10").remember("ana", "home_city", "Berlin")
    phone.on("2025-02-10").remember("ana", "home_city", "Lisbon")
    laptop.on("2025-03-10").deny("ana", "home_city", "Lisbon")
    laptop.memory.merge(phone.memory)
    assert laptop.home() == "Berlin"
    laptop.on("2025-04-10").remember("ana", "home_city", "Lisbon")
    assert laptop.home() == "Lisbon"


def test_a_batch_is_withdrawn_also_where_it_arrives_late() -> None:
    laptop, phone = Desk(1), Desk(2)
    laptop.on("2025-01-10").remember("ana", "home_city", "Berlin")
    imported = {"batch": "import-1", "source": "integration", "trust": "user"}
    for person in ("ana", "rui"):
        phone.on("2025-02-10").remember(person, "home_city", "Rome", **imported)
    laptop.on("2025-03-10").retract(batch="import-1", scope="vault")
    laptop.memory.merge(phone.memory)
    assert laptop.home() == "Berlin"
    assert laptop.memory.believe("rui", "home_city") is None
    withdrawal = [e for e in laptop.memory.history("ana", "home_city") if e.verb == "withdraw"]
    laptop.on("2025-03-11").undo(withdrawal[0].event)
    assert laptop.home() == "Rome"


def test_authority_is_trust_or_the_same_source_and_device(desk: Desk) -> None:
    agent = Source(kind="model", id="agent-1")
    stated = desk.on("2025-01-10").remember("ana", "home_city", "Lisbon")
    weak = desk.on("2025-01-11").retract(stated.event, trust="inference", source=agent)
    assert weak.decision == Decision.CONTESTED
    assert desk.home() == "Lisbon"
    assert [b.value for b in desk.memory.contested()] == ["Lisbon"]
    desk.memory.undo(weak.event)
    assert desk.memory.contested() == []
    own = desk.on("2025-01-12").remember("rui", "home_city", "Faro", trust="document", source=agent)
    assert desk.memory.retract(own.event, trust="inference", source=agent).decision == Decision.DELETE


def test_what_lost_by_trust_is_contested_until_the_user_decides(desk: Desk) -> None:
    desk.on("2025-01-10").remember("ana", "home_city", "Berlin")
    desk.on("2025-02-10").remember("ana", "home_city", "Lisbon", trust="inference", source="model")
    (question,) = desk.memory.contested()
    assert (question.value, question.valid_from) == ("Berlin", datetime(2025, 2, 10, 12, tzinfo=UTC))
    assert desk.memory.contested(valid_at="2025-02-01") == []
    known = desk.memory._replica.last_transaction
    desk.on("2025-02-11").remember("ana", "home_city", "Lisbon", since="2025-02-10")
    assert desk.memory.contested() == []
    assert [b.value for b in desk.memory.contested(known_at=known)] == ["Berlin"]
    belief = desk.memory.believe("ana", "home_city")
    assert belief is not None and (belief.value, belief.trust) == ("Lisbon", 90)


def test_why_names_winner_supports_and_losers(desk: Desk) -> None:
    desk.on("2025-01-10").remember("ana", "home_city", "Berlin", source="user")
    desk.on("2025-02-10").remember("ana", "home_city", "Lisbon", source=Source("user", "chat", "talk-7", (3, 9)))
    desk.on("2025-02-11").remember("ana", "home_city", "Lisbon")
    desk.on("2025-02-12").remember("ana", "home_city", "Porto", trust="inference")
    answer = desk.memory.why("ana", "home_city")
    assert answer.belief is not None and answer.belief.value == "Lisbon"
    assert answer.winner is not None and answer.winner.value == "Lisbon"
    assert {entry.value for entry in answer.supports} == {"Lisbon"}
    assert {entry.value: why for entry, why in answer.lost}.keys() == {"Berlin", "Porto"}
    assert "trust 30" in {entry.value: why for entry, why in answer.lost}["Porto"]
    told = desk.memory.why(desk.memory.timeline("ana", "home_city")[1])
    assert told.winner is not None and told.winner.source.episode == "talk-7" and told.winner.source.span == (3, 9)
    before = desk.memory.why("ana", "home_city", valid_at="2025-01-20", known_at="2025-01-20")
    assert before.belief is not None and before.belief.value == "Berlin" and before.lost == ()


def test_the_three_clocks_differ() -> None:
    laptop, phone = Desk(1), Desk(2)
    phone.on("2025-03-01").remember("ana", "home_city", "Lisbon", changed_on="2025-02-15")
    laptop.on("2025-01-10").remember("ana", "home_city", "Berlin")
    laptop.on("2025-04-01").merge(phone.memory)
    assert laptop.home(known_at="2025-03-20", valid_at="2025-03-20") == "Berlin"
    assert laptop.home(asserted_by="2025-03-20", valid_at="2025-03-20") == "Lisbon"
    assert laptop.home(asserted_by="2025-02-20", valid_at="2025-03-20") == "Berlin"
    asked = {"device": phone.memory.device, "valid_at": "2025-03-20"}
    belief = laptop.memory.believe("ana", "home_city", known_at="2025-03-10", **asked)
    assert belief is not None and (belief.value, belief.grade) == ("Lisbon", Grade.PROVISIONAL)
    assert laptop.memory.believe("ana", "home_city", known_at="2025-02-10", **asked) is None


def test_device_scope_never_leaves_and_scopes_do_not_mix(tmp_path) -> None:  # type: ignore[no-untyped-def]
    laptop, phone = Desk(1), Desk(2)
    laptop.on("2025-01-10").remember("ana", "home_city", "Berlin")
    laptop.memory.remember("ana", "home_city", "Here", scope="device")
    laptop.memory.remember("ana", "home_city", "Office", scope="work")
    laptop.memory.export_bundle(tmp_path / "a.bundle")
    phone.on("2025-01-11").merge(laptop.memory)
    phone.memory.import_bundle(tmp_path / "a.bundle")
    assert b"Here" not in (tmp_path / "a.bundle").read_bytes()
    assert phone.home() == "Berlin"
    assert phone.home(scope="device") is None
    assert phone.home(scope="work") == "Office"
    assert laptop.home(scope="device") == "Here"
    laptop.memory.export_bundle(tmp_path / "work.bundle", scopes=["work"])
    assert b"Berlin" not in (tmp_path / "work.bundle").read_bytes()


def test_a_clock_ten_years_ahead_is_corrected_by_an_event_on_all_devices() -> None:
    laptop, phone = Desk(1), Desk(2)
    laptop.on("2025-01-10").remember("ana", "home_city", "Berlin")
    wrong = phone.on("2035-02-10").remember("ana", "home_city", "Bonn")
    laptop.on("2025-03-10").merge(phone.memory)
    laptop.on("2025-03-11").remember("ana", "home_city", "Lisbon")
    assert laptop.home() == "Lisbon", "the far clock did not drag ours along"
    assert laptop.home(valid_at="2036-01-01") == "Bonn"
    laptop.on("2025-03-12").correct_clock(wrong.event, timedelta(days=-3652))
    assert [value for value, _, _ in laptop.line()] == ["Berlin", "Bonn", "Lisbon"]
    phone.on("2025-03-13").merge(laptop.memory)
    assert phone.line() == laptop.line()


@pytest.mark.parametrize("direction", [1, -1])
def test_a_clock_note_may_arrive_before_the_events_it_speaks_of(direction: int) -> None:
    laptop, phone, tablet = Desk(1), Desk(2), Desk(3)
    phone.on("2025-02-09").remember("ana", "home_city", "Berlin")
    wrong = phone.on("2035-02-10").remember("ana", "home_city", "Bonn")
    laptop.on("2025-03-10").merge(phone.memory)
    laptop.on("2025-03-12").correct_clock(wrong.event, timedelta(days=-3652))
    for frame in list(laptop.memory._offer({}))[::direction]:
        tablet.memory._receive([frame], events_max=1, progress=None)
    assert tablet.line() == laptop.line() == [("Berlin", "2025-02-09", "2025-02-10"), ("Bonn", "2025-02-10", None)]


def test_an_imprecise_change_covers_its_month_and_is_anchored_at_its_end(desk: Desk) -> None:
    desk.on("2025-03-10").remember("ana", "home_city", "Berlin")
    desk.on("2025-04-05").remember("ana", "home_city", "Lisbon", changed_on="2025-03")
    assert desk.line() == [("Lisbon", "2025-03-01", None)]


def test_a_pasted_old_letter_cannot_beat_what_was_learned_last_month(desk: Desk) -> None:
    desk.on("2025-03-10").remember("ana", "home_city", "Lisbon")
    desk.on("2025-04-10").remember(
        "ana", "home_city", "Berlin", source="document", observed_at="2023-05-01", trust="user"
    )
    assert desk.line() == [("Berlin", "2023-05-01", "2025-03-10"), ("Lisbon", "2025-03-10", None)]


def test_what_superseded_what_can_be_asked_in_sql(desk: Desk) -> None:
    desk.on("2025-01-10").remember("ana", "home_city", "Berlin")
    desk.on("2025-02-10").remember("ana", "home_city", "Lisbon")
    desk.on("2025-03-10").remember("rui", "home_city", "Faro")
    rows = desk.memory._replica.db.execute("SELECT entity, value, next_value, at FROM superseded_by").fetchall()
    assert rows == [("ana", '"Berlin"', '"Lisbon"', "2025-02-10T12:00:00Z")]
    current = desk.memory._replica.db.execute("SELECT value FROM current_beliefs WHERE valid_to IS NULL").fetchall()
    assert sorted(current) == [('"Faro"',), ('"Lisbon"',)]


def test_two_hundred_restatements_are_one_rectangle(desk: Desk) -> None:
    for number in range(200):
        desk.clock.time += DAY
        receipt: Receipt = desk.memory.remember("ana", "home_city", "Lisbon")
        assert receipt.decision == (Decision.NOOP if number else Decision.ADD)
    assert desk.memory._replica.db.execute("SELECT count(*) FROM beliefs").fetchone() == (1,)
    assert len(desk.memory.history("ana", "home_city")) == 201


def test_a_claim_before_1970_holds_until_further_notice(desk: Desk) -> None:
    desk.on("2025-01-10").remember("ana", "home_city", "Berlin", changed_on="1951-03-02")
    assert desk.line() == [("Berlin", "1951-03-02", None)]
