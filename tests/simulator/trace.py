"""A trace: the world and the steps of one run, as plain JSON; whoever has it can make the run again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

Step = dict[str, Any]  # "n": its number, which stays when others are left out; "do": the operation; its choices


@dataclass(frozen=True)
class Trace:
    """``world``: what was drawn before the first step. ``steps``: what was done, in order."""

    world: dict[str, Any]
    steps: list[Step] = field(default_factory=list)

    def write(self, path: Path, about: str = "") -> None:
        """One step a line, to be read by people."""
        lines = ",\n  ".join(json.dumps(step, sort_keys=True) for step in self.steps)
        head = f'{{"about": {json.dumps(about)},\n "world": {json.dumps(self.world, sort_keys=True)},\n "steps": [\n  '
        path.write_text(f"{head}{lines}\n ]}}\n", encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Trace:
        given = json.loads(path.read_text(encoding="utf-8"))
        return cls(given["world"], given["steps"])


class Digest:
    """What a run did and what came of it, as one hash: two runs of one trace have the same."""

    def __init__(self) -> None:
        self._hash = sha256()

    def add(self, *parts: Any) -> None:
        self._hash.update(json.dumps(parts, sort_keys=True, default=str).encode() + b"\n")

    @property
    def value(self) -> str:
        return self._hash.hexdigest()[:32]
