"""Faults of real disks and processes: rot, a file system without room, sudden death of several at once."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from syncmem import Environment, ManualClock, Memory, restore
from syncmem.environment import seeded_randomness
from syncmem.errors import Damaged, DiskFull, SyncmemError
from syncmem.replica.runs import checksum
from tests.sync.group import Group
from tests.test_processes import ENVIRONMENT, WRITER, meet, start, steps

HEAD = 32  # bytes of a write-ahead log before its first frame
FRAME = 24 + 4096


def files_of(path: Path) -> dict[str, bytes]:
    found = {suffix: Path(f"{path}{suffix}") for suffix in ("", "-wal", ".device")}
    return {suffix: file.read_bytes() for suffix, file in found.items() if file.exists()}


def lay(path: Path, files: dict[str, bytes]) -> None:
    """The same files, so that nothing but their content tells."""
    Path(f"{path}-shm").unlink(missing_ok=True)
    Path(f"{path}-wal").unlink(missing_ok=True)
    for suffix, data in files.items():
        Path(f"{path}{suffix}").write_bytes(data)


def test_a_rotten_frame_of_the_log_cuts_it_short_and_no_place_is_used_twice(tmp_path: Path) -> None:
    path, copy = tmp_path / "laptop.db", tmp_path / "phone.db"
    with Memory(path) as laptop, Memory(copy) as phone:
        for number in range(4):
            laptop.remember("ana", "step", number)
            phone.merge(laptop)
        left, phones = files_of(path), files_of(copy)  # as a sudden death leaves them
    frames = (len(left["-wal"]) - HEAD) // FRAME
    for frame in range(frames // 2, frames, 5):
        rotten = bytearray(left["-wal"])
        rotten[HEAD + frame * FRAME + 24 + 100] ^= 4
        lay(path, {**left, "-wal": bytes(rotten)})
        lay(copy, phones)
        with Memory(path) as laptop, Memory(copy) as phone:
            assert len(steps(laptop, "ana")) < 4
            laptop.remember("ana", "step", 4)
            own = {log.id for log in laptop._replica.logs.by_no.values() if log.own}
            assert own.isdisjoint(log.id for log in phone._replica.logs.by_no.values())
            meet(laptop, phone)
            assert steps(laptop, "ana") == set(range(5))


def test_a_flipped_bit_is_told_or_changes_nothing_that_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    environment = Environment(ManualClock(1_750_000_000_000_000), seeded_randomness(1))  # always the same bytes
    with Memory(path, environment=environment) as memory:
        memory.define("home", cardinality="single")
        for number in range(40):
            memory.remember(f"person {number % 7}", "home", f"town {number}")
            memory.remember(f"person {number % 7}", "note", f"{number} " + "words " * 20)
        believed = answers(memory)
        memory.scrub()
    whole = files_of(path)
    random, outcomes = Random(7), set()
    for _ in range(120):
        data = bytearray(whole[""])
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        lay(path, {**whole, "": bytes(data)})
        outcomes.add(outcome(path, believed))
    assert outcomes <= {"refused", "told", "nothing changed"}
    assert {"told", "nothing changed"} <= outcomes


def test_damage_that_the_driver_cannot_even_quote_is_told(tmp_path: Path) -> None:
    """A bit of a table's own text turned: the message about it is no text."""
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "home", "Lisbon")
    whole = path.read_bytes()
    for place in range(whole.index(b"CREATE TABLE identity"), whole.index(b"CREATE TABLE identity") + 40):
        data = bytearray(whole)
        data[place] |= 0x80
        lay(path, {"": bytes(data)})
        with pytest.raises(SyncmemError), Memory(path) as memory:
            memory.believe("ana", "home")


def test_an_event_that_is_not_what_was_signed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "home", "Lisbon")
        db = memory._replica.db.raw
        rows = db.execute("SELECT position, body FROM runs WHERE instr(body, ?)", (b"Lisbon",)).fetchall()
        assert rows
        for position, body in rows:
            db.execute("UPDATE runs SET body = ? WHERE position = ?", (body.replace(b"Lisbon", b"Lisbom"), position))
    with Memory(path) as memory:
        assert [text for text in memory.doctor(full=True).problems if "not as it was stored" in text]
        with pytest.raises(Damaged):
            memory.why("ana", "home")
        for position, count, tx, body, _ in db_rows(memory):  # whoever can write the checksum has no key to sign with
            row = (checksum(position, count, tx, body), position)
            memory._replica.db.execute("UPDATE runs SET crc = ? WHERE position = ?", row)
        assert [text for text in memory.doctor(full=True).problems if "chain" in text]


def db_rows(memory: Memory) -> list[tuple[int, int, int, bytes, int]]:
    return list(memory._replica.db.execute("SELECT * FROM runs").fetchall())


def answers(memory: Memory) -> list[str]:
    found = [memory.timeline(f"person {n}", predicate) for n in range(7) for predicate in ("home", "note")]
    return [str([(belief.value, belief.valid_from, belief.valid_to) for belief in timeline]) for timeline in found]


def outcome(path: Path, believed: list[str]) -> str:
    try:
        with Memory(path) as memory:
            told = [text for text in memory.doctor(full=True).problems if "repair" in text or "damaged" in text]
            if told:
                return "told"
            return "nothing changed" if answers(memory) == believed else "believed otherwise, and nothing told"
    except SyncmemError:
        return "refused"


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("only root may mount a small file system here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_file_system_refuses_writes_loses_nothing_and_goes_on_once_there_is_room(small: Path) -> None:
    filling = small / "other files"
    with Memory(small / "a.db") as memory:
        memory.remember("ana", "step", -1)
        room = shutil.disk_usage(small).free
        filling.write_bytes(bytes(max(0, room - 120_000)))
        written = -1
        with pytest.raises(DiskFull):
            for number in range(1000):
                memory.remember("ana", "step", number)
                written = number
        assert steps(memory, "ana") == set(range(-1, written + 1))  # reading goes on
    try:
        with Memory(small / "a.db") as memory:
            assert steps(memory, "ana") == set(range(-1, written + 1))
    except SyncmemError:
        pass  # a full disk may not even be enough to open a file; what matters is what is there afterwards
    filling.unlink()
    with Memory(small / "a.db") as memory:
        memory.remember("ana", "step", 5000)
        assert steps(memory, "ana") == {*range(-1, written + 1), 5000}
        assert not [problem for problem in memory.doctor(full=True).problems if "damaged" in problem]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_several_writers_of_one_file_are_killed_at_once_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    path, random = tmp_path / "a.db", Random(3)
    with Memory(path) as memory:
        memory.define("holder", cardinality="single")
    acknowledged: dict[str, int] = {}
    for cycle in range(4):
        writers = {f"writer {cycle} {number}": start(path, f"writer {cycle} {number}", 10_000) for number in range(3)}
        first = next(iter(writers.values()))
        assert first.stdout is not None
        heard = [first.stdout.readline() for _ in range(1 + random.randrange(8))]
        for writer in writers.values():
            writer.send_signal(signal.SIGKILL)
        for name, writer in writers.items():
            rest, _ = writer.communicate(timeout=60)
            lines = [*(heard if writer is first else []), *rest.splitlines()]
            acknowledged[name] = max((int(line) for line in lines if line.strip()), default=-1)
    with Memory(path) as memory:
        for name, last in acknowledged.items():
            assert steps(memory, name) >= set(range(last + 1))
        assert not [text for text in memory.doctor(full=True).problems if "log" in text or "damaged" in text]
        digest = memory.belief_digest()
        memory.rebuild()
        assert memory.belief_digest() == digest


DYING = """
import os, sys
left = int(sys.argv[3])
def watch(event, arguments):
    global left
    if event in ("os.rename", "os.link", "os.remove"):
        left -= 1
        if left == 0:
            os._exit(9)
from syncmem import restore
sys.addaudithook(watch)
restore(sys.argv[1], sys.argv[2], overwrite=True)
"""


def test_a_restore_that_dies_at_any_moment_leaves_the_old_memory_or_the_new_one(tmp_path: Path) -> None:
    path, saved = tmp_path / "a.db", tmp_path / "saved.db"
    with Memory(path) as memory:
        memory.remember("ana", "step", 1)
        memory.backup(saved)
        memory.remember("ana", "step", 2)
        old = files_of(path)
    for moment in range(1, 100):
        for left in tmp_path.glob("a.db.replaced*"):
            left.unlink()
        lay(path, old)
        command = [sys.executable, "-c", DYING, str(saved), str(path), str(moment)]
        died = subprocess.run(command, env=ENVIRONMENT, check=False).returncode
        assert died in (0, 9)
        with Memory(path) as memory:
            assert steps(memory, "ana") in ({1}, {1, 2})
        if Path(f"{path}.replaced").exists():
            with Memory(f"{path}.replaced") as memory:
                assert steps(memory, "ana") == {1, 2}
        if not died:
            return
    raise AssertionError("a restore has no end")


def test_what_an_earlier_restore_put_aside_is_not_mixed_with_what_a_later_one_does(tmp_path: Path) -> None:
    path, saved = tmp_path / "a.db", tmp_path / "saved.db"
    with Memory(path) as memory:
        memory.remember("ana", "step", 1)
        memory.backup(saved)
    Path(f"{path}.replaced-wal").write_bytes(b"of another file")
    restore(saved, path, overwrite=True)
    assert not Path(f"{path}.replaced-wal").exists()
    with Memory(f"{path}.replaced") as memory:
        assert steps(memory, "ana") == {1}


TWO_LIBRARIES = """
import os, sqlite3, subprocess, sys
from syncmem import Memory
from syncmem.errors import Closed
from syncmem.replica.driver import driver
path, another = sys.argv[1:]
if driver().name == "sqlite3":
    sys.exit(77)
memory = Memory(path)
memory.remember("ana", "step", 1)
other = sqlite3.connect(path)
other.execute("SELECT count(*) FROM sqlite_master").fetchone()
other.close()  # and with it go the locks that this process has on the file
subprocess.run([sys.executable, "-c", another, path, "other", "2"], check=True, stdout=subprocess.DEVNULL)
try:
    memory.remember("ana", "step", 2)
except Closed:
    print("refused", flush=True)
os._exit(0)  # as if it were killed: nothing is tidied up
"""


@pytest.mark.skipif(sys.platform != "linux", reason="locks are dropped where POSIX says so")
def test_a_second_sqlite_library_in_the_process_stops_its_writes_and_loses_none(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TWO_LIBRARIES, str(tmp_path / "a.db"), WRITER]
    found = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if found.returncode == 77:
        pytest.skip("there is one library here")
    assert found.returncode == 0, found.stderr
    assert found.stdout == "refused\n"
    with Memory(tmp_path / "a.db") as memory:
        assert steps(memory, "ana") == {1}
        assert steps(memory, "other") == {0, 1}
        assert not [text for text in memory.doctor(full=True).problems if "log" in text or "damaged" in text]


HOLDER = """
import sys, time
from syncmem import Memory
with Memory(sys.argv[1]) as memory, memory._sync_lock():
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_lock_of_a_syncer_that_is_killed_is_free_at_once(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    group = Group(tmp_path, f"folder:{tmp_path}/shared")
    memory = group.found()
    try:
        command = [sys.executable, "-c", HOLDER, str(group.path("laptop"))]
        holder = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        memory.remember("ana", "home", "Lisbon")
        assert memory.believe("ana", "home") is not None  # who does not sync is held up by nobody
        holder.kill()
        holder.communicate(timeout=60)
        memory.sync()
        assert memory.status().published
    finally:
        group.close()


def test_no_error_and_no_picture_of_a_memory_shows_its_key_or_phrase(tmp_path: Path) -> None:
    pytest.importorskip("sqlcipher3")
    key = "a passphrase that is nobody's business"
    with Memory(tmp_path / "a.db", key=key) as memory:
        phrase = memory.create_vault("laptop")
        shown = [repr(memory), str(memory.status()), str(memory.doctor(full=True)), str(memory.devices())]
        shown += [repr(memory._syncer.vault.keys), repr(memory._replica.db.key)]
    with pytest.raises(SyncmemError) as refused:
        Memory(tmp_path / "a.db", key=key + "!")
    shown.append("".join(__import__("traceback").format_exception(refused.value)))
    seed = Path(tmp_path / "a.db.device").read_bytes()
    assert seed and all(key not in text and phrase.split()[0] + " " + phrase.split()[1] not in text for text in shown)
