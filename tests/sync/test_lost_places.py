"""Places of streams whose blobs a mailbox lost, when the life that wrote them has ended: who can say what they held?

Whoever has read them, also before the mailbox lost them.  What nobody has read stays missing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from syncmem import Memory, restore
from syncmem.errors import Unreachable
from syncmem.wire.mailbox import Answer, Exchange
from tests.sync.group import Group
from tests.sync.lying import Liar

DAY = timedelta(days=1)


@dataclass
class Story:
    """A laptop has read what the phone wrote, up to its second blob; of the phone there is a backup from before."""

    group: Group
    liar: Liar
    laptop: Memory
    backup: Path

    def phone_writes(self, *values: str, broken_off: bool = False) -> None:
        """A sync that sends them in one blob, and, where it is broken off, learns nothing more."""
        for value in values:
            self.group.devices["phone"].remember("ana", "diary", value)
        if broken_off:
            self.liar.tells = lose_the_answer
        self.group.sync("phone")
        self.liar.be_honest()

    def phone_dies(self) -> None:
        """Its disk does, and it is put back from its backup: another life, which knows nothing of what it sent."""
        self.group.devices["phone"].close()
        restore(self.backup, self.group.path("phone"), overwrite=True)
        self.group.open("phone")

    def days_pass(self, number: int, *names: str) -> None:
        for _ in range(number):
            self.group.pass_time(DAY)
            self.group.sync(*names or self.group.devices)

    def missing(self, name: str) -> int:
        (mailbox,) = self.group.devices[name].status().mailboxes
        return mailbox.missing


def lose_the_answer(request: Exchange, answer: Answer) -> Answer:
    raise Unreachable("the answer was lost; sync again")


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    liar = Liar()
    group = Group(tmp_path, "memory:", liar.mailbox)
    laptop, phone = group.found(), group.pair("phone")
    phone.backup(tmp_path / "phone.backup")
    story = Story(group, liar, laptop, tmp_path / "phone.backup")
    story.phone_writes("first")
    group.settle()
    story.phone_writes("second")
    group.settle()
    group.assert_in_sync()
    yield story
    group.close()


def values(memory: Memory) -> set[object]:
    return {belief.value for belief in memory.beliefs("ana", "diary")}


def test_what_was_read_before_a_mailbox_lost_it_is_not_missing_afterwards(story: Story) -> None:
    story.liar.server.reset()
    story.phone_writes("third", broken_off=True)  # it has not heard yet that all before it is gone
    story.phone_dies()
    story.days_pass(2)
    story.group.assert_in_sync()
    assert values(story.group.devices["phone"]) == {"first", "second", "third"}


def test_who_has_read_it_tells_a_device_that_came_later(story: Story) -> None:
    story.liar.server.reset()
    story.phone_writes("third", broken_off=True)
    story.phone_dies()
    story.group.sync("laptop")
    tablet = story.group.pair("tablet")
    story.group.sync("tablet")
    assert story.missing("tablet") and not tablet.status().in_sync
    story.days_pass(2)
    story.group.assert_in_sync()
    assert values(tablet) == {"first", "second", "third"}


def test_what_nobody_has_read_stays_missing_and_is_read_once_it_is_there(story: Story) -> None:
    story.phone_writes("third")
    saved = copy.deepcopy(story.liar.server.boxes)
    story.liar.server.reset()
    story.phone_writes("fourth", broken_off=True)
    story.phone_dies()
    story.days_pass(12)
    assert (story.missing("laptop"), story.missing("phone")) == (1, 1), "all else was told"
    assert not story.laptop.status().in_sync
    for id, box in saved.items():
        for stream, blobs in box.blobs.items():
            there = story.liar.server.box(id).blobs.setdefault(stream, {})
            there.update({counter: blob for counter, blob in blobs.items() if counter not in there})
    story.days_pass(3)
    story.group.assert_in_sync()
    assert values(story.laptop) == {"first", "second", "third", "fourth"}
