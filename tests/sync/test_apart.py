"""Devices that changed the vault while they were apart still hear of each other."""

from __future__ import annotations

import pytest

from syncmem.errors import Revoked
from tests.sync.group import Group


def test_a_device_that_rotates_before_its_first_sync_still_hears_who_was_removed(group: Group) -> None:
    """It never was at the mailbox that it leaves; what the others say of the rotation is said there."""
    laptop = group.found()
    phone, tablet = group.pair("phone"), group.pair("tablet")
    group.settle()
    laptop.revoke("tablet")
    desk = group.pair("desk", by="tablet")  # which has not heard of it
    desk.revoke("phone")
    group.settle("laptop", "phone")
    with pytest.raises(Revoked):
        desk.sync()
    with pytest.raises(Revoked):
        tablet.sync()
    phone.remember("ana", "city", "Lisbon")
    group.settle("laptop", "phone")
    group.assert_in_sync("laptop", "phone")


def test_a_copy_does_not_wait_for_mailboxes_whose_keys_only_the_original_has(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    laptop.remember("ana", "city", "Lisbon")
    group.settle()
    laptop.revoke("phone")
    group.sync("laptop")  # which carries everything into the new mailbox, and has not cleaned the old one yet
    group.copy("laptop", "copy")
    group.settle("laptop", "copy")
    group.assert_in_sync("laptop", "copy")


def test_who_was_removed_by_a_device_that_was_itself_removed_meanwhile_comes_back(group: Group) -> None:
    """To all others its removal never counted; it learns of that where it was told that it was removed."""
    laptop = group.found()
    phone, tablet = group.pair("phone"), group.pair("tablet")
    group.settle()
    laptop.revoke("phone")
    phone.revoke("tablet")  # which has not heard of its own removal
    group.sync("phone")
    with pytest.raises(Revoked):
        group.sync("tablet")
    with pytest.raises(Revoked):
        group.sync("tablet")  # as long as nobody says otherwise
    tablet.remember("ana", "city", "Lisbon")
    group.sync("laptop")
    group.sync("tablet")
    group.settle("laptop", "tablet")
    with pytest.raises(Revoked):
        group.sync("phone")
    assert laptop.believe("ana", "city").value == "Lisbon"
    group.assert_in_sync("laptop", "tablet")


def test_a_removed_device_that_looks_again_takes_nothing_else_in_and_sends_nothing(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    laptop.revoke("phone")
    group.sync("laptop")
    phone.remember("ana", "city", "behind the cut")
    for _ in range(2):
        with pytest.raises(Revoked):
            group.sync("phone")
    laptop.remember("ana", "city", "Porto")
    group.settle("laptop")
    before, held = sorted(group.blobs()), phone.event_digest()
    with pytest.raises(Revoked):
        group.sync("phone")
    assert sorted(group.blobs()) == before
    assert phone.event_digest() == held
