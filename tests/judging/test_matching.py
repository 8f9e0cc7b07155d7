"""Which slot a candidate belongs to: names first, a model only proposes."""

from __future__ import annotations

import json

import pytest

from syncmem import Candidate, Match, Matcher, ModelMatcher, by_names
from syncmem.model.predicate import Predicate

DEFINED = {
    "home_city": Predicate(aliases=("lives in", "city")),
    "birth_city": Predicate(aliases=("city",)),
    "email": Predicate(aliases=("e-mail",)),
}


def never(prompt: str) -> str:
    raise AssertionError("the names are clear, nobody asks a model")


@pytest.mark.parametrize("matcher", [by_names, ModelMatcher(never)], ids=["names", "model"])
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("home_city", Match("home_city")),
        ("Home City", Match("home_city")),
        ("homeCity", Match("home_city")),
        ("LIVES-IN", Match("home_city")),
        ("e mail", Match("email")),
        ("City", Match("city", ("birth_city", "home_city"))),
    ],
)
def test_names_decide_alike_with_and_without_a_model(matcher: Matcher, name: str, expected: Match) -> None:
    assert matcher(Candidate("ana", name, "Rome"), DEFINED) == expected


def test_an_unknown_name_stays_a_predicate_of_its_own() -> None:
    assert by_names(Candidate("ana", "Shoe size", 38), DEFINED) == Match("shoe_size")


@pytest.mark.parametrize(
    ("answer", "proposals"),
    [
        (json.dumps("home_city"), ("home_city",)),
        ("null", ()),
        (json.dumps("invented"), ()),
        ("home_city", ("home_city",)),
        ('```json\n"home_city"\n```', ("home_city",)),
        ("It is home_city", ()),
        (json.dumps(["home_city"]), ()),
    ],
)
def test_a_model_proposes_what_is_defined_and_the_name_stays_open(answer: str, proposals: tuple[str, ...]) -> None:
    found = ModelMatcher(lambda prompt: answer)(Candidate("ana", "hometown", "Rome"), DEFINED)
    assert found == Match("hometown", proposals)
