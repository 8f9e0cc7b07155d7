"""Reports 35, 40, 42 and 43: saying the same again is not a second fact, and no louder than the first."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from syncmem import Memory, Source
from tests.cli.running import Shell, environment
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import current, heard, line, said

WRITER = """
import sys
from syncmem import Memory
with Memory(sys.argv[1], zone="UTC") as memory:
    for n in range(int(sys.argv[3])):
        memory.remember("ana", "home_city", sys.argv[2])
        memory.remember("ana", "likes", "tea")
"""


def test_an_assistant_that_retells_a_claim_makes_it_no_truer(tell: Tell) -> None:
    """Report 35: and it is gone as soon as the user says otherwise, however often it was retold."""
    model = {"trust": "inference", "source": Source("model", "assistant")}
    retold = [said(f"2025-01-{n:02}", "remember", "ana", "home_city", "Rome", **model) for n in range(1, 21)]
    for memory in tell(*retold, said("2025-01-22", "remember", "ana", "home_city", "Lisbon")):
        assert {b.trust for b in memory.timeline("ana", "home_city") if b.value == "Rome"} == {30}
        assert current(memory, "ana", "home_city") == "Lisbon"
        assert memory.contested() == []


def test_retelling_after_a_correction_takes_nothing_back(tell: Tell) -> None:
    """Report 35."""
    model = {"trust": "inference", "source": Source("model", "assistant")}
    retold = [said(f"2025-01-{n:02}", "remember", "ana", "home_city", "Rome", **model) for n in (1, 2, 12, 13, 14)]
    corrected = said("2025-01-10", "remember", "ana", "home_city", "Lisbon")
    for memory in tell(*retold[:2], corrected, *retold[2:]):
        assert current(memory, "ana", "home_city") == "Lisbon"
        assert memory.believe("ana", "home_city").trust == 90  # type: ignore[union-attr]


def test_a_loop_of_recalling_and_retaining_leaves_one_fact(desk: Desk) -> None:
    """Report 40, as far as values go: thirty-one copies are one belief, and only the first is new."""
    said_here = [desk.on(f"2025-01-{n:02}").remember("ana", "likes", "green tea").decision for n in range(1, 32)]
    assert (said_here[0], set(said_here[1:])) == ("ADD", {"NOOP"})
    (belief,) = desk.memory.beliefs("ana")
    assert f"{belief.valid_from:%Y-%m-%d}" == "2025-01-01"


def test_copies_that_devices_made_of_each_other_leave_one_fact(tell: Tell) -> None:
    """Report 40."""
    for memory in tell(*(said(f"2025-01-{n:02}", "remember", "ana", "likes", "green tea") for n in range(1, 10))):
        assert line(memory, "ana", "likes") == [("green tea", "2025-01-01", None)]
        assert memory.doctor().facts["beliefs"]["current"] == 1


@pytest.mark.parametrize("by", ["threads", "processes"])
@pytest.mark.parametrize("same", [True, False], ids=["one value", "a value each"])
def test_eight_that_say_it_at_once_leave_one_that_holds(tmp_path: Path, by: str, same: bool) -> None:
    """Report 42."""
    path = tmp_path / "a.db"
    cities = ["Lisbon" if same else f"city {n}" for n in range(8)]
    with Memory(path, zone="UTC") as memory:
        memory.define("home_city", cardinality="single")
        if by == "threads":
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda city: [memory.remember("ana", "home_city", city) for _ in range(3)], cities))
        else:
            writers = [
                subprocess.Popen([sys.executable, "-c", WRITER, path, c, "3"], env=environment()) for c in cities
            ]
            assert [writer.wait(120) for writer in writers] == [0] * 8
        assert len(memory.beliefs("ana", "home_city")) == 1
        assert sum(b.valid_to is None for b in memory.timeline("ana", "home_city")) == 1
        assert len(heard(memory, "ana", "home_city")) == 24
        rows = memory._replica.db.execute(
            "SELECT count(*) FROM current_beliefs WHERE predicate = 'home_city' AND valid_to IS NULL"
        ).fetchall()
        assert rows == [(1,)]
        assert all(log["continuous"] for log in memory.doctor(full=True).facts["logs"])


def test_putting_a_key_twice_leaves_the_second_value_alone(tmp_path: Path) -> None:
    """Report 43: on every door of the command line."""
    shell = Shell(tmp_path)
    with shell.memory() as memory:
        memory.define("k", cardinality="single")
    for value in ("v1", "v2"):
        shell.text("remember", "item", "k", value)
    for question in (["item", "k"], ["item"]):
        assert [belief["value"] for belief in shell.json("believe", *question)] == ["v2"]
    assert "v1" not in shell.text("believe", "item")
