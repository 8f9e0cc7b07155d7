"""pycrdt: a map in a document of each replica; what each lacks is sent as an update."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness import Write, main
from pycrdt import Doc, Map

SLOTS, FILE = "slots", "doc.bin"


class Pycrdt:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._docs = [Doc(), Doc()]
        self._maps = [doc.get(SLOTS, type=Map) for doc in self._docs]

    def write(self, replica: int, part: Sequence[Write]) -> None:
        slots = self._maps[replica]
        with self._docs[replica].transaction():
            for key, value, _ in part:
                slots[key] = value

    def merge(self) -> None:
        one, other = self._docs
        for_one, for_other = other.get_update(one.get_state()), one.get_update(other.get_state())
        one.apply_update(for_one)
        other.apply_update(for_other)

    def values(self, replica: int) -> dict[str, str]:
        return self._maps[replica].to_py()

    def save(self) -> None:
        (self._folder / FILE).write_bytes(self._docs[0].get_update())

    @staticmethod
    def reopened(folder: Path, key: str) -> str:
        doc = Doc()
        slots = doc.get(SLOTS, type=Map)
        doc.apply_update((folder / FILE).read_bytes())
        return str(slots[key])


if __name__ == "__main__":
    main(Pycrdt)
