"""Packs, questions and answers, run as commands on real files."""

from __future__ import annotations

import pytest

from syncmem import Candidate, Source
from tests.cli.running import Shell


@pytest.fixture
def asking(empty: Shell) -> Shell:
    """A memory in which a guess contradicts what was said."""
    empty.text("init")
    empty.text("define", "--pack", "personal")
    empty.text("remember", "ana", "home_city", "Lisbon", "--observed-at", "2025-01-01")
    with empty.memory() as memory:
        memory.submit(Candidate("ana", "lives in", "Porto", kind="inferred", source=Source("model")))
        memory.consolidate()
    return empty


def test_a_pack_is_defined_once_and_told(empty: Shell) -> None:
    empty.text("init")
    empty.text("define", "home_city", "--many", "--alias", "home")
    report = empty.json("define", "--pack", "personal")
    assert report["kept"] == ["home_city"] and "language" in report["defined"]
    assert empty.text("define", "--pack", "personal").startswith("0 predicates defined: none\ndefined before")
    assert empty.json("predicates")["home_city"]["aliases"] == ["home"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of PREDICATE and --pack"),
        (("x", "--pack", "personal"), "one of PREDICATE and --pack"),
        (("--pack", "personal", "--single"), "no other option"),
        (("x",), "--single"),
    ],
)
def test_define_takes_a_predicate_or_a_pack(asking: Shell, arguments: tuple[str, ...], message: str) -> None:
    outcome = asking.run("define", *arguments)
    assert outcome.code == 2 and message in outcome.err


def test_a_pack_that_is_not_right_is_refused_with_its_place(asking: Shell) -> None:
    (asking.folder / "own.toml").write_text('name = "own"\n[predicates.a]\ncardinality = "few"\n')
    outcome = asking.run("define", "--pack", "own.toml")
    assert outcome.code == 1 and "predicates.a.cardinality" in outcome.err


def test_a_question_is_told_and_answered_by_its_id(asking: Shell) -> None:
    (question,) = asking.json("questions")
    assert [option["value"] for option in question["options"]] == ["Lisbon", "Porto"]
    told = asking.text("questions")
    assert told.startswith(
        f"{question['id']}  What holds now for home city of ana: 'Lisbon' (source not named, 2025-01-01)"
    )
    asking.text("answer", question["id"], "Porto")
    assert asking.text("questions") == "nothing to ask\n"
    assert asking.json("believe", "ana", "home_city")[0]["value"] == "Porto"
    again = asking.run("answer", question["id"], "--keep")
    assert again.code == 1 and "no question" in again.err


def test_an_answer_may_be_a_word_and_is_only_one(asking: Shell) -> None:
    (question,) = asking.json("questions")
    outcome = asking.run("answer", question["id"], "Porto", "--keep")
    assert outcome.code == 2 and "one answer" in outcome.err
    assert asking.run("answer", question["id"]).code == 2
    (receipt,) = asking.json("answer", question["id"], "--keep")
    assert receipt["decision"] == "NOOP" and asking.json("questions") == []
