"""A lost device that is told to wipe leaves nothing of its memory behind, and says what it did."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from syncmem import Memory, Wiped, restore
from syncmem.files import ours, wipe
from syncmem.replica.cipher import write_key_file
from syncmem.replica.driver import driver
from tests.cli.running import Shell

CANARY = "kanarienvogel"
KEY = bytes(range(32))
NAME = "my notes (1).db"  # a name that means something to a pattern


def vault_of_two(tmp_path: Path, **options: object) -> tuple[Memory, Path]:
    """A laptop, and the file of a closed phone in a folder of its own, of one vault; both know the canary."""
    for name in ("box", "phone"):
        (tmp_path / name).mkdir()
    address = f"folder:{tmp_path / 'box'}"
    laptop = Memory(tmp_path / "laptop.db")
    phrase = laptop.create_vault("laptop")
    laptop.add_mailbox(address)
    laptop.remember("ana", "pet", CANARY)
    laptop.sync()
    path = tmp_path / "phone" / NAME
    with Memory.recover(path, phrase, address, name="phone", **options) as phone:  # type: ignore[arg-type]
        phone.sync()
        assert phone.believe("ana", "pet").value == CANARY  # type: ignore[union-attr]
        phone.backup(f"{path}.backup-1")
    return laptop, path


def told_to_wipe(laptop: Memory) -> None:
    laptop.sync()
    laptop.revoke("phone", wipe=True, reason="lost")
    laptop.sync()


def holding(folder: Path, *wanted: bytes) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() for one in wanted if one in path.read_bytes()]


@pytest.mark.parametrize("encrypted", [False, True] if driver().cipher else [False])
def test_the_process_that_hears_of_it_deletes_everything_and_says_so(tmp_path: Path, encrypted: bool) -> None:
    laptop, path = vault_of_two(tmp_path, key=KEY if encrypted else None)
    folder = path.parent
    write_key_file(tmp_path / "key", KEY)
    restore(f"{path}.backup-1", path, overwrite=True, key=KEY if encrypted else None)  # leaves <path>.replaced
    (folder / f".{NAME}.4711.tmp").write_bytes(CANARY.encode())  # of a backup that was killed
    (folder / f"{NAME}.device.4711-12.tmp").write_bytes(CANARY.encode())
    (folder / "letter.txt").write_text("Dear reader")
    (folder / f"{NAME}x").write_text("somebody else's")
    assert holding(folder, CANARY.encode())
    told_to_wipe(laptop)
    options = ["--db", path, *(["--key-file", tmp_path / "key"] if encrypted else [])]
    outcome = Shell(folder).run("sync", *options)
    assert outcome.code == 1
    for name in (NAME, f"{NAME}.device", f"{NAME}.backup-1", f"{NAME}.replaced", f".{NAME}.4711.tmp"):
        assert name in outcome.err
    assert sorted(os.listdir(folder)) == ["letter.txt", f"{NAME}x"]
    assert holding(folder, CANARY.encode()) == []
    assert laptop.believe("ana", "pet").value == CANARY  # type: ignore[union-attr]
    laptop.close()


def test_the_error_is_machine_readable(tmp_path: Path) -> None:
    laptop, path = vault_of_two(tmp_path)
    told_to_wipe(laptop)
    laptop.close()
    outcome = Shell(path.parent).run("sync", "--db", path, "--json")
    assert json.loads(outcome.err)["error"] == "Wiped"


def test_what_is_overwritten_is_not_in_a_second_name_of_the_file_either(tmp_path: Path) -> None:
    laptop, path = vault_of_two(tmp_path)
    told_to_wipe(laptop)
    laptop.close()
    os.link(path, tmp_path / "second name")
    assert holding(tmp_path / "phone", CANARY.encode())
    with Memory(path) as phone, pytest.raises(Wiped):
        phone.sync()
    assert (tmp_path / "second name").read_bytes().strip(b"\0") == b""


def test_a_memory_behind_a_link_is_deleted_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "a.db").symlink_to(tmp_path / "disk" / "real.db")
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "pet", CANARY)
    (tmp_path / "disk" / "real.db-wal").write_bytes(CANARY.encode())
    wipe(str(tmp_path / "a.db"))
    assert [path for path in tmp_path.rglob("*") if path.name != "disk"] == []


def test_a_memory_named_by_a_relative_path_is_deleted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    Memory("data/a.db").close()
    done = wipe("data/a.db")
    assert done.left == () and list((tmp_path / "data").iterdir()) == []


def test_a_file_that_resists_keeps_no_other_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Memory(path) as memory:
        memory.remember("ana", "pet", CANARY)
    resisting = tmp_path / "a.db.backup-0"
    resisting.symlink_to(tmp_path / "missing" / "nowhere")
    done = wipe(str(path))
    assert [name for name in done.left if str(resisting) in name and "No such file" in name]
    assert set(done.deleted) == {str(path), f"{path}.device"}


def test_only_files_that_are_named_as_we_name_them_are_ours(tmp_path: Path) -> None:
    others = ["a.db2", "ba.db", "a.db.txt", "a.db-wal2", "axdb", "a.db.devices", "backup", ".a.db.x.tmp", "A.db"]
    mine = ["a.db", "a.db-wal", "a.db-shm", "a.db-journal", "a.db.device", "a.db.sync", "a.db.replaced"]
    mine += [
        "a.db.replaced-wal",
        "a.db.backup",
        "a.db.backup-2026",
        "a.db.backup.2",
        ".a.db.12.tmp",
        ".a.db.12.tmp-wal",
    ]
    for name in [*others, *mine]:
        (tmp_path / name).touch()
    (tmp_path / "a.db.backups").mkdir()
    assert sorted(path.name for path in ours(str(tmp_path / "a.db"))) == sorted(mine)
    assert ours(str(tmp_path / "a.db"))[0].name == "a.db"
