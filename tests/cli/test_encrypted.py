"""The command line on an encrypted memory: the key is in a file, and never on the command line."""

from __future__ import annotations

import os
import stat

import pytest

from syncmem.replica.driver import driver
from tests.cli.running import Shell

pytestmark = pytest.mark.skipif(driver().cipher is None, reason="needs SQLCipher: pip install 'syncmem[cipher]'")


@pytest.fixture
def encrypted(empty: Shell) -> Shell:
    """A folder with an encrypted memory, whose key is in ``key``."""
    out = empty.text("init", "--encrypt", "--key-file", "key")
    assert "key: keep a copy elsewhere" in out
    empty.text("remember", "ana", "pet", "kanarienvogel", "--key-file", "key")
    return empty


def test_init_makes_a_key_that_only_its_owner_can_read(encrypted: Shell) -> None:
    key = encrypted.folder / "key"
    assert len(bytes.fromhex(key.read_text())) == 32
    if os.name == "posix":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert not [path for path in encrypted.folder.iterdir() if b"kanarienvogel" in path.read_bytes()]
    assert encrypted.json("doctor", "--key-file", "key")["facts"]["keys"]["encrypted"] is True


def test_the_variable_names_the_key_file_as_well(encrypted: Shell) -> None:
    found = encrypted.run("believe", "ana", "pet", env={"SYNCMEM_KEY_FILE": "key"})
    assert (found.code, "kanarienvogel" in found.out) == (0, True)


def test_without_the_key_the_next_step_is_said_and_nothing_is_made(encrypted: Shell) -> None:
    before = sorted(os.listdir(encrypted.folder))
    refused = encrypted.run("believe", "ana", "pet")
    assert refused.code == 1
    assert "open it with --key-file" in refused.err
    assert sorted(os.listdir(encrypted.folder)) == before


def test_init_again_neither_replaces_the_key_nor_the_memory(encrypted: Shell) -> None:
    key = (encrypted.folder / "key").read_bytes()
    assert "already" in encrypted.text("init", "--encrypt", "--key-file", "key")
    missing = encrypted.run("init", "--encrypt", "--key-file", "lost")
    assert (missing.code, "cannot be read" in missing.err) == (1, True)
    assert not (encrypted.folder / "lost").exists()
    assert (encrypted.folder / "key").read_bytes() == key
    assert "kanarienvogel" in encrypted.text("believe", "ana", "pet", "--key-file", "key")


def test_init_cannot_encrypt_without_a_place_for_the_key(empty: Shell) -> None:
    refused = empty.run("init", "--encrypt")
    assert (refused.code, "--key-file FILE" in refused.err) == (2, True)
    assert os.listdir(empty.folder) == []


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
def test_a_key_file_that_others_can_read_is_refused(encrypted: Shell) -> None:
    os.chmod(encrypted.folder / "key", 0o644)
    refused = encrypted.run("believe", "ana", "pet", "--key-file", "key")
    assert (refused.code, "chmod 600" in refused.err) == (1, True)


def test_a_plain_memory_becomes_an_encrypted_one_by_backup_and_restore(shell: Shell) -> None:
    shell.text("remember", "ana", "pet", "kanarienvogel")
    shell.text("backup", "copy", "--encrypt", "key")
    assert b"kanarienvogel" not in (shell.folder / "copy").read_bytes()
    shell.text("restore", "copy", "--db", "new.db", "--key-file", "key")
    assert "kanarienvogel" in shell.text("believe", "ana", "pet", "--db", "new.db", "--key-file", "key")


def test_an_encrypted_memory_is_merged_into_a_plain_one(encrypted: Shell) -> None:
    out = encrypted.text("merge", "syncmem.db", "--other-key-file", "key", "--db", "plain.db")
    assert "new event" in out
    assert "kanarienvogel" in encrypted.text("believe", "ana", "pet", "--db", "plain.db")
