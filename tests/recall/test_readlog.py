"""The read log: what a model had been given can be told months later, and nothing erased is in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmem import Candidate, Environment, InvalidInput, ManualClock, Memory, NotFound, Source, Utterance, english
from syncmem.environment import seeded_randomness

HOME = ("ana", "home_city")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_750_000_000_000_000)


@pytest.fixture
def memory(tmp_path: Path, clock: ManualClock) -> Iterator[Memory]:
    environment = Environment(clock, seeded_randomness(1))
    with Memory(tmp_path / "a.db", zone="UTC", embedder=None, environment=environment) as opened:
        opened.define("home_city", cardinality="single", aliases=["lives in"])
        opened.remember(*HOME, "Berlin", changed_on="2019-05-01")
        opened.remember("bob", "home_city", "Rome", changed_on="2020-01-01")
        yield opened


def test_why_said_tells_what_was_given_and_what_became_of_it(memory: Memory, clock: ManualClock) -> None:
    recalled = memory.recall("Where does Ana live?")
    assert not memory.why_said(recalled.receipt or "").different
    clock.time += 90 * 86_400_000_000
    memory.remember(*HOME, "Lisbon", changed_on="2025-08-01")
    said = memory.why_said(f"It is Berlin [{recalled.receipt}].")
    (home, *_) = said.claims
    assert home.belief is not None and home.belief.value == "Berlin" and home.handed
    assert home.since == "no longer holds; now 'Lisbon'"
    assert said.question == "Where does Ana live?" and said.different
    assert said.now[0].belief.value == "Lisbon"
    assert "no longer holds; now 'Lisbon'" in said.text


def test_the_prompt_itself_leads_to_its_receipt_and_what_was_cut_is_told(memory: Memory) -> None:
    whole = memory.recall("Where do they live?", log=False)
    recalled = memory.recall("Where do they live?", token_budget=whole.tokens + 10)
    assert len(recalled.hits) == len(recalled.cut) == 1
    said = memory.why_said(f"System: ...\n{recalled.to_prompt()}\nUser: and now?")
    assert said.receipt == recalled.receipt
    assert sorted(claim.handed for claim in said.claims) == [False, True]
    assert not said.different


def test_a_retraction_is_named_and_a_dated_question_stays_dated(memory: Memory) -> None:
    event = memory.remember("ana", "car", "a blue Fiat").event
    then = memory.recall("Which car has Ana?", valid_at="2030-01-01")
    memory.retract(event)
    said = memory.why_said(then.receipt or "")
    since = {claim.belief.predicate: claim.since for claim in said.claims if claim.belief is not None}
    assert since["car"] == "was retracted"
    assert said.valid_at == then.valid_at and said.different


def test_no_trace_of_an_erased_entity_is_left_in_the_log(memory: Memory, tmp_path: Path) -> None:
    memory.remember("quixana", "home_city", "Zyzzogeton", since="2020")
    questions = ("Where does Quixana live?", "Does bob know QUIXANA?", "home city", "What of Quíxana?")
    receipts = [memory.recall(question).receipt or "" for question in questions]
    plain = memory.recall("Where does Bob live?", entity="bob").receipt or ""
    memory.remember("bob", "friend", "Carla", mentions=["quixana"])
    assert memory.erase("quixana").scrubbed
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for trace in (b"quixana", "quíxana".encode(), b"zyzzogeton", b"zyzzo"):
        assert trace not in data.lower(), trace
    for receipt in receipts:
        said = memory.why_said(receipt)
        assert said.question is None and said.now == ()
        assert all(claim.belief is None or claim.belief.entity != "quixana" for claim in said.claims)
    assert memory.why_said(receipts[0]).claims[0].since == "was erased"
    assert memory.why_said(plain).question == "Where does Bob live?"


def test_an_erasure_from_another_device_reaches_questions_about_whom_was_never_stored_here(memory: Memory) -> None:
    receipt = memory.recall("Where does Zoe live, and Bob?").receipt or ""
    with Memory(":memory:", zone="UTC", embedder=None) as phone:
        phone.remember("zoe", "home_city", "Oslo")
        phone.erase("zoe")
        memory.merge(phone)
    assert memory.why_said(receipt).question is None


def test_the_log_keeps_nothing_alive_and_leaves_with_no_bundle(memory: Memory, tmp_path: Path) -> None:
    receipt = memory.recall("Where does Ana live?").receipt or ""
    memory.export_bundle(tmp_path / "all.bundle")
    with Memory(":memory:", embedder=None) as other:
        other.import_bundle(tmp_path / "all.bundle")
        with pytest.raises(NotFound, match="each device has a read log of its own"):
            other.why_said(receipt)
    memory.rebuild()
    (home, *_) = memory.why_said(receipt).claims
    assert home.belief is not None and home.belief.value == "Berlin" and home.since == "holds"


def test_an_answer_that_repeats_what_was_recalled_is_no_evidence(memory: Memory) -> None:
    recalled = memory.recall("Where does Ana live?")
    block, receipt = recalled.to_prompt(), recalled.receipt
    for source in (Source("user", receipt), Source("user", "chat", episode=f"turn 4 of {receipt}")):
        memory.submit(Candidate(*HOME, "Berlin", source=source))
    memory.submit(Candidate("ana", "note", block, source=Source("user", "chat")))
    outcomes = [(judged.outcome, judged.because) for judged in memory.consolidate()]
    assert outcomes == [("SET ASIDE", "it repeats what was recalled, which is no new evidence")] * 3
    echoed = english(Utterance(f"{block}\nI live in Porto.", speaker="ana"))
    assert [candidate.value for candidate in echoed] == ["Porto"]
    said = Utterance(f"I live in Porto. {block}", speaker="ana")
    assert len(said.text) == len(f"I live in Porto. {block}") and "Berlin" not in said.text


def test_without_a_receipt_nothing_is_written(memory: Memory) -> None:
    memory.index()
    before = memory._replica.db.execute("PRAGMA data_version").fetchone(), memory._replica.last_transaction
    changes = memory._replica.db.raw.total_changes
    recalled = memory.recall("Where does Ana live?", log=False)
    assert recalled.receipt is None and "receipt" not in recalled.to_prompt()
    assert memory._replica.db.raw.total_changes == changes
    assert (memory._replica.db.execute("PRAGMA data_version").fetchone(), memory._replica.last_transaction) == before


def test_a_recall_answers_without_a_receipt_while_another_process_writes(tmp_path: Path) -> None:
    with Memory(tmp_path / "b.db", embedder=None, wait_seconds=0.05) as one, Memory(tmp_path / "b.db") as other:
        one.remember("ana", "car", "Fiat")
        one.index()
        with other.transaction():
            other.remember("bob", "car", "Fiat")
            found = one.recall("Fiat")
    assert [hit.belief.entity for hit in found.hits] == ["ana"]
    assert found.receipt is None and "receipt" not in found.prompt
    assert [note for note in found.notes if note.startswith("no receipt: ")]


# -- shared -------------------------------------------------------------------------------------------


@pytest.fixture
def phone(clock: ManualClock) -> Iterator[Memory]:
    environment = Environment(clock, seeded_randomness(2))
    with Memory(":memory:", zone="UTC", embedder=None, environment=environment) as opened:
        yield opened


def test_what_one_device_recalled_can_be_told_on_another_once_it_was_shared(memory: Memory, phone: Memory) -> None:
    phone.remember(*HOME, "Hamburg", changed_on="2018-01-01")
    recalled = memory.recall("Where does Ana live?", k=1)
    phone.merge(memory)
    with pytest.raises(NotFound, match="share_recall"):
        phone.why_said(recalled.receipt or "")
    memory.share_recall(recalled.receipt or "")
    memory.remember(*HOME, "Lisbon", changed_on="2025-05-01")
    phone.merge(memory)
    said = phone.why_said(f"It is Berlin [{recalled.receipt}].")
    assert said.question == "Where does Ana live?" and said.different
    (claim,) = said.claims
    assert claim.belief is not None and claim.belief.value == "Berlin" and claim.handed
    assert claim.since == "no longer holds; now 'Lisbon'"


def test_sharing_twice_writes_once_and_what_is_shared_is_no_evidence(memory: Memory) -> None:
    receipt = memory.recall("Where does Ana live?").receipt or ""
    first, again = memory.share_recall(receipt), memory.share_recall(receipt)
    assert first.new and not again.new and first.episode == again.episode
    assert not memory.extract(first.episode, english, version=1).judged and not memory.questions()
    with pytest.raises(NotFound, match="recalled.receipt"):
        memory.share_recall("recall-0000000000000000")


def test_a_shared_entry_is_erased_with_whom_it_found_or_asked_for(memory: Memory, phone: Memory) -> None:
    memory.remember("carla", "home_city", "Oslo")
    receipts = [memory.recall(q, entity=e, k=9).receipt or "" for q, e in (("home city", "ana"), ("Carla?", "bob"))]
    for receipt in receipts:
        memory.share_recall(receipt)
    phone.merge(memory)
    phone.erase("ana")
    phone.erase("carla")
    for receipt in receipts:
        with pytest.raises(NotFound):
            phone.why_said(receipt)
    memory.merge(phone)
    assert memory.why_said(receipts[0]).question is None
    with pytest.raises(InvalidInput, match="erased"):
        memory.share_recall(receipts[0])
