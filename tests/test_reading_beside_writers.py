"""Who reads while another process writes reads one state of the file: what was so before the write, or after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from syncmem import Memory

MOMENTS_MAX = 24  # of one question: behind them what is asked repeats itself
Ask = Callable[[Memory], object]
ASKED: dict[str, Ask] = {
    "believe": lambda memory: _value(memory.believe("ana", "home_city")),
    "beliefs": lambda memory: [each.value for each in memory.beliefs("ana")],
    "as known": lambda memory: _value(memory.believe("ana", "home_city", known_at="2100-01-01T00:00Z")),
    "timeline": lambda memory: [each.value for each in memory.timeline("ana", "home_city").beliefs],
    "history": lambda memory: [each.value for each in memory.history("ana", "home_city")],
    "why": lambda memory: memory.why("ana", "home_city").text,
    "inspect": lambda memory: memory.inspect(anew=True).found,
    "doctor": lambda memory: memory.doctor(full=True).problems,
}


def _value(belief: object) -> object:
    return getattr(belief, "value", None)


def _moves(memory: Memory, number: int) -> None:
    month = f"{2020 + number // 12}-{1 + number % 12:02}"
    memory.remember("ana", "home_city", f"city {number}", changed_on=month, zone="UTC")


@pytest.mark.parametrize("name", ASKED)
def test_at_whatever_moment_another_process_writes_an_answer_is_of_before_or_after(tmp_path: Path, name: str) -> None:
    ask, path = ASKED[name], tmp_path / "a.db"
    with Memory(path, embedder=None) as reader, Memory(path, embedder=None) as writer:
        writer.define("home_city", cardinality="single")
        _moves(writer, 0)
        moments = 0
        for moment in range(MOMENTS_MAX):
            before, written = ask(writer), False
            left = moment

            def at_a_statement(statement: str, moment: int = moment) -> None:
                nonlocal left, written
                left -= 1
                if left < 0 and not written and not statement.startswith(("BEGIN", "COMMIT")):
                    written = True
                    _moves(writer, moment + 1)

            reader._replica.db.raw.set_trace_callback(at_a_statement)
            try:
                found = ask(reader)
            finally:
                reader._replica.db.raw.set_trace_callback(None)
            assert found in (before, ask(writer)), f"at moment {moment}"
            moments += written
        assert moments, "a question looks at the file"
