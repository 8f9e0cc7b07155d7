"""A few steps of the chaos run; a long one is ``python -m tests.mailbox.chaos``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mailbox.chaos import SIDES, run


@pytest.mark.parametrize("kind", SIDES)
def test_nothing_acknowledged_is_lost_whatever_happens_to_relays_and_clocks(kind: str, tmp_path: Path) -> None:
    counts = run(kind, tmp_path, 5, lambda steps: steps < 4, others=["phone"], trouble=1.0)
    assert counts["blobs acknowledged"] > 0
    assert counts["syncs"] >= 4
