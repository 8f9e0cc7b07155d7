"""How good a finder is: recall at 1 and at 5, the mean reciprocal rank, and what was handed over that does not hold.

Rules: an answer counts where it stands among the hits; where all answers are wanted, recall at k is the share that
could be and was found among the first k.  Stale is a hit that is not believed at the asked moment, whatever its rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from syncmem import Memory
from tests.recall_evaluation.asking import Answer, Question
from tests.recall_evaluation.finders import Finder, believed

HITS = 10  # how many are asked for


@dataclass(frozen=True)
class Outcome:
    """What came of one question."""

    question: Question
    handed_over: tuple[Answer, ...]
    stale: tuple[Answer, ...]

    def recall(self, k: int) -> float:
        right = sum(answer in self.question.answers for answer in self.handed_over[:k])
        return min(1.0, right / min(k, self.question.wanted))

    @property
    def reciprocal_rank(self) -> float:
        ranks = (rank for rank, answer in enumerate(self.handed_over, start=1) if answer in self.question.answers)
        return next((1 / rank for rank in ranks), 0.0)


@dataclass(frozen=True)
class Score:
    """Means over some questions, and the number of stale hits in all of them."""

    asked: int
    recall_at_1: float
    recall_at_5: float
    reciprocal_rank: float
    stale: int

    def __str__(self) -> str:
        means = f"{self.recall_at_1:.3f} {self.recall_at_5:.3f} {self.reciprocal_rank:.3f}"
        return f"{self.asked:4} {means} {self.stale:5}"


def outcomes(finder: Finder, memory: Memory, asked: Sequence[Question]) -> list[Outcome]:
    """Ask a finder everything; ``memory`` is the judge of what holds."""
    rows = believed(memory)
    found = []
    for question in asked:
        hits = finder.recall(question.text, k=HITS, **question.axes).hits
        handed = tuple((hit.belief.entity, hit.belief.predicate, hit.belief.value) for hit in hits)
        holding = {(row.entity, row.predicate, row.value) for row in rows(question.axes.get("valid_at"))}
        found.append(Outcome(question, handed, tuple(answer for answer in handed if answer not in holding)))
    return found


def score(found: Iterable[Outcome]) -> Score:
    listed = list(found)
    return Score(
        asked=len(listed),
        recall_at_1=_mean(outcome.recall(1) for outcome in listed),
        recall_at_5=_mean(outcome.recall(5) for outcome in listed),
        reciprocal_rank=_mean(outcome.reciprocal_rank for outcome in listed),
        stale=sum(len(outcome.stale) for outcome in listed),
    )


def by_kind(found: Sequence[Outcome]) -> dict[str, Score]:
    """The score of each kind, and of "all"."""
    kinds = sorted({outcome.question.kind for outcome in found})
    scores = {kind: score(o for o in found if o.question.kind == kind) for kind in kinds}
    return {**scores, "all": score(found)}


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return sum(listed) / len(listed) if listed else 0.0
