"""What is asked, as it lies in questions/*.toml; the kind of a question is the file it lies in.

A row: the question, an entity, a predicate, one value or several, and what else belongs to it: ``valid_at`` and
``entity``, axes of the recall, and ``or``, further answers as (entity, predicate, value).  Rules: an answer is a
belief that holds at the asked moment; in the kinds ``ALL_WANTED`` every answer is wanted, in the others one does.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.recall_evaluation.telling import FOLDER, meant

Answer = tuple[str, str, Any]
ALL_WANTED = frozenset({"many"})
LANGUAGES = {"german": "de", "japanese": "ja", "portuguese": "pt", "spanish": "es"}  # the other kinds are English


@dataclass(frozen=True)
class Question:
    """One question and what answers it."""

    kind: str
    text: str
    answers: tuple[Answer, ...]
    axes: dict[str, str]

    @property
    def language(self) -> str:
        return LANGUAGES.get(self.kind, "en")

    @property
    def wanted(self) -> int:
        """How many of the answers must be found."""
        return len(self.answers) if self.kind in ALL_WANTED else 1


@functools.cache
def questions() -> tuple[Question, ...]:
    return tuple(question for path in sorted((FOLDER / "questions").glob("*.toml")) for question in _read(path.stem))


def _read(kind: str) -> Iterator[Question]:
    path = FOLDER / "questions" / f"{kind}.toml"
    for text, entity, predicate, *rest in tomllib.loads(path.read_text(encoding="utf-8"))["asked"]:
        given = dict(rest.pop()) if isinstance(rest[-1], dict) else {}
        answers = [(entity, predicate, meant(value)) for value in rest]
        answers += [(whose, what, meant(value)) for whose, what, value in given.pop("or", ())]
        yield Question(kind, text, tuple(answers), given)
