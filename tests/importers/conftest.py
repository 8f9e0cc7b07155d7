"""Fixtures: a memory whose clock stands in 2026, and archives of each kind as files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from syncmem import Memory
from tests.field_reports.orders import LATE, in_memory, instant
from tests.importers import archives
from tests.importers.archives import lines, write

_seeds = itertools.count(1)


def fresh() -> Memory:
    memory, clock = in_memory(_seeds)("any")
    clock.time = instant(LATE)
    return memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with fresh() as memory:
        yield memory


@dataclass(frozen=True)
class Sample:
    """An archive: its kind, its file or folder, what else is said of it; ``cut`` makes it break off in the middle."""

    kind: str
    path: Path
    words: dict[str, Any]

    def into(self, memory: Memory, **words: Any) -> Any:
        return memory.import_archive(self.path, self.kind, **{**self.words, **words})


def _sqlite(folder: Path) -> Path:
    return archives.mem0_history(folder / "history.db", archives.MEM0_ROWS)


def _notes(folder: Path) -> Path:
    write(folder / "notes" / "drinks" / "coffee.md", archives.NOTE)
    write(folder / "notes" / "tea.md", "- [kind] Green\n")
    write(folder / "notes" / ".obsidian" / "hidden.md", "- [kind] Hidden\n")
    return folder / "notes"


def _graphiti(folder: Path) -> Path:
    content = {"edges": archives.GRAPHITI_EDGES, "nodes": archives.GRAPHITI_NODES}  # the nodes come last
    return write(folder / "graph.json", content)


MAKERS: dict[str, Callable[[Path], Path]] = {
    "chatgpt": lambda folder: write(folder / "conversations.json", archives.chatgpt()),
    "claude": lambda folder: write(folder / "conversations.json", archives.claude()),
    "mem0": _sqlite,
    "mcp": lambda folder: lines(folder / "memory.jsonl", archives.SERVER_MEMORY),
    "graphiti": _graphiti,
    "basic-memory": _notes,
    "vcard": lambda folder: write(folder / "contacts.vcf", archives.CARDS),
    "csv": lambda folder: write(folder / "jobs.csv", archives.JOBS),
    "jsonl": lambda folder: lines(
        folder / "jobs.jsonl",
        [
            {"id": 1, "person": "ana", "employer": "Acme", "from": "2021-02", "to": "2024-02", "noted": "2024-03-01"},
            {"id": 2, "person": "ana", "employer": "Initech", "from": "2024-03", "to": None, "noted": "2024-03-01"},
        ],
    ),
}


def sample(kind: str, folder: Path) -> Sample:
    words: dict[str, Any] = {"user": "ana"}
    if kind in ("csv", "jsonl"):
        words |= {"mapping": write(folder / "mapping.toml", archives.JOBS_MAPPING)}
    return Sample(kind, MAKERS[kind](folder), words)


@pytest.fixture(params=MAKERS)
def each(request: pytest.FixtureRequest, tmp_path: Path) -> Sample:
    """An archive of each kind."""
    return sample(request.param, tmp_path)


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str], Sample]:
    return lambda kind: sample(kind, tmp_path)
