"""Exit codes, and what is said when something is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from syncmem import Memory
from syncmem.cli.app import cli
from syncmem.relay.config import load
from syncmem.replica.cipher import read_key_file
from syncmem.replica.driver import dbapi
from tests.cli.running import Shell
from tests.importers import archives

LIVES = ("ana", "home_city")
NEED_A_MEMORY = (
    ("remember", *LIVES, "Lisbon"),
    ("end", *LIVES, "Lisbon"),
    ("deny", *LIVES, "Lisbon"),
    ("correct", "00-1-00", "Lisbon"),
    ("retract", "00-1-00"),
    ("undo", "00-1-00"),
    ("define", "home_city", "--single"),
    ("believe", *LIVES),
    ("timeline", *LIVES),
    ("history", *LIVES),
    ("why", *LIVES),
    ("contested",),
    ("entities",),
    ("predicates",),
    ("export", "out.bundle"),
    ("backup", "copy.db"),
    ("rebuild",),
    ("doctor",),
)


@pytest.mark.parametrize("arguments", NEED_A_MEMORY, ids=lambda arguments: str(arguments[0]))
def test_without_a_memory_a_verb_says_how_to_make_one_and_makes_none(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    outcome = CliRunner().invoke(cli, ["--db", str(tmp_path / "syncmem.db"), *arguments])
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("error: there is no memory at ")
    assert "run 'syncmem init' to create it" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


REFUSED = (
    ("import", "junk"),
    ("import", "chats.json"),
    ("import", "cut.bundle"),
    ("merge", "junk"),
    ("merge", "empty"),
    ("join", "SYNCMEM-BAD"),
    ("recover", "folder:nowhere"),
    ("restore", "junk"),
    ("restore", "empty"),
    ("import-from", "claude", "chats.json"),
    ("import-from", "mcp", "junk"),
    ("import-from", "auto", "empty"),
    ("import-from", "notion", "junk"),
    ("import-from", "csv", "junk"),
    ("import-from", "chatgpt", "chats.json", "--extract", "latin"),
    ("--zone", "Nowhere", "init"),
    ("mcp", "--http", "--token-file", "junk"),
    ("mcp", "--http", "--token-file", "latin-1"),
    ("mcp", "--http", "--host", "0.0.0.0"),
)


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_what_is_refused_leaves_no_new_memory_behind_and_its_input_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    with Memory(":memory:") as other:
        other.export_bundle(tmp_path / "cut.bundle")
    whole = (tmp_path / "cut.bundle").read_bytes()
    given = {"junk": b"junk", "empty": b"", "cut.bundle": whole[:-20], "latin-1": b"caf\xe9 caf\xe9 caf\xe9 caf\xe9"}
    for name, content in {**given, "chats.json": json.dumps(archives.chatgpt()).encode()}.items():
        (tmp_path / name).write_bytes(content)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.chdir(tmp_path)
    phrase = "abandon " * 23 + "art\n"
    outcome = CliRunner().invoke(cli, ["--db", "new.db", *arguments], input=phrase)
    assert outcome.exit_code in (1, 2) and isinstance(outcome.exception, SystemExit)
    assert "error: " in outcome.stderr or outcome.stderr.startswith("Usage: ")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_came_in_before_an_import_was_refused_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chats.json").write_text(json.dumps(archives.chatgpt()))
    for words in (["import-from", "auto", "chats.json"], ["import", "chats.json"]):
        outcome = CliRunner().invoke(cli, words)
    assert outcome.exit_code == 1 and "use 'syncmem import-from chatgpt chats.json'" in outcome.stderr
    with Memory(tmp_path / "syncmem.db") as memory:
        assert len(memory.episodes()) == 8


def test_a_refusal_is_one_line_with_the_next_step(shell: Shell) -> None:
    outcome = shell.run("retract", "5f3a9c01b2d4-42")
    assert outcome.code == 1
    assert outcome.err.count("\n") == 1 and outcome.err.startswith("error: event 5f3a9c01b2d4-42")


def test_a_refusal_is_json_where_json_was_asked_for(shell: Shell) -> None:
    outcome = shell.run("retract", "5f3a9c01b2d4-42", "--json")
    assert (outcome.code, outcome.out) == (1, "")
    assert json.loads(outcome.err)["error"] == "NotFound"


def test_advice_speaks_of_options(shell: Shell) -> None:
    outcome = shell.run("remember", *LIVES, "Lisbon", "--until", "2020")
    assert outcome.code == 1 and "pass --since beside --until" in outcome.err


def test_a_refused_write_leaves_nothing(shell: Shell) -> None:
    assert shell.run("remember", *LIVES, "Lisbon", "--since", "not a date").code == 1
    with shell.memory() as memory:
        assert memory.entities() == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("remember", *LIVES),
        ("remember", *LIVES, "Lisbon", "--none"),
        ("remember", *LIVES, "Lisbon", "--value-json", "1"),
        ("remember", *LIVES, "Lisbon", "--trust", "101st"),
        ("remember", *LIVES, "Lisbon", "--then", "maybe"),
        ("retract",),
        ("define", "home_city"),
        ("define", "home_city", "--single", "--many"),
        ("answer", "q", "--keep", "--neither"),
        ("merge", "nowhere.db"),
        ("import", "nowhere.bundle"),
        ("completion", "tcsh"),
        ("sing",),
        ("believe",),
    ],
    ids=" ".join,
)
def test_what_cannot_be_understood_exits_with_2(shell: Shell, arguments: tuple[str, ...]) -> None:
    outcome = CliRunner().invoke(cli, ["--db", str(shell.folder / "syncmem.db"), *arguments])
    assert outcome.exit_code == 2 and "Usage:" in outcome.stderr


def test_the_process_exits_as_the_command_does(empty: Shell) -> None:
    assert (empty.run("sing").code, empty.run("believe", "ana").code) == (2, 1)


def test_a_file_that_is_no_memory_is_refused_and_kept(empty: Shell) -> None:
    file = empty.folder / "syncmem.db"
    file.write_text("a shopping list\n" * 500)
    assert empty.run("believe", "ana").code == 1
    assert file.read_text().startswith("a shopping list")


def test_a_file_that_another_process_holds_exits_with_3(shell: Shell) -> None:
    holder = dbapi.connect(str(shell.folder / "syncmem.db"), isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        outcome = shell.run("--wait", "0.1", "remember", *LIVES, "Lisbon")
    finally:
        holder.close()
    assert outcome.code == 3 and outcome.err.startswith("error: ")
    assert shell.run("remember", *LIVES, "Lisbon").code == 0


def test_a_contested_write_exits_with_4_only_when_strict(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember(*LIVES, "Lisbon", since="2020")
    guess = ("remember", *LIVES, "Madrid", "--trust", "inference")
    assert shell.run(*guess).code == 0
    strict = shell.run(*guess, "--strict")
    assert strict.code == 4 and strict.out.startswith("CONTESTED")
    assert shell.run("remember", *LIVES, "Lisbon", "--strict").code == 0


def test_doctor_exits_with_4_on_problems_only_when_strict(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember("ana", "speaks", "Greek")
    assert shell.run("doctor").code == 0
    assert shell.run("doctor", "--strict").code == 4


def test_a_folder_that_is_missing_is_refused(empty: Shell) -> None:
    outcome = empty.run("--db", Path("nowhere") / "syncmem.db", "init")
    assert outcome.code == 1 and outcome.err.startswith("error: ")


def test_a_byte_order_mark_before_what_people_write_by_hand_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = {
        "lines": json.dumps({"verb": "remember", "entity": "ana", "predicate": "tree", "value": "oak"}),
        "pack": '[predicates.tree]\ncardinality = "single"\n',
        "mapping": '[[claim]]\nentity = "{who}"\npredicate = "tree"\nvalue = "{tree}"\n',
        "rows": json.dumps({"who": "bob", "tree": "elm"}),
        "relay": 'data = "relay"\n',
    }
    for name, text in written.items():
        (tmp_path / name).write_text(("name = 'own'\n" if name == "pack" else "") + text, encoding="utf-8-sig")
    for words in (
        ("init",),
        ("define", "--pack", "pack"),
        ("apply", "lines"),
        ("import-from", "jsonl", "rows", "--mapping", "mapping"),
    ):
        outcome = CliRunner().invoke(cli, words)
        assert outcome.exit_code == 0, outcome.output
    with Memory("syncmem.db") as memory:
        assert [memory.believe(who, "tree").value for who in ("ana", "bob")] == ["oak", "elm"]  # type: ignore[union-attr]
    key = tmp_path / "key"
    key.write_text("ab" * 32, encoding="utf-8-sig")
    key.chmod(0o600)
    assert read_key_file(key) == b"\xab" * 32
    assert load(tmp_path / "relay", {}, {}).data == Path("relay")
