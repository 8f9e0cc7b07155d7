"""A small load: what is acknowledged while processes write, sync and are killed is held by both devices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.load.running import Load, run


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_what_two_processes_write_beside_a_syncer_until_they_are_killed_is_held_by_both_devices(tmp_path: Path) -> None:
    outcome = run(Load(processes=2, rate=20, seconds=1, kill_every=30), tmp_path)
    assert not outcome.errors
    assert outcome.kills == 3
    assert outcome.held == len(outcome.took) > 0
