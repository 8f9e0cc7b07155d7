"""Sums over many runs, in a file, so that a long run can be ended and gone on with."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time

from tests.simulator.running import Outcome

WRITTEN_EVERY = 20  # seeds


@dataclass
class State:
    """``next``: the seed that comes next. ``sums``: seeds, steps, seconds, what was done; ``failures``: by seed."""

    path: Path | None
    size: str
    next: int = 0
    sums: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    _since: float = field(default_factory=process_time)

    @classmethod
    def read(cls, path: Path | None, size: str) -> State:
        if path is None or not path.exists():
            return cls(path, size)
        given = json.loads(path.read_text(encoding="utf-8"))
        if given["size"] != size:
            raise SystemExit(f"{path} is of {given['size']} worlds; name another file")
        return cls(path, size, given["next"], Counter(given["sums"]), given["failures"])

    def add(self, seed: int, outcome: Outcome) -> None:
        self.next = max(self.next, seed + 1)
        now = process_time()
        self.sums.update(
            {"seeds": 1, "steps": len(outcome.trace.steps), "milliseconds": int(1000 * (now - self._since))}
        )
        self._since = now
        self.sums.update(outcome.counts)
        if outcome.failure:
            self.failures[str(seed)] = outcome.failure[:300]
        if self.sums["seeds"] % WRITTEN_EVERY == 0:
            self.write()

    def write(self) -> None:
        if self.path is not None:
            told = {"size": self.size, "next": self.next, "sums": self.sums, "failures": self.failures}
            self.path.write_text(json.dumps(told, indent=1, sort_keys=True), encoding="utf-8")

    def told(self) -> str:
        """A line for people."""
        self.write()
        seconds = max(self.sums["milliseconds"], 1) / 1000
        rate = self.sums["seeds"] / seconds * 3600
        return (
            f"{self.sums['seeds']} {self.size} worlds, {self.sums['steps']} steps, {self.sums['deaths']} deaths, "
            f"{len(self.failures)} failures; {seconds:.0f} s of CPU, {rate:,.0f} an hour"
        )
