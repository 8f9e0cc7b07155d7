"""Reports 1 to 10: a new statement that contradicts an old one, and what becomes of both."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from syncmem import NONE, Decision, Memory
from syncmem.lines import apply
from tests.cli.running import environment
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import current, heard, in_memory, instant, line, said
from tests.sync.group import Group

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("old", "new"), [("yes", "no"), ("no", "yes"), (True, False), ("a lot", NONE), (1, 2)])
def test_an_opposite_preference_closes_the_old_one_and_leaves_no_gap(tell: Tell, old: Any, new: Any) -> None:
    """Report 1."""
    steps = [said(f"2025-0{month}-01", "remember", "ana", "likes_coffee", v) for month, v in ((1, old), (2, new))]
    for memory in tell(*steps):
        assert line(memory, "ana", "likes_coffee") == [(old, "2025-01-01", "2025-02-01"), (new, "2025-02-01", None)]
        for day in ("2025-01-02", "2025-01-31", "2025-02-02", "2026-01-01"):
            assert memory.believe("ana", "likes_coffee", valid_at=day) is not None


def test_a_new_favourite_replaces_the_old_one_which_is_still_the_answer_for_its_time(tell: Tell) -> None:
    """Report 2."""
    steps = [said(f"2025-0{n}-01", "remember", "ana", "favourite", value) for n, value in enumerate("ABCD", 1)]
    for memory in tell(*steps):
        assert [b.value for b in memory.beliefs("ana")] == ["D"]
        assert [current(memory, "ana", "favourite", valid_at=f"2025-0{n}-15") for n in (1, 2, 3, 4)] == [*"ABCD"]


@pytest.mark.parametrize(
    "value",
    ["new text", "new  text ", "né", "", 7, -0.5, 2.0, True, ["a", 1], {"b": [1, {"c": None}]}, "new\ntext", NONE],
    ids=repr,
)
def test_the_value_after_an_update_is_the_value_that_was_given(tmp_path: Path, value: Any) -> None:
    """Report 3: and it still is when the file is opened again."""
    with Memory(tmp_path / "a.db", zone="UTC") as memory:
        memory.define("favourite", cardinality="single")
        memory.remember("ana", "favourite", "old text", since="2024")
        receipt = memory.remember("ana", "favourite", value)
        assert receipt.decision == Decision.UPDATE
        assert value in [change.value for change in receipt.opened]
    with Memory(tmp_path / "a.db", zone="UTC") as memory:
        for found in (current(memory, "ana", "favourite"), memory.event(receipt.event).value):
            assert (found, type(found)) == (value, type(value))


def test_going_back_to_an_old_value_is_a_third_interval_and_no_repetition(tell: Tell) -> None:
    """Report 4: also where the device that says A again has not heard of B."""
    steps = [said(f"2025-0{n}-01", "remember", "ana", "home_city", v) for n, v in enumerate(("A", "B", "A"), 1)]
    for memory in tell(*steps):
        assert line(memory, "ana", "home_city") == [
            ("A", "2025-01-01", "2025-02-01"),
            ("B", "2025-02-01", "2025-03-01"),
            ("A", "2025-03-01", None),
        ]
        assert len(heard(memory, "ana", "home_city")) == 3


@pytest.mark.parametrize("turns", [5, 6, 9])
def test_going_to_and_fro_is_counted(tell: Tell, turns: int) -> None:
    """Report 4: the doctor tells how often a slot went back to what it had left."""
    steps = [said(f"2025-01-{n + 1:02}", "remember", "ana", "home_city", "AB"[n % 2]) for n in range(turns)]
    for memory in tell(*steps):
        (slot,) = memory.doctor().facts["oscillation"]
        assert (slot["entity"], slot["predicate"], slot["times"]) == ("ana", "home_city", turns - 2)
        assert len(memory.timeline("ana", "home_city")) == turns


@pytest.mark.parametrize(("old", "new"), [("dislikes", "likes"), ("likes", "dislikes")])
def test_the_profile_of_somebody_shows_the_new_attitude_alone(tell: Tell, old: str, new: str) -> None:
    """Report 5."""
    facts = [said("2025-01-01", "remember", "ana", "home_city", "Faro")]
    steps = [said(f"2025-0{n}-01", "remember", "ana", "likes_coffee", v) for n, v in ((2, old), (3, new))]
    for memory in tell(*facts, *steps):
        assert {b.predicate: b.value for b in memory.beliefs("ana")} == {"home_city": "Faro", "likes_coffee": new}


@pytest.mark.parametrize("seconds", [1, 20, 100])
@pytest.mark.parametrize("order", list(itertools.permutations(("red", "green", "blue")))[:3], ids=str)
def test_of_rapid_corrections_the_last_one_holds_alone(tell: Tell, order: tuple[str, ...], seconds: int) -> None:
    """Report 6."""
    times = [f"2025-01-10T12:{n * seconds // 60:02}:{n * seconds % 60:02}Z" for n in range(3)]
    steps = [said(time, "remember", "ana", "favourite", v) for time, v in zip(times, order, strict=True)]
    for memory in tell(*steps):
        assert [b.value for b in memory.beliefs("ana", "favourite")] == [order[-1]]
        assert [b.value for b in memory.timeline("ana", "favourite")] == [*order]


def test_rapid_corrections_on_one_device_contest_nothing(desk: Desk) -> None:
    """Report 6: only two devices at once contradict each other."""
    for second, value in enumerate(("red", "green", "blue")):
        desk.on(f"2025-01-10T12:00:0{second}Z").remember("ana", "favourite", value)
    assert desk.memory.contested() == []


def test_a_predicate_that_nobody_declared_is_flagged_by_receipt_and_doctor_until_it_is(desk: Desk) -> None:
    """Report 7: without a declaration a new version stands beside the old one, and says so."""
    memory = desk.on("2025-01-10")
    assert memory.remember("ana", "nickname", "Annie").undeclared
    assert memory.remember("ana", "nickname", "Nan").undeclared
    assert not memory.predicates()["nickname"].declared
    assert memory.doctor().facts["cardinality"]["undeclared"] == ["nickname"]
    memory.define("nickname", cardinality="single")
    assert current(memory, "ana", "nickname") == "Nan"
    assert not memory.remember("ana", "nickname", "Anne").undeclared
    assert memory.doctor().facts["cardinality"]["undeclared"] == []


# -- 8: the resolver runs on every way in ----------------------------------------------------------------


def _one_by_one(memory: Memory, path: Path) -> list[object]:
    return [memory.remember("ana", "home_city", v, changed_on=y).closed for v, y in (("A", "2020"), ("B", "2021"))][1:]


def _in_a_transaction(memory: Memory, path: Path) -> list[object]:
    with memory.transaction():
        return _one_by_one(memory, path)


def _in_lines(memory: Memory, path: Path) -> list[object]:
    line = {"verb": "remember", "entity": "ana", "predicate": "home_city"}
    lines = [{**line, "value": v, "changed_on": y} for v, y in (("A", "2020"), ("B", "2021"))]
    return [receipt.closed for receipt in apply(memory, map(json.dumps, lines))][1:]


def _by_merging(memory: Memory, path: Path) -> list[object]:
    memory.remember("ana", "home_city", "A", changed_on="2020")
    return [memory.merge(_elsewhere()).slots]


def _by_bundle(memory: Memory, path: Path) -> list[object]:
    memory.remember("ana", "home_city", "A", changed_on="2020")
    _elsewhere().export_bundle(path / "b.bundle")
    return [memory.import_bundle(path / "b.bundle").slots]


def _elsewhere() -> Memory:
    memory, clock = in_memory(itertools.count(77))("elsewhere")
    clock.time = instant("2025-02-01T00:00Z")
    memory.remember("ana", "home_city", "B", changed_on="2021")
    return memory


@pytest.mark.parametrize("write", [_one_by_one, _in_a_transaction, _in_lines, _by_merging, _by_bundle])
def test_contradictions_are_resolved_on_every_way_in(desk: Desk, tmp_path: Path, write: Any) -> None:
    """Report 8: and what was resolved is told."""
    desk.on("2025-01-10")
    told = write(desk.memory, tmp_path)
    assert told and all(told)
    assert line(desk.memory, "ana", "home_city") == [("A", "2020-01-01", "2021-01-01"), ("B", "2021-01-01", None)]


def test_contradictions_are_resolved_when_devices_sync(synced: Group) -> None:
    """Report 8."""
    laptop, phone = synced.devices["laptop"], synced.devices["phone"]
    laptop.remember("ana", "home_city", "A", changed_on="2020")
    phone.remember("ana", "home_city", "B", changed_on="2021")
    synced.sync("laptop")
    (change,) = synced.sync("phone")[0].changes
    assert ("A", False) in [(part.value, part.valid_to is None) for part in change.opened]
    synced.settle()
    for memory in (laptop, phone):
        assert line(memory, "ana", "home_city") == [("A", "2020-01-01", "2021-01-01"), ("B", "2021-01-01", None)]


# -- 9: every declared single-valued predicate -----------------------------------------------------------

DECLARED: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "residence": ({}, "Berlin", "Lisbon"),
    "assigned_project": ({}, "apollo", "gemini"),
    "employer": ({"description": "who pays"}, "Stripe", "Acme"),
    "email": ({"equality": "casefold"}, "Ana@example.org", "ana@example.net"),
    "salary": ({"equality": "number"}, 100, "100.5"),
    "birthday": ({"equality": "date"}, "1990-01-02", "1990-02-01"),
    "passport": ({"sensitive": True}, "A1", "B2"),
    "mood": ({"ttl": "3650d"}, "calm", "cross"),
    "weight": ({"stale_after": "3650d", "stale_trust": "inference"}, 70, 71),
    "location": ({"then": "resume"}, "home", "office"),
    "flags": ({}, [1, 2], [2, 1]),
}


def test_every_declared_single_valued_predicate_closes_what_it_supersedes(tell: Tell) -> None:
    """Report 9."""
    defined = [said("2024-12-01", "define", p, cardinality="single", **how) for p, (how, _, _) in DECLARED.items()]
    old = [said("2025-01-01", "remember", "ana", p, value) for p, (_, value, _) in DECLARED.items()]
    new = [said("2025-02-01", "remember", "ana", p, value) for p, (_, _, value) in DECLARED.items()]
    for memory in tell(*defined, *old, *new, single=()):
        assert not any(predicate.many for predicate in memory.predicates().values())
        found = {p: [b.value for b in memory.timeline("ana", p)] for p in DECLARED}
        assert found == {p: [before, after] for p, (_, before, after) in DECLARED.items()}
        assert {b.predicate: b.value for b in memory.beliefs("ana")} == {
            p: after for p, (_, _, after) in DECLARED.items()
        }


WITHOUT_A_MODEL = """
import sys
from syncmem import Memory
with Memory(":memory:", zone="UTC") as memory:
    memory.define("city", cardinality="single")
    said = [memory.remember("ana", "city", v, changed_on=y) for v, y in (("A", "2020"), ("B", "2021"), ("C", "2019"))]
    said += [memory.remember("ana", "city", "D", trust="inference"), memory.deny("ana", "city", "B")]
print(*(receipt.decision for receipt in said))
print(*({"torch", "onnxruntime", "transformers", "openai", "anthropic", "wordllama"} & {*sys.modules}))
"""


def test_decisions_need_no_model() -> None:
    """Report 10: there is none to fail, in whatever process it runs."""
    command = [sys.executable, "-c", WITHOUT_A_MODEL]
    runs = {subprocess.run(command, env=environment(), capture_output=True, text=True).stdout for _ in range(2)}
    assert runs == {"ADD UPDATE ADD CONTESTED UPDATE\n\n"}
