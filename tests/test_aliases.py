"""Names that are one: what a user sees of same, different, and their undoing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from queue import Queue

import pytest

from syncmem import AsyncMemory, Candidate, Environment, InvalidInput, ManualClock, Memory, Notice, Source
from syncmem.environment import seeded_randomness
from syncmem.lines import apply
from tests.strategies import rectangles

NOON = 1_718_452_800_000_000  # 2024-06-15 12:00 UTC
MINUTE = 60_000_000


def memory_of(number: int = 1) -> Memory:
    """A memory of its own device, in which every word is said a minute after the one before."""
    made = Memory(":memory:", zone="UTC", environment=Environment(ManualClock(NOON), seeded_randomness(number)))
    made.define("city", cardinality="single")
    return made


def later(*memories: Memory, minutes: int = 10) -> None:
    for memory in memories:
        memory._environment.clock.time += minutes * MINUTE  # type: ignore[attr-defined]


def city(memory: Memory, entity: str, **asked: object) -> object:
    found = memory.believe(entity, "city", **asked)  # type: ignore[arg-type]
    return None if found is None else found.value


def meet(*memories: Memory) -> None:
    for _ in range(3):
        for one in memories:
            for other in memories:
                if one is not other:
                    one.merge(other)


def test_names_that_are_one_share_what_is_believed_until_the_link_is_undone() -> None:
    with memory_of() as memory, memory_of() as never:
        for each in (memory, never):
            each.remember("robert", "city", "Lisbon", changed_on="2020-01-01")
            each.remember("bob", "city", "Berlin", changed_on="2022-01-01")
        link = memory.same("robert", "bob")
        assert (str(link.decision), link.why) == ("UPDATE", "From now on they are one, under 'bob'.")
        for name in ("robert", "bob"):
            told = [(belief.entity, belief.value) for belief in memory.timeline(name, "city")]
            assert told == [("bob", "Lisbon"), ("bob", "Berlin")]
            assert [entry.entity for entry in memory.history(name, "city") if entry.entity] == ["robert", "bob"]
        assert memory.entities() == ["bob"]
        assert memory.aliases("robert").names == ("bob", "robert")
        memory.undo(link.event)
        assert memory.belief_digest() == never.belief_digest()
        assert memory.entities() == never.entities() == ["bob", "robert"]
        assert memory.aliases("robert").names == ("robert",)
        assert [entry.status for entry in memory.aliases("robert").links] == ["undone"]


def test_the_past_is_told_as_it_was_known_and_as_it_was_asserted() -> None:
    with memory_of() as memory:
        memory.remember("robert", "city", "Lisbon")
        later(memory)
        before = memory.remember("bob", "city", "Berlin", trust="document")
        later(memory)
        link = memory.same("robert", "bob")
        later(memory)
        parted = memory.undo(link.event)
        assert [city(memory, "bob", known_at=n.known) for n in (before, link, parted)] == ["Berlin", "Lisbon", "Berlin"]
        assert city(memory, "robert", known_at=link.known) == "Lisbon"
        assert [belief.entity for belief in memory.beliefs("robert", known_at=link.known)] == ["bob"]
        asserted = [city(memory, "bob", asserted_by=f"2024-06-15T12:{minute}") for minute in ("15", "25", "35")]
        assert asserted == ["Berlin", "Lisbon", "Berlin"]
        assert memory.aliases("bob", known_at=link.known).names == ("bob", "robert")
        assert memory.aliases("bob", known_at=before.known).links == ()
        then = rectangles(memory._replica)
        memory.rebuild()
        assert rectangles(memory._replica) == then


def test_more_trust_decides_whether_names_are_one_and_time_where_it_is_equal() -> None:
    with memory_of() as memory:
        memory.remember("robert", "city", "Lisbon")
        guess = memory.same("robert", "bob", trust="inference", source="model")
        assert city(memory, "bob") == "Lisbon"
        no = memory.different("bob", "robert")
        assert (str(no.decision), no.why) == ("UPDATE", "From now on they are two.")
        assert city(memory, "bob") is None
        again = memory.same("robert", "bob", trust="inference", source="model")
        assert str(again.decision) == "CONTESTED"
        later(memory)
        assert str(memory.same("robert", "bob").decision) == "UPDATE"
        effects = {entry.event: entry.effect for entry in memory.aliases("bob").links}
        outweighed = "is outweighed by what was said with more trust, or later"
        assert [effects[event] for event in (no.event, again.event, guess.event)] == [
            outweighed,
            "makes them one",
            "makes them one",
        ]


def test_what_would_join_two_that_are_different_has_no_effect() -> None:
    with memory_of() as memory:
        for name in ("a", "b", "c"):
            memory.remember(name, "city", name.upper())
        memory.different("a", "c", trust=95)
        memory.same("a", "b", trust=90)
        joining = memory.same("b", "c", trust=80)
        assert str(joining.decision) == "CONTESTED"
        assert (memory.aliases("b").names, memory.aliases("c").names) == (("a", "b"), ("c",))


def test_a_link_goes_with_its_batch_and_with_its_source() -> None:
    with memory_of() as memory:
        memory.remember("robert", "city", "Lisbon")
        memory.same("robert", "bob", batch="import-7", source="crm")
        memory.retract(batch="import-7")
        assert city(memory, "bob") is None
        memory.same("robert", "bob", source="crm")
        withdrawn = memory.withdraw(source="crm")
        assert withdrawn.taken == {"same": 2} and city(memory, "bob") is None
        memory.undo(*withdrawn.events)
        assert city(memory, "bob") == "Lisbon"


def test_a_guess_does_not_undo_what_the_user_said() -> None:
    with memory_of() as memory:
        memory.remember("robert", "city", "Lisbon")
        link = memory.same("robert", "bob")
        memory.undo(link.event, trust="inference")
        assert city(memory, "bob") == "Lisbon"


def test_a_link_counts_in_every_scope_if_it_is_said_in_the_vault_and_else_in_its_own() -> None:
    with memory_of() as memory:
        for scope in ("vault", "work", "device"):
            memory.remember("robert", "city", f"of {scope}", scope=scope)
        memory.same("robert", "bob", scope="work")
        assert [city(memory, "bob", scope=scope) for scope in ("vault", "work")] == [None, "of work"]
        link = memory.same("robert", "bert")
        found = [city(memory, "bert", scope=scope) for scope in ("vault", "work", "device")]
        assert found == ["of vault", "of work", "of device"]
        assert memory.aliases("robert", scope="work").names == ("bert", "bob", "robert")
        memory.different("robert", "bert", scope="work")
        assert [city(memory, "bert", scope=scope) for scope in ("vault", "work")] == ["of vault", None]
        memory.undo(link.event)
        assert city(memory, "bert") is None
        later = memory.remember("new", "city", "Rome", scope="work")
        assert later.known and memory.aliases("robert", scope="work").names == ("bob", "robert")


def test_another_device_is_told_of_with_the_names_that_it_knew() -> None:
    with memory_of(1) as phone, memory_of(2) as laptop:
        phone.remember("robert", "city", "Lisbon")
        later(phone, laptop)
        phone.same("robert", "bob")
        later(phone, laptop)
        phone.remember("robert", "diet", "vegan")
        laptop.merge(phone)
        then = [city(laptop, "bob", device=phone.device, known_at=f"2024-06-15T12:{m}") for m in ("05", "15")]
        assert then == [None, "Lisbon"]


def test_devices_agree_whoever_linked_what_in_whatever_order() -> None:
    with memory_of(1) as phone, memory_of(2) as laptop, memory_of(3) as tablet:
        later(phone, laptop, tablet)
        phone.remember("robert", "city", "Lisbon")
        laptop.remember("bob", "city", "Berlin", since="2024")
        tablet.same("robert", "bob")
        tablet.merge(laptop)
        phone.merge(tablet)
        meet(phone, laptop, tablet)
        assert len({each.belief_digest() for each in (phone, laptop, tablet)}) == 1
        assert {city(each, "bob") for each in (phone, laptop, tablet)} == {city(phone, "robert")}


def test_a_denial_about_one_name_denies_what_was_said_about_the_other_while_they_are_one() -> None:
    with memory_of() as memory:
        claim = memory.remember("robert", "city", "Lisbon")
        memory.end("robert", "city", "Lisbon", event=claim.event, at="2024-03-01")
        memory.deny("bob", "city", "Lisbon")
        before = memory.belief_digest()
        link = memory.same("bob", "robert")
        assert memory.event(claim.event).status == "denied" and city(memory, "robert") is None
        memory.undo(link.event)
        assert memory.event(claim.event).status == "live" and memory.belief_digest() == before


def test_an_end_may_name_a_claim_by_another_name() -> None:
    with memory_of() as memory:
        claim = memory.remember("robert", "city", "Lisbon")
        with pytest.raises(InvalidInput, match="is no claim about bob city"):
            memory.end("bob", "city", "Lisbon", event=claim.event)
        memory.same("robert", "bob")
        memory.end("robert", "city", "Lisbon", event=claim.event)
        assert city(memory, "bob") is None


@pytest.mark.parametrize(("one", "other"), [("bob", "bob"), ("", "bob"), ("b\u00f3b", "bo\u0301b")])
def test_a_name_is_not_linked_with_itself_or_with_none(one: str, other: str) -> None:
    with memory_of() as memory:
        for verb in (memory.same, memory.different):
            with pytest.raises(InvalidInput, match=";"):
                verb(one, other)
        assert memory.aliases("bob").links == ()


def test_json_lines_and_asyncio_have_the_verbs() -> None:
    with memory_of() as memory:
        memory.remember("robert", "city", "Lisbon")
        lines = ['{"verb": "same", "entity": "robert", "other": "bob", "batch": "b", "source": {"kind": "crm"}}']
        apply(memory, lines)
        assert city(memory, "bob") == "Lisbon"
        apply(memory, ['{"verb": "different", "entity": "robert", "other": "bob", "reason": "no"}'])
        assert city(memory, "bob") is None

    async def asked() -> tuple[str, ...]:
        async with AsyncMemory(":memory:") as memory:
            await memory.same("robert", "bob")
            await memory.different("eva", "bob")
            return (await memory.aliases("robert")).names

    assert asyncio.run(asked()) == ("bob", "robert")


def test_who_subscribed_to_any_of_the_names_is_told(tmp_path: Path) -> None:
    told: Queue[Notice] = Queue()
    with Memory(tmp_path / "a.db") as memory, memory.subscribe(told.put, entity="robert"):
        memory.same("robert", "bob")
        memory.remember("bob", "likes", "tea")
        notice = told.get(timeout=10)
        assert (notice.entity, notice.aliases, notice.predicate) == ("bob", ("robert",), "likes")


def test_a_link_made_by_another_process_is_seen_at_once(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as one, Memory(tmp_path / "a.db") as other:
        one.remember("robert", "likes", "tea")
        assert [b.value for b in one.beliefs("bob", "likes")] == []
        link = other.same("robert", "bob")
        assert [b.value for b in one.beliefs("bob", "likes")] == ["tea"]
        assert [b.value for b in one.beliefs("robert", "likes")] == ["tea"]
        other.undo(link.event)
        other.remember("bob", "likes", "gin")
        assert [b.value for b in one.beliefs("robert", "likes")] == ["tea"]
        assert [b.value for b in one.beliefs("bob", "likes")] == ["gin"]


# -- judging ------------------------------------------------------------------------------------------


def test_a_candidate_about_one_name_is_judged_with_what_is_known_under_the_other() -> None:
    with memory_of() as memory:
        passage = Source("user", None, "talk-1", (0, 20))
        memory.submit(Candidate("robert", "city", "Lisbon", source=passage))
        memory.consolidate()
        memory.same("robert", "bob")
        memory.submit(Candidate("bob", "city", "Lisbon", source=passage))
        memory.submit(Candidate("bob", "city", "Lisbon", source=Source("user", None, "talk-2")))
        memory.submit(Candidate("bob", "city", "Porto", kind="inferred", source=Source("model")))
        outcomes = [judged.outcome for judged in memory.consolidate()]
        assert outcomes == ["SET ASIDE", "NOOP", "CONTESTED"]
        (question,) = memory.questions()
        assert (question.entity, [option.value for option in question.options]) == ("bob", ["Lisbon", "Porto"])
        memory.answer(question, "Porto")
        assert city(memory, "robert") == "Porto" and memory.questions() == ()


def test_a_correction_about_one_name_reaches_what_waits_under_the_other() -> None:
    with memory_of() as memory:
        memory.same("robert", "bob")
        user = Source("user")
        memory.submit(Candidate("robert", "city", "Lisboa", source=user))
        done = memory.submit(Candidate("bob", "city", "Lisbon", verb="correct", instead_of="Lisboa", source=user))
        assert [judged.candidate.entity for judged in done.judged] == ["robert", "bob"]
        assert city(memory, "robert") == "Lisbon"


def test_a_sensitive_value_is_asked_about_once_under_the_name_that_stands() -> None:
    with memory_of() as memory:
        memory.define("passport", cardinality="single", sensitive=True)
        memory.same("robert", "bob")
        memory.submit(Candidate("robert", "passport", "X1", source=Source("user")))
        memory.consolidate()
        (question,) = memory.questions()
        assert (question.kind, question.entity) == ("sensitive", "bob")
        memory.answer(question, "X1")
        assert memory.questions() == ()


# -- predicates ---------------------------------------------------------------------------------------


def test_a_predicate_is_read_by_its_alias_where_nothing_is_known_under_the_very_name() -> None:
    with memory_of() as memory:
        memory.define("home_city", cardinality="single", aliases=["lives in", "town"])
        memory.remember("ana", "home_city", "Lisbon")
        for name in ("lives in", "Lives-In", "town", "HomeCity"):
            found = memory.believe("ana", name)
            assert found is not None and (found.predicate, found.value) == ("home_city", "Lisbon")
            assert [belief.value for belief in memory.timeline("ana", name)] == ["Lisbon"]
            assert memory.why("ana", name).belief == found
            assert [entry.value for entry in memory.history("ana", name) if entry.verb == "remember"] == ["Lisbon"]
        memory.remember("ana", "town", "Sintra")
        found = memory.believe("ana", "town")
        assert found is not None and (found.predicate, found.value) == ("town", "Sintra")


def test_an_alias_declared_later_or_by_two_predicates_reads_what_names_settle() -> None:
    with memory_of(1) as memory, memory_of(2) as other:
        memory.submit(Candidate("ana", "dwelling", "Lisbon", source=Source("user")))
        assert [judged.predicate for judged in memory.consolidate()] == ["dwelling"]
        memory.remember("ana", "home_city", "Porto")
        other.define("home_city", cardinality="single", aliases=["dwelling"])
        memory.merge(other)
        memory.submit(Candidate("ana", "dwelling", "Faro", source=Source("user")))
        assert [judged.predicate for judged in memory.consolidate()] == ["home_city"]
        assert [belief.predicate for belief in memory.beliefs("eva", "dwelling")] == []
        memory.remember("eva", "home_city", "Braga")
        assert [belief.value for belief in memory.beliefs("eva", "dwelling")] == ["Braga"]
        memory.define("work_city", cardinality="single", aliases=["dwelling"])
        assert memory.beliefs("eva", "dwelling") == []


# -- diagnosis ----------------------------------------------------------------------------------------


def test_the_doctor_proposes_the_verbs_and_is_silent_once_the_user_has_spoken() -> None:
    with memory_of() as memory:
        memory.remember("Bob", "city", "Lisbon")
        memory.remember("bob", "city", "Lisbon")
        (problem,) = [p for p in memory.doctor().problems if p.startswith("entities")]
        assert problem.endswith("say which they are: same() or different()")
        memory.different("Bob", "bob")
        assert not [p for p in memory.doctor().problems if p.startswith("entities")]
