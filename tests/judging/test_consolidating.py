"""Off the response path: nothing is lost, nothing is done twice, and the order decides nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncmem import AsyncMemory, Candidate, InvalidInput, Match, Memory, ModelMatcher, Source, by_names
from syncmem.judging.consolidating import judge
from syncmem.judging.queue import Entry
from syncmem.model.predicate import Predicate
from tests.judging.desk import SECOND, USER, Desk, meet
from tests.test_erasure import tables

ROOT = Path(__file__).parents[2]


def test_nothing_is_judged_before_it_is_consolidated_and_all_of_it_then() -> None:
    desk = Desk()
    submission = desk.memory.submit([Candidate("ana", "home_city", town, source=USER) for town in ("Bonn", "Rome")])
    assert submission.waiting == 2 and submission.judged == ()
    assert desk.values("home_city") == []
    desk.clock.time += SECOND
    assert [judged.outcome for judged in desk.memory.consolidate()] == ["ADD", "UPDATE"]
    assert desk.values("home_city") == ["Rome"] and desk.memory.consolidate() == ()


@pytest.mark.parametrize(
    "odd", [{"confidence": 5}, {"confidence": "high"}, {"words": 7}, {"batch": ["b"]}, {"words": "\ud800"}], ids=str
)
def test_what_could_not_be_judged_is_refused_when_it_is_submitted_and_holds_up_nothing(odd: dict[str, Any]) -> None:
    desk = Desk()
    with pytest.raises(InvalidInput, match=";"):
        desk.memory.submit([Candidate("ana", "diet", "vegan"), Candidate("ana", "home_city", "Bonn", **odd)])
    assert desk.memory.submit(Candidate("ana", "home_city", "Rome", source=USER)).waiting == 1
    assert [judged.outcome for judged in desk.memory.consolidate()] == ["ADD"]


def test_the_doctor_tells_how_much_waits_and_that_nobody_judges_it() -> None:
    memory = Desk().memory
    memory.submit([Candidate("ana", "language", f"L{n}", source=USER) for n in range(1_001)])
    doctor = memory.doctor()
    assert doctor.facts["candidates"] == {"waiting": 1_001, "in_doubt": 0}
    assert [problem for problem in doctor.problems if "consolidate()" in problem]


def test_what_was_said_counts_from_when_it_was_said_and_not_from_when_it_was_judged() -> None:
    desk = Desk().on("2025-02-01")
    desk.memory.submit(Candidate("ana", "home_city", "Bonn", source=USER))
    desk.on("2025-02-10").memory.remember("ana", "home_city", "Rome")
    desk.on("2025-02-20").memory.consolidate()
    assert desk.line("home_city") == [("Bonn", "2025-02-01", "2025-02-10"), ("Rome", "2025-02-10", None)]


def test_a_correction_takes_effect_at_once_and_what_waited_of_its_slot_before_it() -> None:
    desk = Desk().on("2025-02-01")
    desk.memory.submit(
        [Candidate("ana", *told, observed_at="now", source=USER) for told in (("home_city", "Bonn"), ("diet", "vegan"))]
    )
    desk.clock.time += SECOND
    fix = Candidate("ana", "lives in", "Rome", "correct", observed_at="now", instead_of="Bonn", source=USER)
    submission = desk.memory.submit(fix)
    assert [judged.outcome for judged in submission.judged] == ["ADD", "UPDATE"]
    assert submission.waiting == 1
    assert desk.line("home_city") == [("Rome", "2025-02-01", None)]


def test_what_arrives_during_a_slow_consolidation_is_judged_by_it_and_holds_nobody_up() -> None:
    desk = Desk()
    desk.memory.submit(Candidate("ana", "home_city", "Bonn", source=USER))
    desk.clock.time += SECOND

    def slow(candidate: Candidate, defined: Mapping[str, Predicate]) -> Match:
        """A model that thinks, while the conversation goes on in another thread."""
        if candidate.value == "Bonn":
            more = Candidate("ana", "language", "Greek", source=USER)
            talking = threading.Thread(target=desk.memory.submit, args=(more,))
            talking.start()
            talking.join(timeout=30)
            assert not talking.is_alive(), "submit waited for the model"
        return by_names(candidate, defined)

    assert [judged.candidate.value for judged in desk.memory.consolidate(matcher=slow)] == ["Bonn", "Greek"]


def test_two_that_consolidate_at_once_judge_everything_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, zone="UTC") as one, Memory(path, zone="UTC") as other:
        one.define_pack("personal")
        one.submit([Candidate("ana", "language", f"L{n}", source=USER) for n in range(20)])
        judged: list[object] = []
        threads = [threading.Thread(target=lambda m=m: judged.extend(m.consolidate())) for m in (one, other)]  # type: ignore[misc]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(judged) == 20
        events = [entry for n in range(20) for entry in one.history("ana", "language") if entry.value == f"L{n}"]
        assert len(events) == 20


JUDGING = """
import sys
from syncmem import Candidate, Memory, Source
with Memory(sys.argv[1], zone="UTC") as memory:
    for n in range(15):
        memory.submit(Candidate("ana", "language", f"{sys.argv[2]}-{n}", source=Source("user")))
        memory.consolidate()
"""


def test_several_processes_that_submit_and_consolidate_at_once_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, zone="UTC") as memory:
        memory.define_pack("personal")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        names = ("x", "y", "z")
        running = [
            subprocess.Popen([sys.executable, "-c", JUDGING, str(path), each], env=environment) for each in names
        ]
        assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
        memory.consolidate()
        said = [entry.value for entry in memory.history("ana", "language") if entry.verb == "remember"]
        assert sorted(map(str, said)) == sorted(f"{name}-{n}" for name in names for n in range(15))
        assert memory.submit([]).waiting == 0


DYING = """
import os, sys
from syncmem import Candidate, Memory, Source, by_names
memory = Memory(sys.argv[1], zone="UTC")
memory.define_pack("personal")
memory.submit([Candidate("ana", "language", f"L{n}", source=Source("user")) for n in range(5)])
def dies(candidate, defined):
    if candidate.value == "L3":
        os._exit(9)
    return by_names(candidate, defined)
memory.consolidate(matcher=dies)
"""


def test_a_process_that_dies_while_it_consolidates_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    died = subprocess.run([sys.executable, "-c", DYING, str(path)], env=environment, timeout=120, check=False)
    assert died.returncode == 9
    with Memory(path, zone="UTC") as memory:
        assert sorted(judged.candidate.value for judged in memory.consolidate()) == ["L3", "L4"]
        said = [entry.value for entry in memory.history("ana", "language") if entry.verb == "remember"]
        assert said == [f"L{n}" for n in range(5)]


def test_a_candidate_that_no_event_can_say_is_reported_and_holds_up_no_other() -> None:
    desk = Desk()
    backwards = Candidate("ana", "employer", "Acme", verb="period", since="2024", until="2021", source=USER)
    judged = desk.hears(backwards, Candidate("ana", "employer", "Bolt", source=USER))
    assert [each.outcome for each in judged] == ["REFUSED", "ADD"]
    assert "end before it starts" in judged[0].because
    assert desk.memory.consolidate() == ()


def test_what_cannot_be_stored_is_refused_when_it_is_submitted_and_nothing_of_it_waits() -> None:
    memory = Desk().memory
    right = Candidate("ana", "home_city", "Rome")
    for wrong in (Candidate("ana", "x", None), Candidate("ana", "x", 1, since="yesterday"), "ana lives in Rome"):
        with pytest.raises(InvalidInput):
            memory.submit([right, wrong])  # type: ignore[list-item]
    assert memory.submit([]).waiting == 0


def test_a_date_is_read_in_the_zone_in_which_it_was_submitted(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, zone="Asia/Tokyo") as memory:
        memory.submit(Candidate("ana", "home_city", "Kyoto", since="2020-05-01", source=USER))
    with Memory(path) as memory:
        memory.consolidate()
        (belief,) = memory.beliefs("ana", "home_city")
        assert belief.valid_from is not None and belief.valid_from.isoformat() == "2020-04-30T15:00:00+00:00"


def test_what_waits_goes_with_the_erasure_of_its_subject_and_leaves_no_trace() -> None:
    desk = Desk()
    desk.memory.submit(
        [
            Candidate("canary", "likes", "canary-tea", source=USER),
            Candidate("ana", "likes", "canary-gift", mentions=("canary",), source=USER),
            Candidate("ana", "likes", "coffee", source=USER),
        ]
    )
    desk.memory.erase("canary")
    assert "canary" not in tables(desk.memory)
    desk.clock.time += SECOND
    assert [judged.candidate.value for judged in desk.memory.consolidate()] == ["coffee"]


def test_what_waits_goes_when_another_device_erased_its_subject() -> None:
    laptop, phone = Desk(1), Desk(2)
    phone.memory.submit(Candidate("canary", "likes", "tea", source=USER))
    laptop.memory.remember("canary", "likes", "milk")
    laptop.memory.erase("canary")
    meet(laptop, phone)
    assert "canary" not in tables(phone.memory)


# -- order -------------------------------------------------------------------------------------------------

TOWNS = ("Bonn", "Rome", "Porto")
SOURCES = ("user", "user", "user", "document", "model", "assistant")
VERBS = ("state", "state", "state", "temporary", "temporary", "change", "period", "end", "deny")


def sayings(chance: Random) -> list[Candidate]:
    """What may be said about few slots within few days, so that much of it collides; everything but corrections."""
    return [_saying(chance) for _ in range(chance.randint(2, 8))]


def _saying(chance: Random) -> Candidate:
    verb = chance.choice(VERBS)
    bounds = {} if verb in ("state", "deny") else {"since": f"2025-01-{chance.randint(1, 5):02}"}
    if verb in ("temporary", "period"):
        bounds["until"] = f"2025-01-{chance.randint(3, 9):02}"
    return Candidate(
        "ana",
        chance.choice(["home_city", "home_city", "lives in", "language", "email"]),
        chance.choice(TOWNS),
        verb,
        chance.choice(["stated"] * 4 + ["inferred", "negated", "quoted"]),
        **bounds,
        observed_at=f"2025-01-{chance.randint(1, 4):02}",
        source=Source(chance.choice(SOURCES)),
        words=chance.choice([None, None, "I do.", "I no longer do.", "If I did!"]),
    )


def believed(memory: Memory) -> list[tuple[object, ...]]:
    return [
        (b.predicate, b.value, b.valid_from, b.valid_to, b.trust, b.contested)
        for predicate in ("home_city", "language", "email")
        for b in memory.timeline("ana", predicate)
    ]


def to_the_day(beliefs: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Beliefs without the microseconds by which candidates of one moment are told apart."""
    return [tuple(each.date() if isinstance(each, datetime) else each for each in belief) for belief in beliefs]


def judged_in(order: Callable[[list[Entry]], None], said: list[Candidate]) -> list[tuple[object, ...]]:
    """What is believed after candidates were judged in some order."""
    desk = Desk().on("2025-03-01")
    desk.memory.submit(said)
    desk.clock.time += SECOND
    entries = desk.memory._queue().about("vault", "ana", 2**40)
    order(entries)
    for entry in entries:
        judge(desk.memory, entry, by_names(entry.candidate, desk.memory._defined("vault")))
    found = believed(desk.memory)
    desk.memory.close()
    return found


@given(st.integers(0, 2**32))
def test_the_order_in_which_candidates_are_judged_does_not_change_what_is_believed(seed: int) -> None:
    chance = Random(seed)
    said = sayings(chance)
    assert judged_in(lambda entries: None, said) == judged_in(chance.shuffle, said)


def test_of_what_was_said_on_one_day_the_last_holds_in_whatever_order_it_is_judged() -> None:
    said = [Candidate("ana", "home_city", town, observed_at="2025-01-03", source=USER) for town in TOWNS]
    first, last = judged_in(lambda entries: None, said), judged_in(list.reverse, said)
    assert first == last and first[-1][1] == "Porto"


def test_a_repetition_that_is_judged_before_a_visit_counts_as_much_as_one_judged_after_it() -> None:
    said = [Candidate("ana", "home_city", "Bonn", observed_at=f"2025-01-{day}", source=USER) for day in ("02", "04")]
    visit = {"verb": "temporary", "since": "2025-01-04", "until": "2025-01-05", "observed_at": "2025-01-02"}
    said.append(Candidate("ana", "home_city", "Porto", source=USER, **visit))
    assert judged_in(lambda entries: None, said) == judged_in(list.reverse, said)


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_devices_that_each_heard_a_part_believe_the_same_as_one_that_heard_all(seed: int) -> None:
    chance = Random(seed)
    said = [replace(each, observed_at=f"2025-01-{day:02}") for day, each in enumerate(sayings(chance), 1)]
    alone, parts = Desk(1).on("2025-03-01"), [Desk(n).on("2025-03-01") for n in (2, 3, 4)]
    alone.hears(*said)
    for each in said:
        chance.choice(parts).hears(each)
    meet(*parts)
    assert to_the_day(believed(parts[0].memory)) == to_the_day(believed(alone.memory))


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_decisions_are_the_same_with_and_without_a_model_where_names_are_known(seed: int) -> None:
    said = sayings(Random(seed))
    found = []
    for matcher in (by_names, ModelMatcher(lambda prompt: '"employer"')):
        desk = Desk().on("2025-03-01")
        desk.memory.submit(said)
        desk.clock.time += SECOND
        judged = desk.memory.consolidate(matcher=matcher)
        found.append((believed(desk.memory), [(each.outcome, each.because) for each in judged]))
        desk.memory.close()
    assert found[0] == found[1]


async def _through_async() -> list[object]:
    async with AsyncMemory(":memory:") as memory:
        await memory.define_pack("personal")
        await memory.submit(Candidate("ana", "home_city", "Rome", source=USER))
        await memory.consolidate()
        return [belief.value for belief in await memory.beliefs("ana", "home_city")]


def test_the_same_verbs_are_awaited() -> None:
    import asyncio

    assert asyncio.run(_through_async()) == ["Rome"]
