"""Deriving claims from episodes, and deriving them anew: one batch for each extractor, version and episode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from syncmem import Candidate, HistoryEntry, InvalidInput, Memory, ModelExtractor, NotFound, Source, Utterance, english
from syncmem.judging.extracting import Extractor

SPOKEN: dict[str, Any] = {"speaker": "ana", "at": "2025-04-10T09:00Z"}


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", zone="UTC") as made:
        made.define_pack("personal")
        yield made


def finds(*found: tuple[str, str, tuple[int, int] | None]) -> Extractor:
    """An extractor that finds (predicate, value, span) in everything."""

    def extractor(spoken: Utterance) -> Sequence[Candidate]:
        return [
            Candidate(
                spoken.speaker,
                predicate,
                value,
                observed_at=spoken.observed_at,
                source=Source(spoken.source.kind, spoken.source.id, spoken.source.episode, span),
            )
            for predicate, value, span in found
        ]

    return extractor


def believed(memory: Memory, predicate: str) -> list[Any]:
    return [belief.value for belief in memory.beliefs("ana", predicate)]


def said(memory: Memory, predicate: str) -> list[HistoryEntry]:
    return [entry for entry in memory.history("ana", predicate) if entry.verb == "remember"]


def test_what_is_derived_is_one_batch_and_quotes_its_passage(memory: Memory) -> None:
    turn = memory.observe("I live in Lisbon. I speak Greek.", **SPOKEN)
    derived = memory.extract(turn.episode, english, version=1)
    assert derived.batch == f"extract/{turn.episode}/english/1"
    assert [(judged.predicate, judged.outcome) for judged in derived.judged] == [
        ("home_city", "ADD"),
        ("language", "ADD"),
    ]
    (entry,) = said(memory, "home_city")
    assert (entry.quote, entry.batch, entry.trust) == ("I live in Lisbon.", derived.batch, 90)
    again = memory.extract(turn.episode, english, version=1)
    assert (again.known, again.judged) == (True, ())
    assert len(said(memory, "home_city")) == 1
    memory.retract(batch=derived.batch)
    assert believed(memory, "home_city") == believed(memory, "language") == []


def test_a_later_version_takes_the_place_of_an_earlier_one(memory: Memory) -> None:
    turns = [memory.observe(f"I live in {city}.", speaker="ana", at=day).episode
             for city, day in (("Lisbon", "2025-01-01"), ("Porto", "2025-02-01"))]  # fmt: skip
    for turn in turns:
        memory.extract(turn, finds(("home_city", "Lisboa", (10, 16))), version=1, name="finder")
    done = memory.reextract(finds(("home_city", "Lisbon", (10, 16))), version=2, name="finder")
    assert {one.episode for one in done} == {*turns}
    assert [len(one.withdrawn) for one in done] == [1, 1]
    assert believed(memory, "home_city") == ["Lisbon"]
    assert memory.reextract(finds(("home_city", "Lisbon", (10, 16))), version=2, name="finder") == ()
    back = memory.reextract(finds(("home_city", "Lisboa", (10, 16))), version=1, name="finder")
    assert [one.batch[-2:] for one in back] == ["/2", "/2"]
    assert believed(memory, "home_city") == ["Lisboa"]


def test_what_the_user_took_back_does_not_come_again_whichever_version_finds_it(memory: Memory) -> None:
    turn = memory.observe("I live in Lisbon.", **SPOKEN)
    memory.extract(
        turn.episode, finds(("home_city", "Lisbon", (10, 16)), ("diet", "vegan", (0, 6))), version=1, name="f"
    )
    memory.retract(said(memory, "diet")[0].event)
    for version in (2, 3):
        found = finds(("home_city", "Lisbon", (10, 16)), ("diet", "vegan", (0, 6)))
        (done,) = memory.reextract(found, version=version, name="f")
        assert [judged.outcome for judged in done.judged] == ["ADD", "SET ASIDE"]
        assert (believed(memory, "home_city"), believed(memory, "diet")) == (["Lisbon"], [])
    said_again = memory.observe("I am vegan.", speaker="ana", at="2025-05-01T09:00Z")
    memory.extract(said_again.episode, finds(("diet", "vegan", (5, 10))), version=3, name="f")
    assert believed(memory, "diet") == ["vegan"]


def test_a_reader_sees_the_old_or_the_new_and_nothing_between(memory: Memory) -> None:
    turn = memory.observe("I live in Lisbon.", **SPOKEN)
    memory.extract(turn.episode, finds(("home_city", "Lisbon", (10, 16))), version=1, name="f")
    before = memory.belief_digest()

    def failing(spoken: Utterance) -> Sequence[Candidate]:
        assert believed(memory, "home_city") == ["Lisbon"]
        raise RuntimeError("the model is not reachable")

    with pytest.raises(RuntimeError):
        memory.reextract(failing, version=2, name="f")
    assert memory.belief_digest() == before
    seen: list[list[Any]] = []
    with memory.subscribe(lambda notice: seen.append(believed(memory, "home_city"))):
        memory.reextract(finds(("home_city", "Porto", (10, 16))), version=2, name="f")
        while not seen:
            pass
    assert [] not in seen


@pytest.mark.parametrize("span", [None, (40, 60), (5, 999), (6, 6)])
def test_what_rests_on_no_passage_of_the_text_is_a_guess(memory: Memory, span: tuple[int, int] | None) -> None:
    memory.remember("ana", "home_city", "Porto", observed_at="2025-01-01")
    turn = memory.observe("I live in Lisbon.", **SPOKEN)
    (judged,) = memory.extract(turn.episode, finds(("home_city", "Rome", span)), version=1).judged
    assert judged.outcome == "CONTESTED"
    entry = said(memory, "home_city")[-1]
    assert (entry.trust, entry.source.span, entry.quote) == (30, None, None)


@pytest.mark.parametrize(("words", "trust"), [("live in Lisbon", 90), ("live in Rome", 30), (" ", 30)])
def test_a_model_is_believed_for_the_words_that_were_said(memory: Memory, words: str, trust: int) -> None:
    turn = memory.observe("I live in Lisbon.", **SPOKEN)
    answer = json.dumps([{"predicate": "home_city", "value": "Lisbon", "words": words, "batch": "other"}])
    derived = memory.extract(turn.episode, ModelExtractor(lambda prompt: answer), version="m-1", name="model")
    (entry,) = said(memory, "home_city")
    assert (entry.trust, entry.batch) == (trust, derived.batch)
    assert entry.quote == (words if trust == 90 else None)


def test_the_agents_own_words_are_no_evidence(memory: Memory) -> None:
    turn = memory.observe("I live in Lisbon.", source="assistant", **SPOKEN)
    (judged,) = memory.extract(turn.episode, english, version=1).judged
    assert judged.outcome == "SET ASIDE"


def test_nothing_is_drawn_from_what_was_erased(memory: Memory) -> None:
    turn = memory.observe("I live in Lisbon.", **SPOKEN)
    memory.extract(turn.episode, finds(("home_city", "Lisbon", (10, 16))), version=1, name="f")

    def erasing(spoken: Utterance) -> Sequence[Candidate]:
        memory.erase(episode=turn.episode)
        return finds(("home_city", "Porto", (10, 16)))(spoken)

    assert memory.reextract(erasing, version=2, name="f") == ()
    assert believed(memory, "home_city") == ["Lisbon"]
    with pytest.raises(NotFound):
        memory.extract(turn.episode, english, version=1)


@pytest.mark.parametrize(("version", "name"), [("1/2", None), ("", None), (1, "my extractor"), ("v" * 65, None)])
def test_a_version_or_a_name_that_no_batch_can_have_is_refused(memory: Memory, version: Any, name: str | None) -> None:
    turn = memory.observe("I live in Lisbon.", **SPOKEN)
    with pytest.raises(InvalidInput, match="letters, digits"):
        memory.extract(turn.episode, english, version=version, name=name)
