"""Which mailboxes a device keeps: those that were named on purpose or that answered, and none that was mistyped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from syncmem import Busy, InvalidInput, Memory
from syncmem.cli.app import cli


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A device that synced with a folder; the current folder is where that lies."""
    monkeypatch.chdir(tmp_path)
    Path("SHARED").mkdir()
    with Memory("syncmem.db", zone="UTC") as memory:
        memory.create_vault("laptop")
        memory.add_mailbox("folder:SHARED")
        memory.remember("ana", "home", "Lisbon")
        assert memory.sync().complete and memory.status().in_sync
        yield memory


def run(*arguments: str) -> tuple[int, str]:
    outcome = CliRunner().invoke(cli, [*arguments])
    return outcome.exit_code, outcome.output


def test_an_address_that_was_mistyped_once_is_told_and_not_kept(memory: Memory) -> None:
    code, told = run("sync", "folder:SHAERD")
    assert code == 4 and "there is no folder SHAERD" in told
    assert memory.status().in_sync
    assert [one.address for one in memory.status().mailboxes] == ["folder:SHARED"]
    assert "4  done, but not whole (sync, " in run("--help")[1]
    with pytest.raises(Exception, match="there is no folder SHAERD"):
        memory.invite("folder:SHAERD")
    assert memory.status().in_sync and memory._syncer.vault.addresses == ["folder:SHARED"]


def test_an_address_that_answered_once_is_kept_also_when_it_cannot_be_reached(memory: Memory) -> None:
    Path("STICK").mkdir()
    assert memory.sync("folder:STICK").complete
    Path("STICK").rename("elsewhere")
    assert not memory.sync("folder:STICK").complete
    assert [one.address for one in memory.status().mailboxes] == ["folder:SHARED", "folder:STICK"]


def test_a_mailbox_that_is_removed_is_not_waited_for_and_can_come_back(memory: Memory) -> None:
    memory.add_mailbox("folder:AWAY")
    assert run("sync")[0] == 4 and not memory.status().in_sync
    code, told = run("remove-mailbox", "folder:AWAXX")
    assert code == 1 and "does with: folder:AWAY, folder:SHARED" in told
    with pytest.raises(InvalidInput, match="does not sync with folder:AWAXX"):
        memory.remove_mailbox("folder:AWAXX")
    assert run("remove-mailbox", "folder:AWAY") == (0, "folder:AWAY is synced with no more.\n")
    assert memory.status().in_sync and run("sync")[0] == 0
    assert run("remove-mailbox", "folder:SHARED")[0] == 0
    assert memory.status().mailboxes == () and "no mailbox is known" in run("sync")[1]
    assert run("sync", "folder:SHARED")[0] == 0
    assert [one.address for one in memory.status().mailboxes] == ["folder:SHARED"]


def test_who_syncs_beside_another_process_is_told_that_what_it_wrote_last_may_not_be_sent(memory: Memory) -> None:
    with Memory("syncmem.db") as other, other._sync_lock():
        with pytest.raises(Busy, match="without what was written after it had begun; sync again when it is done"):
            memory.sync()
        code, told = run("sync")
        assert code == 3 and "sync again" in told
