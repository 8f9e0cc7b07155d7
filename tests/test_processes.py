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

from syncmem import AsyncMemory, InvalidInput, Memory, Notice, restore

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


def one_at_a_time(memory: Memory) -> bool:
    """Whether no two values of a slot's lane were ever believed at once, over both axes of time."""
    sql = (
        "SELECT count(*) FROM beliefs a JOIN beliefs b ON a.slot = b.slot AND a.lane = b.lane "
        "AND (a.known_from, a.valid_from) < (b.known_from, b.valid_from) AND a.known_to > b.known_from "
        "AND a.valid_from < b.valid_to AND b.valid_from < a.valid_to"
    )
    return memory._replica.db.execute(sql).fetchone() == (0,)


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
        assert len(memory.beliefs("shared", "holder")) == 1
        assert one_at_a_time(memory)


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
        assert one_at_a_time(memory)
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


def test_two_lives_of_one_device_do_not_contradict_each_other_by_being_close(tmp_path: Path) -> None:
    path = tmp_path / "laptop.db"
    with Memory(path) as laptop:
        laptop.define("home", cardinality="single")
    old = path.read_bytes()
    with Memory(path) as laptop, Memory(tmp_path / "phone.db") as phone:
        device = laptop.device
        laptop.remember("ana", "home", "Berlin")
        phone.merge(laptop)
    for beside in ("-wal", "-shm"):
        Path(f"{path}{beside}").unlink(missing_ok=True)
    path.write_bytes(old)
    with Memory(path) as laptop, Memory(tmp_path / "phone.db") as phone:
        laptop.remember("ana", "home", "Lisbon")
        meet(laptop, phone)
        assert laptop.device == device and laptop.devices()[0].incarnations == 2
        assert [(b.value, b.contested) for b in phone.timeline("ana", "home")][-1] == ("Lisbon", False)


def test_a_folder_that_is_copied_again_and_again_never_uses_a_place_twice(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(5)]
    folders[0].mkdir()
    for number, folder in enumerate(folders):
        with Memory(folder / "a.db") as memory:
            memory.remember("ana", "step", number)
            memory.remember("ana", "note", number, scope="work")
            memory.remember("ana", "secret", number, scope="device")
        for other in folders[number + 1 :]:
            shutil.rmtree(other, ignore_errors=True)
            shutil.copytree(folder, other)
    memories = [Memory(folder / "a.db") for folder in folders]
    try:
        for number, memory in enumerate(memories):
            memory.remember("ana", "last", number)
        meet(*memories)
        assert steps(memories[0], "ana") == set(range(5))
        assert {belief.value for belief in memories[0].beliefs("ana", "last")} == set(range(5))
        assert {belief.value for belief in memories[0].beliefs("ana", "secret", scope="device")} == {0}
    finally:
        for memory in memories:
            memory.close()


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_subscriber_that_fails_does_not_silence_the_others(tmp_path: Path) -> None:
    told: list[Notice] = []

    def fail(notice: Notice) -> None:
        raise ZeroDivisionError(notice)

    with Memory(tmp_path / "a.db") as memory:
        memory.subscribe(fail)
        memory.subscribe(told.append)
        memory.remember("ana", "language", "English")
        wait_until(lambda: len(told) == 1, seconds=3)
        memory.remember("ana", "language", "German")
        wait_until(lambda: len(told) == 2, seconds=3)


def test_a_subscriber_may_write_and_end_its_subscription(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:

        def answer(notice: Notice) -> None:
            subscription.close()
            memory.remember("answer", "to", notice.predicate)

        subscription = memory.subscribe(answer, entity="ana")
        memory.remember("ana", "language", "English")
        memory.remember("ana", "car", "Polo")
        wait_until(lambda: memory.beliefs("answer", "to"))
        time.sleep(0.3)
        assert [belief.value for belief in memory.beliefs("answer", "to")] == ["language"]


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


def test_an_async_write_that_is_cancelled_is_whole_or_absent(tmp_path: Path) -> None:
    async def story() -> int:
        async with AsyncMemory(tmp_path / "a.db") as memory:
            writes = [asyncio.create_task(memory.remember("ana", "step", number)) for number in range(30)]
            await writes[3]
            for write in writes[10:]:
                write.cancel()
            done = await asyncio.gather(*writes, return_exceptions=True)
            await memory.remember("ana", "step", 99)
            return sum(not isinstance(outcome, BaseException) for outcome in done)

    acknowledged = asyncio.run(story())
    with Memory(tmp_path / "a.db") as memory:
        assert steps(memory, "ana") >= set(range(10)) | {99}
        assert len(steps(memory, "ana")) >= acknowledged + 1
        assert memory.doctor(full=True).facts["logs"][0]["continuous"]


def test_async_errors_reach_the_caller_and_closing_twice_is_safe(tmp_path: Path) -> None:
    async def story() -> None:
        memory = AsyncMemory(tmp_path / "a.db")
        with pytest.raises(InvalidInput):
            await memory.remember("ana", "step", float("nan"))
        await memory.close()
        await memory.close()

    asyncio.run(story())


def test_a_folder_put_back_whole_is_repaired_when_it_meets_another_and_holds_up_nobody(tmp_path: Path) -> None:
    live, kept = tmp_path / "m.db", tmp_path / "kept"
    with Memory(live) as one:
        one.remember("ana", "language", "English")
    kept.mkdir()
    for suffix in ("", ".device"):
        shutil.copyfile(f"{live}{suffix}", kept / f"m.db{suffix}")
    with Memory(live) as one, Memory(tmp_path / "t.db") as other:
        one.remember("ana", "language", "Portuguese")
        other.merge(one)
    for suffix in ("", ".device"):
        Path(f"{live}{suffix}").write_bytes((kept / f"m.db{suffix}").read_bytes())
    with Memory(live) as one, Memory(tmp_path / "t.db") as other, Memory(tmp_path / "u.db") as third:
        one.remember("ana", "language", "German")  # the place of "Portuguese", which only the other device holds
        third.remember("rui", "language", "Dutch")
        one.merge(third)
        report = other.merge(one)
        assert "two lives" in report.refused[0]
        assert [b.value for b in other.beliefs("rui", "language")] == ["Dutch"], "other logs are not held up"
        assert [repaired.events for repaired in one.merge(other).repaired] == [2]  # and its note of what came from rui
        one.remember("ana", "language", "French")
        other.merge(one)
        for memory in (one, other):
            told = sorted(b.value for b in memory.beliefs("ana", "language"))
            assert told == ["English", "French", "German", "Portuguese"]
