"""Whose word it is: somebody's only where it is named in which episode, or when, they said it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from syncmem import Answer, Candidate, ModelExtractor, Source, Utterance
from tests.judging.desk import SECOND, USER, Desk


@pytest.fixture
def desk() -> Desk:
    desk = Desk().on("2025-02-01")
    desk.memory.remember("ana", "home_city", "Lisbon", source="user")
    return desk.on("2025-03-01")


def submitted(desk: Desk, candidate: Candidate) -> Any:
    """As it is, without a host that knows when it was said; what became of it."""
    desk.memory.submit(candidate)
    desk.clock.time += SECOND
    (judged,) = desk.memory.consolidate()
    return judged


@pytest.mark.parametrize("kind", ["user", "integration"])
@pytest.mark.parametrize("words", [None, "I live in Porto."])
def test_a_word_that_nobody_vouches_for_is_a_guess_and_is_told_what_to_send(
    desk: Desk, kind: str, words: str | None
) -> None:
    judged = submitted(desk, Candidate("ana", "home_city", "Porto", source=Source(kind), words=words))
    assert judged.outcome == "CONTESTED" and desk.values("home_city") == ["Lisbon"]
    assert f"when the {kind} said it" in judged.because and judged.because.endswith(
        "; name the episode in its source, or give observed_at ('now' for what is being said)"
    )
    assert judged.receipts[0].why.endswith(f"ask the user. N{judged.because[1:]}.")
    written = desk.memory.event(judged.receipts[0].event)
    assert (written.trust, written.reason) == (30, judged.because.partition(";")[0]), "devices need no advice"
    (asked,) = desk.memory.questions()
    assert [option.value for option in asked.options] == ["Lisbon", "Porto"]
    desk.memory.answer(asked, Answer.KEEP)
    assert desk.memory.questions() == ()


@pytest.mark.parametrize(
    "vouched",
    [{"observed_at": "now"}, {"observed_at": "2025-02-20"}, {"source": Source("user", episode="chat-7")}],
    ids=["live", "at a time", "in a conversation"],
)
def test_what_to_send_is_what_makes_it_the_users_word(desk: Desk, vouched: dict[str, Any]) -> None:
    judged = submitted(desk, Candidate("ana", "home_city", "Porto", **{"source": USER, **vouched}))
    assert judged.outcome == "UPDATE" and ";" not in judged.because
    assert [(belief.value, belief.trust) for belief in desk.memory.beliefs("ana", "home_city")] == [("Porto", 90)]


def test_what_is_said_now_is_dated_when_it_is_submitted_and_not_when_it_is_judged(desk: Desk) -> None:
    desk.memory.submit(Candidate("ana", "home_city", "Porto", source=USER, observed_at="now"))
    desk.on("2025-04-01").memory.consolidate()
    assert desk.line("home_city") == [("Lisbon", "2025-02-01", "2025-03-01"), ("Porto", "2025-03-01", None)]


@pytest.mark.parametrize("verb", ["end", "deny", "correct"])
def test_without_a_voucher_nothing_the_user_said_is_ended_denied_or_corrected(desk: Desk, verb: str) -> None:
    value = "Porto" if verb == "correct" else "Lisbon"
    judged = desk.memory.submit(Candidate("ana", "home_city", value, verb, source=USER)).judged
    desk.clock.time += SECOND
    assert [each.outcome for each in (*judged, *desk.memory.consolidate())] == ["CONTESTED"]
    assert desk.values("home_city") == ["Lisbon"]


@pytest.mark.parametrize(
    ("kind", "trust"), [("document", 50), ("user", 90), ("integration", 70), ("assistant", 30), ("blog", 30)]
)
def test_an_episode_lends_no_more_trust_than_whoever_spoke_it_has(kind: str, trust: int) -> None:
    """A letter that a model passes off as the user's word counts as a letter does."""
    desk = Desk().on("2025-02-01")
    said = desk.memory.observe("I live in Porto.", source=kind, at="2025-01-31")
    passage = Source("user", episode=said.episode, span=(0, 16))
    judged = submitted(desk, Candidate("ana", "home_city", "Porto", source=passage))
    (belief,) = desk.memory.beliefs("ana", "home_city")
    assert belief.trust == trust and (trust == 90) == (";" not in judged.because)


@pytest.mark.parametrize(("observed_at", "outcome"), [(None, "CONTESTED"), ("now", "UPDATE")])
def test_a_host_says_when_an_utterance_was_said_and_no_model_says_it_for_it(
    desk: Desk, observed_at: str | None, outcome: str
) -> None:
    answer = [{"predicate": "home_city", "value": "Porto", "words": "live in Porto", "observed_at": "2025-02-28"}]
    extract = ModelExtractor(lambda prompt: json.dumps(answer))
    (candidate,) = extract(Utterance("I live in Porto.", "ana", observed_at=observed_at))
    assert submitted(desk, candidate).outcome == outcome


@pytest.mark.parametrize("answer", [{}, {"words": "I am at Stripe."}], ids=["no words", "words that nobody said"])
def test_a_sentence_that_says_more_contests_also_what_was_not_found_in_it(answer: dict[str, Any]) -> None:
    """To be a guess because no words bear it out does not save a candidate from the doubt that its sentence raises."""
    desk = Desk().on("2025-02-01")
    turn = desk.memory.observe("Hi! I no longer work at Stripe.", speaker="ana")
    told = json.dumps([{"predicate": "employer", "value": "Stripe", **answer}])
    (judged,) = desk.memory.extract(turn.episode, ModelExtractor(lambda prompt: told), version=1).judged
    assert "no or an end" in judged.because
    assert [(b.value, b.trust, b.contested) for b in desk.memory.beliefs("ana", "employer")] == [("Stripe", 30, True)]
