"""Stories of several devices: pair, sync, go offline, be lost, come back."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from syncmem import InvalidInput, Memory, NotFound, Revoked, restore
from syncmem.cli.app import cli
from tests.sync.group import Group
from tests.test_replicas_machine import assert_as_the_reference


def test_what_one_device_says_another_believes(group: Group) -> None:
    laptop = group.found()
    laptop.define("home_city", cardinality="single")
    laptop.remember("ana", "home_city", "Berlin")
    phone = group.pair("phone")
    group.settle()
    assert phone.believe("ana", "home_city").value == "Berlin"
    group.assert_in_sync()


def test_what_was_written_offline_on_both_ends_up_in_its_place(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    laptop.define("home_city", cardinality="single")
    group.settle()
    laptop.remember("ana", "home_city", "Lisbon", changed_on="2025-03-01")
    phone.remember("ana", "home_city", "Berlin", changed_on="2019-05-01")  # said later, and true before
    group.settle()
    for memory in (laptop, phone):
        assert memory.believe("ana", "home_city").value == "Lisbon"
        assert memory.believe("ana", "home_city", valid_at="2020-01-01").value == "Berlin"
    group.assert_in_sync()


def test_in_sync_is_said_only_of_what_was_verified(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    assert laptop.status().in_sync
    phone.remember("ana", "city", "Porto")
    assert not phone.status().in_sync
    assert phone.status().pending == 1
    group.sync("phone")
    assert phone.status().waiting_for == ("laptop",)  # sent, and not verified by anybody
    group.sync("laptop")
    assert laptop.status().in_sync  # the phone said with what it wrote that it holds the rest
    assert not phone.status().in_sync
    group.sync("phone")
    group.assert_in_sync()


def test_a_device_at_rest_asks_one_question(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    (vault,) = laptop.sync().mailboxes
    assert (vault.questions, vault.sent, vault.received) == (1, 0, 0)


def test_a_sync_tells_what_changed_and_because_of_what(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    laptop.define("city", cardinality="single")
    laptop.remember("ana", "city", "Berlin")
    group.settle()
    group.pass_time()
    event = phone.remember("ana", "city", "Lisbon").event
    group.sync("phone")
    (change,) = laptop.sync().changes
    assert (change.entity, change.predicate) == ("ana", "city")
    assert [part.value for part in change.closed] == ["Berlin"]
    assert ("Lisbon", event) in [(part.value, part.event) for part in change.opened]


def test_three_devices_and_a_scope_that_one_of_them_does_not_get(group: Group) -> None:
    laptop = group.found()
    laptop.remember("acme", "budget", 5, scope="work")
    phone = group.pair("phone", scopes=("work",))
    tablet = group.pair("tablet")
    laptop.remember("ana", "city", "Lisbon")
    laptop.remember("acme", "budget", 7, scope="work")
    laptop.remember("ana", "diary", "mine alone", scope="device")
    group.settle()
    assert len(phone.beliefs("acme", "budget", scope="work")) == 2
    assert tablet.beliefs("acme", "budget", scope="work") == []
    assert tablet.believe("ana", "city").value == "Lisbon"
    assert phone.beliefs("ana", "diary", scope="device") == []
    assert all(memory.status().in_sync for memory in (laptop, phone, tablet))
    laptop.grant("tablet", ["work"])
    group.settle()
    assert len(tablet.beliefs("acme", "budget", scope="work")) == 2


def test_a_removed_device_gets_nothing_new_and_what_it_wrote_behind_the_cut_does_not_count(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.pair("tablet")
    laptop.define("city", cardinality="single")
    laptop.remember("ana", "city", "Berlin")
    group.settle()
    group.pass_time()
    phone.remember("ana", "city", "Nowhere")
    group.sync("phone")  # the thief writes, and it arrives only after the removal
    laptop.revoke("phone", reason="lost")
    group.settle("laptop", "tablet")
    with pytest.raises(Revoked, match="syncmem invite"):
        phone.sync()
    laptop.remember("ana", "secret", "of those who stayed")
    group.settle("laptop", "tablet")
    assert phone.beliefs("ana", "secret") == []
    for name in ("laptop", "tablet"):
        assert group.devices[name].believe("ana", "city").value == "Berlin"
    group.assert_in_sync("laptop", "tablet")


def test_what_a_removed_device_wrote_can_be_adopted(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    laptop.define("city", cardinality="single")
    laptop.remember("ana", "city", "Berlin")
    group.settle()
    group.pass_time()
    phone.remember("ana", "city", "Lisbon")
    laptop.revoke("phone")
    group.sync("phone")  # it does not know yet, and writes into the mailbox that is being left
    group.settle("laptop")
    assert laptop.believe("ana", "city").value == "Berlin"
    before = laptop.remember("ana", "language", "Portuguese").known
    laptop.adopt("phone")
    for _ in range(2):
        assert laptop.believe("ana", "city").value == "Lisbon"
        assert laptop.believe("ana", "city", known_at=before).value == "Berlin"
        laptop.rebuild()


def test_a_lost_device_deletes_its_memory_when_it_is_told_to(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    laptop.remember("ana", "city", "Lisbon")
    group.settle()
    laptop.revoke("phone", wipe=True, reason="stolen")
    group.sync("laptop")
    with pytest.raises(Revoked, match="which it did"):
        phone.sync()
    assert [path.name for path in group.folder.iterdir() if path.name.startswith("phone")] == []


def test_a_device_that_was_away_for_two_rotations_finds_its_way(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.pair("old")
    group.pair("older")
    group.settle()
    phone.remember("ana", "city", "written while away")
    for gone in ("old", "older"):
        laptop.revoke(gone)
        group.settle("laptop")
    laptop.remember("ana", "language", "Portuguese")
    group.settle("laptop", "phone")
    assert phone.believe("ana", "language").value == "Portuguese"
    assert laptop.believe("ana", "city").value == "written while away"
    group.assert_in_sync("laptop", "phone")


def test_two_that_remove_each_other_leave_the_senior_one(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    tablet = group.pair("tablet")
    group.settle()
    laptop.revoke("phone")
    phone.revoke("laptop")
    for name in ("laptop", "phone", "tablet") * 3:
        try:
            group.sync(name)
        except Revoked:
            assert name == "phone"
    assert [d.name for d in tablet.status().devices if d.live] == ["laptop", "tablet"]
    group.assert_in_sync("laptop", "tablet")


def test_all_devices_lost_and_the_phrase_brings_everything_back(group: Group) -> None:
    laptop = group.found()
    laptop.remember("ana", "city", "Lisbon")
    group.sync("laptop")
    back = Memory.recover(
        group.path("new"), group.phrase.upper(), group.address, name="new", environment=group.environment("new")
    )
    group.devices["new"] = back
    back.sync()
    assert back.believe("ana", "city").value == "Lisbon"
    with pytest.raises(InvalidInput, match="word 1"):
        Memory.recover(group.path("x"), "zzz " + group.phrase.split(" ", 1)[1], group.address)
    with pytest.raises(InvalidInput, match="do not fit together"):
        words = group.phrase.split()
        Memory.recover(group.path("x"), " ".join([*words[1:], words[0]]), group.address)


def test_a_phrase_of_another_vault_finds_nothing(group: Group, tmp_path: Path) -> None:
    group.found()
    group.sync("laptop")
    with Memory(":memory:") as other:
        phrase = other.create_vault("other")
    with pytest.raises(NotFound, match="check the address"):
        Memory.recover(tmp_path / "x.db", phrase, group.address, environment=group.environment("x"))


def test_a_restored_backup_writes_apart_and_gets_back_what_it_had_written(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    laptop.remember("ana", "city", "before the backup")
    laptop.backup(group.folder / "backup.db")
    laptop.remember("ana", "city", "after the backup")
    group.settle()
    laptop.close()
    restore(group.folder / "backup.db", group.path("laptop"), overwrite=True)
    laptop = group.open("laptop")
    laptop.remember("ana", "city", "after the restore")
    group.settle()
    values = {"before the backup", "after the backup", "after the restore"}
    for memory in (laptop, phone):
        assert {belief.value for belief in memory.beliefs("ana", "city")} == values
    group.assert_in_sync()


def test_a_clone_is_a_device_of_its_own_and_nothing_of_either_is_lost(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    clone = group.copy("laptop", "clone")
    laptop = group.devices["laptop"]
    laptop.remember("ana", "city", "from the laptop")
    clone.remember("ana", "city", "from the clone")
    group.settle()
    for memory in (laptop, phone, clone):
        assert {belief.value for belief in memory.beliefs("ana", "city")} == {"from the laptop", "from the clone"}
    assert [device.name for device in phone.status().devices] == ["laptop", "phone", "laptop (copy)"]
    group.assert_in_sync()


def test_a_code_works_once_and_only_for_who_was_approved(group: Group) -> None:
    laptop = group.found()
    invitation = laptop.invite()
    with pytest.raises(NotFound, match="accept it on the other"):
        Memory.join(
            group.path("phone"), invitation.code, name="phone", wait_seconds=0, environment=group.environment("phone")
        )
    with pytest.raises(InvalidInput, match="was not let in"):
        invitation.accept(lambda name: False)
    assert [device.name for device in laptop.status().devices] == ["laptop"]
    with pytest.raises(Exception, match="another device has used this code|nobody has let"):
        Memory.join(group.path("thief"), invitation.code, wait_seconds=0, environment=group.environment("thief"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda code: code[:-1], "not complete|wrong"),
        (lambda code: code[:20] + ("A" if code[20] != "A" else "B") + code[21:], "wrong|not complete"),
        (lambda code: "HELLO", "begins with SYNCMEM-"),
    ],
)
def test_a_code_that_was_not_copied_right_is_told(group: Group, change: object, message: str) -> None:
    code = group.found().invite().code
    with pytest.raises(InvalidInput, match=message):
        Memory.join(group.path("phone"), change(code))  # type: ignore[operator]


def test_a_clock_fifty_years_off_locks_nobody_out(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.clocks["phone"].time += timedelta(days=50 * 365) // timedelta(microseconds=1)
    wrong = phone.remember("ana", "city", "from the future")
    laptop.remember("ana", "city", "from today")
    group.settle()
    group.assert_in_sync()
    laptop.correct_clock(wrong.event, timedelta(days=-50 * 365))
    group.settle()
    group.assert_in_sync()
    assert laptop.remember("ana", "city", "later").event


def test_without_a_vault_or_a_mailbox_the_next_step_is_named(group: Group) -> None:
    memory = group.open("alone")
    with pytest.raises(InvalidInput, match="syncmem invite"):
        memory.sync()
    assert memory.status().vault is None
    memory.create_vault("alone")
    with pytest.raises(InvalidInput, match="no mailbox is known; name where"):
        memory.sync()
    with pytest.raises(InvalidInput, match="belongs to a vault already"):
        memory.create_vault("again")


def test_what_is_erased_on_one_device_is_gone_on_the_others(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    laptop.remember("eva", "address", "1 Canary Wharf")
    laptop.remember("ana", "city", "Lisbon")
    group.settle()
    assert phone.believe("eva", "address").value == "1 Canary Wharf"
    laptop.erase("eva")
    group.settle()
    for memory in (laptop, phone):
        assert memory.beliefs("eva", "address") == []
        assert memory.believe("ana", "city").value == "Lisbon"
    group.assert_in_sync()
    for memory in (laptop, phone):
        memory.close()
    files = [path for path in group.folder.iterdir() if path.is_file()]
    assert [path.name for path in files if b"Canary" in path.read_bytes()] == []


def test_a_stale_device_cannot_bring_back_what_was_erased(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    phone.remember("eva", "address", "1 Canary Wharf")  # offline: it has not heard of the erasure
    laptop.remember("eva", "phone", "123")
    laptop.erase("eva")
    group.settle()
    for memory in (laptop, phone):
        assert memory.beliefs("eva", "address") == []
        assert memory.beliefs("eva", "phone") == []
    group.assert_in_sync()


def test_a_removal_by_one_process_counts_in_another_that_had_the_file_open(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    with Memory(group.path("laptop"), environment=group.environment("laptop"), zone="UTC") as other:
        assert [device.live for device in other.status().devices] == [True, True]
        laptop.revoke("phone")
        phone.remember("acme", "budget", 5, scope="work")  # a log of which nobody has heard
        other.merge(phone)
        assert other.beliefs("acme", "budget", scope="work") == []


def test_a_device_let_in_while_another_rotated_is_not_locked_out(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.pair("tablet")
    group.settle()
    laptop.revoke("tablet")  # new keys, for all that the laptop knows of
    watch = group.pair("watch", by="phone")  # the phone has not heard of it
    watch.remember("ana", "city", "said on the watch")
    for name in ("watch", "laptop", "phone", "laptop", "watch"):
        group.sync(name)
    group.settle("laptop", "phone", "watch")
    assert laptop.believe("ana", "city").value == "said on the watch"
    group.assert_in_sync("laptop", "phone", "watch")


def test_who_joins_after_a_removal_believes_nothing_from_behind_the_cut(group: Group) -> None:
    laptop = group.found()
    others = [group.pair(f"phone {number}") for number in range(4)]  # some of their logs sort behind the laptop's
    for number, phone in enumerate(others):
        phone.remember("ana", "diary", f"{number} before")
    group.settle()
    for number, phone in enumerate(others):
        laptop.revoke(f"phone {number}")
        phone.remember("ana", "diary", f"{number} behind the cut")
        phone.sync()  # it has not heard of its removal
    group.settle("laptop")
    spare = group.pair("spare")  # it reads of the phones' logs before it reads the logs
    group.settle("laptop", "spare")
    for memory in (laptop, spare):
        assert {belief.value for belief in memory.beliefs("ana", "diary")} == {f"{n} before" for n in range(4)}
    group.assert_in_sync("laptop", "spare")


def test_a_copy_that_missed_a_rotation_follows_with_the_keys_of_its_original(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    copy = group.copy("laptop", "copy")
    laptop = group.devices["laptop"]
    laptop.revoke("phone")  # nobody is left whom the laptop would wait for in the old mailbox
    group.settle("laptop")
    copy.remember("ana", "city", "said on the copy")
    group.settle("laptop", "copy")
    assert laptop.believe("ana", "city").value == "said on the copy"
    group.assert_in_sync("laptop", "copy")


def test_what_a_stranger_left_is_read_once_and_holds_nothing_up(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.pair("tablet")
    group.settle()
    laptop.revoke("phone")
    stranger = group.pair("stranger", by="phone")  # the phone has not heard that it may let nobody in any more
    stranger.remember("ana", "city", "said by a stranger")
    group.sync("stranger")
    group.settle("laptop", "tablet")
    assert laptop.believe("ana", "city") is None
    group.assert_in_sync("laptop", "tablet")
    assert not any(one.received for one in laptop.sync().mailboxes)


def test_what_was_said_just_before_a_restore_is_believed_at_once_after_it(group: Group, tmp_path: Path) -> None:
    laptop = group.found()
    with laptop.transaction():
        laptop.remember("ana", "city", "A")
        laptop.remember("ana", "city", "B")  # the same microsecond: the clock is ahead of the wall
    laptop.backup(tmp_path / "backup.db")
    laptop.close()
    restore(tmp_path / "backup.db", group.path("laptop"), overwrite=True)
    laptop = group.open("laptop")
    group.sync("laptop")
    assert {belief.value for belief in laptop.beliefs("ana", "city")} == {"A", "B"}


def test_what_was_merged_by_hand_counts_on_every_device(group: Group, tmp_path: Path) -> None:
    with Memory(tmp_path / "old.db", environment=group.environment("old")) as old:
        old.remember("ana", "language", "said before there was a vault")
        old.export_bundle(tmp_path / "old.bundle")
        laptop = group.open("laptop")
        laptop.merge(old)
        group.phrase = laptop.create_vault("laptop")
        laptop.add_mailbox(group.address)
        phone = group.pair("phone")
        old.remember("ana", "language", "said later")
        old.export_bundle(tmp_path / "later.bundle")
    phone.import_bundle(tmp_path / "later.bundle")
    group.settle()
    wanted = {"said before there was a vault", "said later"}
    for memory in (laptop, phone):
        assert {belief.value for belief in memory.beliefs("ana", "language")} == wanted
    group.assert_in_sync()


def test_what_a_stranger_wrote_is_not_believed_until_a_member_answers_for_it(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    tablet = group.pair("tablet")
    group.settle()
    laptop.revoke("phone")
    stranger = group.pair("stranger", by="phone")  # the phone has not heard that it may let nobody in any more
    stranger.remember("ana", "city", "said by a stranger")
    group.sync("stranger", "phone")
    group.settle("laptop", "tablet")
    assert laptop.believe("ana", "city") is None
    tablet.adopt("stranger")
    group.settle("laptop", "tablet")
    for memory in (laptop, tablet):
        assert memory.believe("ana", "city").value == "said by a stranger"
    group.assert_in_sync("laptop", "tablet")


def test_who_rotates_before_its_first_sync_is_followed_all_the_same(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    group.settle()
    tablet = group.pair("tablet")  # it has never been at the mailbox, and moves on at once
    tablet.revoke("phone")
    tablet.remember("ana", "city", "said on the tablet")
    group.settle("tablet", "laptop")
    assert laptop.believe("ana", "city").value == "said on the tablet"
    group.assert_in_sync("tablet", "laptop")


def test_what_was_written_under_a_key_that_was_lost_before_it_was_let_in_is_believed_here_all_along(
    group: Group,
) -> None:
    group.found()
    group.pair("phone")
    group.settle()
    group.copy("phone", "copy").remember("ana", "city", "Lisbon")
    group.devices["copy"].close()
    Path(f"{group.path('copy')}.device").unlink()
    copy = group.open("copy")
    copy.remember("ana", "job", "nurse")
    assert_as_the_reference(copy)
    assert copy.believe("ana", "city").value == "Lisbon"


def test_a_scope_that_is_on_one_device_only_is_named_until_another_gets_it(group: Group) -> None:
    laptop, phone = group.found(), group.pair("phone")
    laptop.remember("ana", "task", "report", scope="wrok")
    laptop.remember("ana", "mood", "fine", scope="device")
    laptop.remember("ana", "home", "Lisbon")
    group.settle()
    assert laptop.status().in_sync and laptop.status().unshared == ("wrok",)
    assert laptop.status().to_dict()["unshared"] == ["wrok"] and phone.status().unshared == ()
    told = CliRunner().invoke(cli, ["--db", str(group.path("laptop")), "status"]).output
    assert "Scope wrok is on this device only; share it with 'syncmem grant DEVICE wrok'." in told
    laptop.share("wrok")
    assert laptop.status().unshared == ("wrok",)
    laptop.grant("phone", ["wrok"])
    group.settle()
    assert laptop.status().unshared == phone.status().unshared == ()
    assert phone.believe("ana", "task", scope="wrok").value == "report"  # type: ignore[union-attr]
