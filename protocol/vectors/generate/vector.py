"""A vector: one question of the harness, the answer that is right, and a sentence that says what it shows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1]
LINES = ("worked", "random")  # of the area "fold": hundreds of cases alike, one line each


@dataclass(frozen=True, slots=True)
class Vector:
    """One scenario. ``answer`` holds the outcome, and every field of the answer that the vector fixes."""

    area: str
    name: str
    says: str
    ask: dict[str, Any]
    answer: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"says": self.says, "ask": self.ask, "answer": self.answer}


def text_of(vector: Vector) -> str:
    """A vector as the text of its file: short things on one line."""
    return "{\n" + ",\n".join(f" {_json(key)}: {_fields(value)}" for key, value in vector.to_dict().items()) + "\n}\n"


def _fields(value: Any) -> str:
    if not isinstance(value, dict):
        return _json(value)
    return "{\n" + ",\n".join(f"  {_json(key)}: {_json(item)}" for key, item in value.items()) + "\n }"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def files_of(vectors: Iterable[Vector]) -> dict[str, str]:
    """The path (below this folder's parent) and text of every file."""
    files: dict[str, str] = {}
    for vector in vectors:
        batch, _, number = vector.name.partition("-")
        if vector.area == "fold" and batch in LINES and number.isdigit():
            path = f"fold/{batch}.jsonl"
            files[path] = files.get(path, "") + _json(vector.to_dict()) + "\n"
        else:
            path = f"{vector.area}/{vector.name}.json"
            assert path not in files, f"two vectors are called {path}"
            files[path] = text_of(vector)
    return files


def held(folder: Path = FOLDER) -> dict[str, str]:
    """The files as they lie there."""
    found = sorted([*folder.glob("*/*.json"), *folder.glob("*/*.jsonl")])
    paths = [path for path in found if path.parent.name != "generate"]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def read(files: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The vectors in files, by name: ``area/name``, or ``fold/worked 12``."""
    vectors: dict[str, dict[str, Any]] = {}
    for path, text in files.items():
        if path.endswith(".jsonl"):
            lines = text.splitlines()
            vectors |= {f"{path.removesuffix('.jsonl')} {n}": json.loads(line) for n, line in enumerate(lines, 1)}
        else:
            vectors[path.removesuffix(".json")] = json.loads(text)
    return vectors
