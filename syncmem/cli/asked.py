"""The verbs that ask: what only the user can say, and the user's word on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from syncmem.cli.options import keywords, scope_option, taken_value, value_options
from syncmem.cli.session import Session, verb

if TYPE_CHECKING:
    from syncmem.judging.questions import Question


@verb("questions")
@scope_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="The N most valuable ones.")
def questions(session: Session, **options: Any) -> None:
    """What to ask the user: what is contested, sensitive, guessed or unclear.

    'syncmem answer' takes the answer, by the id in front of a question.
    """
    with session.memory() as memory:
        found = memory.questions(**keywords(options))
    session.show([each.to_dict() for each in found], lambda: "\n".join(map(_line, found)) or "nothing to ask")


@verb("answer")
@click.argument("question", metavar="QUESTION")
@value_options
@click.option("--keep", "word", flag_value="keep", help="What is believed is right; a name is a predicate of its own.")
@click.option("--both", "word", flag_value="both", help="Both hold.")
@click.option("--neither", "word", flag_value="neither", help="None of it holds.")
def answer(session: Session, question: str, word: str | None, **options: Any) -> None:
    """Answer QUESTION, by its id, with the VALUE that holds or a word.

    \b
      syncmem answer 5677a86e6a4a Lisbon
      syncmem answer 5677a86e6a4a --keep
    """
    from syncmem.cli.words import receipt_text
    from syncmem.judging.questions import Answer

    if word is not None and any(options.values()):
        raise click.UsageError("Give one answer: a value, or one of --keep, --both and --neither.")
    said = taken_value(options) if word is None else Answer(word)
    with session.memory() as memory:
        receipts = memory.answer(question, said)
    told = [receipt.to_dict() for receipt in receipts]
    session.show(told, lambda: "\n".join(receipt_text(receipt, session.display_zone) for receipt in receipts))


def _line(question: Question) -> str:
    from syncmem.cli.words import escaped

    return f"{question.id}  {escaped(question.text)}"
