"""A relay that is reached under another name goes on as the same mailbox: nobody begins again, nothing goes twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from os import urandom
from pathlib import Path

import pytest

from syncmem import Environment, ManualClock, Memory
from syncmem.relay.moving import move
from syncmem.sync.http import Http
from syncmem.wire.mailbox import Mailbox
from tests.cli.running import Shell
from tests.mailbox.serving import process, running
from tests.sync.group import Group


def opener(address: str) -> Mailbox:
    """Waiting for who does not answer takes no time."""
    return Http(address, environment=Environment(clock=ManualClock()))


def begun(folder: Path, address: str) -> tuple[Group, Memory, Memory]:
    """Two devices that are in sync at a relay."""
    group = Group(folder, address, opener)
    laptop, phone = group.found(), group.pair("phone")
    laptop.remember("ana", "city", "Lisbon")
    phone.remember("ana", "pet", "cat")
    group.settle()
    return group, laptop, phone


def lives(memory: Memory) -> bytes:
    return memory._replica.identity.incarnation


def rename(memory: Memory, old: str, new: str) -> None:
    memory.add_mailbox(new)
    memory.remove_mailbox(old)


WAYS: dict[str, Callable[[Memory, str, str], None]] = {
    "moved": lambda memory, old, new: memory.move_mailbox(old, new),
    "removed and added": rename,
    "added, the old one stays and is silent": lambda memory, old, new: memory.add_mailbox(new),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_relay_that_started_again_at_another_port_costs_nobody_a_new_beginning(tmp_path: Path, way: str) -> None:
    with running(tmp_path / "relay") as relay:
        old = relay.address
        group, laptop, phone = begun(tmp_path, old)
        before = [lives(laptop), lives(phone)]
        relay.close()
        relay.start()
        assert relay.address != old
        laptop.remember("ana", "language", "Greek")
        for memory in (laptop, phone):
            WAYS[way](memory, old, relay.address)
            report = memory.sync()
            (found,) = [one for one in report.mailboxes if one.address == relay.address]
            assert found.error is None
            assert not found.refused
            assert found.received + found.sent <= 2  # what is new and what is said of it, and nothing that was there
        group.settle()
        assert [lives(laptop), lives(phone)] == before
        assert phone.believe("ana", "language").value == "Greek"  # type: ignore[union-attr]
        if way != "added, the old one stays and is silent":
            group.assert_in_sync()
        group.close()


def test_a_relay_that_was_moved_to_another_store_and_address_goes_on(tmp_path: Path) -> None:
    with process(tmp_path / "relay") as relay:
        group, laptop, phone = begun(tmp_path, relay.address)
        before = [lives(laptop), lives(phone)]
        relay.close()
        move(str(tmp_path / "relay"), str(tmp_path / "new"), urandom)
        with process(tmp_path / "new") as other:
            for memory in (laptop, phone):
                memory.move_mailbox(relay.address, other.address)
            group.settle()
            group.assert_in_sync()
            assert [lives(laptop), lives(phone)] == before
        group.close()


def test_what_stands_in_the_place_of_a_relay_is_given_everything_and_no_counter_twice(tmp_path: Path) -> None:
    with running(tmp_path / "relay") as relay, running(tmp_path / "empty") as other:
        group, laptop, phone = begun(tmp_path, relay.address)
        before = [lives(laptop), lives(phone)]
        for memory in (laptop, phone):
            memory.move_mailbox(relay.address, other.address)
        group.settle()
        group.assert_in_sync()
        assert [lives(laptop), lives(phone)] == before
        tablet = group.pair("tablet")
        group.settle()
        assert tablet.believe("ana", "city").value == "Lisbon"  # type: ignore[union-attr]
        group.close()


def test_an_older_copy_of_a_relay_at_another_address_is_taken_for_what_it_is(tmp_path: Path) -> None:
    """It has the ids and epochs of the one that goes on: what it lacks of what was known tells them apart."""
    with running(tmp_path / "relay") as relay:
        group, laptop, phone = begun(tmp_path, relay.address)
        relay.close()
        shutil.copytree(tmp_path / "relay", tmp_path / "copy")
        relay.start()
        for memory in (laptop, phone):
            memory.move_mailbox(memory._syncer.vault.addresses[0], relay.address)
        laptop.remember("ana", "language", "Greek")
        group.settle()
        with running(tmp_path / "copy") as copy:
            for memory in (laptop, phone):
                memory.add_mailbox(copy.address)
            group.settle()
            group.assert_in_sync()
            for memory in (laptop, phone):
                memory.remove_mailbox(relay.address)
            phone.remember("ana", "sport", "chess")
            group.settle()
            assert laptop.believe("ana", "sport").value == "chess"  # type: ignore[union-attr]
            for address in (relay.address, copy.address):  # each of them holds all of it, for who comes
                for memory in (laptop, phone):
                    memory.add_mailbox(address)
            group.settle()
            group.assert_in_sync()
        group.close()


def test_a_folder_that_lies_elsewhere_now_is_named_on_the_command_line(tmp_path: Path) -> None:
    shell, old, new = Shell(tmp_path), tmp_path / "shared", tmp_path / "elsewhere"
    old.mkdir()
    with shell.memory() as memory:
        memory.create_vault("laptop")
        memory.add_mailbox(f"folder:{old}")
        memory.remember("ana", "city", "Lisbon")
        memory.sync()
    before = sorted(path.name for path in old.rglob("*.blob"))
    old.rename(new)
    refused = shell.run("move-mailbox", f"folder:{new}", f"folder:{old}")
    assert refused.code == 1 and f"it does with: folder:{old}" in refused.err
    assert "Moved" in shell.run("move-mailbox", f"folder:{old}", f"folder:{new}").out
    with shell.memory() as memory:
        (found,) = memory.sync().mailboxes
        assert (found.address, found.sent, found.error) == (f"folder:{new}", 0, None)
    assert sorted(path.name for path in new.rglob("*.blob")) == before
