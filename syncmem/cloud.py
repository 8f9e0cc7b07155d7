"""Folders that a service copies between machines file by file, which breaks a database that is open.

Such a service copies the database, its write-ahead log and its shared memory at different moments, puts an older
file over a newer one, and keeps both as "conflicted copies": the file is corrupt, or a device's log forks.
A mailbox in such a folder is made for that.

Rules: a folder is known by its path or by what a service keeps in it, each a row of a table; what a link points
to counts as well as where it is; nothing is opened or changed to find out.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import Final

ENTRIES_MAX: Final = 4096  # looked at in one folder: more would be felt at each opening

PATHS: Final[tuple[tuple[str, str], ...]] = (  # service, what its folder is called
    ("Dropbox", r"Dropbox( \([^/]*\))?"),
    ("iCloud Drive", r"Library/Mobile Documents"),
    ("iCloud Drive", r"com~apple~CloudDocs"),
    ("iCloud Drive", r"iCloudDrive"),
    ("OneDrive", r"OneDrive( - [^/]*)?"),
    ("OneDrive", r"Library/CloudStorage/OneDrive[^/]*"),
    ("Google Drive", r"Google ?Drive( \([^/]*\))?"),
    ("Google Drive", r"Library/CloudStorage/GoogleDrive[^/]*"),
    ("Google Drive", r"[A-Z]:/My Drive"),
    ("Nextcloud", r"Nextcloud\d*"),
    ("ownCloud", r"ownCloud( - [^/]*)?"),
    ("a cloud service", r"Library/CloudStorage/[^/]+"),
)
MARKERS: Final[tuple[tuple[str, str], ...]] = (  # service, what it keeps in its topmost folder
    ("Dropbox", r"\.dropbox\.cache"),
    ("Google Drive", r"\.tmp\.drive(download|upload)"),
    ("Syncthing", r"\.stfolder"),
    ("Nextcloud or ownCloud", r"\._?sync_[0-9a-f]+\.db"),
)

_PATH: Final = [(service, re.compile(f"(^|/){part}/", re.IGNORECASE)) for service, part in PATHS]
_MARKER: Final = [(service, re.compile(name)) for service, name in MARKERS]


def service_of(path: str | os.PathLike[str]) -> str | None:
    """The service that copies the folder in which a file is or will be; None where none is known."""
    named, real = Path(path).absolute(), Path(os.path.realpath(path))
    for place in dict.fromkeys((named, real)):
        for service, part in _PATH:
            if part.search(f"{place.parent.as_posix()}/"):
                return service
    for folder in dict.fromkeys((*named.parents, *real.parents)):
        service_here = _marked(folder)
        if service_here is not None:
            return service_here
    return None


def _marked(folder: Path) -> str | None:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, ENTRIES_MAX) if entry.name.startswith(".")]
    except OSError:
        return None  # what cannot be listed shows nothing; whether it can be used is for the opening to say
    return next((service for name in names for service, marker in _MARKER if marker.fullmatch(name)), None)
