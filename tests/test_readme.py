"""The README is a promise: its examples run, and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=["quickstart", "judging", "recall", "episodes", "mem0"])
def test_an_example_runs_and_prints_what_it_says(code: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(README.parent)}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    printed = result.stdout.splitlines()
    promised = re.findall(r"^ *print\(.*\)(?:  # (.*))?$", code, re.MULTILINE)
    assert len(printed) == len(promised) and any(promised)
    for line, promise in zip(printed, promised, strict=True):
        assert not promise or f"{promise}:".startswith(f"{line}:"), (line, promise)


def test_the_readme_names_the_two_commands_as_single_lines() -> None:
    text = README.read_text(encoding="utf-8")
    assert "    python -m pip install . && python -m syncmem demo\n" in text
    assert "    python -m pip install -e '.[dev]' && python -m pytest\n" in text


def test_the_five_laws_stand_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    for law in (
        "The log is a set",
        "Beliefs are a function of the log",
        "Nothing is overwritten",
        "The relay is blind",
    ):
        assert f"**{law}.**" in text
