"""Words that say more than a candidate raise a doubt on every device, and nobody who is careful is doubted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import NONE, Answer, Candidate, InvalidInput, ModelExtractor, Source, english
from syncmem.judging.extracting import Utterance
from syncmem.judging.wording import spoken, unsaid
from tests.judging.desk import USER, Desk, meet


def heard(words: str, value: Any = "Stripe", **more: Any) -> Candidate:
    return Candidate(**{"entity": "ana", "predicate": "employer", "source": USER, **more}, value=value, words=words)


@pytest.mark.parametrize(
    "words",
    [
        *("I no longer work at Stripe.", "I don't work at Stripe.", "I left Stripe.", "I used to work at Stripe."),
        *("If I worked at Stripe, I would be rich.", "I might join Stripe.", "Do I work at Stripe?"),
        *("Eva says that I work at Stripe.", "According to him I work at Stripe.", "You work at Stripe."),
        *("I am at Stripe until Friday.", "I worked at Stripe.", "I was at Stripe in 2019.", "I will be at Stripe."),
    ],
)
def test_a_bare_state_whose_words_say_more_is_doubted(words: str) -> None:
    assert unsaid(heard(words)) is not None


@pytest.mark.parametrize(
    "candidate",
    [
        heard("I work at Stripe."),
        heard("I no longer work at Stripe.", verb="end"),
        heard("I don't work at Stripe.", kind="negated"),
        heard("I have no employer.", NONE),
        heard("I joined Stripe in 2019.", verb="change", since="2019"),
        heard("If I worked at Stripe ...", kind="hypothetical"),
        heard("Eva says that I work at Stripe.", kind="quoted"),
        heard("I am at Stripe until Friday.", verb="temporary", until="2025-02-07"),
        heard("Not Bolt but Stripe.", verb="correct", instead_of="Bolt"),
        heard("Ich arbeite nicht mehr bei Stripe."),  # a limit: the cues are English
        Candidate("ana", "employer", "Stripe"),
    ],
    ids=str,
)
def test_a_candidate_that_says_what_its_words_say_is_not_doubted(candidate: Candidate) -> None:
    assert unsaid(candidate) is None


@pytest.mark.parametrize(
    ("words", "speak_of"),
    [
        ("They have shut the Stripe office.", "a time"),  # the past of a verb that never changes
        ("My boss has taken me off Stripe.", "a no or an end"),
        ("Another bad year and I'm off to Stripe.", "a no or an end"),
        ("I'm toying with Stripe.", "a guess"),
        ("He goes round telling people I work at Stripe.", "somebody's word"),
        ("order a Stripe card", "a wish"),
        ("what's the address of Stripe", "a wish"),
    ],
)
def test_an_end_a_wish_or_hearsay_is_doubted_in_each_form_of_english(words: str, speak_of: str) -> None:
    told = unsaid(heard(words, source=Source("document"), observed_at="2025-01-01"))
    assert told is not None and speak_of in told


@pytest.mark.parametrize(
    "words",
    [
        *("Not Dutch but Danish.", "My mother tongue is Danish, not Dutch.", "Danish rather than Dutch."),
        *("No, Danish!", "Rather Danish than Dutch.", "Danish instead of Dutch.", "Instead of Dutch, I speak Danish."),
        *("We speak Danish as opposed to Dutch.", "Danish in place of Dutch.", "Danish took the place of Dutch."),
        *("Anything but Dutch: Danish.", "I swapped Dutch for Danish.", "The kids talk Danish and hardly Dutch."),
        *("You noted Dutch, it should read Danish.", "Scratch Dutch, make it Danish.", "Dutch? Nope, Danish."),
    ],
)
def test_of_many_values_the_one_that_the_words_put_aside_is_asked_about_as_well(words: str) -> None:
    """And no other one is; what was believed stays until the user has answered, on every device."""
    laptop, phone = Desk(1).on("2025-02-01"), Desk(2)
    laptop.says("I speak English. I speak Dutch.")
    laptop.on("2025-03-01").hears(heard(words, "Danish", predicate="language"))
    meet(laptop, phone.on("2025-03-02"))
    contested = {belief.value for belief in phone.memory.contested()}
    assert contested == ({"Danish", "Dutch"} if "Dutch" in words else {"Danish"})
    assert set(phone.values("language")) == {"Danish", "Dutch", "English"}
    for asked in phone.memory.questions():
        phone.memory.answer(asked, Answer.KEEP if asked.options[0].value == "Danish" else Answer.NEITHER)
    meet(laptop.on("2025-03-03"), phone)
    assert laptop.memory.questions() == ()
    assert set(laptop.values("language")) == {"Danish", "Dutch", "English"} - ({"Dutch"} & contested)


def test_a_correction_of_one_of_many_values_is_of_the_one_that_its_words_name() -> None:
    desk = Desk().on("2025-02-01")
    desk.says("I speak English. I speak Dutch.")
    (judged,) = desk.hears(heard("Not Dutch but Danish.", "Danish", predicate="language", verb="correct"))
    assert judged.outcome == "UPDATE" and sorted(desk.values("language")) == ["Danish", "English"]


def test_the_month_of_may_is_no_guess() -> None:
    assert unsaid(heard("I joined Stripe in May.", verb="change", since="2025-05")) is None
    assert "a guess" in str(unsaid(heard("I may join Stripe in May.", verb="change", since="2025-05")))


def test_what_passes_for_the_users_own_word_is_borne_out_by_the_words() -> None:
    """Of a document, or where the passage is named, a line of a paper and a short form are as good as any."""
    for words in ("employer: Stripe", "One more card reader for the shop."):
        assert unsaid(heard(words)) is not None
        assert unsaid(heard(words, source=Source("document"), observed_at="2025-01-01")) is None
        assert unsaid(heard(words, source=Source("user", episode="a" * 64))) is None


@pytest.mark.parametrize(
    "candidate",
    [
        heard("I'm veggie.", "vegetarian"),
        heard("I take a six.", 6),
        heard("Am on 50 mg.", "50 mg"),
        heard("Ich wohne in München.", "Munich"),  # words in other letters name a value in their own way
    ],
    ids=str,
)
def test_a_value_in_other_words_is_not_doubted(candidate: Candidate) -> None:
    assert unsaid(candidate) is None


def test_what_is_doubted_overrules_nothing_and_is_asked_about_on_every_device() -> None:
    laptop, phone = Desk(1).on("2025-02-01"), Desk(2).on("2025-02-01")
    laptop.says("I work at Stripe.")
    meet(laptop, phone)
    (judged,) = phone.on("2025-03-01").hears(heard("I no longer work at Stripe."))
    assert judged.outcome == "CONTESTED" and "no or an end" in judged.because
    meet(laptop.on("2025-03-02"), phone)
    assert laptop.values("employer") == ["Stripe"]
    (asked,) = laptop.memory.questions()
    assert [(option.value, option.over) for option in asked.options] == [("Stripe", False), ("Stripe", True)]
    phone.on("2025-03-03").memory.answer(asked.id, Answer.NEITHER)
    meet(laptop.on("2025-03-04"), phone)
    assert laptop.memory.questions() == phone.memory.questions() == () and laptop.values("employer") == []


def test_a_doubted_value_that_is_new_is_believed_meanwhile_and_asked_about() -> None:
    desk = Desk().on("2025-02-01")
    desk.hears(heard("I might join Stripe."))
    assert desk.values("employer") == ["Stripe"]
    (asked,) = desk.memory.questions()
    desk.memory.answer(asked, Answer.KEEP)
    assert desk.memory.questions() == () and desk.values("employer") == ["Stripe"]


def test_a_doubt_ends_when_somebody_says_it_plainly() -> None:
    desk = Desk().on("2025-02-01")
    desk.hears(heard("I might join Stripe."))
    desk.on("2025-03-01").hears(heard("I work at Stripe."))
    assert desk.memory.questions() == ()


def test_a_better_reading_of_a_doubted_passage_is_heard() -> None:
    """The doubt itself is not taken for what the passage says."""
    desk = Desk().on("2025-02-01")
    source = Source("user", episode="talk", span=(0, 27))
    desk.hears(heard("I no longer work at Stripe.", source=source))
    desk.on("2025-02-02").hears(heard("I no longer work at Stripe.", source=source, verb="end"))
    assert desk.values("employer") == [] and desk.memory.questions() == ()


def test_words_are_kept_only_until_they_are_judged() -> None:
    from tests.test_erasure import tables

    desk = Desk().on("2025-02-01")
    desk.memory.submit(heard("The canary word: I work at Stripe."))
    assert "canary" in tables(desk.memory)
    desk.hears()
    assert "canary" not in tables(desk.memory)


def test_words_that_are_no_sentence_are_refused() -> None:
    with pytest.raises(InvalidInput, match="words"):
        heard("x" * 9_000)


def test_ordering_chicken_once_contests_a_diet_and_corrects_nothing() -> None:
    """Through the extractor, which finds no statement in it, and as a guess of a model."""
    desk = Desk().on("2025-02-01")
    desk.says("I am vegetarian.")
    assert english(Utterance("I ordered chicken yesterday.", "ana")) == []
    guess = {"kind": "inferred", "words": "I ordered chicken yesterday.", "predicate": "diet"}
    (judged,) = desk.on("2025-03-01").hears(heard(value="eats meat", **guess))
    assert judged.outcome == "CONTESTED" and desk.values("diet") == ["vegetarian"]
    (asked,) = desk.memory.questions()
    assert [option.value for option in asked.options] == ["vegetarian", "eats meat"]
    desk.on("2025-03-05").says("I am vegetarian.")
    assert desk.memory.questions() == ()


def test_guesses_that_disagree_are_asked_about_and_a_statement_settles_them() -> None:
    laptop, phone = Desk(1).on("2025-02-01"), Desk(2).on("2025-02-03")
    for desk, town in ((laptop, "Lisbon"), (phone, "Porto")):
        desk.hears(Candidate("ana", "home_city", town, source=Source("model")))
    meet(laptop.on("2025-02-04"), phone.on("2025-02-04"))
    (asked,) = laptop.memory.questions()
    assert asked.kind == "guess" and [option.value for option in asked.options] == ["Porto", "Lisbon"]
    assert asked.text.startswith("Nobody has confirmed home city of ana")
    assert [each.id for each in phone.memory.questions()] == [asked.id]
    phone.on("2025-02-05").says("I live in Lisbon.")
    meet(laptop.on("2025-02-06"), phone)
    assert laptop.memory.questions() == () and laptop.values("home_city") == ["Lisbon"]


STORY = "Hi! I live in Lisbon. I no longer work at Stripe."


@pytest.mark.parametrize("span", [None, [42, 48]])
def test_a_model_that_drops_the_verb_is_doubted_by_the_sentence_that_it_read(span: list[int] | None) -> None:
    """Whatever it answers, the sentence is taken from the text: where it points to, or where the value stands."""
    told = {"predicate": "employer", "value": "Stripe", "words": "I work at Stripe."}
    answer = json.dumps([told | ({} if span is None else {"source": {"span": span}})])
    (candidate,) = ModelExtractor(lambda prompt: answer)(Utterance(STORY, "ana"))
    assert candidate.words == "I no longer work at Stripe."
    desk = Desk().on("2025-02-01")
    desk.memory.remember("ana", "employer", "Stripe")
    (judged,) = desk.on("2025-03-01").hears(candidate)
    assert judged.outcome == "CONTESTED" and len(desk.memory.questions()) == 1


def test_the_sentence_beside_it_raises_no_doubt() -> None:
    answer = json.dumps([{"predicate": "home_city", "value": "Lisbon"}])
    (candidate,) = ModelExtractor(lambda prompt: answer)(Utterance(STORY, "ana"))
    assert candidate.words == "I live in Lisbon." and unsaid(candidate) is None


@given(st.text(), st.integers(-5, 50), st.integers(-5, 50), st.text(max_size=5))
def test_any_text_has_words_that_can_be_stored_or_none(text: str, start: int, end: int, value: str) -> None:
    for span in (None, (start, end)):
        words = spoken(text, span, value)
        assert words is None or Candidate("ana", "likes", "tea", words=words).words == words
