"""A memory that its disk has damaged is repaired: what others hold comes back, what is lost is told, nothing is wrong.

Damage is done to rows behind SQLite's back, which it does not notice, and to whole pages, which it does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from syncmem import Damaged, Memory, RepairReport, repair, restore
from syncmem.errors import SyncmemError
from tests.sync.group import Group
from tests.test_faults_on_disk import files_of, lay

PAGE = 4096


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Group]:
    """A laptop and a phone that met in a folder, after both had written."""
    (tmp_path / "shared").mkdir()
    made = Group(tmp_path, f"folder:{tmp_path}/shared")
    laptop = made.found()
    phone = made.pair("phone")
    laptop.define("home", cardinality="single")
    for number in range(30):
        laptop.remember("ana", "step", number)
        phone.remember("ben", "step", number)
    wrong = laptop.remember("ana", "home", "Atlantis")
    laptop.remember("ana", "home", "Lisbon")
    laptop.retract(wrong.event)
    made.settle()
    yield made
    made.close()


def steps(memory: Memory, entity: str = "ana") -> list[object]:
    return sorted(belief.value for belief in memory.beliefs(entity, "step"))  # type: ignore[type-var]


def rectangles(memory: Memory) -> list[tuple[object, ...]]:
    columns = "entity, predicate, value, valid_from, known_from, known_to, trust"
    sql = f"SELECT {columns} FROM belief_history ORDER BY 1, 2, 3, 4, 5"
    return list(memory._replica.db.execute(sql).fetchall())


def spoil(memory: Memory, table: str, column: str, chosen: slice) -> None:
    """What a disk does to some rows, as far as SQLite does not notice it."""
    db, key = memory._replica.db, "rowid" if table in ("runs", "logs", "transactions", "pages") else None
    where = {"blocks": "log, block", "signatures": "log, seq", "statements": "id", "beliefs": "slot, lane, valid_from"}
    names = where.get(table, key)
    rows = db.execute(f"SELECT {names}, {column} FROM {table} ORDER BY {names}").fetchall()
    for *found, value in rows[chosen]:
        if isinstance(value, bytes):
            spoilt: object = (
                value[: len(value) // 2] + bytes([value[len(value) // 2] ^ 4]) + value[len(value) // 2 + 1 :]
            )
        else:
            spoilt = value + 1 if isinstance(value, int) else f"x{value}"
        matches = " AND ".join(f"{name} = ?" for name in str(names).split(", "))
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {matches}", (spoilt, *found))


def reopened(group: Group, name: str) -> Memory:
    group.devices[name] = Memory(group.path(name), environment=group.environment(name), zone="UTC")
    return group.devices[name]


ALL = slice(None)
DAMAGE = [  # a table, a column of it, which of its rows; whether all is afterwards as it had been at every time
    ("runs", "body", slice(3, 60, 11), True),
    ("runs", "body", slice(0, 1), True),
    ("runs", "body", ALL, False),
    ("runs", "tx", slice(20, 40, 4), False),
    ("runs", "count", slice(-3, None), False),
    ("blocks", "cover", ALL, False),
    ("logs", "head", ALL, True),
    ("logs", "signature", ALL, True),
    ("logs", "id", slice(0, 1), False),
    ("transactions", "wall", slice(4, 9), True),
    ("beliefs", "value", slice(2, 5), True),
    ("beliefs", "known_from", slice(9, 10), True),
]


@pytest.mark.parametrize(("table", "column", "chosen", "whole_past"), DAMAGE, ids=str)
def test_what_was_damaged_returns_and_all_is_as_it_had_been(
    group: Group, table: str, column: str, chosen: slice, whole_past: bool
) -> None:
    laptop = group.devices["laptop"]
    before, digest = rectangles(laptop), laptop.belief_digest()
    spoil(laptop, table, column, chosen)
    report = repaired(group, "laptop")
    assert report.found and report.finished and not report.lacking
    assert all("repair" in found for found in report.found)
    laptop = reopened(group, "laptop")
    assert laptop.belief_digest() == digest
    if whole_past:
        assert rectangles(laptop) == before
    assert not [problem for problem in laptop.doctor(full=True).problems if "repair" in problem]
    laptop.remember("ana", "step", 30)
    group.settle()
    group.assert_in_sync()
    assert steps(group.devices["phone"]) == list(range(31))
    assert home(group.devices["phone"]) == "Lisbon"
    assert not repaired(group, "laptop").found


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_damaged_roster_comes_back_from_the_mailbox_or_by_joining_again(group: Group, which: int) -> None:
    spoil(group.devices["laptop"], "statements", "wire", slice(which, which + 1))
    report = repaired(group, "laptop")
    if not report.finished:
        assert any("join CODE" in trouble for trouble in report.troubles)
        device = group.devices["phone"].devices()[0].id
        group.pair("laptop", by="phone")
        assert device in {info.id for info in group.devices["phone"].devices()}
        assert repaired(group, "laptop").finished
    laptop = reopened(group, "laptop")
    assert not laptop.status().damage
    laptop.remember("ana", "step", 30)
    group.settle()
    group.assert_in_sync()
    assert steps(group.devices["phone"]) == list(range(31))


def test_what_only_this_device_had_is_said_again_behind_what_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        events = [memory.remember("ana", "step", number).event for number in range(30)]
        memory.retract(events[5])
        memory.retract(events[25])
        known = memory.beliefs("ana", "step", known_at=9)
        spoil(memory, "runs", "body", slice(12, 13))
    report = repair(path)
    assert [(lacking.own, lacking.events) for lacking in report.lacking] == [(True, 1)]
    assert report.finished and report.said_again == 19 and "Say again" in " ".join(report.next_steps)
    with Memory(path) as memory:
        left = steps(memory)
        assert set(range(30)) - set(left) >= {5, 25} and len(left) == 27  # and the one that was lost
        assert memory.beliefs("ana", "step", known_at=9) == known
        assert not [problem for problem in memory.doctor(full=True).problems if "repair" in problem]
        before = rectangles(memory)
        memory.rebuild()
        assert rectangles(memory) == before
        memory.undo(memory.retract(events[20]).event)
        assert steps(memory) == left
    with Memory(f"{path}.damaged") as kept, pytest.raises(Damaged):
        kept.rebuild()
    assert not repair(path).found


@pytest.mark.parametrize("first", [True, False], ids=["the one that lost it", "the other"])
def test_what_was_said_again_and_returns_all_the_same_counts_once(tmp_path: Path, first: bool) -> None:
    """Two that meet by hand: what one of them has lost and said again comes back from the other."""
    path = tmp_path / "laptop.db"
    with Memory(path) as laptop, Memory(tmp_path / "phone.db") as phone:
        events = [laptop.remember("ana", "step", number).event for number in range(20)]
        phone.merge(laptop)
        laptop.retract(events[15])
        spoil(laptop, "runs", "body", slice(8, 9))
    assert repair(path).lacking[0].events == 1
    with Memory(path) as laptop, Memory(tmp_path / "phone.db") as phone, Memory(tmp_path / "desk.db") as desk:
        assert len(steps(laptop)) == 18
        for _ in range(3):
            for one, other in [(laptop, phone), (phone, laptop)] if first else [(phone, laptop), (laptop, phone)]:
                one.merge(other)
        desk.merge(laptop)
        for memory in (laptop, phone, desk):
            assert steps(memory) == [*range(15), *range(16, 20)]
            assert len(memory.history("ana", "step", known_at=memory.last_known())) >= 20
            digest = memory.belief_digest()
            memory.rebuild()
            assert memory.belief_digest() == digest
        assert len({memory.belief_digest() for memory in (laptop, phone, desk)}) == 1
        laptop.undo(laptop.retract(events[18]).event)
        laptop.retract(events[17])
        for memory in (phone, desk):
            memory.merge(laptop)
            assert steps(memory) == [*range(15), 16, 18, 19]


def test_without_its_mailbox_a_repair_is_told_as_unfinished_and_goes_on_later(group: Group, tmp_path: Path) -> None:
    laptop = group.devices["laptop"]
    laptop.remember("ana", "step", 30)  # this one nobody else has
    spoil(laptop, "runs", "body", slice(20, 22))
    (tmp_path / "shared").rename(tmp_path / "away")
    report = repaired(group, "laptop")
    assert not report.finished and report.troubles and report.lacking
    laptop = reopened(group, "laptop")
    assert 30 in steps(laptop) and home(laptop) == "Lisbon"
    assert laptop.status().damage
    assert any("repair" in problem for problem in laptop.doctor().problems)
    (tmp_path / "away").rename(tmp_path / "shared")
    report = repaired(group, "laptop")
    assert report.finished and not report.lacking and not report.found
    laptop = reopened(group, "laptop")
    assert not laptop.status().damage
    group.settle()
    group.assert_in_sync()
    assert steps(group.devices["phone"]) == list(range(31))


def test_whatever_pages_are_lost_nothing_wrong_is_believed(group: Group) -> None:
    path = group.path("laptop")
    group.devices["laptop"].close()
    phone, whole, random, outcomes = group.devices["phone"], files_of(path), Random(5), set()
    for _ in range(16):
        data = bytearray(whole[""])
        for _ in range(random.randrange(1, 6)):
            page = random.randrange(1, len(data) // PAGE)
            data[page * PAGE : page * PAGE + PAGE] = random.randbytes(PAGE)
        for left in path.parent.glob("laptop.db.damaged*"):
            left.unlink()
        lay(path, {**whole, "": bytes(data)})
        try:
            report = repair(path, environment=group.environment("laptop"))
        except SyncmemError as error:
            assert "restore a backup" in str(error) or "join" in str(error)
            outcomes.add("refused")
            continue
        with Memory(path, environment=group.environment("laptop")) as laptop:
            assert set(steps(laptop)) <= set(range(30)) and home(laptop) in ("Lisbon", None)
            damage = [problem for problem in laptop.doctor(full=True).problems if "repair" in problem]
            assert damage == ([] if report.finished else ["a repair is not finished; run 'syncmem repair' again"])
            if report.finished:
                outcomes.add("mended")
                assert steps(laptop) == list(range(30)) and steps(laptop, "ben") == list(range(30))
                assert laptop.belief_digest() == phone.belief_digest()
    assert "mended" in outcomes


def dies(path: Path, moment: int) -> bool:
    """A process that repairs, and dies when it is about to rename, link or remove a file for the n-th time."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert os.WEXITSTATUS(status) in (0, 9)
        return os.WEXITSTATUS(status) == 9
    left = moment

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in ("os.rename", "os.link", "os.remove") and ".sync" not in str(arguments[0]):
            left -= 1
            if left == 0:
                os._exit(9)

    try:
        sys.addaudithook(watch)
        repair(path)
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_repair_that_dies_at_any_moment_goes_on_when_it_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        for number in range(5):
            memory.remember("ana", "step", number)
        spoil(memory, "runs", "body", slice(2, 3))
    old = files_of(path)
    for moment in range(1, 100):
        for left in tmp_path.glob("a.db.damaged*"):
            left.unlink()
        lay(path, old)
        died = dies(path, moment)
        repair(path)
        with Memory(path) as memory:
            assert len(steps(memory)) == 4
            assert not [problem for problem in memory.doctor(full=True).problems if "repair" in problem]
        assert not repair(path).found and Path(f"{path}.damaged").exists()
        assert not Path(f"{path}.damaged.2").exists()
        if not died:
            return
    raise AssertionError("a repair has no end")


def test_what_is_erased_later_goes_from_the_damaged_file_too(group: Group) -> None:
    laptop, phone = group.devices["laptop"], group.devices["phone"]
    laptop.remember("zoe", "secret", "CANARY-OF-ZOE")
    group.settle()
    spoil(laptop, "runs", "body", slice(20, 22))
    assert repaired(group, "laptop").finished
    kept = Path(f"{group.path('laptop')}.damaged")
    assert b"CANARY-OF-ZOE" in kept.read_bytes()
    laptop = reopened(group, "laptop")
    phone.erase("zoe")
    group.settle()
    assert not list(kept.parent.glob("laptop.db.damaged*"))
    for file in group.folder.rglob("*"):
        assert not file.is_file() or b"CANARY-OF-ZOE" not in file.read_bytes()


@pytest.mark.parametrize("left", [-PAGE, 0.5, 0.1])
def test_a_file_that_was_cut_off_is_repaired_from_what_is_left_and_from_the_mailbox(group: Group, left: float) -> None:
    group.close()
    path = group.path("laptop")
    size = path.stat().st_size
    os.truncate(path, size + int(left) if left < 0 else int(size * left) // PAGE * PAGE)
    with pytest.raises(Damaged, match="syncmem repair"):
        Memory(path)
    report = repair(path, environment=group.environment("laptop"))
    assert report.found and Path(f"{path}.damaged").exists()
    reopened(group, "phone")
    if report.vault_lost or not report.finished:
        assert any("join CODE" in text for text in (*report.troubles, *report.next_steps))
        group.pair("laptop", by="phone")
        group.devices["laptop"].close()
        assert repair(path, environment=group.environment("laptop")).finished
    reopened(group, "laptop")
    group.settle()
    group.assert_in_sync()
    assert steps(group.devices["laptop"]) == list(range(30))
    assert home(group.devices["laptop"]) == "Lisbon"


@pytest.mark.parametrize("size", [0, 100])
def test_a_file_of_which_nothing_is_left_is_no_new_memory_and_no_key_is_lost(group: Group, size: int) -> None:
    group.close()
    path = group.path("laptop")
    os.truncate(path, size)
    device = Path(f"{path}.device").read_bytes()
    with pytest.raises(Damaged, match="join CODE|syncmem repair"):
        Memory(path)
    with pytest.raises(Damaged, match="join CODE"):
        repair(path)
    assert path.stat().st_size == size
    assert Path(f"{path}.device").read_bytes() == device
    path.unlink()
    reopened(group, "phone")
    group.pair("laptop", by="phone")
    group.settle()
    group.assert_in_sync()
    assert steps(group.devices["laptop"]) == list(range(30))


def test_the_doctor_tells_of_what_a_restore_replaced_once_something_is_erased(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("bob", "secret", "CANARY")
        memory.backup(tmp_path / "saved.db")
    restore(tmp_path / "saved.db", path, overwrite=True)
    with Memory(path) as memory:
        assert not [text for text in memory.doctor().problems if ".replaced" in text]
        memory.erase("bob")
        assert [text for text in memory.doctor().problems if "a.db.replaced" in text and "delete it" in text]
        (tmp_path / "a.db.replaced").unlink()
        assert not [text for text in memory.doctor().problems if ".replaced" in text]


def test_what_a_process_that_died_left_of_a_backup_goes_when_it_is_made_again(tmp_path: Path) -> None:
    died = subprocess.Popen([sys.executable, "-c", ""])
    died.wait()
    ours, others = (tmp_path / f".saved.db.{number}.tmp" for number in (died.pid, os.getppid()))
    for left in (ours, others):
        left.write_text("CANARY")
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("bob", "step", 1)
        memory.backup(tmp_path / "saved.db")
    assert not ours.exists() and others.exists()


def home(memory: Memory) -> object:
    found = memory.believe("ana", "home")
    return None if found is None else found.value


def repaired(group: Group, name: str) -> RepairReport:
    group.devices[name].close()
    return repair(group.path(name), environment=group.environment(name))
