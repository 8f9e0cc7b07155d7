"""Many threads and processes on one file, sudden death, and files that were copied or put back."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from syncmem import AsyncMemory, Memory, Notice, restore

ROOT = Path(__file__).parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
WRITER = """
import sys
from syncmem import Memory
path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory(path) as memory:
    for number in range(count):
        memory.remember(name, "step", number)
        memory.remember("shared", "holder", f"{name} {number}")
        print(number, flush=True)
"""


def start(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def steps(memory: Memory, name: str) -> set[int]:
    return {entry.value for entry in memory.history(name, "step") if entry.verb == "remember"}


def events_by_place(*memories: Memory) -> dict[tuple[bytes, int], set[bytes]]:
    """(log, place) -> ids of the events that any of the replicas holds there."""
    found: dict[tuple[bytes, int], set[bytes]] = {}
    for memory in memories:
        logs = memory._replica.logs
        for log in logs.by_no.values():
            for seq in range(1, log.seq + 1):
                found.setdefault((log.id, seq), set()).add(logs.ref(log.position(seq)).id)
    return found


def meet(*memories: Memory) -> None:
    """Everybody learns everything, until nobody has anything new."""
    for _ in range(3):
        for one in memories:
            for other in memories:
                if one is not other:
                    one.merge(other)
    assert len({memory.belief_digest() for memory in memories}) == 1
    assert len({memory.event_digest() for memory in memories}) == 1
    assert all(len(ids) == 1 for ids in events_by_place(*memories).values()), "a place in a log was used twice"


# -- at once -------------------------------------------------------------------------------------------


def test_eight_threads_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.define("holder", cardinality="single")

        def write(worker: int) -> None:
            for number in range(12):
                memory.remember(f"worker {worker}", "step", number)
                memory.remember("shared", "holder", f"{worker} {number}")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(8)))
        for worker in range(8):
            assert steps(memory, f"worker {worker}") == set(range(12))
        assert memory.believe("shared", "holder") is not None
        assert memory.doctor(full=True).facts["logs"][0]["events"] == 8 * 24 + 1


def test_three_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.define("holder", cardinality="single")
    writers = [start(path, f"process {n}", 20) for n in range(3)]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    with Memory(path) as memory:
        for n in range(3):
            assert steps(memory, f"process {n}") == set(range(20))
        assert memory.believe("shared", "holder") is not None
        report = memory.doctor(full=True)
        assert [log["events"] for log in report.facts["logs"]] == [1 + 3 * 40]
        assert not [problem for problem in report.problems if "log" in problem or "damaged" in problem]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_what_was_acknowledged_survives_being_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.define("holder", cardinality="single")
    acknowledged: dict[str, int] = {}
    for cycle in range(8):
        writer = start(path, f"life {cycle}", 10_000)
        assert writer.stdout is not None
        seen = -1
        for line in writer.stdout:
            seen = int(line)
            if seen >= 3 + cycle * 2:
                writer.send_signal(signal.SIGKILL)
                break
        rest, _ = writer.communicate(timeout=60)
        acknowledged[f"life {cycle}"] = max([seen, *(int(line) for line in rest.split())])
    with Memory(path) as memory:
        for name, last in acknowledged.items():
            assert steps(memory, name) >= set(range(last + 1))
        report = memory.doctor(full=True)
        assert not [problem for problem in report.problems if "log" in problem or "damaged" in problem]
        digest = memory.belief_digest()
        memory.rebuild()
        assert memory.belief_digest() == digest


# -- copied and put back -------------------------------------------------------------------------------


def test_a_restored_backup_writes_on_as_a_new_incarnation(tmp_path: Path) -> None:
    with Memory(tmp_path / "laptop.db") as laptop, Memory(tmp_path / "phone.db") as phone:
        laptop.remember("ana", "language", "English")
        laptop.backup(tmp_path / "backup.db")
        laptop.remember("ana", "language", "Portuguese")
        phone.merge(laptop)
    restore(tmp_path / "backup.db", tmp_path / "laptop.db", overwrite=True)
    with Memory(tmp_path / "laptop.db") as laptop, Memory(tmp_path / "phone.db") as phone:
        assert [belief.value for belief in laptop.beliefs("ana", "language")] == ["English"]
        laptop.remember("ana", "language", "German")
        meet(laptop, phone)
        assert sorted(b.value for b in laptop.beliefs("ana", "language")) == ["English", "German", "Portuguese"]
        assert (tmp_path / "laptop.db.replaced").exists()


def test_an_old_file_put_back_over_a_newer_one_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "laptop.db"
    with Memory(path) as laptop:
        laptop.remember("ana", "language", "English")
    old = path.read_bytes()
    with Memory(path) as laptop, Memory(tmp_path / "phone.db") as phone:
        laptop.remember("ana", "language", "Portuguese")
        phone.merge(laptop)
    for beside in ("-wal", "-shm"):
        Path(f"{path}{beside}").unlink(missing_ok=True)
    path.write_bytes(old)  # the same file number: only what was published tells
    with Memory(path) as laptop, Memory(tmp_path / "phone.db") as phone:
        laptop.remember("ana", "language", "German")
        meet(laptop, phone)
        assert sorted(b.value for b in laptop.beliefs("ana", "language")) == ["English", "German", "Portuguese"]


@pytest.mark.parametrize("with_side_file", [True, False])
def test_a_copied_file_is_another_device(tmp_path: Path, with_side_file: bool) -> None:
    with Memory(tmp_path / "a.db") as first:
        first.remember("ana", "language", "English")
    shutil.copyfile(tmp_path / "a.db", tmp_path / "b.db")
    if with_side_file:
        shutil.copyfile(tmp_path / "a.db.device", tmp_path / "b.db.device")
    with Memory(tmp_path / "a.db") as first, Memory(tmp_path / "b.db") as second:
        first.remember("ana", "language", "Portuguese")
        second.remember("ana", "language", "German")
        meet(first, second)
        assert sorted(b.value for b in first.beliefs("ana", "language")) == ["English", "German", "Portuguese"]
        assert first.device != second.device


def test_a_copied_folder_is_another_device(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with Memory(tmp_path / "one" / "a.db") as first:
        first.remember("ana", "language", "English")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with Memory(tmp_path / "one" / "a.db") as first, Memory(tmp_path / "two" / "a.db") as second:
        second.remember("ana", "language", "German")
        first.remember("ana", "language", "Portuguese")
        meet(first, second)


# -- notices -------------------------------------------------------------------------------------------


def wait_until(condition: object, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "nothing was told"
        time.sleep(0.01)


def test_subscribers_are_told_what_they_asked_for(tmp_path: Path) -> None:
    told: dict[str, list[Notice]] = {"slot": [], "entity": [], "scope": [], "closed": []}
    with Memory(tmp_path / "a.db") as memory:
        memory.subscribe(told["slot"].append, entity="ana", predicate="language")
        memory.subscribe(told["entity"].append, entity="ana")
        memory.subscribe(told["scope"].append, scope="device")
        memory.subscribe(told["closed"].append).close()
        memory.remember("ana", "language", "English")
        memory.remember("ana", "car", "Polo")
        memory.remember("rui", "car", "Golf", scope="device")
        wait_until(lambda: told["scope"] and len(told["entity"]) == 2)
        assert [notice.predicate for notice in told["slot"]] == ["language"]
        assert [notice.predicate for notice in told["entity"]] == ["language", "car"]
        assert [(notice.entity, notice.scope) for notice in told["scope"]] == [("rui", "device")]
        assert told["closed"] == []
    assert not [thread for thread in threading.enumerate() if thread.name == "syncmem-watch"]


def test_a_write_of_another_process_is_told(tmp_path: Path) -> None:
    told: list[Notice] = []
    with Memory(tmp_path / "a.db") as memory, memory.subscribe(told.append, entity="other"):
        writer = start(tmp_path / "a.db", "other", 2)
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
        wait_until(lambda: len(told) == 2)


def test_what_another_process_defines_is_seen_at_once(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as one, Memory(tmp_path / "a.db") as other:
        one.remember("ana", "home", "Berlin", changed_on="2020-01-01T00:00Z")
        one.remember("ana", "home", "Lisbon", changed_on="2024-01-01T00:00Z")
        assert len(other.beliefs("ana", "home")) == 2
        one.define("home", cardinality="single")
        belief = other.believe("ana", "home")
        assert belief is not None and belief.value == "Lisbon"
        one.define("home", cardinality="many")
        assert len(other.beliefs("ana", "home")) == 2


# -- asyncio -------------------------------------------------------------------------------------------


def test_async_memory_is_the_same_memory(tmp_path: Path) -> None:
    async def story() -> list[str]:
        async with AsyncMemory(tmp_path / "a.db") as memory:
            await asyncio.gather(*(memory.remember("ana", "step", number) for number in range(20)))
            await memory.define("home", cardinality="single")

            def together(plain: Memory) -> str:
                with plain.transaction():
                    plain.remember("ana", "home", "Berlin", changed_on="2020-01-01T00:00Z")
                    return str(plain.remember("ana", "home", "Lisbon", changed_on="2024-01-01T00:00Z").decision)

            decision = await memory.run(together)
            belief = await memory.believe("ana", "home")
            assert belief is not None
            return [decision, str(belief.value), str(len(await memory.beliefs("ana", "step")))]

    assert asyncio.run(story()) == ["UPDATE", "Lisbon", "20"]
    with Memory(tmp_path / "a.db") as memory:
        assert steps(memory, "ana") == set(range(20))
