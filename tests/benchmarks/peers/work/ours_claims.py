"""This library: a claim at a time, each durable and signed when it returns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from harness import main

from syncmem import Memory

PREDICATE = "lives_in"


class Claims:
    def __init__(self, folder: Path) -> None:
        self._memory = Memory(folder / "memory.db", embedder=None)
        self._memory.define(PREDICATE, cardinality="single")

    def put(self, key: str, value: str, start: int) -> None:
        self._memory.remember(key, PREDICATE, value, changed_on=datetime.fromtimestamp(start, UTC))

    def get(self, key: str) -> str | None:
        found = self._memory.believe(key, PREDICATE)
        return None if found is None else str(found.value)


if __name__ == "__main__":
    main(Claims)
