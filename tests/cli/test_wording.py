"""What is refused, told or found says the next step in words of whom it is told to: commands here, methods there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from syncmem import InvalidInput, Memory, NotFound
from syncmem.cli.app import cli
from syncmem.lines import apply


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A memory that knows something of Bob."""
    with Memory(tmp_path / "a.db", zone="UTC") as memory:
        memory.remember("Bob", "pet", "cat", since="2025")
        memory.remember("Bob", "pet", "dog", since="2025")
    return tmp_path / "a.db"


def run(path: Path, *arguments: str) -> str:
    return CliRunner().invoke(cli, ["--db", str(path), *arguments]).output


ADVICE: dict[str, tuple[tuple[str, ...], str]] = {
    "devices": (("believe", "Bob", "--device", "77"), "take an id from 'syncmem devices'"),
    "history": (("retract", "nothing"), "'syncmem history'"),
    "changed": (("end", "Bob", "pet", "cat", "--changed"), "pass --at, or leave out --changed for 'no longer'"),
    "share": (("why-said", "recall-0"), "'syncmem why-said RECEIPT --share' (memory.share_recall)"),
    "define": (("doctor",), "say what it is with 'syncmem define'"),
}


@pytest.mark.parametrize(("arguments", "advice"), ADVICE.values(), ids=ADVICE)
def test_the_command_line_names_commands_and_options(path: Path, arguments: tuple[str, ...], advice: str) -> None:
    assert advice in " ".join(run(path, *arguments).split())


def test_the_library_names_methods_and_arguments(path: Path, tmp_path: Path) -> None:
    refused: list[tuple[type[Exception], str, Callable[[Memory], object]]] = [
        (NotFound, r"devices\(\)", lambda memory: memory.believe("Bob", "pet", device="77")),
        (InvalidInput, "leave out changed=", lambda memory: memory.end("Bob", "pet", "cat", changed=True)),
        (
            InvalidInput,
            r"form= markdown, json, sqlite, or .* with export_bundle\(path, legible=True\)",
            lambda memory: memory.export(tmp_path / "x.ndjson"),
        ),
    ]
    with Memory(path) as memory:
        for error, advice, ask in refused:
            with pytest.raises(error, match=advice):
                ask(memory)
        assert any("with define()" in problem for problem in memory.doctor().problems)


def test_an_erasure_that_reaches_nothing_names_who_differs_in_case_alone(path: Path) -> None:
    told = run(path, "erase", "bob", "--yes")
    assert "0 events erased" in told and "Nothing was said of bob; its letters in other case name: Bob." in told
    with Memory(path) as memory:
        assert memory.erase("BOB").alike == ("Bob",)
        assert memory.erase("ana").alike == ()
        report = memory.erase("Bob")
        assert report.alike == () and report.events["vault"] > 0
        assert memory.erase("bob").alike == ()


def test_a_write_that_changes_only_why_something_is_believed_says_so(path: Path) -> None:
    city = '{"verb": "remember", "entity": "ana", "predicate": "city", "value": "Faro", "since": "2020"'
    with Memory(path, zone="UTC") as memory:
        first, again, more = apply(memory, [city + ', "trust": "inference"}', city + "}", city + ', "trust": 1}'])
        assert [str(each.decision) for each in (first, again, more)] == ["ADD", "NOOP", "NOOP"]
        assert again.closed and again.opened and "believed as before, for other reasons" in again.why
        assert not more.opened and "other reasons" not in more.why
