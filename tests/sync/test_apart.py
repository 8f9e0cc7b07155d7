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
