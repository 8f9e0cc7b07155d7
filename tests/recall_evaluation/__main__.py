"""Judge recall by kind of question: ``python -m tests.recall_evaluation --help``. Exits 1 if a stale value was found.

Without ``--baseline`` the library's own ``Memory.recall`` is judged, with ``--embedder`` or with words alone.
``--misses`` lists the questions whose answer is not among the first five.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from syncmem import Memory
from tests.recall_evaluation.asking import questions
from tests.recall_evaluation.embedders import PACKAGES, embedder
from tests.recall_evaluation.finders import BySlot, ByText, ByVector, Finder, Summed, believed, written
from tests.recall_evaluation.scoring import Outcome, by_kind, outcomes
from tests.recall_evaluation.telling import told


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options().parse_args(arguments)
    with told(embedder=options.embedder if options.baseline is None else None) as memory:
        if options.baseline is None:
            memory.index()
        found = outcomes(_finder(memory, options), memory, questions())
    print(f"{'kind':16} {'n':>4} {'r@1':>5} {'r@5':>5} {'mrr':>5} {'stale':>5}")
    scores = by_kind(found)
    for kind, score in scores.items():
        print(f"{kind.replace('_', ' '):16} {score}")
    print(f"questions that were handed a stale value: {sum(bool(outcome.stale) for outcome in found)}")
    if options.misses:
        _show_misses(found)
    return 1 if scores["all"].stale else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.recall_evaluation", description=__doc__)
    parser.add_argument("--baseline", choices=["written", "current", "described"], help="in place of the library's")
    parser.add_argument("--mode", choices=["text", "vector", "hybrid"], help="of --baseline described", default="text")
    parser.add_argument("--embedder", choices=list(PACKAGES), help="of the library, or of the two other modes")
    parser.add_argument("--misses", action="store_true", help="list what was not found")
    return parser


def _finder(memory: Memory, options: argparse.Namespace) -> Finder:
    if options.baseline is None:
        return memory
    if options.baseline != "described":
        return ByText(written() if options.baseline == "written" else believed(memory))
    if options.mode == "text":
        return BySlot(memory)
    finder = ByVector if options.mode == "vector" else Summed
    return finder(memory, embedder(options.embedder or "wordllama"))


def _show_misses(found: Sequence[Outcome]) -> None:
    for outcome in found:
        if outcome.recall(5) < 1:
            question = outcome.question
            print(f"\n{question.kind}: {question.text} {question.axes or ''}")
            print(f"    wanted: {'; '.join(map(_shown, question.answers))}")
            print(f"    found:  {'; '.join(map(_shown, outcome.handed_over[:5]))}")


def _shown(answer: tuple[str, str, object]) -> str:
    return f"{answer[0]} {answer[1]} {answer[2]!r}"


if __name__ == "__main__":
    sys.exit(main())
