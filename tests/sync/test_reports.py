"""Reports: what others are told of what a device holds and believes, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from syncmem import Grade, Memory
from syncmem.model.event import Kind
from syncmem.model.instant import to_datetime
from syncmem.wire.mailbox import Answer, Exchange
from tests.sync.group import Group
from tests.sync.lying import Liar

DAY = timedelta(days=1)


def notes_in_mailboxes(group: Group, memory: Memory) -> int:
    """How many of a device's frontier notes lie there."""
    found = (event for key, _, event in group.events_in_mailboxes() if key.device == memory._replica.device)
    return sum(event.kind == Kind.FRONTIER for event in found)


def sizes(group: Group) -> list[int]:
    return sorted(len(sealed) for _, sealed in group.blobs())


def test_who_only_reads_answers_with_one_small_blob_and_nobody_answers_that(group: Group) -> None:
    laptop = group.found()
    phone = group.pair("phone")
    phone.remember("ana", "city", "Lisbon")
    group.settle()
    before = sizes(group)
    for number in range(3):
        laptop.remember("ana", "diary", f"day {number}")
        group.sync("laptop", "phone", "laptop", "phone")
        group.assert_in_sync()
    added = sizes(group)
    for size in before:
        added.remove(size)
    assert added[:3] == [256] * 3 and len(added) == 6, "three blobs of claims and three reports"


@pytest.fixture
def heard(group: Group) -> tuple[Group, Memory, Memory, int]:
    """The phone has told the laptop that it holds what the laptop said, and when."""
    laptop = group.found()
    laptop.define("city", cardinality="single")
    phone = group.pair("phone")
    phone.remember("ana", "language", "Greek")
    laptop.remember("ana", "city", "Berlin")
    group.settle()
    group.pass_time()
    laptop.remember("ana", "city", "Lisbon")
    group.sync("laptop")
    group.pass_time(timedelta(minutes=10))
    group.sync("phone", "laptop")
    return group, laptop, phone, group.clocks["laptop"].time


def test_what_another_believed_is_known_from_its_report_before_its_notes_arrive(
    heard: tuple[Group, Memory, Memory, int],
) -> None:
    group, laptop, phone, now = heard
    there = notes_in_mailboxes(group, phone)
    asked = [to_datetime(now + minutes * 60_000_000) for minutes in (-11, -1, 1)]

    def told() -> list[tuple[object, Grade]]:
        found = [laptop.timeline("ana", "city", device=phone.device, known_at=time) for time in asked]
        return [(timeline[-1].value, timeline[-1].grade) for timeline in found]

    assert [value for value, _ in told()] == ["Berlin", "Berlin", "Lisbon"]
    early = told()
    phone.remember("ana", "language", "Welsh")  # goes out together with the note
    group.sync("phone", "laptop")
    assert notes_in_mailboxes(group, phone) > there
    assert told()[:2] == early[:2] and told()[2][0] == "Lisbon"
    assert laptop._replica.db.execute("SELECT count(*) FROM told").fetchone() == (0,)


def test_notes_that_nothing_follows_are_sent_after_a_day(heard: tuple[Group, Memory, Memory, int]) -> None:
    group, laptop, phone, _ = heard
    there = notes_in_mailboxes(group, phone)
    group.sync("phone", "laptop")
    assert notes_in_mailboxes(group, phone) == there
    assert laptop.status().published and phone.status().published
    group.pass_time(DAY)
    group.sync("phone", "laptop")
    assert notes_in_mailboxes(group, phone) > there
    group.settle()
    assert group.sync("phone", "laptop")[0].mailboxes[0].sent == 0
    group.assert_in_sync()


@pytest.fixture
def lying(tmp_path: Path) -> Iterator[tuple[Group, Liar]]:
    liar = Liar()
    group = Group(tmp_path, "memory:", liar.mailbox, [liar.server])
    yield group, liar
    group.close()


def test_a_report_that_comes_before_anything_of_its_writer_is_held_until_that_comes(lying: tuple[Group, Liar]) -> None:
    group, liar = lying
    laptop = group.found()
    phone = group.pair("phone")
    phone.remember("ana", "language", "Greek")
    group.settle()
    for number in range(2):
        laptop.remember("ana", "diary", f"day {number}")
        group.sync("laptop", "phone")
    tablet = group.pair("tablet")
    reports = {size for size in sizes(group) if size == 256}
    assert reports

    def reports_first(request: Exchange, answer: Answer) -> Answer:
        return replace(answer, listed=[entry for entry in answer.listed if entry.size == 256])

    liar.tells = reports_first
    group.sync("tablet")
    assert tablet.status().mailboxes[0].held and not tablet.status().mailboxes[0].refused
    liar.be_honest()
    group.settle()
    assert not tablet.status().mailboxes[0].held
    assert tablet.beliefs("ana", "diary")
    group.assert_in_sync()
