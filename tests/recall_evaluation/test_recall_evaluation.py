"""The evaluation of recall judges rightly: its set is whole and true, and its scores can tell good from bad."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from syncmem import Memory
from tests.recall_evaluation.__main__ import main
from tests.recall_evaluation.asking import ALL_WANTED, LANGUAGES, Answer, Question, questions
from tests.recall_evaluation.embedders import Vectors
from tests.recall_evaluation.finders import ByText, ByVector, Finder, Ranked, RankedRow, Row, believed, written
from tests.recall_evaluation.scoring import HITS, by_kind, outcomes, score
from tests.recall_evaluation.telling import CLAIMS, everything_said, told

KINDS = {"as_of", "dates", "exact", "many", "names", "negations", "numbers", "other_subjects", "paraphrase"}
KINDS |= {"stale_traps", *LANGUAGES}
LITTLE_WORDS = """
    a an and any are as at be been by can could did do does for from get got had has have he her him his how i if in
    into is it its me my no none not of on or she so than that the their them then there these they this to up was what
    when where which who whom whose why will with would you your"""


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with told(embedder=None) as memory:
        yield memory


# -- the set ------------------------------------------------------------------------------------------


def test_enough_is_said_and_asked() -> None:
    asked = questions()
    claims = [said for said in everything_said() if said.verb in CLAIMS]
    assert len(claims) >= 1_000 and len(asked) >= 300
    counts = Counter(question.kind for question in asked)
    assert counts.keys() == KINDS and min(counts.values()) >= 25


def test_nothing_is_said_or_asked_twice() -> None:
    asked = Counter(question.text.casefold() for question in questions())
    said = Counter((said.day, said.verb, said.entity, said.predicate, said.value) for said in everything_said())
    assert [text for text, count in asked.items() if count > 1] == []
    assert [what for what, count in said.items() if count > 1] == []


def test_every_predicate_is_defined(memory: Memory) -> None:
    assert [name for name, each in memory.predicates().items() if not each.declared] == []


def test_every_answer_is_believed_at_the_moment_that_is_asked_about(memory: Memory) -> None:
    untrue = [
        (question.text, answer)
        for question in questions()
        for answer in question.answers
        if answer[2] not in values(memory, answer[0], answer[1], question.axes.get("valid_at"))
    ]
    assert untrue == []


def test_where_one_answer_is_wanted_the_slot_has_no_other_that_would_do(memory: Memory) -> None:
    """Of a single-valued slot the believed value is the answer: there is no second one that is as right."""
    single = {name for name, each in memory.predicates().items() if not each.many}
    slots = {(q.axes.get("valid_at"), *answer[:2]) for q in questions() for answer in q.answers if answer[1] in single}
    assert [slot for slot in slots if len(values(memory, slot[1], slot[2], slot[0])) != 1] == []


def test_where_all_answers_are_wanted_they_are_all_that_is_believed(memory: Memory) -> None:
    for question in questions():
        if question.kind in ALL_WANTED:
            ((entity, predicate),) = {answer[:2] for answer in question.answers}
            assert {answer[2] for answer in question.answers} == set(values(memory, entity, predicate)), question.text


def test_two_hundred_slots_hold_values_that_are_not_believed_now(memory: Memory) -> None:
    past = {answer for answer in stated() if answer[2] not in values(memory, answer[0], answer[1])}
    assert len({answer[:2] for answer in past}) >= 200
    assert len(past) >= 400


def test_values_went_in_every_way_there_is(memory: Memory) -> None:
    """Ended, denied, retracted and corrected; lapsed, yet to come, and outranked by a stronger word."""
    said = everything_said()
    verbs = Counter(each.verb for each in said)
    assert min(verbs[verb] for verb in ("end", "deny", "retract", "correct")) >= 5
    gone = [each for each in said if each.verb in ("end", "deny", "retract")]
    assert [each for each in gone if each.value in values(memory, each.entity, each.predicate)] == []
    temporary = [each for each in said if {"until", "valid_to", "expires_at"} & each.words.keys()]
    assert sum(each.value not in values(memory, each.entity, each.predicate) for each in temporary) >= 20
    assert sum(each.words.get("since", "") > "2026-06-01" for each in said) >= 10
    assert len(memory.contested(valid_at="2026-06-01")) >= 15


def test_a_paraphrase_shares_no_word_with_what_is_stored(memory: Memory) -> None:
    predicates = memory.predicates()
    shared = []
    for question in questions():
        for entity, predicate, value in question.answers if question.kind == "paraphrase" else ():
            stored = " ".join([str(value), predicate, *(predicates[predicate].aliases or ())])
            shared += [(question.text, word) for word in words(question.text) - words(entity) if word in words(stored)]
    assert shared == []


def test_in_a_stale_trap_a_value_that_does_not_hold_matches_the_question_best(memory: Memory) -> None:
    naive = ByText(written())
    for question in questions():
        if question.kind == "stale_traps":
            slots = {answer[:2] for answer in question.answers}
            rows = [hit.belief for hit in naive.recall(question.text, k=10_000).hits]
            best = next(row for row in rows if (row.entity, row.predicate) in slots)
            assert best.value not in values(memory, best.entity, best.predicate), question.text


def test_the_other_languages_are_written_in_their_script() -> None:
    for question in questions():
        if question.kind == "japanese":
            text = "".join([question.text, *(str(value) for _, _, value in question.answers)])
            assert re.search("[\u3040-\u30ff\u4e00-\u9fff]", text), question.text


# -- the judge ----------------------------------------------------------------------------------------


@dataclass
class Knowing:
    """A finder that was told the answers, and what it says before them."""

    answers: dict[str, tuple[Answer, ...]]
    before: tuple[Answer, ...] = ()

    def recall(self, question: str, *, k: int, valid_at: str | None = None, entity: str | None = None) -> Ranked:
        given = [*self.before, *self.answers.get(question, ())][:k]
        return Ranked(tuple(RankedRow(Row(*answer), 1.0) for answer in given))


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[Answer, ...]]:
    return {question.text: question.answers for question in questions()}


def test_who_knows_the_answers_gets_full_marks(memory: Memory, answers: dict[str, tuple[Answer, ...]]) -> None:
    for kind, each in by_kind(outcomes(Knowing(answers), memory, questions())).items():
        assert (each.recall_at_1, each.recall_at_5, each.reciprocal_rank, each.stale) == (1, 1, 1, 0), kind


def test_who_finds_nothing_gets_none(memory: Memory) -> None:
    nothing = score(outcomes(Knowing({}), memory, questions()))
    assert (nothing.recall_at_1, nothing.recall_at_5, nothing.reciprocal_rank, nothing.stale) == (0, 0, 0, 0)


def test_a_right_answer_in_third_place_counts_a_third(memory: Memory) -> None:
    """And nothing among the first; one of two that are wanted is half."""
    one = Question("exact", "Where?", (("ana", "home_city", "Lisbon"),), {})
    two = Question("many", "Which?", (("ana", "fear", "moths"), ("ana", "fear", "deep water at night")), {})
    before = (("ana", "shoe_size", 39), ("ana", "height_cm", 168))
    finder = Knowing({"Where?": one.answers, "Which?": two.answers[:1]}, before)
    found = score(outcomes(finder, memory, [one]))
    assert (found.recall_at_1, found.recall_at_5, found.reciprocal_rank) == (0, 1, 1 / 3)
    assert score(outcomes(finder, memory, [two])).recall_at_5 == 1 / 2


def test_what_does_not_hold_is_counted_even_in_the_last_place(memory: Memory) -> None:
    asked = Question("as_of", "Where?", (("ana", "home_city", "Rotterdam"),), {"valid_at": "2020-06-01"})
    finder = Knowing({"Where?": (("ana", "home_city", "Rotterdam"), ("ana", "home_city", "Lisbon"))})
    (outcome,) = outcomes(finder, memory, [asked])
    assert outcome.stale == (("ana", "home_city", "Lisbon"),)
    assert (outcome.recall(1), score([outcome]).stale) == (1, 1)


def test_a_store_without_time_hands_over_what_no_longer_holds(memory: Memory) -> None:
    """So the set can tell: the same search over what is believed hands over nothing of the kind, and finds more."""
    naive = score(outcomes(ByText(written()), memory, questions()))
    current = score(outcomes(ByText(believed(memory)), memory, questions()))
    assert naive.stale > 1_000 and current.stale == 0
    assert naive.recall_at_5 < current.recall_at_5 < 0.6


def test_a_value_that_is_gone_leads_to_what_holds_in_its_slot(memory: Memory) -> None:
    """The past may be searched, as long as the present is what is handed over."""
    traps = [question for question in questions() if question.kind == "stale_traps"]
    bare, ours = (score(outcomes(finder, memory, traps)) for finder in (ByText(believed(memory)), memory))
    assert ours.recall_at_5 > 0.95 > 2 * bare.recall_at_5
    assert ours.stale == 0


def test_words_and_vectors_together_are_better_than_either(memory: Memory) -> None:
    pytest.importorskip("wordllama", reason="needs wordllama")
    with told(embedder="wordllama") as both:
        both.index()
        finders = (memory, ByVector(memory, Vectors("wordllama")), both)
        words, vectors, hybrid = (score(outcomes(finder, memory, questions())) for finder in finders)
    assert hybrid.recall_at_5 > max(words.recall_at_5, vectors.recall_at_5)
    assert hybrid.stale == 0


def test_the_entity_that_is_asked_about_is_the_only_one_found(memory: Memory) -> None:
    finder: Finder = ByText(believed(memory))
    found = finder.recall("felix hugo marathon", k=HITS, entity="hugo").hits
    assert found and {hit.belief.entity for hit in found} == {"hugo"}


def test_the_report_names_each_kind_and_refuses_a_store_without_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--baseline", "written"]) == 1
    assert main(["--baseline", "current", "--misses"]) == 0
    told = capsys.readouterr().out
    assert all(f"\n{kind.replace('_', ' ')}" in told for kind in (*KINDS, "all"))
    assert "wanted: ana likes 'thunderstorms watched from the balcony'" in told


# -- below --------------------------------------------------------------------------------------------


def values(memory: Memory, entity: str, predicate: str, valid_at: str | None = None) -> list[object]:
    return [belief.value for belief in memory.beliefs(entity, predicate, valid_at=valid_at)]


def stated() -> set[Answer]:
    return {(said.entity, said.predicate, said.value) for said in everything_said() if said.verb in CLAIMS}


def words(text: str) -> set[str]:
    """What carries meaning in a text."""
    plain = re.sub(r"['’]s\b", "", text.casefold()).replace("_", " ")
    return set(re.findall(r"\w+", plain)) - set(LITTLE_WORDS.split())
