"""A file whose device is no member of its vault: what it says, and how it comes back with all that it holds."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from syncmem import InvalidInput, Memory, NotFound, Revoked
from tests.cli.running import Shell
from tests.sync.group import Group


def without_its_key(group: Group, name: str) -> Memory:
    """A device again, after what lay beside its database was lost."""
    group.devices[name].close()
    Path(f"{group.path(name)}.device").unlink()
    return group.open(name)


def recovered(group: Group, name: str) -> Memory:
    """A device that comes back by the phrase, with its own file."""
    where, environment = group.path(name), group.environment(name)
    group.devices[name] = Memory.recover(where, group.phrase, group.address, name="again", environment=environment)
    return group.devices[name]


def believed(memory: Memory) -> set[object]:
    return {belief.value for belief in memory.beliefs("ana", "city")}


def test_who_lost_its_key_is_told_how_to_come_back_and_brings_all_that_only_it_held(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    group.devices["phone"].remember("ana", "city", "never sent")
    phone = without_its_key(group, "phone")
    phone.remember("ana", "city", "said by nobody's device")
    outside = phone.status().outside
    assert outside is not None and "'syncmem invite'" in outside and "'syncmem join'" in outside
    assert not phone.status().in_sync
    with pytest.raises(Revoked, match="syncmem join"):
        phone.sync()
    phone.close()
    phone = group.pair("phone")
    assert phone.status().outside is None
    group.settle()
    assert believed(laptop) == believed(phone) == {"never sent", "said by nobody's device"}
    laptop.revoke(next(device.id for device in laptop.status().devices if device.name == "phone"))
    group.settle()
    assert believed(laptop) == believed(phone) == {"never sent", "said by nobody's device"}
    group.assert_in_sync()


def test_who_lost_its_key_comes_back_by_the_phrase_too(group: Group) -> None:
    group.found().sync()
    group.devices["laptop"].remember("ana", "city", "never sent")
    laptop = without_its_key(group, "laptop")
    laptop.close()
    back = recovered(group, "laptop")
    tablet = group.pair("tablet")
    group.settle()
    assert believed(back) == believed(tablet) == {"never sent"}


def test_a_first_device_that_lost_its_key_before_any_sync_comes_back_by_the_phrase(group: Group) -> None:
    """Nothing lies in the mailbox for the phrase: what it needs is in the file."""
    group.found().remember("ana", "city", "never sent")
    without_its_key(group, "laptop").close()
    other = Group(group.folder, group.address, group.opener, group.servers)
    with pytest.raises(NotFound, match="nothing was left"):
        Memory.recover(group.path("new"), group.phrase, group.address, environment=other.environment("new"))
    back = recovered(group, "laptop")
    tablet = group.pair("tablet")
    group.settle()
    assert believed(back) == believed(tablet) == {"never sent"}
    assert back.status().waiting_for == ("laptop",)  # with the lost key, until it is removed


def test_a_removed_device_comes_back_as_a_new_one_with_what_it_holds(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    group.devices["phone"].remember("ana", "city", "behind the cut")
    laptop.revoke("phone")
    laptop.sync()
    with pytest.raises(Revoked, match=r"phone\.db\.device is moved away"):
        group.devices["phone"].sync()
    invitation = laptop.invite()
    group.devices["phone"].close()
    with pytest.raises(InvalidInput, match=r"phone\.db\.device is moved away"):
        Memory.join(group.path("phone"), invitation.code, environment=group.environment("phone"))
    without_its_key(group, "phone").close()
    phone = group.pair("phone")
    phone.remember("ana", "city", "said since")
    group.settle()
    assert believed(laptop) == believed(phone) == {"said since"}
    group.assert_in_sync()


def test_a_file_of_one_vault_is_not_let_into_another(group: Group, tmp_path: Path) -> None:
    group.found()
    group.pair("phone")
    group.settle()
    other = Group(tmp_path / "other", group.address, group.opener, group.servers, _seeds=itertools.count(1000))
    other.folder.mkdir()
    other.found().sync()
    without_its_key(group, "phone").close()
    other.folder = group.folder
    with pytest.raises(InvalidInput, match="another vault"):
        other.pair("phone")
    with group.open("phone") as phone:
        assert phone.status().outside is not None
        assert phone.status().vault == group.devices["laptop"].status().vault
    with pytest.raises(InvalidInput, match="another vault"):
        Memory.recover(group.path("phone"), other.phrase, group.address, environment=group.environment("phone"))


def test_the_command_line_says_how_to_come_back(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    with shell.memory() as memory:
        memory.create_vault("laptop")
        memory.add_mailbox(f"folder:{tmp_path / 'shared'}")
    (tmp_path / "syncmem.db.device").unlink()
    with shell.memory() as memory:
        memory.remember("ana", "city", "Lisbon")
    told = shell.text("status")
    assert "This device is not a member of its vault" in told
    assert "'syncmem join'" in told
