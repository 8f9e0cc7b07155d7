"""memvara: a subject, a predicate and an object a claim, with its start; embeddings off."""

from __future__ import annotations

import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pysqlite3  # memvara needs a newer SQLite than many a Python has

sys.modules["sqlite3"] = pysqlite3

from harness import main  # noqa: E402
from memvara import Memvara  # noqa: E402

warnings.simplefilter("ignore")
PREDICATE = "lives_in"  # one of those that it takes for single-valued


class Claims:
    def __init__(self, folder: Path) -> None:
        self._memory = Memvara(str(folder / "memory.db"), embeddings=False)

    def put(self, key: str, value: str, start: int) -> None:
        self._memory.remember(key, PREDICATE, value, valid_from=datetime.fromtimestamp(start, UTC))

    def get(self, key: str) -> str | None:
        now = datetime.now(UTC)
        found = self._memory.history(key, PREDICATE, valid_at=now)
        return found[-1].object if found else None


if __name__ == "__main__":
    main(Claims)
