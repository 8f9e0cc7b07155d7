"""A group of devices that meet in a folder or in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from syncmem.sync.in_memory import InMemoryServer
from tests.sync.group import Group


@pytest.fixture(params=["folder", "memory"])
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Group]:
    if request.param == "folder":
        (tmp_path / "shared").mkdir()
        made = Group(tmp_path, f"folder:{tmp_path / 'shared'}")
    else:
        server = InMemoryServer()
        made = Group(tmp_path, "memory:", server.mailbox, [server])
    yield made
    made.close()
