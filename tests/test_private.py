"""Whatever is created is its owner's alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from syncmem.replica.driver import driver

ROOT = Path(__file__).parent.parent
POSIX_ONLY = pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")

STORY = """
import os, sys
from pathlib import Path
from syncmem import Memory, restore
from syncmem.replica.cipher import read_key_file, write_key_file
folder, umask, encrypted = Path(sys.argv[1]), int(sys.argv[2], 8), sys.argv[3] == "True"
(folder / "shared" / "box").mkdir(parents=True)
os.umask(umask)

def modes():
    return {str(p.relative_to(folder)): (p.is_dir(), p.stat().st_mode & 0o777) for p in folder.rglob("*")}

write_key_file(folder / "key", bytes(32))
key = read_key_file(folder / "key") if encrypted else None
seen = {}
with Memory(folder / "a.db", key=key) as memory:
    phrase = memory.create_vault("laptop")
    memory.add_mailbox(f"folder:{folder / 'shared' / 'box'}")
    memory.remember("ana", "pet", "a dog")
    memory.sync()
    memory.backup(folder / "copy.db")
    memory.export_bundle(folder / "all.bundle")
    memory.export_bundle(folder / "all.bundle")
    seen |= modes()
    with Memory.recover(folder / "b.db", phrase, f"folder:{folder / 'shared' / 'box'}", name="b", key=key) as other:
        other.sync()
        seen |= modes()
restore(folder / "copy.db", folder / "a.db", overwrite=True, key=key)
with Memory(folder / "a.db", key=key) as memory:
    memory.remember("ana", "pet", "a cat")
    seen |= modes()
for name, (is_folder, mode) in sorted(seen.items()):
    print(name, "folder" if is_folder else "file", oct(mode))
"""


@POSIX_ONLY
@pytest.mark.parametrize("umask", ["000", "022", "077", "777"])
@pytest.mark.parametrize("encrypted", [False, True] if driver().cipher else [False])
def test_every_file_and_folder_is_the_owners_alone(tmp_path: Path, umask: str, encrypted: bool) -> None:
    command = [sys.executable, "-c", STORY, str(tmp_path), umask, str(encrypted)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    seen = [line.rsplit(" ", 2) for line in run.stdout.splitlines()]
    names = {name for name, _, _ in seen}
    expected = {"a.db", "a.db-wal", "a.db-shm", "a.db.device", "a.db.sync", "a.db.replaced", "all.bundle", "copy.db"}
    assert expected | {"key", "b.db", "b.db.device"} <= names
    wanted = {"file": "0o600", "folder": "0o700"}
    made_here = [(name, kind, mode) for name, kind, mode in seen if name not in ("shared", "shared/box")]
    assert [one for one in made_here if one[2] != wanted[one[1]]] == []
    assert [name for name, kind, _ in made_here if kind == "folder"], "the mailbox has folders"


@POSIX_ONLY
def test_a_relay_keeps_its_mailboxes_to_itself(tmp_path: Path) -> None:
    program = (
        "import os, sys\nos.umask(0)\nfrom syncmem.relay.store import SqliteStore\n"
        "SqliteStore(sys.argv[1], os.urandom).close()"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "one" / "two")], cwd=ROOT, check=True)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"one": 0o700, "two": 0o700, "relay.db": 0o600}


@POSIX_ONLY
def test_what_was_there_keeps_its_mode(tmp_path: Path) -> None:
    from syncmem import Memory

    (tmp_path / "a.db").touch(0o640)
    os.chmod(tmp_path / "a.db", 0o640)
    with Memory(tmp_path / "a.db") as memory:
        memory.remember("ana", "pet", "a dog")
        assert [problem for problem in memory.doctor().problems if "chmod 600" in problem]
        os.chmod(tmp_path / "a.db", 0o600)
        assert not [problem for problem in memory.doctor().problems if "chmod 600" in problem]
        os.chmod(tmp_path / "a.db", 0o640)
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "a.db.device").stat().st_mode) == 0o600
