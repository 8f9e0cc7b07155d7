"""Answering: from what was found to what is handed out, within the budget, and noted in the read log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from syncmem.errors import FileError
from syncmem.model.instant import iso, to_datetime
from syncmem.reasons import REPLACED, Reasons
from syncmem.recall.asked import Axes, Question
from syncmem.recall.context import Counter, Frame, Other, fitted, line, tokens_at_most
from syncmem.recall.finding import Finding, Likeness
from syncmem.recall.ranking import Found, Scored
from syncmem.recall.receipts import new_receipt
from syncmem.recall.results import Hit, Recalled
from syncmem.replica.reading import Reading, Visible
from syncmem.replica.readlog import Reference
from syncmem.replica.replica import Replica
from syncmem.replica.telling import Telling

OTHERS_MAX: Final = 2  # contradicting values that a line names


@dataclass(frozen=True, slots=True)
class Wish:
    """How an answer is wanted; ``dated``, ``known``: the moment in the world, the known time were asked for."""

    hits_max: int
    token_budget: int | None
    count: Counter = tokens_at_most
    log: bool = True
    dated: bool = False
    briefing: bool = False


class Answering:
    """Answers from one replica."""

    def __init__(self, replica: Replica, reading: Reading, telling: Telling) -> None:
        self._replica = replica
        self._reading = reading
        self._telling = telling
        self.finding = Finding(replica, reading)

    def answer(
        self, question: Question, axes: Axes, wish: Wish, likeness: Likeness | None, notes: Sequence[str]
    ) -> Recalled:
        """The beliefs that answer a question."""
        return self._handed(question.text, self.finding.find(question, axes, likeness), axes, wish, notes)

    def brief(self, axes: Axes, wish: Wish) -> Recalled:
        """What is believed of an entity: what the user has said first, then what was said last."""
        assert axes.entity is not None
        found = [Scored(one, one.rectangle.trust / 100, ("briefing",)) for one in self.finding.about(axes)]
        found.sort(key=lambda one: (-one.score, -one.found.rectangle.valid_from, *one.order))
        return self._handed(axes.entity, found, axes, wish, ())

    def _handed(self, text: str, scored: list[Scored], axes: Axes, wish: Wish, notes: Sequence[str]) -> Recalled:
        best = scored[: wish.hits_max]
        hits = [self.hit(one) for one in best]
        lines = [line(hit, self._others(one.found, axes)) for hit, one in zip(hits, best, strict=True)]
        receipt = new_receipt(self._replica.environment.randomness) if wish.log else None
        frame = Frame(receipt, _second(axes.instant), self._known_at(axes.n))
        taken, block = fitted(hits, lines, frame, wish.token_budget, wish.count)
        kept = set(taken)
        return Recalled(
            question=text,
            hits=tuple(hits[index] for index in taken),
            cut=tuple(hit for index, hit in enumerate(hits) if index not in kept),
            prompt=block,
            tokens=wish.count(block),
            receipt=receipt,
            notes=tuple(notes),
            valid_at=moment(axes.instant),
            known=self._replica.last_transaction if axes.n is None else axes.n,
        )

    def note(self, recalled: Recalled, axes: Axes, wish: Wish) -> Recalled:
        """Write the read log; inside no transaction but the caller's. What cannot be noted goes without a receipt."""
        if recalled.receipt is None:
            return recalled
        handed = [(hit, True) for hit in recalled.hits] + [(hit, False) for hit in recalled.cut]
        handed.sort(key=lambda pair: (pair[0].past, -pair[0].score))
        found = [
            Reference(self._telling.position(hit.belief.event), given, hit.past, hit.score, " ".join(hit.why))
            for hit, given in handed
        ]
        digest = sha256(recalled.prompt.encode()).digest()
        times = (recalled.known, self._replica.environment.clock.now(), axes.instant)
        try:
            with self._replica.transaction():
                self._replica.readlog.add(
                    recalled.receipt, *times, recalled.question, limits(axes, wish), digest, found
                )
        except FileError as error:
            prompt = recalled.prompt.replace(f' receipt="{recalled.receipt}"', "", 1)
            notes = (*recalled.notes, f"no receipt: {error}")
            return replace(recalled, receipt=None, prompt=prompt, tokens=wish.count(prompt), notes=notes)
        return recalled

    def hit(self, one: Scored) -> Hit:
        """What was found as it is handed out."""
        belief = self._telling.belief(one.found.slot, one.found.rectangle)
        return Hit(belief, round(one.score, 4), one.why, one.found.past)

    def _others(self, found: Found, axes: Axes) -> list[Other]:
        """What contradicts a contested belief."""
        if not found.rectangle.contested or found.past:
            return []
        logs, n = self._replica.logs, axes.n
        visible = Visible(logs.holds if n is None else lambda p: logs.holds(p) and logs.arrival(p) <= n)
        belief = self._telling.belief(found.slot, found.rectangle)
        reasons = Reasons(self._replica, self._reading, self._telling)
        lost = reasons.explain(found.slot, axes.instant, belief, visible).lost
        at = moment(axes.instant)
        against = [e for e, why in lost if why != REPLACED and (e.valid_to is None or e.valid_to > at)]
        against.sort(key=lambda entry: (entry.trust, entry.asserted_at or at, str(entry.value)))
        others = {str(entry.value): Other(entry.value, entry.source, entry.trust) for entry in against}
        return list(reversed(others.values()))[:OTHERS_MAX]

    def _known_at(self, n: int | None) -> str | None:
        if n is None:
            return None
        row = self._replica.db.execute("SELECT time FROM transactions WHERE n = ?", (n,)).fetchone()
        return "nothing" if row is None else _second(row[0])


def limits(axes: Axes, wish: Wish) -> dict[str, Any]:
    """What was asked beside the question, as the read log keeps it."""
    given = asdict(axes)
    given["predicates"] = None if axes.predicates is None else sorted(axes.predicates)
    del given["instant"]
    return {**given, "k": wish.hits_max, "dated": wish.dated, "briefing": wish.briefing}


def axes_of(asked: dict[str, Any], instant: int) -> Axes:
    """The axes of an entry of the read log, at some moment in the world."""
    given = {name: asked[name] for name in ("n", "scope", "entity", "trust_min", "history")}
    predicates = asked["predicates"]
    return Axes(instant=instant, predicates=None if predicates is None else frozenset(predicates), **given)


def _second(instant: int) -> str:
    return iso(instant - instant % 1_000_000)


def moment(instant: int) -> datetime:
    """An instant within the calendars."""
    found = to_datetime(instant)
    assert found is not None, "an instant that was asked for is in the calendars"
    return found
