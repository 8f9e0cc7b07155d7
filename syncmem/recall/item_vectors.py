"""Vectors of items: of the texts in some of their fields, one or several each, and which items are the most alike.

Rules: vectors are made when they are first looked for, of what is here by then, whoever wrote it; they are named by
the model and the fields (:attr:`ItemVectors.id`) and never leave the device; an item that changes loses them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from syncmem.recall.nearest import Comparer
from syncmem.replica.lookup import within
from syncmem.replica.replica import Replica

_LACKING: Final = "SELECT no, claim, value FROM items WHERE kind = ? AND no > ? ORDER BY no LIMIT ?"
_AMONG: Final = "AND i.no IN (SELECT value FROM json_each(:among))"


class Lacking(NamedTuple):
    """An item without vectors: its number, the event that states it, and its JSON text."""

    no: int
    claim: int
    value: str


class ItemVectors:
    """The vectors of one kind of items under one model. Not safe for threads, like the replica."""

    def __init__(self, replica: Replica, kind: int, model: str) -> None:
        self._db = replica.db
        self._kind = kind
        self.id = f"{model}#{kind}"
        self._comparer = Comparer(replica)

    def lacking(self, most: int) -> list[Lacking]:
        """Items whose vectors are to be made, those that were written first."""
        _, done = self._model()
        return [Lacking(*row) for row in self._db.execute(_LACKING, (self._kind, done, most)).fetchall()]

    def keep(self, done: int, vectors: Sequence[tuple[int, str, bytes]]) -> None:
        """Store (item, path, vector) for all items up to number ``done``; inside a write transaction."""
        self._db.execute("INSERT OR IGNORE INTO item_models (id) VALUES (?)", (self.id,))
        model, _ = self._model()
        there = "INSERT OR REPLACE INTO item_vectors SELECT no, ?, ?, ? FROM items WHERE no = ?"
        self._db.executemany(there, [(model, path, vector, item) for item, path, vector in vectors])
        self._db.execute("UPDATE item_models SET done = max(done, ?) WHERE no = ?", (done, model))

    def nearest(
        self, instant: int, space: str, among: Sequence[int] | None, asked: bytes, wanted: int
    ) -> list[tuple[float, int]]:
        """(likeness, number) of the ``wanted`` items most like a question; of the vectors of one the best counts."""
        model, _ = self._model()
        live, bounds = within(space)
        about: dict[str, Any] = {**bounds, "kind": self._kind, "now": instant, "model": model}
        about |= {} if among is None else {"among": json.dumps(among)}
        rows = (
            "SELECT v.item, v.vector FROM items i CROSS JOIN item_vectors v ON v.item = i.no AND v.model = :model "
            f"WHERE {live} {'' if among is None else _AMONG}"
        )
        most = wanted
        while True:
            compared = self._comparer.compared(rows, about, asked, most)
            best: dict[int, float] = {}
            for likeness, (item,) in compared:
                best.setdefault(item, likeness)
            if len(best) >= wanted or len(compared) < most:
                return [(likeness, item) for item, likeness in best.items()][:wanted]
            most *= 4

    def _model(self) -> tuple[int, int]:
        """The number of the model, and up to which item it has come."""
        row: Any = self._db.execute("SELECT no, done FROM item_models WHERE id = ?", (self.id,)).fetchone()
        return (0, 0) if row is None else (row[0], row[1])
