"""Names and places that cannot be used are refused with the next step, and nothing is made there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from syncmem import FileError, InvalidInput, Memories, Memory
from syncmem.cli.app import cli


def test_a_path_that_is_no_text_is_refused_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in ("\udcff.db", "folder\udcff/a.db"):
        with pytest.raises(InvalidInput, match="is no UTF-8; give the file and its folders another name"):
            Memory(path)
    refused = CliRunner().invoke(cli, ["--db", os.fsdecode(b"\xff.db"), "init"])
    assert refused.exit_code == 1 and "is no UTF-8" in refused.output
    assert list(tmp_path.iterdir()) == []
    with Memory("ø東京.db") as memory:
        memory.remember("ana", "home", "Lisbon")


BELOW_A_FILE: dict[str, Callable[[Path], object]] = {
    "demo": lambda place: CliRunner().invoke(cli, ["demo", "--keep", str(place)], catch_exceptions=False),
    "memories": Memories,
}


@pytest.mark.parametrize("make", BELOW_A_FILE.values(), ids=BELOW_A_FILE)
def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path, make: Callable[[Path], object]) -> None:
    (tmp_path / "file").touch()
    told = ""
    try:
        told = getattr(make(tmp_path / "file" / "folder"), "output", "")
    except FileError as error:
        told = str(error)
    assert "file/folder cannot be made (Not a directory); choose another place" in told
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_mailbox_in_no_folder_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory(":memory:") as memory:
        memory.create_vault("laptop")
        for address in ("folder:", "folder: "):
            for use in (memory.invite, memory.add_mailbox, memory.sync):
                with pytest.raises(InvalidInput, match="names no folder; name one with folder:PATH"):
                    use(address)
        assert memory.sync("folder:.").complete
        assert len(list(tmp_path.iterdir())) > 0
