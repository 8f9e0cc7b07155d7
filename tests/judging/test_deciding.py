"""What becomes of what was said, case by case, through a real memory."""

from __future__ import annotations

import pytest

from syncmem import NONE, Candidate, Source
from syncmem.judging.deciding import Action, decide
from syncmem.model.predicate import Predicate
from tests.judging.desk import USER, Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk().on("2025-02-01")
    desk.says("I live in Lisbon. I speak Greek and Dutch. I'm vegetarian.")
    return desk.on("2025-03-01")


def test_a_statement_replaces_what_was_said_before(desk: Desk) -> None:
    (judged,) = desk.says("I live in Porto.")
    assert judged.outcome == "UPDATE"
    assert desk.line("home_city") == [("Lisbon", "2025-02-01", "2025-03-01"), ("Porto", "2025-03-01", None)]


@pytest.mark.parametrize(
    "text", ["If I moved to Rome, I'd be happy.", "She said that I live in Rome.", "Maybe I live in Rome."]
)
def test_what_is_quoted_or_hypothetical_is_never_believed(desk: Desk, text: str) -> None:
    (judged,) = desk.says(text)
    assert judged.outcome == "SET ASIDE" and judged.receipts == ()
    assert desk.values("home_city") == ["Lisbon"] and desk.memory.questions() == ()
    fresh = Desk()
    fresh.says(text)
    assert fresh.line("home_city") == [], "nor where nothing else is known"


@pytest.mark.parametrize("kind", ["assistant", "agent", "assistant:helper", "Assistant"])
def test_the_agents_own_words_are_no_evidence(desk: Desk, kind: str) -> None:
    assert [judged.outcome for judged in desk.says("I live in Rome.", Source(kind))] == ["SET ASIDE"]
    before = len(desk.memory.history("ana", "diet"))
    desk.hears(Candidate("ana", "diet", "vegetarian", source=Source(kind)))
    assert len(desk.memory.history("ana", "diet")) == before, "nor does it strengthen what is believed"


def test_one_inconsistent_observation_contests_and_corrects_nothing(desk: Desk) -> None:
    chicken = Candidate("ana", "diet", "eats meat", kind="inferred", source=Source("user"))  # "ordered chicken once"
    (judged,) = desk.hears(chicken)
    assert judged.outcome == "CONTESTED"
    assert desk.values("diet") == ["vegetarian"]
    assert [belief.value for belief in desk.memory.contested()] == ["vegetarian"]


def test_a_guess_is_believed_where_nobody_said_anything_and_gives_way_to_the_first_word(desk: Desk) -> None:
    desk.hears(Candidate("ana", "partner", "Bob", kind="inferred", source=USER, confidence=0.99))
    assert [(b.value, b.trust) for b in desk.memory.beliefs("ana", "partner")] == [("Bob", 30)]
    desk.says("My partner is Carl.")
    assert desk.values("partner") == ["Carl"] and desk.memory.questions() == ()


def test_confidence_is_kept_and_decides_nothing() -> None:
    verdicts = {
        decide(Candidate("ana", "x", 1, kind="inferred", source=USER, confidence=sure), Predicate(), (), ())
        for sure in (None, 0.0, 1.0)
    }
    assert len(verdicts) == 1


@pytest.mark.parametrize(
    ("kind", "trust"), [("user", 90), ("integration", 70), ("document", 50), ("model", 30), ("chat", 30), (None, 30)]
)
def test_trust_is_that_of_the_source_and_not_of_the_extractor(kind: str | None, trust: int) -> None:
    desk = Desk()
    desk.hears(Candidate("ana", "home_city", "Rome", source=Source(kind), observed_at="2024-05-01", confidence=1.0))
    assert [belief.trust for belief in desk.memory.beliefs("ana", "home_city")] == [trust]


def test_who_no_longer_lives_there_is_known_to_live_nowhere(desk: Desk) -> None:
    assert [judged.outcome for judged in desk.says("I don't live in Lisbon any more.")] == ["DELETE"]
    assert desk.values("home_city") == []
    assert desk.line("home_city") == [("Lisbon", "2025-02-01", "2025-03-01")]


@pytest.mark.parametrize(
    ("verb", "bounds", "line"),
    [
        ("state", {}, [("Lisbon", "2025-02-01", "2025-03-01")]),
        ("state", {"since": "2025-02-10"}, [("Lisbon", "2025-02-01", "2025-02-10")]),
        ("end", {"since": "2025-02-10"}, [("Lisbon", "2025-02-01", "2025-02-10")]),
        ("end", {"until": "2025-02-10"}, [("Lisbon", "2025-02-01", "2025-02-10")]),
        ("change", {"since": "2025-01"}, [("Lisbon", "2025-02-01", "2025-03-01")]),
        ("period", {"since": "2025-01", "until": "2025-02"}, [("Lisbon", "2025-02-01", None)]),
        ("temporary", {"until": "2025-04"}, [("Lisbon", "2025-02-01", None)]),
    ],
)
def test_what_is_negated_ends_when_it_says_and_never_begins(
    desk: Desk, verb: str, bounds: dict[str, str], line: list[object]
) -> None:
    desk.hears(Candidate("ana", "home_city", "Lisbon", verb, "negated", **bounds, source=USER))
    assert desk.line("home_city") == line


def test_a_correction_that_is_marked_as_negated_is_a_correction(desk: Desk) -> None:
    desk.hears(Candidate("ana", "home_city", "Porto", "correct", "negated", instead_of="Lisbon", source=USER))
    assert desk.line("home_city") == [("Porto", "2025-02-01", None)]


def test_one_of_many_values_ends_alone(desk: Desk) -> None:
    desk.says("I don't speak Dutch.")
    assert desk.values("language") == ["Greek"]


def test_never_denies_what_was_believed_and_twins_of_it_that_are_judged_later(desk: Desk) -> None:
    desk.says("I never lived in Lisbon.")
    assert desk.line("home_city") == []
    desk.hears(Candidate("ana", "home_city", "Lisbon", source=USER, observed_at="2025-02-20"))
    assert desk.line("home_city") == []


def test_none_is_known_to_be_none(desk: Desk) -> None:
    desk.says("I have no car.")
    assert desk.values("car") == [NONE]


def test_a_correction_replaces_the_mistake_from_its_beginning_with_all_that_repeated_it(desk: Desk) -> None:
    desk.on("2025-03-05").says("I live in Lisbon.")
    (judged,) = desk.on("2025-03-10").says("No, I live in Lisboa, not Lisbon.")
    assert judged.outcome == "UPDATE"
    assert desk.line("home_city") == [("Lisboa", "2025-02-01", None)]


def test_a_correction_of_one_value_leaves_an_earlier_stay_under_the_same_name(desk: Desk) -> None:
    desk.says("I lived in Porto from 2010 to 2012.")
    desk.on("2025-04-01").says("I live in Porto.")
    desk.on("2025-05-01").says("Actually, I live in Braga, not Porto.")
    assert desk.line("home_city") == [
        ("Porto", "2010-01-01", "2013-01-01"),
        ("Lisbon", "2025-02-01", "2025-04-01"),
        ("Braga", "2025-04-01", None),
    ]


def test_a_correction_of_one_of_many_values_leaves_the_others(desk: Desk) -> None:
    desk.hears(Candidate("ana", "language", "Danish", verb="correct", instead_of="Dutch", source=USER))
    assert sorted(desk.values("language")) == ["Danish", "Greek"]


def test_a_correction_of_what_is_not_believed_is_a_plain_statement(desk: Desk) -> None:
    (judged,) = desk.hears(Candidate("ana", "home_city", "Porto", verb="correct", instead_of="Rome", source=USER))
    assert judged.outcome == "UPDATE"
    assert desk.values("home_city") == ["Porto"]


def test_a_guessed_correction_corrects_nothing(desk: Desk) -> None:
    guess = Candidate("ana", "home_city", "Porto", verb="correct", instead_of="Lisbon", kind="inferred", source=USER)
    assert [judged.outcome for judged in desk.hears(guess)] == ["CONTESTED"]
    assert desk.values("home_city") == ["Lisbon"]


def test_a_visit_passes_and_a_period_leaves_nothing(desk: Desk) -> None:
    desk.says("I am in Paris until 2025-03-05.")
    assert desk.values("location") == ["Paris"]
    assert desk.values("location", valid_at="2025-03-06") == []
    desk.says("I worked at Stripe from 2021 to March 2024.")
    assert desk.line("employer") == [("Stripe", "2021-01-01", "2024-04-01")]


def test_what_was_retracted_does_not_come_back_from_the_same_passage_and_does_from_a_new_one(desk: Desk) -> None:
    first = Source("user", episode="chat-1", span=(0, 20))
    said = Candidate("ana", "employer", "Acme", source=first)
    (judged,) = desk.hears(said)
    desk.memory.retract(judged.receipts[0].event)
    assert [again.outcome for again in desk.hears(said)] == ["SET ASIDE"]
    assert desk.values("employer") == []
    desk.hears(Candidate("ana", "employer", "Acme", source=Source("user", episode="chat-2", span=(0, 20))))
    assert desk.values("employer") == ["Acme"]


def test_reading_the_same_passage_twice_says_nothing_new(desk: Desk) -> None:
    said = Candidate("ana", "employer", "Acme", source=Source("user", episode="chat-1", span=(0, 20)))
    desk.hears(said)
    before = desk.memory.event_digest()
    assert [judged.because for judged in desk.hears(said)] == ["it is known from this passage already"]
    assert desk.memory.event_digest() == before


def test_a_sensitive_value_is_never_replaced_silently(desk: Desk) -> None:
    desk.memory.remember("ana", "legal_name", "Ana Maria Lopes")
    desk.hears(Candidate("ana", "legal_name", "Ana Smith", source=USER))
    assert desk.values("legal_name") == ["Ana Maria Lopes"]
    assert [question.kind for question in desk.memory.questions()] == ["contested"]


def test_a_friends_preference_is_not_the_users(desk: Desk) -> None:
    desk.hears(Candidate("bob", "likes", "beer", source=USER))
    assert desk.values("likes") == [] and [b.value for b in desk.memory.beliefs("bob", "likes")] == ["beer"]


def test_the_table_is_a_function_of_its_arguments() -> None:
    said = Candidate("ana", "home_city", "Rome", source=USER)
    assert decide(said, Predicate(), (), ()) == decide(said, Predicate(), (), ())
    assert decide(said, Predicate(), (), ()).action == Action.REMEMBER
    assert decide(said, Predicate(sensitive=True), (), ()).tier == "inference"
