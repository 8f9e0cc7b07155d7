"""A machine is put back whole, goes on writing and meets the others: both its lives keep all they wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from syncmem import BadSignature, Forked, ManualClock, Memory
from syncmem.model.event import Event
from syncmem.model.instant import from_datetime
from tests.machine import Machine, disk_of


class Home:
    """A laptop that is put back, and devices that it meets."""

    def __init__(self, folder: Path) -> None:
        clock = ManualClock(from_datetime(datetime(2025, 1, 1, 12, tzinfo=UTC)))
        names = ("laptop", "phone", "desk")
        self.laptop, self.phone, self.desk = (Machine(folder / f"{name}.db", clock) for name in names)

    @property
    def memories(self) -> list[Memory]:
        return [machine.memory for machine in (self.laptop, self.phone, self.desk)]

    def all_meet(self) -> None:
        for _ in range(6):
            if not sum(
                one.merge(other).transactions for one in self.memories for other in self.memories if one is not other
            ):
                break
        else:
            raise AssertionError("they do not come to rest")
        assert len({memory.event_digest() for memory in self.memories}) == 1
        assert len({memory.belief_digest() for memory in self.memories}) == 1
        for memory in self.memories:
            before = memory.belief_digest()
            memory.rebuild()
            assert memory.belief_digest() == before
            assert not [p for p in memory.doctor(full=True).problems if p.startswith(("log ", "the file"))]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    for memory in made.memories:
        memory.close()


def write(machine: Machine, *values: str, **said: str) -> list[str]:
    return [machine.memory.remember("ana", "diary", value, **said).event for value in values]  # type: ignore[arg-type]


def two_lives(home: Home, first: tuple[str, ...] = ("a1", "a2"), second: tuple[str, ...] = ("b1", "b2", "b3")) -> None:
    """The laptop writes, the phone hears of it, the laptop is put back and writes again."""
    write(home.laptop, "before")
    disk = home.laptop.backed_up()
    write(home.laptop, *first)
    home.phone.memory.merge(home.laptop.memory)
    home.laptop.put_back(disk)
    write(home.laptop, *second)


@pytest.mark.parametrize("first", [("a1",), ("a1", "a2"), tuple(f"a{n}" for n in range(300))], ids=len)
@pytest.mark.parametrize("second", [("b1",), ("b1", "b2", "b3"), tuple(f"b{n}" for n in range(600))], ids=len)
def test_both_lives_keep_what_they_wrote(home: Home, first: tuple[str, ...], second: tuple[str, ...]) -> None:
    two_lives(home, first, second)
    report = home.laptop.memory.merge(home.phone.memory)
    assert [(told.place, told.events) for told in report.repaired] == [(2, len(second))]
    assert home.laptop.values() == sorted(["before", *first, *second])
    assert home.phone.memory.merge(home.laptop.memory).repaired == ()
    home.all_meet()
    assert home.desk.values() == sorted(["before", *first, *second])


def test_who_is_no_author_refuses_and_says_so(home: Home) -> None:
    two_lives(home)
    with pytest.raises(Forked, match="two lives"):
        home.phone.memory.merge(home.laptop.memory)
    assert home.phone.values() == ["a1", "a2", "before"]


def test_a_bad_signature_begins_nothing(home: Home) -> None:
    """Only what the device has signed proves that it had another life."""
    two_lives(home)
    life = home.laptop.memory._replica.identity.incarnation
    for frame in home.phone.memory._offer({}):
        for wrong in (replace(frame, signature=bytes(64)), replace(frame, head=bytes(32))):
            with pytest.raises(BadSignature):
                home.laptop.memory._receive([wrong], 256, None)
    write(home.laptop, "b4")
    assert home.laptop.memory._replica.identity.incarnation == life
    assert home.laptop.memory.merge(home.phone.memory).repaired[0].events == 4
    assert home.laptop.memory._replica.identity.incarnation != life
    home.all_meet()


def test_events_under_a_signature_that_is_not_theirs_move_nothing(home: Home) -> None:
    two_lives(home)
    before = home.laptop.values()
    frames = [frame for frame in home.phone.memory._offer({}) if frame.last == 3]
    forged = [replace(frame, events=[*frame.events[:-1], Event(1, 1, b"\xc0")]) for frame in frames]
    with pytest.raises(Forked):
        home.laptop.memory._receive(forged, 256, None)
    assert home.laptop.values() == before
    assert home.laptop.memory.doctor().facts["forks"] == []


def test_the_tail_that_comes_back_is_taken_in_and_nothing_is_moved(home: Home) -> None:
    write(home.laptop, "before")
    disk = home.laptop.backed_up()
    write(home.laptop, "a1", "a2")
    home.phone.memory.merge(home.laptop.memory)
    home.laptop.put_back(disk)
    assert home.laptop.memory.merge(home.phone.memory).repaired == ()
    write(home.laptop, "after")
    home.all_meet()
    assert home.desk.values() == ["a1", "a2", "after", "before"]


# -- what refers to moved events ----------------------------------------------------------------------


def test_whatever_acts_on_moved_events_still_does(home: Home) -> None:
    """Retractions, corrections, undoing, ends and batches, within the branch and from a device that had heard of it."""
    laptop = home.laptop
    write(laptop, "before")
    disk = laptop.backed_up()
    write(laptop, "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8")
    home.phone.memory.merge(laptop.memory)
    laptop.put_back(disk)
    retracted, corrected, undone, _, later, gone = write(laptop, *(f"b{n}" for n in range(1, 7)))
    laptop.memory.retract(retracted)
    laptop.memory.correct(corrected, "b2 corrected")
    laptop.memory.undo(laptop.memory.retract(undone).event)
    write(laptop, "b7", "b8", batch="import")
    home.desk.memory.merge(laptop.memory)
    home.desk.memory.retract(later)
    home.desk.memory.correct(gone, "b6 corrected by the desk")
    laptop.memory.retract(batch="import")
    expected = sorted(
        ["before", *(f"a{n}" for n in range(1, 9)), "b2 corrected", "b3", "b4", "b6 corrected by the desk"]
    )
    home.all_meet()
    for machine in (laptop, home.phone, home.desk):
        assert machine.values() == expected
    names = {entry.value: entry.event for entry in laptop.memory.history("ana", "diary")}
    home.phone.memory.retract(names["b4"])
    home.all_meet()
    assert home.desk.values() == [value for value in expected if value != "b4"]


def test_what_was_believed_then_is_still_answered(home: Home) -> None:
    laptop = home.laptop
    write(laptop, "before")
    disk = laptop.backed_up()
    write(laptop, "a1")
    home.phone.memory.merge(laptop.memory)
    laptop.put_back(disk)
    first = laptop.memory.remember("ana", "diary", "b1").known
    write(laptop, "b2")
    home.desk.memory.merge(laptop.memory)
    heard = home.desk.memory._replica.last_transaction
    home.all_meet()
    then = [belief.value for belief in laptop.memory.timeline("ana", "diary", known_at=first)]
    assert sorted(then) == ["b1", "before"]
    then = [belief.value for belief in home.desk.memory.timeline("ana", "diary", known_at=heard)]
    assert sorted(then) == ["b1", "b2", "before"]


def test_an_erasure_between_reaches_what_had_not_seen_it_wherever_it_stands(home: Home) -> None:
    laptop = home.laptop
    write(laptop, "before")
    disk = laptop.backed_up()
    write(laptop, "a1")
    home.phone.memory.merge(laptop.memory)
    laptop.put_back(disk)
    write(laptop, "b1", "b2")
    home.desk.memory.merge(laptop.memory)
    home.phone.memory.erase("ana")
    write(home.phone, "said anew by the phone")
    home.all_meet()
    assert home.desk.values() == laptop.values() == ["said anew by the phone"]
    for machine in (laptop, home.phone, home.desk):
        machine.memory.close()
        assert all(b"b1" not in (content or b"") for content in disk_of(machine.path).values())
        machine.open()


def test_an_erasure_in_the_second_life_spares_who_had_seen_it_and_nobody_else(home: Home) -> None:
    """The places of both lives have the same numbers: a note of one is no note of the other."""
    laptop = home.laptop
    write(laptop, "before")
    disk = laptop.backed_up()
    write(laptop, "a1", "a2", "a3")
    home.phone.memory.merge(laptop.memory)
    write(home.phone, "by the phone, which knows of no erasure")
    laptop.put_back(disk)
    write(laptop, "b1")
    laptop.memory.erase("ana")
    home.desk.memory.merge(laptop.memory)
    write(home.desk, "by the desk, which knows of it")
    home.all_meet()
    assert laptop.values() == home.phone.values() == ["by the desk, which knows of it"]


def test_a_repair_that_crashes_leaves_what_was(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    two_lives(home)
    laptop = home.laptop
    before = laptop.memory.event_digest(), laptop.values()

    def crash(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    for step in ("erasing.apply", "fold.arrive", "_notes"):
        with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
            patched.setattr(f"syncmem.replica.{PLACES[step]}", crash)
            laptop.memory.merge(home.phone.memory)
        laptop.memory.close()
        laptop.open()
        assert (laptop.memory.event_digest(), laptop.values()) == before
    laptop.memory.merge(home.phone.memory)
    home.all_meet()
    assert home.desk.values() == ["a1", "a2", "b1", "b2", "b3", "before"]


PLACES = {
    "erasing.apply": "erasing.Erasing.apply",
    "fold.arrive": "fold.Fold.arrive",
    "_notes": "replica.Replica._notes",
}


def test_episodes_of_both_lives_are_kept_with_their_content(home: Home) -> None:
    spoken = {"speaker": "ana", "at": "2025-01-01T00:00Z"}
    texts = {"in both": "x" * 100_000, "in the first": "y" * 100_000, "in the second": "z" * 100_000}
    write(home.laptop, "before")
    ids = [home.laptop.memory.observe(texts["in both"], **spoken).episode]
    disk = home.laptop.backed_up()
    ids.append(home.laptop.memory.observe(texts["in the first"], **spoken).episode)
    home.phone.memory.merge(home.laptop.memory)
    home.laptop.put_back(disk)
    ids.append(home.laptop.memory.observe(texts["in the second"], **spoken).episode)
    home.all_meet()
    for memory in home.memories:
        assert {one.id for one in memory.episodes()} == {*ids}
        assert [memory.episode_text(id) for id in ids] == list(texts.values())
    home.desk.memory.erase("ana")
    home.all_meet()
    for memory in home.memories:
        assert memory.episodes() == []
        assert memory._replica.db.execute("SELECT count(*) FROM chunks").fetchone() == (0,)
