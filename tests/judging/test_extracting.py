"""From a text to candidates: by rules, and by a model that may answer anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncmem import NONE, InvalidInput, ModelExtractor, Source, Utterance, english
from syncmem.judging.candidate import Candidate, from_json, to_json

SAID_ON = "2025-04-10"
CASES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("I live in Lisbon since 2015.", [("home_city", "Lisbon", "state", "stated", "2015")]),
    ("I moved to Berlin in March 2025", [("home_city", "Berlin", "change", "stated", "2025-03")]),
    ("I moved to Berlin in March.", [("home_city", "Berlin", "change", "stated", "2025-03")]),
    ("I've moved to Berlin in June.", [("home_city", "Berlin", "change", "stated", "2024-06")]),
    ("I moved to Berlin on 14 March 2025.", [("home_city", "Berlin", "change", "stated", "2025-03-14")]),
    ("I never lived in Rome.", [("home_city", "Rome", "deny", "negated", None)]),
    ("I no longer work at Stripe.", [("employer", "Stripe", "end", "stated", None)]),
    ("I left Stripe in July 2024.", [("employer", "Stripe", "end", "stated", "2024-07")]),
    ("I worked at Stripe from 2021 to March 2024.", [("employer", "Stripe", "period", "stated", "2021")]),
    ("I am in Paris until 2025-04-15.", [("location", "Paris", "temporary", "stated", None)]),
    ("Actually, I live in Porto, not Lisbon.", [("home_city", "Porto", "correct", "stated", None)]),
    ("My e-mail is ana@example.org.", [("e-mail", "ana@example.org", "state", "stated", None)]),
    ("I\u2019m allergic to nuts.", [("allergy", "nuts", "state", "stated", None)]),
    ("I don't like fish any more.", [("likes", "fish", "end", "negated", None)]),
    ("I have no car.", [("car", NONE, "state", "negated", None)]),
    ("She said that I live in Rome.", [("home_city", "Rome", "state", "quoted", None)]),
    ("If I moved to Rome, I would learn Italian.", [("home_city", "Rome", "change", "hypothetical", None)]),
    ("Maybe I live in Rome.", [("home_city", "Rome", "state", "hypothetical", None)]),
    (
        "I speak Greek, Dutch and German.",
        [("language", name, "state", "stated", None) for name in ("Greek", "Dutch", "German")],
    ),
    (
        "I live in Bonn but my partner is Bob.",
        [("home_city", "Bonn", "state", "stated", None), ("partner", "Bob", "state", "stated", None)],
    ),
    ("I live in Rome until Friday.", []),
    ("I moved to Rome last week.", []),
    ("I work at Stripe for now.", []),
    ("I live in Rome since I was ten.", []),
    ("My favourite film is The Last Samurai.", [("favourite film", "The Last Samurai", "state", "stated", None)]),
    ("Do I live in Rome?", []),
    ("I ordered chicken.", []),
    ("Ana lives in Rome. The weather in March 2025 was fine!", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text[:40] for text, _ in CASES])
def test_what_a_first_person_says_plainly(text: str, expected: list[tuple[Any, ...]]) -> None:
    found = english(Utterance(text, "ana", observed_at=SAID_ON))
    assert [(c.predicate, c.value, str(c.verb), str(c.kind), c.since) for c in found] == expected
    assert all(c.entity == "ana" and c.source.kind == "user" and c.observed_at == SAID_ON for c in found)


def test_a_month_without_year_is_not_guessed_where_nobody_knows_when_it_was_said() -> None:
    assert english(Utterance("I moved to Berlin in March.", "ana")) == []


WORDS = (
    *(
        "I",
        "my",
        "live in",
        "moved to",
        "work at",
        "speak",
        "no longer",
        "never lived in",
        "is",
        "is not",
        "but",
        "and",
    ),
    *(
        "in",
        "since",
        "from",
        "to",
        "until",
        "2025",
        "2025-99",
        "31 February 2025",
        "March",
        "if",
        "She said that",
        "not",
    ),
    *(",", ".", "?", "e-mail", "x" * 2000, "a@b.c", "\ud800", "\n", "'", "", "Rome", "\u0130stanbul"),
)


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_whatever_is_said_every_candidate_can_be_submitted(words: list[str]) -> None:
    for said_on in (None, "2025-04-10"):
        for candidate in english(Utterance(" ".join(words), "ana", observed_at=said_on)):
            candidate.check("UTC")


@pytest.mark.parametrize(
    "piece", ["I live in a ", "my x is y from 2025 to ", "I moved to in in ", ",and I ", "a.b", "maybe "]
)
def test_a_long_text_without_an_end_is_read_in_no_time(piece: str) -> None:
    english(Utterance(piece * 20_000, "ana"))  # the test's timeout is the bound: minutes, where a second is needed


def test_a_date_that_is_none_says_nothing() -> None:
    assert english(Utterance("I live in Rome since 2025-99. I moved to Bonn on 31 February 2025.", "ana")) == []


def test_a_candidate_names_the_passage_that_it_was_said_in() -> None:
    text = "Hello. I live in Lisbon. I speak Greek."
    found = english(Utterance(text, "ana", Source("user", episode="chat-1"), offset=100))
    spans = [candidate.source.span for candidate in found]
    assert [text[span[0] - 100 : span[1] - 100] for span in spans if span] == ["I live in Lisbon.", "I speak Greek."]


def test_a_candidate_survives_the_queue_as_it_is() -> None:
    for candidate in (
        Candidate("ana", "car", NONE, instead_of="Polo", mentions=("bob",), confidence=0.5),
        Candidate("ana", "car", "Polo", instead_of=NONE),
        Candidate("ana", "x", [1, {"a": None}], source=Source("document", "d", "e", (1, 2)), observed_at="2025"),
        Candidate("ana", "x", 1.5, verb="period", since="2021~", until="2022-W10", scope="work", zone="UTC"),
    ):
        assert from_json(to_json(candidate)) == candidate


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"verb": "guess"}, "use one of state, change"),
        ({"kind": "guess"}, "use one of stated"),
        ({"verb": "period", "since": "2021"}, "since and until"),
        ({"verb": "temporary"}, "has an end"),
        ({"source": Source("document")}, "document's date"),
        ({"entity": " "}, "entity is empty"),
    ],
)
def test_a_candidate_that_makes_no_sense_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Candidate(**{"entity": "ana", "predicate": "home", "value": "Rome", **given})


def test_any_model_is_an_extractor_through_one_callable() -> None:
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        items = [
            {"predicate": "home_city", "value": "Rome", "verb": "change", "since": "2025-03", "thoughts": "sure"},
            {"predicate": "home_city", "value": "Bonn", "verb": "teleport"},
            "nothing",
            {"entity": "bob", "predicate": "diet", "value": None, "kind": "negated", "confidence": 0.4},
            {"predicate": "car", "value": None},
        ]
        return f"```json\n{json.dumps(items)}\n```"

    problems: list[str] = []
    extract = ModelExtractor(model, (("home_city", "where somebody lives"),), problems.append)
    found = extract(Utterance("I moved to Rome in March", "ana", Source("user", episode="chat-1")))
    assert [(c.entity, c.predicate, c.value) for c in found] == [("ana", "home_city", "Rome"), ("bob", "diet", NONE)]
    assert [problem.split(":")[0] for problem in problems] == ["item 2", "item 3", "item 5"]
    assert "home_city: where somebody lives" in prompts[0] and "I moved to Rome in March" in prompts[0]


def test_a_model_does_not_choose_who_spoke_or_in_which_passage() -> None:
    answer = [
        {"predicate": "email", "value": "x@y.z", "source": {"kind": "user", "span": [50, 9_000]}, "scope": "work"}
    ]
    answer[0] |= {"observed_at": "1990-01-01", "trust": 100}
    said = Utterance("the assistant says hi", "ana", Source("assistant", episode="chat-1"), "2025-01-01")
    (found,) = ModelExtractor(lambda prompt: json.dumps(answer))(said)
    assert found.source == Source("assistant", None, "chat-1", (21, 21))
    assert (found.scope, found.observed_at) == ("vault", "2025-01-01")


@pytest.mark.parametrize("answer", ["", "I cannot do that", '{"a": 1}', None])
def test_a_model_that_answers_no_list_is_an_error_that_says_so(answer: Any) -> None:
    with pytest.raises(InvalidInput, match="list|text"):
        ModelExtractor(lambda prompt: answer)(Utterance("I live in Rome", "ana"))
