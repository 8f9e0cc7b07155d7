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
    "desktop_assistant.py": [
        "assistant> Noted (UPDATE).\nana> Where do I live?\nassistant> In Lisbon.",
        "Noted (SET ASIDE)",
        "You speak German and Portuguese.",
        "ana> Where did I live in 2024?\nassistant> In Berlin.",
        "because ana said 'I moved to Lisbon in April 2025.'",
    ],
    "offline_laptop.py": [
        "offline, believed: TP 534 and Casa do Mar",
        "sync: there is no folder SHARED",
        "waiting to be sent: 2 events",
        "desktop believes: TP 532 from 01 May, then TP 534 from 08 May, then TP 536 from 09 May and Casa do Mar",
        "in sync: True - equal: True",
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


def test_the_assistant_talks_with_its_user_and_remembers_the_next_time(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "desktop_assistant.py"), "--chat", str(tmp_path / "chat.db")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for said, answer in (("I live in Porto.", "Noted (ADD)."), ("Where do I live?", "In Porto.")):
        given = {"env": environment, "input": f"{said}\n", "capture_output": True, "text": True, "timeout": 120}
        result = subprocess.run(command, check=True, **given)
        assert f"assistant> {answer}" in result.stdout
