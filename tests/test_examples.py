"""Every example runs as it is and says what it should."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAYS = {
    "two_devices.py": ["laptop believes: Stripe from 2021-02-01, then Acme from 2024-06-01", "equal: True"],
    "import_with_undo.py": ["after the import: +49 30 111 and +351 22 222", "-> +351 21 000 and None", "undone: +49"],
    "langgraph_agent.py": [
        "laptop: Your city is lisbon.",
        "laptop: Your boat is unknown to me.",
        "to bob: Your city is unknown to me.",
        "phone: Your city is lisbon.",
        "it was: berlin, then lisbon",
    ],
    "what_was_said.py": [
        "believed: Lisbon, because ana said",
        "nothing was written",
        "version 2",
        "its words are gone",
    ],
}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_example(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(path)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    for line in SAYS[path.name]:
        assert line in result.stdout
