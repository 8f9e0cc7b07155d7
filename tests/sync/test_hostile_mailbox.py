"""Whatever a mailbox does, nothing is lost and nobody is told to be in sync; once it is honest all come together.

Of each lie: it is refused, or shown; what is held stays as it is; the work is bounded, in questions and bytes;
the next sync with an honest mailbox, or with another one, puts everything right.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

from syncmem import Memory, SyncReport
from syncmem.sync.in_memory import InMemoryServer
from syncmem.sync.listing import STRAYS_MAX
from syncmem.wire.mailbox import (
    CONFLICT,
    LISTED_MAX,
    STREAMS_MAX,
    Answer,
    BlobName,
    Exchange,
    Listed,
    Mailbox,
    Outcome,
    PutResult,
    digest,
)
from tests.sync.group import Group
from tests.sync.lying import Given, Liar

QUESTIONS_MAX = 40  # of one sync in a small vault, whatever the mailbox answers: an honest one is asked five


@dataclass
class World:
    """Two devices that met at a mailbox, which begins to lie now; and a second one that is honest."""

    group: Group
    liar: Liar
    other: InMemoryServer
    laptop: Memory
    phone: Memory

    def write(self) -> None:
        """Something new on each device."""
        self.laptop.remember("ana", "diary", "laptop")
        self.phone.remember("ana", "diary", "phone")

    def sync(self, *names: str) -> list[SyncReport]:
        """Each once, and in bounds."""
        before = self.liar.questions
        reports = self.group.sync(*names)
        assert self.liar.questions - before <= QUESTIONS_MAX * len(names)
        return reports

    def assert_nobody_is_in_sync(self) -> None:
        assert [memory.status().in_sync for memory in (self.laptop, self.phone)] == [False, False]

    def assert_in_sync_is_true(self) -> None:
        """Who says to be in sync is."""
        if any(memory.status().in_sync for memory in (self.laptop, self.phone)):
            assert self.laptop.event_digest() == self.phone.event_digest()
            assert self.laptop.belief_digest() == self.phone.belief_digest()

    def assert_heals(self) -> None:
        """The mailbox is honest from now on."""
        self.liar.be_honest()
        for _ in range(4):
            self.group.settle()
            self.group.pass_time(timedelta(hours=2))
        self.assert_whole()

    def assert_heals_elsewhere(self) -> None:
        """The mailbox goes on lying; another one is used."""
        for memory in (self.laptop, self.phone):
            memory.remove_mailbox("memory:")
            memory.add_mailbox("memory:other")
        self.group.settle()
        self.assert_whole()

    def assert_whole(self) -> None:
        values = {"laptop", "phone", "before"}
        for memory in self.group.devices.values():
            assert {belief.value for belief in memory.beliefs("ana", "diary")} >= values
        self.group.assert_in_sync()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    liar, other = Liar(), InMemoryServer()

    def opener(address: str) -> Mailbox:
        return other.mailbox(address) if address == "memory:other" else liar.mailbox(address)

    group = Group(tmp_path, "memory:", opener)
    laptop, phone = group.found(), group.pair("phone")
    laptop.remember("ana", "diary", "before")
    group.settle()
    group.assert_in_sync()
    yield World(group, liar, other, laptop, phone)
    group.close()


HEALED = pytest.mark.parametrize("heal", [World.assert_heals, World.assert_heals_elsewhere])
Heal = Callable[[World], None]


def lives(world: World) -> set[bytes]:
    """The incarnations of the devices: what a lie must not change."""
    return {memory._replica.identity.incarnation for memory in (world.laptop, world.phone)}


# -- what is said of puts ------------------------------------------------------------------------------


@HEALED
def test_a_mailbox_that_stores_nothing_and_says_it_does(world: World, heal: Heal) -> None:
    before = lives(world)
    world.liar.keeps = lambda put: False
    world.write()
    world.sync("laptop", "phone", "laptop", "phone")
    world.assert_nobody_is_in_sync()
    heal(world)
    assert lives(world) == before


@pytest.mark.parametrize("lost", [1, 3, 5])  # between them stands what is said where the recovery phrase looks
def test_a_mailbox_that_loses_one_blob_among_others_is_told_what_is_missing(world: World, lost: int) -> None:
    number = count(1)
    world.liar.keeps = lambda put: next(number) != lost
    for turn in range(4):
        world.laptop.remember("ana", "diary", f"laptop {turn}")
        world.laptop.rename_device("phone", "phone")
        world.sync("laptop")
    world.write()
    world.sync("phone", "laptop", "phone")
    assert not world.phone.status().in_sync
    world.assert_heals()


def test_a_removal_that_a_mailbox_swallows_arrives_once_it_is_honest(world: World) -> None:
    """No chain shows the gap: what is missing is named by its place."""
    watch = world.group.pair("watch")
    world.group.settle()
    world.laptop.rename_device("watch", "gone")
    world.liar.keeps = lambda put: False
    world.group.sync("laptop")  # the statement goes nowhere
    world.liar.be_honest()
    world.write()
    world.group.sync("laptop")  # what comes later does
    world.group.settle()
    names = [{device.name for device in m.status().devices} for m in (world.phone, watch)]
    assert names == [{"laptop", "phone", "watch"}] * 2
    assert not world.phone.status().in_sync
    world.assert_heals()
    names = [{device.name for device in m.status().devices} for m in (world.phone, watch)]
    assert names == [{"laptop", "phone", "gone"}] * 2


@HEALED
def test_conflicts_without_a_reason_cost_a_new_life_and_no_data(world: World, heal: Heal) -> None:
    world.liar.keeps = lambda put: False
    world.liar.tells = telling_of_puts(Outcome.CONFLICT, CONFLICT)
    world.write()
    reports = world.sync("laptop", "phone")
    assert all(report.mailboxes[0].forked for report in reports)
    world.assert_nobody_is_in_sync()
    heal(world)


@HEALED
@pytest.mark.parametrize("outcome", [Outcome.TOO_LARGE, Outcome.OVER_QUOTA, Outcome.MALFORMED])
def test_a_mailbox_that_takes_nothing_says_why_and_is_asked_again(world: World, outcome: Outcome, heal: Heal) -> None:
    world.liar.keeps = lambda put: False
    world.liar.tells = telling_of_puts(outcome, "not today")
    world.write()
    world.sync("laptop", "phone")
    assert "not today" in world.laptop.status().mailboxes[0].refused[0][1]
    world.assert_nobody_is_in_sync()
    heal(world)


@HEALED
@pytest.mark.parametrize("results", [0, 1, 9])
def test_answers_of_another_length_count_as_not_reached(world: World, results: int, heal: Heal) -> None:
    right = PutResult(Outcome.STORED, "")
    world.liar.tells = lambda request, answer: replace(answer, results=[right] * results * bool(answer.results))
    world.laptop.remember("ana", "diary", "one")
    world.laptop.sync()
    world.liar.keeps = lambda put: False
    world.write()
    (report,) = world.sync("laptop")
    if results != 1:
        assert " were asked" in str(report.mailboxes[0].error)
    world.assert_nobody_is_in_sync()
    heal(world)


def telling_of_puts(outcome: Outcome, why: str) -> Callable[[Exchange, Answer], Answer]:
    return lambda request, answer: replace(answer, results=[PutResult(outcome, why)] * len(request.puts))


# -- what is said of the mailbox -----------------------------------------------------------------------


@HEALED
def test_another_epoch_with_every_answer(world: World, heal: Heal) -> None:
    before = lives(world)
    number = count(1)
    world.liar.tells = lambda request, answer: replace(answer, epoch=next(number).to_bytes(16, "big"))
    world.write()
    reports = world.sync("laptop", "phone", "laptop")
    assert all("changes while it is asked" in str(report.mailboxes[0].error) for report in reports)
    world.assert_nobody_is_in_sync()
    heal(world)
    assert lives(world) == before


@HEALED
@pytest.mark.parametrize("further", [-(10**6), -1, 1, 10**11])
def test_streams_said_to_end_elsewhere(world: World, further: int, heal: Heal) -> None:
    before = lives(world)

    def tells(request: Exchange, answer: Answer) -> Answer:
        return replace(answer, ends={stream: max(0, end + further) for stream, end in answer.ends.items()})

    world.write()
    world.liar.tells = tells
    world.sync("laptop", "phone", "laptop", "phone")
    world.assert_in_sync_is_true()
    heal(world)
    assert lives(world) == before


def test_thousands_of_streams_told_are_forgotten_and_lock_nobody_out(world: World) -> None:
    number = count(1)

    def tells(request: Exchange, answer: Answer) -> Answer:
        made = {next(number).to_bytes(8, "big"): 1 for _ in range(STREAMS_MAX)}
        return replace(answer, ends={**answer.ends, **made})

    world.liar.tells = tells
    world.write()
    world.sync("laptop", "phone", "laptop")
    world.assert_nobody_is_in_sync()
    asked: list[Mapping[bytes, int]] = []
    world.liar.be_honest()
    world.liar.tells = lambda request, answer: (asked.append(request.cursors), answer)[1]
    world.group.settle()
    assert max(map(len, asked)) <= 4
    world.assert_heals()


@HEALED
def test_an_old_answer_for_every_question(world: World, heal: Heal) -> None:
    old: list[Answer] = []

    def tells(request: Exchange, answer: Answer) -> Answer:
        old.append(answer)
        return replace(old[0], results=[PutResult(Outcome.STORED, "")] * len(request.puts))

    world.liar.keeps = lambda put: False
    world.liar.tells = tells
    world.write()
    world.sync("laptop", "phone", "laptop", "phone")
    world.assert_nobody_is_in_sync()
    heal(world)


@HEALED
def test_a_mailbox_that_is_put_back_in_silence(world: World, heal: Heal) -> None:
    before, saved = lives(world), copy.deepcopy(world.liar.server)
    world.write()
    world.group.settle()
    world.liar.server = saved
    world.sync("laptop")
    heal(world)
    assert lives(world) == before


@pytest.mark.parametrize("back", [True, False])
def test_what_was_dropped_and_is_there_again_is_found_within_a_day(world: World, back: bool) -> None:
    """Put back from a backup, which what is sent along hides; or never dropped, whatever was said."""
    world.laptop.remember("secret", "diary", "canary")
    world.write()
    world.group.settle()
    saved = copy.deepcopy(world.liar.server)
    world.liar.drops = lambda request: None if back else [True] * len(request.names)
    world.laptop.erase("secret")
    world.sync("laptop")
    world.liar.be_honest()
    world.liar.server = saved if back else world.liar.server
    world.group.servers = [world.liar.server]
    world.laptop.remember("ana", "diary", "hides it")
    (report,) = world.sync("laptop")
    assert not report.mailboxes[0].reset
    assert any(b"canary" in event.payload for _, _, event in world.group.events_in_mailboxes())
    world.group.pass_time(timedelta(days=1))
    (report,) = world.sync("laptop")
    assert report.mailboxes[0].reset
    assert not any(b"canary" in event.payload for _, _, event in world.group.events_in_mailboxes())
    world.assert_heals()


@HEALED
def test_two_worlds_are_each_stale_and_become_one_when_they_meet(world: World, heal: Heal) -> None:
    """A fork is seen by nobody; that the other one is not verified is."""
    before = lives(world)
    worlds = {"laptop": world.liar.server, "phone": copy.deepcopy(world.liar.server)}
    world.write()
    for _ in range(3):
        for name, seen in worlds.items():
            world.liar.server = seen
            world.sync(name)
    assert world.laptop.status().waiting_for == ("phone",)
    assert world.phone.status().waiting_for == ("laptop",)
    heal(world)
    assert lives(world) == before


# -- what is listed and given --------------------------------------------------------------------------


@HEALED
def test_nothing_new_is_listed_but_the_streams_go_on(world: World, heal: Heal) -> None:
    world.liar.tells = lambda request, answer: replace(answer, listed=[])
    world.write()
    world.sync("laptop", "phone", "laptop")
    assert world.laptop.status().mailboxes[0].missing
    world.assert_nobody_is_in_sync()
    heal(world)


@HEALED
def test_what_is_listed_is_not_given(world: World, heal: Heal) -> None:
    world.liar.tells = changing_listed(lambda entry: entry._replace(blob=None))
    world.liar.gives = lambda given: ((name, None) for name, _ in given)
    world.write()
    world.sync("laptop", "phone", "laptop")
    assert "that it does not give" in str(world.laptop.status().mailboxes[0].trouble)
    world.assert_nobody_is_in_sync()
    heal(world)


@HEALED
@pytest.mark.parametrize("inline", [True, False])
@pytest.mark.parametrize(
    "change",
    [lambda blob: blob[:-1], lambda blob: b"", lambda blob: blob[:100] + b"!" + blob[101:], lambda blob: blob * 2],
    ids=["cut", "empty", "changed", "longer"],
)
def test_other_bytes_than_the_name_says(
    world: World, change: Callable[[bytes], bytes], inline: bool, heal: Heal
) -> None:
    before = lives(world)
    world.liar.tells = changing_listed(lambda entry: entry._replace(blob=change(entry.blob or b"") if inline else None))
    world.liar.gives = lambda given: ((name, change(blob or b"")) for name, blob in given)
    world.write()
    world.sync("laptop", "phone", "laptop")
    assert "that it does not give" in str(world.laptop.status().mailboxes[0].trouble)
    world.assert_nobody_is_in_sync()
    heal(world)
    assert lives(world) == before


def made_up(blob: bytes) -> Callable[[Listed], Listed]:
    """Other bytes under a name that fits them, at the right place."""
    return lambda entry: Listed(entry.name._replace(digest=digest(blob)), len(blob), blob)


def moved(entry: Listed) -> Listed:
    return entry._replace(name=entry.name._replace(counter=entry.name.counter + 1))


def renamed(entry: Listed) -> Listed:
    return entry._replace(name=entry.name._replace(stream=bytes(8)))


@HEALED
@pytest.mark.parametrize("change", [made_up(b"rubbish"), made_up(b"x" * 512), moved, renamed])
def test_blobs_that_nobody_wrote_there_are_refused_and_hide_nothing(
    world: World, change: Callable[[Listed], Listed], heal: Heal
) -> None:
    before = lives(world)
    world.liar.tells = changing_listed(change)
    world.write()
    world.sync("laptop", "phone", "laptop", "phone")
    assert world.laptop.status().mailboxes[0].refused
    world.assert_nobody_is_in_sync()
    heal(world)
    assert lives(world) == before


def test_what_is_listed_out_of_order_and_twice_is_taken_once(world: World) -> None:
    world.liar.tells = lambda request, answer: replace(answer, listed=[*reversed(answer.listed), *answer.listed])
    for _ in range(3):
        world.write()
        world.sync("laptop", "phone")
    world.group.settle()
    world.assert_whole()


def test_blobs_of_another_vault_and_of_another_scope_are_refused(world: World, tmp_path: Path) -> None:
    world.laptop.share("work")
    world.laptop.grant("phone", ["work"])
    world.laptop.remember("ana", "project", "Apollo", scope="work")
    world.group.settle()
    with Memory(tmp_path / "stranger.db", environment=world.group.environment("stranger")) as stranger:
        stranger.create_vault("stranger")
        stranger.add_mailbox("memory:")
        stranger.remember("eve", "city", "Rome")
        stranger.sync()
        everything = [(stream, dict(blobs)) for stream, blobs in world.liar.streams()]
        honest = copy.deepcopy(world.liar.server)
        for box in world.liar.server.boxes.values():
            for stream, blobs in everything:
                box.blobs.setdefault(stream, dict(blobs))
                box.ends.setdefault(stream, max(blobs, default=0))
        world.write()
        reports = world.sync("laptop", "phone")
        assert all(box.refused for report in reports for box in report.mailboxes)
        world.assert_nobody_is_in_sync()
        assert world.laptop.believe("eve", "city") is None
        assert stranger.believe("ana", "diary") is None
    world.liar.server = honest
    world.assert_heals()


@HEALED
def test_more_without_an_end_and_nothing_told(world: World, heal: Heal) -> None:
    world.liar.tells = lambda request, answer: replace(answer, more=True)
    world.write()
    reports = world.sync("laptop", "phone")
    assert all("says that there is more" in str(report.mailboxes[0].error) for report in reports)
    world.assert_nobody_is_in_sync()
    heal(world)


@HEALED
@pytest.mark.parametrize("given", [True, False])
def test_new_names_without_an_end_are_looked_at_up_to_a_bound(world: World, given: bool, heal: Heal) -> None:
    number = count(1)

    def entry() -> Listed:
        blob = b"%d" % next(number)
        return Listed(BlobName(bytes(8), next(number), digest(blob)), len(blob), blob if given else None)

    world.liar.tells = lambda request, answer: replace(answer, listed=[entry() for _ in range(LISTED_MAX)], more=True)
    world.liar.gives = lambda asked: ((name, None) for name, _ in asked)
    world.write()
    for _ in range(2):
        report = world.laptop.sync()
        assert report.mailboxes[0].error
        assert len(report.mailboxes[0].refused) <= STRAYS_MAX
        assert report.mailboxes[0].questions <= 200
    assert not world.laptop.status().in_sync
    heal(world)


@HEALED
@pytest.mark.parametrize("lie", ["fewer", "others", "more"])
def test_answers_to_other_questions_than_were_asked(world: World, lie: str, heal: Heal) -> None:
    def gives(given: Iterator[Given]) -> Iterator[Given]:
        first, *_ = all_of = list(given)
        if lie == "fewer":
            yield from all_of[:-1]
        elif lie == "others":
            yield from ((name._replace(counter=name.counter + 7), blob) for name, blob in all_of)
        else:
            yield from all_of
            while True:
                yield first

    world.liar.tells = changing_listed(lambda entry: entry._replace(blob=None))
    world.liar.gives = gives
    world.write()
    reports = world.sync("laptop", "phone", "laptop")
    if lie != "more":
        assert "answers question" in str(reports[-1].mailboxes[0].error)
        world.assert_nobody_is_in_sync()
    heal(world)


def changing_listed(change: Callable[[Listed], Listed]) -> Callable[[Exchange, Answer], Answer]:
    return lambda request, answer: replace(answer, listed=[change(entry) for entry in answer.listed])


# -- what is dropped -----------------------------------------------------------------------------------


def test_what_was_dropped_unasked_comes_back_for_who_asks_for_it(world: World) -> None:
    world.write()
    world.laptop.rename_device("phone", "the phone")
    world.group.settle()
    for stream, blobs in world.liar.streams():
        for counter in blobs:
            world.liar.drop(stream, counter)
    watch = world.group.pair("watch")
    watch.sync()
    assert not watch.status().in_sync
    world.assert_heals()


@pytest.mark.parametrize("told", [True, False])
def test_a_mailbox_that_drops_nothing(world: World, told: bool) -> None:
    world.laptop.remember("secret", "diary", "x")
    world.group.settle()
    world.liar.drops = lambda request: [told] * len(request.names)
    world.laptop.erase("secret")
    world.write()
    world.sync("laptop", "phone", "laptop", "phone")
    if not told:
        assert world.laptop.status().mailboxes[0].erasing
        assert not world.laptop.erasures()[0].complete
        world.assert_nobody_is_in_sync()
        world.assert_heals()
        assert world.laptop.erasures()[0].complete
    world.assert_heals()


def test_drops_answered_with_another_length(world: World) -> None:
    world.laptop.remember("secret", "diary", "x")
    world.group.settle()
    world.liar.drops = lambda request: [True] * (len(request.names) + 1)
    world.laptop.erase("secret")
    world.write()
    (report,) = world.sync("laptop")
    assert "where" in str(report.mailboxes[0].error)
    world.sync("phone")
    world.assert_nobody_is_in_sync()
    world.assert_heals()


def test_a_hostile_mailbox_pairs_and_recovers_nobody_wrongly(world: World) -> None:
    world.liar.tells = lambda request, answer: replace(answer, results=[])
    with pytest.raises(Exception, match="where 1 were asked"):
        world.group.pair("watch")
    world.liar.be_honest()
    world.group.pair("desk")
    world.write()
    world.group.devices.pop("watch", None)
    world.assert_heals()
