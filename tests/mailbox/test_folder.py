"""A shared folder: what a sync service, another program or the disk does to one file stops nothing else."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from syncmem.environment import Environment, SystemDisk
from syncmem.errors import Unreachable
from syncmem.seal.envelope import EpochKey
from syncmem.seal.keys import public_key
from syncmem.sync.folder import Folder
from syncmem.wire.mailbox import BlobName, Outcome, Put, digest
from tests.mailbox.serving import ask, drop, new_key
from tests.sync.group import Group

ONE, OTHER = b"stream 1", b"stream 2"
DROP = b"d" * 32
BLOBS = {1: b"first", 2: b"second", 3: b"third"}


@dataclass
class Shared:
    """A folder with three blobs in one stream."""

    root: Path
    key: EpochKey = field(default_factory=new_key)

    def __post_init__(self) -> None:
        self.box = Folder(f"folder:{self.root}")
        outcomes = ask(self.box, self.key, *(Put(ONE, n, b) for n, b in BLOBS.items()), drop_key=public_key(DROP))
        assert [result.outcome for result in outcomes.results] == [Outcome.STORED] * 3

    def path(self, counter: int) -> Path:
        (found,) = self.root.rglob(f"{ONE.hex()}/*/{counter:012d}-*.blob")
        return found

    def read(self) -> list[bytes]:
        """What a device gets, whether it comes along or is fetched."""
        listed = ask(self.box, self.key, inline_bytes_max=0).listed
        names = [entry.name for entry in listed]
        fetched = [blob for _, blob in self.box.get(self.key.write_key, self.key.write_seed, names) if blob]
        assert [entry.blob for entry in ask(self.box, self.key).listed if entry.blob] == fetched
        return fetched

    def drop(self, counter: int) -> bool:
        name = BlobName(ONE, counter, digest(BLOBS[counter]))
        return drop(self.box, self.key, [name], "erase", DROP)[0]


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    return Shared(tmp_path)


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


# -- one file ---------------------------------------------------------------------------------------------


def half_there(path: Path) -> None:
    path.write_bytes(b"sec")


def not_begun(path: Path) -> None:
    path.write_bytes(b"")


def too_long(path: Path) -> None:
    path.write_bytes(b"second and more")


def of_a_size_that_no_blob_has(path: Path) -> None:
    os.truncate(path, 10**10)  # no byte of it is on the disk


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_bytes(b"second")


def a_link_to_the_content(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def a_link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("nowhere"))


def a_pipe_that_nobody_writes_to(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_name_in_another_case(path: Path) -> None:
    path.rename(path.with_name(path.name.upper()))


def a_placeholder(path: Path) -> None:
    path.unlink()
    path.with_name(f".{path.name}.icloud").write_bytes(b"bplist")


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
@pytest.mark.parametrize(
    "spoil",
    [
        half_there, not_begun, too_long, of_a_size_that_no_blob_has, a_folder, a_link_to_the_content,
        a_link_to_nothing, a_pipe_that_nobody_writes_to, a_name_in_another_case, a_placeholder,
    ],
)  # fmt: skip
def test_one_file_that_is_not_right_is_passed_over_and_comes_once_it_is(
    shared: Shared, spoil: Callable[[Path], None]
) -> None:
    path = shared.path(2)
    spoil(path)
    assert shared.read() == [b"first", b"third"]
    assert ask(shared.box, shared.key).ends == {ONE: 3}
    if path.is_dir():
        shutil.rmtree(path)
    elif path.is_symlink() or path.is_fifo():
        path.unlink()
    path.write_bytes(b"second")
    assert shared.read() == [b"first", b"second", b"third"]


def test_a_file_that_fails_or_vanishes_while_it_is_read_is_passed_over(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, opened = str(shared.path(2)), os.open

    def failing(path: str | Path, *arguments: int) -> int:
        if str(path) == bad:
            raise OSError(errno.EIO, "Input/output error", bad)
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", failing)
    assert shared.read() == [b"first", b"third"]

    def vanishing(path: str | Path, *arguments: int) -> int:
        if str(path) == bad and os.path.exists(bad):
            os.unlink(bad)
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", vanishing)
    assert [entry.blob for entry in ask(shared.box, shared.key).listed] == [b"first", b"third"]


def test_a_folder_that_cannot_be_listed_is_not_taken_for_an_empty_one(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(shared.box, shared.key, Put(OTHER, 1, b"of another"))
    bad, scandir = str(shared.path(1).parent), os.scandir

    def failing(path: str | Path) -> object:
        if str(path) == bad:
            raise OSError(errno.EIO, "Input/output error", bad)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)
    answer = ask(shared.box, shared.key, cursors={ONE: 2})
    assert [entry.blob for entry in answer.listed] == [b"of another"]
    assert answer.ends == {ONE: 2, OTHER: 1}  # as far as was known


CONFLICT_COPIES = (
    "{stem} (conflicted copy 2026-01-01).blob",  # Dropbox
    "{stem} (Ana's conflicted copy 2026-01-01).blob",
    "{stem} (conflicted copy 2026-01-01 101010).blob",  # Nextcloud
    "{stem} 2.blob",  # iCloud Drive
    "{stem} (1).blob",  # Google Drive
    "{stem}-LAPTOP-AB12.blob",  # OneDrive
    "{stem}.sync-conflict-20260101-101010-ABCDEFG.blob",  # Syncthing
    "{stem} [conflicted].blob",  # pCloud
    "{stem} (SFConflict ana 2026-01-01-10-10-10).blob",  # Seafile
    "{stem} (Ana).blob",  # Box
    "{stem} - Copy.blob",  # a file manager
    ".syncthing.{stem}.blob.tmp",
    "{stem}.blob.!sync",  # Resilio
    "{stem}.blob.4711.tmp",  # a write of ours that broke off
    "~{stem}.tmp",
)


def test_copies_that_sync_services_make_are_passed_over_and_go_with_the_blob_when_it_is_dropped(
    shared: Shared,
) -> None:
    path = shared.path(2)
    for pattern in CONFLICT_COPIES:
        (path.parent / pattern.format(stem=path.stem)).write_bytes(b"second")
    (path.parent / "desktop.ini").write_bytes(b"of others")
    (path.parent / path.stem).mkdir()
    assert shared.read() == [b"first", b"second", b"third"]
    assert len(list(path.parent.iterdir())) == 3 + len(CONFLICT_COPIES) + 2  # nothing was touched
    assert shared.drop(2)
    assert shared.read() == [b"first", b"third"]
    assert b"second" not in contents(shared.root)
    assert {b"of others", b"first", b"third"} <= {p.read_bytes() for p in path.parent.iterdir() if p.is_file()}


def test_a_dropped_blob_that_a_sync_service_brings_back_stays_dropped(shared: Shared) -> None:
    path = shared.path(2)
    assert shared.drop(2)
    path.write_bytes(b"second")
    assert shared.read() == [b"first", b"third"]
    assert ask(shared.box, shared.key).ends == {ONE: 3}
    assert ask(shared.box, shared.key, Put(ONE, 2, b"second")).results[0].outcome == Outcome.KNOWN
    assert shared.drop(2)  # asked again, it removes what came back
    assert b"second" not in contents(shared.root)


def test_a_copy_of_a_dropped_blob_that_a_sync_service_brings_later_goes_when_the_folder_is_looked_at(
    shared: Shared,
) -> None:
    path = shared.path(2)
    assert shared.drop(2)
    path.with_name(f"{path.stem} (conflicted copy).blob").write_bytes(b"second")
    assert shared.read() == [b"first", b"third"]
    assert b"second" not in contents(shared.root)


def test_a_blob_that_a_sync_service_renamed_is_dropped_all_the_same(shared: Shared) -> None:
    path = shared.path(2)
    path.rename(path.with_name(f"{path.stem} 2.blob"))
    assert shared.read() == [b"first", b"third"]
    assert shared.drop(2)
    assert b"second" not in contents(shared.root)
    assert ask(shared.box, shared.key).ends == {ONE: 3}


# -- writing ----------------------------------------------------------------------------------------------


class Disk(SystemDisk):
    """A real disk that notes what is flushed, and refuses writes with an error if it is told to."""

    def __init__(self) -> None:
        self.flushed: list[str] = []
        self.error: int | None = None

    def flush(self, path: str) -> None:
        super().flush(path)
        self.flushed.append(os.path.basename(path))

    def write(self, path: str, data: bytes) -> None:
        if self.error is not None:
            raise OSError(self.error, os.strerror(self.error), path)
        super().write(path, data)


def test_a_blob_is_called_known_only_once_it_was_flushed_here(shared: Shared) -> None:
    disk = Disk()
    box = Folder(f"folder:{shared.root}", Environment(disk=disk))
    path = shared.path(2)
    assert ask(box, shared.key, Put(ONE, 2, b"second")).results[0].outcome == Outcome.KNOWN
    assert disk.flushed == [path.name]
    path.write_bytes(b"sec")  # what is there is not what was sent: it is written again
    assert ask(box, shared.key, Put(ONE, 2, b"second")).results[0].outcome == Outcome.STORED
    assert path.read_bytes() == b"second"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "full; free some space"),
        (errno.EDQUOT, "full; free some space"),
        (errno.EROFS, "sync again later"),
        (errno.EACCES, "change its permissions"),
        (errno.EIO, "sync again later"),
    ],
)
def test_a_folder_that_takes_nothing_can_be_read(shared: Shared, number: int, words: str) -> None:
    disk = Disk()
    box = Folder(f"folder:{shared.root}", Environment(disk=disk))
    disk.error = number
    answer = ask(box, shared.key, Put(OTHER, 1, b"mine"), drop_key=public_key(b"n" * 32))
    assert [result.outcome for result in answer.results] == [Outcome.OVER_QUOTA]
    assert words in answer.results[0].reason
    assert [entry.blob for entry in answer.listed] == list(BLOBS.values())
    disk.error = None
    assert ask(box, shared.key, Put(OTHER, 1, b"mine")).results[0].outcome == Outcome.STORED


def test_what_stands_in_the_way_of_one_stream_does_not_hold_up_another(shared: Shared) -> None:
    (shared.path(1).parents[2] / OTHER.hex()).write_bytes(b"a file where a folder should be")
    answer = ask(shared.box, shared.key, Put(OTHER, 1, b"mine"), Put(ONE, 4, b"fourth"))
    assert [result.outcome for result in answer.results] == [Outcome.OVER_QUOTA, Outcome.STORED]
    assert "something else has the name" in answer.results[0].reason
    assert len(answer.listed) == 3


def test_a_folder_that_goes_away_while_it_is_read_is_unreachable_and_not_empty(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir, gone = os.scandir, shared.root.with_name("gone")

    def going(path: str | Path) -> object:
        if str(path).endswith(ONE.hex()):
            shared.root.rename(gone)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", going)
    with pytest.raises(Unreachable, match="sync again"):
        ask(shared.box, shared.key, cursors={ONE: 3})
    gone.rename(shared.root)


# -- devices ----------------------------------------------------------------------------------------------


def test_a_file_that_does_not_arrive_delays_only_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    group = Group(tmp_path, f"folder:{tmp_path / 'shared'}")
    laptop = group.found()
    phone, tablet = group.pair("phone"), group.pair("tablet")
    group.settle()
    before = set((tmp_path / "shared").rglob("*.blob"))
    tablet.remember("ana", "city", "Lisbon")
    group.sync("tablet")
    late = set((tmp_path / "shared").rglob("*.blob")) - before
    kept = {path: path.read_bytes() for path in late}
    for path, data in kept.items():
        path.write_bytes(data[:100])
    phone.remember("ana", "pet", "a cat")
    group.sync("phone", "laptop")
    assert laptop.believe("ana", "pet").value == "a cat"
    assert laptop.believe("ana", "city") is None
    for path, data in kept.items():
        path.write_bytes(data)
    group.settle()
    assert laptop.believe("ana", "city").value == "Lisbon"
    group.assert_in_sync()
    group.close()
