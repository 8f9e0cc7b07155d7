"""Facts that keep a memory safe are never forgotten because time has passed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from syncmem import Revoked
from tests.sync.group import Group

YEAR = timedelta(days=365)


def test_after_ten_years_what_was_erased_stays_away_and_who_was_removed_stays_out(group: Group) -> None:
    laptop = group.found()
    phone, tablet = group.pair("phone"), group.pair("tablet")
    laptop.remember("zoe", "city", "CANARY-OF-ZOE")
    group.settle()
    phone.remember("zoe", "job", "CANARY-OF-ZOE, said offline")  # and then lies in a drawer
    tablet.remember("ana", "city", "behind the cut")
    laptop.erase("zoe")
    laptop.revoke("tablet")
    group.settle("laptop")
    for year in range(10):
        group.pass_time(YEAR)
        laptop.remember("ana", "year", year)
        laptop.rebuild()
        group.settle("laptop")
    assert laptop.believe("ana", "city") is None
    group.settle("laptop", "phone")
    with pytest.raises(Revoked):
        tablet.sync()
    group.settle("laptop", "phone")
    for memory in (laptop, phone):
        assert not memory.beliefs("zoe") and memory.believe("ana", "city") is None
        assert len(memory.beliefs("ana", "year")) == 10
    group.assert_in_sync("laptop", "phone")
    for _ in range(3):  # a mailbox that was left is visited once a day: what the tablet put there is found, and goes
        group.pass_time(timedelta(days=1, hours=1))
        group.settle("laptop", "phone")
    assert all(b"CANARY-OF-ZOE" not in event.payload for _, _, event in group.events_in_mailboxes())


def test_what_a_removed_device_puts_into_a_mailbox_that_was_left_is_told_and_gone_at_the_next_sync(
    group: Group,
) -> None:
    laptop = group.found()
    phone, tablet = group.pair("phone"), group.pair("tablet")
    phone.remember("zoe", "city", "CANARY-OF-ZOE")
    group.settle()
    tablet.remember("zoe", "job", "CANARY-OF-ZOE")
    laptop.erase("zoe")
    laptop.revoke("tablet")
    for _ in range(3):
        group.pass_time(timedelta(days=1, hours=1))
        group.settle("laptop", "phone")
    with pytest.raises(Revoked):
        tablet.sync()
    assert any(b"CANARY-OF-ZOE" in event.payload for _, _, event in group.events_in_mailboxes())
    group.pass_time(timedelta(days=1, hours=1))
    laptop.sync()
    assert sum(box.erasing for box in laptop.status().mailboxes)
    laptop.sync()
    assert not sum(box.erasing for box in laptop.status().mailboxes)
    assert all(b"CANARY-OF-ZOE" not in event.payload for _, _, event in group.events_in_mailboxes())
