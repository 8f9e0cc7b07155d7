"""A folder without a memory, for the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Shell


@pytest.fixture
def empty(tmp_path: Path) -> Shell:
    return Shell(tmp_path)
