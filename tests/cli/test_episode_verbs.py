"""Observing, listing, reading and erasing what was said, run as commands on real files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.running import Shell, environment

TURN = ("--speaker", "ana", "--at", "2026-06-15T09:00Z")


def observed(shell: Shell, content: bytes, *options: str) -> str:
    """Observe standard input; what is printed."""
    command = [sys.executable, "-m", "syncmem", "observe", "-", *options]
    done = subprocess.run(command, cwd=shell.folder, env=environment(), input=content, capture_output=True, check=True)
    return done.stdout.decode()


def test_a_turn_is_observed_once_and_quoted_by_what_is_drawn_from_it(shell: Shell) -> None:
    told = observed(shell, b"I moved to Lisbon in May.\n", *TURN)
    id = told.split()[0]
    assert told == f"{id}  observed, 26 bytes\n"
    assert observed(shell, b"I moved to Lisbon in May.\n", *TURN).endswith(
        "known already, nothing was written, 26 bytes\n"
    )
    assert shell.text("episodes") == f"{id}  2026-06-15 09:00  turn  ana  26 bytes of text/plain\n"
    assert shell.text("episode", id, "--text") == "I moved to Lisbon in May.\n"
    assert shell.json("episode", id, "--text")["text"] == "I moved to Lisbon in May.\n"
    said = ("--source", "user", "--episode", id, "--span", "2:17")
    shell.text("remember", "ana", "home_city", "Lisbon", *said)
    assert '"moved to Lisbon"' in shell.text("why", "ana", "home_city")
    assert shell.json("history", "ana", "home_city")[-1]["quote"] == "moved to Lisbon"


def test_a_file_is_a_document_of_the_type_that_its_name_says(shell: Shell) -> None:
    content = bytes(range(256)) * 500
    (shell.folder / "lease.pdf").write_bytes(content)
    told = shell.json("observe", "lease.pdf", "--speaker", "bob", "--at", "2026-05-20", "--title", "Lease\x1b[31m")
    (listed,) = shell.json("episodes", "--speaker", "bob")
    assert (listed["kind"], listed["media_type"], listed["source"]["kind"]) == (
        "document",
        "application/pdf",
        "document",
    )
    assert (listed["chunks"], listed["chunks_here"], told["chunks"]) == (3, 3, 3)
    command = [sys.executable, "-m", "syncmem", "episode", told["episode"], "--raw"]
    done = subprocess.run(command, cwd=shell.folder, env=environment(), capture_output=True, check=True)
    assert done.stdout == content
    assert "\x1b" not in shell.text("episodes") and "Lease" in shell.text("episodes")
    assert shell.json("fetch") == {"fetched": 0, "lacking": 0}
    assert shell.text("fetch", "--always") == "0 parts came, 0 are not here.\n"
    assert shell.json("doctor")["facts"]["episodes"] == {"held": 1, "chunks": 3, "chunks_here": 3, "keeps_all": True}
    assert shell.text("erase", "--episode", told["episode"], "--yes") == "1 event erased in scope vault.\n"
    assert shell.text("episodes") == "nothing was observed\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("observe", "missing.txt", "--at", "2026-05-20"), 1, "cannot be read"),
        (("observe", "here.txt"), 1, "a document has a date"),
        (("episode", "00"), 1, "no episode"),
        (("erase", "--yes"), 2, "ENTITY or --episode"),
        (("erase", "ana", "--episode", "00", "--yes"), 2, "ENTITY or --episode"),
        (("fetch", "00"), 1, "no episode"),
        (("remember", "ana", "home_city", "Lisbon", "--episode", "00", "--span", "2-17"), 2, "FIRST:LAST"),
    ],
)
def test_what_cannot_be_done_is_said(shell: Shell, arguments: tuple[str, ...], code: int, message: str) -> None:
    (shell.folder / "here.txt").write_text("hello")
    outcome = shell.run(*arguments)
    assert (outcome.code, message in outcome.err) == (code, True), outcome


def test_claims_are_drawn_from_what_was_said_once_for_each_version(shell: Shell) -> None:
    id = observed(shell, b"I live in Lisbon.", *TURN).split()[0]
    assert f"{id}  1 judged\n  ADD: ana home_city = 'Lisbon'" in shell.text("extract", id)
    assert shell.text("extract", id) == f"{id}  drawn before\n"
    (anew,) = shell.json("reextract", "--version", "2")
    assert anew["judged"][0]["outcome"] == "ADD" and len(anew["withdrawn"]) == 1
    assert shell.text("reextract", "--version", "2") == "nothing to do\n"
    assert "no extractor" in shell.run("extract", id, "--extractor", "nobody").err
