"""A memory that is encrypted at rest: what the key opens, what no key opens, and that nothing lies in clear."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncmem import AsyncMemory, FileError, InvalidInput, KeyUnreadable, Memory, NotAReplica, WrongKey, restore
from syncmem.environment import Environment, seeded_randomness
from syncmem.replica.cipher import KEY_BYTES, file_key, read_key_file, write_key_file
from syncmem.replica.driver import dbapi, driver

ROOT = Path(__file__).parent.parent
KEY = bytes(range(KEY_BYTES))
OTHER = bytes(KEY_BYTES)
CANARY = "kanarienvogel"

pytestmark = pytest.mark.skipif(driver().cipher is None, reason="needs SQLCipher: pip install 'syncmem[cipher]'")


@pytest.fixture(params=[KEY, "correct horse, it's a 'battery' ☂"], ids=["bytes", "passphrase"])
def key(request: pytest.FixtureRequest) -> bytes | str:
    found: bytes | str = request.param
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kept(folder: Path) -> dict[str, bytes]:
    """What a refusal must leave as it is; of the locks that readers share, only that they are there."""
    return {name: b"" if name.endswith("-shm") else data for name, data in contents(folder).items()}


def assert_nothing_in_clear(folder: Path) -> None:
    files = contents(folder)
    found = [name for name, data in files.items() for spelt in spellings(CANARY) if spelt in data]
    assert files and found == []


def spellings(text: str) -> Iterator[bytes]:
    yield from (text.encode(), text.encode("utf-16-le"), text.upper().encode(), text.encode().hex().encode())


def canary_of(memory: Memory) -> Any:
    belief = memory.believe("ana", "pet")
    return None if belief is None else belief.value


# -- one key -------------------------------------------------------------------------------------------


def test_what_is_remembered_under_a_key_is_believed_with_that_key(tmp_path: Path, key: bytes | str) -> None:
    with Memory(tmp_path / "a.db", key=key) as memory:
        memory.remember("ana", "pet", CANARY)
        device = memory.device
    with Memory(tmp_path / "a.db", key=key) as memory:
        assert canary_of(memory) == CANARY
        assert memory.device == device
        assert memory.doctor(full=True).facts["keys"]["encrypted"] is True


def test_no_byte_of_any_file_holds_a_claim_while_open_and_after(tmp_path: Path, key: bytes | str) -> None:
    memory = Memory(tmp_path / "a.db", key=key)
    seed = memory._replica.identity.private
    memory.remember("ana", "pet", CANARY)
    for number in range(300):
        memory.remember(f"{CANARY} {number}", "pet", f"{CANARY} {number}", reason=CANARY)
    memory.backup(tmp_path / "a.db.backup")
    memory.erase(f"{CANARY} 7")
    assert {"a.db", "a.db-wal", "a.db-shm", "a.db.device", "a.db.backup"} <= contents(tmp_path).keys()
    for _ in ("while open", "after"):
        assert_nothing_in_clear(tmp_path)
        assert not [name for name, data in contents(tmp_path).items() if seed in data]
        memory.close()
    assert_nothing_in_clear(tmp_path)


def test_the_canary_is_found_where_nothing_is_encrypted(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "pet", CANARY)
        with pytest.raises(AssertionError):
            assert_nothing_in_clear(tmp_path)


def test_a_big_sort_and_a_failed_write_leave_no_temporary_file_in_clear(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", key=KEY) as memory:
        with pytest.raises(InvalidInput), memory.transaction():
            for number in range(2_000):
                memory.remember("ana", "pet", f"{CANARY} {number}")
            assert_nothing_in_clear(tmp_path)
            memory.remember("ana", "pet", float("nan"))
        memory.rebuild()
        assert_nothing_in_clear(tmp_path)


def test_two_encrypted_memories_with_different_keys_merge(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", key=KEY) as one, Memory(tmp_path / "b.db", key="another") as other:
        one.remember("ana", "pet", CANARY)
        other.merge(one)
        assert canary_of(other) == CANARY
    with Memory(tmp_path / "b.db", key="another") as other, Memory(tmp_path / "c.db") as plain:
        plain.merge(other)
        assert plain.belief_digest() == other.belief_digest()


def test_a_vault_of_encrypted_memories_is_joined_and_recovered(tmp_path: Path) -> None:
    address = f"folder:{tmp_path / 'box'}"
    (tmp_path / "box").mkdir()
    with Memory(tmp_path / "a.db", key=KEY) as laptop:
        phrase = laptop.create_vault("laptop")
        laptop.add_mailbox(address)
        laptop.remember("ana", "pet", CANARY)
        laptop.sync()
        with Memory.recover(tmp_path / "b.db", phrase, address, name="phone", key="phone") as phone:
            phone.sync()
            assert canary_of(phone) == CANARY
    assert_nothing_in_clear(tmp_path)


def test_async_memory_takes_a_key(tmp_path: Path) -> None:
    async def story() -> Any:
        async with AsyncMemory(tmp_path / "a.db", key=KEY) as memory:
            await memory.remember("ana", "pet", CANARY)
            return await memory.run(canary_of)

    assert asyncio.run(story()) == CANARY
    assert_nothing_in_clear(tmp_path)


# -- the wrong key -------------------------------------------------------------------------------------

WRONG = {
    "another key": (KEY, OTHER, "right key="),
    "a passphrase": (KEY, "guess", "right key="),
    "another passphrase": ("secret", "Secret", "right key="),
    "no key": (KEY, None, "open it with key="),
    "a key for a plain file": (None, KEY, "is not encrypted"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("left", ["closed", "in use", "killed"])
def test_a_wrong_key_is_refused_and_changes_nothing(tmp_path: Path, case: str, left: str) -> None:
    right, wrong, advice = WRONG[case]
    path = tmp_path / "a.db"
    with left_so(path, right, left):
        before = kept(tmp_path)
        for attempt in (lambda: Memory(path, key=wrong), lambda: Memory(path, key=wrong, keyring=True)):
            with pytest.raises(WrongKey, match=advice):
                attempt()
            assert kept(tmp_path) == before
        with pytest.raises(WrongKey, match=advice):
            restore(path, tmp_path / "b.db", key=wrong)
        assert kept(tmp_path) == before
    with Memory(path, key=right) as memory:
        assert canary_of(memory) == CANARY


class left_so:
    """A memory whose file was closed, is in use in this process, or was left by a process that was killed."""

    def __init__(self, path: Path, key: bytes | str | None, how: str) -> None:
        self.path, self.key, self.how = path, key, how
        self.memory: Memory | None = None

    def __enter__(self) -> None:
        if self.how == "killed":
            program = (
                "import os, signal\nfrom syncmem import Memory\n"
                f"memory = Memory({str(self.path)!r}, key={self.key!r})\n"
                f"memory.remember('ana', 'pet', {CANARY!r})\nos.kill(os.getpid(), signal.SIGKILL)"
            )
            run = subprocess.run(
                [sys.executable, "-c", program], env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False
            )
            assert run.returncode == -signal.SIGKILL
            assert Path(f"{self.path}-wal").stat().st_size > 0
            return
        self.memory = Memory(self.path, key=self.key)
        self.memory.remember("ana", "pet", CANARY)
        if self.how == "closed":
            self.memory.close()

    def __exit__(self, *_: object) -> None:
        if self.memory is not None:
            self.memory.close()


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_wrong_key_after_a_crash_without_write_ahead_logging_loses_nothing(tmp_path: Path) -> None:
    program = f"""
import os, signal
from dataclasses import replace
from syncmem import Memory
from syncmem.replica import driver
affected = replace(driver.driver(), wal_safe=False)
driver.driver = lambda: affected
memory = Memory({str(tmp_path / "a.db")!r}, key=bytes(range(32)))
memory.remember("ana", "pet", {CANARY!r})
memory._replica.db.execute("PRAGMA cache_size = 5")  # so that pages of the open transaction reach the file
with memory.transaction():
    for number in range(1000):
        memory.remember(f"thing {{number}}", "state", "solid" * 40)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "a.db-journal").stat().st_size > 0
    assert_nothing_in_clear(tmp_path)
    for wrong in (OTHER, None):
        with pytest.raises(WrongKey):
            Memory(tmp_path / "a.db", key=wrong)
    with Memory(tmp_path / "a.db", key=KEY) as memory:
        assert (canary_of(memory), memory.entities()) == (CANARY, ["ana"])
        assert not [problem for problem in memory.doctor(full=True).problems if "pet" not in problem]


def test_a_wrong_key_is_not_told_apart_by_what_it_prints(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Memory(tmp_path / "a.db", key=KEY).close()
    with pytest.raises(WrongKey) as refused:
        Memory(tmp_path / "a.db", key="my secret")
    assert "my secret" not in str(refused.value) + repr(refused.value.__cause__)
    assert capfd.readouterr() == ("", ""), "SQLCipher's own words stay inside"
    assert "secret" not in repr(file_key("my secret"))


@pytest.mark.parametrize("key", [b"short", b"", bytes(33), "", "a\0b", "x'00'", "X'" + "00" * 32 + "'", 7, "\ud800"])
def test_what_is_no_key_is_refused_before_there_is_a_file(tmp_path: Path, key: Any) -> None:
    with pytest.raises(InvalidInput):
        Memory(tmp_path / "a.db", key=key)
    assert contents(tmp_path) == {}


def test_the_same_keys_pressed_on_another_system_open_the_file(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", key="caf\u00e9") as memory:
        memory.remember("ana", "pet", CANARY)
    with Memory(tmp_path / "a.db", key="cafe\u0301") as memory:
        assert canary_of(memory) == CANARY


def test_a_letter_is_no_replica_with_a_key_either(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_bytes(b"Dear reader, " * 1000)
    with pytest.raises(WrongKey, match="no replica"):
        Memory(tmp_path / "letter.txt", key=KEY)
    with pytest.raises(NotAReplica):
        Memory(tmp_path / "letter.txt")
    assert (tmp_path / "letter.txt").read_bytes() == b"Dear reader, " * 1000


def test_without_sqlcipher_a_key_is_refused_and_the_extra_named(tmp_path: Path) -> None:
    program = (
        "import sys\nsys.modules['sqlcipher3'] = None\nfrom syncmem import Memory, InvalidInput\n"
        "try:\n    Memory(sys.argv[1], key=bytes(32))\nexcept InvalidInput as error:\n    print(error)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "syncmem[cipher]" in run.stdout
    assert contents(tmp_path) == {}


# -- copies --------------------------------------------------------------------------------------------


def test_a_backup_is_under_the_same_key_and_restores_with_it(tmp_path: Path, key: bytes | str) -> None:
    with Memory(tmp_path / "a.db", key=key) as memory:
        memory.remember("ana", "pet", CANARY)
        memory.backup(tmp_path / "copy.db")
        memory.remember("ana", "pet", "another")
    restore(tmp_path / "copy.db", tmp_path / "a.db", overwrite=True, key=key)
    with Memory(tmp_path / "a.db", key=key) as memory:
        assert canary_of(memory) == CANARY
        memory.remember("ana", "car", "Polo")
        assert memory.devices()[0].incarnations == 2
    assert_nothing_in_clear(tmp_path)


def test_a_backup_can_have_a_key_of_its_own(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", key=KEY) as memory:
        memory.remember("ana", "pet", CANARY)
        memory.backup(tmp_path / "copy.db", key="another")
    with Memory(tmp_path / "copy.db", key="another") as memory:
        assert canary_of(memory) == CANARY


def test_a_backup_makes_an_encrypted_memory_of_a_plain_one_and_past_beliefs_stay_answerable(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with Memory(tmp_path / "a.db") as plain:
        known = plain.remember("ana", "pet", "a dog").known
        plain.remember("ana", "pet", CANARY, scope="device")
        plain.backup(tmp_path / "b" / "copy.db", key=KEY)
    assert_nothing_in_clear(tmp_path / "b")
    with Memory(tmp_path / "b" / "copy.db", key=KEY) as memory, Memory(tmp_path / "a.db") as plain:
        assert memory.believe("ana", "pet", known_at=known) == plain.believe("ana", "pet", known_at=known)
        assert memory.believe("ana", "pet", scope="device").value == CANARY  # type: ignore[union-attr]
        assert memory.doctor(full=True).problems == plain.doctor(full=True).problems
        assert memory.device != plain.device


@pytest.mark.parametrize(("old", "new"), [(None, KEY), (KEY, "another"), ("another", KEY), (KEY, KEY)])
def test_a_memory_gets_another_key_in_its_place_and_stays_the_same_device(
    tmp_path: Path, old: bytes | str | None, new: bytes | str
) -> None:
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    with Memory(path, key=old) as memory:
        memory.create_vault("laptop")
        memory.remember("ana", "pet", CANARY)
        device, seed = memory.device, memory._replica.identity.private
        memory.backup(copy, key=new)
    restore(copy, path, overwrite=True, key=new, old_key=old)
    with Memory(path, key=new) as memory:
        memory.remember("ana", "car", "Polo")
        assert (memory.device, memory._replica.identity.private, canary_of(memory)) == (device, seed, CANARY)
        assert memory.devices()[0].incarnations == 2
        assert seed not in (tmp_path / "a.db.device").read_bytes()
    (tmp_path / "a.db.replaced").unlink()
    assert_nothing_in_clear(tmp_path)


def test_a_restore_with_a_wrong_old_key_changes_nothing(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", key=KEY) as memory:
        memory.remember("ana", "pet", CANARY)
        memory.backup(tmp_path / "copy.db", key="another")
    before = contents(tmp_path)
    with pytest.raises(KeyUnreadable, match="another key"):
        restore(tmp_path / "copy.db", tmp_path / "a.db", overwrite=True, key="another", old_key=OTHER)
    assert contents(tmp_path) == before


def test_a_copied_folder_is_another_device_and_a_lost_side_file_is_no_disaster(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    with Memory(tmp_path / "one" / "a.db", key=KEY) as first:
        first.remember("ana", "pet", "a dog")
        device = first.device
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with Memory(tmp_path / "two" / "a.db", key=KEY) as second:
        second.remember("ana", "pet", "a cat")
        assert second.device != device
        assert second._replica.identity.introducers
    (tmp_path / "one" / "a.db.device").unlink()
    with Memory(tmp_path / "one" / "a.db", key=KEY) as first:
        first.remember("ana", "pet", "a fish")
        assert first.device != device


def test_an_old_file_put_back_over_a_newer_one_writes_on_in_a_new_life(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path, key=KEY) as memory:
        memory.remember("ana", "language", "English")
    old = path.read_bytes()
    with Memory(path, key=KEY) as memory, Memory(tmp_path / "b.db", key=OTHER) as other:
        memory.remember("ana", "language", "Portuguese")
        other.merge(memory)
    path.write_bytes(old)  # the same file number: only the sealed side file tells
    with Memory(path, key=KEY) as memory, Memory(tmp_path / "b.db", key=OTHER) as other:
        memory.remember("ana", "language", "German")
        assert memory.devices()[0].incarnations == 2
        memory.merge(other)
        other.merge(memory)
        memory.merge(other)
        assert memory.belief_digest() == other.belief_digest()
        assert len(memory.beliefs("ana", "language")) == 3


def test_a_side_file_under_another_key_stops_and_says_so(tmp_path: Path) -> None:
    for name, key in (("a.db", KEY), ("b.db", OTHER), ("c.db", None)):
        with Memory(tmp_path / name, key=key) as memory:
            memory.remember("ana", "pet", "a dog")
    before = contents(tmp_path)
    for side, advice in (("b.db.device", "another key"), ("c.db.device", "one of both is encrypted")):
        shutil.copyfile(tmp_path / side, tmp_path / "a.db.device")
        with pytest.raises(KeyUnreadable, match=advice):
            Memory(tmp_path / "a.db", key=KEY)
        assert contents(tmp_path) == before | {"a.db.device": before[side]}


def test_each_sealing_of_the_side_file_is_another_even_if_randomness_repeats_itself_across_copies(
    tmp_path: Path,
) -> None:
    environment = Environment(randomness=seeded_randomness(1))
    sealed = set()
    with Memory(tmp_path / "a.db", key=KEY, environment=environment) as one, Memory(tmp_path / "b.db") as other:
        for number in range(5):
            one.remember("ana", "pet", number)
            other.merge(one)
            sealed.add((tmp_path / "a.db.device").read_bytes())
    assert len(sealed) == 5


# -- one library ---------------------------------------------------------------------------------------


def test_plain_and_encrypted_files_are_opened_by_one_library(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", key=KEY) as one, Memory(tmp_path / "b.db") as other:
        assert type(one._replica.db.raw) is type(other._replica.db.raw) is dbapi.Connection
        assert one.doctor().facts["sqlite"]["driver"] == other.doctor().facts["sqlite"]["driver"] == driver().name


def test_an_encrypted_file_writes_ahead_like_a_plain_one(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", key=KEY) as one, Memory(tmp_path / "b.db") as other:
        for pragma in ("journal_mode", "synchronous", "secure_delete", "temp_store", "page_size", "fullfsync"):
            values = [memory._replica.db.execute(f"PRAGMA {pragma}").fetchone()[0] for memory in (one, other)]
            assert str(values[0]) == str(values[1]), pragma


def test_processes_share_an_encrypted_file(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom syncmem import Memory\nwith Memory(sys.argv[1], key=bytes(range(32))) as memory:\n"
        "    for number in range(15):\n        memory.remember(sys.argv[2], 'step', number)"
    )
    Memory(tmp_path / "a.db", key=KEY).close()
    command = [sys.executable, "-c", program, str(tmp_path / "a.db")]
    writers = [subprocess.Popen([*command, f"process {n}"], cwd=ROOT) for n in range(3)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    with Memory(tmp_path / "a.db", key=KEY) as memory:
        assert all(len(memory.beliefs(f"process {n}", "step")) == 15 for n in range(3))
        assert memory.doctor(full=True).facts["logs"][0]["continuous"]


# -- key files -----------------------------------------------------------------------------------------


def test_a_key_file_gives_back_the_key_that_was_written(tmp_path: Path) -> None:
    write_key_file(tmp_path / "key", KEY)
    assert read_key_file(tmp_path / "key") == KEY
    with pytest.raises(InvalidInput, match="exists"):
        write_key_file(tmp_path / "key", OTHER)
    assert read_key_file(tmp_path / "key") == KEY


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_key_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    write_key_file(tmp_path / "key", KEY)
    os.chmod(tmp_path / "key", mode)
    with pytest.raises(FileError, match="chmod 600"):
        read_key_file(tmp_path / "key")


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"abc123", KEY.hex()[:-1].encode(), b"two\nlines\n", b"\xff\xfe", b"x" * 5000]
)
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    os.chmod(tmp_path / "key", 0o600)
    with pytest.raises(FileError, match="holds no key"):
        read_key_file(tmp_path / "key")


def test_a_key_file_may_hold_a_passphrase(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("correct horse\n")
    os.chmod(tmp_path / "key", 0o600)
    assert read_key_file(tmp_path / "key") == "correct horse"
