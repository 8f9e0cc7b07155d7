"""Real questions about assistant-like text, at a moment in the world and a known time each, by words alone."""

from __future__ import annotations

from pathlib import Path

from tests.histories import History, author
from tests.shared import ROOT, needs

DATA = ROOT / "data" / "lettabench"
FIRST_MIN = 0.95  # share of questions whose answer is the first hit


@needs(DATA)
def test_what_was_believed_then_is_found_and_nothing_else(tmp_path: Path) -> None:
    history = History.read(DATA)
    (memory,) = author(history, 1, history.edits, tmp_path)
    memory._embedder_wanted = None
    first = 0
    asked = history.queries[::4]
    for query in asked:
        axes = {"valid_at": query["as_of_valid"], "known_at": query["as_of_recorded"]}
        hits = memory.recall(query["question"], log=False, **axes).hits
        values = [hit.belief.value for hit in hits]
        assert set(query["expected"]) & set(values[:5]), query
        first += values[0] in query["expected"]
        for hit in hits:
            assert hit.belief in memory.beliefs(hit.belief.entity, hit.belief.predicate, **axes)
    assert first >= FIRST_MIN * len(asked) > 0
    memory.close()
