"""What recall returns: plain frozen objects, safe to keep and to share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from syncmem.results import Belief, as_dict


@dataclass(frozen=True, slots=True)
class Hit:
    """A belief that was found.

    Attributes:
        score: how well it fits the question; to be compared within one answer only.
        why: how it was found: "slot" (the question names its entity and its predicate), "text", "vector", "briefing".
        past: it held, and does no longer; only with ``include_history``.
    """

    belief: Belief
    score: float
    why: tuple[str, ...]
    past: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class Recalled:
    """An answer of :meth:`syncmem.Memory.recall`.

    Attributes:
        hits: what is handed out, best first.
        cut: what was found beside it and did not fit into the token budget.
        prompt: the block for a model.
        tokens: what the block takes, as the counter counts.
        receipt: the id of the entry in the read log, or None.
        notes: what to know about this answer: no model, vectors that lag behind, no receipt.
        valid_at: the moment in the world that was asked about.
        known: the transaction of this device up to which it was answered.
    """

    question: str
    hits: tuple[Hit, ...]
    cut: tuple[Hit, ...]
    prompt: str
    tokens: int
    receipt: str | None
    notes: tuple[str, ...]
    valid_at: datetime
    known: int

    def to_prompt(self) -> str:
        """The block for a model: delimited, labelled as data, within the token budget that was asked for."""
        return self.prompt

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)


@dataclass(frozen=True, slots=True)
class SaidClaim:
    """A claim that a recall had found.

    Attributes:
        belief: as it was believed then; None if it was erased since.
        handed: it was in front of the model; if not, it was cut by the budget.
        past: it was shown as something that had been.
        since: what became of it: "holds", "no longer holds", "was taken back", "was erased" or what holds instead.
    """

    belief: Belief | None
    handed: bool
    past: bool
    score: float
    why: tuple[str, ...]
    since: str


@dataclass(frozen=True, slots=True)
class Said:
    """What a model was given then, and what would be different now.

    Attributes:
        question: None if it was erased, because it named who was erased.
        asked_at: when; ``known``: this device's transaction then.
        claims: what was found, best first.
        now: what the same question finds now; empty where the question was erased.
        different: the same question is answered differently now.
        text: all of it in a few sentences.
    """

    receipt: str
    question: str | None
    asked_at: datetime
    valid_at: datetime
    known: int
    claims: tuple[SaidClaim, ...]
    now: tuple[Hit, ...]
    different: bool
    text: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON types."""
        return as_dict(self)
