"""The verbs about whole memories, run as commands on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Shell
from tests.test_repair import spoil

LIVES = ("ana", "home_city")


@pytest.fixture
def lived(shell: Shell) -> Shell:
    """A memory of two events: a definition and a claim."""
    with shell.memory() as memory:
        memory.remember(*LIVES, "Berlin", since="2015")
    return shell


def test_init_creates_the_file_once(empty: Shell) -> None:
    first, second = empty.json("init"), empty.json("init")
    assert (first["created"], second["created"]) == (True, False)
    assert first["device"] == second["device"]
    assert Path(first["path"]) == empty.folder.resolve() / "syncmem.db"
    assert "already" in empty.text("init")


def test_the_file_is_named_before_the_verb_after_it_or_by_a_variable(empty: Shell) -> None:
    empty.text("--db", "a.db", "init")
    empty.text("remember", "ana", "car", "red", "--db", "a.db")
    variable = {"SYNCMEM_DB": "a.db"}
    assert empty.run("believe", "ana", "car", env=variable).out.startswith("red")
    empty.text("--db", "b.db", "init")
    assert empty.run("--db", "b.db", "believe", "ana", "car", env=variable).out == "unknown\n"


def test_two_memories_that_merge_believe_the_same(lived: Shell) -> None:
    report = lived.json("--db", "tablet.db", "merge", "syncmem.db")
    assert report["events"] == 2 and report["slots"] == [["vault", *LIVES]]
    lived.text("--db", "tablet.db", "remember", *LIVES, "Lisbon", "--since", "2025-04")
    assert "beliefs changed in 1 slot" in lived.text("merge", "tablet.db")
    assert lived.json("rebuild") == lived.json("--db", "tablet.db", "rebuild")


def test_a_bundle_carries_everything_over(lived: Shell) -> None:
    assert lived.json("export", "out.bundle") == {"path": "out.bundle", "form": "bundle", "events": 2}
    assert lived.json("--db", "new.db", "import", "out.bundle")["events"] == 2
    assert lived.json("--db", "new.db", "import", "out.bundle")["events"] == 0
    assert lived.json("--db", "new.db", "believe", *LIVES)[0]["value"] == "Berlin"
    assert lived.text("export", "again.bundle").startswith("2 events in")


def test_what_is_of_this_device_stays_here(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember("ana", "pin", "1234", scope="device")
    shell.text("export", "out.bundle")
    shell.text("--db", "new.db", "import", "out.bundle")
    assert shell.json("--db", "new.db", "entities", "--scope", "device") == []
    assert shell.json("entities", "--scope", "device") == ["ana"]


def test_a_backup_restores_the_memory(lived: Shell) -> None:
    assert lived.json("backup", "copy.db")["bytes"] > 0
    lived.text("remember", *LIVES, "Lisbon", "--since", "2025-04")
    assert "what copy.db held" in lived.text("--db", "back.db", "restore", "copy.db")
    assert [held["value"] for held in lived.json("--db", "back.db", "timeline", *LIVES)] == ["Berlin"]


def test_restore_replaces_a_memory_only_when_told(shell: Shell) -> None:
    shell.text("backup", "copy.db")
    shell.text("remember", *LIVES, "Berlin")
    refused = shell.run("restore", "copy.db")
    assert refused.code == 1 and "--overwrite" in refused.err
    shell.json("restore", "copy.db", "--overwrite")
    assert shell.json("entities") == []
    assert shell.json("--db", "syncmem.db.replaced", "entities") == ["ana"]


def test_rebuild_changes_no_belief(lived: Shell) -> None:
    with lived.memory() as memory:
        before = memory.timeline(*LIVES)
    assert lived.text("rebuild").startswith("Rebuilt; the digest of all beliefs is ")
    with lived.memory() as memory:
        assert memory.timeline(*LIVES) == before


def test_doctor_tells_facts_and_problems(shell: Shell) -> None:
    found = shell.json("doctor", "--full")
    assert {"driver", "version", "wal_safe", "fts5"} <= found["facts"]["sqlite"].keys()
    assert {"logs", "held", "oscillation", "cardinality"} <= found["facts"].keys()
    shell.text("remember", "ana", "speaks", "Greek")
    printed = shell.text("doctor")
    assert "wal safe" in printed and "continuous yes" in printed
    assert "problem: predicate 'speaks' is not defined" in printed


def test_doctor_tells_what_looks_wrong_in_what_is_believed(shell: Shell) -> None:
    with shell.memory() as memory:
        for number in range(20):
            said = memory.remember(f"person {number}", "home_city", "Rome", source="mail-import")
            if number % 2:
                memory.retract(said.event)
        memory.remember("person 0", "HomeCity", "Rome")
        for month in range(1, 5):
            memory.remember("ana", "home_city", ("Lisbon", "Porto")[month % 2], changed_on=f"2025-{month:02}")
    facts = shell.json("doctor")["facts"]
    assert [row["error_rate"] for row in facts["quality"]["sources"]] == [0.5, 0.0]
    assert facts["oscillation"][0]["by"][0]["swings"] == 2
    assert facts["lookalikes"]["predicates"][0]["names"] == ["HomeCity", "home_city"]
    printed = shell.text("doctor")
    assert "times 2  by device" in printed and "null" not in printed.partition("beliefs")[2]
    for word in (
        "10 of 20 claims were wrong (10 retracted)",
        "went back 2 times",
        "'HomeCity', 'home_city' may be one",
    ):
        assert word in printed


def test_a_folder_that_a_service_copies_is_refused_and_opened_on_demand(empty: Shell) -> None:
    (empty.folder / "Dropbox").mkdir()
    refused = empty.run("init", "--db", "Dropbox/a.db")
    assert (refused.code, "--allow-cloud-folder" in refused.err, "folder:PATH" in refused.err) == (1, True, True)
    assert "new memory" in empty.text("init", "--db", "Dropbox/a.db", "--allow-cloud-folder")


def test_without_a_keyring_init_says_where_the_key_is_kept_instead(empty: Shell) -> None:
    pytest.importorskip("keyring")
    told = empty.run("init", "--keyring", env={"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"})
    assert told.code == 0
    assert "kept in the side file syncmem.db.device: there is no system keyring here" in " ".join(told.out.split())
    keys = empty.json("doctor")["facts"]["keys"]
    assert (keys["device_key"], keys["encrypted"]) == ("side file", False)


def test_the_command_says_what_was_found_what_came_back_and_what_is_next(shell: Shell) -> None:
    assert shell.text("repair") == "Nothing is damaged.\n"
    with shell.memory() as memory:
        for number in range(4):
            memory.remember("ana", "step", number)
        spoil(memory, "runs", "body", slice(2, 3))
    said = shell.run("repair")
    assert said.code == 4
    assert "not as it was stored" in said.out and "1 event of this device" in said.out and ".damaged" in said.out
    assert shell.json("repair")["found"] == []


def test_what_a_look_at_the_next_rows_finds_is_told_by_it_and_by_the_doctor(shell: Shell) -> None:
    with shell.memory() as memory:
        memory.remember(*LIVES, "Berlin")
    assert shell.json("inspect", "--anew")["found"] == []
    assert "all was looked at" in shell.text("inspect", "--anew")
    with shell.memory() as memory:
        spoil(memory, "runs", "body", slice(-1, None))
    found = shell.run("inspect", "--anew")
    assert found.code == 4 and "syncmem repair" in found.out
    assert "not as it was stored" in shell.text("doctor")
