"""A rebuild, and a correction of the clock, take as long as there are events, not as that and that again."""

from __future__ import annotations

from pathlib import Path

from syncmem import Memory
from syncmem.replica import rebuilding


def test_all_events_are_gone_through_once_however_many_transactions_there_were(tmp_path: Path) -> None:
    with Memory(tmp_path / "a.db", embedder=None) as memory:
        for number in range(30):
            memory.remember("ana", "step", number)
        said: list[str] = []
        memory._replica.db.raw.set_trace_callback(said.append)
        memory.rebuild()
        with memory.transaction():
            rebuilding.retime(memory._replica.db, memory._replica.logs, memory._replica.clocks)
        memory._replica.db.raw.set_trace_callback(None)
    through_all = [
        each for each in said if "FROM runs" in each and "position <" not in each and "position =" not in each
    ]
    assert len(through_all) == 2
