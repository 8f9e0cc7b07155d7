"""What the user is asked, and what an answer does on every device."""

from __future__ import annotations

import pytest

from syncmem import NONE, Answer, Candidate, InvalidInput, ModelMatcher, NotFound, Question, Source
from tests.judging.desk import SECOND, USER, Desk, meet

MAIL = Source("document", "mail-7")


def contested(desk: Desk) -> Question:
    """Lisbon by the user, and later Porto by a document."""
    desk.on("2025-02-01").says("I live in Lisbon.")
    desk.on("2025-03-01").hears(Candidate("ana", "home_city", "Porto", source=MAIL, observed_at="2025-02-20"))
    (question,) = desk.on("2025-03-02").memory.questions()
    return question


def test_a_contested_slot_is_a_short_question_with_both_sides() -> None:
    question = contested(Desk())
    assert question.kind == "contested"
    assert question.text == (
        "What holds now for home city of ana: 'Lisbon' (you, 2025-02-01) or 'Porto' (document mail-7, 2025-02-20)?"
    )
    assert [option.value for option in question.options] == ["Lisbon", "Porto"]


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (Answer.KEEP, [("Lisbon", "2025-02-01", None)]),
        ("Lisbon", [("Lisbon", "2025-02-01", None)]),
        ("Porto", [("Lisbon", "2025-02-01", "2025-02-20"), ("Porto", "2025-02-20", None)]),
        ("Braga", [("Lisbon", "2025-02-01", "2025-03-02"), ("Braga", "2025-03-02", None)]),
        (NONE, [("Lisbon", "2025-02-01", "2025-03-02"), (NONE, "2025-03-02", None)]),
        (Answer.NEITHER, [("Lisbon", "2025-02-01", "2025-02-20")]),
    ],
)
def test_an_answer_is_the_users_word_and_closes_the_question(answer: object, line: list[object]) -> None:
    desk = Desk()
    receipts = desk.memory.answer(contested(desk), answer)
    assert desk.line("home_city") == line
    assert desk.memory.questions() == ()
    assert [(e.trust, e.source.kind) for e in map(desk.memory.event, (r.event for r in receipts))] == [
        (90, "user")
    ] * len(receipts)


def test_both_says_that_the_predicate_holds_several_values() -> None:
    desk = Desk()
    desk.memory.answer(contested(desk), Answer.BOTH)
    assert sorted(desk.values("home_city")) == ["Lisbon", "Porto"]
    definition = desk.memory.predicates()["home_city"]
    assert definition.many and "lives in" in definition.aliases, "all else of the definition stays"
    assert desk.memory.questions() == ()


@pytest.mark.parametrize("answer", [Answer.KEEP, "Porto", "Braga", Answer.BOTH, Answer.NEITHER])
def test_a_question_is_on_every_device_and_closed_on_all_by_one_answer(answer: object) -> None:
    laptop, phone = Desk(1), Desk(2)
    asked = contested(laptop)
    phone.on("2025-03-02")
    meet(laptop, phone)
    assert [each.id for each in phone.memory.questions()] == [asked.id]
    phone.on("2025-03-03").memory.answer(asked.id, answer)
    laptop.on("2025-03-03")
    meet(laptop, phone)
    assert laptop.memory.questions() == phone.memory.questions() == ()
    assert laptop.line("home_city") == phone.line("home_city")


def test_two_devices_that_hear_different_things_at_once_ask() -> None:
    laptop, phone = Desk(1).on("2025-02-01"), Desk(2).on("2025-02-01")
    laptop.says("I live in Lisbon.")
    phone.clock.time += 60 * SECOND
    phone.says("I live in Porto.")
    meet(laptop.on("2025-02-02"), phone.on("2025-02-02"))
    (asked,) = laptop.memory.questions()
    assert [option.value for option in asked.options] == ["Porto", "Lisbon"]
    laptop.memory.answer(asked, "Lisbon")
    meet(laptop, phone.on("2025-02-03"))
    assert phone.memory.questions() == () and phone.values("home_city") == ["Lisbon"]


def test_what_comes_after_an_answer_may_be_asked_about_again() -> None:
    desk = Desk()
    first = contested(desk)
    desk.memory.answer(first, Answer.KEEP)
    desk.on("2025-04-01").hears(Candidate("ana", "home_city", "Porto", source=MAIL, observed_at="2025-03-20"))
    (again,) = desk.memory.questions()
    assert again.id == first.id, "it is the same question, with new evidence"


def test_an_answer_to_a_question_that_has_changed_meanwhile_is_refused() -> None:
    desk = Desk()
    asked = contested(desk)
    desk.hears(Candidate("ana", "home_city", "Braga", source=MAIL, observed_at="2025-02-25"))
    with pytest.raises(NotFound, match="more was said"):
        desk.memory.answer(asked, Answer.KEEP)
    before = desk.memory.event_digest()
    with pytest.raises(NotFound, match="questions"):
        desk.memory.answer("nonsense", Answer.KEEP)
    assert desk.memory.event_digest() == before


def test_an_end_without_the_trust_to_end_is_asked_about() -> None:
    desk = Desk().on("2025-02-01")
    desk.says("I speak Greek.")
    desk.on("2025-03-01").hears(
        Candidate("ana", "language", "Greek", verb="end", source=MAIL, observed_at="2025-02-20")
    )
    (question,) = desk.memory.questions()
    assert "'Greek' (you, 2025-02-01) or no longer 'Greek' (document mail-7, 2025-02-20)" in question.text
    with pytest.raises(InvalidInput, match=r"Answer\.KEEP"):
        desk.memory.answer(question, Answer.BOTH)
    desk.memory.answer(question, Answer.KEEP)
    assert desk.memory.questions() == () and desk.values("language") == ["Greek"]
    desk.on("2025-04-01").hears(
        Candidate("ana", "language", "Greek", verb="end", source=MAIL, observed_at="2025-03-20")
    )
    desk.memory.answer(desk.memory.questions()[0], Answer.NEITHER)
    assert desk.memory.questions() == () and desk.values("language") == []


def test_an_answer_about_a_visit_does_not_make_it_a_home() -> None:
    desk = Desk().on("2025-02-01")
    desk.says("I live in Lisbon.")
    desk.hears(Candidate("ana", "home_city", "Paris", verb="temporary", until="2025-02-20", source=USER))
    desk.on("2025-02-10").hears(Candidate("ana", "home_city", "Porto", source=MAIL, observed_at="2025-02-09"))
    (question,) = desk.memory.questions()
    desk.memory.answer(question, Answer.KEEP)
    assert desk.values("home_city") == ["Paris"]
    assert desk.values("home_city", valid_at="2025-03-01") == ["Lisbon"]
    assert desk.memory.questions() == ()


def test_what_is_sensitive_or_stated_is_asked_about_first_and_no_more_than_is_wanted() -> None:
    desk = Desk().on("2025-02-01")
    for name in ("bea", "cid", "dan", "eva"):
        desk.memory.remember(name, "employer", "Acme")
    guess = {"kind": "inferred", "source": Source("model")}
    desk.on("2025-02-02").hears(Candidate("bea", "employer", "Bolt", **guess))
    desk.on("2025-02-03").hears(Candidate("cid", "employer", "Bolt", **guess))
    desk.on("2025-02-04").hears(Candidate("cid", "employer", "Bolt", **guess))
    desk.on("2025-02-05").hears(Candidate("dan", "employer", "Bolt", source=MAIL, observed_at="2025-02-05"))
    desk.on("2025-02-06").hears(Candidate("eva", "email", "eva@example.org", source=USER))
    asked = [each.entity for each in desk.memory.questions()]
    assert asked == ["eva", "dan", "cid", "bea"], "sensitive, stated, guessed twice, guessed once though for longest"
    assert [each.entity for each in desk.memory.questions(limit=2)] == asked[:2]
    with pytest.raises(InvalidInput, match="limit"):
        desk.memory.questions(limit=0)


# -- sensitive ---------------------------------------------------------------------------------------------


def test_a_sensitive_value_is_asked_about_until_the_user_confirms_it_anywhere() -> None:
    laptop, phone = Desk(1), Desk(2)
    laptop.on("2025-02-01").says("My e-mail is ana@example.org.")
    phone.on("2025-02-02")
    meet(laptop, phone)
    (asked,) = phone.memory.questions()
    assert asked.text == "Is this right for email of ana: 'ana@example.org' (from your words, 2025-02-01)?"
    phone.memory.answer(asked, Answer.KEEP)
    laptop.on("2025-02-03")
    meet(laptop, phone)
    assert laptop.memory.questions() == ()
    assert [belief.trust for belief in laptop.memory.beliefs("ana", "email")] == [90]


@pytest.mark.parametrize(
    ("answer", "left"), [(Answer.NEITHER, []), ("b@example.org", ["a@example.org", "b@example.org"])]
)
def test_a_sensitive_value_may_be_wrong(answer: object, left: list[str]) -> None:
    desk = Desk()
    desk.says("My e-mail is a@example.org.")
    (asked,) = desk.memory.questions()
    desk.memory.answer(asked, answer)
    assert sorted(map(str, desk.values("email"))) == left


def test_of_two_sensitive_values_that_nobody_confirmed_both_are_named() -> None:
    desk = Desk().on("2025-02-01")
    desk.says("My full name is Ana Lopes.")
    desk.on("2025-02-02").says("My full name is Ana Smith.")
    (asked,) = desk.memory.questions()
    assert asked.text == (
        "Is this right for legal name of ana: 'Ana Smith' (from your words, 2025-02-02)? "
        "Said before: 'Ana Lopes' (from your words, 2025-02-01)."
    )
    desk.memory.answer(asked, "Ana Lopes")
    assert desk.values("legal_name") == ["Ana Lopes"] and desk.memory.questions() == ()


def test_the_end_of_a_sensitive_value_is_asked_about_as_well() -> None:
    desk = Desk()
    desk.memory.remember("ana", "email", "ana@example.org")
    desk.on("2025-02-01").says("My e-mail is no longer ana@example.org.")
    assert desk.values("email") == ["ana@example.org"]
    (asked,) = desk.memory.questions()
    desk.memory.answer(asked, Answer.NEITHER)
    assert desk.values("email") == [] and desk.memory.questions() == ()


@pytest.mark.parametrize("word", ["keep", "both", "neither"])
def test_a_word_that_looks_like_an_answer_is_not_remembered_as_a_value(word: str) -> None:
    desk = Desk()
    with pytest.raises(InvalidInput, match=rf"Answer\.{word.upper()}"):
        desk.memory.answer(contested(desk), word)
    assert desk.values("home_city") == ["Lisbon"]


def test_a_confirmed_value_that_is_said_again_is_no_question() -> None:
    desk = Desk()
    desk.memory.remember("ana", "email", "ana@example.org")
    desk.on("2025-02-01").says("My e-mail is ANA@example.org.")
    assert desk.memory.questions() == ()


# -- names in doubt ----------------------------------------------------------------------------------------

PROPOSING = ModelMatcher(lambda prompt: '"home_city"')


def doubtful(desk: Desk) -> Question:
    desk.on("2025-02-01").memory.submit(Candidate("ana", "hometown", "Porto", observed_at="now", source=USER))
    desk.clock.time += SECOND
    (judged,) = desk.memory.consolidate(matcher=PROPOSING)
    assert (judged.predicate, judged.proposals) == ("hometown", ("home_city",))
    (question,) = desk.memory.questions()
    return question


def test_an_unsure_match_keeps_both_open_and_asks() -> None:
    desk = Desk().on("2025-01-15")
    desk.says("I live in Lisbon.")
    question = doubtful(desk)
    assert question.text == "Does 'hometown' of ana, 'Porto' (you, 2025-02-01), mean home city?"
    assert desk.values("home_city") == ["Lisbon"] and desk.values("hometown") == ["Porto"]


def test_a_name_that_meant_a_predicate_is_its_alias_from_then_on() -> None:
    desk = Desk().on("2025-01-15")
    desk.says("I live in Lisbon.")
    desk.memory.answer(doubtful(desk), "home_city")
    assert desk.line("home_city") == [("Lisbon", "2025-01-15", "2025-02-01"), ("Porto", "2025-02-01", None)]
    assert desk.memory.questions() == ()
    assert {belief.predicate for belief in desk.memory.beliefs("ana", "hometown")} == {"home_city"}  # read by its alias
    (judged,) = desk.on("2025-03-01").hears(Candidate("ana", "hometown", "Braga", source=USER))
    assert judged.predicate == "home_city" and desk.values("home_city") == ["Braga"]


@pytest.mark.parametrize(
    ("answer", "hometown", "home"),
    [(Answer.KEEP, ["Porto"], []), (Answer.BOTH, ["Porto"], ["Porto"]), (Answer.NEITHER, [], [])],
)
def test_a_name_may_mean_itself_or_both_or_nothing(answer: Answer, hometown: list[str], home: list[str]) -> None:
    desk = Desk()
    desk.memory.answer(doubtful(desk), answer)
    assert (desk.values("hometown"), desk.values("home_city")) == (hometown, home)
    assert desk.memory.questions() == ()


def test_an_answer_about_a_name_settles_it_on_the_device_that_did_not_give_it() -> None:
    laptop, phone = Desk(1), Desk(2)
    doubtful(laptop)
    asked = doubtful(phone)
    phone.on("2025-02-03").memory.answer(asked, "home_city")
    laptop.on("2025-02-04")
    meet(laptop, phone)
    assert laptop.memory.questions() == ()
    laptop.on("2025-02-05").memory.consolidate()
    meet(laptop, phone)
    assert phone.values("home_city") == ["Porto"]
    (belief,) = phone.memory.beliefs("ana", "hometown")  # read by its alias
    assert belief.predicate == "home_city"


def test_what_was_retracted_meanwhile_is_not_asked_about_and_does_not_come_back() -> None:
    desk = Desk()
    (event,) = [option.event for option in doubtful(desk).options]
    desk.memory.retract(event)
    assert desk.memory.questions() == ()
    desk.memory.define("home_city", cardinality="single", aliases=["hometown"])
    desk.memory.consolidate()
    assert desk.values("home_city") == desk.values("hometown") == []


def test_an_alias_of_two_predicates_is_settled_for_one_of_them() -> None:
    desk = Desk(pack=False)
    for name in ("home_city", "birth_city"):
        desk.memory.define(name, cardinality="single", aliases=["city"])
    desk.hears(Candidate("ana", "City", "Rome", source=USER))
    (question,) = desk.memory.questions()
    assert question.proposals == ("birth_city", "home_city")
    with pytest.raises(InvalidInput, match="no predicate that is defined"):
        desk.memory.answer(question, "town")
    desk.memory.answer(question, "birth_city")
    assert desk.values("birth_city") == ["Rome"] and desk.memory.questions() == ()
    (judged,) = desk.hears(Candidate("ana", "city", "Rome", source=USER))
    assert judged.predicate == "birth_city"
