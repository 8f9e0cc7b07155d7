"""A machine is put back whole, writes on and syncs: all its lives keep what they wrote, on every device."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from syncmem import Memory, Unreachable
from syncmem.sync.in_memory import InMemoryMailbox, InMemoryServer
from syncmem.wire.mailbox import Answer, Exchange
from tests.machine import Disk, disk_of, put_back
from tests.sync.group import Group
from tests.sync.lying import Liar


def copied(group: Group, name: str) -> Disk:
    group.devices[name].close()
    disk = disk_of(group.path(name))
    group.open(name)
    return disk


def gone_back(group: Group, name: str, disk: Disk) -> Memory:
    group.devices[name].close()
    put_back(group.path(name), disk)
    group.pass_time()
    return group.open(name)


def write(memory: Memory, *values: str, scope: str = "vault") -> None:
    for value in values:
        memory.remember("ana", "diary", value, scope=scope)


def diaries(group: Group, scope: str = "vault") -> list[list[object]]:
    group.pass_time()
    memories = group.devices.values()
    return [sorted(belief.value for belief in memory.beliefs("ana", "diary", scope=scope)) for memory in memories]


class Cut(InMemoryMailbox):
    """A mailbox that cannot be reached for a while."""

    reachable = True

    def exchange(self, request: Exchange, write_seed: bytes) -> Answer:
        if not Cut.reachable:
            raise Unreachable("no network; sync again")
        return super().exchange(request, write_seed)


def test_a_blob_that_took_the_place_of_another_is_read_when_it_is_listed(tmp_path: Path) -> None:
    """This life has said nothing of what stands there: it does not know it."""
    liar = Liar()
    group = Group(tmp_path, "memory:", liar.mailbox)
    laptop, _ = group.found(), group.pair("phone")
    group.settle()
    disk = copied(group, "phone")
    group.devices["phone"].rename_device("laptop", "the laptop")
    group.sync("phone")
    there = {(stream, max(blobs)) for stream, blobs in liar.streams()}
    phone = gone_back(group, "phone", disk)
    write(phone, "b1")
    group.sync("phone")  # the place is taken
    liar.tells = lambda request, answer: replace(
        answer, listed=[one for one in answer.listed if (one.name.stream, one.name.counter) not in there]
    )
    group.sync("phone")
    liar.be_honest()
    for _ in range(3):
        group.settle()
        group.pass_time(timedelta(hours=2))
    assert [device.name for device in phone.status().devices] == ["the laptop", "phone"]
    assert laptop.event_digest() == phone.event_digest()
    group.assert_in_sync()


def test_a_branch_is_moved_with_what_was_erased_in_it_and_sent_once(tmp_path: Path) -> None:
    """Nobody holds a payload for it, so a blob without that holds the log whole: the sync comes to an end."""
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", server.mailbox)
    group.found()
    group.pair("phone")
    group.settle()
    disk = copied(group, "phone")
    write(group.devices["phone"], "a1")
    group.settle()
    phone = gone_back(group, "phone", disk)
    phone.remember("secret", "diary", "b0")
    write(phone, "b1")
    phone.erase("secret")
    for _ in range(4):
        sent = [box.sent for report in group.sync("phone", "laptop") for box in report.mailboxes]
        assert sum(sent) < 20
    assert diaries(group) == [["a1", "b1"]] * 2
    group.settle()
    group.assert_in_sync()


def test_a_stream_that_another_life_writes_too_is_left_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits there is refused for ever, so that a session which put more behind it would not come to an end."""
    server = InMemoryServer()
    group = Group(tmp_path, "memory:", lambda address: Cut(server, address))
    group.found()
    group.pair("phone")
    group.settle()
    disk = copied(group, "laptop")
    write(group.devices["laptop"], "a1")
    group.settle()
    laptop = gone_back(group, "laptop", disk)
    write(laptop, "b1")
    with monkeypatch.context() as patched:
        patched.setattr(Cut, "reachable", False)
        group.sync("laptop")
    write(laptop, "b2")
    (report,) = group.sync("laptop")
    assert [(one.forked, one.questions) for one in report.mailboxes] == [(True, 1)]
    group.settle()
    assert diaries(group) == [["a1", "b1", "b2"]] * 2
    group.assert_in_sync()
    group.close()


@pytest.mark.parametrize(
    "first_heard", [True, False], ids=["the first life had synced", "only another device holds it"]
)
def test_a_machine_that_was_put_back_whole_loses_nothing(group: Group, first_heard: bool) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    group.settle()
    write(laptop, "before")
    disk = copied(group, "laptop")
    write(group.devices["laptop"], "a1", "a2")
    phone.merge(group.devices["laptop"])
    if first_heard:
        group.sync("laptop")
    write(gone_back(group, "laptop", disk), "b1", "b2", "b3")
    reports = group.sync("laptop", "phone", "laptop", "phone", "laptop")
    told = [repaired for report in reports for one in report.mailboxes for repaired in one.repaired]
    assert [(one.events, one.moved_to is None) for one in told if one.moved_to] == [(3, False)]
    group.settle()
    assert diaries(group) == [["a1", "a2", "b1", "b2", "b3", "before"]] * 2
    group.assert_in_sync()


def test_a_device_that_heard_of_the_second_life_first_follows(group: Group) -> None:
    laptop = group.found()
    group.pair("phone")
    desk = group.pair("desk")
    group.settle()
    disk = copied(group, "laptop")
    write(group.devices["laptop"], "a1", "a2")
    group.sync("laptop")
    laptop = gone_back(group, "laptop", disk)
    write(laptop, "b1", "b2", "b3")
    desk.merge(laptop)
    group.sync("desk", "phone")
    group.settle()
    assert diaries(group) == [["a1", "a2", "b1", "b2", "b3"]] * 3
    group.assert_in_sync()
    assert [fork["events"] for fork in desk.doctor().facts["forks"]] == [3]


def test_three_lives_in_two_scopes(group: Group) -> None:
    laptop = group.found()
    laptop.share("work")
    group.pair("phone", scopes=("work",))
    group.pair("desk", scopes=("work",))
    group.settle()
    disk = copied(group, "laptop")
    for life, listener in (("a", "phone"), ("b", "desk"), ("c", None)):
        laptop = group.devices["laptop"]
        write(laptop, f"{life}1", f"{life}2")
        write(laptop, f"{life}1", f"{life}2", scope="work")
        if listener is not None:
            group.devices[listener].merge(laptop)
            gone_back(group, "laptop", disk)
    group.settle()
    for scope in ("vault", "work"):
        assert diaries(group, scope) == [["a1", "a2", "b1", "b2", "c1", "c2"]] * 3
    group.assert_in_sync()


def test_a_repaired_machine_that_is_put_back_again(group: Group) -> None:
    group.found()
    group.pair("phone")
    group.settle()
    disk = copied(group, "laptop")
    write(group.devices["laptop"], "a1")
    group.sync("laptop", "phone")
    write(gone_back(group, "laptop", disk), "b1", "b2")
    second = copied(group, "laptop")
    group.settle()
    write(group.devices["laptop"], "after the repair")
    group.settle()
    write(gone_back(group, "laptop", second), "b3")
    group.settle()
    assert diaries(group) == [["a1", "after the repair", "b1", "b2", "b3"]] * 2
    group.assert_in_sync()
