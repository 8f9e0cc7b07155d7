"""Sums over many runs, one for each seed, in a file, so that a long run can be ended and gone on with."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class KeptSums:
    """``next``: the seed that comes next; ``failures``: by seed."""

    path: Path | None
    next: int = 0
    sums: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | None) -> KeptSums:
        """What a file tells; nothing, where there is none yet."""
        if path is None or not path.exists():
            return cls(path)
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(path, kept["next"], Counter(kept["sums"]), dict(kept.get("failures", {})))

    def write(self) -> None:
        """Keep it, if there is a file for it."""
        if self.path is not None:
            told = {"next": self.next, "sums": self.sums, "failures": self.failures}
            self.path.write_text(json.dumps(told, indent=1, sort_keys=True) + "\n", encoding="utf-8")
