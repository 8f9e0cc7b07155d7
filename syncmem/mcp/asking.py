"""The tool that has the client ask the user: a model may raise a question, it never answers one.

Annotations are real objects here, not text: the protocol's library looks at them, and they name what a call made.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field, create_model

from syncmem.judging.questions import Answer, Question
from syncmem.mcp.shapes import Written
from syncmem.mcp.tools import Whose, told
from syncmem.memory import Memory


class Choice(BaseModel):
    """What the user answers."""

    answer: str


def answer_tool(whose: Whose) -> Callable[..., list[Written]]:
    """The tool; the model only says which question."""

    def ask(question: str, ctx: Context) -> Elicit[Choice]:
        with whose() as memory:
            asked = _open(memory, question)
        able = ctx.client_capabilities
        if able is None or able.elicitation is None:
            by_hand = f"let the user answer it in the app, or run: syncmem answer {asked.id} ANSWER"
            raise ToolError(f"this client cannot ask the user itself; {by_hand}")
        return Elicit(f"{asked.text}\n{_choices(asked)}", _schema(asked))

    def answer(
        question: Annotated[str, Field(description="the id, from questions")],
        choice: Annotated[ElicitationResult[Choice], Resolve(told(ask))],
    ) -> list[Written]:
        """Have the user asked, and keep what they say as their word, on all their devices."""
        if choice.action != "accept":
            raise ToolError("the user did not answer; leave the question open and go on")
        with whose() as memory:
            asked = _open(memory, question)
            return [Written.of(receipt) for receipt in memory.answer(asked, _meant(asked, choice.data.answer))]

    return told(answer)


def _open(memory: Memory, id: str) -> Question:
    for question in memory.questions():
        if question.id == id:
            return question
    raise ToolError(f"no question {id!r} is open; call questions for those that are")


def _names(asked: Question) -> dict[str, object]:
    """What the user may choose, and what each means."""
    if asked.kind == "name":
        proposed: dict[str, object] = {name: name for name in asked.proposals}
        return proposed | {"keep": Answer.KEEP, "neither": Answer.NEITHER}
    values = [option.value for option in asked.options if not option.over]
    named: dict[str, object] = {str(number): value for number, value in enumerate(values, 1)}
    if len(values) > 1:
        named["both"] = Answer.BOTH
    return named | {"neither": Answer.NEITHER}


def _choices(asked: Question) -> str:
    return "\n".join(f"{name}: {meant}" for name, meant in _names(asked).items() if not isinstance(meant, Answer))


def _schema(asked: Question) -> type[Choice]:
    allowed: Any = Literal[tuple(_names(asked))]
    return create_model("Choice", __base__=Choice, answer=(allowed, ...))


def _meant(asked: Question, answer: str) -> object:
    named = _names(asked)
    if answer not in named:
        raise ToolError(f"{answer!r} is none of the choices; ask again")
    return named[answer]
