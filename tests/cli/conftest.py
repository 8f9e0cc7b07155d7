"""Folders with and without a memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Shell


@pytest.fixture
def empty(tmp_path: Path) -> Shell:
    """A folder without a memory."""
    return Shell(tmp_path)


@pytest.fixture
def shell(empty: Shell) -> Shell:
    """A folder with a memory in which home_city is single-valued."""
    with empty.memory() as memory:
        memory.define("home_city", cardinality="single")
    return empty
