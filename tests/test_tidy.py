"""The house style, held by the real tools and by a few counts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
REFUSED_NAMES = {"base", "core", "helpers", "manager", "utils"}  # they say nothing of what is inside
TOOL_SECONDS_MAX = 240

TEXT_SUFFIXES = {"", ".cfg", ".css", ".html", ".ini", ".js", ".json", ".md", ".py", ".sh", ".sql", ".svg", ".toml"}
TEXT_SUFFIXES |= {".txt", ".yaml", ".yml"}
HIDDEN_KEPT = {".ci", ".gitignore"}  # what else begins with a dot belongs to tools
GENERATED = {"__pycache__", "build", "dist", "htmlcov", "node_modules", "venv"}
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:home|root|tmp|Users|work)/")


# -- the tools ----------------------------------------------------------------------------------------


def test_ruff_finds_nothing() -> None:
    outcome = run(sys.executable, "-m", "ruff", "check", "--quiet", "--no-cache", ".")
    assert outcome.returncode == 0, report(outcome)


def test_mypy_finds_nothing() -> None:
    outcome = run(sys.executable, "-m", "mypy")
    assert outcome.returncode == 0, report(outcome)


def test_imports_keep_their_contracts() -> None:
    checking = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    outcome = run(sys.executable, "-c", checking, "--no-cache")
    assert outcome.returncode == 0, report(outcome)
    assert " 0 broken" in outcome.stdout, report(outcome)


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=TOOL_SECONDS_MAX,
        check=False,
    )


def report(outcome: subprocess.CompletedProcess[str]) -> str:
    return f"\n{outcome.stdout}{outcome.stderr}"


# -- the counts ---------------------------------------------------------------------------------------


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        shown(path)
        for path in python_files("syncmem", "tests", "protocol", "examples")
        if path.read_text(encoding="utf-8").strip() and not ast.get_docstring(parsed(path))
    ]
    assert silent == []


def test_no_module_is_longer_than_a_sitting() -> None:
    lengths = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in python_files("syncmem")}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES_MAX} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    lengths = {
        f"{shown(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in python_files("syncmem")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES_MAX} == {}


def test_every_module_is_named_for_what_is_inside() -> None:
    names = {shown(path): {*path.relative_to(ROOT).parts[:-1], path.stem} for path in python_files("syncmem")}
    assert [name for name, parts in names.items() if parts & REFUSED_NAMES] == []


def test_no_text_names_a_path_of_one_machine() -> None:
    found = [
        f"{shown(path)}:{number} {line.strip()[:80]}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(path for path in (ROOT / folder).rglob("*.py") if is_ours(path))


def text_files() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in TEXT_SUFFIXES and is_ours(path) and path.is_file():
            yield path


def is_ours(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    return not any(part in GENERATED or (part.startswith(".") and part not in HIDDEN_KEPT) for part in parts)


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
