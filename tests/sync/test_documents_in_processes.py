"""A large document as users meet it: processes, files, a shared folder, a relay over a socket; one is killed.

It has 6 MB; with ``HYPOTHESIS_PROFILE=long`` 20 MB.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from syncmem import Memory
from syncmem.environment import seeded_randomness
from syncmem.replica.driver import dbapi
from tests.cli.running import Shell, environment
from tests.mailbox.serving import RelayProcess
from tests.shared import LONG
from tests.sync.test_three_processes import free_port, pair, sync_all

MIB = 2**20
DOCUMENT = seeded_randomness(20)((20 if LONG else 6) * MIB)
CHUNKS = 427 if LONG else 128


@dataclass
class Place:
    """A mailbox, and the folder that it keeps everything in; ``close`` ends what serves it."""

    address: str
    folder: Path
    close: Callable[[], object]

    @property
    def files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.files)

    def kept(self) -> int:
        """How many bytes of blobs it holds once nothing serves it: a relay's file uses the room of others again."""
        if not (self.folder / "relay.db").exists():
            return sum(path.stat().st_size for path in self.files if path.suffix == ".blob")
        with closing(dbapi.connect(self.folder / "relay.db")) as store:
            return int(store.execute("SELECT coalesce(sum(length(blob)), 0) FROM blobs").fetchone()[0])


@pytest.fixture(params=["folder", "relay"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path / "kept"
    if request.param == "folder":
        folder.mkdir()
        yield Place(f"folder:{folder}", folder, lambda: None)
        return
    relay = RelayProcess(folder, "--port", str(free_port()))
    yield Place(relay.address, folder, relay.close)
    if relay.process.poll() is None:
        relay.kill()


def sealed_piece(files: list[Path]) -> bytes:
    """Some bytes of what is kept: of the largest file, in its middle."""
    largest = max(files, key=lambda path: path.stat().st_size).read_bytes()
    return largest[len(largest) // 2 :][:64]


def fetch_and_be_killed(shell: Shell, id: str) -> int:
    """Fetch a document in a process that is killed when some of it is here; how many parts are."""
    command = [sys.executable, "-m", "syncmem", "--db", "phone.db", "fetch", id]
    with subprocess.Popen(command, cwd=shell.folder, env=environment(), stdout=subprocess.DEVNULL) as fetching:
        with closing(shell.memory("phone.db")) as memory:
            while memory.episode(id).chunks_here < 15 and fetching.poll() is None:
                pass
        fetching.send_signal(signal.SIGKILL)
    with closing(shell.memory("phone.db")) as memory:
        return memory.episode(id).chunks_here


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_document_syncs_is_read_on_demand_and_is_erased_everywhere(tmp_path: Path, place: Place) -> None:
    shell = Shell(tmp_path)
    (tmp_path / "lease.pdf").write_bytes(DOCUMENT)
    assert shell.run("--db", "laptop.db", "init").code == 0
    pair(shell, "laptop", "phone", place.address)
    sync_all(shell, ["laptop", "phone"])

    told = shell.json("--db", "laptop.db", "observe", "lease.pdf", "--speaker", "bob", "--at", "2026-06-15T09:00Z")
    assert (told["new"], told["chunks"]) == (True, CHUNKS)
    assert shell.json("--db", "laptop.db", "status")["published"] is False
    standing = sync_all(shell, ["laptop", "phone"])
    assert [one["published"] for one in standing] == [True, True]
    assert [(one["chunks_here"], one["chunks"]) for one in standing] == [(CHUNKS, CHUNKS), (0, CHUNKS)]
    assert place.size > len(DOCUMENT)
    assert (tmp_path / "phone.db").stat().st_size < MIB

    sealed = sealed_piece(place.files)
    here = fetch_and_be_killed(shell, told["episode"])
    assert 0 < here < CHUNKS
    assert shell.json("--db", "phone.db", "fetch", told["episode"]) == {"fetched": CHUNKS - here, "lacking": 0}
    command = [sys.executable, "-m", "syncmem", "--db", "phone.db", "episode", told["episode"], "--raw", "--no-fetch"]
    assert subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=True).stdout == DOCUMENT

    assert shell.run("--db", "laptop.db", "erase", "bob", "--yes").code == 0
    sync_all(shell, ["laptop", "phone"])
    place.close()
    assert place.kept() < MIB
    assert [path.name for path in place.files if sealed in path.read_bytes()] == []
    piece = DOCUMENT[len(DOCUMENT) // 2 :][:64]
    for name in ("laptop", "phone"):
        assert shell.json("--db", f"{name}.db", "episodes") == []
        files = [path for path in tmp_path.glob(f"{name}.db*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < 3 * MIB
        assert [path.name for path in files if piece in path.read_bytes()] == []
    with closing(Memory(tmp_path / "phone.db")) as phone:
        assert phone.status().in_sync and phone.erasures()[0].complete
