"""Loro: a map in a document of each replica; what each lacks is exported and imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness import Write, main
from loro import ExportMode, LoroDoc

SLOTS, FILE = "slots", "doc.bin"


class Loro:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._docs = [LoroDoc(), LoroDoc()]
        self._maps = [doc.get_map(SLOTS) for doc in self._docs]

    def write(self, replica: int, part: Sequence[Write]) -> None:
        slots = self._maps[replica]
        for key, value, _ in part:
            slots.insert(key, value)
        self._docs[replica].commit()

    def merge(self) -> None:
        one, other = self._docs
        for_one = other.export(ExportMode.Updates(one.oplog_vv))
        for_other = one.export(ExportMode.Updates(other.oplog_vv))
        one.import_(for_one)
        other.import_(for_other)

    def values(self, replica: int) -> dict[str, str]:
        return self._maps[replica].get_deep_value()

    def save(self) -> None:
        (self._folder / FILE).write_bytes(self._docs[0].export(ExportMode.Snapshot()))

    @staticmethod
    def reopened(folder: Path, key: str) -> str:
        doc = LoroDoc()
        doc.import_((folder / FILE).read_bytes())
        return str(doc.get_map(SLOTS).get(key).value)


if __name__ == "__main__":
    main(Loro)
