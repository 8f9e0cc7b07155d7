"""Reports 44 to 52: several programs and several devices write, a mailbox fails, and nothing is lost or mixed up."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from syncmem import MailboxRefused, Memory, OverQuota, Revoked, Unreachable
from syncmem.sync.in_memory import InMemoryServer
from tests.cli.running import Shell, environment
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import heard, line, said, values
from tests.sync.group import Group

# -- 44: two processes, one file --------------------------------------------------------------------------


def test_two_processes_that_write_one_file_lose_nothing(tmp_path: Path) -> None:
    """Report 44: each applies twenty lines, one after the other, in processes of their own."""
    shell = Shell(tmp_path)
    shell.text("init")
    running = []
    for name in ("a", "b"):
        lines = [{"verb": "remember", "entity": name, "predicate": "step", "value": n} for n in range(20)]
        for half in (0, 1):
            path = tmp_path / f"{name}{half}.jsonl"
            path.write_text("\n".join(map(json.dumps, lines[half::2])), encoding="utf-8")
            command = [sys.executable, "-m", "syncmem", "apply", path.name]
            running.append(subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL))
    assert [process.wait(120) for process in running] == [0] * 4
    with shell.memory() as memory:
        assert len(memory.beliefs("a")) + len(memory.beliefs("b")) == 40
        assert values(memory, "a", "step") == sorted(range(20), key=str)


# -- 46 to 48: two machines -------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [False, True], ids=["two installations", "a copied file"])
def test_ids_of_two_machines_never_clash(tmp_path: Path, copied: bool) -> None:
    """Report 46: also where the second machine began as a copy of the first one's file."""
    with Memory(tmp_path / "a.db", zone="UTC") as one:
        one.remember("ana", "likes", "tea")
    if copied:
        shutil.copyfile(tmp_path / "a.db", tmp_path / "b.db")
    with Memory(tmp_path / "a.db", zone="UTC") as one, Memory(tmp_path / "b.db", zone="UTC") as two:
        first, second = one.remember("ana", "likes", "milk"), two.remember("ana", "likes", "salt")
        assert first.event != second.event
        one.merge(two)
        two.merge(one)
        for memory in (one, two):
            assert values(memory, "ana", "likes") == ["milk", "salt", "tea"]
            assert (memory.event(first.event).value, memory.event(second.event).value) == ("milk", "salt")


def test_the_same_title_in_the_same_second_is_two_notes(desk: Desk, other: Desk) -> None:
    """Report 47: nothing of what is said makes two statements one."""
    when = "2025-01-10T12:00:00Z"
    notes = [{"title": "plan", "text": "buy milk"}, {"title": "plan", "text": "buy salt"}]
    for device, note in zip((desk, other), notes, strict=True):
        device.on(when).remember("notes", "note", note, batch="same", source="user", observed_at=when)
    desk.memory.merge(other.memory)
    assert sorted(note["text"] for note in values(desk.memory, "notes", "note")) == ["buy milk", "buy salt"]


def test_replicas_that_hold_as_much_but_not_the_same_differ_and_are_repaired(synced: Group) -> None:
    """Report 48: what is compared is what is held, not how much."""
    laptop, phone = synced.devices["laptop"], synced.devices["phone"]
    laptop.remember("ana", "home_city", "Lisbon")
    synced.settle()
    laptop.remember("ana", "likes", "tea")
    phone.remember("ana", "likes", "milk")
    assert len(laptop.history("ana", "likes")) == len(phone.history("ana", "likes")) == 1
    assert laptop.event_digest() != phone.event_digest() and laptop.belief_digest() != phone.belief_digest()
    assert not laptop.status().in_sync and not phone.status().in_sync
    synced.settle()
    synced.assert_in_sync()
    assert values(phone, "ana", "likes") == ["milk", "tea"]


def test_an_edit_travels_though_nothing_is_missing(synced: Group) -> None:
    """Report 48."""
    laptop, phone = synced.devices["laptop"], synced.devices["phone"]
    wrong = laptop.remember("ana", "home_city", "Lisbn", since="2024")
    synced.settle()
    phone.correct(wrong.event, "Lisbon")
    synced.settle()
    assert line(laptop, "ana", "home_city") == [("Lisbon", "2024-01-01", None)]


# -- 49, 50: a mailbox that fails -------------------------------------------------------------------------


def test_a_mailbox_that_was_put_back_loses_nothing_and_is_told(tmp_path: Path) -> None:
    """Report 49: an older state, or none: what it lacks is sent again, and nothing here is lost."""
    shared = tmp_path / "shared"
    shared.mkdir()
    group = Group(tmp_path, f"folder:{shared}")
    laptop = group.found()
    laptop.remember("ana", "likes", "tea")
    phone = group.pair("phone")
    group.settle()
    shutil.copytree(shared, tmp_path / "old")
    phone.remember("ana", "likes", "milk")
    group.settle()
    for older in (tmp_path / "old", None):
        shutil.rmtree(shared)
        if older is None:
            shared.mkdir()
        else:
            shutil.copytree(older, shared)
        laptop.remember("ana", "likes", f"after {older is None}")
        reports = group.sync("laptop", "phone")
        assert all(one.reset and one.sent and one.error is None for report in reports for one in report.mailboxes)
        group.settle()
        group.assert_in_sync()
    assert {"tea", "milk"} < {*values(laptop, "ana", "likes")}
    late = group.pair("tablet")
    group.settle()
    assert (
        values(late, "ana", "likes") == values(laptop, "ana", "likes") == ["after False", "after True", "milk", "tea"]
    )
    group.close()


class Refusing(InMemoryServer):
    """A server whose mailboxes fail in one way while it is told to."""

    error: Exception | None = None

    def box(self, id: bytes) -> Any:
        if self.error is not None:
            raise self.error
        return super().box(id)


FAILURES = [MailboxRefused("not signed; join again"), OverQuota("full; delete something"), Unreachable("no network")]


@pytest.fixture
def refusing(tmp_path: Path) -> Iterator[tuple[Group, Refusing]]:
    mailboxes = Refusing()
    group = Group(tmp_path, "memory:", mailboxes.mailbox, [mailboxes])
    group.found()
    group.pair("phone")
    group.settle()
    yield group, mailboxes
    group.close()


@pytest.mark.parametrize("failure", FAILURES, ids=lambda error: type(error).__name__)
def test_a_push_that_fails_says_how_and_how_far_behind_one_is(
    refusing: tuple[Group, Refusing], failure: Exception
) -> None:
    """Report 50: what was refused is told apart from what will pass, and stays told until it is over."""
    group, mailboxes = refusing
    laptop, phone = group.devices["laptop"], group.devices["phone"]
    for number in range(15):
        laptop.remember("ana", "step", number)
    mailboxes.error = failure
    for _ in range(2):
        report = laptop.sync()
        assert not report.complete and [one.error for one in report.mailboxes] == [str(failure)]
        status = laptop.status()
        assert not status.in_sync and status.pending >= 15
        assert [box.trouble for box in status.mailboxes] == [str(failure)]
        (other,) = [device for device in status.devices if not device.own]
        assert other.behind >= 15
    mailboxes.error = None
    group.settle()
    group.assert_in_sync()
    assert len(values(phone, "ana", "step")) == 15


def test_a_device_that_was_removed_is_told_so_and_not_to_try_again(refusing: tuple[Group, Refusing]) -> None:
    """Report 50: a permanent refusal is an error of its own."""
    group, _ = refusing
    group.devices["phone"].remember("ana", "likes", "tea")
    group.devices["laptop"].revoke("phone")
    group.sync("laptop")
    for _ in range(2):
        with pytest.raises(Revoked):
            group.devices["phone"].sync()
    (kept,) = heard(group.devices["phone"], "ana", "likes")
    assert (kept.value, kept.status) == ("tea", "withdrawn"), "what it wrote stays there, and does not count"


# -- 51, 52: no file is merged as a whole or as text --------------------------------------------------------


def test_keys_of_two_devices_are_united(tell: Tell) -> None:
    """Report 51."""
    steps = [said(f"2025-01-{n + 1:02}", "remember", "settings", f"key {n}", n) for n in range(9)]
    for memory in tell(*steps, single=tuple(f"key {n}" for n in range(9))):
        assert {b.predicate: b.value for b in memory.beliefs("settings")} == {f"key {n}": n for n in range(9)}


TEXTS = [
    "# Plan\n- milk\n- salt\n",
    "# Plan\n- milk\n- tea\n",
    "# Plan\n<<<<<<< ours\n- salt\n=======\n>>>>>>> theirs\n",
]


@pytest.mark.parametrize("cardinality", ["single", "many"])
def test_texts_are_kept_whole_and_never_mixed(tell: Tell, cardinality: str) -> None:
    """Report 52: a conflict is two statements, not a text with marks in it."""
    steps = [said(f"2025-01-0{n}", "remember", "notes", "text", text) for n, text in enumerate(TEXTS, 1)]
    for memory in tell(*steps, single=("text",) if cardinality == "single" else ()):
        assert [b.value for b in memory.timeline("notes", "text")] == TEXTS
        held = [b.value for b in memory.beliefs("notes", "text")]
        assert sorted(held) == (TEXTS[-1:] if cardinality == "single" else sorted(TEXTS))
