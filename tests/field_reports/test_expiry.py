"""Reports 61 and 62: what has expired is hidden without a sweep, and what was erased is in no file."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from syncmem import Source
from tests.cli.running import Shell
from tests.field_reports.conftest import Desk, Tell
from tests.field_reports.orders import heard, said, values
from tests.sync.group import Group

EXPIRING: dict[str, dict[str, Any]] = {
    "expires_at": {"expires_at": "2025-02-01"},
    "ttl": {"ttl": "5d"},
    "until": {"until": "2025-01-31"},
    "a period": {"since": "2025-01-01", "until": "2025-01-31", "then": "vacate"},
}


@pytest.mark.parametrize("how", EXPIRING)
def test_what_has_expired_is_hidden_whoever_reads(tell: Tell, how: str) -> None:
    """Report 61: nothing has to run in between."""
    steps = [
        said("2025-01-10", "remember", "ana", "offer", "10 %", **EXPIRING[how]),
        said("2025-01-11", "remember", "ana", "likes", "tea"),
    ]
    for memory in tell(*steps):
        assert values(memory, "ana", "offer") == []
        assert {b.predicate for b in memory.beliefs("ana")} == {"likes"}
        assert values(memory, "ana", "offer", valid_at="2025-01-12") == ["10 %"]
        assert [entry.status for entry in heard(memory, "ana", "offer")] == ["live"]


@pytest.mark.parametrize("how", EXPIRING)
def test_the_hour_at_which_it_expires_is_enough(desk: Desk, how: str) -> None:
    """Report 61: the same open memory, a moment before and a moment after."""
    desk.on("2025-01-10").remember("ana", "offer", "10 %", **EXPIRING[how])
    (belief,) = desk.memory.timeline("ana", "offer")
    assert belief.valid_to is not None
    for moved, expected in ((timedelta(microseconds=-1), ["10 %"]), (timedelta(0), [])):
        desk.on((belief.valid_to + moved).isoformat())
        assert values(desk.memory, "ana", "offer") == expected


def test_the_command_line_shows_nothing_that_has_expired(tmp_path: Path) -> None:
    """Report 61."""
    shell = Shell(tmp_path)
    with shell.memory() as memory:
        memory.remember("ana", "offer", "10 %", since="2025-01-01", expires_at="2025-02-01")
    assert shell.json("believe", "ana") == []


SECRET = "canarysecret"
WHO = "bob-the-canary"  # long enough to be in no file by chance


def _tell_of_bob(memory: Any) -> None:
    """A secret in every place that a statement has."""
    source = Source("mail", SECRET, SECRET, (0, 3))
    for n in range(3):
        memory.remember(WHO, "home_city", f"{SECRET} {n}", source=source, reason=SECRET, batch=f"{SECRET} batch")
    memory.remember(WHO, SECRET, {SECRET: [SECRET]})
    memory.remember("ana", "summary", f"Ana works with {SECRET}", mentions=[WHO])
    memory.end(WHO, "home_city", f"{SECRET} 2")
    memory.deny(WHO, "home_city", f"{SECRET} 0")
    wrong = memory.remember(WHO, "likes", f"{SECRET} te")
    memory.correct(wrong.event, f"{SECRET} tea")


def _traces(folder: Path) -> list[str]:
    """Files in which the secret, or the name, is found."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes().lower()
        found += [path.name for word in (SECRET, WHO) if word.encode() in data]
    return found


def test_what_was_erased_is_in_no_file_of_any_device(synced: Group, tmp_path: Path) -> None:
    """Report 62: database, write-ahead log, side file and what travels; while open and after closing."""
    laptop, phone = synced.devices["laptop"], synced.devices["phone"]
    _tell_of_bob(laptop)
    laptop.remember("ana", "home_city", "Lisbon")
    synced.settle()
    assert _traces(tmp_path)
    synced.pass_time()
    assert laptop.erase(WHO).scrubbed
    synced.settle()
    for memory in (laptop, phone):
        memory.scrub()
        assert {b.value for b in memory.beliefs("ana")} == {"Lisbon"}
        memory.rebuild()
    assert _traces(tmp_path) == []
    laptop.export_bundle(tmp_path / "a.bundle")
    laptop.backup(tmp_path / "a.backup")
    synced.close()
    assert _traces(tmp_path) == []


def test_what_was_erased_by_a_command_is_in_no_file(tmp_path: Path) -> None:
    """Report 62."""
    shell = Shell(tmp_path)
    with shell.memory() as memory:
        _tell_of_bob(memory)
    assert _traces(tmp_path)
    shell.text("erase", WHO, "--yes")
    assert _traces(tmp_path) == []
    assert shell.json("believe", "ana") == []
