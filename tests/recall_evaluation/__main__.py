"""Judge recall by kind of question: ``python -m tests.recall_evaluation --help``. Exits 1 if a stale value was found.

Without ``--baseline`` the library's own ``Memory.recall`` is judged, with ``--embedder`` or with words alone.
``--beside`` judges words alone, vectors alone and both, kind by kind, and exits 1 if both find less than one of them.
``--misses`` lists the questions whose answer is not among the first five.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from syncmem import Memory
from tests.recall_evaluation.asking import questions
from tests.recall_evaluation.embedders import NAMES, Vectors
from tests.recall_evaluation.finders import ByText, ByVector, Finder, believed, written
from tests.recall_evaluation.scoring import Outcome, by_kind, outcomes
from tests.recall_evaluation.telling import told


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options().parse_args(arguments)
    if options.beside:
        return _beside(options.embedder or "e5")
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


def _beside(name: str) -> int:
    with told(embedder=None) as memory, told(embedder=name) as both:
        both.index()
        finders = (memory, ByVector(memory, Vectors(name)), both)
        words, vectors, hybrid = (by_kind(outcomes(finder, memory, questions())) for finder in finders)
    print(f"{'recall@5':16} {'words':>6} {'vector':>6} {'both':>6}")
    less = False
    for kind in hybrid:
        alone, other, both_found = (scores[kind].recall_at_5 for scores in (words, vectors, hybrid))
        mark = " less" if both_found < max(alone, other) else ""
        less = less or bool(mark)
        print(f"{kind.replace('_', ' '):16} {alone:6.3f} {other:6.3f} {both_found:6.3f}{mark}")
    return int(less)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.recall_evaluation", description=__doc__)
    parser.add_argument("--baseline", choices=["written", "current"], help="in place of the library's")
    parser.add_argument("--embedder", choices=NAMES, help="of the library")
    parser.add_argument("--beside", action="store_true", help="words, vectors and both, with --embedder or e5")
    parser.add_argument("--misses", action="store_true", help="list what was not found")
    return parser


def _finder(memory: Memory, options: argparse.Namespace) -> Finder:
    if options.baseline is None:
        return memory
    return ByText(written() if options.baseline == "written" else believed(memory))


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
