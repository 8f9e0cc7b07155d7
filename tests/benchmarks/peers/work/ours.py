"""This library: two files, every write signed and durable, every event checked when it is merged."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from harness import Write, main

from syncmem import Memory

PREDICATE = "value"


class Ours:
    def __init__(self, folder: Path) -> None:
        self._memories = [Memory(folder / f"{number}.db") for number in range(2)]
        self._memories[0].define(PREDICATE, cardinality="single")
        self._memories[1].merge(self._memories[0])

    def write(self, replica: int, part: Sequence[Write]) -> None:
        memory = self._memories[replica]
        with memory.transaction():
            for key, value, start in part:
                memory.remember(key, PREDICATE, value, changed_on=datetime.fromtimestamp(start, UTC))

    def merge(self) -> None:
        one, other = self._memories
        one.merge(other)
        other.merge(one)

    def values(self, replica: int) -> dict[str, str]:
        memory = self._memories[replica]
        return {entity: memory.believe(entity, PREDICATE).value for entity in memory.entities()}

    def save(self) -> None:
        for memory in self._memories:
            memory.close()
        self._memories = [Memory(memory._path) for memory in self._memories]

    @staticmethod
    def reopened(folder: Path, key: str) -> str:
        with Memory(folder / "0.db") as memory:
            return str(memory.believe(key, PREDICATE).value)


if __name__ == "__main__":
    main(Ours)
