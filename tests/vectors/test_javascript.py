"""The implementation in examples/javascript, which was written from protocol/ alone, answers the vectors."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VECTORS = ROOT / "protocol" / "vectors"
NODE = shutil.which("node")

# It has no list of the words of BIP-39.
LEFT_OUT = {"keys/paper-seed.json", "keys/paper-seed-four-letters.json", "keys/phrase.json"}

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed: the JavaScript example is not checked")


def in_area(folder: Path) -> int:
    lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))
    return len(list(folder.glob("*.json"))) + lines


def test_all_vectors_but_phrases_are_answered_right() -> None:
    check = [NODE, ROOT / "examples" / "javascript" / "check.mjs", VECTORS]
    told = subprocess.run(check, capture_output=True, text=True, timeout=300, check=True).stdout
    wrong = re.findall(r"^wrong: (\S+?):", told, re.MULTILINE)
    assert set(wrong) == LEFT_OUT, told
    counts = re.findall(r"^(\w+): (\d+) of (\d+)$", told, re.MULTILINE)
    right = {area: (int(right), int(asked)) for area, right, asked in counts}
    expected = {folder.name: in_area(folder) for folder in VECTORS.iterdir() if folder.name != "generate"}
    left_out = {area: sum(name.startswith(area + "/") for name in LEFT_OUT) for area in expected}
    assert right == {area: (count - left_out[area], count) for area, count in expected.items()}
    count = sum(expected.values())
    assert told.endswith(f"{count - len(LEFT_OUT)} of {count} right\n")


def test_it_answers_line_by_line_and_outlives_rubbish() -> None:
    lines = '{"word": "hello", "unread": "\u2028"}\nwhat is this\n[]\nnull\n{"word": "toString"}\n{"word": "decode"}\n'
    lines += '{"word": "decode", "bytes": "cc7f"}\n{"word": "decode", "bytes": "9301a16182a16101a16202"}\n'
    harness = [NODE, ROOT / "examples" / "javascript" / "harness.mjs"]
    told = subprocess.run(harness, input=lines.encode(), capture_output=True, timeout=60, check=True).stdout
    outcomes = [json.loads(line)["outcome"] for line in told.splitlines()]
    assert outcomes == ["accepted", *["invalid"] * 5, "not-canonical", "accepted"]
