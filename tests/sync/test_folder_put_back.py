"""A shared folder that is put back from a backup, in the ways in which tools do that: devices bring what it lacks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from syncmem import Memory
from syncmem.replica.said import last_said
from tests.sync.group import Group

CANARY = "canary-7c1d"


def replaced(backup: Path, shared: Path) -> None:
    """As it was: what came since is gone."""
    shutil.rmtree(shared)
    shutil.copytree(backup, shared)


def laid_over(backup: Path, shared: Path) -> None:
    """What is in the backup is there again; what came since stays."""
    shutil.copytree(backup, shared, dirs_exist_ok=True)


def half(backup: Path, shared: Path) -> None:
    """Every second file: the tool was ended, or a service brings the rest later."""
    shutil.rmtree(shared)
    files = [path for path in sorted(backup.rglob("*")) if path.is_file()]
    for path in files[::2]:
        there = shared / path.relative_to(backup)
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, there)


PutBack = Callable[[Path, Path], None]
WAYS = pytest.mark.parametrize("put_back", [replaced, laid_over, half])


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "shared").mkdir()
    return tmp_path / "shared"


@pytest.fixture
def group(tmp_path: Path, shared: Path) -> Iterator[Group]:
    made = Group(tmp_path, f"folder:{shared}")
    yield made
    made.close()


def two_devices(group: Group) -> tuple[Memory, Memory]:
    laptop = group.found()
    phone = group.pair("phone")
    laptop.remember("ana", "home_city", "Berlin")
    phone.remember("ana", "language", "Greek")
    group.settle()
    return laptop, phone


@WAYS
@pytest.mark.parametrize("first", ["laptop", "phone"])
def test_what_a_folder_lacks_that_was_put_back_is_brought_by_who_has_it(
    group: Group, shared: Path, tmp_path: Path, put_back: PutBack, first: str
) -> None:
    laptop, phone = two_devices(group)
    shutil.copytree(shared, tmp_path / "backup")
    for n in range(5):
        laptop.remember("ana", f"told {n}", "after the backup")
        phone.remember("ana", f"heard {n}", "after the backup")
        group.settle()
    put_back(tmp_path / "backup", shared)
    laptop.remember("ana", "last", "said while nobody knew")
    group.sync(first)
    group.settle()
    tablet = group.pair("tablet")  # has nothing but the folder
    group.settle()
    assert len({memory.belief_digest() for memory in (laptop, phone, tablet)}) == 1
    for predicate in ("told 4", "heard 4", "last", "home_city", "language"):
        assert tablet.believe("ana", predicate) is not None
    group.pass_time(timedelta(days=1, hours=1))  # by then each has looked through the whole folder
    group.settle()
    group.assert_in_sync()


@WAYS
def test_who_says_in_sync_after_a_folder_was_put_back_has_everything_there(
    group: Group, shared: Path, tmp_path: Path, put_back: PutBack
) -> None:
    laptop, phone = two_devices(group)
    shutil.copytree(shared, tmp_path / "backup")
    phone.remember("ana", "home_city", "Lisbon")
    group.settle()
    put_back(tmp_path / "backup", shared)
    for name in ("laptop", "phone") * 3:
        group.sync(name)
        if group.devices[name].status().in_sync:
            there = {(key.id, place) for key, place, _ in group.events_in_mailboxes()}
            logs = group.devices[name]._syncer.replica.logs
            for log in logs.held(scope="vault"):
                assert all((log.id, place) in there for place in range(1, last_said(logs, log) + 1)), name
    assert laptop.status().in_sync


@WAYS
def test_what_was_erased_goes_again_from_a_folder_that_was_put_back(
    group: Group, shared: Path, tmp_path: Path, put_back: PutBack
) -> None:
    laptop, phone = two_devices(group)
    phone.remember(CANARY, "home_city", "Lisbon")
    group.settle()
    shutil.copytree(shared, tmp_path / "backup")
    laptop.erase(CANARY)
    group.settle()
    assert not has_canary(group)
    put_back(tmp_path / "backup", shared)
    group.settle()
    assert not has_canary(group)
    assert phone.believe(CANARY, "home_city") is None
    group.assert_in_sync()


def test_a_backup_that_comes_again_and_again_loses_nothing(group: Group, shared: Path, tmp_path: Path) -> None:
    laptop, phone = two_devices(group)
    shutil.copytree(shared, tmp_path / "backup")
    for n in range(4):
        laptop.remember("ana", f"told {n}", "by the laptop")
        group.sync("laptop")
        replaced(tmp_path / "backup", shared)
        phone.remember("ana", f"heard {n}", "by the phone")
        group.sync("phone")
    group.settle()
    group.assert_in_sync()
    assert all(phone.believe("ana", f"told {n}") and laptop.believe("ana", f"heard {n}") for n in range(4))


def has_canary(group: Group) -> bool:
    return any(CANARY.encode() in event.payload for _, _, event in group.events_in_mailboxes())
