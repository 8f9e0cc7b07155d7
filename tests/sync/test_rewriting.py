"""Blobs at mailboxes are written anew: what was erased goes, and what came in crumbs is put together."""

from __future__ import annotations

import copy
from datetime import timedelta
from pathlib import Path

import pytest

from syncmem import Memory, restore
from syncmem.sync.outgoing import Outgoing
from syncmem.sync.rewriting import SMALL_BLOBS_MAX
from syncmem.wire.blob import ItemKind
from tests.sync.group import Group, items_of

CANARY = "Gwendolyn"


def has_canary(group: Group) -> bool:
    return any(CANARY.encode() in event.payload for _, _, event in group.events_in_mailboxes())


def test_what_was_erased_goes_from_the_mailbox_at_the_next_sync(group: Group) -> None:
    laptop = group.found()
    laptop.remember("ana", "city", "Berlin")
    laptop.remember(CANARY, "city", "Lisbon")
    phone = group.pair("phone")
    group.settle()
    assert has_canary(group)
    laptop.erase(CANARY)
    group.sync("laptop")
    assert not has_canary(group)
    group.settle()
    assert not has_canary(group)
    assert [m.believe("ana", "city").value for m in (laptop, phone)] == ["Berlin", "Berlin"]
    group.assert_in_sync()


def test_a_new_device_gets_everything_but_what_was_erased(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    for number in range(5):
        laptop.remember("ana", "diary", f"laptop {number}")
        phone.remember(CANARY, "diary", f"phone {number}")
        phone.remember("ana", "diary", f"phone {number}")
        group.settle()
    phone.erase(CANARY)
    group.settle()
    tablet = group.pair("tablet")
    group.settle()
    assert len(tablet.beliefs("ana", "diary")) == len(laptop.beliefs("ana", "diary"))
    group.assert_in_sync()


def test_erasures_tell_who_has_followed(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.pair("tablet")
    phone.remember(CANARY, "city", "Lisbon")
    group.settle()
    laptop.erase(CANARY)
    (erasure,) = laptop.erasures()
    assert (erasure.erased_by, erasure.confirmed, erasure.complete) == ("laptop", ("laptop",), False)
    assert not laptop.status().in_sync
    group.sync("laptop", "phone", "laptop")
    (erasure,) = laptop.status().erasures
    assert erasure.confirmed == ("laptop", "phone")
    assert erasure.waiting_for == ("tablet",)
    assert erasure.mailboxes == ()
    group.settle()
    (erasure,) = laptop.erasures()
    assert erasure.complete
    assert laptop.status().erasures == ()


def test_what_waited_to_be_sent_is_written_anew_without_what_was_erased(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    laptop.remember(CANARY, "city", "Lisbon")
    syncer = laptop._syncer
    key = syncer.vault.current("vault")
    assert key is not None
    with syncer._writing():
        known = syncer.ledger.mailbox(group.address, key)
    dropper = syncer._dropper(known, key)
    Outgoing(syncer.vault, syncer.ledger, syncer.digests, key, dropper).compose(known, [], everything=False)
    assert syncer.ledger.awaits(known.no)  # as after a sync whose connection failed
    laptop.erase(CANARY)
    assert not syncer.ledger.awaits(known.no)
    group.settle()
    assert not has_canary(group)
    group.assert_in_sync()


def compose_everything(group: Group, name: str) -> None:
    """What the next sync would send once it has read everything is written down, and not sent."""
    syncer = group.devices[name]._syncer
    key = syncer.vault.current("vault")
    assert key is not None
    with syncer._writing():
        known = syncer.ledger.mailbox(group.address, key)
        syncer.ledger.look_for_erased(known)
    dropper = syncer._dropper(known, key)
    outgoing = Outgoing(syncer.vault, syncer.ledger, syncer.digests, key, dropper)
    for _ in range(2):
        outgoing.compose(known, [], everything=True)


def test_what_was_to_be_written_anew_when_more_was_erased_is_dropped_only_once_it_stands_elsewhere(
    group: Group,
) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    with laptop.transaction():
        for entity in (CANARY, "bob", "ana"):
            laptop.remember(entity, "city", "Lisbon")
    group.settle()
    laptop.erase(CANARY)
    compose_everything(group, "laptop")  # as after a sync whose connection failed
    laptop.erase("bob")
    group.sync("laptop", "laptop")
    assert any(b"ana" in event.payload for _, _, event in group.events_in_mailboxes())
    assert not has_canary(group)
    group.settle()
    group.assert_in_sync()
    assert phone.believe("ana", "city") is not None


def test_what_was_written_anew_and_is_read_after_what_follows_it_is_not_sent_back(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    for entity in (CANARY, "bob", "ana"):
        laptop.remember(entity, "city", "Lisbon")
        laptop.sync()
    laptop.erase(CANARY)
    laptop.sync()
    before = list(group.events_in_mailboxes())
    phone.sync()
    logs = {key.id for key, _, _ in before}
    after = [found for found in group.events_in_mailboxes() if found[0].id in logs]
    assert len(after) == len(before), "nothing lies there twice"
    group.settle()
    group.assert_in_sync()


def test_a_mailbox_put_back_from_a_backup_is_cleaned_again(group: Group) -> None:
    if not group.servers:
        pytest.skip("test_folder_put_back.py puts folders back")
    laptop = group.found()
    phone = group.pair("phone")
    phone.remember(CANARY, "city", "Lisbon")
    group.settle()
    saved = copy.deepcopy(group.servers[0].boxes)
    laptop.erase(CANARY)
    group.settle()
    group.servers[0].boxes = saved
    assert has_canary(group)
    group.settle()
    assert not has_canary(group)
    group.assert_in_sync()


def test_a_stale_device_and_an_old_backup_bring_nothing_back(group: Group, tmp_path: Path) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    tablet = group.pair("tablet")
    phone.remember(CANARY, "city", "Lisbon")
    group.settle()
    phone.backup(tmp_path / "old.db")
    laptop.erase(CANARY)
    group.sync("laptop", "phone", "laptop")
    tablet.remember(CANARY, "city", "Porto")  # the tablet has not heard of the erasure
    phone.close()
    restore(tmp_path / "old.db", group.path("phone"), overwrite=True)
    phone = group.open("phone")
    group.settle()
    assert not has_canary(group)
    assert all(memory.believe(CANARY, "city") is None for memory in (laptop, phone, tablet))
    group.assert_in_sync()


def test_after_a_rotation_nothing_but_the_roster_stays_in_the_old_mailbox(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.pair("tablet")
    phone.remember(CANARY, "city", "Lisbon")
    laptop.remember("ana", "city", "Berlin")
    group.settle()
    (old,) = {mailbox for mailbox, _ in group.blobs() if mailbox in {key.mailbox for key in group.keys_ever()}}
    laptop.revoke("tablet")
    group.settle("laptop")  # the phone is away
    key = next(key for key in group.keys_ever() if key.mailbox == old)
    for mailbox, sealed in group.blobs():
        if mailbox == old:
            items = items_of(key, sealed)
            assert not [item for item in items if item.kind == ItemKind.FRAME]
    phone.remember("ana", "city", "Porto")
    group.settle("laptop", "phone")
    assert {belief.value for belief in laptop.beliefs("ana", "city")} == {"Berlin", "Porto"}
    laptop.erase(CANARY)
    group.settle("laptop", "phone")
    assert not has_canary(group)
    group.assert_in_sync("laptop", "phone")


def crumbs(memory: Memory, group: Group, name: str, count: int) -> None:
    """Many syncs with one event each."""
    for number in range(count):
        memory.remember("ana", "diary", f"{name} {number}")
        group.sync(name)


def test_many_small_blobs_become_few_once_a_second_device_has_read_them(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    crumbs(laptop, group, "laptop", SMALL_BLOBS_MAX - 3)
    before = len(list(group.blobs()))
    assert before >= SMALL_BLOBS_MAX - 3
    group.sync("phone")
    crumbs(laptop, group, "laptop", 6)  # the laptop puts its blobs together, and offers to drop the old ones
    assert len(list(group.blobs())) >= before
    group.settle()  # the phone agrees
    assert len(list(group.blobs())) < 20
    tablet = group.pair("tablet")
    group.settle()
    assert len(tablet.beliefs("ana", "diary")) == SMALL_BLOBS_MAX - 3
    group.assert_in_sync()


def test_whoever_was_away_while_blobs_were_dropped_does_not_look_for_them_ever_after(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    tablet = group.pair("tablet")
    group.settle()
    crumbs(laptop, group, "laptop", 20)
    group.sync("tablet")  # and is away from here on
    crumbs(laptop, group, "laptop", SMALL_BLOBS_MAX - 20)
    group.settle("laptop", "phone")  # the phone agrees that they go, and they go
    group.settle()
    assert len(list(group.blobs())) < 20
    assert tablet._replica.db.execute("SELECT count(*) FROM offers").fetchone() == (0,)
    group.assert_in_sync()
    group.pass_time(timedelta(days=2))
    group.settle()  # each looks at all names, and forgets those that are gone
    for memory in group.devices.values():
        (rows,) = memory._replica.db.execute("SELECT count(*) FROM blobs").fetchone()
        assert rows <= len(list(group.blobs()))
    group.assert_in_sync()


def test_a_sync_that_finds_nothing_walks_no_list_of_all_blobs_ever(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    crumbs(laptop, group, "laptop", 3)
    group.settle()
    connection, asked = laptop._replica.db._connection, set[str]()
    connection.set_trace_callback(asked.add)
    group.sync("laptop")
    connection.set_trace_callback(None)
    selects = [sql for sql in asked if sql.startswith("SELECT") and "FROM blobs WHERE mailbox = " in sql]
    plans = {sql: [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")] for sql in selects}
    walked = {
        sql
        for sql, plan in plans.items()
        if any(step.endswith("sqlite_autoindex_blobs_1 (mailbox=?)") for step in plan)
    }
    assert plans and not walked


def test_a_device_that_is_alone_reads_back_before_it_drops(group: Group) -> None:
    laptop = group.found()
    crumbs(laptop, group, "laptop", SMALL_BLOBS_MAX + 2)
    group.settle()
    assert len(list(group.blobs())) < 10
    phone = group.pair("phone")
    group.settle()
    assert len(phone.beliefs("ana", "diary")) == len(laptop.beliefs("ana", "diary"))
    group.assert_in_sync()
