"""Importing from other programs, run as commands on real files."""

from __future__ import annotations

from tests.cli.running import Shell
from tests.importers import archives
from tests.importers.archives import write


def test_a_chat_export_comes_in_once_and_is_withdrawn_by_its_batch(empty: Shell) -> None:
    write(empty.folder / "conversations.json", archives.chatgpt())
    words = ("import-from", "chatgpt", "conversations.json", "--user", "ana")
    dry = empty.text(*words, "--dry-run")
    batch = dry.splitlines()[1].split()[1].rstrip(".")
    assert dry == f"Would be imported: 8 turns; known already: 0.\nBatch {batch}.\n"
    assert not (empty.folder / "syncmem.db").exists()
    empty.text("init")
    assert empty.text(*words, "--dry-run") == dry and empty.text("imports") == "nothing was imported\n"
    assert empty.text(*words) == f"Imported: 8 turns; known already: 0.\nBatch {batch}.\n"
    assert empty.text(*words, "--zone", "Asia/Tokyo") == "Imported: nothing; known already: 8.\n"
    assert empty.text("imports") == f"{batch}  8 events\n"
    assert "2023-11-14 22:15  abandoned turn  ana  About moving" in empty.text("episodes")
    assert "2 statements extracted." in empty.text(*words, "--extract", "english")
    assert empty.json("believe", "ana", "home_city")[-1]["value"] == "Lisbon"
    empty.text("retract", "--batch", batch)
    assert empty.text("episodes") == "nothing was observed\n"
    assert empty.json("believe", "ana") == []
    assert empty.text("imports") == f"{batch}  8 events  withdrawn\n"


def test_what_was_skipped_or_lacks_is_told_and_a_shrunken_archive_needs_force(empty: Shell) -> None:
    write(empty.folder / "jobs.csv", archives.JOBS)
    write(empty.folder / "jobs.toml", archives.JOBS_MAPPING)
    words = ("import-from", "csv", "jobs.csv")
    assert "pass --mapping" in empty.run(*words).err
    told = empty.text(*words, "--mapping", "jobs.toml")
    assert told.endswith("Skipped: 1.\n  line 6: it has not as many columns as the first line names\n")
    many = [{"type": "entity", "name": f"p{n}", "entityType": "person", "observations": []} for n in range(30)]
    archives.lines(empty.folder / "memory.jsonl", many)
    assert empty.json("import-from", "mcp", "memory.jsonl")["claims"] == 30
    archives.lines(empty.folder / "memory.jsonl", many[:20])
    refused = empty.run("import-from", "mcp", "memory.jsonl")
    assert (refused.code, refused.out) == (1, "")
    assert "lacks 10 of the 30 records" in refused.err and "--force" in refused.err
    assert "--force is needed" in empty.text("import-from", "mcp", "memory.jsonl", "--dry-run")
    forced = empty.text("import-from", "mcp", "memory.jsonl", "--force")
    assert forced == "Imported: nothing; known already: 20.\n"


def test_a_kind_that_nobody_knows_is_refused(empty: Shell) -> None:
    write(empty.folder / "x.json", [])
    outcome = empty.run("import-from", "notion", "x.json")
    assert outcome.code == 1 and "use one of basic-memory, chatgpt" in outcome.err
