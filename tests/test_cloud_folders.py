"""A database is not opened in a folder that a service copies file by file, unless it is told to."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from syncmem import FileError, InvalidInput, Memory
from syncmem.cloud import ENTRIES_MAX, MARKERS, PATHS, service_of

FOLDERS = {  # a folder as the service makes it, by the row of the table that knows it
    r"Dropbox( \([^/]*\))?": ["Dropbox", "Dropbox (Personal)", "dropbox"],
    r"Library/Mobile Documents": ["Library/Mobile Documents/iCloud~com~example"],
    r"com~apple~CloudDocs": ["Mobile/com~apple~CloudDocs"],
    r"iCloudDrive": ["iCloudDrive"],
    r"OneDrive( - [^/]*)?": ["OneDrive", "OneDrive - Contoso"],
    r"Library/CloudStorage/OneDrive[^/]*": ["Library/CloudStorage/OneDrive-Personal"],
    r"Google ?Drive( \([^/]*\))?": ["Google Drive", "GoogleDrive", "Google Drive (ana@example.org)"],
    r"Library/CloudStorage/GoogleDrive[^/]*": ["Library/CloudStorage/GoogleDrive-ana@example.org/My Drive"],
    r"[A-Z]:/My Drive": ["G:/My Drive"],
    r"Nextcloud\d*": ["Nextcloud", "Nextcloud2"],
    r"ownCloud( - [^/]*)?": ["ownCloud", "ownCloud - ana"],
    r"Library/CloudStorage/[^/]+": ["Library/CloudStorage/Box-Box"],
}
MARKED = {
    r"\.dropbox\.cache": [".dropbox.cache"],
    r"\.tmp\.drive(download|upload)": [".tmp.drivedownload", ".tmp.driveupload"],
    r"\.stfolder": [".stfolder"],
    r"\._?sync_[0-9a-f]+\.db": [".sync_0f3a9c2b11de.db", "._sync_0f3a9c2b11de.db"],
}
HARMLESS = ["Documents", "Dropbox-notes", "my dropbox", "OneDriver", "Next", "Drive", "cloud", "CloudStorage/Box"]

PATH_CASES = [(service, name) for service, part in PATHS for name in FOLDERS[part]]
MARKER_CASES = [(service, name) for service, pattern in MARKERS for name in MARKED[pattern]]


@pytest.mark.parametrize(("service", "name"), PATH_CASES)
def test_a_folder_of_the_service_is_refused_by_its_name_and_stays_empty(
    tmp_path: Path, service: str, name: str
) -> None:
    folder = tmp_path / name / "notes"
    folder.mkdir(parents=True)
    with pytest.raises(FileError, match=re.escape(service)) as refused:
        Memory(folder / "a.db")
    assert "folder:" in str(refused.value) and "allow_cloud_folder=True" in str(refused.value)
    assert os.listdir(folder) == []


@pytest.mark.parametrize(("service", "name"), MARKER_CASES)
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_folder_of_the_service_is_refused_by_what_it_keeps_there(
    tmp_path: Path, service: str, name: str, kind: str
) -> None:
    folder = tmp_path / "shared" / "deep" / "down"
    folder.mkdir(parents=True)
    marker = tmp_path / "shared" / name
    marker.mkdir() if kind == "folder" else marker.touch()
    with pytest.raises(FileError, match=service):
        Memory(folder / "a.db")
    assert os.listdir(folder) == []
    with Memory(tmp_path / "beside.db") as memory:
        memory.remember("ana", "pet", "a dog")


def test_who_says_so_opens_it_all_the_same_and_the_doctor_warns(tmp_path: Path) -> None:
    (tmp_path / "Dropbox").mkdir()
    with Memory(tmp_path / "Dropbox" / "a.db", allow_cloud_folder=True) as memory:
        memory.remember("ana", "pet", "a dog")
        assert [problem for problem in memory.doctor().problems if "Dropbox" in problem]
    with pytest.raises(FileError):
        Memory(tmp_path / "Dropbox" / "a.db")


def test_a_link_into_such_a_folder_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "Nextcloud").mkdir()
    (tmp_path / "notes").symlink_to(tmp_path / "Nextcloud")
    (tmp_path / "a.db").symlink_to(tmp_path / "Nextcloud" / "a.db")
    for path in (tmp_path / "notes" / "a.db", tmp_path / "a.db"):
        with pytest.raises(FileError, match="Nextcloud"):
            Memory(path)


def test_a_relative_path_is_taken_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "OneDrive").mkdir()
    monkeypatch.chdir(tmp_path / "OneDrive")
    with pytest.raises(FileError, match="OneDrive"):
        Memory("a.db")


@pytest.mark.parametrize("name", HARMLESS)
def test_a_folder_that_only_sounds_alike_is_fine(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir(parents=True)
    assert service_of(tmp_path / name / "a.db") is None


@pytest.mark.parametrize("allowed", [False, True])
def test_a_path_that_no_system_takes_is_refused_in_words(tmp_path: Path, allowed: bool) -> None:
    with pytest.raises(InvalidInput, match="NUL"):
        Memory(f"{tmp_path}/a\0.db", allow_cloud_folder=allowed)
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_called_like_a_service_is_fine(tmp_path: Path) -> None:
    assert service_of(tmp_path / "Dropbox") is None


def test_a_mailbox_in_such_a_folder_is_what_it_is_for(tmp_path: Path) -> None:
    (tmp_path / "Dropbox").mkdir()
    with Memory(tmp_path / "a.db") as memory:
        memory.create_vault("laptop")
        memory.add_mailbox(f"folder:{tmp_path / 'Dropbox'}")
        assert memory.sync().complete


def test_a_very_full_folder_does_not_hold_up_the_opening(tmp_path: Path) -> None:
    for number in range(ENTRIES_MAX + 10):
        (tmp_path / f"{number}").touch()
    assert service_of(tmp_path / "a.db") is None


def test_every_row_of_the_tables_has_its_folder() -> None:
    assert FOLDERS.keys() == {part for _, part in PATHS}
    assert MARKED.keys() == {name for _, name in MARKERS}
