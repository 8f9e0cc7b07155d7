"""What is particular to terminals: colour, progress, completion, help, and a quick start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from syncmem.cli.app import cli
from syncmem.cli.zone import system_zone
from tests.cli.running import SECONDS_MAX, Shell, environment

VERBS = (
    *("init", "remember", "end", "deny", "retract", "correct", "undo", "define", "believe", "timeline", "history"),
    *("why", "contested", "merge", "export", "import", "doctor", "backup", "restore", "entities", "predicates"),
    *("rebuild", "demo", "completion", "observe", "episode", "episodes", "fetch"),
)
posix = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


def in_terminal(shell: Shell, *arguments: str, env: dict[str, str] | None = None) -> str:
    """What a command writes to a terminal of 90 columns."""
    import pty

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "syncmem", *arguments]
    variables = environment() | {"COLUMNS": "90"} | (env or {})
    with subprocess.Popen(command, cwd=shell.folder, env=variables, stdin=follower, stdout=follower, stderr=follower):
        os.close(follower)
        written = b""
        while chunk := read(leader):
            written += chunk
    os.close(leader)
    return written.decode("utf-8")


def read(leader: int) -> bytes:
    try:
        return os.read(leader, 65536)
    except OSError:  # the other side is closed
        return b""


@posix
def test_a_terminal_gets_colour_and_a_pipe_does_not(empty: Shell) -> None:
    assert "\x1b[36m" in in_terminal(empty, "demo")
    assert "\x1b" not in empty.text("demo")


@posix
def test_no_color_is_respected(empty: Shell) -> None:
    plain = in_terminal(empty, "demo", env={"NO_COLOR": "1"})
    assert "\x1b[3" not in plain and "▌Berlin" in plain
    error = in_terminal(empty, "believe", "ana", env={"NO_COLOR": "1"})
    assert error.startswith("error: ") and "\x1b" not in error


@posix
def test_long_work_shows_progress_in_a_terminal_only(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember("ana", "home_city", "Lisbon")
    assert "Merging" in in_terminal(shell, "--db", "other.db", "merge", "syncmem.db")
    assert "Merging" not in in_terminal(shell, "--db", "other.db", "merge", "syncmem.db", "--json")


def test_a_stream_without_unicode_gets_ascii_bars(empty: Shell) -> None:
    outcome = empty.run("demo", env={"PYTHONIOENCODING": "cp1252"})
    assert outcome.code == 0 and "|Berlin ---" in outcome.out and "\\u" not in outcome.out


def test_a_value_that_the_stream_cannot_show_is_written_out(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember("ana", "home_city", "東京")
    western = {"PYTHONIOENCODING": "cp1252"}
    assert shell.run("believe", "ana", env=western).out.startswith("ana home_city = \\u6771\\u4eac")
    assert "東京" in shell.run("believe", "ana", "--json", env=western).out


def test_help_names_every_verb_and_exit_code(empty: Shell) -> None:
    page = empty.text("--help")
    listed = {line.split()[0] for line in page.splitlines() if line.startswith("  ") and line.strip()}
    assert set(VERBS) <= listed and {"0", "1", "2", "3", "4"} <= listed
    assert "./syncmem.db" in page and "SYNCMEM_DB" in page
    assert "..." not in page.split("Start here:")[1].split("Exit codes:")[0]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_json_and_explains_itself(verb: str) -> None:
    page = CliRunner().invoke(cli, [verb, "--help"]).stdout
    assert "--json" in page and "--db" in page


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(empty: Shell, name: str) -> None:
    script = empty.text("completion", name)
    assert "_SYNCMEM_COMPLETE" in script
    assert empty.json("completion", name) == {"shell": name, "script": script.removesuffix("\n")}
    if shutil.which(name):
        checked = subprocess.run([name, "-n"], input=script, text=True, timeout=SECONDS_MAX, check=False)
        assert checked.returncode == 0


def completions(shell: Shell, words: str, place: int) -> list[str]:
    variables = {"COMP_WORDS": words, "COMP_CWORD": str(place), "_SYNCMEM_COMPLETE": "bash_complete"}
    return [line.partition(",")[2] for line in shell.run(env=variables).out.splitlines() if line]


def test_completion_knows_verbs_options_and_the_names_in_the_memory(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember("ana", "home_city", "Lisbon")
    assert completions(shell, "syncmem re", 1) == [
        *("remember", "retract", "recall", "reextract", "rename", "revoke", "recover", "remove-mailbox"),
        *("relay", "restore", "rebuild", "repair"),
    ]
    assert "--valid-at" in completions(shell, "syncmem believe --", 2)
    assert completions(shell, "syncmem believe a", 2) == ["ana"]
    assert completions(shell, "syncmem believe ana h", 3) == ["home_city"]


def test_completion_is_silent_where_there_is_no_memory(empty: Shell) -> None:
    assert completions(empty, "syncmem believe a", 2) == []
    assert list(empty.folder.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--help"], ["believe", "ana", "home_city"], ["remember", "ana", "x", "y"]])
def test_what_draws_nothing_loads_nothing_to_draw_with(shell: Shell, arguments: list[str]) -> None:
    program = (
        "import sys, syncmem.cli\n"
        "loaded = set(sys.modules)\n"
        f"sys.argv = ['syncmem', *{arguments!r}]\n"
        "try: syncmem.cli.main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'rich', 'sqlite_utils', 'sqlite_vec', 'pydantic'} & set(sys.modules)\n"
        "assert 'click' not in loaded and not heavy, heavy"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program],
        cwd=shell.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr


# -- the system's zone -------------------------------------------------------------------------------


def test_the_zone_is_what_tz_names() -> None:
    assert system_zone({"TZ": "Europe/Lisbon"}) == "Europe/Lisbon"
    assert system_zone({"TZ": ""}) == "UTC"
    assert system_zone({"TZ": "WEST-1WEDT"}) is None  # a rule, not a name


@posix
def test_else_the_zone_is_what_the_system_links_to(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    assert system_zone({}, str(link)) == "UTC"  # POSIX: no file means UTC
    place = tmp_path / "zoneinfo" / "Europe" / "Lisbon"
    place.parent.mkdir(parents=True)
    place.touch()
    link.symlink_to(place)
    assert system_zone({}, str(link)) == "Europe/Lisbon"


@posix
def test_a_copied_zone_file_has_no_name(tmp_path: Path) -> None:
    copied = tmp_path / "localtime"
    copied.write_bytes(b"TZif")
    assert system_zone({}, str(copied)) is None
