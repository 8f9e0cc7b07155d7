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
